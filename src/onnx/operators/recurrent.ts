/**
 * Recurrent layers of one level, in one or both directions: DirectML's operators where they have the options and no gradient is wanted, this library's
 * layers where these have the options, else step by step.
 */
import type { Activation as Fused } from "../../graph/graph.ts";
import * as ops from "../../ops/index.ts";
import { recurrentNode } from "../../ops/recurrent/recurrent-node.ts";
import { recurrentLayer, type RecurrentKind, type RecurrentWeights } from "../../ops/recurrent/recurrent.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

type Activation = (x: Tensor) => Tensor;

/** Activations by name, with their parameters if they take any. */
function activationOf(c: Call, { name, alpha, beta }: Named): Activation {
  switch (name.toLowerCase()) {
    case "sigmoid":
      return ops.sigmoid;
    case "tanh":
      return ops.tanh;
    case "relu":
      return ops.relu;
    case "affine":
      return (x) => ops.add(ops.mul(x, alpha ?? 1), beta ?? 0);
    case "leakyrelu":
      return (x) => ops.leakyRelu(x, { negativeSlope: alpha ?? 0.01 });
    case "thresholdedrelu":
      return (x) => ops.where(ops.gt(x, alpha ?? 1), x, ops.zerosLike(x));
    case "scaledtanh":
      return (x) => ops.mul(ops.tanh(ops.mul(x, beta ?? 1)), alpha ?? 1);
    case "hardsigmoid":
      return (x) => ops.clamp(ops.add(ops.mul(x, alpha ?? 0.2), beta ?? 0.5), 0, 1);
    case "elu":
      return (x) => ops.elu(x, { alpha: alpha ?? 1 });
    case "softsign":
      return ops.softsign;
    case "softplus":
      return (x) => ops.softplus(x);
    default:
      throw c.unsupported(`activation ${name}`);
  }
}

/** Those that take an alpha, and those that take a beta, in the order of their lists. */
const WITH_ALPHA = ["affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu"];
const WITH_BETA = ["affine", "scaledtanh", "hardsigmoid"];

/** An activation of a node: its name, and its parameters if they are given. */
interface Named {
  readonly name: string;
  readonly alpha: number | undefined;
  readonly beta: number | undefined;
}

/** As DirectML's own operator. */
function fusedOf({ name, alpha, beta }: Named): Fused | null {
  const made = (operator: Fused["operator"], attributes: Fused["attributes"] = {}): Fused => ({ operator, attributes });
  switch (name.toLowerCase()) {
    case "sigmoid":
      return made("ACTIVATION_SIGMOID");
    case "tanh":
      return made("ACTIVATION_TANH");
    case "relu":
      return made("ACTIVATION_RELU");
    case "softsign":
      return made("ACTIVATION_SOFTSIGN");
    case "softplus":
      return made("ACTIVATION_SOFTPLUS", { steepness: 1 });
    case "affine":
      return made("ACTIVATION_LINEAR", { alpha: alpha ?? 1, beta: beta ?? 0 });
    case "leakyrelu":
      return made("ACTIVATION_LEAKY_RELU", { alpha: alpha ?? 0.01 });
    case "elu":
      return made("ACTIVATION_ELU", { alpha: alpha ?? 1 });
    case "scaledtanh":
      return made("ACTIVATION_SCALED_TANH", { alpha: alpha ?? 1, beta: beta ?? 1 });
    case "hardsigmoid":
      return made("ACTIVATION_HARD_SIGMOID", { alpha: alpha ?? 0.2, beta: beta ?? 0.5 });
    default:
      return null;
  }
}

function activations(c: Call, usual: readonly string[], directions: number): Named[] {
  const names = c.texts("activations") ?? Array.from({ length: directions }, () => usual).flat();
  const [alphas, betas] = [[...(c.floats("activation_alpha") ?? [])], [...(c.floats("activation_beta") ?? [])]];
  return names.map((name) => {
    const lower = name.toLowerCase();
    return {
      name,
      alpha: WITH_ALPHA.includes(lower) ? alphas.shift() : undefined,
      beta: WITH_BETA.includes(lower) ? betas.shift() : undefined,
    };
  });
}

/** Which layer of this library a node is, with its usual activations and options; null: none. */
function layerKind(c: Call, kind: "LSTM" | "GRU" | "RNN", named: readonly Named[]): RecurrentKind | null {
  const names = named.map(({ name }) => name.toLowerCase());
  const each = kind === "LSTM" ? 3 : kind === "GRU" ? 2 : 1;
  const all = (...usual: readonly string[]): boolean => names.every((name, i) => name === usual[i % each]);
  switch (kind) {
    case "LSTM":
      return all("sigmoid", "tanh", "tanh") && !c.flag("input_forget") ? "lstm" : null;
    case "GRU":
      return all("sigmoid", "tanh") && c.flag("linear_before_reset") ? "gru" : null;
    case "RNN":
      return all("tanh") ? "tanh" : all("relu") ? "relu" : null;
  }
}

/** Where the gates of this library's order are in ONNX's: i, f, g, o of i, o, f, c; r, z, n of z, r, h. */
const ORDER: { readonly [K in RecurrentKind]: readonly number[] } = { lstm: [0, 2, 3, 1], gru: [1, 0, 2], tanh: [0], relu: [0] };

/** Rows of gates in this library's order. */
function reordered(kind: RecurrentKind, t: Tensor): Tensor {
  const order = ORDER[kind];
  const parts = ops.chunk(t, order.length, 0);
  return order.length === 1
    ? t
    : ops.cat(
        order.map((k) => parts[k]!),
        0,
      );
}

/** [Y, Y_h] and an LSTM's Y_c of a layer of this library. */
function layerOf(
  kind: RecurrentKind,
  x: Tensor,
  [w, r, bias]: readonly [Tensor, Tensor, Tensor | null],
  [hidden, cell]: readonly [Tensor | null, Tensor | null],
  lengths: Tensor | null,
  isReverse: boolean,
): Tensor[] {
  const [steps, batch] = x.shape as [number, number];
  const [count, rows, size] = r.shape as [number, number, number];
  const zeros = (): Tensor => ops.zeros([count, batch, size], { dtype: x.dtype, device: x.device });
  const weights = Array.from({ length: count }, (_, d): RecurrentWeights => {
    const own = bias === null ? null : ops.select(bias, 0, d);
    return {
      input: reordered(kind, ops.select(w, 0, d)),
      hidden: reordered(kind, ops.select(r, 0, d)),
      inputBias: own && reordered(kind, ops.narrow(own, 0, 0, rows)),
      hiddenBias: own && reordered(kind, ops.narrow(own, 0, rows, rows)),
    };
  });
  const made = recurrentLayer(kind, x, weights, hidden ?? zeros(), kind === "lstm" ? (cell ?? zeros()) : null, lengths, isReverse);
  const y = ops.permute(ops.reshape(made.output, [steps, batch, count, size]), 0, 2, 1, 3);
  return [y, ops.stack(made.hidden, 0), ...(kind === "lstm" ? [ops.stack(made.cell, 0)] : [])];
}

interface State {
  readonly hidden: Tensor;
  readonly cell: Tensor | null;
}

/** One step: what the gates get from the input, and the state before. */
type Step = (gates: Tensor, state: State) => State;

/** Weights of one direction: W [gates * H, I], R [gates * H, H], both biases, peepholes. */
interface Direction {
  readonly input: Tensor;
  readonly hidden: Tensor;
  readonly inputBias: Tensor | null;
  readonly hiddenBias: Tensor | null;
  readonly peepholes: Tensor | null;
  readonly functions: readonly Activation[];
}

type Cell = (c: Call, w: Direction, clip: (t: Tensor) => Tensor) => Step;

const recurrentPart = (state: State, w: Direction): Tensor => {
  const product = ops.matmul(state.hidden, ops.t(w.hidden));
  return w.hiddenBias === null ? product : ops.add(product, w.hiddenBias);
};

const plain: Cell = (_, w, clip) => (gates, state) => ({
  hidden: w.functions[0]!(clip(ops.add(gates, recurrentPart(state, w)))),
  cell: null,
});

/** Gates z, r, h. */
const gru: Cell = (c, w, clip) => {
  const afterReset = c.flag("linear_before_reset");
  const [f, g] = w.functions as [Activation, Activation];
  return (gates, state) => {
    const [xz, xr, xh] = ops.chunk(gates, 3, 1) as [Tensor, Tensor, Tensor];
    const [hz, hr, hh] = ops.chunk(recurrentPart(state, w), 3, 1) as [Tensor, Tensor, Tensor];
    const z = f(clip(ops.add(xz, hz)));
    const r = f(clip(ops.add(xr, hr)));
    const seen = afterReset ? ops.mul(r, hh) : recurrentOf(w, ops.mul(r, state.hidden), 2);
    const h = g(clip(ops.add(xh, seen)));
    return { hidden: ops.add(ops.mul(ops.sub(1, z), h), ops.mul(z, state.hidden)), cell: null };
  };
};

/** One gate's GEMM with a hidden state. */
function recurrentOf(w: Direction, hidden: Tensor, gate: number): Tensor {
  const size = w.hidden.shape[1]!;
  const product = ops.matmul(hidden, ops.t(ops.narrow(w.hidden, 0, gate * size, size)));
  return w.hiddenBias === null ? product : ops.add(product, ops.narrow(w.hiddenBias, 0, gate * size, size));
}

/** Gates i, o, f, c; peepholes i, o, f. */
const lstm: Cell = (c, w, clip) => {
  const [f, g, h] = w.functions as [Activation, Activation, Activation];
  const couples = c.flag("input_forget");
  const peeps = w.peepholes === null ? null : (ops.chunk(w.peepholes, 3, 0) as [Tensor, Tensor, Tensor]);
  const peep = (x: Tensor, i: number, cell: Tensor): Tensor => (peeps === null ? x : ops.add(x, ops.mul(peeps[i]!, cell)));
  return (gates, state) => {
    const [i, o, forget, cell] = ops.chunk(ops.add(gates, recurrentPart(state, w)), 4, 1) as [Tensor, Tensor, Tensor, Tensor];
    const before = state.cell!;
    const input = f(clip(peep(i, 0, before)));
    const kept = couples ? ops.sub(1, input) : f(clip(peep(forget, 2, before)));
    const next = ops.add(ops.mul(kept, before), ops.mul(input, g(clip(cell))));
    const output = f(clip(peep(o, 1, next)));
    return { hidden: ops.mul(output, h(next)), cell: next };
  };
};

function run(c: Call, gates: number, usual: readonly string[], cell: Cell, hasCell: boolean): Tensor[] {
  const isBatchFirst = c.int("layout", 0) === 1;
  const x = isBatchFirst ? ops.transpose(c.x, 0, 1) : c.x;
  const [steps, batch] = x.shape as [number, number];
  const [w, r, bias, peepholes] = [c.tensor(1), c.tensor(2), c.optional(3), hasCell ? c.optional(7) : null];
  const direction = c.oneOf("direction", "forward", ["forward", "reverse", "bidirectional"]);
  const count = w.shape[0]!;
  const size = r.shape[2]!;
  const named = activations(c, usual, count);
  const limit = c.float("clip", 0);
  const laid = (i: number): Tensor | null => {
    const t = c.optional(i);
    return t === null ? null : isBatchFirst ? ops.transpose(t, 0, 1) : t;
  };
  const [firstHidden, firstCell] = [laid(5), hasCell ? laid(6) : null];
  const results = (y: Tensor, ends: readonly Tensor[]): Tensor[] =>
    // [T, directions, N, H], or with the batch first [N, T, directions, H].
    isBatchFirst ? [ops.permute(y, 2, 0, 1, 3), ...ends.map((e) => ops.transpose(e, 0, 1))] : [y, ...ends];
  const kind = hasCell ? "LSTM" : gates === 3 ? "GRU" : "RNN";
  const fused = named.map(fusedOf);
  if (fused.every((a) => a !== null) && (hasCell || limit === 0)) {
    const whole = recurrentNode(
      x,
      w,
      r,
      { bias, hidden: firstHidden, cell: firstCell, lengths: c.has(4) ? ops.to(c.tensor(4), "uint32") : null, peephole: peepholes },
      {
        kind,
        direction: direction === "forward" ? "FORWARD" : direction === "reverse" ? "BACKWARD" : "BIDIRECTIONAL",
        activations: fused,
        clip: limit,
        couplesInputForget: c.flag("input_forget"),
        resetsAfterMatmul: c.flag("linear_before_reset"),
      },
    );
    if (whole !== null) return results(whole[0]!, whole.slice(1));
  }
  const own = limit === 0 && peepholes === null ? layerKind(c, kind, named) : null;
  if (own !== null) {
    const counts = c.has(4) ? ops.to(c.tensor(4), "int32") : null;
    const [y, ...ends] = layerOf(own, x, [w, r, bias], [firstHidden, firstCell], counts, direction === "reverse");
    return results(y!, ends);
  }
  const functions = named.map((n) => activationOf(c, n));
  const clip = (t: Tensor): Tensor => (limit === 0 ? t : ops.clamp(t, -limit, limit));
  const lengths = c.has(4) ? c.numbers(4) : null;
  const masks = lengths === null || lengths.every((n) => n >= steps) ? null : masksOf(c, lengths, steps);
  const zero = (): Tensor => ops.zeros([batch, size], { dtype: x.dtype, device: x.device });
  const all: Tensor[] = [];
  const last: State[] = [];
  for (let d = 0; d < count; d++) {
    const whole = bias === null ? null : ops.select(bias, 0, d);
    const weights: Direction = {
      input: ops.select(w, 0, d),
      hidden: ops.select(r, 0, d),
      inputBias: whole === null ? null : ops.narrow(whole, 0, 0, gates * size),
      hiddenBias: whole === null ? null : ops.narrow(whole, 0, gates * size, gates * size),
      peepholes: peepholes === null ? null : ops.select(peepholes, 0, d),
      functions: functions.slice(d * usual.length, (d + 1) * usual.length),
    };
    const step = cell(c, weights, clip);
    const start: State = {
      hidden: firstHidden === null ? zero() : ops.select(firstHidden, 0, d),
      cell: hasCell ? (firstCell === null ? zero() : ops.select(firstCell, 0, d)) : null,
    };
    const { outputs, state } = scanSteps(x, weights, step, start, direction === "reverse" || d === 1, masks);
    all.push(outputs);
    last.push(state);
  }
  const end = (pick: (s: State) => Tensor): Tensor => ops.stack(last.map(pick), 0);
  const ends = [end((s) => s.hidden), ...(hasCell ? [end((s) => s.cell!)] : [])];
  return results(ops.stack(all, 1), ends);
}

/** For each step which samples are still there, [N, 1]. */
const masksOf = (c: Call, lengths: readonly number[], steps: number): Tensor[] =>
  Array.from({ length: steps }, (_, t) =>
    c.make(
      lengths.map((n) => (t < n ? 1 : 0)),
      "bool",
      [lengths.length, 1],
    ),
  );

/** Steps in order; a sample that has ended keeps its state and gives zeros. */
function scanSteps(
  x: Tensor,
  w: Direction,
  step: Step,
  start: State,
  isReverse: boolean,
  masks: readonly Tensor[] | null,
): { outputs: Tensor; state: State } {
  const steps = x.shape[0]!;
  const product = ops.matmul(x, ops.t(w.input));
  const gates = w.inputBias === null ? product : ops.add(product, w.inputBias);
  const outputs = new Array<Tensor>(steps);
  let state = start;
  for (let i = 0; i < steps; i++) {
    const t = isReverse ? steps - 1 - i : i;
    const next = step(ops.select(gates, 0, t), state);
    const mask = masks?.[t] ?? null;
    const kept = (a: Tensor, b: Tensor): Tensor => (mask === null ? a : ops.where(mask, a, b));
    state = { hidden: kept(next.hidden, state.hidden), cell: next.cell === null ? null : kept(next.cell, state.cell!) };
    outputs[t] = mask === null ? next.hidden : ops.where(mask, next.hidden, ops.zerosLike(next.hidden));
  }
  return { outputs: ops.stack(outputs, 0), state };
}

export const recurrent = family({
  GRU: (c) => run(c, 3, ["Sigmoid", "Tanh"], gru, false),
  LSTM: (c) => run(c, 4, ["Sigmoid", "Tanh", "Tanh"], lstm, true),
  RNN: (c) => run(c, 1, ["Tanh"], plain, false),
});
