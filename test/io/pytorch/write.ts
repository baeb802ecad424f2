/** Writes zip files and pickles by hand, for files that torch.save() would not write. */
import { crc32, deflateRawSync } from "node:zlib";

export interface NewZipEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly isDeflated?: boolean;
  /** What the directory says in place of what is right. */
  readonly crc?: number;
  readonly sizeInBytes?: number;
  readonly compressedBytes?: number;
  readonly headerStart?: number;
  readonly method?: number;
  readonly flags?: number;
}

const u16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
};
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};

export interface ZipOptions {
  /** Sizes and offsets in 64 bits. */
  readonly isLarge?: boolean;
  readonly comment?: string;
  /** What the end says in place of what is right. */
  readonly count?: number;
  readonly directoryStart?: number;
}

/** A zip file. */
export function zip(entries: readonly NewZipEntry[], { isLarge = false, comment = "", count, directoryStart }: ZipOptions = {}): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  const add = (bytes: Buffer): void => {
    parts.push(bytes);
    at += bytes.byteLength;
  };
  for (const entry of entries) {
    const stored = entry.isDeflated === true ? deflateRawSync(entry.bytes) : Buffer.from(entry.bytes);
    const name = Buffer.from(entry.name);
    const method = u16(entry.method ?? (entry.isDeflated === true ? 8 : 0));
    const crc = u32(entry.crc ?? crc32(entry.bytes));
    const [size, compressed, start] = [
      entry.sizeInBytes ?? entry.bytes.byteLength,
      entry.compressedBytes ?? stored.byteLength,
      entry.headerStart ?? at,
    ];
    const flags = u16(entry.flags ?? 0);
    add(
      Buffer.concat([
        u32(0x04034b50),
        u16(0),
        flags,
        method,
        u32(0),
        crc,
        u32(stored.byteLength),
        u32(entry.bytes.byteLength),
        u16(name.length),
        u16(4),
        name,
        Buffer.alloc(4),
      ]),
    );
    add(stored);
    const extra = isLarge
      ? Buffer.concat([u16(7), u16(1), Buffer.of(9), u16(1), u16(24), u64(size), u64(compressed), u64(start)])
      : Buffer.alloc(0);
    const narrow = (value: number): Buffer => u32(isLarge ? 0xffffffff : value);
    const sizes = [narrow(compressed), narrow(size), u16(name.length), u16(extra.length), u16(0), u16(0), u16(0), u32(0), narrow(start)];
    directory.push(Buffer.concat([u32(0x02014b50), u16(0), u16(0), flags, method, u32(0), crc, ...sizes, name, extra]));
  }
  const start = directoryStart ?? at;
  const size = directory.reduce((n, bytes) => n + bytes.byteLength, 0);
  const number = count ?? entries.length;
  for (const bytes of directory) add(bytes);
  if (isLarge) {
    const end64 = at;
    add(Buffer.concat([u32(0x06064b50), u64(44), u16(45), u16(45), u32(0), u32(0), u64(number), u64(number), u64(size), u64(start)]));
    add(Buffer.concat([u32(0x07064b50), u32(0), u64(end64), u32(1)]));
  }
  const [n, s, o] = isLarge ? [0xffff, 0xffffffff, 0xffffffff] : [number, size, start];
  add(Buffer.concat([u32(0x06054b50), u16(0), u16(0), u16(n), u16(n), u32(s), u32(o), u16(comment.length), Buffer.from(comment)]));
  return Buffer.concat(parts);
}

/** Parts of pickles. */
export const op = {
  proto: Buffer.of(0x80, 2),
  stop: Buffer.from("."),
  mark: Buffer.from("("),
  tuple: Buffer.from("t"),
  reduce: Buffer.from("R"),
  persId: Buffer.from("Q"),
  dict: Buffer.from("}"),
  list: Buffer.from("]"),
  false: Buffer.of(0x89),
  true: Buffer.of(0x88),
  emptyTuple: Buffer.from(")"),
  append: Buffer.from("a"),
  tuple1: Buffer.of(0x85),
  global: (module: string, name: string): Buffer => Buffer.from(`c${module}\n${name}\n`),
  text: (text: string): Buffer => Buffer.concat([Buffer.from("X"), u32(Buffer.byteLength(text)), Buffer.from(text)]),
  int: (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(value);
    return Buffer.concat([Buffer.from("J"), bytes]);
  },
  long: (value: bigint): Buffer => {
    const bytes = Buffer.alloc(9);
    bytes.writeBigInt64LE(BigInt.asIntN(64, value));
    if (value < 0n) bytes[8] = 0xff;
    return Buffer.concat([Buffer.of(0x8a, 9), bytes]);
  },
  put: (index: number): Buffer => Buffer.concat([Buffer.from("r"), u32(index)]),
  get: (index: number): Buffer => Buffer.concat([Buffer.from("j"), u32(index)]),
};

export const tuple = (...items: readonly Buffer[]): Buffer => Buffer.concat([op.mark, ...items, op.tuple]);
const ints = (values: readonly number[]): Buffer =>
  tuple(...values.map((value) => (Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? op.int(value) : op.long(BigInt(value)))));

export interface TensorFields {
  readonly type?: string;
  readonly module?: string;
  readonly key?: string;
  readonly count?: number;
  readonly offset?: number;
  readonly shape?: readonly number[];
  readonly strides?: readonly number[];
}

/** A tensor by _rebuild_tensor_v2, by default 4 float32 of the storage 0. */
export function tensor({
  type = "FloatStorage",
  module = "torch",
  key = "0",
  count = 4,
  offset = 0,
  shape = [4],
  strides = [1],
}: TensorFields = {}): Buffer {
  const storage = Buffer.concat([
    tuple(op.text("storage"), op.global(module, type), op.text(key), op.text("cpu"), op.long(BigInt(count))),
    op.persId,
  ]);
  const hooks = Buffer.concat([op.global("collections", "OrderedDict"), op.emptyTuple, op.reduce]);
  const args = tuple(storage, op.long(BigInt(offset)), ints(shape), ints(strides), op.false, hooks);
  return Buffer.concat([op.global("torch._utils", "_rebuild_tensor_v2"), args, op.reduce]);
}

export const pickle = (...parts: readonly Buffer[]): Buffer => Buffer.concat([op.proto, ...parts, op.stop]);

/** The bytes of 4 float32. */
export const four = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer);

/** A file of one pickle and one storage. */
export const archive = (data: Buffer, storage: Uint8Array = four, others: readonly NewZipEntry[] = [], options: ZipOptions = {}): Buffer =>
  zip([{ name: "archive/data.pkl", bytes: data }, { name: "archive/data/0", bytes: storage }, ...others], options);
