/** `dxtensor backend new`: written files and refused arguments. test/package.test.ts installs, compiles and runs the package. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, expect, it } from "vitest";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "dxtensor-backend-")));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const make = (...args: string[]) =>
  execa(process.execPath, [resolve("dist/bundle/cli.js"), "backend", "new", ...args], { cwd: folder, reject: false, stdin: "ignore" });
const read = (...path: string[]): string => readFileSync(join(folder, ...path), "utf8");

it("writes a package that declares the backend", async () => {
  const { stdout, exitCode } = await make("tiny", "--json");
  const told = JSON.parse(stdout) as { files: string[] };
  expect([exitCode, told]).toEqual([
    0,
    { ok: true, name: "tiny", package: "dxtensor-tiny", folder: join(folder, "dxtensor-tiny"), files: told.files },
  ]);
  const written = readdirSync(join(folder, "dxtensor-tiny"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(written.length).toBe(told.files.length);
  for (const file of told.files) expect(read("dxtensor-tiny", file)).not.toContain("[object");
  expect(JSON.parse(read("dxtensor-tiny", "package.json"))).toMatchObject({
    name: "dxtensor-tiny",
    license: "MIT",
    dxtensor: { backends: { tiny: "./dist/backend.js" } },
  });
});

it("lists its kernels in backend.yaml, with the registrations that are generated of it", async () => {
  // A name that YAML would take for a truth value.
  await make("true");
  const generate = ["backend", "generate", "backend.yaml", "--check"];
  const cwd = join(folder, "dxtensor-true");
  const { exitCode, stdout } = await execa(process.execPath, [resolve("dist/bundle/cli.js"), ...generate], { cwd, reject: false });
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining("Up to date:")]);
  expect(read("dxtensor-true", "src", "backend.generated.ts")).toContain('name: "true"');
  expect(JSON.parse(read("dxtensor-true", "package.json"))).toMatchObject({
    scripts: { generate: "dxtensor backend generate backend.yaml" },
  });
});

it("takes a folder, a package's name and a licence", async () => {
  mkdirSync(join(folder, "empty"));
  const { exitCode, stdout } = await make("fpga", "--folder", "empty", "--package", "@some/fpga", "--licence", "UNLICENSED");
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining(join(folder, "empty"))]);
  expect(JSON.parse(read("empty", "package.json"))).toMatchObject({ name: "@some/fpga", license: "UNLICENSED" });
  expect(existsSync(join(folder, "empty", "LICENSE"))).toBe(false);
  await make("gate", "--licence", "Apache-2.0");
  expect(read("dxtensor-gate", "LICENSE")).toContain("Apache License, Version 2.0");
});

it.each([
  ["a bad name", ["Tiny"], "BackendError", 'name must be a lower-case letter, then lower-case letters, digits, "-" or "_"; received Tiny'],
  ["a dtype's name", ["float32"], "BackendError", "a name that is no dtype"],
  ["the library's own name", ["cpu"], "ValueError", "which the library has itself"],
  ["a name that a package declares", ["taken"], "ValueError", "which the package other declares"],
  ["a bad name of a package", ["tiny", "--package", "Not A Name"], "ValueError", "--package must be"],
  ["a licence that it has no text of", ["tiny", "--licence", "GPL"], "ValueError", "one of MIT, Apache-2.0, UNLICENSED"],
  ["a folder with files", ["tiny", "--folder", "full"], "FormatError", "a folder with mine.txt"],
  ["a file", ["tiny", "--folder", "full/mine.txt"], "FormatError", "received a file"],
  ["a folder below a file", ["tiny", "--folder", "full/mine.txt/x"], "FormatError", "a folder that can be written"],
])("refuses %s, and writes nothing", async (_, args, code, text) => {
  const other = join(folder, "node_modules", "other");
  for (const path of [other, join(folder, "full")]) mkdirSync(path, { recursive: true });
  writeFileSync(join(folder, "full", "mine.txt"), "mine");
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "app", dependencies: { other: "*" } }));
  writeFileSync(
    join(other, "package.json"),
    JSON.stringify({ name: "other", version: "1.0.0", dxtensor: { backends: { taken: "./b.cjs" } } }),
  );
  const before = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  const { stdout, exitCode } = await make(...args, "--json");
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, code, message: expect.stringContaining(text) as string });
  expect(readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()).toEqual(before);
  expect(read("full", "mine.txt")).toBe("mine");
  const plain = await make(...args);
  expect([plain.exitCode, plain.stdout, plain.stderr]).toEqual([1, "", expect.stringContaining(`dxtensor: ${code}: backend new: `)]);
});
