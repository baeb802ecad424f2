/** Recurrent networks: LSTM, GRU, RNN. */
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { isInteger } from "../../core/dtype.ts";
import { sameShape, showShape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { relu } from "../elementwise/activation.ts";
import { add } from "../elementwise/binary.ts";
import { gt } from "../elementwise/compare.ts";
import { tensor, zeros } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { requireProbability, dropout } from "../random/dropout.ts";
import { cat, stack } from "../shape/join.ts";
import { linear } from "../matmul/matmul.ts";
import { narrow, reshape, select, transpose, unbind, unsqueeze } from "../shape/movement.ts";
import type { Generator } from "../random/random.ts";
import { gruStep, lstmStep } from "./recurrent-cell.ts";
import { wholeLayer } from "./recurrent-layer.ts";
import { stepMask } from "./recurrent-gradient.ts";
import { projectedLayer } from "./recurrent-projection.ts";
import { isScanned, scan } from "./recurrent-scan.ts";
import { clone } from "../data/state.ts";
import { requireFloat } from "../declare/support.ts";
import { tanh } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";
import { real, sample, type Sample } from "../declare/sample.ts";

/** Which cell: "lstm", "gru", or a plain one with "tanh" or "relu". */
export type RecurrentKind = "lstm" | "gru" | "tanh" | "relu";

/** The weights of one layer in one direction, as PyTorch lays them out: LSTM's gates i, f, g, o; GRU's r, z, n. */
export interface RecurrentWeights {
  /** [gates * H, inputs] */
  readonly input: Tensor;
  /** [gates * H, H], or of the projection's width. */
  readonly hidden: Tensor;
  /** [gates * width]: the bias of the input's sums. Default: null. */
  readonly inputBias?: Tensor | null | undefined;
  /** [gates * width]: the bias of the hidden state's sums. Default: null. */
  readonly hiddenBias?: Tensor | null | undefined;
  /** [P, H]: an LSTM's hidden states are projected by it. */
  readonly projection?: Tensor | null | undefined;
}

/** Hidden state, and an LSTM's cell. */
interface State {
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

/** One step: x is the gates' sums from the input. */
function step(kind: RecurrentKind, x: Tensor, state: State, w: RecurrentWeights): State {
  const own = linear(state.hidden, w.hidden, w.hiddenBias ?? null);
  if (kind === "lstm") {
    const [hidden, cell] = lstmStep(x, own, state.cell!);
    return { hidden: w.projection == null ? hidden : linear(hidden, w.projection), cell };
  }
  if (kind === "gru") return { hidden: gruStep(x, own, state.hidden), cell: null };
  const sum = add(x, own);
  return { hidden: kind === "tanh" ? tanh(sum) : relu(sum), cell: null };
}

/** One direction of one layer over x [T, N, I]; masks [N, 1]: which samples have this step. */
function direction(
  kind: RecurrentKind,
  x: Tensor,
  state: State,
  w: RecurrentWeights,
  isReverse: boolean,
  masks: readonly Tensor[] | null,
): { outputs: Tensor; state: State } {
  const steps = x.shape[0]!;
  // One GEMM over all steps for the input; one GEMM a step for the hidden state.
  const gates = linear(x, w.input, w.inputBias ?? null);
  const outputs = new Array<Tensor>(steps);
  for (let i = 0; i < steps; i++) {
    const t = isReverse ? steps - 1 - i : i;
    const next = step(kind, select(gates, 0, t), state, w);
    const mask = masks?.[t] ?? null;
    state =
      mask === null
        ? next
        : { hidden: where(mask, next.hidden, state.hidden), cell: next.cell === null ? null : where(mask, next.cell, state.cell!) };
    outputs[t] = mask === null ? next.hidden : where(mask, next.hidden, 0);
  }
  return { outputs: stack(outputs, 0), state };
}

/** Options of recurrent(). */
export interface RecurrentOptions {
  /** Hidden states to start with, [layers * directions, N, H]. Default: zeros. */
  readonly hidden?: Tensor | null | undefined;
  /** An LSTM's cells to start with. Default: zeros. */
  readonly cell?: Tensor | null | undefined;
  /** Whether a second layer runs from the end to the start. Default: false. */
  readonly bidirectional?: boolean | undefined;
  /** Whether x and the outputs are [N, T, …]. Default: false. */
  readonly batchFirst?: boolean | undefined;
  /** How many steps of each sample count, [N]: beyond them outputs are zeros and states stay. PyTorch's packed sequences. */
  readonly lengths?: Tensor | readonly number[] | null | undefined;
  /** Probability with which elements between layers are left out. Default: 0. */
  readonly dropout?: number | undefined;
  /** Whether that happens. Default: false. */
  readonly training?: boolean | undefined;
  /** The source of random numbers. Default: the device's default generator. */
  readonly generator?: Generator | undefined;
}

/** The results of recurrent layers. */
export interface RecurrentResult {
  /** The last layer's hidden states, [T, N, directions * H]. */
  readonly output: Tensor;
  /** The last hidden states, [layers * directions, N, H]. */
  readonly hidden: Tensor;
  /** An LSTM's last cells; null for others. */
  readonly cell: Tensor | null;
}

/** The number of gates in each cell's weights. @package */
export const GATES: { readonly [K in RecurrentKind]: number } = { lstm: 4, gru: 3, tanh: 1, relu: 1 };

function requireWeights(kind: RecurrentKind, index: number, width: number, w: RecurrentWeights): number {
  const states = w.hidden.shape[0]! / GATES[kind];
  const kept = w.projection == null ? states : w.projection.shape[0]!;
  const wanted: readonly [string, Tensor | null | undefined, readonly number[]][] = [
    ["input", w.input, [GATES[kind] * states, width]],
    ["hidden", w.hidden, [GATES[kind] * states, kept]],
    ["inputBias", w.inputBias, [GATES[kind] * states]],
    ["hiddenBias", w.hiddenBias, [GATES[kind] * states]],
    ["projection", w.projection, [kept, states]],
  ];
  for (const [name, t, shape] of wanted)
    if (t != null && !sameShape(t.shape, shape)) throw new ShapeError(kind, `weights[${index}].${name}`, showShape(shape), t.describe());
  if (w.projection != null && kind !== "lstm") throw new ValueError(kind, "projection", "null but for an LSTM", w.projection);
  return states;
}

/**
 * A recurrent network over x [T, N, I] (or [T, I]; [N, T, I] with batchFirst). weights: per layer, and per direction within it.
 *
 * LSTM: c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c'). GRU: h' = (1 - z) n + z h with n = tanh(x_n + r h_n). DirectML:
 * LSTM, GRU, RNN, a layer each; projected hidden states by GEMM, ACTIVATION_SIGMOID, ACTIVATION_TANH. Reference: torch.nn.LSTM, GRU, RNN.
 * @autocast lower
 */
export function recurrent(
  kind: RecurrentKind,
  x: Tensor,
  weights: readonly RecurrentWeights[],
  options: RecurrentOptions = {},
): RecurrentResult {
  requireFloat(kind, x);
  const directions = options.bidirectional === true ? 2 : 1;
  const layers = weights.length / directions;
  const p = options.dropout ?? 0;
  requireProbability(kind, p);
  if (!Number.isInteger(layers) || layers < 1)
    throw new ValueError(kind, "weights", `one or more for each of ${directions} directions`, weights.length);
  if (x.rank !== 3 && x.rank !== 2) throw new ShapeError(kind, "x", "[T, N, I] or [T, I]", x.describe());
  requireSameDevice(kind, [x, ...weights.flatMap((w) => [w.input, w.hidden])]);
  const single = x.rank === 2;
  const batchFirst = !single && options.batchFirst === true;
  let sequence = single ? unsqueeze(x, 1) : batchFirst ? transpose(x, 0, 1) : x;
  const [steps, batch] = sequence.shape as [number, number];
  if (steps === 0) throw new ShapeError(kind, "x", "of at least one step", x.describe());
  const sizes = weights.map((w, i) =>
    requireWeights(kind, i, i < directions ? sequence.shape[2]! : directions * outputWidth(weights[0]!, kind), w),
  );
  const kept = outputWidth(weights[0]!, kind);
  const starts = state(kind, "hidden", options.hidden, [weights.length, batch, kept], x, single);
  const cells = kind === "lstm" ? state(kind, "cell", options.cell, [weights.length, batch, sizes[0]!], x, single) : null;
  const lengths = options.lengths == null ? null : lengthsOf(kind, options.lengths, steps, batch, x);
  const hiddens: Tensor[] = [];
  const lasts: Tensor[] = [];
  for (let layer = 0; layer < layers; layer++) {
    const first = layer * directions;
    const own = weights.slice(first, first + directions);
    const made = recurrentLayer(
      kind,
      sequence,
      own,
      narrow(starts, 0, first, directions),
      cells && narrow(cells, 0, first, directions),
      lengths,
    );
    hiddens.push(...made.hidden);
    lasts.push(...made.cell);
    sequence = made.output;
    if (layer < layers - 1 && p > 0 && options.training === true) sequence = dropout(sequence, { p, generator: options.generator });
  }
  // PyTorch saves what its fused LSTM gives, of one direction, without lengths and projections: other outputs may be changed in place.
  const isFused = kind === "lstm" && directions === 1 && lengths === null && weights[0]!.projection == null;
  if (!isFused && sequence.requiresGrad) sequence = clone(sequence);
  const stacked = (list: readonly Tensor[]): Tensor =>
    single ? reshape(stack(list, 0), [list.length, list[0]!.shape[1]!]) : stack(list, 0);
  return {
    output: single ? select(sequence, 1, 0) : batchFirst ? transpose(sequence, 0, 1) : sequence,
    hidden: stacked(hiddens),
    cell: lasts.length === 0 ? null : stacked(lasts),
  };
}

/** @internal A layer's outputs [T, N, D * H], and each direction's last states. */
export interface LayerResult {
  readonly output: Tensor;
  readonly hidden: readonly Tensor[];
  /** An LSTM's; none for others. */
  readonly cell: readonly Tensor[];
}

/**
 * @internal One layer over x [T, N, I], a node of the tape where its operator or its operands allow. weights: of each direction; two: the second one runs
 * from the end; isReverse: the only one does. hidden, cell: [D, N, H]. @autocast lower
 */
export function recurrentLayer(
  kind: RecurrentKind,
  x: Tensor,
  weights: readonly RecurrentWeights[],
  hidden: Tensor,
  cell: Tensor | null,
  lengths: Tensor | null,
  isReverse = false,
): LayerResult {
  const scans = lengths === null && isScanned(kind, x, cell === null ? [hidden] : [hidden, cell], weights);
  const whole = scans ? null : wholeLayer(kind, x, weights, hidden, cell, lengths === null ? null : toDType(lengths, "uint32"), isReverse);
  if (whole !== null) return { output: whole.outputs, hidden: unbind(whole.hidden), cell: whole.cell === null ? [] : unbind(whole.cell) };
  const steps = x.shape[0]!;
  const mask = lengths === null || weights[0]!.projection == null ? null : stepMask(lengths, steps);
  let masks: readonly Tensor[] | null = null;
  const results = weights.map((w, d): State & { readonly outputs: Tensor } => {
    const reverse = d === 1 || isReverse;
    const [h, c] = [select(hidden, 0, d), cell === null ? null : select(cell, 0, d)];
    if (scans) return scan(kind as "lstm" | "gru", x, h, c, w, reverse);
    const projected = w.projection == null ? null : projectedLayer(x, h, c!, w, reverse, mask);
    if (projected !== null) return projected;
    masks ??= lengths === null ? null : masksOf(lengths, steps);
    const { outputs, state } = direction(kind, x, { hidden: h, cell: c }, w, reverse, masks);
    return { outputs, ...state };
  });
  return {
    output:
      results.length === 1
        ? results[0]!.outputs
        : cat(
            results.map((r) => r.outputs),
            2,
          ),
    hidden: results.map((r) => r.hidden),
    cell: results.flatMap((r) => (r.cell === null ? [] : [r.cell])),
  };
}

const outputWidth = (w: RecurrentWeights, kind: RecurrentKind): number =>
  w.projection == null ? w.hidden.shape[0]! / GATES[kind] : w.projection.shape[0]!;

function state(
  kind: string,
  name: string,
  initial: Tensor | null | undefined,
  shape: readonly number[],
  x: Tensor,
  single: boolean,
): Tensor {
  if (initial == null) return zeros(shape, { dtype: x.dtype, device: x.device });
  const wanted = single ? [shape[0]!, shape[2]!] : shape;
  if (!sameShape(initial.shape, wanted)) throw new ShapeError(kind, name, showShape(wanted), initial.describe());
  if (initial.dtype !== x.dtype) throw new DTypeError(kind, name, `of x's dtype ${x.dtype}`, initial.describe());
  return single ? unsqueeze(initial, 1) : initial;
}

/** Steps of each sample, [N] int32. */
function lengthsOf(kind: string, lengths: Tensor | readonly number[], steps: number, batch: number, x: Tensor): Tensor {
  if (lengths instanceof Tensor) {
    if (!isInteger(lengths.dtype) || !sameShape(lengths.shape, [batch]))
      throw new ShapeError(kind, "lengths", `integers [${batch}]`, lengths.describe());
  } else if (lengths.length !== batch || lengths.some((n) => !Number.isInteger(n) || n < 1 || n > steps)) {
    throw new ValueError(kind, "lengths", `${batch} integers in [1, ${steps}]`, lengths);
  }
  return lengths instanceof Tensor ? toDType(lengths, "int32") : tensor(Int32Array.from(lengths), { device: x.device });
}

/** For each step which samples it belongs to, [N, 1]. */
function masksOf(lengths: Tensor, steps: number): Tensor[] {
  const column = unsqueeze(lengths, 1);
  return Array.from({ length: steps }, (_, t) => gt(column, t));
}

/** One step of a cell. x: [N, I] or [I]; hidden and cell alike. Reference: torch.nn.LSTMCell, GRUCell, RNNCell. @autocast lower */
export function recurrentCell(
  kind: RecurrentKind,
  x: Tensor,
  weights: RecurrentWeights,
  {
    hidden = null,
    cell = null,
  }: {
    /** The next hidden state. */
    readonly hidden?: Tensor | null | undefined; /** The next cell state; null for kinds without one. */
    readonly cell?: Tensor | null | undefined;
  } = {},
): {
  /** The next hidden state. */
  readonly hidden: Tensor; /** The next cell state; null for kinds without one. */
  readonly cell: Tensor | null;
} {
  requireFloat(kind, x);
  if (x.rank !== 2 && x.rank !== 1) throw new ShapeError(kind, "x", "[N, I] or [I]", x.describe());
  const rows = x.rank === 2 ? x : unsqueeze(x, 0);
  const width = requireWeights(kind, 0, rows.shape[1]!, weights);
  const at = (t: Tensor | null, name: string): Tensor => {
    const shape = x.rank === 2 ? [rows.shape[0]!, width] : [width];
    if (t === null) return zeros([rows.shape[0]!, width], { dtype: x.dtype, device: x.device });
    if (!sameShape(t.shape, shape)) throw new ShapeError(kind, name, showShape(shape), t.describe());
    return x.rank === 2 ? t : unsqueeze(t, 0);
  };
  const next = step(
    kind,
    linear(rows, weights.input, weights.inputBias ?? null),
    { hidden: at(hidden, "hidden"), cell: kind === "lstm" ? at(cell, "cell") : null },
    weights,
  );
  const back = (t: Tensor): Tensor => (x.rank === 2 ? t : select(t, 0, 0));
  return { hidden: back(next.hidden), cell: next.cell === null ? null : back(next.cell) };
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample(
    "composed",
    "an LSTM with projected hidden states",
    [real([3, 2, 4]), real([1, 2, 2]), real([1, 2, 3]), real([12, 4], -1, 1), real([12, 2], -1, 1), real([2, 3], -1, 1)],
    (x, hidden, cell, input, own, projection) => {
      const weights = { input: input!, hidden: own!, projection: projection! };
      const made = recurrent("lstm", x!, [weights], { hidden: hidden!, cell: cell! });
      return [made.output, made.hidden, made.cell!];
    },
  ),
];
