/** Types of reading and writing GGUF files. */
import type { DeviceLike } from "../../core/device.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { TransferOptions } from "../parts.ts";
import type { GgufType } from "./types.ts";

/**
 * A value of a file's metadata. Integers of 64 bits are BigInts beyond 2^53. Arrays of numbers are typed arrays, those of 64-bit integers BigInt64Array
 * and BigUint64Array.
 */
export type GgufValue =
  | number
  | bigint
  | boolean
  | string
  | readonly GgufValue[]
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** The type that a value has in a file; "uint32[]" is an array of them, "array[]" one of arrays. */
export type GgufValueType = GgufScalarType | `${GgufScalarType | "array"}[]`;

/** The type of a value that is no array. */
export type GgufScalarType =
  | "uint8" | "int8" | "uint16" | "int16" | "uint32" | "int32" | "uint64" | "int64" | "float32" | "float64" | "bool" | "string"; // prettier-ignore

/** What a file says of a tensor. */
export interface GgufTensorInfo {
  /** Its name, for example "blk.0.attn_q.weight". */
  readonly name: string;
  /** Of its elements: "Q4_0". */
  readonly type: GgufType;
  /** In PyTorch's order, the reverse of the file's: a linear layer's weight is [outputs, inputs]. */
  readonly shape: readonly number[];
  /** In the file. */
  readonly sizeInBytes: number;
}

/** A tensor as a file has it: blocks, little-endian. */
export interface GgufPacked {
  /** Of its elements: "Q4_0". */
  readonly type: GgufType;
  /** Of the elements, in PyTorch's order. The last axis is a multiple of the type's block. */
  readonly shape: readonly number[];
  /** The blocks of all rows, one after the other. */
  readonly data: Uint8Array;
}

/** The tokens of a model, from the metadata's `tokenizer.ggml` keys. */
export interface GgufVocabulary {
  /** The kind of tokenizer: "gpt2" (byte pairs), "llama" (SentencePiece), "bert" (WordPiece), … */
  readonly model: string;
  /** Tokens by their ids. */
  readonly tokens: readonly string[];
  /** SentencePiece's score of each token; null where there are none. */
  readonly scores: Float32Array | null;
  /** Of each token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte; null where the file does not say. */
  readonly types: Int32Array | null;
  /** Byte pairs in the order of their merging, "Ġ t"; empty where there are none. */
  readonly merges: readonly string[];
  /** Ids of tokens with a meaning: { bos: 1, eos: 2, … }. */
  readonly special: Readonly<Record<string, number>>;
}

/** Options of a GGUF file's tensor(). */
export interface GgufTensorOptions extends TransferOptions {
  /** Where the tensor goes; "meta" reads nothing. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** The dtype of floats and of packed blocks. Default: that of the file, float32 for packed blocks. Integers keep theirs. */
  readonly dtype?: "float32" | "float16" | "bfloat16" | undefined;
  /** Gives packed blocks as they are: uint8 `[..., bytes of a row]`. Default: false. */
  readonly packed?: boolean | undefined;
}

/** Options of gguf.load(), and of a GGUF file's load(). */
export interface GgufLoadOptions extends GgufTensorOptions {
  /** The tensors that are read. Default: all. */
  readonly names?: readonly string[] | undefined;
}

/** What gguf.load() gives. */
export interface GgufLoaded {
  /** The tensors by name. */
  readonly tensors: Record<string, Tensor>;
  /** The file's values by key. */
  readonly metadata: Record<string, GgufValue>;
}

/** A GGUF file that is open: its header has been read, its tensors are read when they are asked for. Made by gguf.open(). */
export interface GgufFile {
  /** Of the format: 2 or 3. */
  readonly version: number;
  /** Of the file's numbers. */
  readonly byteOrder: "little" | "big";
  /** The file, and those of its other parts. */
  readonly paths: readonly string[];
  /** Values by key: `metadata["general.architecture"]`. */
  readonly metadata: Readonly<Record<string, GgufValue>>;
  /** The type of each value, as gguf.save() takes it. */
  readonly metadataTypes: Readonly<Record<string, GgufValueType>>;
  /** The model's tokens; null where the file has none. */
  readonly vocabulary: GgufVocabulary | null;
  /** What the file says of each tensor, by name, in its order. */
  readonly tensors: ReadonlyMap<string, GgufTensorInfo>;
  /**
   * Reads a tensor, in pieces, straight to a device. Packed blocks become float32 (or `dtype`), as llama.cpp computes them. Throws ValueError for a name
   * that is not there, UnsupportedError for blocks that have no big-endian form.
   */
  tensor(name: string, options?: GgufTensorOptions): Promise<Tensor>;
  /** Reads tensors by name: all, or `names`. What was read is freed if it fails. */
  load(options?: GgufLoadOptions): Promise<Record<string, Tensor>>;
  /** Reads a tensor's blocks as they are; gguf.save() takes them. */
  packed(name: string): Promise<GgufPacked>;
  /** Closes the file: nothing can be read from now on. */
  close(): Promise<void>;
  /** As close(). */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The element types that gguf.save() makes. */
export type GgufQuantizeType = "F32" | "F16" | "BF16" | "Q8_0" | "Q4_0" | "Q4_1" | "Q5_0" | "Q5_1";

/** What gguf.save() writes. */
export interface GgufContent {
  /** Tensors by name, or blocks as packed() reads them. */
  readonly tensors: { readonly [name: string]: Tensor | GgufPacked };
  /** Values by key. llama.cpp needs `general.architecture` and the keys of that architecture. */
  readonly metadata?: { readonly [key: string]: GgufValue } | undefined;
  /**
   * Types of values. Default: texts, bools and typed arrays say theirs; integers are uint32, int32 where they are negative, 64 bits wide where they need it;
   * other numbers are float32.
   */
  readonly metadataTypes?: { readonly [key: string]: GgufValueType } | undefined;
  /**
   * The type of the elements. A name is that of float tensors of two axes and more whose rows are a multiple of its blocks; others keep theirs. A function
   * gives the type of each float tensor, undefined to keep it. Default: every tensor keeps its dtype.
   */
  readonly quantize?: GgufQuantizeType | ((name: string, tensor: Tensor) => GgufQuantizeType | undefined) | undefined;
}
