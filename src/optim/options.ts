/** Checks of options that optimizers share. */
import { ValueError } from "../core/errors.ts";

/** Each option named is a number of at least 0. */
export function checkAtLeast0<O extends object>(operation: string, options: O, ...names: readonly (keyof O & string)[]): void {
  for (const name of names) {
    const value = options[name];
    if (!(typeof value === "number" && value >= 0)) throw new ValueError(operation, name, "at least 0", value);
  }
}

export function checkBetas(operation: string, betas: readonly number[]): void {
  if (!(betas.length === 2 && betas.every((b) => b >= 0 && b < 1)))
    throw new ValueError(operation, "betas", "two numbers in [0, 1)", betas);
}

/** The options passed, over the defaults; undefined stands for the default. */
export const withDefaults = <O extends object>(defaults: O, options: Partial<O>): O => ({
  ...defaults,
  ...(Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)) as Partial<O>),
});

/** An optimizer's settings as PyTorch writes them: the options of each group in the order of the alphabet. */
export function settingsText(name: string, groups: readonly object[]): string {
  const value = (v: unknown): string => (Array.isArray(v) ? `[${v.map(value).join(", ")}]` : String(v));
  const text = (options: object, i: number): string => {
    const lines = (Object.entries(options) as [string, unknown][])
      .filter(([, v]) => v !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, v]) => `    ${key}: ${value(v)}\n`);
    return `Parameter Group ${i}\n${lines.join("")}`;
  };
  return `${name} (\n${groups.map(text).join("\n")})`;
}

/** From which size on a parameter's averages are kept in 8 bits. */
export function checkMin8bitSize(name: string, size: number): void {
  if (!(Number.isInteger(size) && size >= 0)) throw new ValueError(name, "min8bitSize", "an integer of at least 0", size);
}
