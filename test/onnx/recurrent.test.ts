/** ONNX's recurrent nodes with gradients: one node of the tape, compared with the same network in float64 and the same node step by step. */
import { expect, test } from "vitest";
import { watching } from "../../src/autograd/tape.ts";
import * as dx from "../../src/index.ts";
import { eachDevice, eachMode, numbers } from "../device.ts";
import { forward, gradients, operandShapes, type Network } from "../reference/recurrent.ts";
import { expectClose } from "../tolerance.ts";
import { attribute, graph, model, node, value } from "./write.ts";

const FLOAT = 1;
const INT32 = 6;
/** PyTorch's gates in ONNX's order: i, o, f, c of i, f, g, o; z, r, h of r, z, n. */
const ORDER = { lstm: [0, 3, 1, 2], gru: [1, 0, 2], tanh: [0], relu: [0] } as const;

interface Options {
  readonly directions?: 1 | 2;
  readonly isReverse?: boolean;
  readonly bias?: boolean;
  readonly lengths?: readonly number[];
  readonly layout?: 0 | 1;
  readonly steps?: number;
}

const networkOf = (kind: Network["kind"], o: Options): Network => ({
  kind,
  steps: o.steps ?? 4,
  batch: 3,
  inputs: 2,
  width: 3,
  layers: 1,
  directions: o.directions ?? 1,
  bias: o.bias ?? true,
  projection: 0,
  lengths: o.lengths ?? null,
});

/** clip: so large that it limits nothing, it makes the node run step by step. */
function written(kind: Network["kind"], o: Options, clip: number): Uint8Array {
  const isLstm = kind === "lstm";
  const inputs: [string, number, string[]][] = [
    ["x", FLOAT, ["t", "n", "i"]],
    ["w", FLOAT, ["d", "g", "i"]],
    ["r", FLOAT, ["d", "g", "h"]],
    [o.bias === false ? "" : "b", FLOAT, ["d", "e"]],
    [o.lengths === undefined ? "" : "n", INT32, ["m"]],
    ["h", FLOAT, ["p", "q", "h"]],
    ...(isLstm ? [["c", FLOAT, ["p", "q", "h"]] as [string, number, string[]]] : []),
  ];
  const outputs = ["y", "last", ...(isLstm ? ["cell"] : [])];
  const attributes = [
    attribute.int("hidden_size", 3),
    attribute.text("direction", o.directions === 2 ? "bidirectional" : o.isReverse === true ? "reverse" : "forward"),
    attribute.int("layout", o.layout ?? 0),
    ...(clip === 0 ? [] : [attribute.float("clip", clip)]),
    ...(kind === "gru" ? [attribute.int("linear_before_reset", 1)] : []),
    ...(kind === "relu"
      ? [
          attribute.texts(
            "activations",
            Array.from({ length: o.directions ?? 1 }, () => "Relu"),
          ),
        ]
      : []),
  ];
  return model({
    opset: 22,
    graph: graph({
      inputs: inputs.filter(([name]) => name !== "").map(([name, type, shape]) => value(name, type, shape)),
      outputs: outputs.map((name) => value(name, FLOAT, ["a", "b", "c"])),
      nodes: [
        node(
          kind === "lstm" ? "LSTM" : kind === "gru" ? "GRU" : "RNN",
          inputs.map(([name]) => name),
          outputs,
          attributes,
        ),
      ],
    }),
  });
}

/** [output, states…] of the node, of the operands that the reference has. */
function run(loaded: dx.io.onnx.OnnxModel, n: Network, o: Options, operands: readonly dx.Tensor[]): dx.Tensor[] {
  const first = n.kind === "lstm" ? 3 : 2;
  const each = n.bias ? 4 : 2;
  const order = ORDER[n.kind];
  const reordered = (t: dx.Tensor): dx.Tensor => {
    const parts = t.chunk(order.length, 0);
    return dx.cat(order.map((k) => parts[k]!));
  };
  const all = (i: number): dx.Tensor[] => Array.from({ length: n.directions }, (_, d) => reordered(operands[first + d * each + i]!));
  const [x, hidden, cell] = operands as [dx.Tensor, dx.Tensor, dx.Tensor];
  const laid = (t: dx.Tensor): dx.Tensor => (o.layout === 1 ? t.transpose(0, 1) : t);
  const [inner, own] = n.bias ? [all(2), all(3)] : [[], []];
  const results = loaded.call({
    x: laid(o.isReverse === true ? x.flip(0) : x),
    w: dx.stack(all(0)),
    r: dx.stack(all(1)),
    ...(n.bias ? { b: dx.stack(inner.map((t, d) => dx.cat([t, own[d]!]))) } : {}),
    ...(n.lengths === null ? {} : { n: dx.tensor(Int32Array.from(n.lengths)) }),
    h: laid(hidden),
    ...(n.kind === "lstm" ? { c: laid(cell) } : {}),
  });
  // [T, D, N, H], or with the batch first [N, T, D, H].
  const y = o.layout === 1 ? results["y"]!.permute(1, 0, 2, 3) : results["y"]!.transpose(1, 2);
  const flat = y.reshape([n.steps, n.batch, n.directions * n.width]);
  return [o.isReverse === true ? flat.flip(0) : flat, ...["last", "cell"].filter((k) => k in results).map((k) => laid(results[k]!))];
}

const wave = (shape: readonly number[], phase: number): Float64Array =>
  Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.fround(0.7 * Math.sin(i * 1.37 + phase)));

const CASES: readonly Options[] = [
  {},
  { directions: 2, layout: 1 },
  { bias: false, isReverse: true },
  { directions: 2, lengths: [4, 1, 2] },
  { directions: 2, steps: 19, bias: false },
];

eachMode("an ONNX recurrent node with gradients", (_, mode) => {
  for (const kind of ["lstm", "gru", "tanh", "relu"] as const)
    for (const options of CASES)
      test(`${kind} ${JSON.stringify(options)}`, async () => {
        const n = networkOf(kind, options);
        using loaded = await dx.io.onnx.load(written(kind, options, 0));
        const values = operandShapes(n).map(wave);
        const outputs = forward(n, values);
        const factors = outputs.map((o, k) => o.map((__, i) => Math.cos(i * 0.7 + k)));
        const expected = gradients(n, values, factors);
        const scaled = factors.map((f) => dx.tensor(f, { dtype: "float32" }));
        const fn = (...results: dx.Tensor[]): dx.Tensor[] => {
          const made = run(loaded, n, options, results);
          const loss = made.map((t, i) => t.reshape(-1).mul(scaled[i]!).sum()).reduce((a, b) => a.add(b));
          return [...made, ...dx.grad(loss, results).map((g) => g!)];
        };
        const operands = values.map((v, i) => dx.tensor(v, { shape: operandShapes(n)[i]!, dtype: "float32" }).requiresGrad_());
        const results = mode.run(fn, ...operands);
        [...outputs, ...expected].forEach((right, i) => expectClose(results[i]!, right, { rtol: 1e-4, atol: 2e-5 }));
      });
});

eachDevice("an ONNX recurrent node", () => {
  for (const kind of ["lstm", "gru", "tanh", "relu"] as const)
    test(`${kind}: first and second gradients, from the end too, are those of its steps, in one node of the tape`, async () => {
      for (const options of [
        {},
        { isReverse: true, lengths: [2, 4, 3] },
        { directions: 2, layout: 1, lengths: [4, 1, 2] },
      ] satisfies Options[]) {
        const n = networkOf(kind, options);
        // A call that compiles itself is one node of the tape.
        using whole = await dx.io.onnx.load(written(kind, options, 0), { eager: true });
        using stepped = await dx.io.onnx.load(written(kind, options, 1e30), { eager: true });
        const operands = operandShapes(n).map((shape, i) => dx.tensor(wave(shape, i), { shape, dtype: "float32" }).requiresGrad_());
        const results = [whole, stepped].map((loaded) => {
          const { result, nodes } = watching(() => run(loaded, n, options, operands));
          const total = (list: readonly (dx.Tensor | null)[]): dx.Tensor => list.map((t) => t!.square().sum()).reduce((a, b) => a.add(b));
          const first = dx.grad(total(result), operands, { createGraph: true });
          const second = dx.grad(total(first), operands);
          return { nodes: nodes.filter((made) => made.name === "recurrentLayer").length, all: [...result, ...first, ...second] };
        });
        expect(results.map((r) => r.nodes)).toEqual([1, 0]);
        results[0]!.all.forEach((t, i) => expectClose(t!, numbers(results[1]!.all[i]!), { rtol: 1e-3, atol: 1e-4 }));
      }
    });
});
