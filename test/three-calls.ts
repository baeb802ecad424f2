/** A function inside compile, called three times: a function called once has never been replayed. */
import { expect } from "vitest";
import * as dx from "../src/index.ts";
import type { Storage } from "../src/core/storage.ts";
import { readBytesSync, upload } from "../src/runtime/buffers.ts";
import { nativeDevice } from "../src/runtime/devices.ts";
import { values } from "../src/ops/data/conversion.ts";
import { truncatesHalves } from "./compile/as-eager.ts";
import { near, nearTruncated, toleranceOf, type Tolerance } from "./tolerance.ts";

const floating: Readonly<Record<string, number>> = { float32: 4, float16: 2, bfloat16: 2 };

/** Floats in the reverse order; other dtypes as they are, since they may be indices. */
function reversed(bytes: Uint8Array, dtype: dx.DType): Uint8Array {
  const size = floating[dtype];
  if (size === undefined) return bytes;
  const result = new Uint8Array(bytes.length);
  for (let i = 0; i + size <= bytes.length; i += size) result.set(bytes.subarray(i, i + size), bytes.length - i - size);
  return result;
}

/** Tensors of the same layout over storages of their own; those that share one, share one again. */
function copies(inputs: readonly dx.Tensor[], change: (bytes: Uint8Array, dtype: dx.DType) => Uint8Array): dx.Tensor[] {
  const storages = new Map<Storage, Storage>();
  const made = new Map<dx.Tensor, dx.Tensor>();
  const copy = (t: dx.Tensor): dx.Tensor => {
    if (t.size === 0) return dx.zeros(t.shape, { dtype: t.dtype, device: t.device });
    const { storage, desc, offset } = t;
    const native = nativeDevice(t.device);
    if (!storages.has(storage)) {
      const bytes = new Uint8Array(readBytesSync(native, storage.handle, 0, storage.contentInBytes, "copies"));
      storages.set(storage, upload(native, change(bytes, t.dtype), "copies"));
    }
    return new dx.Tensor(storages.get(storage)!, desc, offset);
  };
  return inputs.map((t) => {
    if (!made.has(t)) made.set(t, t.requiresGrad ? copy(t).requiresGrad_() : copy(t));
    return made.get(t)!;
  });
}

function tensorsIn(value: unknown): dx.Tensor[] {
  if (value instanceof dx.Tensor) return [value];
  if (value instanceof Map) return [...value.values()].flatMap(tensorsIn);
  if (Array.isArray(value)) return value.flatMap(tensorsIn);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(tensorsIn) : [];
}

interface Seen {
  readonly name: string;
  readonly dtype: dx.DType;
  readonly shape: readonly number[];
  readonly data: dx.TypedArray;
}

const bytesOf = ({ data }: Seen): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
const numbersOf = ({ dtype, data }: Seen): number[] => values(dtype, data).map(Number);

/** What a call gave, and what it made of its inputs. */
function seen(result: unknown, inputs: readonly dx.Tensor[]): Seen[] {
  const named = (name: string, list: readonly (dx.Tensor | null)[]): (readonly [string, dx.Tensor])[] =>
    list.flatMap((t, i) => (t === null ? [] : [[`${name} ${i}`, t] as const]));
  const gradients = inputs.map((t) => (t.isLeaf ? t.grad : null));
  return [...named("result", tensorsIn(result)), ...named("input", inputs), ...named("gradient of input", gradients)].map(([name, t]) => ({
    name,
    dtype: t.dtype,
    shape: [...t.shape],
    data: dx.noGrad(() => t.dataSync()),
  }));
}

type Tolerances = (dtype: dx.DType) => Tolerance;

/** isTruncated: whether eager calls truncate float16; then all floats have the tolerance of three such operators where one of the tensors is float16. */
function expectSame(got: readonly Seen[], want: readonly Seen[], call: string, tolerances: Tolerances, isTruncated = false): void {
  const isHalf = isTruncated && want.some(({ dtype }) => dtype === "float16");
  const kindOf = ({ name, dtype, shape }: Seen): object => ({ name, dtype, shape });
  expect({ call, tensors: got.map(kindOf) }).toEqual({ call, tensors: want.map(kindOf) });
  for (const [i, wanted] of want.entries()) {
    if (bytesOf(got[i]!).equals(bytesOf(wanted))) continue;
    const [found, expected] = [numbersOf(got[i]!), numbersOf(wanted)];
    const bound = tolerances(wanted.dtype);
    const isClose = (v: number, k: number): boolean =>
      near(found[k]!, v, bound) || (isHalf && wanted.dtype in floating && nearTruncated(found[k]!, v, 3));
    if (!expected.every(isClose)) expect(found, `${call}: ${wanted.name}`).toEqual(expected);
  }
}

/** Null where fn refuses these inputs. */
function attempt<T>(fn: () => T): { readonly result: T } | null {
  try {
    return { result: fn() };
  } catch (error) {
    if (error instanceof dx.DxError) return null;
    throw error;
  }
}

/**
 * Calls the compiled function with the inputs, with equal ones and with others, each compared: with the first call, and with fn itself. Gives
 * the first call's result, which the later ones must leave as it was.
 */
export function threeCalls<T>(fn: (...inputs: dx.Tensor[]) => T, inputs: readonly dx.Tensor[], tolerances: Tolerances = toleranceOf): T {
  const [equal, other, reference] = [copies(inputs, (bytes) => bytes), copies(inputs, reversed), copies(inputs, reversed)];
  // Recorded however small it is: what is run as an operation is has not been replayed.
  const compiled = dx.compile(fn, { lists: 3 });
  try {
    const first = compiled(...inputs);
    const want = seen(first, inputs);
    expectSame(seen(compiled(...equal), equal), want, "second call, equal data", tolerances);
    const eager = attempt(() => fn(...reference));
    if (eager !== null)
      expectSame(
        seen(compiled(...other), other),
        seen(eager.result, reference),
        "third call, other data",
        tolerances,
        inputs.some((t) => truncatesHalves(t.device)),
      );
    expectSame(seen(first, inputs), want, "first result after later calls", tolerances);
    return first;
  } finally {
    compiled.dispose();
  }
}
