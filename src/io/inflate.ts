/** Deflated bytes, in pieces. */
import type * as Zlib from "node:zlib";

/** Not imported: few programs come here, and every one would pay for loading it. */
export const zlib = (): typeof Zlib => process.getBuiltinModule("node:zlib");

export const isZlibError = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("Z_");

/** The inflated bytes of what a generator gives, in pieces of at most 1 MiB. Throws what the generator throws, and zlib's errors. */
export function inflated(source: AsyncIterable<Uint8Array>, by: "createInflateRaw" | "createGunzip"): AsyncIterable<Uint8Array> {
  const inflate = zlib()[by]({ chunkSize: 2 ** 20 });
  // What fails is thrown where the bytes are read.
  process.getBuiltinModule("node:stream").pipeline(source, inflate, () => {});
  return inflate;
}
