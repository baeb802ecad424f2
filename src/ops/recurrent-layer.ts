/**
 * A recurrent layer as DirectML's one operator, for calls that want no gradient: LSTM, GRU, RNN hold no state but the last, so that a step
 * could not be taken back. @package
 */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { dispatch } from "../dispatch.ts";
import { define, type Definition } from "../definition.ts";
import type { GraphBuilder } from "../graph/builder.generated.ts";
import type { Expr } from "../graph/graph.ts";
import type { Tensor } from "../tensor.ts";
import { zeros } from "./creation.ts";
import type { RecurrentWeights } from "./recurrent.ts";
import { cut } from "./support.ts";

/** Where the gates of PyTorch's order are in DirectML's: i, f, g, o as i, o, f, c; r, z, n as z, r, n. */
const ORDER = { lstm: [0, 3, 1, 2], gru: [1, 0, 2], tanh: [0], relu: [0] } as const;

type Kind = keyof typeof ORDER;

interface Layer {
  readonly kind: Kind;
  /** 2: the second one runs from the end. */
  readonly directions: number;
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

/** Inputs: x [T, N, I], the first states [D, N, H] (and cells), W, R (and both biases) of each direction, lengths [N]. */
const layerOp: Definition<Layer> = define<Layer>({
  name: "recurrentLayer",
  infer: ([x, hidden], { kind, directions }) => {
    const [steps, batch] = x!.shape as [number, number];
    const width = hidden!.shape[2]!;
    const state = { shape: [directions, batch, width], dtype: x!.dtype };
    return [{ shape: [steps, batch, directions * width], dtype: x!.dtype }, state, ...(kind === "lstm" ? [state] : [])];
  },
  lower: (g, inputs, { kind, directions, hasBias, hasLengths }) => {
    const order = ORDER[kind];
    const [x, hidden] = inputs as [Expr, Expr];
    const [steps, batch, width] = [...x.sizes.slice(0, 2), hidden.sizes[2]!] as [number, number, number];
    const first = kind === "lstm" ? 3 : 2;
    const each = hasBias ? 4 : 2;
    const part = (d: number, i: number): Expr => inputs[first + d * each + i]!;
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
      direction: directions === 2 ? "BIDIRECTIONAL" : "FORWARD",
    } as const;
    const twice = <T>(list: readonly T[]): T[] => Array.from({ length: directions }, () => list).flat();
    const operands = [four(x), matrix(0), matrix(1)] as const;
    const sigmoid = { operator: "ACTIVATION_SIGMOID", attributes: {} } as const;
    const relu = { operator: "ACTIVATION_RELU", attributes: {} } as const;
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
    const lines =
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
    return [g.reshape(lines, [steps, batch, directions * width]), back(made.outputSingle!), ...cells];
  },
  grad: null,
});

/** Outputs [T, N, D * H], the last states and an LSTM's cells [D, N, H]; null where a gradient is wanted or the operator lacks an option. */
export function wholeLayer(
  kind: Kind,
  x: Tensor,
  weights: readonly RecurrentWeights[],
  hidden: Tensor,
  cell: Tensor | null,
  lengths: Tensor | null,
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
  if (isGradEnabled() && operands.some((t) => t.requiresGrad)) return null;
  if (operands.some((t) => t.size === 0 || t.dtype !== x.dtype)) return null;
  const attrs: Layer = { kind, directions: weights.length, hasBias: biased, hasLengths: lengths !== null };
  const [outputs, last, lastCell] = dispatch(layerOp, lengths === null ? operands : [...operands, lengths], attrs) as [
    Tensor,
    Tensor,
    Tensor?,
  ];
  return { outputs, hidden: last, cell: lastCell ?? null };
}
