import { isDeepStrictEqual } from "node:util";

/** A string that is equal for equal plain data: numbers of every kind, typed arrays, bigints, nested. */
export function keyOf(data: unknown): string {
  return JSON.stringify(data, (_, v: unknown) => {
    if (v instanceof Uint8Array) return [...v];
    if (typeof v === "bigint") return `${v}n`;
    if (typeof v === "number" && (!Number.isFinite(v) || Object.is(v, -0))) return Object.is(v, -0) ? "-0" : `#${v}`;
    return v;
  });
}

const isPlain = (x: object): boolean => Object.getPrototypeOf(x) === Object.prototype;

/** Equality by value of plain data, -0 and NaN included; other objects as isDeepStrictEqual sees them. */
export function sameData(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!sameData(a[i], b[i])) return false;
    return true;
  }
  if (!isPlain(a) || !isPlain(b)) return isDeepStrictEqual(a, b);
  const [x, y] = [a as Record<string, unknown>, b as Record<string, unknown>];
  let count = 0;
  for (const name in x) {
    if (!Object.hasOwn(y, name) || !sameData(x[name], y[name])) return false;
    count++;
  }
  return count === Object.keys(y).length;
}
