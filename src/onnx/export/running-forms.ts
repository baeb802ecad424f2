/** Forms of running products, extremes and sums: log2(n) steps, in each of which an element takes in one that is further and further before it. */
import { isFloat, DTYPES, type DType } from "../../core/dtype.ts";
import { form, type FormCall, type Forms } from "./form.ts";
import { ELEMENT_TYPES } from "./element-types.ts";
import type { Name } from "./onnx-graph.ts";

interface Axis {
  readonly axis: number;
}

/** Length of the axis, which must not be dynamic. */
function lengthOf(c: FormCall<Axis>): number {
  const { axis } = c.attrs;
  if (c.x.shape[axis] !== c.x.other[axis]) c.refuse("a dynamic axis");
  return c.x.shape[axis]!;
}

/** x moved by `by` elements along the axis, to its end or to its start; the filler where nothing is. */
function moved(c: FormCall<Axis>, x: Name, by: number, filler: Name, toStart: boolean): Name {
  const rank = c.x.shape.length;
  const pads = new Array<number>(2 * rank).fill(0);
  pads[c.attrs.axis] = toStart ? -by : by;
  pads[rank + c.attrs.axis] = toStart ? by : -by;
  return c.node("Pad", [x, c.graph.ints(pads), filler]);
}

/** For each element what all up to it (or from it on) combine to. */
function scanned(c: FormCall<Axis>, x: Name, filler: Name, toStart: boolean, combine: (own: Name, before: Name) => Name): Name {
  let y = x;
  for (let by = 1; by < lengthOf(c); by *= 2) y = combine(y, moved(c, y, by, filler, toStart));
  return y;
}

/** The least number of a dtype, or the largest. */
function extreme(dtype: DType, isLargest: boolean): number | bigint {
  if (isFloat(dtype)) return isLargest ? Infinity : -Infinity;
  const { sizeInBytes, isSigned } = DTYPES[dtype];
  const end = 1n << BigInt(8 * sizeInBytes - (isSigned ? 1 : 0));
  return isLargest ? end - 1n : isSigned ? -end : 0n;
}

/** log(exp a + exp b). Equal numbers, which may be infinities, have no difference. */
function logAdd(c: FormCall, a: Name, b: Name): Name {
  const size = c.node("Abs", [c.node("Sub", [a, b])]);
  const difference = c.node("Where", [c.node("Equal", [a, b]), c.number(0), size]);
  return c.node("Add", [
    c.node("Max", [a, b]),
    c.node("Log", [c.node("Add", [c.node("Exp", [c.node("Neg", [difference])]), c.number(1)])]),
  ]);
}

/** Values and the indices that they come from, of equal ones the last; NaN comes before all. */
function extremes(c: FormCall<Axis & { readonly descending: boolean }>): Name[] {
  const { axis, descending } = c.attrs;
  const length = lengthOf(c);
  const dtype = c.x.dtype;
  const shape = c.x.shape.map((_, i) => (i === axis ? length : 1));
  const numbers = c.graph.constant(
    "int64",
    shape,
    Array.from({ length }, (_, i) => i),
  );
  let value = c.x.name;
  let index = c.node("Expand", [numbers, c.node("Shape", [c.x.name])]);
  const filler = c.graph.scalar(dtype, extreme(dtype, descending));
  for (let by = 1; by < length; by *= 2) {
    const before = moved(c, value, by, filler, false);
    const beforeIndex = moved(c, index, by, c.graph.scalar("int64", 0), false);
    let isBetter = c.node(descending ? "Less" : "Greater", [before, value]);
    if (isFloat(dtype))
      isBetter = c.node("And", [c.node("Or", [isBetter, c.node("IsNaN", [before])]), c.node("Not", [c.node("IsNaN", [value])])]);
    value = c.node("Where", [isBetter, before, value]);
    index = c.node("Where", [isBetter, beforeIndex, index]);
  }
  return [value, c.node("Cast", [index], { to: ELEMENT_TYPES[c.outputs[1]!.dtype] })];
}

export const running: Forms = {
  cumprod: form<Axis & { readonly reverse: boolean; readonly exclusive: boolean }>((c) => {
    const { reverse, exclusive } = c.attrs;
    const one = c.number(1);
    const x = exclusive ? moved(c, c.x.name, 1, one, reverse) : c.x.name;
    return scanned(c, x, one, reverse, (own, before) => c.node("Mul", [own, before]));
  }),
  cummax: form(extremes),
  logcumsumexp: form<Axis & { readonly reverse: boolean }>((c) =>
    scanned(c, c.x.name, c.number(-Infinity), c.attrs.reverse, (own, before) => logAdd(c, own, before)),
  ),
};
