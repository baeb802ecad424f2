/** `dxtensor run`: runs an ONNX model. See docs/commands.md. */
import { InvalidArgumentError, type Command } from "commander";
import type { ModelRunOptions } from "../model-run/options.ts";
import { reportError } from "./report-error.ts";

interface Options extends Omit<ModelRunOptions, "profile"> {
  readonly json: boolean;
  readonly profile?: number | boolean;
}

const help = `
FILE: an ONNX model. An input without --input is filled: floats with random numbers from 0 to 1, integers and booleans with 0 and 1. A length that has a
name or none, and that neither --dim nor --shape nor an array says, is 1. The first call compiles the model; --repeat times the calls after it. A time ends
when the device is done. Exit status: 0, or 1 for a file or inputs that do not fit.

  npx dxtensor run det.onnx --shape x=1,3,640,640 --repeat 20 --profile
  npx dxtensor run bert.onnx --dim batch=1 --dim sequence=128 --input attention_mask=ones
  npx dxtensor run vad.onnx --input input=audio.npy --input sr=16000 --output results

For programs: --json prints one line, {"ok", "file", "device", "nodes", "inputs": [{"name", "dtype", "shape", "from"}], "outputs": [{"name", "dtype",
"shape", "min", "max", "mean", "nans", "file"}], "times": {"load", "first", "calls", "min", "median", "mean", "max"}, "slowest"}; times are milliseconds.`;

const SHOWN_NODES = 10;

const integer =
  (min: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || !Number.isSafeInteger(value))
      throw new InvalidArgumentError(`It must be an integer of at least ${min}.`);
    return value;
  };

const collected = (text: string, list: readonly string[]): string[] => [...list, text];

async function run(file: string, { json, profile, ...options }: Options): Promise<void> {
  const { runModel } = await import("../model-run/run-model.ts");
  const { describeRun, jsonOfRun } = await import("../model-run/run-report.ts");
  const shown = profile === undefined || profile === false ? null : profile === true ? SHOWN_NODES : profile;
  const tell = (text: string): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
  };
  try {
    const report = await runModel(file, { ...options, profile: shown }, (done) => tell(`call ${done} of ${options.repeat}`));
    tell("");
    process.stdout.write(`${json ? jsonOfRun(report) : describeRun(report)}\n`);
  } catch (error) {
    tell("");
    reportError(error, json);
  }
}

export function addRun(program: Command): void {
  const command = program
    .command("run")
    .description("runs an ONNX model: its outputs, its times, and the nodes that take the longest")
    .argument("<file>", "an ONNX model")
    .option("--input <name=value>", "a .npy file, a number for all elements, random, zeros or ones; repeatable", collected, [])
    .option("--dim <name=n>", "the length that a name in the inputs' shapes stands for; repeatable", collected, [])
    .option("--shape <name=lengths>", "the shape of an input, such as x=1,3,224,224; repeatable", collected, [])
    .option("--seed <n>", "seed of random inputs", integer(0), 0)
    .option("--device <name>", '"cpu", "dml:0", ... (default: the first hardware adapter, else cpu)')
    .option("--eager", "node by node, not compiled", false)
    .option("--repeat <n>", "times so many calls after the first one", integer(0), 0)
    .option("--output <folder>", "writes each output as a .npy file")
    .option("--profile [n]", `shows the slowest nodes (default: ${SHOWN_NODES})`, integer(1))
    .option("--json", "one line of JSON on stdout", false)
    .addHelpText("after", help)
    .action(run);
  command.addOption(
    command
      .createOption("--fill <what>", "what inputs without --input are filled with")
      .choices(["random", "zeros", "ones"])
      .default("random"),
  );
}
