/** Values as errors show them. */
import { originOf } from "./copies.ts";

/** How many fields or elements of a value an error shows. */
const MAX_ITEMS = 16;

function fieldsOf(value: object): string {
  const keys = Object.keys(value);
  if (keys.length === 0) return "{}";
  const items = keys.slice(0, MAX_ITEMS / 2).map((key) => {
    const field = (value as Record<string, unknown>)[key];
    return typeof field === "object" && field !== null && !isDescribed(field) ? key : `${key}: ${show(field)}`;
  });
  return `{ ${items.join(", ")}${keys.length > items.length ? ", …" : ""} }`;
}

const isDescribed = (value: object): value is { describe(): unknown } => "describe" in value && typeof value.describe === "function";

/** A value as errors show it: short, and never "[object Object]". */
export const show = (value: unknown, depth = 0): string => plainly(value, depth) + originOf(value);

/** Lists in lists that an error shows: one may hold itself. */
const DEEPEST = 4;

function plainly(value: unknown, depth: number): string {
  // A text that reads like another value is quoted.
  if (typeof value === "string")
    return /^(?:[-+.\d]*|true|false|null|undefined|NaN|-?Infinity)$/.test(value) ? JSON.stringify(value) : value;
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value))
    return value.length > MAX_ITEMS || depth === DEEPEST
      ? `an array of ${value.length}`
      : `[${value.map((v) => show(v, depth + 1)).join(", ")}]`;
  // Modules are functions of classes of their own.
  if (typeof value === "function" && !("parameters" in value))
    return /^class\b/.test(Function.prototype.toString.call(value)) ? `the class ${value.name}` : "a function";
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return String(value);
  if (isDescribed(value)) return String(value.describe());
  if (ArrayBuffer.isView(value) && "length" in value) return `${value.constructor.name} of ${String(value.length)}`;
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: { readonly name?: string } } | null;
  if (prototype === null || prototype === Object.prototype) return fieldsOf(value);
  // Devices and URLs, for example, have a text of their own; errors say of themselves what they are.
  if (Object.hasOwn(prototype, "toString") && !("parameters" in value)) return String(value as { toString(): string });
  const name = prototype.constructor?.name ?? "";
  return name === "" ? "an object" : `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}`;
}
