/**
 * One direction of an LSTM with projected hidden states, which DirectML's operator lacks: several time steps an operation, forward and backward,
 * and one node of the tape. @package
 */
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { dispatch, dispatchInPieces } from "../../dispatch/dispatch.ts";
import { define, type Definition } from "../../core/definition.ts";
import { DTYPES } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Expr } from "../../graph/graph.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { add, mul } from "../elementwise/binary.ts";
import { chunk } from "../shape/join.ts";
import { linear, matmul } from "../matmul/matmul.ts";
import { transpose } from "../shape/movement.ts";
import type { RecurrentWeights } from "./recurrent.ts";
import {
  joined,
  lstmGatesRecorded,
  masksOf,
  orZeros,
  part,
  projectionGradient,
  rangesOf,
  rows,
  statesBefore,
  type Arriving,
  type Direction,
  type Gates,
} from "./recurrent-gradient.ts";
import {
  at,
  backwards,
  joinedColumns,
  bySample,
  chooses,
  forwards,
  gate,
  like,
  gemm,
  multiplied,
  sigmoidSlope,
  stacked,
  tanhSlope,
  type StepsAttributes,
} from "./recurrent-steps.ts";
import { tanh } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";

/**
 * Inputs: the gates' sums without the hidden state's share [T, N, 4H], the states [N, P] and [N, H], the hidden state's weights [4H, P], the
 * projection [P, H], which steps count [T, N, 1] bool. Outputs: projected states [T, N, P], the last states, and what is kept for the gradient:
 * gates i and f, the candidates, gate o, the cells before each step.
 */
const projectedOp: Definition<StepsAttributes> = define<StepsAttributes>({
  name: "projectedLstm",
  infer: ([a, h, c]) => {
    const [steps, batch] = a!.shape as [number, number];
    const [kept, width] = [h!.shape[1]!, c!.shape[1]!];
    const each = like(a!, steps, batch, width);
    return [like(a!, steps, batch, kept), h!, c!, like(a!, steps, batch, 2 * width), each, each, each];
  },
  lower: (g, [a, h, c, weights, projection, mask], { reverse, masked }) => {
    const steps = a!.sizes[0]!;
    const width = c!.sizes[1]!;
    const across = g.transpose(weights!, [1, 0]);
    const down = g.transpose(projection!, [1, 0]);
    const three = (x: Expr): Expr => g.reshape(x, [1, ...x.sizes]);
    const choose = chooses(g, masked ? mask! : null);
    const list = (): Expr[] => new Array<Expr>(steps);
    const [outputs, gates, candidates, shares, before] = [list(), list(), list(), list(), list()];
    let [hidden, cell] = [h!, c!];
    for (const k of forwards(steps, reverse)) {
      const sums = three(gemm(g, hidden, across, at(g, a!, k)));
      const both = g.activationSigmoid(gate(g, sums, 0, width, 2));
      gates[k] = at(g, both, 0);
      candidates[k] = at(g, g.activationTanh(gate(g, sums, 2, width)), 0);
      shares[k] = at(g, g.activationSigmoid(gate(g, sums, 3, width)), 0);
      before[k] = cell;
      const [i, f] = [at(g, gate(g, both, 0, width), 0), at(g, gate(g, both, 1, width), 0)];
      const next = g.elementWiseAdd(g.elementWiseMultiply(f, cell), g.elementWiseMultiply(i, candidates[k]!));
      const projected = gemm(g, g.elementWiseMultiply(shares[k]!, g.elementWiseTanh(next)), down);
      outputs[k] = choose(k, projected, null);
      hidden = choose(k, projected, hidden);
      cell = choose(k, next, cell);
    }
    return [stacked(g, outputs), hidden, cell, ...[gates, candidates, shares, before].map((parts) => stacked(g, parts))];
  },
  grad: (dy, { inputs, outputs, dys, needs, attrs: { reverse, masked } }) => {
    const [a, hidden, cell, weights, projection] = inputs as [Tensor, Tensor, Tensor, Tensor, Tensor];
    const [output, , , ...saved] = outputs as [Tensor, Tensor, Tensor, ...Tensor[]];
    const mask = masked ? inputs[5]! : null;
    const d: Direction = { kind: "lstm", reverse, x: a, hidden, cell, weights: [weights, weights], biases: null, output, mask, projection };
    const arriving = {
      output: mask === null ? dy : where(mask, dy, 0),
      hidden: orZeros(dys[1]!, hidden, hidden.shape),
      cell: orZeros(dys[2]!, cell, cell.shape),
    };
    const before = statesBefore(d);
    const gates = isGradEnabled()
      ? lstmGatesRecorded(d, add(a, linear(before, weights, null)), arriving)
      : projectedGates(d, projection, saved, arriving);
    return [
      gates.fromInput,
      gates.hidden,
      gates.cell,
      needs[3] ? matmul(transpose(rows(gates.fromHidden), 0, 1), rows(before)) : null,
      needs[4] ? gates.projection!() : null,
      ...(masked ? [null] : []),
    ];
  },
  saves: { outputs: [0, 3, 4, 5, 6] },
  padded: bySample(3, 4),
  multiplyAdds: ([a, , , weights, projection]) => a!.shape[0]! * a!.shape[1]! * (sizeOf(weights!.shape) + sizeOf(projection!.shape)),
});

/** The backward pass through time, one range of steps after the other. */
function projectedGates(d: Direction, projection: Tensor, saved: readonly Tensor[], arriving: Arriving): Gates {
  const { reverse, mask } = d;
  const ranges = rangesOf(d.output.shape[0]!);
  const made = new Map<number, readonly [gates: Tensor, totals: Tensor]>();
  let [dh, dc] = [arriving.hidden, arriving.cell!];
  for (const r of reverse ? ranges : ranges.toReversed()) {
    const operands = [...saved.map((t) => part(t, r)), part(arriving.output, r), dh, dc, d.weights[1], projection, ...masksOf(d, r)];
    const [gates, totals, hidden, before] = dispatch(projectedGradOp, operands, { reverse, masked: mask !== null });
    made.set(r.start, [gates!, totals!]);
    [dh, dc] = [hidden!, before!];
  }
  const all = (i: 0 | 1): Tensor => joined(ranges.map((r) => made.get(r.start)![i]));
  const sums = all(0);
  const [both, candidate, share, cells] = saved as [Tensor, Tensor, Tensor, Tensor];
  const states = (): Tensor => {
    const [i, f] = chunk(both, 2, 2) as [Tensor, Tensor];
    return mul(share, tanh(add(mul(f, cells), mul(i, candidate))));
  };
  return { fromInput: sums, fromHidden: sums, hidden: dh, cell: dc, projection: () => projectionGradient(all(1), states()) };
}

/**
 * Inputs: gates i and f [K, N, 2H], candidates, gate o, cells before [K, N, H], gradients of the projected states [K, N, P], those of the last states
 * [N, P] and [N, H], the hidden state's weights [4H, P], the projection [P, H]. Outputs: gradients of the gates' sums [K, N, 4H], all that arrives at
 * the projected states [K, N, P], the gradients of both states before.
 */
const projectedGradOp: Definition<StepsAttributes> = define<StepsAttributes>({
  name: "projectedLstmGradient",
  infer: ([gates, candidate, , , dy, dh, dc]) => {
    const [steps, batch, width] = candidate!.shape as [number, number, number];
    return [like(gates!, steps, batch, 4 * width), dy!, dh!, dc!];
  },
  lower: (g, [gates, candidate, output, before, dy, dhLast, dcLast, weights, projection, mask], { reverse, masked }) => {
    const [steps, batch, width] = candidate!.sizes as [number, number, number];
    const kept = projection!.sizes[0]!;
    const [input, forget] = [gate(g, gates!, 0, width), gate(g, gates!, 1, width)];
    const projected = g.elementWiseTanh(g.elementWiseAdd(g.elementWiseMultiply(forget, before!), g.elementWiseMultiply(input, candidate!)));
    const intoCell = multiplied(g, output!, tanhSlope(g, projected));
    const slopes = joinedColumns(g, [
      multiplied(g, candidate!, sigmoidSlope(g, input)),
      multiplied(g, before!, sigmoidSlope(g, forget)),
      multiplied(g, input, tanhSlope(g, candidate!)),
    ]);
    const intoOutput = multiplied(g, projected, sigmoidSlope(g, output!));
    const rowsOf = (first: number, count: number): Expr =>
      g.reinterpret(weights!, {
        sizes: [count * width, kept],
        strides: weights!.strides,
        byteOffset: weights!.byteOffset + first * width * weights!.strides[0]! * DTYPES[weights!.dtype].sizeInBytes,
      });
    const [three, fourth] = [rowsOf(0, 3), rowsOf(3, 1)];
    const choose = chooses(g, masked ? mask! : null);
    const list = (): Expr[] => new Array<Expr>(steps);
    const [sums, outputs, totals] = [list(), list(), list()];
    let [dh, dc] = [dhLast!, dcLast!];
    for (const k of backwards(steps, reverse)) {
      const total = g.elementWiseAdd(dh, at(g, dy!, k));
      const hidden = gemm(g, total, projection!);
      const cell = g.elementWiseAdd(dc, g.elementWiseMultiply(hidden, at(g, intoCell, k)));
      const spread = g.reinterpret(cell, { sizes: [batch, 3, width], strides: [width, 0, 1] });
      const own = g.elementWiseMultiply(g.reinterpret(at(g, slopes, k), { sizes: [batch, 3, width] }), spread);
      const inputs = choose(k, g.reinterpret(own, { sizes: [batch, 3 * width] }), null);
      const outputGate = choose(k, g.elementWiseMultiply(hidden, at(g, intoOutput, k)), null);
      sums[k] = inputs;
      outputs[k] = outputGate;
      totals[k] = choose(k, total, null);
      dc = choose(k, g.elementWiseMultiply(cell, at(g, forget, k)), dc);
      // Two GEMMs, not one of joined gates: Microsoft's library refuses a JOIN of eight and more JOINs.
      dh = choose(k, gemm(g, inputs, three, gemm(g, outputGate, fourth)), dh);
    }
    const all = g.join([stacked(g, sums), stacked(g, outputs)], { output: { sizes: [steps, batch, 4 * width] }, axis: 2 });
    return [all, stacked(g, totals), dh, dc];
  },
  padded: bySample(7, 8),
  grad: null,
});

/**
 * Outputs [T, N, P] and the last states of one direction over x [T, N, I]; null where dtypes differ, nothing is to be computed, or a function is
 * compiled for a device that fuses no graphs.
 */
export function projectedLayer(
  x: Tensor,
  hidden: Tensor,
  cell: Tensor,
  w: RecurrentWeights,
  reverse: boolean,
  mask: Tensor | null,
): { readonly outputs: Tensor; readonly hidden: Tensor; readonly cell: Tensor } | null {
  const weights = [w.input, w.hidden, w.inputBias, w.hiddenBias, w.projection].filter((t) => t != null);
  if ([x, hidden, cell, ...weights].some((t) => t.size === 0 || t.dtype !== x.dtype)) return null;
  if (tracer() !== null && (!x.device.hasElements || !nativeDevice(x.device, "lstm").capabilities.fusesGraphs)) return null;
  const bias = w.inputBias == null || w.hiddenBias == null ? (w.inputBias ?? w.hiddenBias ?? null) : add(w.inputBias, w.hiddenBias);
  const sums = linear(mask === null ? x : where(mask, x, 0), w.input, bias);
  const attrs = { reverse, masked: mask !== null };
  const operands = [sums, hidden, cell, w.hidden, w.projection!, ...(mask === null ? [] : [mask])];
  const [outputs, last, lastCell] = dispatchInPieces(projectedOp, operands, attrs, () => {
    const ranges = rangesOf(x.shape[0]!);
    const made = new Map<number, readonly Tensor[]>();
    let [h, c] = [hidden, cell];
    for (const r of reverse ? ranges.toReversed() : ranges) {
      const masks = mask === null ? [] : [part(mask, r)];
      const results = dispatch(projectedOp, [part(sums, r), h, c, w.hidden, w.projection!, ...masks], attrs);
      made.set(r.start, results);
      [h, c] = results.slice(1, 3) as [Tensor, Tensor];
    }
    const all = (i: number): Tensor => joined(ranges.map((r) => made.get(r.start)![i]!));
    return [all(0), h, c, all(3), all(4), all(5), all(6)];
  });
  return { outputs: outputs!, hidden: last!, cell: lastCell! };
}
