/**
 * One direction of an LSTM or GRU over the gates' sums from the input, step by step in one graph: for compiled functions on devices that fuse graphs.
 * The gates are saved for the backward pass, not recomputed as after DirectML's operator (recurrent-layer.ts). @package
 */
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { dispatch } from "../../dispatch/dispatch.ts";
import { define, type Definition } from "../../core/definition.ts";
import type { Expr } from "../../graph/graph.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { add } from "../elementwise/binary.ts";
import { zeros } from "../creation/creation.ts";
import { linear } from "../matmul/matmul.ts";
import type { RecurrentKind, RecurrentWeights } from "./recurrent.ts";
import { orZeros, scanGradient } from "./recurrent-gradient.ts";
import { at, bySample, forwards, gate, like, gemm, stacked } from "./recurrent-steps.ts";

interface ScanAttributes {
  readonly reverse: boolean;
}

/** Inputs: [T, N, 4H], the states [N, H], the hidden state's weights [4H, H]. Outputs: hidden states [T, N, H], the last states, and what is kept. */
const lstmScanOp: Definition<ScanAttributes> = define<ScanAttributes>({
  name: "lstmScan",
  infer: ([a, h, c]) => {
    const [steps, batch] = a!.shape as [number, number];
    const width = h!.shape[1]!;
    const each = like(a!, steps, batch, width);
    return [each, h!, c!, like(a!, steps, batch, 2 * width), each, each, each];
  },
  lower: (g, [a, h, c, weights], { reverse }) => {
    const steps = a!.sizes[0]!;
    const width = h!.sizes[1]!;
    const across = g.transpose(weights!, [1, 0]);
    const three = (x: Expr): Expr => g.reshape(x, [1, ...x.sizes]);
    const [outputs, gates, candidates, shares, before] = Array.from({ length: 5 }, () => new Array<Expr>(steps)) as [
      Expr[],
      Expr[],
      Expr[],
      Expr[],
      Expr[],
    ];
    let [hidden, cell] = [h!, c!];
    for (const k of forwards(steps, reverse)) {
      const sums = three(gemm(g, hidden, across, at(g, a!, k)));
      const both = g.activationSigmoid(gate(g, sums, 0, width, 2));
      gates[k] = at(g, both, 0);
      candidates[k] = at(g, g.activationTanh(gate(g, sums, 2, width)), 0);
      shares[k] = at(g, g.activationSigmoid(gate(g, sums, 3, width)), 0);
      before[k] = cell;
      const [i, f] = [at(g, gate(g, both, 0, width), 0), at(g, gate(g, both, 1, width), 0)];
      cell = g.elementWiseAdd(g.elementWiseMultiply(f, cell), g.elementWiseMultiply(i, candidates[k]));
      hidden = g.elementWiseMultiply(shares[k], g.elementWiseTanh(cell));
      outputs[k] = hidden;
    }
    return [stacked(g, outputs), hidden, cell, ...[gates, candidates, shares, before].map((list) => stacked(g, list))];
  },
  grad: (dy, { inputs: [a, h, c, weights], outputs, dys, attrs: { reverse } }) => {
    const [output, , , ...saved] = outputs as [Tensor, Tensor, Tensor, ...Tensor[]];
    const arriving = { output: dy, hidden: orZeros(dys[1]!, h!, h!.shape), cell: orZeros(dys[2]!, c!, c!.shape) };
    const scanned = { kind: "lstm", reverse, hidden: h!, cell: c!, weights: weights!, output, mask: null } as const;
    const { gates, weights: dw } = scanGradient(scanned, a!, null, saved, arriving);
    return [gates.fromInput, gates.hidden, gates.cell, dw];
  },
  saves: { outputs: [0, 3, 4, 5, 6] },
  padded: bySample(3),
});

/** Inputs: [T, N, 3H], the state [N, H], the hidden state's weights [3H, H] and bias [3H]. Outputs: hidden states [T, N, H], the last one, and what is kept. */
const gruScanOp: Definition<ScanAttributes> = define<ScanAttributes>({
  name: "gruScan",
  infer: ([a, h]) => [like(a!, ...a!.shape.slice(0, 2), h!.shape[1]!), h!, a!],
  lower: (g, [a, h, weights, bias], { reverse }) => {
    const steps = a!.sizes[0]!;
    const [batch, width] = h!.sizes as [number, number];
    const across = g.transpose(weights!, [1, 0]);
    const added = g.expand(bias!, [batch, 3 * width]);
    const [outputs, shares] = [new Array<Expr>(steps), new Array<Expr>(steps)];
    let hidden = h!;
    for (const k of forwards(steps, reverse)) {
      const own = gemm(g, hidden, across, added);
      shares[k] = own;
      const [x, y] = [at(g, a!, k), own].map((e) => [0, 1, 2].map((i) => at(g, gate(g, g.reshape(e, [1, ...e.sizes]), i, width), 0)));
      const [r, z] = [0, 1].map((i) => g.activationSigmoid(g.elementWiseAdd(x![i]!, y![i]!))) as [Expr, Expr];
      const n = g.activationTanh(g.elementWiseAdd(x![2]!, g.elementWiseMultiply(r, y![2]!)));
      hidden = g.elementWiseAdd(n, g.elementWiseMultiply(z, g.elementWiseSubtract(hidden, n)));
      outputs[k] = hidden;
    }
    return [stacked(g, outputs), hidden, stacked(g, shares)];
  },
  grad: (dy, { inputs: [a, h, weights, bias], outputs, dys, needs, attrs: { reverse } }) => {
    const [output, , share] = outputs as [Tensor, Tensor, Tensor];
    const arriving = { output: dy, hidden: orZeros(dys[1]!, h!, h!.shape), cell: null };
    const scanned = { kind: "gru", reverse, hidden: h!, cell: null, weights: weights!, output, mask: null } as const;
    const { gates, weights: dw, bias: db } = scanGradient(scanned, a!, bias!, [share], arriving);
    return [gates.fromInput, gates.hidden, dw, needs[3] ? db() : null];
  },
  saves: { outputs: [0, 2] },
  padded: bySample(2),
});

/** @internal Whether a layer's directions are scanned: recorded in a function that is being compiled, for a device that fuses. */
export function isScanned(kind: RecurrentKind, x: Tensor, states: readonly Tensor[], weights: readonly RecurrentWeights[]): boolean {
  if ((kind !== "lstm" && kind !== "gru") || tracer() === null || !isGradEnabled() || x.size === 0) return false;
  const operands = [x, ...states, ...weights.flatMap((w) => [w.input, w.hidden, w.inputBias, w.hiddenBias].filter((t) => t != null))];
  if (weights.some((w) => w.projection != null) || operands.some((t) => t.size === 0 || t.dtype !== x.dtype)) return false;
  return operands.some((t) => t.requiresGrad) && x.device.hasElements && nativeDevice(x.device, kind).capabilities.fusesGraphs;
}

/** @internal One direction over x [T, N, I]. */
export function scan(
  kind: "lstm" | "gru",
  x: Tensor,
  hidden: Tensor,
  cell: Tensor | null,
  w: RecurrentWeights,
  reverse: boolean,
): { readonly outputs: Tensor; readonly hidden: Tensor; readonly cell: Tensor | null } {
  const [inner, own] = [w.inputBias ?? null, w.hiddenBias ?? null];
  if (kind === "lstm") {
    const bias = inner === null || own === null ? (inner ?? own) : add(inner, own);
    const [outputs, last, lastCell] = dispatch(lstmScanOp, [linear(x, w.input, bias), hidden, cell!, w.hidden], { reverse });
    return { outputs: outputs!, hidden: last!, cell: lastCell! };
  }
  const bias = own ?? zeros([w.hidden.shape[0]!], { dtype: x.dtype, device: x.device });
  const [outputs, last] = dispatch(gruScanOp, [linear(x, w.input, inner), hidden, w.hidden, bias], { reverse });
  return { outputs: outputs!, hidden: last!, cell: null };
}
