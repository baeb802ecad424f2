// Whether packed packages work where they are installed from their tarballs: an empty folder, no scripts, no network.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { ScriptError, tool } from "../tools/project.ts";
import { manifest } from "./manifest.ts";
import { cached } from "../tools/archive.ts";
import { ensureRoot } from "../tools/base.ts";
import { ensureSysroot } from "./sysroot.ts";
import { examplesOf, expected, programs, types } from "./release-programs.ts";

const npm = { env: { npm_config_loglevel: "error", npm_config_update_notifier: "false" }, reject: false } as const;

/** Of execa, what a check sets. */
interface Options {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly all?: boolean;
  readonly timeout?: number;
}

async function must(what: string, command: string, args: readonly string[], options: Options = {}) {
  const done = await execa(command, args, { reject: false, stdin: "ignore", all: true, ...options });
  if (done.failed) throw new ScriptError("CHECK", `${what} failed: ${(done.all || done.shortMessage || "").slice(-2000)}`);
  return done;
}

/** Programs from npm's registry that a check runs, in the cache. */
export const tools = (name: string, packages: readonly string[]) =>
  cached(name, async (folder) => {
    writeFileSync(join(folder, "package.json"), '{"private":true}');
    await must(`npm install ${packages.join(" ")}`, "npm", ["install", "--no-audit", "--no-fund", ...packages], { ...npm, cwd: folder });
  });

export async function ensureNode(major: number, arch = "x64") {
  const name = `node-linux-${arch}`;
  // Force: npm would not install another CPU's.
  const folder = await tools(`release-node-${arch === "x64" ? "" : `${arch}-`}${major}`, ["--force", `${name}@${major}`]);
  return join(folder, "node_modules", name, "bin", "node");
}

/** An empty project with the tarballs, and the programs. */
export async function installed(tarballs: readonly string[], options: readonly string[] = []) {
  const app = mkdtempSync(join(tmpdir(), "dxtensor-release-"));
  writeFileSync(join(app, "package.json"), '{"name":"app","private":true}');
  await must("npm install", "npm", ["install", "--ignore-scripts", "--offline", "--no-audit", "--no-fund", ...options, ...tarballs], {
    ...npm,
    cwd: app,
  });
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(app, name), text);
  writeFileSync(join(app, "tour.mjs"), examplesOf(readFileSync(join(app, "node_modules", "dxtensor", "docs", "tour.md"), "utf8")));
  return app;
}

/** What became of a program. */
interface Done {
  readonly failed: boolean;
  readonly stdout?: unknown;
  readonly stderr?: unknown;
  readonly shortMessage?: string | undefined;
}

const textOf = ({ stdout, stderr, shortMessage }: Done): string =>
  String(stderr || stdout || shortMessage || "")
    .trim()
    .slice(-1500);

/** null where a program ended well, else what it said. */
export const ended = (what: string, done: Done): string | null => (done.failed ? `${what}: ${textOf(done)}` : null);
/** null where a program says what it has to, else what it said instead. */
export const judged = (what: string, done: Done): string | null =>
  !done.failed && String(done.stdout).trim() === expected ? null : `${what}: ${textOf(done)}`;

export const answers = async (what: string, command: string, args: readonly string[], options: Options) =>
  judged(what, await execa(command, args, { reject: false, stdin: "ignore", timeout: 120_000, ...options }));

/** null where the doctor says that a device computes, and advises nothing that only a repository has. */
export const judgedDoctor = (what: string, device: string, done: Done): string | null =>
  !done.failed && new RegExp(`^${device} .*computes`, "m").test(String(done.stdout)) && !/npm run /.test(String(done.stdout))
    ? null
    : `${what}, dxtensor doctor (${device}): ${textOf(done)}`;

/** null where dxtensor --version --json lists the package's own libraries from below a folder. */
export const judgedVersion = (what: string, folder: string, done: Done): string | null =>
  !done.failed && isComplete(String(done.stdout), folder) ? null : `${what}, dxtensor --version --json: ${textOf(done)}`;

/** Nothing runs at installation, and nothing is compiled. */
export function checkScripts(app: string): string[] {
  const of = (scope: string): string[] =>
    existsSync(join(app, "node_modules", scope)) ? readdirSync(join(app, "node_modules", scope)).map((name) => join(scope, name)) : [];
  return ["dxtensor", ...of("@dxtensor")].flatMap((name) => {
    const folder = join(app, "node_modules", name);
    const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { scripts?: object };
    // npm compiles where it finds this file.
    const isBuilt = existsSync(join(folder, "binding.gyp"));
    return [...(scripts === undefined ? [] : [`${name} has scripts`]), ...(isBuilt ? [`${name} has a binding.gyp`] : [])];
  });
}

function isComplete(text: string, folder: string): boolean {
  const { dxtensor, libraries } = JSON.parse(text) as {
    dxtensor: string;
    libraries: { name: string; path: string | null; version: string | null; problem: string | null }[];
  };
  const own = libraries.filter(({ name }) => name === "addon" || name === "software");
  return (
    dxtensor === manifest.version &&
    own.length === 2 &&
    own.every(({ path, version, problem }) => path?.startsWith(folder) && version !== null && problem === null)
  );
}

/** Every program on a version of Node, and the command. */
export async function checkNode(app: string, major: number) {
  const node = await ensureNode(major);
  const found = await Promise.all(Object.keys(programs).map((name) => answers(`Node ${major}, ${name}`, node, [name], { cwd: app })));
  const run = (...args: string[]) =>
    execa(node, [join(app, "node_modules", "dxtensor", "dist", "bundle", "cli.js"), ...args], { cwd: app, reject: false });
  const what = `Node ${major}`;
  found.push(ended(`${what}, the tour`, await execa(node, ["tour.mjs"], { cwd: app, reject: false, timeout: 120_000 })));
  found.push(judgedDoctor(what, "cpu", await run("doctor")));
  found.push(judgedVersion(what, realpathSync(app), await run("--version", "--json")));
  return found.filter((problem) => problem !== null);
}

/** Types for both kinds of module, without Node's or the DOM's, by this repository's TypeScript and by the oldest that is supported. */
export async function checkTypes(app: string) {
  const old = await tools("release-typescript-5.4", ["typescript@5.4"]);
  writeFileSync(join(app, "types.mts"), `import * as dx from "dxtensor";${types}`);
  writeFileSync(join(app, "types.cts"), `import dx = require("dxtensor");${types}`);
  const compilerOptions = {
    module: "nodenext",
    target: "es2022",
    lib: ["es2022"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    types: [],
  };
  writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["types.mts", "types.cts"] }));
  const problems = [];
  for (const tsc of [tool("tsc"), join(old, "node_modules", ".bin", "tsc")]) {
    const done = await execa(tsc, ["-p", app], { reject: false });
    if (done.failed) problems.push(`types, ${tsc}: ${done.stdout.split("\n").slice(0, 5).join("\n")}`);
  }
  return problems;
}

/** What each bundler makes of the program, minified where it can: run next to node_modules; elsewhere it says what to do. */
const bundlers: Readonly<Record<string, readonly [command: string, args: readonly string[], output: string]>> = {
  "esbuild, ES module": [
    "esbuild",
    ["esm.mjs", "--bundle", "--platform=node", "--minify", "--format=esm", "--outfile=out/esbuild.mjs"],
    "out/esbuild.mjs",
  ],
  "esbuild, CommonJS": [
    "esbuild",
    ["esm.mjs", "--bundle", "--platform=node", "--minify", "--format=cjs", "--outfile=out/esbuild.cjs"],
    "out/esbuild.cjs",
  ],
  "esbuild, required": [
    "esbuild",
    ["cjs.cjs", "--bundle", "--platform=node", "--minify", "--outfile=out/required.cjs"],
    "out/required.cjs",
  ],
  rollup: ["rollup", ["esm.mjs", "-p", "node-resolve", "-p", "terser", "-f", "es", "-o", "out/rollup.mjs"], "out/rollup.mjs"],
  rolldown: ["rolldown", ["esm.mjs", "--platform", "node", "--minify", "-o", "out/rolldown.mjs"], "out/rolldown.mjs"],
  webpack: ["webpack", ["--mode", "production", "--target", "node20", "--entry", "./esm.mjs", "-o", "out/webpack"], "out/webpack/main.js"],
};
const bundlerPackages = [
  "esbuild@0.28",
  "rollup@4",
  "@rollup/plugin-node-resolve@16",
  "@rollup/plugin-terser@1",
  "rolldown@1",
  "webpack@5",
  "webpack-cli@7",
];

export async function checkBundlers(app: string, names = Object.keys(bundlers)) {
  const folder = await tools("release-bundlers-1", bundlerPackages);
  // Plugins that a command line names are looked for from the project.
  for (const name of readdirSync(join(folder, "node_modules")))
    if (!existsSync(join(app, "node_modules", name)))
      await execa("ln", ["-s", join(folder, "node_modules", name), join(app, "node_modules", name)]);
  const problems: string[] = [];
  for (const name of names) {
    const [command, args, output] = bundlers[name]!;
    const made = await execa(join(folder, "node_modules", ".bin", command), args, { cwd: app, reject: false, all: true });
    if (made.failed) {
      problems.push(`${name}: ${made.all.slice(-1500)}`);
      continue;
    }
    const ran = await answers(name, process.execPath, [output], { cwd: app });
    if (ran !== null) problems.push(ran);
    problems.push(...(await elsewhere(app, name, output)));
  }
  return problems;
}

/** A bundle that was carried away names the line that makes it work. */
async function elsewhere(app: string, name: string, output: string): Promise<string[]> {
  if (name === "webpack") return [];
  const away = mkdtempSync(join(tmpdir(), "dxtensor-bundle-"));
  try {
    const file = join(away, output.split("/").at(-1)!);
    cpSync(join(app, output), file);
    // Not let it end the process: Node would write the minified line out, all of it.
    const program = `import(${JSON.stringify(file)}).then(() => console.log("no error"), (error) => console.log(error.name, error.message))`;
    const { stdout } = await execa(process.execPath, ["-e", program], { cwd: away, reject: false });
    return /^NativeLoadError .*dxtensor is part of a bundle.*--external:dxtensor/s.test(stdout)
      ? []
      : [`${name}, carried away: ${stdout.slice(0, 800)}`];
  } finally {
    rmSync(away, { recursive: true });
  }
}

/** The programs in a system with glibc 2.31 and nothing but Node: Debian 11, without an engine. */
export async function checkOldSystem(app: string, majors: readonly number[]) {
  const root = await ensureRoot("bullseye");
  const folder = join(root, "srv", "app");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(app, folder, { recursive: true, filter: (path) => !/node_modules\/(?!@?dxtensor)/.test(path) });
  const problems: (string | null)[] = [];
  for (const major of majors) {
    cpSync(await ensureNode(major), join(root, "srv", "node"));
    // Node 26 itself needs it.
    cpSync(join(await ensureSysroot("x64"), "usr/lib/x86_64-linux-gnu/libatomic.so.1"), join(root, "srv", "libatomic.so.1"), {
      dereference: true,
    });
    for (const name of Object.keys(programs))
      problems.push(
        await answers(
          `glibc 2.31, Node ${major}, ${name}`,
          "chroot",
          [root, "/bin/sh", "-c", `cd /srv/app && LD_LIBRARY_PATH=/srv exec /srv/node ${name}`],
          {},
        ),
      );
  }
  return problems.filter((problem) => problem !== null);
}

/** Milliseconds of processor time that importing takes beyond Node's own start, the least of several. */
export async function startUp(app: string, file: string) {
  const time = async (program: string) => {
    const done = await must(
      program,
      process.execPath,
      ["--input-type=module", "-e", `${program}; const { user, system } = process.cpuUsage(); console.log((user + system) / 1000)`],
      { cwd: app, all: false },
    );
    return Number(done.stdout);
  };
  const rounds: [number, number][] = [];
  for (let i = 0; i < 5; i++) rounds.push([await time(""), await time(file)]);
  return Math.min(...rounds.map((round) => round[1])) - Math.min(...rounds.map((round) => round[0]));
}
