/** Options that may be given by position, as PyTorch's callers do: `stepLR(optimizer, 10, 0.5)`. @package */
import { ValueError } from "../../core/errors.ts";

const NONE = {};
const isOptions = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The options of a call whose values are those of names in this order, up to the first object of options, which has the others.
 * Throws ValueError where a value is given in both ways.
 */
export function byPosition<O extends object>(operation: string, names: readonly (keyof O & string)[], values: readonly unknown[]): O {
  const i = values.findIndex(isOptions);
  const options = (i < 0 ? {} : values[i]) as O;
  const after = i < 0 ? undefined : values.slice(i + 1).find((v) => v !== undefined);
  if (after !== undefined) throw new ValueError(operation, "arguments", "none after an object of options", after);
  const passed = i < 0 ? values : values.slice(0, i);
  if (!passed.some((v) => v !== undefined)) return options;
  const made = { ...options } as Record<string, unknown>;
  passed.forEach((value, k) => {
    if (value === undefined) return;
    const name = names[k]!;
    if (made[name] !== undefined)
      throw new ValueError(operation, name, "passed once", `${String(value)} by position, and among the options`);
    made[name] = value;
  });
  return made as O;
}

const WINDOW: readonly ("stride" | "padding")[] = ["stride", "padding"];

/** The same for windows, whose stride and padding come first. The commonest call, with an object of options, costs nothing more. */
export const windowOptions = <O extends object>(operation: string, stride: unknown, padding: unknown, options: O | undefined): O => {
  if (stride === undefined && padding === undefined && options === undefined) return NONE as O;
  return padding === undefined && options === undefined && isOptions(stride)
    ? (stride as O)
    : (byPosition<Record<string, unknown>>(operation, WINDOW, [stride, padding, options]) as O);
};

/** The same for one value before the options. */
export const oneByPosition = <O extends object>(operation: string, name: keyof O & string, value: unknown, options: O | undefined): O =>
  options === undefined && (value === undefined || isOptions(value))
    ? ((value ?? NONE) as O)
    : byPosition<O>(operation, [name], [value, options]);
