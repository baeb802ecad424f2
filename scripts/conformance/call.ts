// The options of `npm run conformance`: which Vulkan driver Microsoft's library runs over, and what `dxtensor conformance` gets.
import { ScriptError } from "../tools/project.ts";

/** Vulkan drivers by the name of --library. */
const drivers: Readonly<Record<string, string>> = { linux: "lavapipe", vulkan: "system" };

export interface ConformanceCall {
  /** The Vulkan driver under Microsoft's library; null: the library is not used. */
  readonly driver: string | null;
  /** Of `dxtensor conformance`. */
  readonly args: readonly string[];
}

const hasOption = (args: readonly string[], name: string): boolean => args.some((text) => text === name || text.startsWith(`${name}=`));

/** Takes --library out of the options; with it the device is dml:0 unless one is named. Throws ScriptError for a mistake. */
export function conformanceCall(all: readonly string[]): ConformanceCall {
  const index = all.findIndex((text) => text === "--library" || text.startsWith("--library="));
  if (index < 0) return { driver: null, args: named(all) };
  const isJoined = all[index] !== "--library";
  const library = isJoined ? all[index]!.slice("--library=".length) : (all[index + 1] ?? "");
  if (!Object.hasOwn(drivers, library))
    throw new ScriptError(
      "USAGE",
      `There is no library "${library}": ${Object.keys(drivers).join(", ")}.`,
      "npm run conformance -- --help",
    );
  const rest = all.toSpliced(index, isJoined ? 1 : 2);
  if (hasOption(rest, "--library")) throw new ScriptError("USAGE", "--library occurs twice.", "npm run conformance -- --help");
  return { driver: drivers[library]!, args: hasOption(rest, "--device") ? rest : ["--device", "dml:0", ...rest] };
}

function named(args: readonly string[]): readonly string[] {
  if (hasOption(args, "--device") || hasOption(args, "--list")) return args;
  const said = args.length > 0 ? ` (${args.join(" ")})` : "";
  throw new ScriptError("USAGE", `No device was named${said}.`, "npm run conformance -- --device cpu");
}
