import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, it } from "vitest";

const platform = `${process.platform}-${process.arch}`;
const npm = { env: { npm_config_loglevel: "error", npm_config_update_notifier: "false" } };
let folder: string;
let app: string;
let tarball: string;
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
  await execa("npm", ["pack", "--pack-destination", folder], npm);
  tarball = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith(".tgz"))!,
  );
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
  await execa("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--offline", tarball], { ...npm, cwd: app });
}, 600_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const run = (source: string, env: Record<string, string> = {}) => {
  writeFileSync(join(app, "main.js"), source);
  return execa(process.execPath, ["main.js"], { cwd: app, reject: false, env });
};

it("holds what a user needs and nothing else, in 10 MB at most", () => {
  const top = readdirSync(installed()).toSorted();
  expect(top).toEqual(["LICENSE", "README.md", "dist", "docs", "package.json", "prebuilds"]);
  // Another platform's too, where it was built for that.
  const platforms = readdirSync(installed("prebuilds"));
  expect(platforms).toContain(platform);
  for (const name of platforms)
    expect(readdirSync(installed("prebuilds", name)).toSorted()).toEqual([
      "dxtensor.node",
      expect.stringMatching(/dxtensor_software\.(so|dll|dylib)$/),
    ]);
  expect(statSync(tarball).size).toBeLessThan(10 * 2 ** 20);
});

it("brings no dependencies and runs nothing when it is installed", () => {
  const manifest = JSON.parse(readFileSync(installed("package.json"), "utf8")) as {
    dependencies?: object;
    scripts?: Record<string, string>;
  };
  expect(manifest.dependencies ?? {}).toEqual({});
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

it("computes on cpu", async () => {
  const done = await run(program);
  expect(done.stderr).toBe("");
  expect(JSON.parse(done.stdout)).toMatchObject({ values: "2,3", array: [2, 3] });
});

it("has types that check in a strict project", async () => {
  writeFileSync(
    join(app, "types.ts"),
    `${program}\nexport const sum: dx.Tensor = dx.tensor([1, 2]).add(1);\n// @ts-expect-error a dtype that does not exist\ndx.tensor([1], { dtype: "float31" });\n`,
  );
  const settings = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable", "dom"],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: [],
  };
  writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions: settings, files: ["types.ts"] }));
  const done = await execa(join(process.cwd(), "node_modules", ".bin", "tsc"), ["-p", "."], { cwd: app, reject: false });
  expect(done.stdout).toBe("");
  expect(done.exitCode).toBe(0);
});

it("names the platform and the remedy when it has no binary for it", async () => {
  renameSync(installed("prebuilds", platform), join(folder, "away"));
  try {
    const done = await run(`
      import * as dx from "dxtensor";
      try { dx.tensor([1], { device: "cpu" }); console.log("no error"); }
      catch (error) { console.log(JSON.stringify({ typed: error instanceof dx.NativeLoadError && error.name === "NativeLoadError", message: error.message, tried: error.tried })); }`);
    const { typed, message, tried } = JSON.parse(done.stdout) as { typed: boolean; message: string; tried: string[] };
    expect(typed).toBe(true);
    expect(message).toContain(platform);
    expect(message).toContain("DXTENSOR_NATIVE");
    expect(tried).toContainEqual(expect.stringContaining(join("prebuilds", platform, "dxtensor.node")));
  } finally {
    renameSync(join(folder, "away"), installed("prebuilds", platform));
  }
  expect(existsSync(installed("prebuilds", platform, "dxtensor.node"))).toBe(true);
});
