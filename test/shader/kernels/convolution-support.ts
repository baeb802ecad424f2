/** Convolutions in float64, and by the shaders in the evaluator. */
import { direct } from "../../../src/shader/kernels/convolution-direct.ts";
import { directPlan, type DirectSplit } from "../../../src/shader/kernels/convolution-direct-plan.ts";
import { directWeight } from "../../../src/shader/kernels/convolution-direct-weights.ts";
import { depthwise } from "../../../src/shader/kernels/convolution-depthwise.ts";
import { NO_EPILOGUE, type EpilogueForm } from "../../../src/shader/kernels/epilogue.ts";
import { convolution } from "../../../src/shader/kernels/convolution-gemm.ts";
import { depthwisePlan, resultShape, tiledPlan, type ConvolutionSizes } from "../../../src/shader/kernels/convolution-plan.ts";
import { convolutionSum } from "../../../src/shader/kernels/convolution-sum.ts";
import { NCHW, type ConvolutionKind, type ConvolutionTile, type Layout, type Pair } from "../../../src/shader/kernels/convolution-tiles.ts";
import { launch, numbers } from "./support.ts";

export const KINDS: readonly ConvolutionKind[] = ["forward", "inputGradient", "weightGradient"];

export type Shape = Omit<ConvolutionSizes, "kind" | "output">;
export const plain = { element: "f32", layouts: NCHW, stride: [1, 1], dilation: [1, 1], padding: [0, 0], groups: 1 } as const;

export const outputOf = (c: Shape): [number, number] =>
  [0, 1].map((i) => Math.floor((c.input[i]! + 2 * c.padding[i]! - (c.kernel[i]! - 1) * c.dilation[i]! - 1) / c.stride[i]!) + 1) as [number, number]; // prettier-ignore

/** In float64: the result, and the operands it is made of. */
export function reference(c: ConvolutionSizes, seed: number): { readonly a: number[]; readonly b: number[]; readonly y: number[] } {
  const [ci, co] = [c.groups * c.channels, c.groups * c.filters];
  const [[h, w], [oh, ow], [kh, kw]] = [c.input, c.output, c.kernel];
  const [x, f, dy] = [c.images * ci * h * w, co * c.channels * kh * kw, c.images * co * oh * ow].map((n, i) => numbers(n, seed + i, 1, c.element)) as [number[], number[], number[]]; // prettier-ignore
  const sizes = { forward: dy.length, inputGradient: x.length, weightGradient: f.length };
  const y = new Array<number>(sizes[c.kind]).fill(0);
  for (let n = 0; n < c.images; n++)
    for (let o = 0; o < co; o++)
      for (let q = 0; q < c.channels; q++)
        for (let i = 0; i < oh; i++)
          for (let j = 0; j < ow; j++)
            for (let u = 0; u < kh; u++)
              for (let v = 0; v < kw; v++) {
                const row = i * c.stride[0] + u * c.dilation[0] - c.padding[0];
                const column = j * c.stride[1] + v * c.dilation[1] - c.padding[1];
                if (row < 0 || row >= h || column < 0 || column >= w) continue;
                const channel = Math.floor(o / c.filters) * c.channels + q;
                const atX = ((n * ci + channel) * h + row) * w + column;
                const atW = ((o * c.channels + q) * kh + u) * kw + v;
                const atY = ((n * co + o) * oh + i) * ow + j;
                if (c.kind === "forward") y[atY]! += x[atX]! * f[atW]!;
                else if (c.kind === "inputGradient") y[atX]! += dy[atY]! * f[atW]!;
                else y[atW]! += dy[atY]! * x[atX]!;
              }
  if (c.kind === "forward") return { a: x, b: f, y };
  return c.kind === "inputGradient" ? { a: dy, b: f, y } : { a: x, b: dy, y };
}

/** Of [images, channels, ...plane] in the layout's order in memory. */
function laidOut(values: readonly number[], layout: Layout, images: number, [height, width]: Pair): readonly number[] {
  if (layout === "NCHW") return values;
  const plane = height * width;
  const channels = values.length / images / plane;
  return values.map((_, i) => {
    const [pixel, channel] = [Math.floor(i / channels), i % channels];
    return values[(Math.floor(pixel / plane) * channels + channel) * plane + (pixel % plane)]!;
  });
}

/** By the tile, in so many splits, or by the direct shader; null: the depthwise shader. a and b are in NCHW. */
export function run(
  c: ConvolutionSizes,
  a: readonly number[],
  b: readonly number[],
  chosen: { tile: ConvolutionTile; wished: number } | DirectSplit | null,
  epilogue: EpilogueForm = NO_EPILOGUE,
  bias: readonly number[] = [],
  more: Readonly<Record<string, readonly number[]>> = {},
): number[] {
  const shape = resultShape(c);
  const nameB = c.kind === "weightGradient" ? "dy" : "w";
  const epilogueInputs = { ...(epilogue.hasBias ? { bias } : {}), ...more };
  const ofBias = Object.fromEntries(Object.entries(epilogueInputs).map(([key, values]) => [key, { shape: [values.length], values }]));
  const [ofX, ofB] = [
    laidOut(a, c.layouts.x, c.images, c.kind === "inputGradient" ? c.output : c.input),
    c.kind === "weightGradient" ? laidOut(b, c.layouts.dy, c.images, c.output) : b,
  ];
  const operands = { x: { shape: [a.length], values: ofX }, [nameB]: { shape: [b.length], values: ofB } };
  const add = (parts: readonly number[], width: 1 | 4, splits: number, inner: number, channels: number): number[] => {
    const size = parts.length / splits;
    const kernel = convolutionSum({ width, element: c.element, ...epilogue });
    return launch(kernel, { parts: { shape: [parts.length], values: parts }, ...ofBias, y: { shape } }, { splits, size, inner, channels })
      .y!;
  };
  if (chosen === null) {
    const { form, params, parts } = depthwisePlan(c, NO_EPILOGUE);
    if (parts === 1) return launch(depthwise({ ...form, ...epilogue }), { ...operands, ...ofBias, y: { shape } }, params).y!;
    return add(launch(depthwise(form), { ...operands, y: { shape: [parts, ...shape] } }, params).y!, 1, parts, 1, 1);
  }
  if ("split" in chosen) {
    const plan = directPlan(c, chosen);
    if (plan.kind === "planes")
      return launch(direct({ ...plan.form, ...epilogue }), { ...operands, ...ofBias, y: { shape } }, plan.params).y!;
    const parts = chosen.split;
    const made = launch(directWeight(plan.form), { ...operands, y: { shape: [parts, ...shape] } }, plan.params).y!;
    return parts === 1 ? made : add(made, 1, parts, 1, 1);
  }
  const { form, tile, params, splits, sum } = tiledPlan(c, epilogue, chosen);
  if (sum === null) return launch(convolution(form, tile), { ...operands, ...ofBias, y: { shape } }, params).y!;
  const parts = launch(convolution(form, tile), { ...operands, y: { shape: [splits, ...shape] } }, params).y!;
  return add(parts, sum.form.width, splits, sum.inner, sum.channels);
}
