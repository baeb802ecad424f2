/** Forms of operations that move, choose and reduce elements, and that make tensors. */
import type { DType } from "../../core/dtype.ts";
import type { Name } from "./onnx-graph.ts";
import { ELEMENT_TYPES } from "./element-types.ts";
import { form, type Form, type FormCall, type Forms } from "./form.ts";

interface Reduction {
  readonly axes: readonly number[];
  readonly keepDims: boolean;
}

function reduced(c: FormCall<Reduction>, type: string, x: Name, keepDims = c.attrs.keepDims): Name {
  const axes = c.fixed("axes");
  const keepdims = keepDims ? 1 : 0;
  if (axes.length === 0) return c.node("Identity", [x]);
  const isInput = type === "ReduceSum" || c.graph.opset >= 18;
  return isInput ? c.node(type, [x, c.graph.ints(axes)], { keepdims }) : c.node(type, [x], { axes, keepdims });
}

const reduce = (type: string): Form => form<Reduction>((c) => reduced(c, type, c.cast(c.x, c.dtype)));

function variance(c: FormCall<Reduction & { correction: number }>): Name {
  const x = c.cast(c.x, c.dtype);
  const d = c.node("Sub", [x, reduced(c, "ReduceMean", x, true)]);
  const mean = reduced(c, "ReduceMean", c.node("Mul", [d, d]));
  const count = c.attrs.axes.reduce((n, a) => n * c.x.shape[a]!, 1);
  const { correction } = c.attrs;
  if (correction === 0) return mean;
  if (c.attrs.axes.some((a) => c.x.shape[a] !== c.x.other[a])) c.refuse("a correction over a dynamic axis");
  return c.node("Mul", [mean, c.number(count / (count - correction))]);
}

/** Whether one, or all, are true. */
function tested(c: FormCall<Reduction>, type: string): Name {
  const truth = c.x.dtype === "bool" ? c.x.name : c.node("Not", [c.node("Equal", [c.x.name, c.number(0, c.x.dtype)])]);
  return c.node("Cast", [reduced(c, type, c.node("Cast", [truth], { to: ELEMENT_TYPES.int32 }))], { to: ELEMENT_TYPES[c.dtype] });
}

const arg = (type: string): Form =>
  form<{ axis: number; keepDims: boolean; dtype: DType }>((c) => {
    const found = c.node(type, [c.x.name], { axis: c.attrs.axis, keepdims: c.attrs.keepDims ? 1 : 0 });
    return c.dtype === "int64" ? found : c.node("Cast", [found], { to: ELEMENT_TYPES[c.dtype] });
  });

export const shapes: Forms = {
  sum: reduce("ReduceSum"),
  mean: reduce("ReduceMean"),
  prod: reduce("ReduceProd"),
  amax: reduce("ReduceMax"),
  amin: reduce("ReduceMin"),
  max: reduce("ReduceMax"),
  min: reduce("ReduceMin"),
  logsumexp: reduce("ReduceLogSumExp"),
  norm: form<Reduction & { p?: number }>((c) => {
    const { p } = c.attrs;
    if (p === undefined) return c.attrs.axes.length === 0 ? c.node("Abs", [c.x.name]) : reduced(c, "ReduceL2", c.x.name);
    const total = reduced(c, "ReduceSum", c.node("Pow", [c.node("Abs", [c.x.name]), c.number(p)]));
    return c.node("Pow", [total, c.number(1 / p)]);
  }),
  scatter: form<{ axis: number }>((c) =>
    c.node("ScatterElements", [c.x.name, c.cast(c.inputs[1]!, "int64"), c.cast(c.inputs[2]!, c.dtype)], { axis: c.attrs.axis }),
  ),
  oneHot: form<{ classes: number }>((c) => {
    const { dtype } = c;
    const inner = dtype === "bool" ? "int32" : dtype;
    const found = c.node("OneHot", [
      c.cast(c.x, "int64"),
      c.graph.scalar("int64", c.fixed("classes")),
      c.graph.constant(inner, [2], [0, 1]),
    ]);
    return dtype === inner ? found : c.node("Cast", [found], { to: ELEMENT_TYPES[dtype] });
  }),
  var: form(variance),
  any: form<Reduction>((c) => tested(c, "ReduceMax")),
  all: form<Reduction>((c) => tested(c, "ReduceMin")),
  argmax: arg("ArgMax"),
  argmin: arg("ArgMin"),
  cumsum: form<{ axis: number; reverse: boolean; exclusive: boolean }>((c) =>
    c.node("CumSum", [c.cast(c.x, c.dtype), c.graph.scalar("int64", c.attrs.axis)], {
      reverse: c.attrs.reverse ? 1 : 0,
      exclusive: c.attrs.exclusive ? 1 : 0,
    }),
  ),
  cat: form<{ axis: number }>((c) =>
    c.node(
      "Concat",
      c.inputs.map((x) => c.cast(x, c.dtype)),
      { axis: c.attrs.axis },
    ),
  ),
  pad: form<{ before: readonly number[]; after: readonly number[]; value?: number; mode?: string }>((c) => {
    const { mode, value = 0 } = c.attrs;
    const list = [...c.fixed("before"), ...c.fixed("after")];
    const names: Readonly<Record<string, string>> = {
      REFLECTION: "reflect",
      reflect: "reflect",
      EDGE: "edge",
      replicate: "edge",
      edge: "edge",
    };
    const kind = mode === undefined ? "constant" : (names[mode] ?? c.refuse(`padding by ${mode}`));
    const inputs = [c.x.name, c.graph.ints(list), ...(kind === "constant" ? [c.number(value)] : [])];
    return c.node("Pad", inputs, { mode: kind });
  }),
  chosenValue: form((c) => c.node("Identity", [c.inputs[1]!.name])),
  triangle: form<{ upper: boolean; diagonal: number }>((c) =>
    c.node("Trilu", [c.x.name, c.graph.scalar("int64", c.attrs.diagonal)], { upper: c.attrs.upper ? 1 : 0 }),
  ),
  flip: form<{ axes: readonly number[] }>((c) => {
    const { axes } = c.attrs;
    const all = (n: number): Name => c.graph.ints(axes.map(() => n));
    return c.node("Slice", [c.x.name, all(-1), all(-(2 ** 31)), c.graph.ints(axes), all(-1)]);
  }),
  gather: form<{ axis: number }>((c) => c.node("GatherElements", [c.x.name, c.cast(c.inputs[1]!, "int64")], { axis: c.attrs.axis })),
  indexSelect: form<{ axis: number }>((c) => c.node("Gather", [c.x.name, c.cast(c.inputs[1]!, "int64")], { axis: c.attrs.axis })),
  topk: form<{ axis: number; k: number; largest: boolean }>((c) => {
    const [values, indices] = c.graph.nodeOf("TopK", [c.x.name, c.graph.ints([c.fixed("k")])], 2, {
      axis: c.attrs.axis,
      largest: c.attrs.largest ? 1 : 0,
    }) as [Name, Name];
    const { dtype } = c.outputs[1]!;
    return [values, dtype === "int64" ? indices : c.node("Cast", [indices], { to: ELEMENT_TYPES[dtype] })];
  }),
  full: form<{ value: number | boolean | bigint }>((c) =>
    c.node("Expand", [c.graph.scalar(c.dtype, c.fixed("value")), c.graph.lengths(c.outputs[0]!.shape, c.otherOutputs[0]!.shape)]),
  ),
  arange: form<{ length: number; start: number | bigint; step: number | bigint }>((c) => {
    const [length, start, step] = [c.attrs.length, Number(c.attrs.start), Number(c.attrs.step)];
    if (length === c.otherAttrs.length)
      return c.graph.constant(
        c.dtype,
        [length],
        Array.from({ length }, (_, i) => start + i * step),
      );
    if (Number(c.fixed("start")) !== 0 || Number(c.fixed("step")) !== 1)
      c.refuse("a range of dynamic length that does not count from 0 by 1");
    const count = c.node("Reshape", [c.graph.lengths([length], [c.otherAttrs.length]), c.graph.constant("int64", [0], [])]);
    const range = c.node("Range", [c.graph.scalar("int64", 0), count, c.graph.scalar("int64", 1)]);
    return c.dtype === "int64" ? range : c.node("Cast", [range], { to: ELEMENT_TYPES[c.dtype] });
  }),
};
