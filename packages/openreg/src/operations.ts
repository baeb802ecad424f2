/** Kernels of whole operations of the library's, by its names. Sums are float64, rounded once. */
import type { backend } from "dxtensor";
import type { Compute } from "./elementwise.ts";
import { isFloat, offsetsOf, softmaxAlong } from "./linear.ts";
import { rows, type Tensor } from "./strides.ts";

type Call = backend.BackendOperation;

const axisOf = (call: Call): readonly number[] => [call.attributes["axis"] as number];

/** The part of a tensor along its first axes, and the offsets of the elements of the others. */
function parts({ sizes, strides }: Tensor, first: number): { sizes: readonly number[]; strides: readonly number[]; inner: number[] } {
  return {
    sizes: [...sizes.slice(0, first), 1],
    strides: [...strides.slice(0, first), 0],
    inner: offsetsOf(sizes.slice(first).map((size, i) => ({ size, stride: strides[first + i]! }))),
  };
}

/** x [..., the last `axes` axes], weight and bias of these axes or neither. */
function layerNorm(call: Call): Compute | null {
  const [x, weight, bias] = call.inputs as [Tensor, Tensor?, Tensor?];
  const out = call.outputs[0]!;
  if (!isFloat(...call.inputs, out)) return null;
  const first = x.sizes.length - (call.attributes["axes"] as number);
  const epsilon = call.attributes["epsilon"] as number;
  const [from, to] = [parts(x, first), parts(out, first)];
  const [scale, shift] = [weight, bias].map((t) => (t === undefined ? null : parts(t, 0).inner));
  const { length, steps, visit } = rows(from.sizes, [from.strides, to.strides]);
  const count = from.inner.length;
  return (inputs, [result]) => {
    const [a, w, b] = inputs as Float32Array[];
    const y = result as Float32Array;
    visit((offsets) => {
      for (let n = 0, i = offsets[0]!, o = offsets[1]!; n < length; n++, i += steps[0]!, o += steps[1]!) {
        let [sum, squares] = [0, 0];
        for (const k of from.inner) sum += a![i + k]!;
        const mean = sum / count;
        for (const k of from.inner) squares += (a![i + k]! - mean) ** 2;
        const r = 1 / Math.sqrt(squares / count + epsilon);
        from.inner.forEach((k, at) => {
          const normal = (a![i + k]! - mean) * r;
          y[o + to.inner[at]!] = normal * (scale ? w![scale[at]!]! : 1) + (shift ? b![shift[at]!]! : 0);
        });
      }
    });
  };
}

/** x [..., I], weight [O, I], bias [O] or none. */
function linear(call: Call): Compute | null {
  const [x, weight, bias] = call.inputs as [Tensor, Tensor, Tensor?];
  const out = call.outputs[0]!;
  if (!isFloat(...call.inputs, out)) return null;
  const [from, to] = [parts(x, x.sizes.length - 1), parts(out, out.sizes.length - 1)];
  const [row, column] = weight.strides as [number, number];
  const { length, steps, visit } = rows(from.sizes, [from.strides, to.strides]);
  return (inputs, [result]) => {
    const [a, w, b] = inputs as Float32Array[];
    const y = result as Float32Array;
    visit((offsets) => {
      for (let n = 0, i = offsets[0]!, o = offsets[1]!; n < length; n++, i += steps[0]!, o += steps[1]!)
        to.inner.forEach((at, j) => {
          let sum = 0;
          from.inner.forEach((k, p) => (sum += a![i + k]! * w![j * row + p * column]!));
          y[o + at] = sum + (bias === undefined ? 0 : b![j * bias.strides[0]!]!);
        });
    });
  };
}

const kernels: { readonly [operation: string]: (call: Call) => Compute | null } = {
  softmax: (call) => softmaxAlong(call.inputs[0]!, call.outputs[0]!, axisOf(call), false),
  logSoftmax: (call) => softmaxAlong(call.inputs[0]!, call.outputs[0]!, axisOf(call), true),
  layerNorm,
  linear,
};

export const operations: readonly string[] = Object.keys(kernels);

/** Null where a dtype is none of the device's. */
export const operationOf = (call: Call): Compute | null => kernels[call.operation]!(call);
