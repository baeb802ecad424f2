/**
 * Backward pass of recurrent layers through time, several steps an operation: gradients of the gates from those of the outputs. GEMMs over all
 * steps are in recurrent-gradient.ts. @package
 */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { DTYPES } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import type { PaddedRule } from "../../core/padded-axes.ts";
import { define, type Definition, type TensorSpec } from "../../core/definition.ts";
import { emitGemm } from "../matmul/matmul.ts";
import { BOOL, constant } from "../declare/support.ts";

/** @internal The direction of time, and whether the last input is the mask of steps that count, [K, N, 1] bool. */
export interface StepsAttributes {
  /** Whether the layer runs from the end to the start. */
  readonly reverse: boolean;
  readonly masked: boolean;
}

/** @internal Step k of x [K, N, C]. */
export const at = (g: GraphBuilder, x: Expr, k: number): Expr =>
  g.reinterpret(x, {
    sizes: x.sizes.slice(1),
    strides: x.strides.slice(1),
    byteOffset: x.byteOffset + k * x.strides[0]! * DTYPES[x.dtype].sizeInBytes,
  });

/** @internal The columns of gate k of x [K, N, gates * H]; `count` gates from there on. */
export function gate(g: GraphBuilder, x: Expr, k: number, width: number, count = 1): Expr {
  const [steps, batch] = x.sizes as [number, number];
  const byteOffset = x.byteOffset + k * width * x.strides[2]! * DTYPES[x.dtype].sizeInBytes;
  return g.reinterpret(x, { sizes: [steps, batch, count * width], strides: x.strides, byteOffset });
}

/** @internal The elementwise product. */
export const multiplied = (g: GraphBuilder, ...list: readonly Expr[]): Expr => list.reduce((x, y) => g.elementWiseMultiply(x, y));
const negated = (g: GraphBuilder, y: Expr): Expr => g.elementWiseIdentity(y, { scaleBias: [-1, 1] });
/** @internal y (1 - y), the sigmoid's slope. */
export const sigmoidSlope = (g: GraphBuilder, y: Expr): Expr => g.elementWiseMultiply(y, negated(g, y));
/** @internal 1 - y², tanh's slope. */
export const tanhSlope = (g: GraphBuilder, y: Expr): Expr => negated(g, g.elementWiseMultiply(y, y));

/** @internal Values of the steps, in the order of time, as [K, N, C]. */
export function stacked(g: GraphBuilder, steps: readonly Expr[]): Expr {
  const [batch, width] = steps[0]!.sizes as [number, number];
  const sizes = [1, batch, width];
  const parts = steps.map((s) => g.reshape(g.packed(s), sizes));
  return parts.length === 1 ? parts[0]! : g.join(parts, { output: { sizes: [parts.length, batch, width] }, axis: 0 });
}
/** @internal Parts joined along the last axis. */
export const joinedColumns = (g: GraphBuilder, parts: readonly Expr[]): Expr => {
  const sizes = [...parts[0]!.sizes];
  const axis = sizes.length - 1;
  sizes[axis] = sizes[axis]! * parts.length;
  return g.join(
    parts.map((p) => g.packed(p)),
    { output: { sizes }, axis },
  );
};
/** @internal a b, plus c if there is one. */
export const gemm = (g: GraphBuilder, a: Expr, b: Expr, c: Expr | null = null): Expr =>
  g.reinterpret(emitGemm(g, a, b, c, [], { alpha: 1, beta: c === null ? 0 : 1 }), { sizes: [a.sizes[0]!, b.sizes[1]!] });

/** @internal `chosen` where the step's mask is true, else `other` or zeros; without a mask `chosen`. */
export const chooses =
  (g: GraphBuilder, mask: Expr | null) =>
  (k: number, chosen: Expr, other: Expr | null): Expr =>
    mask === null
      ? chosen
      : g.elementWiseIf(g.expand(at(g, mask, k), chosen.sizes), chosen, other ?? constant(g, chosen.dtype, 0, chosen.sizes));

/** @internal Indices of the steps in the order of the forward pass. */
export const forwards = (count: number, reverse: boolean): number[] =>
  Array.from({ length: count }, (_, i) => (reverse ? count - 1 - i : i));
/** @internal Indices of the steps in the order of the backward pass. */
export const backwards = (count: number, reverse: boolean): number[] => forwards(count, !reverse);

/** @internal Samples are independent of each other: their axis may be padded, which is the first of the states and the second of all steps. */
export const bySample =
  (...weights: readonly number[]): PaddedRule<unknown> =>
  (_g, inputs, _attrs, _outputs, p, lower) =>
    inputs.some((x, i) => (weights.includes(i) ? p.isPaddedBeside(i) : p.isPaddedBeside(i, x.sizes.length === 3 ? 1 : 0)))
      ? null
      : lower(inputs);

/** @internal A spec of its dtype. */
export const like = ({ dtype }: TensorSpec, ...shape: readonly number[]): TensorSpec => ({ shape, dtype });

/**
 * @internal An LSTM's gates and cells, which DirectML's operator does not return. Inputs: the gates' sums [K, N, 4H] in PyTorch's order, the cell before [N, H].
 * Outputs: gates i and f [K, N, 2H], candidates, gate o and the cells before each step [K, N, H], the cell after the last one [N, H].
 */
export const lstmCellsOp: Definition<StepsAttributes> = define<StepsAttributes>({
  name: "lstmCells",
  infer: ([sums, cell]) => {
    const [steps, batch] = sums!.shape as [number, number];
    const width = cell!.shape[1]!;
    const each = like(sums!, steps, batch, width);
    return [like(sums!, steps, batch, 2 * width), each, each, each, cell!];
  },
  lower: (g, [sums, first, mask], { reverse, masked }) => {
    const steps = sums!.sizes[0]!;
    const width = first!.sizes[1]!;
    const gates = g.activationSigmoid(gate(g, sums!, 0, width, 2));
    const candidate = g.activationTanh(gate(g, sums!, 2, width));
    const output = g.activationSigmoid(gate(g, sums!, 3, width));
    const added = g.elementWiseMultiply(gate(g, gates, 0, width), candidate);
    const forget = gate(g, gates, 1, width);
    const choose = chooses(g, masked ? mask! : null);
    const before = new Array<Expr>(steps);
    let cell = first!;
    for (const k of forwards(steps, reverse)) {
      before[k] = cell;
      cell = choose(k, g.elementWiseAdd(g.elementWiseMultiply(at(g, forget, k), cell), at(g, added, k)), cell);
    }
    return [gates, candidate, output, stacked(g, before), cell];
  },
  padded: bySample(),
  grad: null,
});

/**
 * @internal Inputs: gates i and f [K, N, 2H], candidates, gate o, cells before, gradients of the outputs [K, N, H], those of the hidden state and of
 * the cell after the last step [N, H], the hidden state's weights [4H, H]. Outputs: the gradients of the gates' sums [K, N, 4H], and of both states before.
 */
export const lstmStepsGradOp: Definition<StepsAttributes> = define<StepsAttributes>({
  name: "lstmStepsGradient",
  infer: ([gates, , , , dy, dh, dc]) => {
    const [steps, batch, width] = dy!.shape as [number, number, number];
    return [like(gates!, steps, batch, 4 * width), dh!, dc!];
  },
  lower: (g, [gates, candidate, output, before, dy, dhLast, dcLast, weights, mask], { reverse, masked }) => {
    const [steps, batch, width] = dy!.sizes as [number, number, number];
    const [input, forget] = [gate(g, gates!, 0, width), gate(g, gates!, 1, width)];
    const tanhCell = g.elementWiseTanh(g.elementWiseAdd(g.elementWiseMultiply(forget, before!), g.elementWiseMultiply(input, candidate!)));
    const intoCell = multiplied(g, output!, tanhSlope(g, tanhCell));
    const slopes = joinedColumns(g, [
      multiplied(g, candidate!, sigmoidSlope(g, input)),
      multiplied(g, before!, sigmoidSlope(g, forget)),
      multiplied(g, input, tanhSlope(g, candidate!)),
    ]);
    const three = g.reinterpret(weights!, { sizes: [3 * width, width], strides: weights!.strides });
    const fourth = g.reinterpret(weights!, {
      sizes: [width, width],
      strides: weights!.strides,
      byteOffset: weights!.byteOffset + 3 * width * weights!.strides[0]! * DTYPES[weights!.dtype].sizeInBytes,
    });
    const intoOutput = multiplied(g, tanhCell, sigmoidSlope(g, output!));
    const choose = chooses(g, masked ? mask! : null);
    const [sums, outputs] = [new Array<Expr>(steps), new Array<Expr>(steps)];
    let [dh, dc] = [dhLast!, dcLast!];
    for (const k of backwards(steps, reverse)) {
      const hidden = g.elementWiseAdd(dh, at(g, dy!, k));
      const cell = g.elementWiseAdd(dc, g.elementWiseMultiply(hidden, at(g, intoCell, k)));
      const inputs = choose(
        k,
        g.reinterpret(
          g.elementWiseMultiply(
            g.reinterpret(at(g, slopes, k), { sizes: [batch, 3, width] }),
            g.reinterpret(cell, { sizes: [batch, 3, width], strides: [width, 0, 1] }),
          ),
          { sizes: [batch, 3 * width] },
        ),
        null,
      );
      const outputGate = choose(k, g.elementWiseMultiply(hidden, at(g, intoOutput, k)), null);
      sums[k] = inputs;
      outputs[k] = outputGate;
      dc = choose(k, g.elementWiseMultiply(cell, at(g, forget, k)), dc);
      // Two GEMMs, not one of joined gates: Microsoft's library refuses a JOIN of eight and more JOINs.
      dh = choose(k, gemm(g, inputs, three, gemm(g, outputGate, fourth)), dh);
    }
    const all = g.join([stacked(g, sums), stacked(g, outputs)], { output: { sizes: [steps, batch, 4 * width] }, axis: 2 });
    return [all, dh, dc];
  },
  padded: bySample(7),
  grad: null,
});

/**
 * @internal Inputs: the sums of gates r, z, n from the input and from the hidden state [K, N, 3H], the hidden states before, gradients of the outputs
 * [K, N, H], that of the hidden state after the last step [N, H], the hidden state's weights [3H, H]. Outputs: the gradients of the first two, and of
 * the hidden state before.
 */
export const gruStepsGradOp: Definition<StepsAttributes> = define<StepsAttributes>({
  name: "gruStepsGradient",
  infer: ([a, b, , , dh]) => [a!, b!, dh!],
  lower: (g, [fromInput, fromHidden, before, dy, dhLast, weights, mask], { reverse, masked }) => {
    const [steps, batch, width] = dy!.sizes as [number, number, number];
    const sum = (k: number): Expr => g.elementWiseAdd(gate(g, fromInput!, k, width), gate(g, fromHidden!, k, width));
    const [r, z] = [g.activationSigmoid(sum(0)), g.activationSigmoid(sum(1))];
    const own = gate(g, fromHidden!, 2, width);
    const n = g.activationTanh(g.elementWiseAdd(gate(g, fromInput!, 2, width), g.elementWiseMultiply(r, own)));
    const candidate = multiplied(g, negated(g, z), tanhSlope(g, n));
    const reset = multiplied(g, candidate, own, sigmoidSlope(g, r));
    const update = multiplied(g, g.elementWiseSubtract(before!, n), sigmoidSlope(g, z));
    const factors = joinedColumns(g, [reset, update, g.elementWiseMultiply(candidate, r)]);
    const choose = chooses(g, masked ? mask! : null);
    const threefold = [batch, 3, width];
    const [sums, totals] = [new Array<Expr>(steps), new Array<Expr>(steps)];
    let dh = dhLast!;
    for (const k of backwards(steps, reverse)) {
      const total = g.elementWiseAdd(dh, at(g, dy!, k));
      const spread = g.reinterpret(total, { sizes: threefold, strides: [width, 0, 1] });
      const slopes = g.reinterpret(at(g, factors, k), { sizes: threefold });
      const flat = g.reinterpret(g.elementWiseMultiply(slopes, spread), { sizes: [batch, 3 * width] });
      totals[k] = choose(k, total, null);
      sums[k] = choose(k, flat, null);
      dh = choose(k, gemm(g, sums[k], weights!, g.elementWiseMultiply(total, at(g, z, k))), dh);
    }
    const all = stacked(g, sums);
    const last = g.elementWiseMultiply(stacked(g, totals), candidate);
    const chosen = masked ? g.elementWiseIf(g.expand(mask!, last.sizes), last, constant(g, last.dtype, 0, last.sizes)) : last;
    return [joinedColumns(g, [gate(g, all, 0, width), gate(g, all, 1, width), chosen]), all, dh];
  },
  padded: bySample(5),
  grad: null,
});

/**
 * @internal Inputs: the outputs and their gradients [K, N, H], that of the hidden state after the last step [N, H], the hidden state's weights
 * [H, H]. Outputs: the gradients of the sums [K, N, H], and of the hidden state before.
 */
export const rnnStepsGradOp: Definition<StepsAttributes & { readonly kind: "tanh" | "relu" }> = define<
  StepsAttributes & { readonly kind: "tanh" | "relu" }
>({
  name: "rnnStepsGradient",
  infer: ([y, , dh]) => [y!, dh!],
  lower: (g, [y, dy, dhLast, weights, mask], { kind, reverse, masked }) => {
    const steps = y!.sizes[0]!;
    const slope = kind === "tanh" ? tanhSlope(g, y!) : null;
    // 0 where y is at most 0: at NaN the gradient stays, as in PyTorch.
    const none = constant(g, y!.dtype, 0, y!.sizes.slice(1));
    const isOff = slope === null ? g.elementWiseLogicalLessThanOrEqual(y!, constant(g, y!.dtype, 0, y!.sizes), BOOL) : null;
    const choose = chooses(g, masked ? mask! : null);
    const sums = new Array<Expr>(steps);
    let dh = dhLast!;
    for (const k of backwards(steps, reverse)) {
      const total = g.elementWiseAdd(dh, at(g, dy!, k));
      const sum = isOff === null ? g.elementWiseMultiply(total, at(g, slope!, k)) : g.elementWiseIf(at(g, isOff, k), none, total);
      sums[k] = choose(k, sum, null);
      dh = choose(k, gemm(g, sums[k], weights!), dh);
    }
    return [stacked(g, sums), dh];
  },
  padded: bySample(3),
  grad: null,
});
