/** npm run matrix: the command line. */
import { Command, InvalidArgumentError } from "commander";
import { cleanMatrix, type CleanOptions } from "./commands/clean.ts";
import { githubWorkflow } from "./commands/github.ts";
import { rewriteReport } from "./commands/report.ts";
import { defaultConfig, runMatrix, type RunOptions } from "./commands/run.ts";
import { listRuns } from "./run/store.ts";
import { ScriptError } from "../scripts/tools/project.ts";

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError("It must be a number above 0.");
  return value;
}

function count(text: string): number {
  const value = positive(text);
  if (!Number.isInteger(value)) throw new InvalidArgumentError("It must be an integer.");
  return value;
}

const program = new Command("npm run matrix --")
  .description("Tests across platforms, versions of Node and GPUs. matrix/matrix.yaml has the axes, docs/matrix.md the rest.")
  .enablePositionalOptions()
  .option("--quick", "one container platform, two versions of Node, the software adapter")
  .option("--suite <name>", "which tests (a suite of matrix.yaml)")
  .option("--platform <ids...>", 'only these platforms; "*" stands for any text')
  .option("--node <majors...>", "only these versions of Node")
  .option("--gpu <ids...>", "only these GPUs")
  .option("--commit <name>", "test a commit instead of the working tree (container cells)")
  .option("--parallel <number>", "cells at a time on each engine", count)
  .option("--timeout <minutes>", "limit of a cell", positive)
  .option("--engine <names...>", "Docker engines: local, a context's name, unix://, tcp:// or ssh:// addresses")
  .option("--no-engine", "without Docker")
  .option("--no-start", "do not start an engine where none answers")
  .option("--resume [run]", "resume the newest run, or the named one; passed cells stay")
  .option("--dry-run", "print the plan and do nothing")
  .option("--json", "the plan or the results as JSON on standard output")
  .option("--config <file>", "another file of axes", defaultConfig)
  .addHelpText(
    "after",
    "\nExit status: 0 all is well, 1 a cell that must pass has failed or nothing passed, 2 a mistake in the call, 130 interrupted.",
  );

/** Everything is written and closed when an action is done; what an engine's connections still hold is not waited for. */
const run = async (action: () => Promise<number>): Promise<void> => {
  process.exitCode = await action();
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write("", resolve))));
  process.exit();
};

program.action((options: RunOptions) => run(() => runMatrix(options)));

program
  .command("clean")
  .description("remove what killed runs left: containers, processes, folders")
  .option(
    "--all",
    "also images, volumes, versions of Node and reports that are kept from run to run; stop an engine that was started for them",
  )
  .option("--engine <names...>", "Docker engines")
  .option("--no-engine", "without Docker")
  .option("--json", "what was removed as JSON")
  .action((options: CleanOptions) => run(() => cleanMatrix(options)));

program
  .command("report [run]")
  .description("write the reports of a run again")
  .option("--config <file>", "another file of axes", defaultConfig)
  .action((name: string | undefined, options: { config: string }) => run(async () => rewriteReport(name ?? "latest", options.config)));

program
  .command("runs")
  .description("list the runs that are there")
  .action(() => {
    process.stdout.write(`${listRuns().join("\n")}\n`);
  });

program
  .command("github")
  .description("the matrix of GitHub Actions: print it as JSON, or write the workflows")
  .option("--write", "write .github/workflows")
  .option("--check", "fail when they are out of date")
  .option("--config <file>", "another file of axes", defaultConfig)
  .action((options: { write?: true; check?: true; config: string }) => run(async () => githubWorkflow(options)));

program.exitOverride((error) => {
  process.exit(error.exitCode === 0 ? 0 : 2);
});

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof ScriptError)) throw error;
  process.stderr.write(`matrix: ${error.message}\n`);
  process.exitCode = error.message.startsWith("interrupted") ? 130 : 2;
}
