/**
 * Other names and forms of arguments, looked at when a call does not fit, never before: a field's second name (`epsilon` for `eps`, `dim` for `axis`),
 * PyTorch's spelling of a word (`"exp_range"`), and arguments by their names in one object (`lstm({ inputSize, hiddenSize })`). @package
 */
import { camelCase, meant } from "../../core/did-you-mean.ts";
import { ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import type { Kind, Parameters } from "./checked.ts";

/** Whether a value may hold options: no tensor, list, Map, promise or the like. */
export const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Tensor) &&
  !ArrayBuffer.isView(value) &&
  !(Symbol.iterator in value) &&
  !("then" in value);

/** PyTorch's names of parameters that are axes here. */
const axisNames: Readonly<Record<string, readonly string[]>> = {
  dim: ["axis", "axes"],
  dims: ["axes", "axis"],
  dim0: ["axis0"],
  dim1: ["axis1"],
};

const twice = (operation: string, name: string, other: string): ValueError =>
  new ValueError(operation, name, "passed once", `${name} and ${other}`, `${other} is another name of ${name}.`);

/** A word in this library's spelling where it is taken so, else as it is. */
function spelled(value: unknown, { is }: Kind): unknown {
  if (typeof value !== "string" || is(value)) return value;
  const word = camelCase(value);
  return is(word) ? word : value;
}

/** Options under their first names; the same object where all are. */
function renamed(
  operation: string,
  options: Readonly<Record<string, unknown>>,
  { fields, aliases }: Kind,
): Readonly<Record<string, unknown>> {
  const made: Record<string, unknown> = {};
  let isSame = true;
  for (const key in options) {
    const value = options[key];
    if (value === undefined) continue;
    const name = aliases !== undefined && Object.hasOwn(aliases, key) ? aliases[key]! : key;
    if (name !== key && options[name] !== undefined) throw twice(operation, name, key);
    if (name !== key && Object.hasOwn(made, name)) throw twice(operation, name, key);
    const kind = fields !== null && Object.hasOwn(fields, name) ? fields[name]! : null;
    made[name] = kind === null ? value : spelled(value, kind);
    if (name !== key || made[name] !== value) isSame = false;
  }
  return isSame ? options : made;
}

/** The parameter that a name in an object stands for, from one on; -1 for none. */
function parameterOf(key: string, parameters: Parameters, from: number): number {
  const names = [key, ...(Object.hasOwn(axisNames, key) ? axisNames[key]! : [])];
  return parameters.findIndex(([name], i) => i >= from && names.includes(name));
}

/** Arguments by their names, from one on, as a list; null where the object is nothing of the kind. */
function byName(
  operation: string,
  parameters: Parameters,
  from: number,
  entries: Readonly<Record<string, unknown>>,
): readonly unknown[] | null {
  const last = parameters.length - 1;
  const { fields, aliases } = parameters[last]![1];
  const values: unknown[] = [];
  const options: Record<string, unknown> = {};
  let isByName = false;
  let unknown: string | null = null;
  for (const key in entries) {
    const value = entries[key];
    if (value === undefined) continue;
    const i = parameterOf(key, parameters, from);
    if (i >= 0 && !(i === last && fields !== null)) {
      if (values[i] !== undefined) throw twice(operation, parameters[i]![0], key);
      isByName = true;
      values[i] = value;
    } else if (fields !== null && (Object.hasOwn(fields, key) || (aliases !== undefined && Object.hasOwn(aliases, key))))
      options[key] = value;
    else unknown = key;
  }
  if (!isByName && (unknown !== null || Object.keys(options).length === 0)) return null;
  if (unknown !== null) {
    const names = [...parameters.slice(from, fields === null ? last + 1 : last).map(([name]) => name), ...Object.keys(fields ?? {})];
    throw new ValueError(operation, "options", `an object of no more than ${names.join(", ")}`, unknown, meant(unknown, names));
  }
  if (Object.keys(options).length > 0) values[last] = options;
  return values;
}

/**
 * Arguments in a function's own names and forms, or null where they are already. hasRest: the last parameter takes all that is left.
 * Throws ValueError where a value is given under two names.
 */
export function translated(
  operation: string,
  parameters: Parameters,
  args: readonly unknown[],
  hasRest: boolean,
): readonly unknown[] | null {
  const named = hasRest ? parameters.length - 1 : parameters.length;
  const values = [...args];
  let isSame = true;
  const last = values.findLastIndex((v) => v !== undefined);
  if (last >= 0 && last < named && !hasRest) {
    const [, kind] = parameters[last]!;
    const value = values[last];
    if (isPlain(value) && kind.fields === null && !kind.is(value)) {
      const list = byName(operation, parameters, last, value);
      if (list !== null) {
        isSame = false;
        for (let i = last; i < Math.max(list.length, last + 1); i++) values[i] = list[i];
      }
    }
  }
  for (let i = 0; i < Math.min(named, values.length); i++) {
    const [, kind] = parameters[i]!;
    const value = values[i];
    const own = isPlain(value) && kind.fields !== null ? renamed(operation, value, kind) : spelled(value, kind);
    if (own !== value) isSame = false;
    values[i] = own;
  }
  return isSame ? null : values;
}
