/**
 * The gradient of a recurrent layer. The gates are recomputed from inputs and outputs; one backward pass through time gives their gradients; the gradients
 * of the weights and of the input are one GEMM each. @package
 */
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { dispatch } from "../../dispatch/dispatch.ts";
import type { Tensor } from "../../core/tensor.ts";
import { reluBy, sigmoid } from "../elementwise/activation.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { gt } from "../elementwise/compare.ts";
import { zeros } from "../creation/creation.ts";
import { cat, chunk, stack } from "../shape/join.ts";
import { addmm, linear, matmul } from "../matmul/matmul.ts";
import { narrow, reshape, select, transpose, unbind, unsqueeze } from "../shape/movement.ts";
import { arange } from "../creation/ranges.ts";
import { gruStepsGradOp, lstmCellsOp, lstmStepsGradOp, rnnStepsGradOp } from "./recurrent-steps.ts";
import { sum } from "../reduce/reduce.ts";
import { toDType } from "../data/conversion.ts";
import { tanh } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";

/** Time steps of one operation: programs exist for this count and for the powers of two below it. */
const MAX_STEPS = 16;

/** @internal The operands of one direction of a layer, from which its gradient is computed. */
export interface Direction {
  readonly kind: "lstm" | "gru" | "tanh" | "relu";
  readonly reverse: boolean;
  /** [T, N, I] */
  readonly x: Tensor;
  /** The states before the first step, [N, H]; the cell of an LSTM alone. */
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
  /** [gates * H, I], [gates * H, H] */
  readonly weights: readonly [input: Tensor, hidden: Tensor];
  /** [gates * H] each, or null. */
  readonly biases: readonly [input: Tensor, hidden: Tensor] | null;
  /** Hidden states, [T, N, H]. */
  readonly output: Tensor;
  /** Which steps count, [T, N, 1] bool; null: all. */
  readonly mask: Tensor | null;
  /** [P, H]: projects an LSTM's hidden states to [T, N, P]. Default: no projection. */
  readonly projection?: Tensor;
}

/** @internal Gradients of the outputs, and of the states after the last step. */
export interface Arriving {
  readonly output: Tensor;
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

/** @internal Gradients of the gates' sums from the input and from the hidden state, and of the states before the first step. */
export interface Gates {
  readonly fromInput: Tensor;
  readonly fromHidden: Tensor;
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
  /** With a projection: its gradient [P, H], if it is wanted. */
  readonly projection?: () => Tensor;
}

/** @internal A range of time steps. */
export interface Range {
  readonly start: number;
  readonly length: number;
}

/** @internal The steps in ranges; one range where each operation is recorded anyway. */
export function rangesOf(steps: number): Range[] {
  if (isGradEnabled()) return [{ start: 0, length: steps }];
  const ranges: Range[] = [];
  for (let start = 0, length = MAX_STEPS; start < steps; start += length) {
    while (length > steps - start) length >>= 1;
    ranges.push({ start, length });
  }
  return ranges;
}

/** @internal part: the steps of a range. joined: all ranges as one tensor. rows: [T, N, C] as [T N, C]. */
export const part = (x: Tensor, { start, length }: Range): Tensor => (length === x.shape[0] ? x : narrow(x, 0, start, length));
export const joined = (list: readonly Tensor[]): Tensor => (list.length === 1 ? list[0]! : cat(list, 0));
export const rows = (x: Tensor): Tensor => reshape(x, [x.shape[0]! * x.shape[1]!, x.shape[2]!]);
const sigmoidSlope = (y: Tensor): Tensor => mul(y, sub(1, y));
const tanhSlope = (y: Tensor): Tensor => sub(1, mul(y, y));

/** @internal The states before each step. Where a sample has not begun, its first state. */
export function statesBefore({ reverse, hidden, output, mask }: Direction): Tensor {
  const [steps] = output.shape as [number];
  const first = unsqueeze(hidden, 0);
  if (!reverse) return steps === 1 ? first : cat([first, narrow(output, 0, 0, steps - 1)], 0);
  if (steps === 1) return first;
  const next = narrow(output, 0, 1, steps - 1);
  return cat([mask === null ? next : where(narrow(mask, 0, 1, steps - 1), next, first), first], 0);
}

/** @internal The attributes of the operations of recurrent-steps.ts. */
export const attributes = ({ reverse, mask }: Direction): { reverse: boolean; masked: boolean } => ({ reverse, masked: mask !== null });
export const masksOf = ({ mask }: Direction, range: Range): Tensor[] => (mask === null ? [] : [part(mask, range)]);

/** Steps in the order of the forward pass. */
const forwards = (steps: number, reverse: boolean): number[] => Array.from({ length: steps }, (_, i) => (reverse ? steps - 1 - i : i));

const chosen = (mask: Tensor | null, t: number, value: Tensor, other: Tensor | number): Tensor =>
  mask === null ? value : where(select(mask, 0, t), value, other);

/** An LSTM's gates and the cells before each step, recomputed from the gates' sums, by ranges of steps (recurrent-steps.ts). */
function lstmStates(d: Direction, sums: Tensor): (range: Range) => readonly Tensor[] {
  const ranges = rangesOf(sums.shape[0]!);
  let cell = d.cell!;
  const states = new Map<number, readonly Tensor[]>();
  for (const r of d.reverse ? ranges.toReversed() : ranges) {
    const made = dispatch(lstmCellsOp, [part(sums, r), cell, ...masksOf(d, r)], attributes(d));
    cell = made.pop()!;
    states.set(r.start, made);
  }
  return (r) => states.get(r.start)!;
}

function lstmGates(d: Direction, states: (range: Range) => readonly Tensor[], arriving: Arriving): Gates {
  const ranges = rangesOf(d.output.shape[0]!);
  const made = new Map<Range, Tensor>();
  let [dh, dc] = [arriving.hidden, arriving.cell!];
  for (const r of d.reverse ? ranges : ranges.toReversed()) {
    const operands = [...states(r), part(arriving.output, r), dh, dc, d.weights[1], ...masksOf(d, r)];
    const [gates, hidden, before] = dispatch(lstmStepsGradOp, operands, attributes(d)) as [Tensor, Tensor, Tensor];
    made.set(r, gates);
    [dh, dc] = [hidden, before];
  }
  const all = joined(ranges.map((r) => made.get(r)!));
  return { fromInput: all, fromHidden: all, hidden: dh, cell: dc };
}

/** @internal The same by recorded operations, for second derivatives. */
export function lstmGatesRecorded({ mask, reverse, cell: first, weights, projection }: Direction, sums: Tensor, arriving: Arriving): Gates {
  const steps = sums.shape[0]!;
  const [gi, gf, gz, go] = chunk(sums, 4, 2) as [Tensor, Tensor, Tensor, Tensor];
  const [i, f, z, o] = [sigmoid(gi), sigmoid(gf), tanh(gz), sigmoid(go)];
  const [forget, added] = [unbind(f), unbind(mul(i, z))];
  const before = new Array<Tensor>(steps);
  let cell = first!;
  for (const t of forwards(steps, reverse)) {
    before[t] = cell;
    cell = chosen(mask, t, add(mul(forget[t]!, cell), added[t]!), cell);
  }
  const cells = stack(before, 0);
  const tanhCell = tanh(add(mul(f, cells), mul(i, z)));
  const intoCell = unbind(mul(o, tanhSlope(tanhCell)));
  const factors = [mul(z, sigmoidSlope(i)), mul(cells, sigmoidSlope(f)), mul(i, tanhSlope(z))].map((x) => unbind(x));
  const intoOutput = unbind(mul(tanhCell, sigmoidSlope(o)));
  const dys = unbind(arriving.output);
  const [gates, totals] = [new Array<Tensor>(steps), new Array<Tensor>(steps)];
  let [dh, dc] = [arriving.hidden, arriving.cell!];
  for (const t of forwards(steps, !reverse)) {
    const total = add(dh, dys[t]!);
    totals[t] = total;
    const hidden = projection === undefined ? total : matmul(total, projection);
    const d = add(dc, mul(hidden, intoCell[t]!));
    gates[t] = chosen(mask, t, cat([...factors.map((x) => mul(d, x[t]!)), mul(hidden, intoOutput[t]!)], 1), 0);
    dc = chosen(mask, t, mul(d, forget[t]!), dc);
    dh = chosen(mask, t, matmul(gates[t], weights[1]), dh);
  }
  const all = stack(gates, 0);
  const made = { fromInput: all, fromHidden: all, hidden: dh, cell: dc };
  if (projection === undefined) return made;
  const counted = totals.map((total, t) => chosen(mask, t, total, 0));
  return { ...made, projection: () => projectionGradient(stack(counted, 0), mul(o, tanhCell)) };
}

/** @internal The gradient of a projection, from the gradients of the projected states and from the states before projection. */
export const projectionGradient = (totals: Tensor, states: Tensor): Tensor => matmul(transpose(rows(totals), 0, 1), rows(states));

function gruGates(d: Direction, fromInput: Tensor, fromHidden: Tensor, before: Tensor, arriving: Arriving): Gates {
  const attrs = attributes(d);
  const ranges = rangesOf(fromInput.shape[0]!);
  const made = new Map<Range, readonly [Tensor, Tensor]>();
  let dh = arriving.hidden;
  for (const r of d.reverse ? ranges : ranges.toReversed()) {
    const operands = [...[fromInput, fromHidden, before, arriving.output].map((x) => part(x, r)), dh, d.weights[1], ...masksOf(d, r)];
    const [a, b, hidden] = dispatch(gruStepsGradOp, operands, attrs) as [Tensor, Tensor, Tensor];
    made.set(r, [a, b]);
    dh = hidden;
  }
  const all = (i: 0 | 1): Tensor => joined(ranges.map((r) => made.get(r)![i]));
  return { fromInput: all(0), fromHidden: all(1), hidden: dh, cell: null };
}

function gruGatesRecorded(
  { mask, reverse, weights }: Direction,
  fromInput: Tensor,
  fromHidden: Tensor,
  before: Tensor,
  arriving: Arriving,
): Gates {
  const steps = fromInput.shape[0]!;
  const [xr, xz, xn] = chunk(fromInput, 3, 2) as [Tensor, Tensor, Tensor];
  const [hr, hz, own] = chunk(fromHidden, 3, 2) as [Tensor, Tensor, Tensor];
  const [r, z] = [sigmoid(add(xr, hr)), sigmoid(add(xz, hz))];
  const n = tanh(add(xn, mul(r, own)));
  const candidate = mul(sub(1, z), tanhSlope(n));
  const reset = mul(mul(candidate, own), sigmoidSlope(r));
  const update = mul(sub(before, n), sigmoidSlope(z));
  const factors = unbind(cat([reset, update, mul(candidate, r)], 2));
  const [candidates, updates, dys] = [unbind(candidate), unbind(z), unbind(arriving.output)];
  const [gates, last] = [new Array<Tensor>(steps), new Array<Tensor>(steps)];
  let dh = arriving.hidden;
  for (const t of forwards(steps, !reverse)) {
    const total = add(dh, dys[t]!);
    gates[t] = chosen(mask, t, mul(factors[t]!, cat([total, total, total], 1)), 0);
    last[t] = chosen(mask, t, mul(total, candidates[t]!), 0);
    dh = chosen(mask, t, addmm(mul(total, updates[t]!), gates[t], weights[1]), dh);
  }
  const all = stack(gates, 0);
  const [dr, dz] = chunk(all, 3, 2) as [Tensor, Tensor];
  return { fromInput: cat([dr, dz, stack(last, 0)], 2), fromHidden: all, hidden: dh, cell: null };
}

function rnnGates(d: Direction, kind: "tanh" | "relu", arriving: Arriving): Gates {
  const attrs = { ...attributes(d), kind };
  const ranges = rangesOf(d.output.shape[0]!);
  const made = new Map<Range, Tensor>();
  let dh = arriving.hidden;
  for (const r of d.reverse ? ranges : ranges.toReversed()) {
    const operands = [part(d.output, r), part(arriving.output, r), dh, d.weights[1], ...masksOf(d, r)];
    const [sums, hidden] = dispatch(rnnStepsGradOp, operands, attrs) as [Tensor, Tensor];
    made.set(r, sums);
    dh = hidden;
  }
  const all = joined(ranges.map((r) => made.get(r)!));
  return { fromInput: all, fromHidden: all, hidden: dh, cell: null };
}

function rnnGatesRecorded({ mask, reverse, output, weights }: Direction, kind: "tanh" | "relu", arriving: Arriving): Gates {
  const [ys, dys] = [unbind(output), unbind(arriving.output)];
  const slopes = kind === "tanh" ? unbind(tanhSlope(output)) : null;
  const sums = new Array<Tensor>(ys.length);
  let dh = arriving.hidden;
  for (const t of forwards(ys.length, !reverse)) {
    const total = add(dh, dys[t]!);
    sums[t] = chosen(mask, t, slopes === null ? reluBy(ys[t]!, total) : mul(total, slopes[t]!), 0);
    dh = chosen(mask, t, matmul(sums[t], weights[1]), dh);
  }
  const all = stack(sums, 0);
  return { fromInput: all, fromHidden: all, hidden: dh, cell: null };
}

/** @internal Gradients of one direction's operands; needs: which of x, the input's weights and bias, the hidden state's weights and bias want one. */
export function directionGradient(
  d: Direction,
  upstream: Arriving,
  needs: { readonly x: boolean; readonly weights: readonly [boolean, boolean]; readonly biases: readonly [boolean, boolean] },
): {
  readonly x: Tensor | null;
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
  readonly weights: readonly [Tensor | null, Tensor | null];
  readonly biases: readonly [Tensor | null, Tensor | null];
} {
  const { kind, mask } = d;
  const [steps, batch] = d.x.shape as [number, number];
  // Steps beyond a sample's end do not count, even where they are NaN.
  const arriving = mask === null ? upstream : { ...upstream, output: where(mask, upstream.output, 0) };
  const x = rows(mask === null ? d.x : where(mask, d.x, 0));
  const before = statesBefore(d);
  const [wx, wh] = d.weights;
  const [bx, bh] = d.biases ?? [null, null];
  const timed = (t: Tensor): Tensor => reshape(t, [steps, batch, t.shape[1]!]);
  const isRecorded = isGradEnabled();
  let gates: Gates;
  if (kind === "lstm") {
    const bias = bx === null || bh === null ? null : add(bx, bh);
    const sums = timed(addmm(linear(x, wx, bias), rows(before), transpose(wh, 0, 1)));
    gates = isRecorded ? lstmGatesRecorded(d, sums, arriving) : lstmGates(d, lstmStates(d, sums), arriving);
  } else if (kind === "gru") {
    const [a, b] = [timed(linear(x, wx, bx)), timed(linear(rows(before), wh, bh))];
    gates = (isRecorded ? gruGatesRecorded : gruGates)(d, a, b, before, arriving);
  } else gates = (isRecorded ? rnnGatesRecorded : rnnGates)(d, kind, arriving);
  const [da, db] = [rows(gates.fromInput), rows(gates.fromHidden)];
  const biasGradient = needs.biases.includes(true) ? sum(da, 0) : null;
  return {
    x: needs.x ? timed(matmul(da, wx)) : null,
    hidden: gates.hidden,
    cell: gates.cell,
    weights: [
      needs.weights[0] ? matmul(transpose(da, 0, 1), x) : null,
      needs.weights[1] ? matmul(transpose(db, 0, 1), rows(before)) : null,
    ],
    biases: [
      needs.biases[0] ? biasGradient : null,
      needs.biases[1] ? (gates.fromHidden === gates.fromInput ? biasGradient : sum(db, 0)) : null,
    ],
  };
}

/** @internal The weights of the hidden state, for gradients through time alone: the gates' sums from the input are an operand. */
export type Scanned = Omit<Direction, "x" | "weights" | "biases"> & { readonly weights: Tensor };

/** @internal Gradients of that operand, of the hidden state's weights and bias, and of the states before; saved: an LSTM's gates and cells, a GRU's share of the hidden state. */
export function scanGradient(
  s: Scanned,
  fromInput: Tensor,
  bias: Tensor | null,
  saved: readonly Tensor[],
  arriving: Arriving,
): { readonly gates: Gates; readonly weights: Tensor; bias(): Tensor } {
  const d: Direction = { ...s, x: fromInput, weights: [s.weights, s.weights], biases: null };
  const before = statesBefore(d);
  const own = (): Tensor => linear(before, s.weights, bias);
  const isRecorded = isGradEnabled();
  let gates: Gates;
  if (d.kind === "lstm")
    gates = isRecorded
      ? lstmGatesRecorded(d, add(fromInput, own()), arriving)
      : lstmGates(d, (r) => saved.map((t) => part(t, r)), arriving);
  else gates = isRecorded ? gruGatesRecorded(d, fromInput, own(), before, arriving) : gruGates(d, fromInput, saved[0]!, before, arriving);
  const rowsOfGates = rows(gates.fromHidden);
  return { gates, weights: matmul(transpose(rowsOfGates, 0, 1), rows(before)), bias: () => sum(rowsOfGates, 0) };
}

/** @internal Which steps each sample has, [T, N, 1] bool. lengths: [N] integers. */
export function stepMask(lengths: Tensor, steps: number): Tensor {
  const index = arange(steps, { dtype: "int32", device: lengths.device });
  return unsqueeze(gt(unsqueeze(toDType(lengths, "int32"), 0), unsqueeze(index, 1)), 2);
}

/** @internal The gradient, or zeros where there is none. */
export const orZeros = (dy: Tensor | null, like: Tensor, shape: readonly number[]): Tensor =>
  dy ?? zeros(shape, { dtype: like.dtype, device: like.device });
