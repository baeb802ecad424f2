/** Entries of operations that are ours under PyTorch's name in camelCase: they need no line in a table. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { Missing, isNumbers, type Value } from "../cases.ts";
import type { Entry, Result } from "./entry.ts";

type AnyFunction = (...args: unknown[]) => Result;

/** Where tensors lie and how: the same for all of a run. */
const IGNORED = new Set(["device", "layout", "memory_format", "pin_memory", "requires_grad"]);
/** Options whose name is ours everywhere. */
const OPTIONS: Readonly<Record<string, string>> = { dim: "axis", keepdim: "keepDims", eps: "epsilon", padding_idx: "paddingIndex", negative_slope: "slope", lambd: "lambda", min_val: "min", max_val: "max" };

const camel = (name: string): string => name.replaceAll(/_+([a-z0-9])/g, (_, c: string) => c.toUpperCase());
const plain = (v: Value): unknown => (typeof v === "object" && v !== null && "dtype" in v && !isNumbers(v) ? v.dtype : v);

/** Options that tell which of them were read: one that a function does not know would be left out in silence. */
function watched(options: Readonly<Record<string, unknown>>): { readonly options: object; readonly unread: () => string[] } {
  const read = new Set<string | symbol>();
  const get = (target: object, key: string | symbol): unknown => {
    read.add(key);
    return Reflect.get(target, key);
  };
  return { options: new Proxy(options, { get }), unread: () => Object.keys(options).filter((key) => !read.has(key)) };
}

/** An option that a function refuses to know is missing, as one that nobody reads. */
function known(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof dx.ValueError && error.argument === "options" && error.expected?.startsWith("an object of no more than") === true)
      throw new Missing(`the option ${error.received}`);
    throw error;
  }
}

/** Calls f with our arguments: those that it requires by position, the rest in one object by name. */
function called(c: Call, count: number, f: AnyFunction): Result {
  const named = c.byName();
  const operands = [...c.positional.slice(0, count), ...named.slice(c.positional.length, count).map(([, v]) => v)].map(plain);
  const rest = named.slice(count).filter(([name, v]) => v !== null && !IGNORED.has(name));
  if (c.positional.length > Math.max(count, named.length)) throw new Missing("arguments without names");
  if (rest.length === 0) return f(...operands);
  const { options, unread } = watched(Object.fromEntries(rest.map(([name, v]) => [OPTIONS[name] ?? camel(name), plain(v)])));
  const result = known(() => f(...operands, options));
  const [unknown] = unread();
  if (unknown !== undefined) throw new Missing(`the option ${unknown}`);
  return result;
}

/** Our function of PyTorch's name: torch.special's are functions like others, other modules are objects. */
function ours(name: string): { readonly own: string; readonly f: AnyFunction } | null {
  const path = name.replace(/^special\./, "").split(".");
  const own = camel(path.pop()!);
  const space = path.reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], dx);
  const f = (space as Record<string, unknown> | undefined)?.[own];
  return typeof f === "function" && /^[a-z]/.test(own) ? { own, f: f as AnyFunction } : null;
}

/** The entry of PyTorch's operation, or null where nothing of ours bears its name. */
export function derivedEntry(name: string): Entry | null {
  const found = ours(name);
  if (found === null) return null;
  const { own, f } = found;
  const changed = `${own}_`;
  const inPlace = (x: unknown, ...rest: unknown[]): Result => (x as Record<string, AnyFunction>)[changed]!(...rest);
  return {
    run: (c) => called(c, f.length, f),
    inPlace: changed in dx.Tensor.prototype ? (c: Call): void => void called(c, f.length, inPlace) : undefined,
  };
}
