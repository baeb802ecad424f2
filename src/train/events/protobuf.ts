/** Writes messages in the protobuf wire format: https://protobuf.dev/programming-guides/encoding. */

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const utf8 = new TextEncoder();

/** A message that is being written; its fields follow in the order of the calls. */
export class Message {
  readonly #parts: Uint8Array[] = [];

  #varint(value: number): void {
    const bytes: number[] = [];
    // A negative number is an int64 in two's complement: ten bytes.
    let rest = value < 0 ? BigInt.asUintN(64, BigInt(value)) : BigInt(value);
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    bytes.push(Number(rest));
    this.#parts.push(Uint8Array.from(bytes));
  }

  #key(field: number, type: number): void {
    this.#varint(field * 8 + type);
  }

  /** int32, int64, bool or an enum. */
  int(field: number, value: number): this {
    this.#key(field, VARINT);
    this.#varint(value);
    return this;
  }

  float(field: number, value: number): this {
    this.#key(field, FIXED32);
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    this.#parts.push(bytes);
    return this;
  }

  double(field: number, value: number): this {
    this.#key(field, FIXED64);
    this.#parts.push(packedDoubles([value]));
    return this;
  }

  /** A repeated double, packed. */
  doubles(field: number, values: readonly number[]): this {
    return this.bytes(field, packedDoubles(values));
  }

  bytes(field: number, value: Uint8Array): this {
    this.#key(field, BYTES);
    this.#varint(value.byteLength);
    this.#parts.push(value);
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, utf8.encode(value));
  }

  message(field: number, value: Message): this {
    return this.bytes(field, value.finish());
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }
}

function packedDoubles(values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setFloat64(i * 8, value, true);
  return bytes;
}
