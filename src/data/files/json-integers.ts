/** JSON whose integers stay whole: JSON.parse() takes those beyond 2^53 as their neighbours. */
import { isRounded } from "./csv-types.ts";

/** 2^53 has so many digits. */
const DIGITS = 16;

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 48 && byte <= 57;

/** Whether bytes of text, or what lies across their edges, have a run of 16 digits. Reads one byte of 16 where there are none. */
export function hasManyDigits(bytes: Uint8Array, previous: Uint8Array | null): boolean {
  if (isDigit(bytes[0]) && isDigit(previous?.at(-1))) return true;
  for (let at = DIGITS - 1; at < bytes.length; at += DIGITS) {
    if (!isDigit(bytes[at])) continue;
    let before = at - 1;
    while (isDigit(bytes[before])) before--;
    while (at - before < DIGITS && isDigit(bytes[at + 1])) at++;
    if (at - before >= DIGITS) return true;
  }
  return false;
}

/** Whether a number of 2^53 or more is in a value. */
function hasLargeNumber(value: unknown): boolean {
  if (typeof value === "number") return value >= 2 ** 53 || value <= -(2 ** 53);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (hasLargeNumber(value[i])) return true;
    return false;
  }
  for (const name in value) if (hasLargeNumber((value as Record<string, unknown>)[name])) return true;
  return false;
}

/** The value of a JSON text: integers that a number has only a neighbour of are BigInts. mayRound: what hasManyDigits() said of its bytes. Throws SyntaxError. */
export function parseJson(text: string, mayRound: boolean): unknown {
  const value: unknown = JSON.parse(text);
  return mayRound && hasLargeNumber(value) ? withBigInts(text, value) : value;
}

/** The value again, with BigInts. text: is JSON. */
function withBigInts(text: string, value: unknown): unknown {
  // No string of this text begins with so many NULs.
  const nulls = text.split("\\u0000").length;
  const pieces: string[] = [];
  let end = 0;
  for (const { index, digits } of integersOf(text)) {
    if (!isRounded("float64", digits)) continue;
    pieces.push(text.slice(end, index), `"${"\\u0000".repeat(nulls)}${digits}"`);
    end = index + digits.length;
  }
  if (pieces.length === 0) return value;
  const mark = "\0".repeat(nulls);
  return JSON.parse(pieces.join("") + text.slice(end), (_, v: unknown) =>
    typeof v === "string" && v.startsWith(mark) ? BigInt(v.slice(nulls)) : v,
  );
}

/** The integers of 16 and more digits that are not in strings. */
function* integersOf(text: string): Generator<{ readonly index: number; readonly digits: string }> {
  const token = /"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    if (found[0] === '"') token.lastIndex = stringEnd(text, token.lastIndex);
    else yield { index: found.index, digits: found[0] };
  }
}

/** The position behind the quote that ends a string. */
function stringEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from); ; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}

const bigIntsOf = (value: unknown): unknown => {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(bigIntsOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, bigIntsOf(member)]));
};

/** Makes BigInts of the integers in these members of a row. */
export function makeBigInts(row: unknown, names: readonly string[]): void {
  if (typeof row !== "object" || row === null) return;
  const members = row as Record<string, unknown>;
  for (const name of names) if (Object.hasOwn(members, name)) members[name] = bigIntsOf(members[name]);
}
