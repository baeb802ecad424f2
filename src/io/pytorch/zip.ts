/** Zip files that are read by offset: the directory at the end is read, then only the requested entries. APPNOTE.TXT of PKWARE. */
import type { FileHandle } from "node:fs/promises";
import type * as Zlib from "node:zlib";
import { readAt } from "../../host/source.ts";
import { damaged, unknown } from "./refuse.ts";

/** Not imported: few programs come here, and every one would pay for loading it. */
export const zlib = (): typeof Zlib => process.getBuiltinModule("node:zlib");

export interface ZipEntry {
  readonly name: string;
  readonly isDeflated: boolean;
  readonly crc: number;
  readonly compressedBytes: number;
  readonly sizeInBytes: number;
  /** Of the header before the data. */
  readonly headerStart: number;
}

/** Where an entry's bytes are in the file. */
export interface ZipData extends ZipEntry {
  readonly start: number;
}

const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const MAX_COMMENT = 0xffff;
/** Of the directory: some millions of entries. */
const MAX_DIRECTORY = 2 ** 29;
/** How many times larger than its file a deflated entry may be, beyond a few megabytes. */
const MAX_RATIO = 100;
const FREE_BYTES = 2 ** 24;

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

interface Directory {
  readonly start: number;
  readonly sizeInBytes: number;
  readonly count: number;
}

export class ZipFile {
  readonly entries: ReadonlyMap<string, ZipEntry>;
  readonly #file: FileHandle;
  readonly #source: string;
  readonly #sizeInBytes: number;

  private constructor(file: FileHandle, source: string, sizeInBytes: number, entries: ReadonlyMap<string, ZipEntry>) {
    this.#file = file;
    this.#source = source;
    this.#sizeInBytes = sizeInBytes;
    this.entries = entries;
  }

  /** Reads the directory of a file that is open. */
  static async open(file: FileHandle, source: string, sizeInBytes: number): Promise<ZipFile> {
    const directory = await findDirectory(file, source, sizeInBytes);
    const bytes = await read(file, source, directory.start, directory.sizeInBytes);
    const entries = entriesOf(bytes, source, directory);
    requireApart(source, entries, directory.start);
    requireSmall(source, entries, sizeInBytes);
    return new ZipFile(file, source, sizeInBytes, entries);
  }

  /** Where an entry's bytes begin: its own header says. */
  async locate(entry: ZipEntry): Promise<ZipData> {
    const bad = (received: string): Error => damaged(this.#source, `with ${entry.name} where its directory says`, received);
    if (entry.headerStart + 30 > this.#sizeInBytes) throw bad(`an offset of ${entry.headerStart} in ${this.#sizeInBytes} bytes`);
    const view = viewOf(await read(this.#file, this.#source, entry.headerStart, 30));
    if (view.getUint32(0, true) !== LOCAL) throw bad("other bytes");
    const start = entry.headerStart + 30 + view.getUint16(26, true) + view.getUint16(28, true);
    if (start + entry.compressedBytes > this.#sizeInBytes)
      throw bad(`an end at ${start + entry.compressedBytes} of ${this.#sizeInBytes} bytes`);
    return { ...entry, start };
  }

  /** All bytes of an entry, of at most so many. */
  async bytes(entry: ZipEntry, most: number): Promise<Uint8Array> {
    if (entry.sizeInBytes > most) throw damaged(this.#source, `with at most ${most} bytes as ${entry.name}`, `${entry.sizeInBytes}`);
    const { start } = await this.locate(entry);
    const stored = await read(this.#file, this.#source, start, entry.compressedBytes);
    const bytes = entry.isDeflated ? await this.#inflated(entry, stored) : stored;
    this.requireCrc(entry, zlib().crc32(bytes));
    return bytes;
  }

  /** Throws FormatError for bytes that changed since they were written. */
  requireCrc(entry: ZipEntry, crc: number): void {
    if (crc !== entry.crc)
      throw damaged(
        this.#source,
        `with ${entry.name} of CRC ${entry.crc.toString(16)}`,
        `${crc.toString(16)}: it was changed`,
        "torch.serialization.set_crc32_options(False) writes no CRC: save with True.",
      );
  }

  #inflated(entry: ZipEntry, stored: Uint8Array): Promise<Uint8Array> {
    const { name, sizeInBytes } = entry;
    return new Promise((resolve, reject) => {
      // One byte more shows that there are more than it says.
      zlib().inflateRaw(stored, { maxOutputLength: sizeInBytes + 1 }, (error, bytes) => {
        if (error === null && bytes.byteLength === sizeInBytes) resolve(bytes);
        else reject(damaged(this.#source, `with ${sizeInBytes} deflated bytes as ${name}`, error?.message ?? `${bytes.byteLength}`));
      });
    });
  }
}

/** Each byte belongs to one entry: then all that is stored fits the file. */
function requireApart(source: string, entries: ReadonlyMap<string, ZipEntry>, end: number): void {
  const sorted = [...entries.values()].sort((a, b) => a.headerStart - b.headerStart);
  sorted.forEach(({ name, headerStart, compressedBytes }, i) => {
    const next = sorted[i + 1]?.headerStart ?? end;
    if (headerStart + 30 + compressedBytes > next)
      throw damaged(source, "with entries that have no bytes in common", `${name} beyond byte ${next}`);
  });
}

/** What is inflated has a size that the file makes likely. */
function requireSmall(source: string, entries: ReadonlyMap<string, ZipEntry>, total: number): void {
  let inflated = 0;
  for (const entry of entries.values()) if (entry.isDeflated) inflated += entry.sizeInBytes;
  if (inflated > FREE_BYTES + MAX_RATIO * total)
    throw damaged(
      source,
      `at most ${MAX_RATIO} times larger when inflated`,
      `${inflated} bytes in ${total}`,
      "torch.save() compresses nothing: save it again.",
    );
}

async function read(file: FileHandle, source: string, start: number, size: number): Promise<Uint8Array> {
  const bytes = await readAt(file, new Uint8Array(size), start);
  if (bytes.byteLength !== size)
    throw damaged(source, "as long as it was when it was opened", `its end at byte ${start + bytes.byteLength}`);
  return bytes;
}

async function findDirectory(file: FileHandle, source: string, total: number): Promise<Directory> {
  const size = Math.min(total, END_BYTES + MAX_COMMENT);
  const tail = await read(file, source, total - size, size);
  const view = viewOf(tail);
  for (let at = size - END_BYTES; at >= 0; at--) {
    if (view.getUint32(at, true) !== END || at + END_BYTES + view.getUint16(at + 20, true) !== size) continue;
    const end = total - size + at;
    const directory = {
      count: view.getUint16(at + 10, true),
      sizeInBytes: view.getUint32(at + 12, true),
      start: view.getUint32(at + 16, true),
    };
    const isLarge = directory.count === 0xffff || directory.sizeInBytes === 0xffffffff || directory.start === 0xffffffff;
    return requireInside(source, end, isLarge ? await findDirectory64(file, source, end) : directory);
  }
  throw damaged(source, "a zip file", "one without an end: it is cut off, or no file of torch.save()");
}

function requireInside(source: string, end: number, directory: Directory): Directory {
  const { start, sizeInBytes } = directory;
  if (start + sizeInBytes > end)
    throw damaged(source, "with its directory inside", `one from ${start} to ${start + sizeInBytes} of ${end}`);
  if (sizeInBytes > MAX_DIRECTORY) throw damaged(source, `with a directory of at most ${MAX_DIRECTORY} bytes`, `${sizeInBytes}`);
  return directory;
}

/** A 64-bit number that a file may have as an offset. */
function large(source: string, view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged(source, "with offsets inside", `${value}`);
  return Number(value);
}

async function findDirectory64(file: FileHandle, source: string, end: number): Promise<Directory> {
  if (end < 20 + 56) throw damaged(source, "with a zip64 directory", "none");
  const locator = viewOf(await read(file, source, end - 20, 20));
  const at = large(source, locator, 8);
  if (locator.getUint32(0, true) !== LOCATOR64 || at + 56 > end) throw damaged(source, "with a zip64 directory", "none");
  const view = viewOf(await read(file, source, at, 56));
  if (view.getUint32(0, true) !== END64) throw damaged(source, "with a zip64 directory", "other bytes");
  return { count: large(source, view, 32), sizeInBytes: large(source, view, 40), start: large(source, view, 48) };
}

function entriesOf(bytes: Uint8Array, source: string, { count }: Directory): ReadonlyMap<string, ZipEntry> {
  const bad = (received: string): Error => damaged(source, `with ${count} entries in its directory`, received);
  const entries = new Map<string, ZipEntry>();
  const view = viewOf(bytes);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + 46 > bytes.byteLength || view.getUint32(at, true) !== CENTRAL) throw bad(`${i}`);
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => view.getUint16(at + field, true)) as [number, number, number];
    const nameEnd = at + 46 + nameBytes;
    const end = nameEnd + extraBytes + commentBytes;
    if (end > bytes.byteLength) throw bad(`${i} and a part of one`);
    const name = Buffer.from(bytes.subarray(at + 46, nameEnd)).toString("utf8");
    const method = view.getUint16(at + 10, true);
    if ((view.getUint16(at + 8, true) & 1) !== 0) throw unknown(source, `the encrypted entry ${name}`, "Decrypt it before.");
    if (method !== 0 && method !== 8) throw unknown(source, `${name}, compressed by method ${method}`, "torch.save() compresses nothing.");
    const sizes = sizesOf(source, view, at, new DataView(bytes.buffer, bytes.byteOffset + nameEnd, extraBytes));
    if (method === 0 && sizes.compressedBytes !== sizes.sizeInBytes)
      throw damaged(source, `with ${sizes.sizeInBytes} stored bytes as ${name}`, `${sizes.compressedBytes}`);
    if (entries.has(name)) throw damaged(source, "with each entry once", `${name} twice`);
    entries.set(name, { name, isDeflated: method === 8, crc: view.getUint32(at + 16, true), ...sizes });
    at = end;
  }
  return entries;
}

/** Sizes and offset; those that are too large for 32 bits are in the extra field 1, in this order. */
function sizesOf(
  source: string,
  view: DataView,
  at: number,
  extra: DataView,
): Pick<ZipEntry, "compressedBytes" | "sizeInBytes" | "headerStart"> {
  const narrow = {
    sizeInBytes: view.getUint32(at + 24, true),
    compressedBytes: view.getUint32(at + 20, true),
    headerStart: view.getUint32(at + 42, true),
  };
  if (!Object.values(narrow).includes(0xffffffff)) return narrow;
  for (let field = 0; field + 4 <= extra.byteLength; field += 4 + extra.getUint16(field + 2, true)) {
    if (extra.getUint16(field, true) !== 1) continue;
    let next = field + 4;
    const wide = (value: number): number => {
      if (value !== 0xffffffff) return value;
      if (next + 8 > extra.byteLength) throw damaged(source, "with 64-bit sizes", "a part of one");
      next += 8;
      return large(source, extra, next - 8);
    };
    return {
      sizeInBytes: wide(narrow.sizeInBytes),
      compressedBytes: wide(narrow.compressedBytes),
      headerStart: wide(narrow.headerStart),
    };
  }
  return narrow;
}
