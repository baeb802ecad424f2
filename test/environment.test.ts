/** Programs in unusual environments: deleted working folders, permissions, frozen built-ins, damaged libraries, variables. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../src/index.ts";
import { checkEnvironment, VARIABLES } from "../src/host/environment.ts";
import { libraryEndOf } from "../src/host/library-end.ts";
import { addonPaths, libraryPaths } from "../src/native/paths.ts";
import { hostEnvironment } from "../src/native/load-addon.ts";
import { nativeDevice } from "../src/runtime/devices.ts";
import { eachDevice } from "./device.ts";

const root = process.cwd();
/** As it is published: one file starts in a third of the time. */
const index = pathToFileURL(join(root, "dist", "bundle", "dxtensor.js")).href;
const addon = addonPaths(hostEnvironment()).find((path) => hostEnvironment().exists(path))!;
const software = libraryPaths(hostEnvironment()).software!;

let folder: string;
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "dxtensor-environment-")));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
}

/** Runs code in a process of its own, as a module that has the library as `dx`. */
function run(code: string, { flags = [], env = {} }: { flags?: readonly string[]; env?: Record<string, string> } = {}): Ended {
  const file = join(mkdtempSync(join(folder, "run-")), "main.mjs");
  writeFileSync(
    file,
    `const dx = await import(${JSON.stringify(index)});
try { ${code} } catch (e) { console.log(e instanceof dx.DxError ? "typed" : "untyped", e.name, e.message); }`,
  );
  const all = { ...process.env, DXTENSOR_DEVICE: "cpu", ...env };
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...flags, file], { encoding: "utf8", env: all });
  return { status, signal, stdout: stdout + (status === 0 ? "" : stderr) };
}

const works = `const x = dx.ones([2]); const f = dx.compile((t) => t.mul(2)); f(x); f(x);
console.log(x.add(1).dataSync().join(), f(x).dataSync().join());`;
const worked = { status: 0, signal: null, stdout: "2,2 2,2\n" };

describe.skipIf(process.platform === "win32")("a working folder that is deleted (Windows deletes none in use)", () => {
  const leave = `const fs = await import("node:fs"); const d = fs.mkdtempSync(${JSON.stringify(join(tmpdir(), "dxtensor-gone-"))}); process.chdir(d); fs.rmdirSync(d);`;

  test("before the first device call", () => {
    expect(run(`${leave} ${works}`)).toEqual(worked);
  });

  test("after it", () => {
    expect(run(`dx.ones([2]).dataSync(); ${leave} ${works}`)).toEqual(worked);
  });

  test("makes relative paths in variables a typed error", () => {
    expect(run(`${leave} ${works}`, { env: { DXTENSOR_DXCORE: "a.so" } }).stdout).toMatch(
      // The folder was known before it was left.
      /typed ValueError ones: DXTENSOR_DXCORE must be an absolute path|^2,2 2,2\n$/,
    );
    expect(() => libraryPaths({ ...hostEnvironment(), cwd: null, env: { DXTENSOR_DXCORE: "a.so" } })).toThrow(
      /DXTENSOR_DXCORE must be an absolute path/,
    );
    expect(libraryPaths({ ...hostEnvironment(), cwd: null, env: { DXTENSOR_DXCORE: "/b/../a.so" } }).dxcore).toBe("/a.so");
  });
});

describe("built-ins that are frozen", () => {
  test("by the program", () => {
    expect(run(`Object.freeze(Error); ${works}`)).toEqual(worked);
  });

  test("by Node", () => {
    expect(run(works, { flags: ["--frozen-intrinsics", "--no-warnings"] }).stdout).toBe(worked.stdout);
  });
});

test("Node's permissions for the application's folder alone are enough, and less is a typed error", () => {
  const app = join(folder, "app");
  const native = join(app, "build", "native", "Release");
  mkdirSync(native, { recursive: true });
  cpSync(join(root, "dist"), join(app, "dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(app, "package.json"));
  for (const file of [addon, software]) cpSync(file, join(native, basename(file)));
  writeFileSync(
    join(app, "main.mjs"),
    `import * as dx from "./dist/index.js"; try { ${works} console.log(dx.linalg.det(dx.eye(2)).itemSync(), dx.dml.deviceCount()); } catch (e) { console.log(e instanceof dx.DxError, e.name); }`,
  );
  const permission = process.allowedNodeEnvironmentFlags.has("--permission") ? "--permission" : "--experimental-permission";
  // Variables may name folders that the permissions leave out.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("DXTENSOR_"));
  const env = { ...Object.fromEntries(own), DXTENSOR_DEVICE: "cpu" };
  const start = (...flags: string[]): string =>
    spawnSync(process.execPath, ["--no-warnings", permission, `--allow-fs-read=${join(app, "*")}`, ...flags, join(app, "main.mjs")], {
      encoding: "utf8",
      env,
    }).stdout;
  expect(start("--allow-addons")).toMatch(/^2,2 2,2\n1 \d+\n$/);
  // Before Node 20.17 addons were never refused.
  expect(start()).toMatch(/^true NativeLoadError\n$|^2,2 2,2\n/);
});

describe("a library that is cut off", () => {
  const lengths = [0, 40, 5000];
  const code = `${works} console.log(dx.linalg.det(dx.eye(2)).itemSync());`;
  const cut = (file: string, length: number, name = basename(file)): string => {
    const made = join(mkdtempSync(join(folder, "cut-")), name);
    writeFileSync(made, readFileSync(file).subarray(0, length));
    return made;
  };

  test.each([
    ["DXTENSOR_NATIVE", () => addon],
    ["DXTENSOR_SOFTWARE", () => software],
    ["DXTENSOR_LAPACK", () => software],
  ])("is a typed error, not the end of the process: %s", (variable, file) => {
    for (const length of lengths) {
      const { signal, stdout } = run(code, { env: { [variable]: cut(file(), length) } });
      expect([length, signal, stdout]).toEqual([length, null, expect.stringMatching(/typed NativeLoadError .*(cut off|too short|short)/)]);
    }
  });

  test("is passed over where it is searched", () => {
    const name = process.platform === "win32" ? "dxcore.dll" : "libdxcore.so";
    const made = cut(software, 5000, name);
    expect(run(works, { env: { DXTENSOR_LIBRARY_FOLDER: join(made, "..") } })).toEqual(worked);
  });

  test("ends where its headers say", () => {
    for (const file of [addon, software]) expect(libraryEndOf(readFileSync(file))).toBeLessThanOrEqual(statSync(file).size);
    expect(libraryEndOf(readFileSync(software).subarray(0, 5000))).toBeGreaterThan(5000);
    expect(libraryEndOf(Buffer.from("text"))).toBe(0);
  });
});

describe("environment variables", () => {
  test("that mean nothing are refused at the first device call, by name", () => {
    for (const [name, kind] of Object.entries(VARIABLES)) {
      if (kind === "text") continue;
      expect(() => checkEnvironment({ [name]: "garbage" })).toThrow(dx.ValueError);
      expect(() => checkEnvironment({ [name]: "garbage" })).toThrow(`${name} must be`);
      expect(() => checkEnvironment({ [name]: "" })).not.toThrow();
    }
    expect(run(works, { env: { DXTENSOR_STRICT: "garbage" } }).stdout).toMatch(
      /^typed ValueError ones: DXTENSOR_STRICT must be "1" or "0"; received garbage/,
    );
    expect(run(works, { env: { DXTENSOR_NATIVE: process.platform === "win32" ? "NUL" : "/dev/null" } }).stdout).toMatch(
      /^typed NativeLoadError .*no addon/,
    );
    expect(run(works, { env: { DXTENSOR_SOFTWARE: folder } }).stdout).toMatch(/^typed NativeLoadError/);
  });

  const sources = (at: string, ends: RegExp): string[] =>
    readdirSync(join(root, at), { recursive: true, encoding: "utf8" })
      .filter((file) => ends.test(file))
      .map((file) => readFileSync(join(root, at, file), "utf8"));

  test("that the code reads are all known, and listed in docs/environment.md", () => {
    const read = new Set<string>();
    for (const text of sources("src", /\.ts$/)) for (const [name] of text.matchAll(/\bDXTENSOR_[A-Z0-9_]+/g)) read.add(name);
    for (const at of ["dml", "addon", "software", "vulkan"])
      for (const text of sources(join("native", at), /\.(cpp|h|inl)$/))
        for (const [, name] of text.matchAll(/getenv\("(DXTENSOR_[A-Z0-9_]+)"/g)) read.add(name!);
    expect(read.size).toBeGreaterThan(20);
    // A branch of loss.ts's comments, and the start of a name.
    expect([...read].filter((name) => !(name in VARIABLES) && name !== "DXTENSOR_BROADCAST").toSorted()).toEqual([]);
    const docs = readFileSync(join(root, "docs", "environment.md"), "utf8");
    expect(Object.keys(VARIABLES).filter((name) => !docs.includes(`\`${name}`))).toEqual([]);
  });
});

eachDevice("limits of a device", (device) => {
  test("hold for one that is open, and end with the limit", () => {
    const { binding, id } = nativeDevice(dx.device(device));
    const limit = (): number => binding.memory(id).limitInBytes;
    const before = limit();
    dx.scope(() => {
      const kept = dx.ones([2 ** 20]);
      try {
        dx.setMemoryLimit(64 * 2 ** 20);
        expect(limit()).toBe(64 * 2 ** 20);
        expect(() => dx.zeros([2 ** 26])).toThrow(dx.OutOfMemoryError);
        // Less than is in use already: what is there stays.
        dx.setMemoryLimit(4);
        expect(() => dx.zeros([2 ** 26])).toThrow(dx.OutOfMemoryError);
        expect(kept.sum().itemSync()).toBe(2 ** 20);
        dx.setDeviceTimeout(1_000_000);
      } finally {
        dx.setMemoryLimit(undefined);
        dx.setDeviceTimeout(undefined);
      }
      expect(limit()).toBe(before);
      expect(
        dx
          .zeros([2 ** 22])
          .sum()
          .itemSync(),
      ).toBe(0);
    });
  });

  test("closeDevice() without a name closes the default one", () => {
    const old = nativeDevice(dx.device(device));
    dx.closeDevice();
    expect(old.isClosed).toBe(true);
    expect(dx.ones([2]).sum().itemSync()).toBe(2);
    expect(nativeDevice(dx.device(device))).not.toBe(old);
  });
});
