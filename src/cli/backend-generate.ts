/** `dxtensor backend generate FILE`: typed registrations of a backend's kernels. See docs/write-a-backend.md. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { own } from "../core/definition.ts";
import { FormatError } from "../core/errors.ts";
import { OPERATION, readSpec } from "./backend-spec.ts";
import { HEADER, generatedText } from "./backend-types.ts";
import { reportError } from "./report-error.ts";

const OUTPUT = "backend.generated.ts";
const help = `
Writes ${OUTPUT}: types of each operation's call, the interface Kernels with one member for each operation, and makeBackend(), which takes
them. A program in which a kernel is missing does not compile. Nothing else is written: kernels are in files of your own.

The file has the keys
  name        the type of the devices, as tiny
  version     of the backend, as "0.1.0"
  dtypes      in which its kernels compute, as [float32, int32]
  operations  operators of DirectML's (GEMM) and operations of the library's (softmax); one with fewer dtypes as GEMM: [float32]
  fallback    operations whose kernels may refuse a call: all (default), none, or a list

For programs: --json prints one line, {"ok": true, "name", "file", "isCurrent", "operations"} or {"ok": false, "code", "message", "hint"}.
Exit status: 0 when the file is up to date, 1 when it was not under --check, or nothing could be written.`;

interface Options {
  readonly out?: string;
  readonly check: boolean;
  readonly json: boolean;
}

const textOf = (file: string, expected: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new FormatError(OPERATION, file, expected, (error as Error).message);
  }
};

async function generate(
  source: string,
  { out, check }: Options,
): Promise<{ readonly file: string; readonly isCurrent: boolean; readonly name: string }> {
  const text = textOf(source, "a file that can be read");
  // The operations declare themselves when they are imported.
  await import("../index.ts");
  const known = own.flatMap(({ name, host }) => (host === undefined ? [name] : []));
  const spec = readSpec(source, text, known);
  const made = generatedText(basename(source), spec);
  const file = join(resolve(out ?? join(dirname(source), "src")), OUTPUT);
  const before = existsSync(file) ? textOf(file, "a file that can be read") : null;
  const told = { name: spec.name, file, operations: spec.operations.map((operation) => operation.name) };
  if (before === made) return { ...told, isCurrent: true };
  if (check) return { ...told, isCurrent: false };
  if (before !== null && !before.startsWith(HEADER))
    throw new FormatError(
      OPERATION,
      file,
      "a generated file",
      "a file that it did not write",
      "Move it, or choose another folder by --out.",
    );
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, made);
  } catch (error) {
    throw new FormatError(OPERATION, file, "a file that can be written", (error as Error).message);
  }
  return { ...told, isCurrent: true };
}

async function run(source: string, options: Options): Promise<void> {
  try {
    const told = await generate(source, options);
    if (!told.isCurrent) process.exitCode = 1;
    if (options.json) process.stdout.write(`${JSON.stringify({ ok: told.isCurrent, ...told })}\n`);
    else
      process.stdout.write(told.isCurrent ? `Up to date: ${told.file}\n` : `Out of date: ${told.file}\nRun the command without --check.\n`);
  } catch (error) {
    reportError(error, options.json);
  }
}

export function addGenerate(group: Command): void {
  group
    .command("generate")
    .description("write typed registrations of a backend's kernels")
    .argument("<file>", "what the backend computes: backend.yaml")
    .option("--out <folder>", `where to write ${OUTPUT} (default: src next to the file)`)
    .option("--check", "write nothing; exit status 1 where the file is out of date", false)
    .option("--json", "one line of JSON on stdout", false)
    .addHelpText("after", help)
    .action(run);
}
