/** Forms of operations that scatter, add and find elements by index. */
import type { TensorSpec } from "../../core/definition.ts";
import type { Shape } from "../../core/shape.ts";
import type { Columns } from "../../ops/conv/fold.ts";
import { ELEMENT_TYPES } from "./element-types.ts";
import { form, type FormCall, type Forms } from "./form.ts";
import type { Name } from "./onnx-graph.ts";

/** A tensor of one value, of the shape of the first result. */
const filled = (c: FormCall, value: number): Name =>
  c.node("Expand", [c.number(value), c.graph.lengths(c.outputs[0]!.shape, c.otherOutputs[0]!.shape)]);

/** An index of one axis as one of every element of x's shape. */
function spread(c: FormCall, axis: number): Name {
  const index = c.cast(c.inputs[1]!, "int64");
  const rank = c.x.shape.length;
  if (rank <= 1) return index;
  const along = c.node("Reshape", [index, c.graph.ints(c.x.shape.map((_, i) => (i === axis ? -1 : 1)))]);
  return c.node("Expand", [along, c.node("Shape", [c.x.name])]);
}

/** Where the elements of each window lie in the padded plane: [kernel, blocks]. */
function taps({ plane, kernel, blocks, dilation, padding, stride }: Columns): number[] {
  const width = plane[1]! + 2 * padding[1]!;
  const at = (k: number, b: number, axis: number): number => b * stride[axis]! + k * dilation[axis]!;
  const list: number[] = [];
  for (let i = 0; i < kernel[0]!; i++)
    for (let j = 0; j < kernel[1]!; j++)
      for (let y = 0; y < blocks[0]!; y++) for (let x = 0; x < blocks[1]!; x++) list.push(at(i, y, 0) * width + at(j, x, 1));
  return list;
}

const REDUCTIONS = { prod: "mul", amax: "max", amin: "min" } as const;

export const indices: Forms = {
  sumByIndex: form<{ axis: number; shape: Shape; isShared: boolean }>((c) => {
    const { axis, isShared } = c.attrs;
    const index = isShared ? spread(c, axis) : c.cast(c.inputs[1]!, "int64");
    return c.node("ScatterElements", [filled(c, 0), index, c.x.name], { axis, reduction: "add" });
  }),
  scatterUnique: form<{ axis: number }>((c) =>
    c.node("ScatterElements", [filled(c, 0), c.cast(c.inputs[1]!, "int64"), c.x.name], { axis: c.attrs.axis }),
  ),
  scatterReduce: form<{ axis: number; fold: keyof typeof REDUCTIONS; includeSelf: boolean }>((c) => {
    const { axis, fold, includeSelf } = c.attrs;
    if (c.graph.opset < 18 && fold !== "prod") c.refuse("maxima and minima need opset 18");
    if (!includeSelf) c.refuse("includeSelf: false");
    const [x, index, source] = c.inputs;
    return c.node("ScatterElements", [x!.name, c.cast(index!, "int64"), c.cast(source!, c.dtype)], { axis, reduction: REDUCTIONS[fold] });
  }),
  nonzero: form((c) => {
    const [count, rows] = c.outputs as [TensorSpec, TensorSpec];
    const found = c.node("NonZero", [c.x.name]);
    const total = c.node("Unsqueeze", [c.node("Size", [c.x.name]), c.graph.ints([0])]);
    // As many rows as elements: zeros stand behind those that were found.
    const shape = c.node("Concat", [total, c.graph.ints([rows.shape[1]!])], { axis: 0 });
    const behind = c.node("Expand", [c.number(0, "int64"), shape]);
    const all = c.node("Concat", [c.node("Transpose", [found], { perm: [1, 0] }), behind], { axis: 0 });
    const cut = c.node("Slice", [all, c.graph.ints([0]), total, c.graph.ints([0])]);
    return [
      c.node("Cast", [c.node("Shape", [found], { start: 1, end: 2 })], { to: ELEMENT_TYPES[count.dtype] }),
      c.node("Cast", [cut], { to: ELEMENT_TYPES[rows.dtype] }),
    ];
  }),
  maxUnpool: form((c) => c.node("ScatterElements", [filled(c, 0), c.cast(c.inputs[1]!, "int64"), c.x.name], { axis: 1 })),
  searchsorted: form<{ right: boolean }>((c) => {
    const [sorted, values] = c.inputs;
    const row = c.node("Unsqueeze", [c.cast(sorted!, c.common), c.graph.ints([sorted!.shape.length - 1])]);
    const wanted = c.node("Unsqueeze", [c.cast(values!, c.common), c.graph.ints([values!.shape.length])]);
    const before = c.node(c.attrs.right ? "LessOrEqual" : "Less", [row, wanted]);
    const count = c.node("ReduceSum", [c.node("Cast", [before], { to: ELEMENT_TYPES[c.dtype] }), c.graph.ints([-1])], { keepdims: 0 });
    return count;
  }),
  diagonalEmbed: form<{ shape: Shape; offset: number }>((c) => {
    const { offset } = c.attrs;
    const [rows, columns] = c.fixed("shape").slice(-2) as [number, number];
    const length = c.x.shape.at(-1)!;
    const cells = Array.from({ length: rows * columns }, (_, i) => [Math.floor(i / columns), i % columns] as const);
    const from = cells.map(([i, j]) => Math.min(offset >= 0 ? i : j, length - 1));
    const seen = c.node("Gather", [c.x.name, c.graph.constant("int64", [rows, columns], from)], { axis: -1 });
    const on = c.graph.constant(
      "bool",
      [rows, columns],
      cells.map(([i, j]) => j === i + offset),
    );
    return c.node("Where", [on, seen, c.number(0)]);
  }),
  eye: form((c) => {
    const inner = c.dtype === "bool" ? "int32" : c.dtype;
    const zeros = c.node("Expand", [c.number(0, inner), c.graph.lengths(c.outputs[0]!.shape, c.otherOutputs[0]!.shape)]);
    const made = c.node("EyeLike", [zeros], { dtype: ELEMENT_TYPES[inner] });
    return inner === c.dtype ? made : c.node("Cast", [made], { to: ELEMENT_TYPES[c.dtype] });
  }),
  unfold: form<Columns>((c) => {
    const windows = { ...c.attrs, plane: c.fixed("plane") };
    const [h, w] = windows.padding as [number, number];
    const padded = h + w === 0 ? c.x.name : c.node("Pad", [c.x.name, c.graph.ints([0, 0, h, w, 0, 0, h, w]), c.number(0)]);
    const flat = c.node("Reshape", [padded, c.graph.ints([0, 0, -1])]);
    const list = taps(windows);
    const seen = c.node("Gather", [flat, c.graph.constant("int64", [list.length], list)], { axis: 2 });
    return c.node("Reshape", [seen, c.graph.ints([0, c.outputs[0]!.shape[1]!, c.outputs[0]!.shape[2]!])]);
  }),
  fold: form<Columns>((c) => {
    if (c.graph.opset < 18) c.refuse("it needs opset 18");
    const [h, w] = c.attrs.padding as [number, number];
    const { stride, dilation, kernel } = c.attrs;
    return c.node("Col2Im", [c.x.name, c.graph.ints(c.fixed("plane")), c.graph.ints(kernel)], {
      pads: [h, w, h, w],
      strides: stride,
      dilations: dilation,
    });
  }),
  maxPoolIndices: form<Columns & { start: readonly number[]; end: readonly number[] }>((c) => {
    const [values, flat] = c.graph.nodeOf("MaxPool", [c.x.name], 2, {
      kernel_shape: c.fixed("kernel"),
      strides: c.fixed("stride"),
      dilations: c.attrs.dilation,
      pads: [...c.fixed("start"), ...c.fixed("end")],
    }) as [Name, Name];
    // ONNX counts from the tensor's first element; PyTorch, from the plane's.
    const [plane, other] = [c.x.shape, c.x.other].map((s) => s.slice(2).reduce((a, b) => a * b, 1)) as [number, number];
    if (plane !== other) c.refuse("a plane of a dynamic length");
    return [values, c.node("Cast", [c.node("Mod", [flat, c.graph.scalar("int64", plane)])], { to: ELEMENT_TYPES.int32 })];
  }),
  roiAlign: form<{ size: readonly number[]; scale: number; samples: number; offset: number }>((c) => {
    const { size, scale, samples, offset } = c.attrs;
    const [x, boxes, images] = c.inputs;
    return c.node("RoiAlign", [x!.name, c.cast(boxes!, c.dtype), c.cast(images!, "int64")], {
      output_height: size[0]!,
      output_width: size[1]!,
      sampling_ratio: samples,
      spatial_scale: { float: scale },
      coordinate_transformation_mode: offset === 0 ? "output_half_pixel" : "half_pixel",
    });
  }),
};
