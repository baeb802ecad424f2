/** Conv over one column, as exporters write convolutions of sequences. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const FLOAT = 1;
const [channels, outputs, rows] = [4, 6, 3];
const weights = Float32Array.from({ length: (outputs * channels * rows) / 2 }, (_, i) => ((5 * i) % 11) - 5);
const biases = Float32Array.from({ length: outputs }, (_, i) => i - 2);

/** Rows of x [n, l, channels] become columns; two groups, steps, gaps, and zeros around. */
const columns = (): Uint8Array =>
  model({
    opset: 13,
    graph: graph({
      inputs: [value("x", FLOAT, ["n", "l", channels])],
      outputs: [value("y", FLOAT, ["n", outputs, "m", 1])],
      initializers: [
        tensor("w", [outputs, channels / 2, rows, 1], weights),
        tensor("b", [outputs], biases),
        tensor("last", [1], BigInt64Array.of(3n)),
      ],
      nodes: [
        node("Unsqueeze", ["x", "last"], ["picture"]),
        node("Transpose", ["picture"], ["column"], [attribute.ints("perm", [0, 2, 1, 3])]),
        node("Conv", ["column", "w", "b"], ["y"], [attribute.int("group", 2), attribute.ints("strides", [2, 3]), attribute.ints("dilations", [2, 1]), attribute.ints("pads", [1, 0, 1, 0])]), // prettier-ignore
      ],
    }),
  });

/** The formula in float64. */
function expected(x: Float32Array, n: number, l: number): number[] {
  const length = Math.floor((l + 2 - 2 * (rows - 1) - 1) / 2) + 1;
  const found: number[] = [];
  for (let batch = 0; batch < n; batch++)
    for (let o = 0; o < outputs; o++)
      for (let at = 0; at < length; at++) {
        let sum = biases[o]!;
        for (let c = 0; c < channels / 2; c++)
          for (let k = 0; k < rows; k++) {
            const row = 2 * at + 2 * k - 1;
            const channel = c + (o < outputs / 2 ? 0 : channels / 2);
            if (row >= 0 && row < l) sum += x[(batch * l + row) * channels + channel]! * weights[(o * (channels / 2) + c) * rows + k]!;
          }
        found.push(sum);
      }
  return found;
}

eachDevice("a convolution of one column", (device) => {
  test("is that of its rows, eagerly and compiled, with gradients", () =>
    clean(device, async () => {
      using loaded = await dx.io.onnx.load(columns(), { device });
      for (const [call, [n, l]] of [
        [2, 9],
        [2, 9],
        [1, 6],
        [2, 9],
      ].entries()) {
        // prettier-ignore
        const data = Float32Array.from({ length: n! * l! * channels }, (_, i) => (((call + 3) * i) % 7) - 3);
        using x = dx.tensor(data, { shape: [n!, l!, channels], device });
        using y = loaded.call({ x }, { eager: call === 0 }).y!;
        expect(y.shape).toEqual([n, outputs, y.shape[2], 1]);
        expect(numbers(y)).toEqual(expected(data, n!, l!));
      }
    }));

  test("gives gradients to its weights", () =>
    dx.withDevice(device, () =>
      dx.scope(async () => {
        using loaded = await dx.io.onnx.load(columns(), { device, trainable: true });
        loaded
          .call({ x: dx.ones([1, 9, channels], { device }) }, { eager: true })
          .y!.sum()
          .backward();
        const w = loaded.parameters().find((p) => p.shape.length === 4)!;
        expect(w.grad!.shape).toEqual([outputs, channels / 2, rows, 1]);
        // Four steps; the first window begins and the last ends outside.
        expect(numbers(w.grad!).slice(0, rows)).toEqual([3, 4, 3]);
      }),
    ));
});
