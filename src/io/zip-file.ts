/** Zip files that are read by offset: the directory at the end is read, then only the requested entries. APPNOTE.TXT of PKWARE. */
import { FormatError, UnsupportedError } from "../core/errors.ts";
import { readAt, type RandomAccess } from "../host/source.ts";
import { inflated, isZlibError, zlib } from "./inflate.ts";

/** What a zip file is read as: for its errors, and how large it may become. */
export interface ZipFormat {
  readonly operation: string;
  readonly source: string;
  /** What writes such files: "torch.save()". */
  readonly writer: string;
  /** Bytes that all deflated entries together may have, of a file of so many bytes. */
  readonly maxInflated: (fileBytes: number) => number;
  /** What the user can do, for the errors. */
  readonly hints: { readonly crc?: string; readonly inflated?: string; readonly method?: string };
}

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

const damaged = ({ operation, source }: ZipFormat, expected: string, received: string, hint?: string): FormatError =>
  new FormatError(operation, source, expected, received.slice(0, 200), hint);

const unsupported = ({ operation, source }: ZipFormat, received: string, hint?: string): UnsupportedError =>
  new UnsupportedError({ operation, argument: source, expected: "of stored and deflated entries", received: received.slice(0, 200), hint });

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

interface Directory {
  readonly start: number;
  readonly sizeInBytes: number;
  readonly count: number;
}

export class ZipFile {
  readonly entries: ReadonlyMap<string, ZipEntry>;
  readonly #file: RandomAccess;
  readonly #format: ZipFormat;
  readonly #sizeInBytes: number;

  private constructor(file: RandomAccess, format: ZipFormat, sizeInBytes: number, entries: ReadonlyMap<string, ZipEntry>) {
    this.#file = file;
    this.#format = format;
    this.#sizeInBytes = sizeInBytes;
    this.entries = entries;
  }

  /** Reads the directory of a file that is open. */
  static async open(file: RandomAccess, format: ZipFormat, sizeInBytes: number): Promise<ZipFile> {
    const directory = await findDirectory(file, format, sizeInBytes);
    const bytes = await read(file, format, directory.start, directory.sizeInBytes);
    const entries = entriesOf(bytes, format, directory);
    requireApart(format, entries, directory.start);
    requireSmall(format, entries, sizeInBytes);
    return new ZipFile(file, format, sizeInBytes, entries);
  }

  /** Where an entry's bytes begin: its own header says. */
  async locate(entry: ZipEntry): Promise<ZipData> {
    const bad = (received: string): Error => damaged(this.#format, `with ${entry.name} where its directory says`, received);
    if (entry.headerStart + 30 > this.#sizeInBytes) throw bad(`an offset of ${entry.headerStart} in ${this.#sizeInBytes} bytes`);
    const view = viewOf(await read(this.#file, this.#format, entry.headerStart, 30));
    if (view.getUint32(0, true) !== LOCAL) throw bad("other bytes");
    const start = entry.headerStart + 30 + view.getUint16(26, true) + view.getUint16(28, true);
    if (start + entry.compressedBytes > this.#sizeInBytes)
      throw bad(`an end at ${start + entry.compressedBytes} of ${this.#sizeInBytes} bytes`);
    return { ...entry, start };
  }

  /** All bytes of an entry, of at most so many. */
  async bytes(entry: ZipEntry, most: number): Promise<Uint8Array> {
    if (entry.sizeInBytes > most) throw damaged(this.#format, `with at most ${most} bytes as ${entry.name}`, `${entry.sizeInBytes}`);
    const { start } = await this.locate(entry);
    const stored = await read(this.#file, this.#format, start, entry.compressedBytes);
    const bytes = entry.isDeflated ? await this.#inflated(entry, stored) : stored;
    this.requireCrc(entry, zlib().crc32(bytes));
    return bytes;
  }

  /** The bytes of an entry in pieces, none of which is kept: throws FormatError at the end if they are not those that were written. */
  async *pieces(entry: ZipEntry): AsyncGenerator<Uint8Array, void, undefined> {
    const stored = this.#stored(entry);
    let size = 0;
    let crc = 0;
    try {
      for await (const piece of entry.isDeflated ? inflated(stored, "createInflateRaw") : stored) {
        size += piece.byteLength;
        if (size > entry.sizeInBytes) break;
        crc = zlib().crc32(piece, crc);
        yield piece;
      }
    } catch (error) {
      throw isZlibError(error) ? this.#wrongSize(entry, error.message) : error;
    }
    if (size !== entry.sizeInBytes) throw this.#wrongSize(entry, size > entry.sizeInBytes ? "more" : `${size}`);
    this.requireCrc(entry, crc);
  }

  async *#stored(entry: ZipEntry): AsyncGenerator<Uint8Array, void, undefined> {
    const { start } = await this.locate(entry);
    for (let at = 0; at < entry.compressedBytes; at += STEP)
      yield await read(this.#file, this.#format, start + at, Math.min(STEP, entry.compressedBytes - at));
  }

  #wrongSize({ name, sizeInBytes }: ZipEntry, received: string): FormatError {
    return damaged(this.#format, `with ${sizeInBytes} deflated bytes as ${name}`, received);
  }

  /** Throws FormatError for bytes that changed since they were written. */
  requireCrc(entry: ZipEntry, crc: number): void {
    if (crc !== entry.crc)
      throw damaged(
        this.#format,
        `with ${entry.name} of CRC ${entry.crc.toString(16)}`,
        `${crc.toString(16)}: it was changed`,
        this.#format.hints.crc,
      );
  }

  #inflated(entry: ZipEntry, stored: Uint8Array): Promise<Uint8Array> {
    const { sizeInBytes } = entry;
    return new Promise((resolve, reject) => {
      // One byte more shows that there are more than it says.
      zlib().inflateRaw(stored, { maxOutputLength: sizeInBytes + 1 }, (error, bytes) => {
        if (error === null && bytes.byteLength === sizeInBytes) resolve(bytes);
        else reject(this.#wrongSize(entry, error?.message ?? `${bytes.byteLength}`));
      });
    });
  }
}

/** Bytes that are read at once. */
const STEP = 2 ** 20;

/** Each byte belongs to one entry: then all that is stored fits the file. */
function requireApart(format: ZipFormat, entries: ReadonlyMap<string, ZipEntry>, end: number): void {
  const sorted = [...entries.values()].sort((a, b) => a.headerStart - b.headerStart);
  sorted.forEach(({ name, headerStart, compressedBytes }, i) => {
    const next = sorted[i + 1]?.headerStart ?? end;
    if (headerStart + 30 + compressedBytes > next)
      throw damaged(format, "with entries that have no bytes in common", `${name} beyond byte ${next}`);
  });
}

/** What is inflated has a size that the file makes likely. */
function requireSmall(format: ZipFormat, entries: ReadonlyMap<string, ZipEntry>, total: number): void {
  let inflated = 0;
  for (const entry of entries.values()) if (entry.isDeflated) inflated += entry.sizeInBytes;
  const max = format.maxInflated(total);
  if (inflated > max)
    throw damaged(format, `of at most ${max} bytes when inflated`, `${inflated} bytes in ${total}`, format.hints.inflated);
}

async function read(file: RandomAccess, format: ZipFormat, start: number, size: number): Promise<Uint8Array> {
  const bytes = await readAt(file, new Uint8Array(size), start);
  if (bytes.byteLength !== size)
    throw damaged(format, "as long as it was when it was opened", `its end at byte ${start + bytes.byteLength}`);
  return bytes;
}

async function findDirectory(file: RandomAccess, format: ZipFormat, total: number): Promise<Directory> {
  const size = Math.min(total, END_BYTES + MAX_COMMENT);
  const tail = await read(file, format, total - size, size);
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
    return requireInside(format, end, isLarge ? await findDirectory64(file, format, end) : directory);
  }
  throw damaged(format, "a zip file", `one without an end: it is cut off, or no file of ${format.writer}`);
}

function requireInside(format: ZipFormat, end: number, directory: Directory): Directory {
  const { start, sizeInBytes } = directory;
  if (start + sizeInBytes > end)
    throw damaged(format, "with its directory inside", `one from ${start} to ${start + sizeInBytes} of ${end}`);
  if (sizeInBytes > MAX_DIRECTORY) throw damaged(format, `with a directory of at most ${MAX_DIRECTORY} bytes`, `${sizeInBytes}`);
  return directory;
}

/** A 64-bit number that a file may have as an offset. */
function large(format: ZipFormat, view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged(format, "with offsets inside", `${value}`);
  return Number(value);
}

async function findDirectory64(file: RandomAccess, format: ZipFormat, end: number): Promise<Directory> {
  if (end < 20 + 56) throw damaged(format, "with a zip64 directory", "none");
  const locator = viewOf(await read(file, format, end - 20, 20));
  const at = large(format, locator, 8);
  if (locator.getUint32(0, true) !== LOCATOR64 || at + 56 > end) throw damaged(format, "with a zip64 directory", "none");
  const view = viewOf(await read(file, format, at, 56));
  if (view.getUint32(0, true) !== END64) throw damaged(format, "with a zip64 directory", "other bytes");
  return { count: large(format, view, 32), sizeInBytes: large(format, view, 40), start: large(format, view, 48) };
}

function entriesOf(bytes: Uint8Array, format: ZipFormat, { count }: Directory): ReadonlyMap<string, ZipEntry> {
  const bad = (received: string): Error => damaged(format, `with ${count} entries in its directory`, received);
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
    if ((view.getUint16(at + 8, true) & 1) !== 0) throw unsupported(format, `the encrypted entry ${name}`, "Decrypt it before.");
    if (method !== 0 && method !== 8) throw unsupported(format, `${name}, compressed by method ${method}`, format.hints.method);
    const sizes = sizesOf(format, view, at, new DataView(bytes.buffer, bytes.byteOffset + nameEnd, extraBytes));
    if (method === 0 && sizes.compressedBytes !== sizes.sizeInBytes)
      throw damaged(format, `with ${sizes.sizeInBytes} stored bytes as ${name}`, `${sizes.compressedBytes}`);
    if (entries.has(name)) throw damaged(format, "with each entry once", `${name} twice`);
    entries.set(name, { name, isDeflated: method === 8, crc: view.getUint32(at + 16, true), ...sizes });
    at = end;
  }
  return entries;
}

/** Sizes and offset; those that are too large for 32 bits are in the extra field 1, in this order. */
function sizesOf(
  format: ZipFormat,
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
      if (next + 8 > extra.byteLength) throw damaged(format, "with 64-bit sizes", "a part of one");
      next += 8;
      return large(format, extra, next - 8);
    };
    return {
      sizeInBytes: wide(narrow.sizeInBytes),
      compressedBytes: wide(narrow.compressedBytes),
      headerStart: wide(narrow.headerStart),
    };
  }
  return narrow;
}
