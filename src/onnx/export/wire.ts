/** Writes the protobuf wire format: https://protobuf.dev/programming-guides/encoding. */
const utf8 = new TextEncoder();

/** A message as parts: its own bytes, and bytes that are written later, of which only the length is known. */
export type Part<T> = Uint8Array | { readonly sizeInBytes: number; readonly later: T };

const sizeOfPart = (part: Part<unknown>): number => (part instanceof Uint8Array ? part.byteLength : part.sizeInBytes);

function varint(value: number | bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

/** One message; fields in the order of the calls. */
export class WireWriter<T = never> {
  readonly parts: Part<T>[] = [];

  get sizeInBytes(): number {
    return this.parts.reduce((n, part) => n + sizeOfPart(part), 0);
  }

  int(tag: number, value: number | bigint): this {
    this.parts.push(varint(tag * 8), varint(value));
    return this;
  }

  float(tag: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    this.parts.push(varint(tag * 8 + 5), bytes);
    return this;
  }

  text(tag: number, value: string): this {
    return this.bytes(tag, utf8.encode(value));
  }

  bytes(tag: number, value: Part<T>): this {
    this.parts.push(varint(tag * 8 + 2), varint(sizeOfPart(value)), value);
    return this;
  }

  message(tag: number, value: WireWriter<T>): this {
    this.parts.push(varint(tag * 8 + 2), varint(value.sizeInBytes));
    for (const part of value.parts) this.parts.push(part);
    return this;
  }
}
