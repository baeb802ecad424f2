/** Backends of installed packages, in an application's folder: src/backend/autoload.ts. */
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

let app: string;

/** A package of the application's. */
function install(name: string, backends: Record<string, string>, files: Record<string, string>, more: object = {}, folder = app): void {
  const at = join(folder, "node_modules", name);
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, "package.json"), JSON.stringify({ name, version: "1.2.3", dxtensor: { backends }, ...more }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(at, file), text);
}

/** From the tarball that npm pack makes of it after a build. */
async function installOpenreg(): Promise<void> {
  const [from, at] = [resolve("packages", "openreg"), join(app, "node_modules", "@dxtensor", "openreg")];
  const staged = join(app, "staged");
  for (const folder of [staged, at]) mkdirSync(folder);
  for (const file of ["package.json", "README.md"]) copyFileSync(join(from, file), join(staged, file));
  await execa(process.execPath, ["build.mjs", staged], { cwd: from });
  const { stdout } = await execa("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", app], { cwd: staged });
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
  expect(packed.files.map((f) => f.path).toSorted()).toEqual(
    ["README.md", "dist/backend.cjs", "dist/index.d.ts", "dist/index.js", "package.json"], // prettier-ignore
  );
  await execa("tar", ["-xzf", join(app, packed.filename), "-C", at, "--strip-components=1"]);
  rmSync(staged, { recursive: true });
}

/** A backend that has devices and nothing else. */
const stub = (name: string, change = ""): string =>
  `{ name: "${name}", interfaceVersion: 1, version: "9", devices: () => [{ name: "stub", memoryInBytes: 0, isHardware: false }], open() { throw new Error("stub") }, ${change} }`;

beforeAll(async () => {
  app = realpathSync(mkdtempSync(join(tmpdir(), "dxtensor-autoload-")));
  mkdirSync(join(app, "node_modules", "@dxtensor"), { recursive: true });
  symlinkSync(resolve("."), join(app, "node_modules", "dxtensor"), "dir");
  await installOpenreg();
  install("throws", { throws: "./b.cjs" }, { "b.cjs": `throw new Error("no such bus");` });
  install("gone", { gone: "./b.cjs" }, {});
  install("empty", { empty: "./b.cjs" }, { "b.cjs": "exports.x = 1;" });
  install("other", { other: "./b.cjs" }, { "b.cjs": `exports.backend = ${stub("another")};` });
  install("late", { late: "./b.cjs" }, { "b.cjs": `exports.backend = ${stub("late", "interfaceVersion: 7")};` });
  install("one", { twice: "./b.cjs" }, { "b.cjs": `exports.backend = ${stub("twice")};` });
  install("two", { twice: "./b.cjs" }, { "b.cjs": `exports.backend = ${stub("twice")};` });
  install("cycle", { cycle: "./b.cjs" }, { "b.cjs": `require("dxtensor").ones([1], { device: "cycle" });` });
  install("module", { module: "./b.js" }, { "b.js": `export const backend = ${stub("module")};` }, { type: "module" });
  install("waits", { waits: "./b.js" }, { "b.js": `await 1; export const backend = ${stub("waits")};` }, { type: "module" });
  install("closed", { closed: "./b.cjs" }, { "b.cjs": `exports.backend = ${stub("closed")};` }, { exports: { ".": "./b.cjs" } });
  install("stranger", { stranger: "./b.cjs" }, { "b.cjs": `exports.backend = ${stub("stranger")};` });
  const names = ["throws", "gone", "empty", "other", "late", "one", "two", "cycle", "module", "waits", "absent"];
  writeFileSync(
    join(app, "package.json"),
    JSON.stringify({
      name: "app",
      type: "module",
      dependencies: Object.fromEntries(["dxtensor", "@dxtensor/openreg", ...names].map((name) => [name, "*"])),
      optionalDependencies: { closed: "*" },
    }),
  );
  mkdirSync(join(app, "deep", "er"), { recursive: true });
}, 120_000);
afterAll(() => rmSync(app, { recursive: true, force: true }));

/** What a program of the application's prints as JSON. */
async function run(text: string, { env = {}, cwd = app }: { env?: Record<string, string>; cwd?: string } = {}): Promise<unknown> {
  const file = join(app, "main.mjs");
  writeFileSync(
    file,
    `import * as dx from "dxtensor";
const told = (fn) => { try { return fn(); } catch (e) { return { name: e.name, backend: e.backend, message: e.message }; } };
console.log(JSON.stringify(await (async () => { ${text} })()));`,
  );
  const { stdout } = await execa(process.execPath, [file], { cwd, env: { DXTENSOR_NATIVE: process.env.DXTENSOR_NATIVE ?? "", ...env } });
  return JSON.parse(stdout) as unknown;
}

describe("a device of a package's backend", () => {
  const sum = `return dx.ones([2], { device: "openreg" }).add(1).toArraySync();`;

  it("is loaded by its name, without an import, from any folder of the application and by any main program", async () => {
    expect(await run(sum)).toEqual([2, 2]);
    expect(await run(sum, { cwd: join(app, "deep", "er") })).toEqual([2, 2]);
    expect(await run(sum, { cwd: tmpdir() })).toEqual([2, 2]);
    expect(await run(`return dx.defaultDevice() + " " + dx.ones([1]).device;`, { env: { DXTENSOR_DEVICE: "openreg:1" } })).toBe(
      "openreg:1 openreg:1",
    );
  });

  it("is not loaded before, nor where autoload is off; an import does the same then", async () => {
    const off = `return told(() => dx.device("openreg"));`;
    expect(await run(off, { env: { DXTENSOR_AUTOLOAD: "0" } })).toMatchObject({ name: "DeviceError" });
    expect(await run(`dx.backend.setAutoload(false); ${off}`)).toMatchObject({ name: "DeviceError" });
    expect(await run(`dx.backend.setAutoload(false); dx.backend.setAutoload(null); ${sum}`)).toEqual([2, 2]);
    expect(
      await run(`await import("@dxtensor/openreg"); await import("@dxtensor/openreg"); ${sum}`, { env: { DXTENSOR_AUTOLOAD: "0" } }),
    ).toEqual([2, 2]);
    expect(await run(`return dx.ones([2]).device + " " + dx.backend.list().filter((b) => b.isRegistered).length;`)).toMatch(/ 0$/);
    expect(await run(`return told(() => dx.backend.setAutoload("no"));`)).toMatchObject({ name: "ValueError" });
  });

  it("is found in each kind of dependency, whatever the package exports, and only there", async () => {
    expect(await run(`return [told(() => String(dx.device("closed"))), told(() => dx.device("stranger")).name];`)).toEqual([
      "closed:0",
      "DeviceError",
    ]);
  });

  it("in two workers, each with its own", async () => {
    const text = `import("dxtensor").then((dx) => require("node:worker_threads").parentPort.postMessage(dx.ones([2], { device: "openreg:1" }).mul(3).toArraySync()))`;
    expect(
      await run(`const { Worker } = await import("node:worker_threads");
        const one = () => new Promise((done, fail) => new Worker(${JSON.stringify(text)}, { eval: true }).once("message", done).once("error", fail));
        return [await Promise.all([one(), one()]), dx.ones([1], { device: "openreg:1" }).toArraySync()];`),
    ).toEqual([[[3, 3], [3, 3]], [1]]); // prettier-ignore
  });
});

describe("a backend that cannot be loaded says why, and breaks nothing", () => {
  const because = async (name: string): Promise<unknown> =>
    run(`return [told(() => dx.device("${name}")), told(() => dx.device("${name}")), dx.ones([1]).itemSync()];`);
  const told = (name: string, message: RegExp, type = "BackendLoadError"): unknown[] => {
    const error = {
      name: type,
      message: expect.stringMatching(message) as string,
      ...(type === "BackendLoadError" ? { backend: name } : {}),
    };
    return [expect.objectContaining(error), expect.objectContaining(error), 1];
  };

  it.each([
    ["throws", /backend throws \(.*b\.cjs\): throws threw while it was loaded: no such bus\./],
    ["gone", /gone declares a file that does not exist/],
    ["empty", /exports no backend/],
    ["other", /exports a backend of another name, another/],
    ["twice", /several packages declare it: one \(.*\), two \(.*\)\. Remove all but one/],
    ["cycle", /uses one of its devices while it is loaded/],
    ["waits", /ES module.*Import waits in your program/],
  ])("%s", async (name, message) => {
    expect(await because(name)).toEqual(told(name, message));
  });

  it("an interface version that does not fit", async () => {
    expect(await because("late")).toEqual(
      told("late", /must be 1, which this library has; received 7\. late needs another version: update dxtensor/, "BackendVersionError"),
    );
  });

  it("an ES module: loaded where Node requires those, else the error names the import", async () => {
    const expected =
      (process.features as { require_module?: boolean }).require_module === true
        ? "module:0"
        : expect.objectContaining({
            name: "BackendLoadError",
            message: expect.stringMatching(/ES module, which Node .*Import module in your program/) as string,
          });
    expect(await run(`return told(() => String(dx.device("module")));`)).toEqual(expected);
  });

  it("devices() lists the others, and warns", async () => {
    const [devices, warnings] = (await run(`const warnings = [];
      process.on("warning", (w) => warnings.push(w.name + " " + w.message));
      const devices = dx.devices().map((d) => d.device + " " + d.version);
      await new Promise(setImmediate);
      return [devices, warnings.filter((w) => w.startsWith("BackendWarning"))];`)) as [string[], string[]];
    expect(devices).toEqual(expect.arrayContaining(["cpu null", "openreg:0 0.1.0", "openreg:1 0.1.0", "closed:0 9"]));
    expect(warnings.join("\n")).toMatch(/backend throws[\s\S]*backend cycle/);
  });

  it("list() shows what is declared, and loads nothing", async () => {
    const list = await run(`return dx.backend.list().filter((b) => b.name === "openreg" || b.name === "throws");`);
    expect(list).toMatchObject([
      { name: "openreg", version: "0.1.0", isRegistered: false, package: "@dxtensor/openreg" },
      { name: "throws", version: "1.2.3", isRegistered: false, package: "throws" },
    ]);
  });
});

describe("dxtensor doctor", () => {
  const doctor = async (args: string[], env: Record<string, string> = {}): Promise<string> => {
    const command = join(app, "node_modules", "dxtensor", "dist", "cli", "main.js");
    const all = { DXTENSOR_NATIVE: process.env.DXTENSOR_NATIVE ?? "", ...env };
    return (await execa(process.execPath, [command, "doctor", ...args], { cwd: app, env: all, reject: false })).stdout;
  };

  it("shows each declared backend with its package, version and file, its devices, or why it was not loaded", async () => {
    const [text, json] = await Promise.all([doctor([]), doctor(["--json"])]);
    expect(text).toMatch(/^backend openreg +@dxtensor\/openreg 0\.1\.0, .*backend\.cjs, 2 devices$/m);
    expect(text).toMatch(/^backend throws +throws 1\.2\.3, .*b\.cjs, NOT LOADED: .*no such bus\.$/m);
    expect(text).toMatch(/^backend late .*NOT LOADED: .*received 7/m);
    expect(text).toMatch(/^openreg:1 +openreg simulator 1, .*computes$/m);
    expect(text).toMatch(/^closed:0 +closed, .*FAILS: .*stub$/m);
    expect(text).toMatch(/^ {2}! closed:0 does not compute: doctor: closed: stub\.\n +see the documentation of closed 1\.2\.3$/m);
    expect(text).toMatch(/^ {2}- The backend throws was not loaded: .*no such bus\.\n +update throws, or remove it$/m);
    expect(text).not.toContain("GPU is not usable");
    expect(text).not.toContain("stranger");
    const { facts } = JSON.parse(json) as { facts: { probe: { backends: Record<string, unknown>[] } } };
    expect(facts.probe.backends.find(({ name }) => name === "openreg")).toMatchObject({
      package: "@dxtensor/openreg",
      devices: 2,
      problem: null,
    });
    expect(facts.probe.backends.find(({ name }) => name === "gone")).toMatchObject({
      devices: 0,
      problem: expect.stringMatching(/does not exist/) as string,
    });
  });

  it("says that autoload is off", async () => {
    const text = await doctor([], { DXTENSOR_AUTOLOAD: "0" });
    expect(text).toMatch(/^backend openreg .*NOT LOADED: autoload is off$/m);
    expect(text).not.toContain("The backend openreg was not loaded");
  });
});
