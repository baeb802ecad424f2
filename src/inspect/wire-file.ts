/** The fields of protobuf messages in a file, which is read in windows: what is skipped is not read. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { FormatError } from "../core/errors.ts";
import { unreadable } from "../host/unreadable.ts";

/** A field: its number, and where its bytes are. */
export interface Field {
  readonly tag: number;
  /** Of the field with its tag and length. */
  readonly start: number;
  /** Of the value. */
  readonly valueStart: number;
  readonly end: number;
  /** Of wire type 2: bytes, texts, messages. */
  readonly isBytes: boolean;
}

/** What else than ONNX a file may be. */
export const KNOWN_FORMATS = "Known are ONNX, GGUF, safetensors, NumPy's .npy and .npz, PyTorch's .pt, and TensorFlow.js's model.json.";

const WINDOW = 2 ** 16;

export class WireFile {
  readonly path: string;
  readonly sizeInBytes: number;
  readonly #operation: string;
  readonly #file: number;
  #window: Uint8Array = new Uint8Array();
  #windowStart = 0;

  constructor(operation: string, path: string) {
    this.#operation = operation;
    this.path = path;
    try {
      this.#file = openSync(path, "r");
    } catch (error) {
      throw unreadable(operation, path, error);
    }
    this.sizeInBytes = fstatSync(this.#file).size;
  }

  close(): void {
    closeSync(this.#file);
  }

  #bad(received: string): FormatError {
    return new FormatError(this.#operation, this.path, "a file of a known format", `${received}, read as an ONNX model`, KNOWN_FORMATS);
  }

  bytes(start: number, end: number): Uint8Array {
    const at = start - this.#windowStart;
    if (at >= 0 && end - this.#windowStart <= this.#window.length) return this.#window.subarray(at, end - this.#windowStart);
    return this.#read(start, end);
  }

  #read(start: number, end: number): Uint8Array {
    const bytes = new Uint8Array(end - start);
    for (let at = 0; at < bytes.length;) {
      const count = readSync(this.#file, bytes, at, bytes.length - at, start + at);
      if (count === 0) throw this.#bad(`its end at byte ${start + at}`);
      at += count;
    }
    return bytes;
  }

  #byte(at: number): number {
    if (at < this.#windowStart || at >= this.#windowStart + this.#window.length) {
      this.#windowStart = at;
      this.#window = this.#read(at, Math.min(at + WINDOW, this.sizeInBytes));
    }
    return this.#window[at - this.#windowStart]!;
  }

  /** A number of 7 bits a byte, and where it ends. */
  #varint(at: number, end: number): readonly [value: number, end: number] {
    let value = 0;
    for (let i = 0; i < 10; i++) {
      if (at + i >= end) break;
      const byte = this.#byte(at + i);
      value += (byte & 127) * 2 ** (7 * i);
      if (byte < 128) return [value, at + i + 1];
    }
    throw this.#bad(`a number that does not end at byte ${at}`);
  }

  /** The fields of the message from `start` to `end`. */
  *fields(start = 0, end = this.sizeInBytes): Generator<Field, void, undefined> {
    for (let at = start; at < end;) {
      const [key, keyEnd] = this.#varint(at, end);
      const kind = key % 8;
      let [valueStart, fieldEnd] = [keyEnd, keyEnd];
      if (kind === 0) fieldEnd = this.#varint(keyEnd, end)[1];
      else if (kind === 1) fieldEnd += 8;
      else if (kind === 5) fieldEnd += 4;
      else if (kind === 2) {
        const [length, lengthEnd] = this.#varint(keyEnd, end);
        valueStart = lengthEnd;
        fieldEnd = lengthEnd + length;
      } else throw this.#bad(`a field of kind ${kind} at byte ${at}`);
      if (fieldEnd > end || key < 8) throw this.#bad(`${key < 8 ? "field 0" : "a field that ends beyond its message"} at byte ${at}`);
      yield { tag: Math.floor(key / 8), start: at, valueStart, end: fieldEnd, isBytes: kind === 2 };
      at = fieldEnd;
    }
  }

  /** A message without those fields that `isDropped`: a message again. */
  without(start: number, end: number, isDropped: (field: Field) => boolean): Uint8Array {
    return Buffer.concat(
      Array.from(this.fields(start, end))
        .filter((field) => !isDropped(field))
        .map((field) => this.bytes(field.start, field.end)),
    );
  }
}
