/** Kernels that move elements as they are: fill, join, split, slice, gather, scatter, one-hot. */
import type { backend } from "dxtensor";
import type { Compute } from "./elementwise.ts";
import type { Elements } from "./memory.ts";
import { rows, type Tensor } from "./strides.ts";

type Call = backend.BackendCall;
type Any = (number | bigint)[];
const any = (elements: Elements | undefined): Any => elements as unknown as Any;

/** Copies a tensor's elements over another's: from and to start at an offset. */
function copier(
  sizes: readonly number[],
  from: readonly number[],
  to: readonly number[],
  start = 0,
  end = 0,
): (x: Elements, y: Elements) => void {
  const { length, steps, visit } = rows(sizes, [from, to]);
  return (x, y) => {
    const [source, target] = [any(x), any(y)];
    visit((offsets) => {
      for (let n = 0, i = start + offsets[0]!, o = end + offsets[1]!; n < length; n++, i += steps[0]!, o += steps[1]!)
        target[o] = source[i]!;
    });
  };
}

export function fill(call: Call): Compute | null {
  const out = call.outputs[0]!;
  const isLong = out.dtype.endsWith("int64");
  const value = call.attributes["value"] as number | bigint;
  const { length, steps, visit } = rows(out.sizes, [out.strides]);
  return (_, [y]) => {
    const to = any(y);
    visit((offsets) => {
      for (let n = 0, o = offsets[0]!; n < length; n++, o += steps[0]!) to[o] = isLong ? BigInt(value) : Number(value);
    });
  };
}

export function sequence(call: Call): Compute | null {
  const out = call.outputs[0]!;
  const [start, delta] = [call.attributes["valueStart"], call.attributes["valueDelta"]] as [number | bigint, number | bigint];
  const { length, steps, visit } = rows(out.sizes, [out.strides]);
  return (_, [y]) => {
    const to = any(y);
    let at = 0;
    visit((offsets) => {
      for (let n = 0, o = offsets[0]!; n < length; n++, o += steps[0]!, at++)
        to[o] = typeof start === "bigint" ? start + BigInt(at) * (delta as bigint) : start + at * (delta as number);
    });
  };
}

export function join(call: Call): Compute | null {
  const out = call.outputs[0]!;
  const axis = call.attributes["axis"] as number;
  let at = 0;
  const copies = call.inputs.map((t) => {
    const copy = copier(t!.sizes, t!.strides, out.strides, 0, at * out.strides[axis]!);
    at += t!.sizes[axis]!;
    return copy;
  });
  return (inputs, [y]) => copies.forEach((copy, i) => copy(inputs[i]!, y!));
}

export function splitParts(call: Call): Compute | null {
  const x = call.inputs[0]!;
  const axis = call.attributes["axis"] as number;
  let at = 0;
  const copies = call.outputs.map((t) => {
    const copy = copier(t!.sizes, x.strides, t!.strides, at * x.strides[axis]!);
    at += t!.sizes[axis]!;
    return copy;
  });
  return ([a], outputs) => copies.forEach((copy, i) => copy(a!, outputs[i]!));
}

export function slice(call: Call): Compute | null {
  const [x, out] = [call.inputs[0]!, call.outputs[0]!];
  const offsets = call.attributes["inputWindowOffsets"] as readonly number[];
  const sizes = call.attributes["inputWindowSizes"] as readonly number[];
  const strides = call.attributes["inputWindowStrides"] as readonly number[];
  const start = x.strides.reduce((n, s, i) => n + s * (offsets[i]! + (strides[i]! < 0 ? sizes[i]! - 1 : 0)), 0);
  const copy = copier(out.sizes, x.strides.map((s, i) => s * strides[i]!), out.strides, start); // prettier-ignore
  return ([a], [y]) => copy(a!, y!);
}

/** Constant padding; other modes fall back. */
export function pad(call: Call): Compute | null {
  const [x, out] = [call.inputs[0]!, call.outputs[0]!];
  const { paddingMode, startPadding, paddingValue } = call.attributes;
  if (paddingMode !== "CONSTANT") return null;
  const filled = fill({ ...call, attributes: { value: paddingValue } })!;
  const start = (startPadding as readonly number[]).reduce((n, p, i) => n + p * out.strides[i]!, 0);
  const copy = copier(x.sizes, x.strides, out.strides, 0, start);
  return ([a], outputs) => {
    filled([], outputs);
    copy(a!, outputs[0]!);
  };
}

export function tile(call: Call): Compute | null {
  const [x, out] = [call.inputs[0]!, call.outputs[0]!];
  const repeats = call.attributes["repeats"] as readonly number[];
  // Each axis as two: which copy, and where in it.
  const copy = copier(
    x.sizes.flatMap((d, i) => [repeats[i]!, d]),
    x.strides.flatMap((s) => [0, s]),
    out.strides.flatMap((s, i) => [s * x.sizes[i]!, s]),
  );
  return ([a], [y]) => copy(a!, y!);
}

/** Calls back with the offset of each element in each tensor, and its index along one axis. */
function eachElement(sizes: readonly number[], strides: readonly (readonly number[])[], visit: (offsets: readonly number[]) => void): void {
  const loop = rows(sizes, strides);
  const at = strides.map(() => 0);
  loop.visit((offsets) => {
    for (let n = 0; n < loop.length; n++) {
      for (let k = 0; k < at.length; k++) at[k] = offsets[k]! + n * loop.steps[k]!;
      visit(at);
    }
  });
}

const without = (t: Tensor, axis: number): number[] => t.strides.map((s, i) => (i === axis ? 0 : s));

/** An index into an axis, counted from its end where it is negative. */
const indexIn = (value: number | bigint, size: number): number => (value < 0 ? Number(value) + size : Number(value));

/** GATHER: slices of the input along an axis, by the last `indexDimensions` axes of the indices. */
export function gather(call: Call): Compute | null {
  const [x, indices] = call.inputs as [Tensor, Tensor];
  const out = call.outputs[0]!;
  const axis = call.attributes["axis"] as number;
  const count = call.attributes["indexDimensions"] as number;
  const before = axis - count + 1;
  const inside = (i: number): boolean => i >= before && i < before + count;
  const source = out.sizes.map((_, i) => (inside(i) ? 0 : i < before ? (x.strides[i + count - 1] ?? 0) : x.strides[i]!));
  const which = out.sizes.map((_, i) => (inside(i) ? indices.strides[indices.sizes.length - count + i - before]! : 0));
  return ([a, b], [y]) => {
    const [from, at, to] = [any(a), any(b), any(y)];
    eachElement(out.sizes, [source, which, out.strides], ([i, j, o]) => {
      to[o!] = from[i! + indexIn(at[j!]!, x.sizes[axis]!) * x.strides[axis]!]!;
    });
  };
}

export function gatherElements(call: Call): Compute | null {
  const [x, indices] = call.inputs as [Tensor, Tensor];
  const out = call.outputs[0]!;
  const axis = call.attributes["axis"] as number;
  return ([a, b], [y]) => {
    const [from, at, to] = [any(a), any(b), any(y)];
    eachElement(out.sizes, [without(x, axis), indices.strides, out.strides], ([i, j, o]) => {
      to[o!] = from[i! + indexIn(at[j!]!, x.sizes[axis]!) * x.strides[axis]!]!;
    });
  };
}

export function scatter(call: Call): Compute | null {
  const [x, indices, updates] = call.inputs as [Tensor, Tensor, Tensor];
  const out = call.outputs[0]!;
  const axis = call.attributes["axis"] as number;
  const copy = copier(x.sizes, x.strides, out.strides);
  return ([a, b, c], [y]) => {
    copy(a!, y!);
    const [at, from, to] = [any(b), any(c), any(y)];
    eachElement(indices.sizes, [indices.strides, updates.strides, without(out, axis)], ([j, u, o]) => {
      to[o! + indexIn(at[j!]!, out.sizes[axis]!) * out.strides[axis]!] = from[u!]!;
    });
  };
}

/** ONE_HOT: values[1] at each index along an axis, values[0] elsewhere. */
export function oneHot(call: Call): Compute | null {
  const [indices, values] = call.inputs as [Tensor, Tensor];
  const out = call.outputs[0]!;
  const axis = call.attributes["axis"] as number;
  const size = out.sizes[axis]!;
  const step = values.strides.at(-1)!;
  return ([a, v], [y]) => {
    const [at, value, to] = [any(a), any(v), any(y)];
    eachElement(indices.sizes, [indices.strides, without(out, axis)], ([j, o]) => {
      const hot = indexIn(at[j!]!, size);
      for (let i = 0; i < size; i++) to[o! + i * out.strides[axis]!] = value[i === hot ? step : 0]!;
    });
  };
}
