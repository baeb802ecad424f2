/**
 * Two copies of this package in one process are separate: their classes, devices and buffers differ. Objects of each copy carry a mark
 * under a symbol that all copies and versions share, so that the other copy recognises them.
 */
import { ownFile, packageVersion } from "./home.ts";

/** One copy of the package. Other versions read this: fields may be added. */
export interface Copy {
  /** Of the package's folder; null in a bundle. */
  readonly version: string | null;
  /** The file of its code; null in a CommonJS bundle, which does not know. */
  readonly file: string | null;
}

/** The getter of this name in a class gives ownCopy(). */
export const copyMark: unique symbol = Symbol.for("dxtensor.copy") as never;

let own: Copy | null = null;
export const ownCopy = (): Copy => (own ??= { version: packageVersion(), file: ownFile() });

/** The copy that made a value; null for this one, and for what none made. */
function foreignCopy(value: unknown): Copy | null {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || !(copyMark in value)) return null;
  const copy = value[copyMark] as Copy;
  return copy === ownCopy() ? null : copy;
}

export const isForeign = (value: unknown): boolean => foreignCopy(value) !== null;

const versionAndFile = ({ version, file }: Copy): string =>
  `${version ?? "part of a bundle"}${file === null ? "" : version === null ? `, ${file}` : ` in ${file}`}`;

/** What an error says of a value in addition to its type. */
export const originOf = (value: unknown): string => (isForeign(value) ? " of another copy of dxtensor" : "");

function foreignIn(value: unknown, depth: number): Copy | null {
  const copy = foreignCopy(value);
  if (copy !== null || depth === 0 || typeof value !== "object" || value === null) return copy;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return null;
  for (const inner of Object.values(value)) {
    const found = foreignIn(inner, depth - 1);
    if (found !== null) return found;
  }
  return null;
}

/** What to do where a value, or what lists and options in it hold, is another copy's; undefined where none is. */
export function copyHint(value: unknown): string | undefined {
  const other = foreignIn(value, 3);
  if (other === null) return undefined;
  const here = ownCopy();
  if (here.file !== null && here.file === other.file)
    return "The same file was loaded twice, as jest.resetModules() and a cleared require.cache make it: one program needs one copy.";
  const remedy =
    here.version === null || other.version === null
      ? "leave dxtensor out of the bundle (esbuild: --external:dxtensor; others: docs/deploying.md)"
      : '`npm ls dxtensor` lists those installed; `npm dedupe`, or "overrides" in package.json, leaves one';
  return `That copy is ${versionAndFile(other)}; this one, ${versionAndFile(here)}. One program needs one copy: ${remedy}.`;
}
