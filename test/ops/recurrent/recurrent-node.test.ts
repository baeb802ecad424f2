/** ONNX's recurrent nodes as DirectML's operators, without gradients, compared with the same step by step, with them. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, numbers } from "../../device.ts";
import { attribute, graph, model, node, value } from "../../onnx/write.ts";
import { expectClose } from "../../tolerance.ts";

const FLOAT = 1;
const INT32 = 6;
const GATES = { LSTM: 4, GRU: 3, RNN: 1 } as const;
const USUAL = { LSTM: ["Sigmoid", "Tanh", "Tanh"], GRU: ["Sigmoid", "Tanh"], RNN: ["Tanh"] } as const;
const [STEPS, BATCH, INPUTS, WIDTH] = [4, 3, 5, 6];

interface Options {
  readonly kind: keyof typeof GATES;
  readonly direction?: "forward" | "reverse" | "bidirectional";
  readonly activations?: readonly string[];
  readonly alpha?: readonly number[];
  readonly beta?: readonly number[];
  readonly clip?: number;
  readonly flags?: readonly string[];
  readonly lengths?: readonly number[];
  readonly states?: boolean;
  readonly bias?: boolean;
}

const random = (shape: readonly number[], phase: number): dx.Tensor =>
  dx.tensor(
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => 0.9 * Math.sin(i * 2.37 + phase)),
    { shape },
  );

function written(o: Options, layout: 0 | 1): Uint8Array {
  const { kind, direction = "forward" } = o;
  const count = direction === "bidirectional" ? 2 : 1;
  const rows = GATES[kind] * WIDTH;
  const batchFirst = layout === 1;
  const state = batchFirst ? [BATCH, count, WIDTH] : [count, BATCH, WIDTH];
  const inputs: [string, number, number[]][] = [
    ["x", FLOAT, batchFirst ? [BATCH, STEPS, INPUTS] : [STEPS, BATCH, INPUTS]],
    ["w", FLOAT, [count, rows, INPUTS]],
    ["r", FLOAT, [count, rows, WIDTH]],
    [o.bias === false ? "" : "b", FLOAT, [count, 2 * rows]],
    [o.lengths === undefined ? "" : "n", INT32, [BATCH]],
    [o.states === true ? "h" : "", FLOAT, state],
    ...(kind === "LSTM"
      ? ([
          [o.states === true ? "c" : "", FLOAT, state],
          [o.states === true ? "p" : "", FLOAT, [count, 3 * WIDTH]],
        ] as [string, number, number[]][])
      : []),
  ];
  const outputs = ["y", "last", ...(kind === "LSTM" ? ["cell"] : [])];
  const attributes = [
    attribute.int("hidden_size", WIDTH),
    attribute.text("direction", direction),
    attribute.int("layout", layout),
    ...(o.flags ?? []).map((name) => attribute.int(name, 1)),
    ...(o.clip === undefined ? [] : [attribute.float("clip", o.clip)]),
    ...(o.activations === undefined ? [] : [attribute.texts("activations", o.activations)]),
    ...(o.alpha === undefined ? [] : [attribute.floats("activation_alpha", o.alpha)]),
    ...(o.beta === undefined ? [] : [attribute.floats("activation_beta", o.beta)]),
  ];
  return model({
    opset: 22,
    graph: graph({
      inputs: inputs.filter(([name]) => name !== "").map(([name, type, shape]) => value(name, type, shape)),
      outputs: outputs.map((name) => value(name, FLOAT, ["a", "b", "c"])),
      nodes: [
        node(
          kind,
          inputs.map(([name]) => name),
          outputs,
          attributes,
        ),
      ],
    }),
  });
}

const cases: readonly Options[] = (["LSTM", "GRU", "RNN"] as const).flatMap((kind): Options[] => [
  { kind },
  { kind, bias: false, direction: "reverse" },
  { kind, direction: "bidirectional", states: true },
  { kind, direction: "bidirectional", lengths: [4, 1, 2] },
  { kind, direction: "reverse", lengths: [2, 4, 3], states: true },
  { kind, clip: 0.4, states: true },
  {
    kind,
    activations: USUAL[kind].map((_, i) => ["HardSigmoid", "Affine", "ScaledTanh"][i]!),
    alpha: [0.3, 0.5, 0.7].slice(0, USUAL[kind].length),
    beta: [0.4, 0.1, 1.2].slice(0, USUAL[kind].length),
  },
  { kind, activations: USUAL[kind].map((_, i) => ["Softsign", "Elu", "LeakyRelu"][i]!), alpha: [0.5, 0.2] },
  { kind, activations: USUAL[kind].map((_, i) => ["Relu", "Softplus", "ThresholdedRelu"][i]!), alpha: [0.1] },
  ...(kind === "GRU" ? [{ kind, flags: ["linear_before_reset"], direction: "bidirectional" } as const] : []),
  ...(kind === "LSTM" ? [{ kind, flags: ["input_forget"], states: true } as const] : []),
]);

eachDevice("an ONNX recurrent node as one operator", () => {
  for (const options of cases)
    for (const layout of [0, 1] as const)
      test(`${JSON.stringify(options)}${layout === 1 ? " batch first" : ""}`, async () => {
        const { kind, direction = "forward" } = options;
        using loaded = await dx.io.onnx.load(written(options, layout));
        const count = direction === "bidirectional" ? 2 : 1;
        const rows = GATES[kind] * WIDTH;
        const state = layout === 1 ? [BATCH, count, WIDTH] : [count, BATCH, WIDTH];
        const operands: { [name: string]: dx.Tensor } = {
          x: random(layout === 1 ? [BATCH, STEPS, INPUTS] : [STEPS, BATCH, INPUTS], 1),
          w: random([count, rows, INPUTS], 2),
          r: random([count, rows, WIDTH], 3),
          ...(options.bias === false ? {} : { b: random([count, 2 * rows], 4) }),
          ...(options.lengths === undefined ? {} : { n: dx.tensor(Int32Array.from(options.lengths)) }),
          ...(options.states === true ? { h: random(state, 5) } : {}),
          ...(options.states === true && kind === "LSTM" ? { c: random(state, 6), p: random([count, 3 * WIDTH], 7) } : {}),
        };
        const whole = loaded.call(operands);
        const stepped = loaded.call({ ...operands, x: operands["x"]!.clone().requiresGrad_() });
        expect(stepped["y"]!.requiresGrad).toBe(true);
        for (const name of Object.keys(stepped)) {
          expect(whole[name]!.shape).toEqual(stepped[name]!.shape);
          expectClose(whole[name]!, numbers(stepped[name]!), { rtol: 1e-4, atol: 4e-6 });
        }
      });
});
