import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entries } from "../scripts/lib/entries.ts";
import { platforms } from "../scripts/lib/packages.ts";
import { checkCompanions } from "../scripts/lib/release-companions.ts";
import { isWhole } from "./share.ts";
import { hovers } from "./types/hovers.ts";

const platform = `${process.platform}-${process.arch}`;
const npm = { env: { npm_config_loglevel: "error", npm_config_update_notifier: "false" } };
let folder: string;
let app: string;
/** Those of the main package and of this platform. */
let tarballs: string[];
/** Those of openreg and of the conformance tests, where all cases are asked for. */
let others: string[];
const installed = (...parts: string[]): string => join(app, "node_modules", "dxtensor", ...parts);

const program = `
import * as dx from "dxtensor";
const a = dx.tensor([1, 2], { device: "cpu" });
const b = a.add(1);
console.log(JSON.stringify({ values: String(await b.data()), array: await b.toArray(), devices: dx.dml.deviceCount() }));
`;

/** Packs as a publisher does, and installs into an empty project as a user does who allows no scripts. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-package-"));
  app = join(folder, "app");
  mkdirSync(app);
  const args = ["scripts/run.mjs", "release", "--dry-run", "--own", "--no-check", "--json", "--out", folder];
  if (!isWhole) args.push("--no-companions");
  const { stdout } = await execa(process.execPath, args, npm);
  const { openreg, conformance, ...own } = (JSON.parse(stdout) as { tarballs: Record<string, string> }).tarballs;
  tarballs = Object.entries(own).flatMap(([name, file]) =>
    platforms.some((other) => other !== platform && name.endsWith(other)) ? [] : [file],
  );
  others = [openreg, conformance].filter((file) => file !== undefined);
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
  await execa("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--offline", ...tarballs], { ...npm, cwd: app });
}, 600_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const native = (...parts: string[]): string => join(app, "node_modules", "@dxtensor", platform, ...parts);

const run = (source: string, env: Record<string, string> = {}) => {
  writeFileSync(join(app, "main.js"), source);
  return execa(process.execPath, ["main.js"], { cwd: app, reject: false, env });
};

it("holds what a user needs and nothing else, in 10 MB at most", () => {
  expect(readdirSync(installed()).toSorted()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "dist",
    "docs",
    "examples",
    "native",
    "package.json",
  ]);
  expect(readdirSync(installed("native"), { recursive: true }).map(String).toSorted()).toEqual([
    "include",
    join("include", "dxtensor_backend.h"),
  ]);
  expect(readFileSync(installed("native", "include", "dxtensor_backend.h"), "utf8")).toBe(
    readFileSync("native/include/dxtensor_backend.h", "utf8"),
  );
  expect(readdirSync(installed("examples", "native-backend")).toSorted()).toEqual(["CMakeLists.txt", "backend.cpp"]);
  const modules = ["dxtensor", ...entries.map(({ name }) => name)];
  const forms = modules.flatMap((name) => ["cjs", "d.cts", "d.ts", "js", "mjs"].map((type) => `${name}.${type}`));
  const own = ["cli.cjs", "cli.js", "core.cjs", "load.cjs", ...forms];
  // What is loaded when it is first used: some other file requires it.
  const code = readdirSync(installed("dist", "bundle")).filter((name) => name.endsWith(".cjs"));
  const required = new Set(
    code.flatMap((name) =>
      [...readFileSync(installed("dist", "bundle", name), "utf8").matchAll(/require\("\.\/([\w-]+\.cjs)"\)/g)].map(([, part]) => part!),
    ),
  );
  expect(required).toContain("onnx-read-model.cjs");
  const bundle = [...own, ...[...required].filter((name) => !own.includes(name))];
  expect(readdirSync(installed("dist"), { recursive: true }).map(String).toSorted()).toEqual([
    "bundle",
    ...bundle.map((name) => join("bundle", name)).toSorted(),
  ]);
  for (const name of readdirSync(installed("docs"))) expect(name).toMatch(/^[\w-]+\.(md|svg)$/);
  expect(readdirSync(native()).toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "dxtensor.node",
    expect.stringMatching(/dxtensor_software\.(so|dll|dylib)$/),
    "package.json",
  ]);
  expect(tarballs.map((file) => statSync(file).size).reduce((a, b) => a + b)).toBeLessThan(10 * 2 ** 20);
});

it("has pages whose links lead to files of the package, or to addresses", () => {
  const pages = readdirSync(installed(), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  const links = pages.flatMap((name) =>
    [...readFileSync(installed(name), "utf8").matchAll(/\]\(([^()\s#]+)(#[^()\s]*)?\)/g)].map((m) => [name, m[1]!] as const),
  );
  const local = links.filter(([, to]) => !/^[a-z]+:/.test(to));
  expect(local.length).toBeGreaterThan(50);
  expect(local.filter(([name, to]) => to.startsWith("/") || !existsSync(join(dirname(installed(name)), to)))).toEqual([]);
  expect(readFileSync(installed("docs", "errors.md"), "utf8")).toMatch(/^# Errors/);
});

it("brings no dependencies and runs nothing when it is installed", () => {
  const manifest = JSON.parse(readFileSync(installed("package.json"), "utf8")) as {
    dependencies?: object;
    optionalDependencies: Record<string, string>;
    scripts?: Record<string, string>;
  };
  expect(manifest.dependencies ?? {}).toEqual({});
  const own = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(manifest.optionalDependencies).toMatchObject({ [`@dxtensor/${platform}`]: own.version });
  for (const file of [installed("package.json"), native("package.json")])
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ version: own.version, license: "MIT" });
  expect(Object.keys(manifest.scripts ?? {}).filter((name) => /install|^prepare$/.test(name))).toEqual([]);
});

it("imports without loading the addon or a DirectX library", async () => {
  const done = await run(`
    import { readFileSync } from "node:fs";
    await import("dxtensor");
    const maps = process.platform === "linux" ? readFileSync("/proc/self/maps", "utf8") : "";
    console.log(JSON.stringify({ loaded: /dxtensor\\.node|dxtensor_software|libd3d12|libdxcore|libdirectml/.test(maps) }));`);
  expect(JSON.parse(done.stdout)).toEqual({ loaded: false });
});

describe("the library's bytecode", () => {
  const cache = () => join(folder, "cache");
  const files = () => readdirSync(join(cache(), "dxtensor", "code")).map((name) => join(cache(), "dxtensor", "code", name));
  /** Prints what the core's first statement sets. */
  const tag = (env: NodeJS.ProcessEnv = {}) =>
    run(
      `import "dxtensor";
      import { createRequire } from "node:module";
      const core = Object.values(createRequire(import.meta.url).cache).find(({ filename }) => filename.endsWith("core.cjs"));
      console.log(core.exports[Symbol.toStringTag]);`,
      { XDG_CACHE_HOME: cache(), ...env },
    );
  /** The key behind both copies of the bytecode. */
  const keyIn = (content: Buffer) => content.subarray(content.lastIndexOf('["'));
  const isWhole = (content: Buffer) => {
    const end = content.length - keyIn(content).length;
    return end > 0 && content.subarray(0, end / 2).equals(content.subarray(end / 2, end));
  };

  // XDG_CACHE_HOME names the folder on Linux only.
  it.runIf(process.platform === "linux")("is kept in the user's cache folder, and taken from there", async () => {
    const first = await tag();
    expect([first.stdout, first.stderr]).toEqual(["Module", ""]);
    expect(files().map((path) => path.endsWith(".bin") && (statSync(path).mode & 0o777) === 0o600)).toEqual([true]);
    const [path] = files() as [string];
    const { mtimeMs } = statSync(path);
    expect((await tag()).stdout).toBe(first.stdout);
    expect(statSync(path).mtimeMs).toBe(mtimeMs);
    // Bytecode of a text of the same length says what that text says: it is what runs.
    const core = installed("dist", "bundle", "core.cjs");
    const write = `
      import { Script } from "node:vm";
      import { readFileSync, writeFileSync } from "node:fs";
      const text = readFileSync(${JSON.stringify(core)}, "utf8").replace('"Module"', '"Edited"');
      const script = new Script("(function (exports, require, module, __filename, __dirname) {" + text + "\\n})", { filename: ${JSON.stringify(core)} });
      const code = script.createCachedData();
      const key = readFileSync(${JSON.stringify(path)});
      writeFileSync(${JSON.stringify(path)}, Buffer.concat([code, code, key.subarray(key.lastIndexOf('["'))]));`;
    await run(write);
    expect((await tag()).stdout).toBe("Edited");
    // Damaged, cut off, of V8's own refusal, or open to others: not taken, and written again.
    const own = readFileSync(path);
    const flipped = Buffer.from(own);
    flipped[flipped.length >> 2]! ^= 1;
    const foreign = Buffer.alloc(1000, 7);
    const otherKey = Buffer.concat([
      own.subarray(0, own.length - keyIn(own).length),
      Buffer.from(String(keyIn(own)).replace("core.cjs", "cord.cjs")),
    ]);
    const wrongs = [flipped, otherKey, own.subarray(0, 5000), Buffer.alloc(0), Buffer.concat([foreign, foreign, keyIn(own)])];
    for (const wrong of wrongs) {
      writeFileSync(path, wrong);
      const done = await tag();
      expect([done.stdout, done.stderr]).toEqual([first.stdout, ""]);
      expect(isWhole(readFileSync(path))).toBe(true);
    }
    chmodSync(path, 0o666);
    writeFileSync(path, own);
    expect((await tag()).stdout).toBe(first.stdout);
    expect(files().map((name) => statSync(name).mode & 0o777)).toEqual([0o600]);
  });

  it.runIf(process.platform === "linux")("gets the functions that a process called, once", async () => {
    rmSync(cache(), { recursive: true, force: true });
    await tag();
    const [path] = files() as [string];
    const { size } = statSync(path);
    const computed = async () => {
      expect(await run(program, { XDG_CACHE_HOME: cache() })).toMatchObject({ exitCode: 0, stderr: "" });
      return statSync(path);
    };
    const grown = await computed();
    expect(grown.size).toBeGreaterThan(1.02 * size);
    expect(String(keyIn(readFileSync(path)))).toMatch(/,1\]$/);
    expect((await computed()).mtimeMs).toBe(grown.mtimeMs);
  });

  it("runs what imports modules of the program", async () => {
    writeFileSync(join(app, "samples.mjs"), "export default () => ({ length: 2, get: (i) => [i, 2 * i] });\n");
    const program = `import * as dx from "dxtensor";
      const samples = await dx.data.workerDataset(${JSON.stringify(pathToFileURL(join(app, "samples.mjs")).href)});
      for (const numWorkers of [0, 1])
        for await (const [x, y] of dx.data.dataLoader(samples, { batchSize: 2, numWorkers })) console.log(x.toArraySync(), y.toArraySync());`;
    const warm = async () => run(program, { XDG_CACHE_HOME: cache() });
    const lines = "[ 0, 1 ] [ 0, 2 ]\n[ 0, 1 ] [ 0, 2 ]";
    for (let i = 0; i < 2; i++) expect(await warm()).toMatchObject({ stdout: lines, stderr: "" });
  });

  it("is not kept where the user does not want it, or the folder cannot be written", async () => {
    rmSync(cache(), { recursive: true, force: true });
    const first = await tag({ DXTENSOR_CODE_CACHE: "off" });
    expect([existsSync(cache()), first.stderr]).toEqual([false, ""]);
    writeFileSync(cache(), "a file");
    expect(await tag()).toMatchObject({ stdout: first.stdout, stderr: "" });
  });
});

it("computes on cpu", async () => {
  const done = await run(program);
  expect(done.stderr).toBe("");
  expect(JSON.parse(done.stdout)).toMatchObject({ values: "2,3", array: [2, 3] });
});

it.runIf(isWhole)(
  "has examples that run, with what else they use",
  async () => {
    for (const name of ["commander", "cli-progress"])
      symlinkSync(join(process.cwd(), "node_modules", name), join(app, "node_modules", name), "dir");
    const documented = readdirSync(installed("examples")).filter((name) => existsSync(installed("examples", name, "README.md")));
    const names = documented.filter((name) => existsSync(installed("examples", name, "main.js")));
    expect(names).toContain("lstm");
    // Files for Slurm and Kubernetes, which start train-ddp.
    expect(documented.filter((name) => !names.includes(name))).toEqual(["distributed"]);
    for (const name of names) {
      const done = await execa(process.execPath, [installed("examples", name, "main.js"), "--help"], { cwd: app, reject: false });
      expect({ name, exitCode: done.exitCode, stderr: done.stderr }).toEqual({ name, exitCode: 0, stderr: "" });
      expect(done.stdout).toContain("--device");
      expect(existsSync(installed("examples", name, "main.ts"))).toBe(true);
    }
    const fn = await execa(process.execPath, [installed("examples", "custom-function", "main.js"), "--json"], { cwd: app, reject: false });
    expect(fn).toMatchObject({ exitCode: 0 });
  },
  300_000,
);

it("is one library, required or imported", async () => {
  const done = await run(`
    import { createRequire } from "node:module";
    import * as dx from "dxtensor";
    const required = createRequire(import.meta.url)("dxtensor");
    required.setDefaultDevice("cpu");
    const a = required.ones([2]);
    console.log(JSON.stringify([Object.keys(required).filter((name) => required[name] !== dx[name]), String(dx.defaultDevice()), a instanceof dx.Tensor, dx.add(a, 1).toArraySync()]));`);
  expect(done.stderr).toBe("");
  expect(JSON.parse(done.stdout)).toEqual([[], "cpu", true, [2, 2]]);
});

it("loads the readers of models when they are first used, once for both kinds of module", async () => {
  const weights = resolve("test", "io", "pytorch", "files", "views.pt");
  const done = await run(`
    import { createRequire } from "node:module";
    import * as dx from "dxtensor";
    const require = createRequire(import.meta.url);
    const required = require("dxtensor");
    const parts = () => Object.keys(require.cache).map((file) => file.replace(/^.*[\\\\/]/, "")).filter((name) => name.includes("-"));
    const before = parts();
    const of = (library) => library.io.pytorch.load(${JSON.stringify(weights)}, { device: "cpu" });
    const [a, b] = await Promise.all([of(dx), of(required)]);
    const first = (value) => (value instanceof dx.Tensor ? value : Object.values(value).map(first).find(Boolean));
    const error = await dx.io.onnx.load(new Uint8Array([1]), { device: "cpu" }).catch((e) => e instanceof required.FormatError);
    console.log(JSON.stringify({ before, after: parts().sort(), same: first(a).allcloseSync(first(b)), error, operators: dx.io.onnx.operators()[""].length }));`);
  expect(done.stderr).toBe("");
  expect(JSON.parse(done.stdout)).toEqual({
    before: ["host-import-module.cjs"],
    after: ["host-import-module.cjs", "io-pytorch-load.cjs", "onnx-read-model.cjs", "shared-code.cjs"],
    same: true,
    error: true,
    operators: expect.any(Number) as number,
  });
});

// test/types/hover.test.ts asks it of the sources.
it.runIf(isWhole)(
  "shows a text for every name in an editor",
  () => {
    const all = hovers(installed("dist", "bundle", "dxtensor.d.cts"));
    expect(all.length).toBeGreaterThan(4000);
    expect(all.filter((h) => h.documentation.trim() === "" || /\$\d|_d_exports/.test(h.display)).map((h) => h.name)).toEqual([]);
  },
  300_000,
);

it.each([{ lib: ["es2022"] }, { lib: ["es2023", "esnext.disposable"] }, { lib: ["es2022", "dom"] }])(
  "has types that check in a strict project with $lib",
  async ({ lib }) => {
    writeFileSync(
      join(app, "types.ts"),
      `${lib.includes("dom") ? "" : "declare const console: { log(text: string): void };\n"}${program}\nexport const largest: dx.Tensor = dx.tensor([1, 2]).max(0).values;\nexport const sum: dx.Tensor = dx.tensor([1, 2]).add(1);\n// @ts-expect-error a dtype that does not exist\ndx.tensor([1], { dtype: "float31" });\n`,
    );
    writeFileSync(
      join(app, "required.cts"),
      `import dx = require("dxtensor");\nexport const sum: dx.Tensor = dx.tensor([1, 2]).add(1);\nexport const rankOf = (t: dx.Tensor): number => t.rank;\n`,
    );
    // An ES module passes its tensors to a CommonJS one, and adds a member to the class of both.
    writeFileSync(
      join(app, "both.ts"),
      `import * as dx from "dxtensor";\nimport { rankOf, sum } from "./required.cjs";\ndeclare module "dxtensor" {\n  interface Tensor {\n    readonly label?: string;\n  }\n}\nexport const both: [number, string | undefined] = [rankOf(dx.tensor([1, 2])), sum.label];\n`,
    );
    const settings = {
      module: "nodenext",
      target: "es2022",
      lib,
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: [],
    };
    writeFileSync(
      join(app, "tsconfig.json"),
      JSON.stringify({ compilerOptions: settings, files: ["types.ts", "required.cts", "both.ts"] }),
    );
    const done = await execa(join(process.cwd(), "node_modules", ".bin", "tsc"), ["-p", "."], { cwd: app, reject: false });
    expect(done.stdout).toBe("");
    expect(done.exitCode).toBe(0);
  },
);

it("names the platform and the remedy when it has no binary for it", async () => {
  renameSync(native(), join(folder, "away"));
  try {
    const done = await run(`
      import * as dx from "dxtensor";
      try { dx.tensor([1], { device: "cpu" }); console.log("no error"); }
      catch (error) { console.log(JSON.stringify({ typed: error instanceof dx.NativeLoadError && error.name === "NativeLoadError", message: error.message })); }`);
    const { typed, message } = JSON.parse(done.stdout) as { typed: boolean; message: string };
    expect(typed).toBe(true);
    expect(message).toContain(`npm install @dxtensor/${platform}`);
    expect(message).toContain("DXTENSOR_NATIVE");
  } finally {
    renameSync(join(folder, "away"), native());
  }
});

it.runIf(isWhole)(
  "runs the conformance tests on openreg, which is found by its device's name, where their packages are installed",
  async () => {
    expect(others.map((file) => statSync(file).size < 8e6)).toEqual([true, true]);
    expect(await checkCompanions([...tarballs, ...others], { "this Node": process.execPath })).toEqual([]);
    // Without the main package of their own version there is nothing to test.
    const alone = mkdtempSync(join(folder, "alone-"));
    writeFileSync(join(alone, "package.json"), JSON.stringify({ name: "app", private: true }));
    const done = await execa("npm", ["install", "--offline", "--no-audit", "--no-fund", others[1]!], { ...npm, cwd: alone, reject: false });
    expect([done.exitCode, done.stderr]).toEqual([1, expect.stringContaining("dxtensor")]);
  },
  300_000,
);

// test/cli/backend.test.ts and backend-generate.test.ts make one in the repository.
it.runIf(isWhole)(
  "makes a backend's package that compiles, passes its tests and is found by its device's name",
  async () => {
    const [maker, user] = [join(folder, "maker"), join(folder, "user")];
    const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--offline"];
    for (const path of [maker, user]) {
      mkdirSync(path);
      writeFileSync(join(path, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
    }
    await execa("npm", [...install, ...tarballs], { ...npm, cwd: maker });
    await execa("npx", ["--no-install", "dxtensor", "backend", "new", "tiny"], { ...npm, cwd: maker });
    // The registry's packages that it is compiled with: those of the repository.
    for (const name of ["typescript", "@types"]) symlinkSync(join(process.cwd(), "node_modules", name), join(maker, "node_modules", name));
    symlinkSync("../typescript/bin/tsc", join(maker, "node_modules", ".bin", "tsc"));
    const made = join(maker, "dxtensor-tiny");
    const tested = await execa("npm", ["test"], { ...npm, cwd: made, reject: false });
    expect([tested.exitCode, tested.stdout]).toEqual([0, expect.stringMatching(/pass 3\b/)]);
    await execa("npm", ["pack", "--pack-destination", folder], { ...npm, cwd: made });
    await execa("npm", [...install, ...tarballs, join(folder, "dxtensor-tiny-0.1.0.tgz")], { ...npm, cwd: user });
    expect(readdirSync(join(user, "node_modules", "dxtensor-tiny", "dist")).filter((name) => name.includes("test"))).toEqual([]);
    writeFileSync(
      join(user, "main.js"),
      `import * as dx from "dxtensor";
    console.log(JSON.stringify(dx.tensor([1, 2], { device: "tiny:0" }).add(1).toArraySync()));
    const { backend } = await import("dxtensor-tiny");
    console.log(backend.name, dx.backend.list().map(({ name, isRegistered }) => name + isRegistered).join());`,
    );
    const done = await execa(process.execPath, ["main.js"], { cwd: user, reject: false });
    expect([done.exitCode, done.stdout]).toEqual([0, "[2,3]\ntiny tinytrue"]);
  },
  300_000,
);
