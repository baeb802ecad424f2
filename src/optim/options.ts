/** Checks of options that optimizers share. */
import { ValueError } from "../errors.ts";

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

/** The options given, over the defaults; undefined stands for the default. */
export const withDefaults = <O extends object>(defaults: O, options: Partial<O>): O => ({
  ...defaults,
  ...(Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)) as Partial<O>),
});
