// The package within programs that run others' code: jest, Next's server, an archive as Electron's packers make it.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { answers, tools } from "./release-checks.ts";

const jestTest = (first: string): string => `${first}
test("values, gradients, errors and typed arrays are of one make", async () => {
  const w = dx.tensor([[1, 2], [3, 4]], { device: "cpu", requiresGrad: true });
  w.mul(w).sum().backward();
  expect(w.grad.toArraySync()).toEqual([[2, 4], [6, 8]]);
  expect(await dx.compile((x) => x.mul(2))(dx.tensor([1, 2], { device: "cpu" })).data()).toEqual(new Float32Array([2, 4]));
  expect(() => dx.zeros([2], { device: "cpu" }).reshape([3])).toThrow(dx.ShapeError);
});
`;

/** jest as it is by default, two files in one process; and its ES modules. */
export async function checkJest(app: string): Promise<string[]> {
  const jest = join(await tools("release-jest-30", ["jest@30"]), "node_modules", "jest", "bin", "jest.js");
  const folder = join(app, "jest");
  mkdirSync(folder);
  for (const name of ["one", "two"]) writeFileSync(join(folder, `${name}.test.js`), jestTest('const dx = require("dxtensor");'));
  writeFileSync(join(folder, "esm.test.mjs"), jestTest('import * as dx from "dxtensor";'));
  const problems: string[] = [];
  for (const [flags, match] of [
    [[], "**/jest/*.test.js"],
    [["--experimental-vm-modules"], "**/jest/*.test.mjs"],
  ] as const) {
    const args = [...flags, jest, "--rootDir", app, "--runInBand", "--testMatch", match];
    const done = await execa(process.execPath, args, { cwd: app, reject: false, all: true, timeout: 120_000 });
    if (done.failed) problems.push(`jest ${match}: ${done.all.slice(-1500)}`);
  }
  return problems;
}

const route = `
import * as dx from "dxtensor";
export const dynamic = "force-dynamic";
export function GET() {
  try {
    const w = dx.tensor([[1, 2], [3, 4]], { device: "cpu", requiresGrad: true });
    w.mul(w).sum().backward();
    return Response.json(w.grad.toArraySync());
  } catch (error) {
    return new Response(error.name + " " + error.message);
  }
}
`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

/** What the server answers, once it does. */
async function asked(folder: string, args: string[], port: number): Promise<string> {
  const env = { PORT: String(port), HOSTNAME: "127.0.0.1", NEXT_TELEMETRY_DISABLED: "1" };
  const server = execa(process.execPath, args, { cwd: folder, env, reject: false, all: true, timeout: 120_000 });
  let isOver = false;
  void server.then(() => (isOver = true));
  try {
    while (!isOver) {
      try {
        return await (await fetch(`http://127.0.0.1:${port}/api`)).text();
      } catch {
        await new Promise((wait) => setTimeout(wait, 200));
      }
    }
    return (await server).all;
  } finally {
    server.kill("SIGKILL");
    await server;
  }
}

/** Next's build, started next to node_modules; its standalone output with the line that it needs, and without. */
export async function checkNext(app: string): Promise<string[]> {
  const made = await tools("release-next-16", ["next@16", "react@19", "react-dom@19"]);
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-next-"));
  const problems: string[] = [];
  try {
    cpSync(join(made, "node_modules"), join(folder, "node_modules"), { recursive: true, verbatimSymlinks: true });
    for (const name of ["dxtensor", "@dxtensor"])
      cpSync(join(app, "node_modules", name), join(folder, "node_modules", name), { recursive: true });
    mkdirSync(join(folder, "app", "api"), { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"name":"app","private":true}');
    writeFileSync(join(folder, "app", "layout.js"), "export default ({ children }) => <html><body>{children}</body></html>;");
    writeFileSync(join(folder, "app", "api", "route.js"), route);
    const next = "node_modules/next/dist/bin/next";
    const build = async (config: object): Promise<boolean> => {
      writeFileSync(join(folder, "next.config.js"), `module.exports = ${JSON.stringify(config)};`);
      const options = { cwd: folder, reject: false, all: true, env: { NEXT_TELEMETRY_DISABLED: "1" }, timeout: 600_000 } as const;
      const done = await execa(process.execPath, [next, "build"], options);
      if (done.failed) problems.push(`next build ${JSON.stringify(config)}: ${done.all.slice(-1500)}`);
      return !done.failed;
    };
    const expect = async (what: string, cwd: string, args: (port: number) => string[], pattern: RegExp): Promise<void> => {
      const port = await freePort();
      const said = await asked(cwd, args(port), port);
      if (!pattern.test(said)) problems.push(`${what}: ${said.slice(-1500)}`);
    };
    const isRight = /^\[\[2,4\],\[6,8\]\]$/;
    const line = { outputFileTracingIncludes: { "/**": ["./node_modules/@dxtensor/**"] } };
    if (await build({})) await expect("next start", folder, (port) => [next, "start", "-p", String(port)], isRight);
    for (const [config, pattern] of [
      [line, isRight],
      [{}, /^NativeLoadError .*outputFileTracingIncludes: \{ "\/\*\*": \["\.\/node_modules\/@dxtensor\/\*\*"\] \}/s],
      [{ serverExternalPackages: ["dxtensor"] }, /^NativeLoadError .*outputFileTracingIncludes/s],
    ] as const) {
      if (!(await build({ output: "standalone", ...config }))) continue;
      const away = mkdtempSync(join(tmpdir(), "dxtensor-standalone-"));
      cpSync(join(folder, ".next", "standalone"), away, { recursive: true, verbatimSymlinks: true });
      await expect(`Next's standalone output ${JSON.stringify(config)}`, away, () => ["server.js"], pattern);
      rmSync(away, { recursive: true });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return problems;
}

/**
 * An archive of the program by Electron's own packer, with the native packages next to it and without. Electron shows an archive as a
 * folder app.asar, from which its loader opens nothing: here it is one, without the native files.
 */
export async function checkElectronArchive(app: string): Promise<string[]> {
  const asar = join(await tools("release-asar-3", ["@electron/asar@3"]), "node_modules", "@electron", "asar", "bin", "asar.js");
  const work = mkdtempSync(join(tmpdir(), "dxtensor-asar-"));
  const problems: string[] = [];
  try {
    const source = join(work, "source");
    cpSync(app, source, { recursive: true, filter: (path) => !/node_modules\/(?!@?dxtensor)|\/(out|jest)$/.test(path) });
    const archive = join(work, "resources", "app.asar");
    const run = async (what: string, args: string[]): Promise<void> => {
      const done = await execa(process.execPath, [asar, ...args], { reject: false, all: true });
      if (done.failed) problems.push(`${what}: ${done.all.slice(-800)}`);
    };
    await run("asar pack", ["pack", source, archive, "--unpack", "**/node_modules/@dxtensor/**"]);
    const unpacked = join(work, "resources", "app.asar.unpacked", "node_modules", "@dxtensor");
    if (!existsSync(unpacked)) return [...problems, "asar pack left the native packages in the archive"];
    await run("asar extract", ["extract", archive, join(work, "extracted")]);
    // What Electron shows: the archive's own files at the archive's path.
    rmSync(archive);
    cpSync(join(work, "extracted"), archive, { recursive: true });
    const within = join(archive, "node_modules", "@dxtensor");
    for (const name of readdirSync(within, { recursive: true }).map(String))
      if (/\.(node|so|dll)$/.test(name)) writeFileSync(join(within, name), "");
    for (const name of ["esm.mjs", "cjs.cjs"])
      problems.push((await answers(`Electron's archive, ${name}`, process.execPath, [join(archive, name)], { cwd: work })) ?? "");
    rmSync(join(work, "resources", "app.asar.unpacked"), { recursive: true });
    const { stderr } = await execa(process.execPath, [join(archive, "cjs.cjs")], { cwd: work, reject: false });
    if (!stderr.includes('asarUnpack: ["**/node_modules/@dxtensor/**"]'))
      problems.push(`Electron's archive, all packed: ${stderr.slice(-1500)}`);
  } finally {
    rmSync(work, { recursive: true });
  }
  return problems.filter((problem) => problem !== "");
}
