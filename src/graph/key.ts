/** A string that is equal for equal plain data: numbers of every kind, typed arrays, bigints, nested. */
export function keyOf(data: unknown): string {
  return JSON.stringify(data, (_, v: unknown) => {
    if (v instanceof Uint8Array) return [...v];
    if (typeof v === "bigint") return `${v}n`;
    if (typeof v === "number" && (!Number.isFinite(v) || Object.is(v, -0))) return Object.is(v, -0) ? "-0" : `#${v}`;
    return v;
  });
}
