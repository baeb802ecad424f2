// The options of `npm run conformance`: which of Microsoft's libraries the tests run on, over which Vulkan driver, and what `dxtensor conformance` gets.
import { ScriptError } from "../tools/project.ts";

/** Where Microsoft's library runs, by the name of --library: on Linux over one of these Vulkan drivers, or on Windows in the Wine cell. */
const libraries: Readonly<Record<string, Pick<ConformanceCall, "driver" | "isWindows">>> = {
  linux: { driver: "lavapipe", isWindows: false },
  vulkan: { driver: "system", isWindows: false },
  windows: { driver: null, isWindows: true },
};

export interface ConformanceCall {
  /** The Vulkan driver under Microsoft's library on Linux; null: it is not used. */
  readonly driver: string | null;
  /** DirectML.dll is used, in the Wine cell. */
  readonly isWindows: boolean;
  /** Of `dxtensor conformance`. */
  readonly args: readonly string[];
}

const hasOption = (args: readonly string[], name: string): boolean => args.some((text) => text === name || text.startsWith(`${name}=`));

/** Takes --library out of the options; with it the device is dml:0 unless one is named. Throws ScriptError for a mistake. */
export function conformanceCall(all: readonly string[]): ConformanceCall {
  const index = all.findIndex((text) => text === "--library" || text.startsWith("--library="));
  if (index < 0) return { driver: null, isWindows: false, args: named(all) };
  const isJoined = all[index] !== "--library";
  const library = isJoined ? all[index]!.slice("--library=".length) : (all[index + 1] ?? "");
  if (!Object.hasOwn(libraries, library))
    throw new ScriptError(
      "USAGE",
      `There is no library "${library}": ${Object.keys(libraries).join(", ")}.`,
      "npm run conformance -- --help",
    );
  const rest = all.toSpliced(index, isJoined ? 1 : 2);
  if (hasOption(rest, "--library")) throw new ScriptError("USAGE", "--library occurs twice.", "npm run conformance -- --help");
  return { ...libraries[library]!, args: hasOption(rest, "--device") ? rest : ["--device", "dml:0", ...rest] };
}

function named(args: readonly string[]): readonly string[] {
  if (hasOption(args, "--device") || hasOption(args, "--list")) return args;
  const said = args.length > 0 ? ` (${args.join(" ")})` : "";
  throw new ScriptError("USAGE", `No device was named${said}.`, "npm run conformance -- --device cpu");
}
