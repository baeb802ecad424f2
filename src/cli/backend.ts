/** `dxtensor backend new NAME`: a package with a backend of one's own. See docs/write-a-backend.md. */
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { requireBackendName } from "../backend/registry.ts";
import { declaredBackends } from "../backend/autoload.ts";
import { FormatError, ValueError } from "../core/errors.ts";
import { addGenerate } from "./backend-generate.ts";
import { LICENCES, packageFiles, type Licence } from "./backend-package.ts";
import { reportError } from "./report-error.ts";
import { version } from "./version.ts";

const OPERATION = "backend new";
const help = `
The package has a backend on host memory with a few kernels, strict TypeScript, tests, a GitHub workflow, and the entry by which dxtensor finds
it. The folder must be new or empty: nothing is overwritten. docs/write-a-backend.md says what each method promises.

For programs: --json prints one line, {"ok": true, "name", "package", "folder", "files"} or {"ok": false, "code", "message", "hint"}.
Exit status: 0 when it was written, 1 when nothing was.`;

interface Options {
  readonly folder?: string;
  readonly package?: string;
  readonly licence: string;
  readonly json: boolean;
}

/** The library's own devices, which need not be registered in a command. */
const OWN: readonly string[] = ["cpu", "dml"];

function requireFree(name: string): void {
  requireBackendName(OPERATION, "name", name);
  const declared = declaredBackends().find((entry) => entry.name === name);
  const owner = OWN.includes(name) ? "which the library has itself" : declared && `which the package ${declared.package} declares`;
  if (owner !== undefined) throw new ValueError(OPERATION, "name", "a name that is not taken", `${name}, ${owner}`);
}

function requireEmpty(folder: string): void {
  if (!existsSync(folder)) return;
  const isFolder = statSync(folder).isDirectory();
  const [first] = isFolder ? readdirSync(folder) : [];
  if (!isFolder || first !== undefined)
    throw new FormatError(OPERATION, folder, "new or an empty folder", isFolder ? `a folder with ${first}` : "a file", "Choose another one by --folder."); // prettier-ignore
}

function write(folder: string, files: ReadonlyMap<string, string>): void {
  try {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { flag: "wx" });
    }
  } catch (error) {
    throw new FormatError(OPERATION, folder, "a folder that can be written", (error as Error).message);
  }
}

function make(name: string, { folder: named, package: packageName = `dxtensor-${name}`, licence }: Options): object {
  requireFree(name);
  if (!/^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(packageName) || packageName.length > 214)
    throw new ValueError(OPERATION, "--package", "the name of an npm package in lower case", packageName);
  if (!LICENCES.includes(licence as Licence)) throw new ValueError(OPERATION, "--licence", `one of ${LICENCES.join(", ")}`, licence);
  const folder = resolve(named ?? `dxtensor-${name}`);
  requireEmpty(folder);
  const year = new Date().getFullYear();
  const files = packageFiles({ name, packageName, licence: licence as Licence, dxtensor: version(), year });
  write(folder, files);
  return { ok: true, name, package: packageName, folder, files: [...files.keys()] };
}

function run(name: string, options: Options): void {
  try {
    const made = make(name, options) as { readonly folder: string; readonly files: readonly string[] };
    if (options.json) process.stdout.write(`${JSON.stringify(made)}\n`);
    else process.stdout.write(`Written: ${made.folder}, ${made.files.length} files.\nNext: npm install, then npm test, in that folder.\n`);
  } catch (error) {
    reportError(error, options.json);
  }
}

export function addBackend(program: Command): void {
  const group = program.command("backend").description("a backend of your own: new, generate");
  group
    .command("new")
    .description("write a package with a backend, its tests and its workflow")
    .argument("<name>", 'the type of its devices, "tiny" of "tiny:0"')
    .option("--folder <folder>", "where to write it (default: dxtensor-NAME)")
    .option("--package <name>", "the package's name (default: dxtensor-NAME)")
    .option("--licence <id>", `one of ${LICENCES.join(", ")}`, "MIT")
    .option("--json", "one line of JSON on stdout", false)
    .addHelpText("after", help)
    .action(run);
  addGenerate(group);
}
