/** Scopes: tensors made inside are disposed of at the end, except those that are returned. */

export interface Disposable {
  dispose(): void;
}

let current: Set<Disposable> | null = null;

/** @internal Called by every tensor that is made. */
export function track(item: Disposable): void {
  if (current !== null) current.add(item);
}

/** Takes a tensor out of the scope it was made in: it lives on (parameters, gradients, optimizer state). */
export function keep<T extends Disposable>(item: T): T {
  current?.delete(item);
  return item;
}

/** Runs fn outside all scopes: what it makes is not disposed of by the scope around it. */
export function outsideScopes<T>(fn: () => T): T {
  const outer = current;
  current = null;
  try {
    return fn();
  } finally {
    current = outer;
  }
}

function found(value: unknown, into: Set<unknown>): void {
  if (typeof value !== "object" || value === null || into.has(value)) return;
  into.add(value);
  if (Array.isArray(value)) for (const v of value) found(v, into);
  else if (value instanceof Map) for (const v of value.values()) found(v, into);
  else if (Object.getPrototypeOf(value) === Object.prototype) for (const v of Object.values(value)) found(v, into);
}

function close(made: Set<Disposable>, outer: Set<Disposable> | null, result: unknown): void {
  const returned = new Set<unknown>();
  found(result, returned);
  for (const item of made) {
    if (!returned.has(item)) item.dispose();
    else outer?.add(item);
  }
}

/**
 * Runs fn and disposes of the tensors made inside, except those in its result (a tensor, or arrays, plain objects and Maps of
 * them). fn may be async if nothing else makes tensors meanwhile.
 */
export function scope<T>(fn: () => T): T {
  const outer = current;
  const made = new Set<Disposable>();
  current = made;
  let result: T;
  try {
    result = fn();
  } catch (error) {
    current = outer;
    close(made, outer, null);
    throw error;
  }
  if (result instanceof Promise) {
    return result.then(
      (value: unknown) => {
        current = outer;
        close(made, outer, value);
        return value;
      },
      (error: unknown) => {
        current = outer;
        close(made, outer, null);
        throw error;
      },
    ) as T;
  }
  current = outer;
  close(made, outer, result);
  return result;
}
