/** Scopes: tensors made inside are disposed of at the end, except those that are returned. */
import { Ambient } from "./ambient.ts";
import { DTypeError } from "./errors.ts";
import { PARTS, isComposite } from "./structure.ts";

export interface Disposable {
  dispose(): void;
}

type Made = Set<Disposable>;

const current = new Ambient<Made | null>(null);
/** Those of all scopes that have not ended: keep() saves from each. */
const open = new Set<Made>();

/** @internal Called by every tensor that is made. */
export function track(item: Disposable): void {
  current.value?.add(item);
}

/** Takes a tensor out of the scopes around it: it lives on (parameters, gradients, optimizer state). */
export function keep<T extends Disposable>(item: T): T {
  if (typeof item !== "object" || item === null) throw new DTypeError("keep", "item", "a tensor", item);
  const parts = isComposite(item) ? (item[PARTS]() as readonly Disposable[]) : [item];
  for (const made of open) for (const part of parts) made.delete(part);
  return item;
}

/** Runs fn outside all scopes: what it makes is not disposed of by the scope around it. fn may return a promise, as scope()'s. */
export const outsideScopes = <T>(fn: () => T): T => (current.value === null ? fn() : current.run(null, fn));

function found(value: unknown, into: Set<unknown>): void {
  if (typeof value !== "object" || value === null || into.has(value)) return;
  into.add(value);
  if (Array.isArray(value)) for (const v of value) found(v, into);
  else if (isComposite(value)) for (const v of value[PARTS]()) found(v, into);
  else if (value instanceof Map) for (const v of value.values()) found(v, into);
  else if (Object.getPrototypeOf(value) === Object.prototype) for (const v of Object.values(value)) found(v, into);
}

/**
 * Runs fn and disposes of the tensors made inside, except those in its result (a tensor, a complex tensor, or arrays, plain objects and Maps
 * of them), which belong to the scope around this one. When fn returns a promise, the scope ends when that settles; what other code makes
 * meanwhile is not in it.
 */
export function scope<T>(fn: () => T): T {
  const made: Made = new Set();
  open.add(made);
  return current.run(made, fn, (result) => {
    open.delete(made);
    const returned = new Set<unknown>();
    found(result, returned);
    const outer = current.value;
    for (const item of made) {
      if (!returned.has(item)) item.dispose();
      else outer?.add(item);
    }
  });
}

/**
 * Runs fn outside the scopes around it and disposes of what it makes, except what its result contains: `made`, of which the caller disposes.
 * fn may not return a promise.
 */
export function collect<T>(
  fn: () => T,
  partsOf?: (result: T, made: ReadonlySet<Disposable>) => ReadonlySet<unknown>,
): { readonly result: T; readonly made: readonly Disposable[] } {
  const made: Made = new Set();
  open.add(made);
  let returned: ReadonlySet<unknown> = new Set();
  try {
    const result = current.run(made, fn);
    if (partsOf === undefined) {
      const parts = new Set<unknown>();
      found(result, parts);
      returned = parts;
    } else returned = partsOf(result, made);
    return { result, made: [...made].filter((item) => returned.has(item)) };
  } finally {
    open.delete(made);
    for (const item of made) if (!returned.has(item)) item.dispose();
  }
}
