/** Unfold (im2col) and fold (col2im). */
import { leading } from "../../core/padded-axes.ts";
import { call } from "../../dispatch/dispatch.ts";
import { ShapeError } from "../../core/errors.ts";
import { expandList, showShape, sizeOf, packedStrides } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition } from "../../core/definition.ts";
import { dataTypeName } from "../../core/dtype.ts";
import { reshape } from "../shape/movement.ts";
import { requireFloat } from "../declare/support.ts";
import { extent, type PerAxis } from "./spatial.ts";
import { sample, type Sample, real } from "../declare/sample.ts";
import { overFirstAxis } from "../declare/batched.ts";

/** Attributes of unfold and fold: how windows of a plane become columns. @package */
export interface Columns {
  readonly plane: readonly number[];
  readonly kernel: readonly number[];
  readonly blocks: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly stride: readonly number[];
}

const grown = ({ plane, padding }: Columns): number[] => plane.map((d, i) => d + 2 * padding[i]!);

/** [N, C, H, W] to [N, C * kernel, blocks]: a view of the padded plane with four spatial axes, packed. */
const unfoldOp: Definition<Columns> = define<Columns>({
  name: "unfold",
  batched: overFirstAxis(0),
  padded: leading(2),
  infer: ([x], w) => [{ shape: [x!.shape[0]!, x!.shape[1]! * sizeOf(w.kernel), sizeOf(w.blocks)], dtype: x!.dtype }],
  lower: (g, [x], w, [out]) => {
    const [n, c] = x!.sizes as [number, number];
    const pads = [0, 0, ...w.padding];
    const sizes = [n, c, ...grown(w)];
    const padded = w.padding.every((p) => p === 0)
      ? g.packed(x!)
      : g.padding1(x!, {
          output: { sizes },
          paddingMode: "CONSTANT",
          paddingValueDataType: dataTypeName(x!.dtype),
          paddingValue: { dtype: x!.dtype, value: 0 },
          startPadding: pads,
          endPadding: pads,
        });
    const strides = packedStrides(sizes);
    const [sh, sw] = strides.slice(2) as [number, number];
    const seen = g.reinterpret(padded, {
      sizes: [n, c, ...w.kernel, ...w.blocks],
      strides: [strides[0]!, strides[1]!, sh * w.dilation[0]!, sw * w.dilation[1]!, sh * w.stride[0]!, sw * w.stride[1]!],
    });
    return [g.reinterpret(g.elementWiseIdentity(seen), { sizes: out!.shape })];
  },
  grad: (dy, { attrs }) => [call(foldOp, [dy], attrs)],
  saves: { inputs: [], outputs: false },
});

/** The adjoint: each tap of a window is added to the element of the plane that it was read from. */
const foldOp: Definition<Columns> = define<Columns>({
  name: "fold",
  batched: overFirstAxis(0),
  padded: leading(2),
  infer: ([x], w) => [{ shape: [x!.shape[0]!, x!.shape[1]! / sizeOf(w.kernel), ...w.plane], dtype: x!.dtype }],
  lower: (g, [x], w, [out]) => {
    const [n, c] = out!.shape as [number, number];
    const all = g.reshape(x!, [n, c, ...w.kernel, ...w.blocks]);
    const strides = packedStrides(all.sizes);
    const sizes = [n, c, ...grown(w)];
    const windows = w.blocks.map((b, i) => (b - 1) * w.stride[i]! + 1);
    let sum = null;
    for (let i = 0; i < w.kernel[0]!; i++)
      for (let j = 0; j < w.kernel[1]!; j++) {
        const part = g.packed(
          g.slice1(
            g.reinterpret(all, {
              sizes: [n, c, sizeOf(w.kernel), ...w.blocks],
              strides: [strides[0]!, strides[1]!, strides[3]!, strides[4]!, strides[5]!],
            }),
            {
              output: { sizes: [n, c, 1, ...w.blocks] },
              inputWindowOffsets: [0, 0, i * w.kernel[1]! + j, 0, 0],
              inputWindowSizes: [n, c, 1, ...w.blocks],
              inputWindowStrides: [1, 1, 1, 1, 1],
            },
          ),
        );
        const scattered = g.sliceGrad(g.reinterpret(part, { sizes: [n, c, ...w.blocks] }), {
          outputGradient: { sizes },
          inputWindowOffsets: [0, 0, i * w.dilation[0]!, j * w.dilation[1]!],
          inputWindowSizes: [n, c, ...windows],
          inputWindowStrides: [1, 1, ...w.stride],
        });
        sum = sum === null ? scattered : g.elementWiseAdd(sum, scattered);
      }
    if (w.padding.every((p) => p === 0)) return [sum!];
    return [
      g.slice1(sum!, {
        output: { sizes: out!.shape },
        inputWindowOffsets: [0, 0, ...w.padding],
        inputWindowSizes: out!.shape,
        inputWindowStrides: [1, 1, 1, 1],
      }),
    ];
  },
  grad: (dy, { attrs }) => [call(unfoldOp, [dy], attrs)],
  saves: { inputs: [], outputs: false },
});

/** Options of unfold() and fold(). Reference: torch.nn.functional.unfold. */
export interface FoldOptions {
  /** Dilation along each spatial axis. Default: 1. */
  readonly dilation?: PerAxis | undefined;
  /** Elements added at both ends of each spatial axis. Default: 0. */
  readonly padding?: PerAxis | undefined;
  /** Stride along each spatial axis. Default: 1. */
  readonly stride?: PerAxis | undefined;
}

function columns(operation: string, plane: readonly number[], kernelSize: PerAxis, options: FoldOptions): Columns {
  const kernel = expandList(operation, "kernelSize", kernelSize, 2, 1);
  const dilation = expandList(operation, "dilation", options.dilation ?? 1, 2, 1);
  const padding = expandList(operation, "padding", options.padding ?? 0, 2);
  const stride = expandList(operation, "stride", options.stride ?? 1, 2, 1);
  const blocks = plane.map((d, i) => Math.floor((d + 2 * padding[i]! - extent(kernel[i]!, dilation[i]!)) / stride[i]!) + 1);
  if (blocks.some((b) => b < 1))
    throw new ShapeError(operation, "plane", `at least as large as the window ${showShape(kernel)}`, showShape(plane));
  return { plane, kernel, blocks, dilation, padding, stride };
}

/**
 * Windows of x [N, C, H, W] or [C, H, W] as columns [N, C * kernel, windows].
 * DirectML: PADDING1, ELEMENT_WISE_IDENTITY with strides. Reference: torch.nn.functional.unfold.
 * @functional unfold
 */
export function unfoldWindows(x: Tensor, kernelSize: PerAxis, options: FoldOptions = {}): Tensor {
  if ((x.rank !== 4 && x.rank !== 3) || x.shape.slice(-3).includes(0))
    throw new ShapeError("unfold", "x", "[N, C, H, W] or [C, H, W], not empty but for N", x.describe());
  const w = columns("unfold", x.shape.slice(-2), kernelSize, options);
  const y = call(unfoldOp, [x.rank === 4 ? x : reshape(x, [1, ...x.shape])], w);
  return x.rank === 4 ? y : reshape(y, y.shape.slice(1));
}

/**
 * Columns [N, C * kernel, windows] (or without N) added into planes of outputSize: [N, C, H, W].
 * DirectML: SLICE_GRAD, ELEMENT_WISE_ADD. Reference: torch.nn.functional.fold.
 * @functional
 */
export function fold(x: Tensor, outputSize: PerAxis, kernelSize: PerAxis, options: FoldOptions = {}): Tensor {
  requireFloat("fold", x);
  const plane = expandList("fold", "outputSize", outputSize, 2, 1);
  const w = columns("fold", plane, kernelSize, options);
  const [rows, count] = x.shape.slice(-2) as [number, number];
  if ((x.rank !== 3 && x.rank !== 2) || rows % sizeOf(w.kernel) !== 0 || count !== sizeOf(w.blocks))
    throw new ShapeError("fold", "x", `[N, C * ${sizeOf(w.kernel)}, ${sizeOf(w.blocks)}]`, x.describe());
  const y = call(foldOp, [x.rank === 3 ? x : reshape(x, [1, ...x.shape])], w);
  return x.rank === 3 ? y : reshape(y, y.shape.slice(1));
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("sum", "windows of images, and back", [real([2, 2, 5, 6])], (x) => {
    const columns = unfoldWindows(x!, [2, 3], { stride: 1 });
    return [columns, fold(columns, [5, 6], [2, 3])];
  }),
];
