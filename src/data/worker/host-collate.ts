/** Batches on the host: typed arrays with shapes, in the structure of the samples. Knows no tensor, so that a worker needs no more than this. */
import type { DType, TypedArray } from "../../core/dtype.ts";

/** A tensor's content before there is a tensor: what a data set in a worker gives for an image or a matrix. */
export interface HostArray {
  /** The elements in row-major order; float16 and bfloat16 as words of 16 bits, bool as bytes. */
  readonly data: TypedArray;
  /** The length of each axis. */
  readonly shape: readonly number[];
  /** Default: that of the typed array. */
  readonly dtype?: DType | undefined;
}

/** A batch on the host: arrays that become tensors, in lists and objects. */
export type HostNode =
  | { readonly kind: "array"; readonly data: TypedArray; readonly shape: readonly number[]; readonly dtype: DType | undefined }
  | { readonly kind: "list"; readonly items: readonly HostNode[] }
  | { readonly kind: "object"; readonly keys: readonly string[]; readonly items: readonly HostNode[] };

/** How samples of different lengths are made equal. */
export interface Padding {
  readonly value: number;
  readonly side: "left" | "right";
  readonly multipleOf: number;
}

/** Samples that do not fit each other; becomes a DTypeError or a ShapeError where those classes are. */
export class CollateError extends Error {
  readonly kind: "dtype" | "shape";
  readonly expected: string;
  readonly received: unknown;

  constructor(kind: "dtype" | "shape", expected: string, received: unknown) {
    super(`samples must be ${expected}; received ${String(received)}`);
    this.kind = kind;
    this.expected = expected;
    this.received = received;
  }
}

const typeName = (value: unknown): string => (value === null ? "null" : typeof value);

export function requireKind(value: unknown, holds: boolean, expected: string): unknown {
  if (!holds) throw new CollateError("dtype", `all alike (${expected})`, typeName(value));
  return value;
}

export const isTypedArray = (value: unknown): value is TypedArray => ArrayBuffer.isView(value) && !(value instanceof DataView);

const sizeOf = (shape: readonly number[]): number => shape.reduce((n, length) => n * length, 1);

/** An object with typed-array data, a shape of that size, and at most a dtype. */
export function isHostArray(value: unknown): value is HostArray {
  if (typeof value !== "object" || value === null || !("data" in value) || !("shape" in value)) return false;
  const { data, shape } = value;
  if (!isTypedArray(data) || !Array.isArray(shape) || !shape.every((length) => Number.isInteger(length) && length >= 0)) return false;
  return (
    Object.keys(value).every((key) => key === "data" || key === "shape" || key === "dtype") && sizeOf(shape as number[]) === data.length
  );
}

type Constructor = new (length: number) => TypedArray;

/** The class of a typed array's elements: a Buffer has bytes. */
const tagOf = (array: TypedArray): string => array[Symbol.toStringTag];
const classOf = (array: TypedArray): Constructor => (globalThis as unknown as Record<string, Constructor>)[tagOf(array)]!;

/** Arrays one after the other, as rows of `length` elements. */
function rowsOf(arrays: readonly TypedArray[], length: number, padding: Padding | undefined): TypedArray {
  const all = new (classOf(arrays[0]!))(arrays.length * length);
  if (padding !== undefined && padding.value !== 0)
    all.fill((all instanceof BigInt64Array || all instanceof BigUint64Array ? BigInt(padding.value) : padding.value) as never);
  arrays.forEach((a, i) => {
    all.set(a as never, i * length + (padding?.side === "left" ? length - a.length : 0));
  });
  return all;
}

function arraysNode(samples: readonly unknown[], padding: Padding | undefined): HostNode {
  const first = samples[0] as HostArray;
  const all = samples.map((s) => requireKind(s, isHostArray(s), "an array with a shape") as HostArray);
  const rest = (shape: readonly number[]): string => String(padding === undefined ? shape : shape.slice(1));
  for (const s of all) {
    requireKind(s, tagOf(s.data) === tagOf(first.data) && s.dtype === first.dtype, `a ${tagOf(first.data)}`);
    if (s.shape.length !== first.shape.length || rest(s.shape) !== rest(first.shape))
      throw new CollateError("shape", `of shape [${first.shape.join(", ")}] each`, `[${s.shape.join(", ")}]`);
  }
  const inner = sizeOf(first.shape.slice(1));
  const isPadded = padding !== undefined && first.shape.length > 0;
  const rows = isPadded ? commonLength(all.map((s) => s.shape[0]!), padding) : first.shape[0]; // prettier-ignore
  const shape = rows === undefined ? [] : [rows, ...first.shape.slice(1)];
  const length = rows === undefined ? 1 : rows * inner;
  const data = rowsOf(
    all.map((s) => s.data),
    length,
    isPadded ? padding : undefined,
  );
  return { kind: "array", data, shape: [all.length, ...shape], dtype: first.dtype };
}

/** The length that all samples get. */
export const commonLength = (lengths: readonly number[], { multipleOf }: Padding): number =>
  Math.ceil(Math.max(...lengths) / multipleOf) * multipleOf;

function typedNode(samples: readonly TypedArray[], padding: Padding | undefined): HostNode {
  const first = samples[0]!;
  for (const s of samples) {
    requireKind(s, isTypedArray(s) && tagOf(s) === tagOf(first), `a ${tagOf(first)}`);
    if (padding === undefined && s.length !== first.length) throw new CollateError("shape", `of ${first.length} elements each`, s.length);
  }
  const length = padding === undefined ? first.length : commonLength(samples.map((s) => s.length), padding); // prettier-ignore
  return { kind: "array", data: rowsOf(samples, length, padding), shape: [samples.length, length], dtype: undefined };
}

function int64Of(samples: readonly bigint[]): BigInt64Array {
  const data = BigInt64Array.from(samples);
  const wrong = samples.findIndex((v, i) => data[i] !== v);
  if (wrong >= 0) throw new CollateError("dtype", "integers that int64 can represent", samples[wrong]);
  return data;
}

function scalarsNode(samples: readonly unknown[]): HostNode {
  const kind = typeof samples[0];
  for (const s of samples) requireKind(s, typeof s === kind, `a ${kind}`);
  const shape = [samples.length];
  if (kind === "bigint") return { kind: "array", data: int64Of(samples as readonly bigint[]), shape, dtype: undefined };
  if (kind === "boolean") return { kind: "array", data: Uint8Array.from(samples as never[], Number), shape, dtype: "bool" };
  const numbers = samples as readonly number[];
  if (!numbers.every((v) => Number.isInteger(v))) return { kind: "array", data: Float32Array.from(numbers), shape, dtype: undefined };
  const data = Int32Array.from(numbers);
  const wrong = numbers.findIndex((v, i) => data[i] !== v);
  if (wrong >= 0) throw new CollateError("dtype", "integers that int32 can represent", numbers[wrong]);
  return { kind: "array", data, shape, dtype: undefined };
}

/** The batch of samples that are all numbers, bigints, booleans, typed arrays or arrays with shapes; null for others. */
export function hostLeaf(samples: readonly unknown[], padding?: Padding): Extract<HostNode, { kind: "array" }> | null {
  const first = samples[0];
  const leaf = isTypedArray(first)
    ? typedNode(samples as readonly TypedArray[], padding)
    : typeof first === "number" || typeof first === "bigint" || typeof first === "boolean"
      ? scalarsNode(samples)
      : isHostArray(first)
        ? arraysNode(samples, padding)
        : null;
  return leaf as Extract<HostNode, { kind: "array" }> | null;
}

/** How the batches of parts become the batch of samples that have them. */
export interface Structure<T> {
  readonly leaf: (samples: readonly unknown[]) => T | null;
  readonly list: (items: readonly T[]) => T;
  readonly object: (keys: readonly string[], items: readonly T[]) => T;
}

/** The batch of samples, member by member. Throws CollateError unless all are alike. */
export function collateBy<T>(samples: readonly unknown[], to: Structure<T>): T {
  const leaf = to.leaf(samples);
  if (leaf !== null) return leaf;
  const first = samples[0];
  if (Array.isArray(first)) {
    const lists = samples.map((s) => requireKind(s, Array.isArray(s), "an array") as readonly unknown[]);
    for (const l of lists) if (l.length !== first.length) throw new CollateError("shape", `of ${first.length} parts each`, l.length);
    const part = (i: number): T => collateBy(lists.map((l) => l[i]), to); // prettier-ignore
    return to.list(first.map((_, i) => part(i)));
  }
  if (typeof first === "object" && first !== null) {
    const objects = samples.map((s) => requireKind(s, typeof s === "object" && s !== null, "an object") as Record<string, unknown>);
    const keys = Object.keys(first);
    const part = (key: string): T => collateBy(objects.map((o) => requireKind(o[key], key in o, `an object with ${key}`)), to); // prettier-ignore
    return to.object(keys, keys.map(part));
  }
  throw new CollateError("dtype", "numbers, tensors, or arrays and objects of them", typeName(first));
}

const asNodes = {
  list: (items: readonly HostNode[]): HostNode => ({ kind: "list", items }),
  object: (keys: readonly string[], items: readonly HostNode[]): HostNode => ({ kind: "object", keys, items }),
};

/** The batch of samples on the host. */
export const hostCollate = (samples: readonly unknown[], padding?: Padding): HostNode =>
  collateBy<HostNode>(samples, { ...asNodes, leaf: (list) => hostLeaf(list, padding) });

/** A whole batch that a data set made itself: its typed arrays and arrays with shapes are the tensors. */
export function hostBatch(batch: unknown): HostNode {
  return collateBy<HostNode>([batch], {
    ...asNodes,
    leaf([value]) {
      if (isTypedArray(value)) return { kind: "array", data: value, shape: [value.length], dtype: undefined };
      return isHostArray(value) ? { kind: "array", data: value.data, shape: value.shape, dtype: value.dtype } : null;
    },
  });
}

/** Buffers that can go to another thread without a copy: an array that is a part of a buffer is copied first. */
export function transferable(node: HostNode, buffers: ArrayBuffer[]): HostNode {
  if (node.kind !== "array") return { ...node, items: node.items.map((item) => transferable(item, buffers)) };
  const { buffer, byteLength } = node.data;
  if (!(buffer instanceof ArrayBuffer)) return node;
  // What owns less than its buffer, or shares it, is copied.
  const isOwner = buffer.byteLength === byteLength && !buffers.includes(buffer);
  const data = isOwner ? node.data : node.data.slice();
  buffers.push(data.buffer as ArrayBuffer);
  return { ...node, data };
}
