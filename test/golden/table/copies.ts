/** PyTorch's copies of views (`view_copy`), and its splits that promise nothing (`unsafe_chunk`). */
import * as dx from "../../../src/index.ts";
import type { Entry, Result } from "./entry.ts";

const copied = (r: Result): Result => (r instanceof dx.Tensor ? dx.clone(r) : Array.isArray(r) ? (r as readonly Result[]).map(copied) : r);

/** The entry of a name that is made of another one's: what it is made of, and whether results are copied. */
export function variantOf(name: string, entryOf: (name: string) => Entry | null): Entry | null {
  if (name === "alias_copy") return { run: (c) => dx.clone(c.x) };
  const view = /^(.*)_copy$/.exec(name)?.[1] ?? /^unsafe_(chunk|split|split_with_sizes)$/.exec(name)?.[1];
  const entry = view === undefined ? null : entryOf(view);
  if (entry === null) return null;
  return { packed: entry.packed === true, copies: true, run: (c) => (name.endsWith("_copy") ? copied(entry.run(c)) : entry.run(c)) };
}
