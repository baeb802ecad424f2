/** Code shared by scripts, matrix, bench and tests is in scripts/tools, and imports point there, one way. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

/** [file, what it imports] of a folder, for imports of the repository's own files. */
function importsOf(folder: string): (readonly [file: string, imported: string])[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name).replaceAll("\\", "/"))
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/^(?:import|export)\b[^;]*?from "(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gms)].map(
        ([, statically, dynamically]) =>
          [file, normalize(join(dirname(file), (statically ?? dynamically)!)).replaceAll("\\", "/")] as const,
      ),
    );
}

const all = ["src", "scripts", "matrix", "bench", "examples"].flatMap(importsOf);
const from = (folder: string) => all.filter(([file]) => file.startsWith(`${folder}/`));
const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

it("reads the imports", () => {
  expect(all.length).toBeGreaterThan(1000);
  expect(from("matrix").some(([, path]) => path === "scripts/tools/lock.ts")).toBe(true);
  expect(all.filter(([, path]) => /\.(ts|mjs)$/.test(path) && !existsSync(path))).toEqual([]);
});

it("the tools need nothing but themselves", () => {
  expect(from("scripts/tools").filter(([, path]) => !isBelow(path, "scripts/tools"))).toEqual([]);
});

it("the matrix needs the tools, and no other script", () => {
  expect(from("matrix").filter(([, path]) => isBelow(path, "scripts") && !isBelow(path, "scripts/tools"))).toEqual([]);
});

it("nothing but scripts needs what makes the cells, save a GPU machine's run, which has the Wine cell with it", () => {
  const users = all.filter(([file, path]) => isBelow(path, "scripts/cells") && !isBelow(file, "scripts")).map(([file]) => file);
  expect(new Set(users)).toEqual(new Set(["bench/gpu/run.ts", "bench/gpu/windows.ts"]));
});

it("whoever talks to a Docker engine does it by scripts/tools/docker", () => {
  const files = ["scripts", "matrix", "bench", "test"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name.replaceAll("\\", "/")}`),
  );
  const direct = /from "dockerod[e]"|import\("dockerode"\)|\b(execa|execaSync|runProgram|startProgram|ask|spawn\w*)\(\s*"docker"/;
  const users = files.filter((file) => /\.(ts|mjs)$/.test(file) && direct.test(readFileSync(file, "utf8")));
  expect(users.filter((file) => !isBelow(file, "scripts/tools/docker"))).toEqual([]);
  expect(users).toContain("scripts/tools/docker/engine.ts");
});

it("the library needs nothing around it", () => {
  expect(from("src").filter(([, path]) => !isBelow(path, "src"))).toEqual([]);
});

it("nothing but tests needs tests", () => {
  expect(all.filter(([, path]) => isBelow(path, "test"))).toEqual([]);
});

it("the files that tests name by relative paths exist", () => {
  const files = readdirSync("test", { recursive: true, encoding: "utf8" }).map((name) => `test/${name.replaceAll("\\", "/")}`);
  const named = files
    .filter((file) => /\.(ts|mjs)$/.test(file) && file !== "test/check.test.ts")
    .flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/new URL\(\s*"([^"]+)",\s*import\.meta\.url/g)].map(([, path]) => join(dirname(file), path!)),
    );
  expect(named.length).toBeGreaterThan(40);
  // What is built may not be there yet.
  expect(named.filter((path) => !path.startsWith("dist") && !path.startsWith("build") && !existsSync(path))).toEqual([]);
});
