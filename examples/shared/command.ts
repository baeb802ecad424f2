/** Shared by the examples' commands: options, checked values, and reports of failures. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import * as dx from "dxtensor";

/** Options of every example. */
export interface CommonOptions {
  readonly device: dx.Device;
  readonly seed: number;
  readonly json: boolean;
}

/** An integer in [least, most], as commander's parser of an option. */
export const whole =
  (min: number, max = Infinity) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isSafeInteger(value) || value < min || value > max)
      throw new InvalidArgumentError(`It must be an integer ${max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`}.`);
    return value;
  };

/** A port of this machine; 0 takes any that is free. */
export const port = whole(0, 65535);

/** A number in [least, most]. */
export const real =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === "" || !(value >= min && value <= max)) throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
    return value;
  };

/** A device that is there: "dml:1" says so now, not at the first tensor. */
function deviceNamed(text: string): dx.Device {
  try {
    const named = dx.device(text);
    return named.type === "dml" ? dx.dml.device(named.index) : named;
  } catch (error) {
    if (error instanceof dx.DxError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

/** A command with the options that all examples have. */
export const exampleCommand = (name: string, purpose: string): Command =>
  new Command(`npm run example -- ${name}`)
    .description(purpose)
    .option("--device <name>", '"cpu", "dml:0", ... (default: the first hardware adapter, else cpu)', deviceNamed)
    .option("--seed <n>", "seed of weights, data and order", whole(0), 1)
    .option("--json", "one line of JSON instead of text", false)
    .helpOption("--help", "this text")
    .allowExcessArguments(false)
    .showSuggestionAfterError()
    .exitOverride();

/** Ends the command, as for a wrong option, where one of these is missing. commander's own test hides wrong options behind missing ones. */
export function requireOptions<O extends object>(command: Command, options: O, names: readonly (keyof O & string)[]): void {
  for (const name of names) {
    const value = options[name];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) command.error(`error: option '--${name}' is missing`);
  }
}

/** A failure of the example itself, such as a goal that was missed: told without a stack. */
export class ExampleError extends Error {
  override readonly name = "ExampleError";
}

/** Ends what `promise` fails with by a sentence: `the text "x" can't be read: no such file`. */
export async function saying<T>(what: string, promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw new ExampleError(`${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Whether the module is the program that Node was started with. */
export const isMain = (url: string): boolean => process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url);

/**
 * Reads the options, makes the device the default, seeds, and runs. Exit status 2 for wrong options, 1 for a failure; with --json both are a
 * line on standard output, {"error": {"name", "message"}}.
 */
export async function runExample<O extends CommonOptions>(
  command: Command,
  body: (options: O, say: (text: string) => void) => Promise<void>,
): Promise<void> {
  const json = process.argv.includes("--json");
  const fail = (name: string, message: string, code: number): void => {
    process.exitCode = code;
    if (json) console.log(JSON.stringify({ error: { name, message } }));
    else process.stderr.write(`${message}\n`);
  };
  if (json) command.configureOutput({ writeErr: () => {} });
  try {
    command.parse();
    const parsed = command.opts<O>();
    const options = { ...parsed, device: (parsed.device as dx.Device | undefined) ?? dx.defaultDevice() };
    dx.setDefaultDevice(options.device);
    dx.manualSeed(options.seed);
    await body(options, options.json ? () => {} : (text) => console.log(text));
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 2;
      // commander has written its own message, but where JSON was asked for.
      if (json && error.exitCode !== 0) fail("OptionError", error.message, 2);
    } else if (error instanceof dx.DxError || error instanceof ExampleError) fail(error.name, error.message, 1);
    else throw error;
  }
}
