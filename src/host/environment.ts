/** The environment variables that the library reads, and their valid values. */
import { ValueError } from "../core/errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const on = new Set(["1", "true", "yes", "on"]);
const off = new Set(["", "0", "false", "no", "off"]);

/** A switch, one of some words, an integer from 1 on; "text" is checked where it is used: a file is opened, a device is looked for. */
type Kind = "switch" | "text" | "integer" | readonly string[];

/** The native side compares the first letter. */
const digit = ["0", "1"];

/** Every variable that the package reads; docs/environment.md lists them for users. */
export const VARIABLES: Readonly<Record<string, Kind>> = {
  DXTENSOR_AUTOLOAD: "switch",
  DXTENSOR_CHECK_INDICES: "switch",
  DXTENSOR_CODE_CACHE: "switch",
  DXTENSOR_CPU_ADAPTERS: "switch",
  DXTENSOR_D3D12: "text",
  DXTENSOR_DEVICE: "text",
  DXTENSOR_DIRECTML: "text",
  DXTENSOR_DISTRIBUTED: "text",
  DXTENSOR_DISTRIBUTED_CHANNELS: "integer",
  DXTENSOR_DISTRIBUTED_DEBUG: "switch",
  DXTENSOR_DXCORE: "text",
  DXTENSOR_FUSE: ["auto", "always", "off"],
  DXTENSOR_GUARD: "switch",
  DXTENSOR_LAPACK: "text",
  DXTENSOR_LIBRARY_FOLDER: "text",
  DXTENSOR_MPI: "text",
  DXTENSOR_NATIVE: "text",
  DXTENSOR_PROGRESS: "switch",
  DXTENSOR_SHADER_CACHE: "switch",
  DXTENSOR_SHADERS: ["off", "on", "only-measured"],
  DXTENSOR_SIMULATE: "text",
  DXTENSOR_SOFTWARE: "text",
  DXTENSOR_SOFTWARE_CHECKS: digit,
  DXTENSOR_SOFTWARE_ISA: ["portable", "avx2", "avx512", "avx512vnni", "neon", "neondot"],
  DXTENSOR_SOFTWARE_PLAIN: digit,
  DXTENSOR_SOFTWARE_TRACE: digit,
  DXTENSOR_SOFTWARE_WINOGRAD: digit,
  DXTENSOR_STRICT: "switch",
  DXTENSOR_TELEMETRY: "switch",
  DXTENSOR_TELEMETRY_ENDPOINT: "text",
  DXTENSOR_THREADS: "integer",
  DXTENSOR_TIMEOUT_MS: "integer",
  DXTENSOR_VERIFY: "switch",
  DXTENSOR_VULKAN_ADAPTERS: "text",
  DXTENSOR_VULKAN_DEVICE_HR: "text",
  DXTENSOR_VULKAN_LEAKS: ["1"],
  DXTENSOR_VULKAN_LOADER: "text",
  DXTENSOR_VULKAN_REMOVE_AFTER: "integer",
  DXTENSOR_VULKAN_SHADERS: "text",
  DXTENSOR_VULKAN_TRACE: ["1", "calls"],
};

/** Whether a variable is set to 1 or a word for it. Throws ValueError for what is neither on nor off. */
export function isSwitchedOn(name: string, environment: Environment = process.env): boolean {
  const value = environment[name];
  if (value === undefined || value === "1" || value === "0") return value === "1";
  const word = value.trim().toLowerCase();
  if (!on.has(word) && !off.has(word)) throw new ValueError("environment", name, '"1" or "0"', value);
  return on.has(word);
}

/** One of some words; undefined where the variable is not set, or set to nothing. */
export function wordOf<T extends string>(name: string, words: readonly T[], environment: Environment = process.env): T | undefined {
  const value = environment[name];
  if (value === undefined || value === "") return undefined;
  const found = words.find((word) => word === value);
  if (found === undefined) throw new ValueError("environment", name, words.map((word) => `"${word}"`).join(", "), value);
  return found;
}

/** An integer from 1 on, of what `unit` names; undefined where the variable is not set, or set to nothing. */
export function integerOf(name: string, unit = "", environment: Environment = process.env): number | undefined {
  const text = environment[name];
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 0x7fffffff)
    throw new ValueError("environment", name, `an integer ${unit}from 1 to 2147483647`, text);
  return value;
}

/** Throws ValueError for the first variable whose value means nothing: a misspelt one is not taken for none. */
export function checkEnvironment(environment: Environment = process.env): void {
  for (const [name, kind] of Object.entries(VARIABLES)) {
    if (kind === "switch") isSwitchedOn(name, environment);
    else if (kind === "integer") integerOf(name, name.endsWith("_MS") ? "of milliseconds " : "", environment);
    else if (kind !== "text") wordOf(name, kind as readonly string[], environment);
  }
}
