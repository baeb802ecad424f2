/** How the benches of this folder read their options: those that all have, and their own. */
import { parseArgs, type ParseArgsConfig } from "node:util";
import * as dx from "dxtensor";

type Options = NonNullable<ParseArgsConfig["options"]>;

const COMMON = {
  device: { type: "string" },
  filter: { type: "string", default: "" },
  json: { type: "string" },
  help: { type: "boolean", default: false },
} as const satisfies Options;

type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: typeof COMMON & T }>>["values"];

/** Prints the help and ends the process with --help. An option that is not there, or a number that is none, is an error. */
export function optionsOf<const T extends Options>(help: string, own: T): Values<T> {
  const values = parseArgs({ options: { ...COMMON, ...own } }).values as Values<T> & { readonly help?: boolean };
  if (values.help === true) {
    console.log(help);
    process.exit(0);
  }
  return values;
}

/** --device, else the default device. */
export const deviceOf = ({ device }: { readonly device?: string | undefined }): dx.Device =>
  device === undefined ? dx.defaultDevice() : dx.device(device);

/** An option that is a number. */
export function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new TypeError(`--${name} must be a number; received ${JSON.stringify(text)}`);
  return value;
}

/** The names in an option's list that there are. Throws for others. */
export function listOf<K extends string>(name: string, text: string, all: readonly K[], separator: string | RegExp = ","): K[] {
  const wanted = text.split(separator).map((x) => x.trim()).filter((x) => x !== ""); // prettier-ignore
  const unknown = wanted.filter((x) => !(all as readonly string[]).includes(x));
  if (unknown.length > 0) throw new TypeError(`--${name} must be of ${all.join(", ")}; received ${unknown.join(", ")}`);
  return all.filter((x) => wanted.includes(x));
}

/** What the word of an option means. Throws for others. */
export function oneOf<V>(name: string, text: string, meanings: { readonly [word: string]: V }): V {
  if (!Object.hasOwn(meanings, text))
    throw new TypeError(`--${name} must be one of ${Object.keys(meanings).join(", ")}; received ${JSON.stringify(text)}`);
  return meanings[text]!;
}
