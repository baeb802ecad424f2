/** The shaders of convolution as nodes of a graph, where they are chosen (choice.ts); null: DirectML's operator stands. */
import { sizeOf } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import { choosesShader, type ShaderName } from "../choice.ts";
import { depthwise } from "./convolution-depthwise.ts";
import { direct } from "./convolution-direct.ts";
import { directPlan, isForDirect, tunedSplit, usualSplit, type DirectSplit } from "./convolution-direct-plan.ts";
import { directWeight } from "./convolution-direct-weights.ts";
import { NO_EPILOGUE, type EpilogueForm } from "./epilogue.ts";
import { launched, type Casts, type Result } from "./epilogue-launch.ts";
import { depthwisePlan, isDepthwise, isLikeMeasured, multiplyAdds, resultShape, tiledPlan, tunedTile, type ConvolutionSizes } from "./convolution-plan.ts"; // prettier-ignore
import { convolutionSum } from "./convolution-sum.ts";
import type { ConvolutionElement, ConvolutionKind, Layout, Layouts, Pair } from "./convolution-tiles.ts";
import { convolution } from "./convolution-gemm.ts";
import type { Kernel } from "./kernel.ts";
import { winogradShader } from "./select-winograd.ts";
import { isForWinograd, isLikeMeasuredWinograd, tunedWinogradSplit, usualWinogradSplit, type WinogradSplit } from "./winograd-plan.ts";

/** What a buffer of a shader may hold, as GraphBuilder.shader has it. */
const MAX_BYTES = 2 ** 29;

/** Lists have one number for each spatial axis. */
interface Geometry {
  readonly input: readonly number[];
  readonly kernel: readonly number[];
  readonly output: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly groups: number;
}

const NAMES = {
  forward: { tiled: "convolution", depthwise: "depthwiseConvolution", direct: "directConvolution", winograd: "winogradConvolution" },
  inputGradient: {
    tiled: "convolutionInputGradient",
    depthwise: "depthwiseInputGradient",
    direct: "directInputGradient",
    winograd: "winogradInputGradient",
  },
  weightGradient: {
    tiled: "convolutionWeightGradient",
    depthwise: "depthwiseWeightGradient",
    direct: "directWeightGradient",
    winograd: "winogradWeightGradient",
  },
} as const satisfies Readonly<Record<ConvolutionKind, Readonly<Record<"tiled" | "depthwise" | "direct" | "winograd", ShaderName>>>>;

/** One axis as two, of which the first has length 1; null: three. */
function pair(list: readonly number[], neutral: number): Pair | null {
  if (list.length === 1) return [neutral, list[0]!];
  return list.length === 2 ? [list[0]!, list[1]!] : null;
}

function sizesOf(
  kind: ConvolutionKind,
  element: ConvolutionElement,
  layouts: Layouts,
  [images, channels, filters]: readonly [number, number, number],
  o: Geometry,
): ConvolutionSizes | null {
  const [input, kernel, output, stride, dilation] = [o.input, o.kernel, o.output, o.stride, o.dilation].map((x) => pair(x, 1));
  const padding = pair(o.padding, 0);
  if (!input || !kernel || !output || !stride || !dilation || padding === null) return null;
  return { kind, element, layouts, images, groups: o.groups, channels, filters, input, kernel, output, stride, dilation, padding };
}

/** A tensor in NHWC as [N, H, W, C]; null: its layout is not NHWC, or is NCHW as well. */
function channelsLast(g: GraphBuilder, x: Expr): Expr | null {
  const [n, c, ...spatial] = x.sizes as [number, number, ...number[]];
  const last = g.transpose(x, [0, ...spatial.map((_, i) => i + 2), 1]);
  return packs(x) || !packs(last) ? null : g.reinterpret(x, { sizes: [n, ...spatial, c] });
}

/**
 * Forward: of x [N, Ci, ...] and w [Co, Ci / groups, ...]; the data gradient: of dy [N, Co, ...] and w; the weight gradient: of x and dy. bias: one number for each
 * channel of the result. In float32 or float16, with one spatial axis or two; x and dy are read in NCHW or in NHWC, as their strides are.
 */
export function convolutionShader(g: GraphBuilder, kind: ConvolutionKind, a: Expr, b: Expr, bias: Expr | null, o: Geometry): Expr | null {
  const tensors = bias === null ? [a, b] : [a, b, bias];
  const { dtype } = a;
  if ((dtype !== "float32" && dtype !== "float16") || tensors.some((x) => x.dtype !== dtype) || o.groups < 1) return null;
  const inputChannels = kind === "inputGradient" ? b.sizes[1]! * o.groups : a.sizes[1]!;
  const filters = kind === "forward" ? b.sizes[0]! : kind === "inputGradient" ? a.sizes[1]! : b.sizes[1]!;
  const isWeight = kind === "weightGradient";
  const [lastA, lastB] = [channelsLast(g, a), isWeight ? channelsLast(g, b) : null];
  const layoutOf = (last: Expr | null): Layout => (last === null ? "NCHW" : "NHWC");
  const layouts = { x: layoutOf(lastA), dy: layoutOf(lastB) };
  const element = dtype === "float32" ? "f32" : "f16";
  const c = sizesOf(kind, element, layouts, [a.sizes[0]!, inputChannels / o.groups, filters / o.groups], o);
  if (c === null) return null;
  const isOfChannels = isDepthwise(c);
  // NHWC was measured too: the shaders gain more there.
  const isPacked = [lastA ?? a, lastB ?? b, ...tensors.slice(2)].every((x) => packs(x));
  const chooses = (form: keyof (typeof NAMES)[typeof kind], extent: number): boolean =>
    choosesShader(g.capabilities, g.isAlone, NAMES[kind][form], { dtype, extent, isPacked });
  // Casts in launches are in no device's table yet: `tune` compares them.
  const takesCasts = choosesShader(g.capabilities, g.isAlone, "convolutionCasts", { dtype, extent: multiplyAdds(c), isPacked });
  const [ofOperands, ofAll]: readonly [Casts, Casts] = takesCasts ? ["operands", "all"] : ["nothing", "nothing"];
  const isDirect = !isOfChannels && isForDirect(c) && chooses("direct", multiplyAdds(c));
  const extent = isOfChannels || isLikeMeasured(c) ? multiplyAdds(c) : 0;
  const isByWinograd = !isOfChannels && isForWinograd(c) && chooses("winograd", isLikeMeasuredWinograd(c) ? multiplyAdds(c) : 0);
  if (!isDirect && !isByWinograd && !chooses(isOfChannels ? "depthwise" : "tiled", extent)) return null;
  const shape = resultShape(c);
  if ([...tensors.map((x) => x.sizes), shape].some((sizes) => sizeOf(sizes) * 4 > MAX_BYTES)) return null;
  // The shaders of weight gradients have no buffers for an epilogue; what adds their parts has them.
  const [takes, sumTakes] = isWeight ? (["nothing", "elements"] as const) : (["channels", "channels"] as const);
  const inputs = { x: lastA ?? a, [isWeight ? "dy" : "w"]: lastB ?? b };
  const ofBias = bias === null ? {} : { bias };
  const sizes = isWeight ? [b.sizes[1]!, a.sizes[1]! / o.groups, ...o.kernel] : [a.sizes[0]!, shape[1], ...(kind === "forward" ? o.output : o.input)]; // prettier-ignore
  const result = { dtype, sizes };
  const partsOf = (count: number): Result => ({ dtype: "float32", sizes: [count, ...sizes] });
  const size = sizeOf(shape);
  const add = (parts: Expr, form: { readonly width: 1 | 4 }, splits: number, inner: number, channels: number): Expr =>
    launched(g, (epilogue) => convolutionSum({ ...form, element, ...epilogue }), { parts, ...ofBias }, result, { splits, size, inner, channels }, sumTakes, ofAll); // prettier-ignore
  if (isOfChannels) {
    const { form, params, parts } = depthwisePlan(c, NO_EPILOGUE);
    if (parts === 1)
      return launched(g, (epilogue) => depthwise({ ...form, ...epilogue }), { ...inputs, ...ofBias }, result, params, takes, ofAll);
    const made = launched(g, ({ cast = [] }) => depthwise({ ...form, cast }), inputs, partsOf(parts), params, "nothing", ofOperands);
    return add(made, { width: size % 4 === 0 ? 4 : 1 }, parts, size, 1);
  }
  const winograd = winogradSplitOf(c, isByWinograd);
  if (winograd !== null) return winogradShader(g, c, winograd, { x: a, other: b, bias }, result, sumTakes, takesCasts);
  const split = splitOf(c, isDirect);
  if (split !== null) {
    const { kind, form, params } = directPlan(c, split);
    if (kind === "planes")
      return launched(g, (epilogue) => direct({ ...form, ...epilogue }), { ...inputs, ...ofBias }, result, params, takes, ofAll);
    const parts = split.split;
    const kernelOf = ({ cast = [], casts = false }: EpilogueForm): Kernel => directWeight({ ...form, cast, casts });
    const made = launched(g, kernelOf, inputs, parts === 1 ? result : partsOf(parts), params, "nothing", parts === 1 ? ofAll : ofOperands);
    if (parts === 1) return made;
    if (g.isAlone || dtype !== "float32") return add(made, { width: size % 4 === 0 ? 4 : 1 }, parts, size, 1);
    // An operator, which shares a launch with other small reductions where the program is fused.
    const sum = g.reduce(g.reshape(made, [parts, size]), { function: "SUM", output: { sizes: [1, size], dtype }, axes: [0] });
    return g.reinterpret(sum, { sizes });
  }
  const plan = tiledPlan(c, { ...NO_EPILOGUE, hasBias: bias !== null });
  if (plan.sum === null)
    return launched(g, (epilogue) => convolution({ ...plan.form, ...epilogue }, plan.tile), { ...inputs, ...ofBias }, result, plan.params, takes, ofAll); // prettier-ignore
  if (size * plan.splits * 4 > MAX_BYTES) return null;
  const parts = launched(
    g,
    ({ cast = [] }) => convolution({ ...plan.form, cast }, plan.tile),
    inputs,
    partsOf(plan.splits),
    plan.params,
    "nothing",
    ofOperands,
  );
  return add(parts, plan.sum.form, plan.splits, plan.sum.inner, plan.sum.channels);
}

/** How Winograd's launches divide the work, as `tune` says or the sizes choose; null: another form stands. */
function winogradSplitOf(c: ConvolutionSizes, isUsual: boolean): WinogradSplit | null {
  const tuned = tunedWinogradSplit(c);
  if (tuned !== null || !isUsual) return tuned;
  return tunedSplit(c) === null && tunedTile(c) === null ? usualWinogradSplit(c) : null;
}

/** How the direct shader divides the work, as `tune` says or the sizes choose; null: the implicit GEMM stands. */
function splitOf(c: ConvolutionSizes, isUsual: boolean): DirectSplit | null {
  const tuned = tunedSplit(c);
  if (tuned !== null) return tuned;
  return isUsual && tunedTile(c) === null ? usualSplit(c) : null;
}

/** Whether a tensor is packed, whatever stands where there is but one element. */
function packs({ sizes, strides }: Expr): boolean {
  let stride = 1;
  for (let i = sizes.length - 1; i >= 0; i--) {
    if (sizes[i] === 1) continue;
    if (strides[i] !== stride) return false;
    stride *= sizes[i]!;
  }
  return true;
}
