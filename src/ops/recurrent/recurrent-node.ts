/**
 * LSTM, GRU and RNN with DirectML's (and ONNX's) order of gates and weights, all activations and options. For calls that need no
 * gradient, as recurrent-layer.ts. @package
 */
import { isGradEnabled, noGrad } from "../../autograd/grad-mode.ts";
import { dispatch } from "../../dispatch/dispatch.ts";
import { define, type Definition } from "../../core/definition.ts";
import { sizeOf } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Activation, Expr } from "../../graph/graph.ts";
import { sample, type Sample, real } from "../declare/sample.ts";
import type { Tensor } from "../../core/tensor.ts";

const SIGMOID: Activation = { operator: "ACTIVATION_SIGMOID", attributes: {} };
const TANH: Activation = { operator: "ACTIVATION_TANH", attributes: {} };

const OPTIONAL = ["bias", "hidden", "cell", "lengths", "peephole"] as const;
type Optional = (typeof OPTIONAL)[number];

export interface RecurrentNodeOptions {
  readonly kind: "LSTM" | "GRU" | "RNN";
  readonly direction: "FORWARD" | "BACKWARD" | "BIDIRECTIONAL";
  /** The activations of the first direction, then of the second. */
  readonly activations: readonly Activation[];
  /** LSTM: clamps the gates' sums to [-clip, clip]; 0: no limit. */
  readonly clip: number;
  readonly couplesInputForget: boolean;
  /** GRU: the reset gate applies after the hidden state's matmul, not to the state before it (ONNX's linear_before_reset). */
  readonly resetsAfterMatmul: boolean;
}

interface Attributes extends RecurrentNodeOptions {
  /** Which optional inputs are given, in the order of OPTIONAL. */
  readonly present: readonly Optional[];
}

type Emitted = { outputSequence: Expr | null; outputSingle: Expr | null; outputCellSingle?: Expr | null };

function emit(g: GraphBuilder, inputs: readonly Expr[], a: Attributes): Emitted {
  const four = (e: Expr): Expr => g.packed(g.reshape(e, [...new Array<number>(4 - e.sizes.length).fill(1), ...e.sizes]));
  const [x, weight, recurrence] = inputs.slice(0, 3).map(four) as [Expr, Expr, Expr];
  const of = (name: Optional): Expr | null => (a.present.includes(name) ? four(inputs[3 + a.present.indexOf(name)]!) : null);
  const [, steps, batch] = x.sizes as [number, number, number];
  const [, directions, , width] = recurrence.sizes as [number, number, number, number];
  const state = { sizes: [1, directions, batch, width] };
  const options = {
    bias: of("bias"),
    hiddenInit: of("hidden"),
    sequenceLengths: of("lengths"),
    outputSequence: { sizes: [steps, directions, batch, width] },
    outputSingle: state,
    activationDescs: a.activations,
    direction: a.direction,
  } as const;
  switch (a.kind) {
    case "LSTM":
      return g.lstm(x, weight, recurrence, {
        ...options,
        cellMemInit: of("cell"),
        peephole: of("peephole"),
        outputCellSingle: state,
        clipThreshold: a.clip,
        useClipThreshold: a.clip > 0,
        coupleInputForget: a.couplesInputForget,
      });
    case "GRU":
      return g.gru(x, weight, recurrence, { ...options, linearBeforeReset: a.resetsAfterMatmul });
    case "RNN":
      return g.rnn(x, weight, recurrence, options);
  }
}

const nodeOp: Definition<Attributes> = define<Attributes>({
  name: "recurrentNode",
  infer: ([x, , recurrence], { kind }) => {
    const [steps, batch] = x!.shape as [number, number];
    const [directions, , width] = recurrence!.shape as [number, number, number];
    const state = { shape: [directions, batch, width], dtype: x!.dtype };
    return [{ shape: [steps, directions, batch, width], dtype: x!.dtype }, state, ...(kind === "LSTM" ? [state] : [])];
  },
  lower: (g, inputs, attrs, outputs) => {
    const made = emit(g, inputs, attrs);
    const all = [made.outputSequence!, made.outputSingle!, ...(made.outputCellSingle == null ? [] : [made.outputCellSingle])];
    return all.map((e, i) => g.reshape(e, outputs[i]!.shape));
  },
  grad: null,
  multiplyAdds: ([x, weight, recurrence]) => x!.shape[0]! * x!.shape[1]! * (sizeOf(weight!.shape) + sizeOf(recurrence!.shape)),
});

/**
 * [Y, Y_h] and an LSTM's Y_c, or null where a gradient is wanted, nothing is to be computed or dtypes differ. x: [T, N, I]; weight: [D, gates H, I];
 * recurrence: [D, gates H, H]; bias: [D, 2 gates H]; hidden, cell: [D, N, H]; lengths: [N] uint32; peephole: [D, 3 H].
 */
export function recurrentNode(
  x: Tensor,
  weight: Tensor,
  recurrence: Tensor,
  optional: { readonly [K in Optional]: Tensor | null },
  options: RecurrentNodeOptions,
): Tensor[] | null {
  const present = OPTIONAL.filter((name) => optional[name] !== null);
  const operands = [x, weight, recurrence, ...present.map((name) => optional[name]!)];
  if (isGradEnabled() && operands.some((t) => t.requiresGrad)) return null;
  if (operands.some((t) => t.size === 0 || (t.dtype !== x.dtype && t !== optional.lengths))) return null;
  return dispatch(nodeOp, operands, { ...options, present });
}

const ungraded = (...operands: Parameters<typeof recurrentNode>): Tensor[] => noGrad(() => recurrentNode(...operands)!);

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample(
    "composed",
    "an LSTM with all its options",
    [real([3, 2, 4]), real([2, 12, 4], -1, 1), real([2, 12, 3], -1, 1), real([2, 24]), real([2, 2, 3]), real([2, 2, 3]), real([2, 9])],
    (x, w, r, bias, hidden, cell, peephole) =>
      ungraded(
        x!,
        w!,
        r!,
        { bias: bias!, hidden: hidden!, cell: cell!, lengths: null, peephole: peephole! },
        {
          kind: "LSTM",
          direction: "BIDIRECTIONAL",
          activations: [SIGMOID, TANH, TANH, SIGMOID, TANH, TANH],
          clip: 2,
          couplesInputForget: true,
          resetsAfterMatmul: false,
        },
      ),
  ),
  sample("composed", "a GRU from the end", [real([3, 2, 4]), real([1, 9, 4], -1, 1), real([1, 9, 3], -1, 1)], (x, w, r) =>
    ungraded(
      x!,
      w!,
      r!,
      { bias: null, hidden: null, cell: null, lengths: null, peephole: null },
      {
        kind: "GRU",
        direction: "BACKWARD",
        activations: [SIGMOID, TANH],
        clip: 0,
        couplesInputForget: false,
        resetsAfterMatmul: false,
      },
    ),
  ),
];
