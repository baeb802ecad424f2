/** Filled tensors, and the one-element tensors of JavaScript numbers. */
import { asItIs } from "../core/padded-axes.ts";
import { narrowToBfloat16, roundToBfloat16 } from "../graph/bfloat16.ts";
import type { Expr } from "../graph/graph.ts";
import { DTYPES, isInteger, type DType, dataTypeName } from "../core/dtype.ts";
import { requireRepresentable, requireOperand, elements } from "../core/elements.ts";
import type { Device } from "../core/device.ts";
import { define } from "../core/definition.ts";
import { keep } from "../core/scope.ts";
import type { Shape } from "../core/shape.ts";
import { internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { upload } from "./buffers.ts";
import { nativeDevice, onClose, type NativeDevice } from "./devices.ts";

export interface FillAttributes {
  readonly shape: Shape;
  readonly dtype: DType;
  readonly value: number | bigint | boolean;
}

/** A tensor of equal elements. DirectML: FILL_VALUE_CONSTANT. */
export const fillOp = define<FillAttributes>({
  name: "full",
  traits: { carries: true },
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  lower: (g, _, { dtype, value }, [out]) => [
    g.fillValueConstant({ output: { sizes: out!.shape, dtype }, valueDataType: dataTypeName(dtype), value: { dtype, value } }),
  ],
  grad: null,
  follows: ["value"],
  padded: (g, _inputs, { value, dtype, shape }, [out], p, lower) => {
    if ((p.smaller as FillAttributes).value === value) return lower([]);
    const number = p.number((a: FillAttributes) => Number(a.value), isInteger(dtype) ? "int32" : "float32");
    const one = (): Expr => (number.dtype === dtype ? number : g.cast(number, { output: { dtype } }));
    const element = dtype === "bfloat16" ? narrowToBfloat16(g, roundToBfloat16(g, number)) : one();
    return [g.packed(g.expand(element, shape.length === 0 ? [1] : out!.shape))];
  },
});

/** A tensor of elements equal to a given one: one program for all numbers. DirectML: ELEMENT_WISE_IDENTITY. */
export const fillFromOp = define<{ readonly shape: Shape }>({
  name: "full",
  traits: { carries: true },
  infer: ([x], { shape }) => [{ shape, dtype: x!.dtype }],
  lower: (g, [x], _, [out]) => [g.elementWiseIdentity(g.expand(x!, out!.shape.length === 0 ? [1] : out!.shape))],
  grad: null,
  padded: asItIs,
});

/** Whether a number is read from a buffer: 0 and 1 are so frequent that a program of their own, which reads nothing, pays. */
export function isReadFill(dtype: DType, value: number | bigint | boolean): boolean {
  const number = Number(value);
  if (typeof value === "boolean" || Object.is(number, 0) || number === 1) return false;
  if (dtype === "float32" || dtype === "float16") return true;
  const { kind, sizeInBytes, isSigned } = DTYPES[dtype];
  if (kind !== "int" || dtype === "bool" || !Number.isInteger(number)) return false;
  const limit = 2 ** (8 * sizeInBytes - (isSigned ? 1 : 0));
  return number < limit && number >= (isSigned ? -limit : 0);
}

/** Kept for reuse: loops add the same few numbers again and again. */
type Numbers = Map<number | bigint | boolean | "-0", Tensor>;
const kept = new Map<NativeDevice, Map<DType, Numbers>>();
/** Of a dtype. */
const KEPT = 512;
onClose((native) => kept.delete(native));

function numbersOf(native: NativeDevice, dtype: DType): Numbers {
  let byDType = kept.get(native);
  if (byDType === undefined) kept.set(native, (byDType = new Map()));
  let numbers = byDType.get(dtype);
  if (numbers === undefined) byDType.set(dtype, (numbers = new Map()));
  return numbers;
}

/** Numbers that others replaced, the last few: a call that has asked for several still uses them. */
const leaving: Tensor[] = [];
const LEAVING = 16;

function letGo(t: Tensor): void {
  leaving.push(t);
  if (leaving.length > LEAVING) leaving.shift()!.dispose();
}

/** A rank-0 tensor of a number. Shared: never to be written or disposed of by the caller. */
export function scalarTensor(device: Device, dtype: DType, value: number | bigint | boolean): Tensor {
  const t = tracer();
  if (t !== null) {
    requireOperand(dtype, value);
    return t.scalar(device, dtype, value);
  }
  const native = nativeDevice(device, "scalar");
  const numbers = numbersOf(native, dtype);
  const key = Object.is(value, -0) ? "-0" : value;
  let tensor = numbers.get(key);
  if (tensor === undefined) {
    requireOperand(dtype, value);
    if (numbers.size >= KEPT) {
      const [oldest, old] = numbers.entries().next().value!;
      numbers.delete(oldest);
      letGo(old);
    }
    tensor = keep(new Tensor(upload(native, elements(dtype, [value]), "scalar"), internDesc(device, dtype, [])));
    // Not reused for a result: others read it.
    tensor.storage.share();
    numbers.set(key, tensor);
  }
  return tensor;
}

/** The same, of a number that is stored as it is: DTypeError unless the dtype can represent it. Its fraction is truncated in integer dtypes. */
export function heldScalar(operation: string, argument: string, device: Device, dtype: DType, value: number | bigint | boolean): Tensor {
  requireRepresentable(operation, argument, dtype, value);
  return scalarTensor(device, dtype, typeof value === "number" && DTYPES[dtype].kind === "int" ? Math.trunc(value) : value);
}

/** @internal Frees the kept numbers, so that tests can count live buffers. */
export function clearScalars(): void {
  for (const byDType of kept.values()) for (const numbers of byDType.values()) for (const t of numbers.values()) t.dispose();
  kept.clear();
  for (const t of leaving.splice(0)) t.dispose();
}
