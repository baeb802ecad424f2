/** Recurrent layers as one operator, without gradients, beside the same step by step, with them. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, eachMode, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const random = (shape: readonly number[], phase: number, dtype: dx.DType = "float32"): dx.Tensor =>
  dx.tensor(
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => 0.7 * Math.sin(i * 1.37 + phase)),
    { shape, dtype },
  );

interface Options {
  readonly layers?: number;
  readonly bidirectional?: boolean;
  readonly bias?: boolean;
  readonly lengths?: readonly number[];
  readonly batchFirst?: boolean;
  readonly states?: boolean;
  readonly dtype?: dx.DType;
}

const GATES = { lstm: 4, gru: 3, tanh: 1, relu: 1 } as const;

eachMode("a recurrent layer as one operator", (device, mode) => {
  const [steps, batch, inputs, width] = [5, 3, 4, 6];
  for (const kind of ["lstm", "gru", "tanh", "relu"] as const)
    for (const options of [
      {},
      { bias: false },
      { bidirectional: true },
      { layers: 2, bidirectional: true, states: true },
      { lengths: [5, 2, 3], states: true },
      { lengths: [1, 4, 5], bidirectional: true, layers: 2 },
      { batchFirst: true, states: true },
      { dtype: "float16", bidirectional: true },
    ] satisfies Options[])
      test(`${kind} ${JSON.stringify(options)}`, () => {
        const {
          layers = 1,
          bidirectional = false,
          bias = true,
          lengths,
          batchFirst,
          states = false,
          dtype = "float32",
        } = options as Options;
        const directions = bidirectional ? 2 : 1;
        const rows = GATES[kind] * width;
        const tensors = Array.from({ length: layers * directions }, (__, i) => {
          const from = i < directions ? inputs : directions * width;
          return [
            random([rows, from], i, dtype),
            random([rows, width], i + 10, dtype),
            ...(bias ? [random([rows], i + 20, dtype), random([rows], i + 30, dtype)] : []),
          ];
        });
        const x = random(batchFirst === true ? [batch, steps, inputs] : [steps, batch, inputs], 40, dtype);
        const start = [layers * directions, batch, width];
        const [hidden, cell] = [random(start, 41, dtype), random(start, 42, dtype)];
        const run = (sequence: dx.Tensor, h: dx.Tensor, c: dx.Tensor, ...all: dx.Tensor[]): dx.Tensor[] => {
          const each = bias ? 4 : 2;
          const weights = tensors.map((___, i) => {
            const [input, recurrence, inputBias = null, hiddenBias = null] = all.slice(i * each, (i + 1) * each) as [dx.Tensor, dx.Tensor];
            return { input, hidden: recurrence, inputBias, hiddenBias };
          });
          const r = dx.recurrent(kind, sequence, weights, {
            bidirectional,
            lengths,
            batchFirst,
            ...(states ? { hidden: h, cell: kind === "lstm" ? c : null } : {}),
          });
          return [r.output, r.hidden, ...(r.cell === null ? [] : [r.cell])];
        };
        const operands = [x, hidden, cell, ...tensors.flat()] as const;
        const whole = mode.run(run, ...operands);
        const [first, ...rest] = operands;
        const stepped = run(first.clone().requiresGrad_(), ...(rest as [dx.Tensor, dx.Tensor]));
        const unwanted = dx.noGrad(() => run(first.clone().requiresGrad_(), ...(rest as [dx.Tensor, dx.Tensor])));
        expect(stepped[0]!.requiresGrad).toBe(true);
        const bound = dtype === "float16" ? { rtol: 1e-2, atol: 4e-3 } : { rtol: 1e-4, atol: 2e-6 };
        stepped.forEach((t, i) => {
          expect(whole[i]!.shape).toEqual(t.shape);
          expect(whole[i]!.dtype).toBe(dtype);
          expectClose(whole[i]!, numbers(t), bound);
          expect(numbers(unwanted[i]!)).toEqual(numbers(whole[i]!));
        });
      });
});

eachDevice("a recurrent layer", (device) => {
  test("without a gradient takes as many dispatches however long it is", () => {
    const layer = dx.nn.lstm(4, 6);
    const dispatches = (steps: number): number => {
      const x = random([steps, 2, 4], 0);
      dx.noGrad(() => layer.forward(x).output).dataSync();
      const before = dx.counters(device).dispatchesRecorded;
      dx.noGrad(() => layer.forward(x).output).dataSync();
      return dx.counters(device).dispatchesRecorded - before;
    };
    expect(dispatches(3)).toBeGreaterThan(0);
    expect(dispatches(30)).toBe(dispatches(3));
  });
});
