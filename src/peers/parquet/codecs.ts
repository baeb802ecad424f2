/** Compressions of Parquet files that Node has. */

/** Functions that decompress a page, by the codec's name in Parquet: GZIP, ZSTD, … */
export interface Compressors {
  /** Decompresses to so many bytes. */
  readonly [codec: string]: (input: Uint8Array, outputLength: number) => Uint8Array;
}

/** gzip, brotli, and zstd where this Node has it. */
export function codecs(): Compressors {
  const zlib = process.getBuiltinModule("node:zlib");
  const { zstdDecompressSync } = zlib as { readonly zstdDecompressSync?: (input: Uint8Array) => Uint8Array };
  return {
    GZIP: (input) => zlib.gunzipSync(input),
    BROTLI: (input) => zlib.brotliDecompressSync(input),
    ...(zstdDecompressSync === undefined ? {} : { ZSTD: (input: Uint8Array) => zstdDecompressSync(input) }),
  };
}
