/**
 * The protobuf wire format, read strictly: https://protobuf.dev/programming-guides/encoding. A field's length must lie inside its message, and fields
 * are counted, so that a small file cannot require more memory than exists.
 */
import { FormatError } from "../../core/errors.ts";

/** Messages in one file: models of language have some 100,000. A message of 2 bytes becomes an object of some hundreds. */
const MAX_MESSAGES = 1_000_000;
/** Messages in each other, as protobuf's own readers allow. */
const MAX_LEVELS = 100;
/** Numbers of 64 bits in lists: each is an object. */
const MAX_LONGS = 2 ** 22;

const utf8 = new TextDecoder();

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

export class WireReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;
  #end: number;
  #type = 0;
  #levels = 0;
  #messages = 0;
  #longs = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = bytes.byteLength;
  }

  #bad(expected: string, received: string): FormatError {
    return new FormatError("onnx", "file", expected, `${received} at byte ${this.#at}: no ONNX model, or a damaged one`);
  }

  /** Moves over so many bytes of this message, and gives where they began. */
  #take(size: number): number {
    const start = this.#at;
    if (size > this.#end - start) throw this.#bad("whole", `${size} bytes where ${this.#end - start} are left`);
    this.#at += size;
    return start;
  }

  #expect(type: number): void {
    if (this.#type !== type) throw this.#bad(`with fields of wire type ${type} where onnx.proto has them`, `wire type ${this.#type}`);
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#take(1)]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw this.#bad("with numbers of at most 10 bytes", "a longer one");
  }

  /** One that fits a JavaScript number; most have one or two bytes. */
  #small(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 49; factor *= 128) {
      const byte = this.#bytes[this.#take(1)]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw this.#bad("with lengths below 2^53", "a longer one");
  }

  /** An enum or int32; negative ones have ten bytes. */
  int(): number {
    this.#expect(VARINT);
    return Number(BigInt.asIntN(64, this.#varint()));
  }

  long(): bigint {
    this.#expect(VARINT);
    return BigInt.asIntN(64, this.#varint());
  }

  float(): number {
    this.#expect(FIXED32);
    return this.#view.getFloat32(this.#take(4), true);
  }

  double(): number {
    this.#expect(FIXED64);
    return this.#view.getFloat64(this.#take(8), true);
  }

  /** A view of the file's bytes, which keeps all of them alive. */
  view(): Uint8Array {
    this.#expect(BYTES);
    const size = this.#small();
    const start = this.#take(size);
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + start, size);
  }

  bytes(): Uint8Array {
    this.#count();
    return new Uint8Array(this.view());
  }

  text(): string {
    return utf8.decode(this.view());
  }

  /** Repeated numbers come packed or one by one. */
  longs(list: bigint[]): void {
    this.#repeated(VARINT, () => {
      if (++this.#longs > MAX_LONGS) throw this.#bad(`with at most ${MAX_LONGS} numbers of 64 bits in lists`, "more");
      list.push(BigInt.asIntN(64, this.#varint()));
    });
  }

  ints(list: number[]): void {
    this.#repeated(VARINT, () => list.push(Number(BigInt.asIntN(64, this.#varint()))));
  }

  floats(list: number[]): void {
    this.#repeated(FIXED32, () => list.push(this.#view.getFloat32(this.#take(4), true)));
  }

  doubles(list: number[]): void {
    this.#repeated(FIXED64, () => list.push(this.#view.getFloat64(this.#take(8), true)));
  }

  #repeated(type: number, read: () => void): void {
    if (this.#type !== BYTES) {
      this.#expect(type);
      read();
      return;
    }
    this.#inside(read);
  }

  /** Reads until the end of the byte range that a length states. */
  #inside(read: () => void): void {
    const size = this.#small();
    if (size > this.#end - this.#at) throw this.#bad("whole", `a length of ${size} where ${this.#end - this.#at} bytes are left`);
    const outer = this.#end;
    this.#end = this.#at + size;
    while (this.#at < this.#end) read();
    this.#end = outer;
  }

  #count(): void {
    if (++this.#messages > MAX_MESSAGES) throw this.#bad(`with at most ${MAX_MESSAGES} messages`, "more");
  }

  #field<T>(read: (tag: number, message: T, reader: WireReader) => void, message: T): void {
    const key = this.#small();
    const tag = Math.floor(key / 8);
    if (tag === 0) throw this.#bad("with fields from number 1 on", "field 0");
    this.#type = key % 8;
    const start = this.#at;
    const type = this.#type;
    read(tag, message, this);
    // Fields that are not known, or not wanted, have at least one byte to move over, but for an empty one that was read.
    if (this.#at === start) this.#skip(type);
  }

  #skip(type: number): void {
    if (type === VARINT) this.#varint();
    else if (type === FIXED64) this.#take(8);
    else if (type === FIXED32) this.#take(4);
    else if (type === BYTES) this.#take(this.#small());
    else throw this.#bad("with fields of wire types 0, 1, 2 and 5", `wire type ${type}`);
  }

  /** A message inside this one: each of its fields is handed to `read`, which reads it or leaves it. */
  message<T>(read: (tag: number, message: T, reader: WireReader) => void, message: T): T {
    this.#expect(BYTES);
    this.#count();
    if (++this.#levels > MAX_LEVELS) throw this.#bad(`of at most ${MAX_LEVELS} messages in each other`, "more");
    this.#inside(() => this.#field(read, message));
    this.#levels--;
    return message;
  }

  /** The message that the bytes are. */
  whole<T>(read: (tag: number, message: T, reader: WireReader) => void, message: T): T {
    while (this.#at < this.#end) this.#field(read, message);
    return message;
  }
}
