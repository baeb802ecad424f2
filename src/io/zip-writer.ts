/** Zip files that are written in order, without a way back: sizes and CRC follow each entry. APPNOTE.TXT of PKWARE. */
import { zlib } from "./inflate.ts";

/** An entry whose bytes are made when it is written. */
export interface NewZipEntry {
  readonly name: string;
  readonly sizeInBytes: number;
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** How a zip file is written. */
export interface ZipOptions {
  readonly isDeflated: boolean;
  /** Sizes and offsets from here on have 64 bits. */
  readonly largeFrom?: number;
}

interface Written {
  readonly name: Buffer;
  readonly crc: number;
  readonly compressedBytes: number;
  readonly sizeInBytes: number;
  readonly start: number;
}

const DOS_DATE = 0x21; // 1980-01-01, so that equal tensors are equal files
const FLAGS = 0x808; // the name is UTF-8; sizes and CRC follow the bytes
const MAX_COUNT = 0xffff;

/** Little-endian numbers, as [value, bytes] pairs. */
function pack(...fields: readonly (readonly [value: number, bytes: 2 | 4 | 8])[]): Buffer {
  const out = Buffer.alloc(fields.reduce((n, [, bytes]) => n + bytes, 0));
  let at = 0;
  for (const [value, bytes] of fields) {
    if (bytes === 8) out.writeBigUInt64LE(BigInt(value), at);
    else out.writeUIntLE(value, at, bytes);
    at += bytes;
  }
  return out;
}

/** Deflates what an iterable gives. */
function deflated(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const deflate = zlib().createDeflateRaw({ chunkSize: 2 ** 18 });
  // What fails is thrown where the bytes are read.
  process.getBuiltinModule("node:stream").pipeline(bytes, deflate, () => {});
  return deflate;
}

/** The bytes of a zip file of these entries. */
export async function* zipBytes(entries: readonly NewZipEntry[], options: ZipOptions): AsyncGenerator<Uint8Array, void, undefined> {
  const { isDeflated, largeFrom = 0xffffffff } = options;
  const method = isDeflated ? 8 : 0;
  const written: Written[] = [];
  let at = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    // Bytes that do not deflate become a little longer.
    const isLarge = entry.sizeInBytes + entry.sizeInBytes / 1000 + 64 >= largeFrom;
    const extra = isLarge ? pack([1, 2], [16, 2], [0, 8], [0, 8]) : Buffer.alloc(0);
    const start = at;
    const narrow = isLarge ? 0xffffffff : 0;
    const head = pack(
      [0x04034b50, 4], [isLarge ? 45 : 20, 2], [FLAGS, 2], [method, 2], [0, 2], [DOS_DATE, 2],
      [0, 4], [narrow, 4], [narrow, 4], [name.length, 2], [extra.length, 2],
    ); // prettier-ignore
    yield Buffer.concat([head, name, extra]);
    let crc = 0;
    let compressedBytes = 0;
    async function* counted(): AsyncGenerator<Uint8Array, void, undefined> {
      for await (const piece of entry.bytes()) {
        crc = zlib().crc32(piece, crc);
        yield piece;
      }
    }
    for await (const piece of isDeflated ? deflated(counted()) : counted()) {
      compressedBytes += piece.byteLength;
      yield piece;
    }
    const width = isLarge ? 8 : 4;
    const tail = pack([0x08074b50, 4], [crc, 4], [compressedBytes, width], [entry.sizeInBytes, width]);
    yield tail;
    written.push({ name, crc, compressedBytes, sizeInBytes: entry.sizeInBytes, start });
    at += head.byteLength + name.byteLength + extra.byteLength + compressedBytes + tail.byteLength;
  }
  yield directoryOf(written, at, method, largeFrom);
}

function directoryOf(written: readonly Written[], start: number, method: number, largeFrom: number): Buffer {
  const rows = written.map(({ name, crc, compressedBytes, sizeInBytes, start: offset }) => {
    const isLarge = Math.max(compressedBytes, sizeInBytes, offset) >= largeFrom;
    const extra = isLarge ? pack([1, 2], [24, 2], [sizeInBytes, 8], [compressedBytes, 8], [offset, 8]) : Buffer.alloc(0);
    const narrow = (value: number): readonly [number, 4] => [isLarge ? 0xffffffff : value, 4];
    const row = pack(
      [0x02014b50, 4], [isLarge ? 45 : 20, 2], [isLarge ? 45 : 20, 2], [FLAGS, 2], [method, 2], [0, 2], [DOS_DATE, 2],
      [crc, 4], narrow(compressedBytes), narrow(sizeInBytes), [name.length, 2], [extra.length, 2],
      [0, 2], [0, 2], [0, 2], [0, 4], narrow(offset),
    ); // prettier-ignore
    return Buffer.concat([row, name, extra]);
  });
  const size = rows.reduce((n, row) => n + row.byteLength, 0);
  const count = rows.length;
  const isLarge = count >= MAX_COUNT || start >= largeFrom || size >= largeFrom;
  const end64 = isLarge
    ? pack(
        [0x06064b50, 4], [44, 8], [45, 2], [45, 2], [0, 4], [0, 4], [count, 8], [count, 8], [size, 8], [start, 8],
        [0x07064b50, 4], [0, 4], [start + size, 8], [1, 4],
      ) // prettier-ignore
    : Buffer.alloc(0);
  const narrowCount = isLarge ? MAX_COUNT : count;
  const [narrowSize, narrowStart] = isLarge ? [0xffffffff, 0xffffffff] : [size, start];
  const end = pack([0x06054b50, 4], [0, 2], [0, 2], [narrowCount, 2], [narrowCount, 2], [narrowSize, 4], [narrowStart, 4], [0, 2]);
  return Buffer.concat([...rows, end64, end]);
}
