/** scripts/lib/cmake-cache.ts: which of CMake's folders are made again. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { dropForeignCache } from "../../scripts/lib/cmake-cache.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-cmake-"));
  for (const folder of ["a", "b"]) {
    mkdirSync(join(root, folder));
    for (const name of ["c++", "cc"]) {
      writeFileSync(join(root, folder, name), "");
      chmodSync(join(root, folder, name), 0o755);
    }
  }
});
afterAll(() => rmSync(root, { recursive: true }));

it.each([
  ["of the same compilers stays", { CMAKE_CXX_COMPILER: "c++" }, ["a", "b"], "a/c++", null],
  ["stays where nothing is named", {}, ["b"], "a/c++", null],
  ["by the whole path stays", { CMAKE_CXX_COMPILER: "a/c++" }, ["b"], "a/c++", null],
  [
    "of another compiler of the same name goes",
    { CMAKE_CXX_COMPILER: "c++" },
    ["b", "a"],
    "a/c++",
    /^CMAKE_CXX_COMPILER was .*a\/c\+\+ and is .*b\/c\+\+$/,
  ],
  ["of the C compiler alone goes", { CMAKE_C_COMPILER: "cc", CMAKE_CXX_COMPILER: "a/c++" }, ["b"], "a/c++", /^CMAKE_C_COMPILER/],
  ["of a compiler that is gone goes", {}, ["a"], "c/c++", /c\/c\+\+ is gone$/],
  ["of a program with an argument stays", { CMAKE_CXX_COMPILER: "c++" }, ["b"], "a/c++;c++", null],
  ["without compilers, as after a failure, stays", { CMAKE_CXX_COMPILER: "c++" }, ["a"], null, null],
] as const)("a folder %s", (_, settings, path, before, want) => {
  const folder = join(root, "objects");
  const whole = (name: string) => (name.includes("/") ? join(root, name) : name);
  mkdirSync(folder, { recursive: true });
  const compilers =
    before === null ? "" : `CMAKE_C_COMPILER:FILEPATH=${join(root, "a", "cc")}\nCMAKE_CXX_COMPILER:STRING=${whole(before)}\n`;
  writeFileSync(join(folder, "CMakeCache.txt"), `CMAKE_HOME_DIRECTORY:INTERNAL=/source\n${compilers}`);
  const found = dropForeignCache(folder, {
    source: "/source",
    settings: Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, whole(value)])),
    env: { PATH: path.map((name) => join(root, name)).join(delimiter) },
  });
  if (want === null) expect(found).toBe(null);
  else expect(found).toMatch(want);
  expect(existsSync(folder)).toBe(want === null);
});

it("a folder of another source goes, and none is none", () => {
  const folder = join(root, "moved");
  mkdirSync(folder);
  writeFileSync(join(folder, "CMakeCache.txt"), "CMAKE_HOME_DIRECTORY:INTERNAL=/before\n");
  expect(dropForeignCache(folder, { source: "/after" })).toBe("it was made for /before");
  expect(existsSync(folder)).toBe(false);
  expect(dropForeignCache(folder, { source: "/after" })).toBe(null);
});
