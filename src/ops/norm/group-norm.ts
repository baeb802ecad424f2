/** Group normalization. @functional */
import { oneByPosition } from "../declare/positional.ts";
import { leading, summing } from "../../core/padded-axes.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { tie } from "../../autograd/tie.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { reshape } from "../shape/movement.ts";
import {
  requireChannels,
  filler,
  normalizationGradient,
  normalizedGradient,
  ofNothing,
  tiedTo,
  type Epsilon,
  type NormOptions,
} from "./batch-layer-norm.ts";
import { mean, sum } from "../reduce/reduce.ts";
import { emitReduce } from "../reduce/reduce-lower.ts";
import { cast, requireFloat } from "../declare/support.ts";
import { rsqrt, square } from "../elementwise/unary.ts";
import { merged, overFirstAxis, parted } from "../declare/batched.ts";

interface GroupAttributes extends Epsilon {
  readonly groups: number;
  /** Whose second derivatives are those of PyTorch's instance norm, which is a batch norm: null, not zero, where there are none. */
  readonly isInstance?: boolean;
}

/** [N, C, ...] as [N, groups, C / groups, elements]. */
const grouped = ([n, c, ...spatial]: Shape, groups: number): [number, number, number, number] => [n!, groups, c! / groups, sizeOf(spatial)];

/** [C] as [1, groups, C / groups, 1]. */
const perGroup = (x: Expr, g: GraphBuilder, groups: number): Expr => g.reshape(cast(g, x, "float32"), [1, groups, x.sizes[0]! / groups, 1]);

/** [B, C] as [B, 1, C, 1...]. */
const ofChannels = (x: Tensor, rank: number): Tensor => reshape(x, [x.shape[0]!, 1, x.shape[1]!, ...new Array<number>(rank - 3).fill(1)]);

/** Inputs x [N, C, ...], weight and bias [C]. Half precision is computed in float32 to the end. */
const groupNormOp: Definition<GroupAttributes> = define<GroupAttributes>({
  name: "groupNorm",
  batched: (batch) => {
    const { inputs, isBatched, attrs, size, full, run } = batch;
    if (!isBatched[1] && isBatched[2] !== true) return overFirstAxis(0)(batch);
    const normal = parted(run([merged(full(0))], attrs)[0]!, size);
    const [weight, bias] = [1, 2].map((i) => (inputs[i] === undefined ? null : ofChannels(full(i), normal.rank)));
    const scaled = weight === null ? normal : mul(normal, weight!);
    return [bias === null ? scaled : add(scaled, bias!)];
  },
  infer: ([x]) => [x!],
  lower: (g, [x, weight, bias], { groups, epsilon }, [out]) => {
    const sizes = grouped(x!.sizes, groups);
    const y = g.meanVarianceNormalization1(cast(g, g.reshape(x!, sizes), "float32"), {
      scale: weight === undefined ? null : perGroup(weight, g, groups),
      bias: bias === undefined ? null : perGroup(bias, g, groups),
      output: { sizes },
      axes: [2, 3],
      normalizeVariance: true,
      epsilon,
    });
    return [g.reinterpret(cast(g, y, out!.dtype), { sizes: out!.shape })];
  },
  grad: (dy, { inputs: [x, weight], specs, attrs, needs, inputEdge: edge }) => {
    const { groups, epsilon } = attrs;
    if (!isGradEnabled()) return dispatch(groupNormGradOp, weight ? [x!, dy, weight] : [x!, dy], { groups, epsilon });
    const sizes = grouped(x!.shape, groups);
    const rows = toDType(reshape(x!, sizes), "float32");
    const upstream = toDType(reshape(dy, sizes), "float32");
    const centered = sub(rows, mean(rows, [2, 3], { keepDims: true }));
    const r = rsqrt(add(mean(square(centered), [2, 3], { keepDims: true }), epsilon));
    const normal = mul(centered, r);
    const scaled = weight ? mul(upstream, reshape(toDType(weight, "float32"), [1, sizes[1], sizes[2], 1])) : upstream;
    const summed = (t: Tensor, i: number): Tensor => toDType(reshape(sum(t, [0, 3]), specs[i]!.shape), specs[i]!.dtype);
    const ofX = needs[0] ? toDType(reshape(normalizedGradient(scaled, normal, r, [2, 3]), x!.shape), x!.dtype) : null;
    const ofWeight = needs[1] ? summed(mul(upstream, normal), 1) : null;
    const ofBias = needs[2] ? summed(upstream, 2) : null;
    if (attrs.isInstance === true) return tiedTo([x!, weight], [ofX, ofWeight, ofBias]);
    // PyTorch's go through the mean and the deviation, which it counts as functions of weight and bias; the bias's reads what comes in alone.
    const through = (t: Tensor | null, from: 1 | 2): Tensor | null =>
      t === null ? null : needs.reduce<Tensor>((y, need, i) => (need && i >= from ? tie(y, edge(i)) : y), t);
    return [through(tiedTo([x!, weight], [ofX])[0]!, 2), through(tiedTo([x!], [ofWeight])[0]!, 1), ofBias];
  },
  saves: { inputs: [0, 1], outputs: false },
  padded: leading(1),
  multiplyAdds: ([x, ...affine]) => (affine.length === 0 ? 4 : 5) * sizeOf(x!.shape),
});

const groupNormGradOp = define<GroupAttributes>({
  name: "groupNormGradient",
  batched: ({ inputs: [, , weight], attrs, size, full, run }) => {
    const [x, dy] = [full(0), full(1)];
    const of = (upstream: Tensor): Tensor => parted(run([merged(x), merged(upstream)], attrs)[0]!, size);
    if (weight === undefined) return [of(dy)];
    const axes = x.shape.flatMap((_, i) => (i === 0 || i === 2 ? [] : [i]));
    const normal = parted(call(groupNormOp, [merged(x)], attrs), size);
    return [of(mul(dy, ofChannels(full(2), x.rank))), sum(mul(dy, normal), axes), sum(dy, axes)];
  },
  infer: ([x, , weight]) => (weight === undefined ? [x!] : [x!, weight, weight]),
  lower: (g, [x, dy, weight], { groups, epsilon }, outputs) => {
    const sizes = grouped(x!.sizes, groups);
    const [rows, upstream] = [x!, dy!].map((t) => cast(g, g.reshape(t, sizes), "float32")) as [Expr, Expr];
    const scale = weight === undefined ? null : perGroup(weight, g, groups);
    const { dx, normal } = normalizationGradient(g, rows, upstream, scale, [2, 3], epsilon);
    const totals =
      weight === undefined
        ? []
        : [emitReduce(g, g.elementWiseMultiply(upstream, normal), "SUM", [0, 3]), emitReduce(g, upstream, "SUM", [0, 3])];
    return [dx, ...totals].map((t, i) => g.reshape(cast(g, t, outputs[i]!.dtype), outputs[i]!.shape));
  },
  grad: null,
  padded: summing(0, 1),
  whenEmpty: 0,
});

/**
 * Normalises each of `groups` groups of channels of each sample, then scales and shifts each channel.
 *
 * x: [N, C, ...], float16 or float32; weight and bias: [C] or null; C must be a multiple of groups. epsilon: default 1e-5.
 * DirectML: MEAN_VARIANCE_NORMALIZATION1. Reference: torch.nn.functional.group_norm. @autocast float32
 */
export function groupNorm(
  x: Tensor,
  groups: number,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  eps?: number | NormOptions,
  options?: NormOptions,
): Tensor {
  const { eps: epsilon = 1e-5 } = oneByPosition<NormOptions>("groupNorm", "eps", eps, options);
  return normalizeGroups(x, groups, weight, bias, { epsilon });
}

/** groupNorm(), which instanceNorm() uses too. @package */
export function normalizeGroups(
  x: Tensor,
  groups: number,
  weight: Tensor | null,
  bias: Tensor | null,
  options: Omit<GroupAttributes, "groups">,
): Tensor {
  requireFloat("groupNorm", x);
  if (x.rank < 2) throw new ShapeError("groupNorm", "x", "[N, C, ...]", x.describe());
  const c = x.shape[1]!;
  if (c === 0) throw new ShapeError("groupNorm", "x", "of at least one channel", x.describe());
  if (!Number.isInteger(groups) || groups < 1 || c % groups !== 0)
    throw new ValueError("groupNorm", "groups", `an integer that divides the ${c} channels`, groups);
  requireChannels("groupNorm", x, [
    ["weight", weight],
    ["bias", bias],
  ]);
  if (x.size === 0) return ofNothing(x, weight, bias);
  const attrs = { groups, ...options };
  if (weight === null && bias === null) return call(groupNormOp, [x], attrs);
  return call(groupNormOp, [x, weight ?? filler(x, c, 1), bias ?? filler(x, c, 0)], attrs);
}
