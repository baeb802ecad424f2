/** A recurrent layer as one DirectML operator: LSTM, GRU, RNN. Its gradient is in recurrent-gradient.ts. @package */
import { dispatch } from "../../dispatch/dispatch.ts";
import { define, type Definition, type GradContext } from "../../core/definition.ts";
import { sizeOf } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { PaddedRule } from "../../core/padded-axes.ts";
import { add } from "../elementwise/binary.ts";
import { zeros } from "../creation/creation.ts";
import { stack } from "../shape/join.ts";
import { narrow, select } from "../shape/movement.ts";
import type { RecurrentWeights } from "./recurrent.ts";
import { directionGradient, orZeros, stepMask, type Direction } from "./recurrent-gradient.ts";
import { cut } from "../declare/support.ts";

/** Gate permutation from PyTorch's order to DirectML's: i, f, g, o to i, o, f, c; r, z, n to z, r, n. */
const ORDER = { lstm: [0, 3, 1, 2], gru: [1, 0, 2], tanh: [0], relu: [0] } as const;

type Kind = keyof typeof ORDER;

interface Layer {
  readonly kind: Kind;
  /** 2: the second direction runs from the end to the start. */
  readonly directions: number;
  /** Whether a single direction does. */
  readonly reverse: boolean;
  readonly hasBias: boolean;
  readonly hasLengths: boolean;
}

/** Rows of gates in DirectML's order. */
function gates(g: GraphBuilder, x: Expr, order: readonly number[]): Expr[] {
  const rows = x.sizes[0]! / order.length;
  return order.map((k) => g.packed(cut(g, x, 0, k * rows, rows)));
}

/** Parts one after the other along the first axis. */
function joined(g: GraphBuilder, parts: readonly Expr[]): Expr {
  if (parts.length === 1) return parts[0]!;
  const [first, ...rest] = parts[0]!.sizes as [number, ...number[]];
  return g.join([...parts], { output: { sizes: [first * parts.length, ...rest] }, axis: 0 });
}

/** The order of the operands: x, the states, each direction's weights (and biases), the lengths. */
const slotsOf = ({
  kind,
  hasBias,
}: Pick<Layer, "kind" | "hasBias">): { readonly states: number; readonly each: number; at(direction: number): number } => {
  const states = kind === "lstm" ? 2 : 1;
  const each = hasBias ? 4 : 2;
  return { states, each, at: (direction) => 1 + states + direction * each };
};

function gradient({ inputs, outputs, attrs, dys, needs }: GradContext<Layer>): (Tensor | null)[] {
  const { kind, directions, hasBias, hasLengths } = attrs;
  const { states, each, at } = slotsOf(attrs);
  const [x, hidden] = inputs as [Tensor, Tensor];
  const [steps, batch] = x.shape as [number, number];
  const width = hidden.shape[2]!;
  const mask = hasLengths ? stepMask(inputs.at(-1)!, steps) : null;
  const own = (t: Tensor, d: number): Tensor => (directions === 1 ? t : narrow(t, 2, d * width, width));
  const [dy, dh, dc] = [orZeros(dys[0]!, x, [steps, batch, directions * width]), ...[1, 2].map((i) => dys[i] ?? null)] as const;
  const state = (t: Tensor | null | undefined, d: number): Tensor =>
    t == null ? zeros([batch, width], { dtype: x.dtype, device: x.device }) : select(t, 0, d);
  const grads = inputs.map((): Tensor | null => null);
  const made = Array.from({ length: directions }, (_, d) => {
    const first = at(d);
    const direction: Direction = {
      kind,
      reverse: d === 1 || attrs.reverse,
      x,
      hidden: select(hidden, 0, d),
      cell: kind === "lstm" ? select(inputs[2]!, 0, d) : null,
      weights: [inputs[first]!, inputs[first + 1]!],
      biases: hasBias ? [inputs[first + 2]!, inputs[first + 3]!] : null,
      output: own(outputs[0]!, d),
      mask,
    };
    const arriving = { output: own(dy, d), hidden: state(dh, d), cell: kind === "lstm" ? state(dc, d) : null };
    const result = directionGradient(direction, arriving, {
      x: needs[0]!,
      weights: [needs[first]!, needs[first + 1]!],
      biases: [hasBias && needs[first + 2]!, hasBias && needs[first + 3]!],
    });
    [...result.weights, ...result.biases].slice(0, each).forEach((grad, i) => {
      grads[first + i] = grad;
    });
    return result;
  });
  if (needs[0]) grads[0] = made.map((m) => m.x!).reduce((a, b) => add(a, b));
  if (needs[1]) grads[1] = stack(made.map((m) => m.hidden));
  if (states === 2 && needs[2]) grads[2] = stack(made.map((m) => m.cell!));
  return grads;
}

/** Samples are independent of each other: their axis may be padded. */
const bySample: PaddedRule<Layer> = (_g, inputs, attrs, _outputs, p, lower) => {
  const { states } = slotsOf(attrs);
  const last = inputs.length - 1;
  const samples = (i: number): number[] => (i <= states ? [1] : attrs.hasLengths && i === last ? [0] : []);
  if (inputs.some((_, i) => p.isPaddedBeside(i, ...samples(i)))) return null;
  return lower(inputs.map((x, i) => (attrs.hasLengths && i === last && p.isPadded(i, 0) ? p.filled(i, 1) : x)));
};

/** Inputs: x [T, N, I], the first states [D, N, H] (and cells), W, R (and both biases) of each direction, lengths [N]. */
const layerOp: Definition<Layer> = define<Layer>({
  name: "recurrentLayer",
  infer: ([x, hidden], { kind, directions }) => {
    const [steps, batch] = x!.shape as [number, number];
    const width = hidden!.shape[2]!;
    const state = { shape: [directions, batch, width], dtype: x!.dtype };
    return [{ shape: [steps, batch, directions * width], dtype: x!.dtype }, state, ...(kind === "lstm" ? [state] : [])];
  },
  lower: (g, inputs, { kind, directions, reverse, hasBias, hasLengths }) => {
    const order = ORDER[kind];
    const [x, hidden] = inputs as [Expr, Expr];
    const [steps, batch, width] = [...x.sizes.slice(0, 2), hidden.sizes[2]!] as [number, number, number];
    const { at } = slotsOf({ kind, hasBias });
    const part = (d: number, i: number): Expr => inputs[at(d) + i]!;
    const all = (i: number): Expr => joined(g, Array.from({ length: directions }, (_, d) => gates(g, part(d, i), order)).flat());
    const matrix = (i: number): Expr => g.reshape(all(i), [1, directions, order.length * width, part(0, i).sizes[1]!]);
    const bias = (): Expr =>
      joined(g, Array.from({ length: directions }, (_, d) => [...gates(g, part(d, 2), order), ...gates(g, part(d, 3), order)]).flat());
    const four = (e: Expr): Expr => g.reshape(e, [1, ...e.sizes]);
    const state = { sizes: [1, directions, batch, width] };
    const lengths = hasLengths ? g.reshape(inputs.at(-1)!, [1, 1, 1, batch]) : null;
    const options = {
      bias: hasBias ? g.reshape(bias(), [1, 1, directions, 2 * order.length * width]) : null,
      hiddenInit: four(hidden),
      sequenceLengths: lengths,
      outputSequence: { sizes: [steps, directions, batch, width] },
      outputSingle: state,
      direction: directions === 2 ? "BIDIRECTIONAL" : reverse ? "BACKWARD" : "FORWARD",
    } as const;
    const twice = <T>(list: readonly T[]): T[] => Array.from({ length: directions }, () => list).flat();
    const operands = [four(x), matrix(0), matrix(1)] as const;
    const sigmoid = { operator: "ACTIVATION_SIGMOID", attributes: {} } as const;
    // ACTIVATION_RELU makes NaN of -infinity where it is fused.
    const relu = { operator: "ACTIVATION_THRESHOLDED_RELU", attributes: { alpha: 0 } } as const;
    const tanh = { operator: "ACTIVATION_TANH", attributes: {} } as const;
    const emit = (): { outputSequence: Expr | null; outputSingle: Expr | null; outputCellSingle?: Expr | null } => {
      switch (kind) {
        case "lstm":
          return g.lstm(...operands, {
            ...options,
            cellMemInit: four(inputs[2]!),
            outputCellSingle: state,
            activationDescs: twice([sigmoid, tanh, tanh]),
            clipThreshold: 0,
            useClipThreshold: false,
            coupleInputForget: false,
          });
        case "gru":
          return g.gru(...operands, { ...options, activationDescs: twice([sigmoid, tanh]), linearBeforeReset: true });
        case "tanh":
          return g.rnn(...operands, { ...options, activationDescs: twice([tanh]) });
        case "relu":
          return g.rnn(...operands, { ...options, activationDescs: twice([relu]) });
      }
      kind satisfies never;
    };
    const made = emit();
    const sequence = made.outputSequence!;
    const stepsFirst =
      directions === 1
        ? sequence
        : g.packed(
            g.reinterpret(sequence, {
              sizes: [steps, batch, directions, width],
              strides: [directions * batch * width, width, batch * width, 1],
            }),
          );
    const back = (e: Expr): Expr => g.reshape(e, [directions, batch, width]);
    const cells = made.outputCellSingle == null ? [] : [back(made.outputCellSingle)];
    return [g.reshape(stepsFirst, [steps, batch, directions * width]), back(made.outputSingle!), ...cells];
  },
  grad: (_dy, context) => gradient(context),
  saves: { outputs: [0] },
  padded: bySample,
  multiplyAdds: ([x], { kind, directions }, [y]) => sizeOf(y!.shape) * ORDER[kind].length * (x!.shape[2]! + y!.shape[2]! / directions),
});

/** Outputs [T, N, D * H], the last states and an LSTM's cells [D, N, H]; null where the operator lacks an option or nothing is to be computed. */
export function wholeLayer(
  kind: Kind,
  x: Tensor,
  weights: readonly RecurrentWeights[],
  hidden: Tensor,
  cell: Tensor | null,
  lengths: Tensor | null,
  reverse: boolean,
): { readonly outputs: Tensor; readonly hidden: Tensor; readonly cell: Tensor | null } | null {
  const operands = [x, hidden, ...(cell === null ? [] : [cell])];
  const biased = weights.some((w) => w.inputBias != null || w.hiddenBias != null);
  for (const w of weights) {
    if (w.projection != null) return null;
    operands.push(w.input, w.hidden);
    if (!biased) continue;
    const none = (): Tensor => zeros([w.input.shape[0]!], { dtype: x.dtype, device: x.device });
    operands.push(w.inputBias ?? none(), w.hiddenBias ?? none());
  }
  if (operands.some((t) => t.size === 0 || t.dtype !== x.dtype)) return null;
  const attrs: Layer = { kind, directions: weights.length, reverse, hasBias: biased, hasLengths: lengths !== null };
  const [outputs, last, lastCell] = dispatch(layerOp, lengths === null ? operands : [...operands, lengths], attrs) as [
    Tensor,
    Tensor,
    Tensor?,
  ];
  return { outputs, hidden: last, cell: lastCell ?? null };
}
