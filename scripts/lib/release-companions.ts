// Whether openreg and the conformance tests work where they are installed from their tarballs, as a vendor installs them.
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { tool } from "../tools/project.ts";
import { companionManifest, companions, type Companion } from "./companions.ts";
import { checkScripts, ended, installed } from "./release-checks.ts";

/** A device that no import names, computing; then what its package exports. */
const program = `import * as dx from "dxtensor";
const sum = dx.tensor([1, 2], { device: "openreg:0" }).add(1);
console.log(String(sum.device), sum.toArraySync().join());
const { backend, faults } = await import("@dxtensor/openreg");
faults(0).missing("GEMM");
console.log(backend.name, backend.version, dx.backend.list().map(({ name }) => name).join());
`;

const types = `import { backend, faults, type Faults } from "@dxtensor/openreg";
import { backend as dx } from "dxtensor";
export const own: dx.Backend = backend;
export const first: Faults = faults(0);
// @ts-expect-error an index is a number
faults("openreg:0");
`;

/** Fields that only the repository's manifest has, in what was installed. */
export function manifestProblems(name: Companion, manifest: Readonly<Record<string, unknown>>): string[] {
  const wanted = companionManifest(name);
  const different = [...new Set([...Object.keys(wanted), ...Object.keys(manifest)])].filter(
    (key) => JSON.stringify(wanted[key]) !== JSON.stringify(manifest[key]),
  );
  return different.map((key) => `@dxtensor/${name}: package.json has ${key} ${JSON.stringify(manifest[key])}`);
}

/** Files that a manifest's entries name and the package lacks; files that it must not have. */
export function contentProblems(name: string, folder: string): string[] {
  const { exports = {}, dxtensor = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly exports?: object;
    readonly dxtensor?: object;
  };
  const paths = (value: unknown): string[] =>
    typeof value === "string" ? [value] : typeof value === "object" && value !== null ? Object.values(value).flatMap(paths) : [];
  const lacks = [...paths(exports), ...paths(dxtensor), "README.md", "LICENSE"].filter((path) => !existsSync(join(folder, path)));
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  // Others' packages come by npm, with their own licence; MNIST's digits have none.
  const foreign = all.filter((path) => /(^|[\\/])node_modules$|mnist|\.tsbuildinfo$|(?<!\.d)\.ts$/.test(path));
  return [...lacks.map((path) => `@dxtensor/${name} lacks ${path}`), ...foreign.map((path) => `@dxtensor/${name} contains ${path}`)];
}

/** dxtensor and both companions in an empty folder, run by each Node: its path by its name. Gives the problems. */
export async function checkCompanions(tarballs: readonly string[], nodes: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const app = await installed(tarballs);
  try {
    const problems: (string | null)[] = checkScripts(app);
    for (const name of companions) {
      const folder = join(app, "node_modules", "@dxtensor", name);
      problems.push(...manifestProblems(name, JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))));
      problems.push(...contentProblems(name, folder));
    }
    writeFileSync(join(app, "backend.mjs"), program);
    writeFileSync(join(app, "backend.mts"), types);
    const compilerOptions = { module: "nodenext", target: "es2022", lib: ["es2022"], strict: true, noEmit: true, types: [] };
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["backend.mts"] }));
    problems.push(ended("the types of openreg", await execa(tool("tsc"), ["-p", app], { reject: false })));
    for (const [what, node] of Object.entries(nodes)) problems.push(...(await checkOn(app, node, what)));
    return problems.filter((problem) => problem !== null);
  } finally {
    rmSync(app, { recursive: true });
  }
}

/** What a vendor runs: a program, some of the must-pass tests, the check of their report. */
async function checkOn(app: string, node: string, what: string): Promise<(string | null)[]> {
  const run = (...args: string[]) => execa(node, args, { cwd: app, reject: false, stdin: "ignore", timeout: 120_000 });
  const { version } = companionManifest("openreg");
  const used = await run("backend.mjs");
  const said = `openreg:0 2,3\nopenreg ${String(version)} openreg`;
  const command = join(app, "node_modules", ".bin", "dxtensor");
  const options = ["--set", "must-pass", "--file", "core/scope", "--only", "scope"];
  const tested = await run(command, "conformance", "--device", "openreg:0", ...options, "--ctrf", "report.json");
  const isTested = /^ {2}must-pass +100\.00 % +[1-9]\d* passed, 0 failed/m.test(tested.stdout);
  return [
    ended(`${what}, a program on openreg`, used) ?? (used.stdout === said ? null : `${what}, a program on openreg said ${used.stdout}`),
    ended(`${what}, dxtensor conformance`, tested) ?? (isTested ? null : `${what}, dxtensor conformance said ${tested.stdout}`),
    ended(`${what}, dxtensor report check`, await run(command, "report", "check", "report.json")),
  ];
}
