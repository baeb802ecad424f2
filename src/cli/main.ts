#!/usr/bin/env node
/** The `dxtensor` command: one verb per file. Importing a verb loads no DirectX library; running one may. */
import { Command, CommanderError } from "commander";
import { DxError } from "../core/errors.ts";
import { version, versions } from "./version.ts";
import { addBackend } from "./backend.ts";
import { addConformance } from "./conformance.ts";
import { addDoctor } from "./doctor.ts";
import { addFetch } from "./fetch.ts";
import { addInspect } from "./inspect.ts";
import { addLaunch } from "./launch-command.ts";
import { addProfile } from "./profile.ts";
import { addRun } from "./model-run.ts";
import { addShaders } from "./shaders.ts";
import { addTelemetry } from "./telemetry.ts";
import { addVerify } from "./verify.ts";

/** A verb adds its command, with options and action, to the program. An action that finds something wrong sets process.exitCode. */
export type Verb = (program: Command) => void;

const verbs: readonly Verb[] = [
  addBackend,
  addConformance,
  addDoctor,
  addFetch,
  addInspect,
  addLaunch,
  addProfile,
  addRun,
  addShaders,
  addTelemetry,
  addVerify,
];

// A reader that has seen enough, as head(1), ends the command: nobody is left to tell.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

/** Exit status: 0 all right, 1 the verb found something wrong, 2 it could not be run as asked. */
async function main(): Promise<void> {
  const asked = process.argv.slice(2);
  if (asked.length === 2 && asked.includes("--json") && asked.some((arg) => arg === "--version" || arg === "-V")) {
    process.stdout.write(`${versions()}\n`);
    return;
  }
  const program = new Command("dxtensor")
    .description("Tensors, autograd and training on any DirectX 12 GPU, through DirectML.")
    .version(version(), "-V, --version", "the version; with --json one line that lists the libraries, too")
    .exitOverride()
    .showSuggestionAfterError();
  for (const add of verbs) add(program);
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync();
  } catch (error) {
    // commander has written its own message already.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else {
      const text =
        error instanceof DxError
          ? `${error.name}: ${error.message}`
          : error instanceof Error
            ? (error.stack ?? error.message)
            : String(error);
      process.stderr.write(`dxtensor: ${text}\n`);
      process.exitCode = 2;
    }
  }
}

void main();
