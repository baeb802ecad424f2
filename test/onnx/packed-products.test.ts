/** MatMulNBits by the library's product of packed weights: float64, zero points, gradients, copies. Small cases of ONNX Runtime are in single-nodes. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const FLOAT = 1;
const [N, K, SIZE] = [12, 64, 16];
const BLOCKS = K / SIZE;

type Zeros = "none" | "packed" | "floats";

interface Made {
  readonly file: Uint8Array;
  /** [N, K] */
  readonly weight: Float64Array;
}

/** A node whose weights are (code - zero) * scale, with a bias. */
function made(bits: 4 | 8, zeros: Zeros): Made {
  const codes = Uint8Array.from({ length: N * K }, (_, i) => (i * 73 + (i >> 4) * 11) & (2 ** bits - 1));
  const scales = Float32Array.from({ length: N * BLOCKS }, (_, i) => ((i % 7) - 3.5) / 2 ** bits);
  const zero = Uint8Array.from({ length: N * BLOCKS }, (_, i) => (i * 29 + 3) & (2 ** bits - 1));
  const packed = (list: Uint8Array): Uint8Array =>
    bits === 8 ? list : Uint8Array.from({ length: list.length / 2 }, (_, i) => list[2 * i]! | (list[2 * i + 1]! << 4));
  const weight = Float64Array.from(codes, (code, i) => {
    const block = Math.floor(i / SIZE);
    return (code - (zeros === "none" ? 2 ** (bits - 1) : zero[block]!)) * scales[block]!;
  });
  const initializers = [
    tensor("q", [N, BLOCKS, (SIZE * bits) / 8], packed(codes)),
    tensor("s", [N * BLOCKS], scales),
    tensor(
      "bias",
      [N],
      Float32Array.from({ length: N }, (_, i) => i / 8),
    ),
  ];
  if (zeros === "packed") initializers.push(tensor("z", [(N * BLOCKS * bits) / 8], packed(zero)));
  if (zeros === "floats") initializers.push(tensor("z", [N * BLOCKS], Float32Array.from(zero)));
  const attributes = [attribute.int("bits", bits), attribute.int("N", N), attribute.int("K", K), attribute.int("block_size", SIZE)];
  const file = model({
    opset: 17,
    domains: { "com.microsoft": 1 },
    graph: graph({
      inputs: [value("x", FLOAT, ["m", K])],
      outputs: [value("y", FLOAT, ["m", N])],
      initializers,
      nodes: [node("MatMulNBits", ["x", "q", "s", zeros === "none" ? "" : "z", "", "bias"], ["y"], attributes, "com.microsoft", "product")],
    }),
  });
  return { file, weight };
}

const rows = (m: number, seed: number): Float32Array => Float32Array.from({ length: m * K }, (_, i) => Math.sin(i * 1.3 + seed));

function expected(weight: Float64Array, x: Float32Array): number[] {
  return Array.from({ length: (x.length / K) * N }, (_, at) => {
    const [row, n] = [Math.floor(at / N), at % N];
    let sum = n / 8;
    for (let k = 0; k < K; k++) sum += weight[n * K + k]! * x[row * K + k]!;
    return sum;
  });
}

eachDevice("packed products", (device) => {
  test.each([
    [4, "none"],
    [4, "packed"],
    [4, "floats"],
    [8, "none"],
    [8, "packed"],
    [8, "floats"],
  ] as const)("%i bits, zero points: %s", async (bits, zeros) => {
    const { file, weight } = made(bits, zeros);
    const loaded = await dx.io.onnx.load(file, { device });
    // Zero points have become minima.
    expect(loaded.nodes[0]!.inputs).toEqual(
      zeros === "none" ? ["x", "q", "s", "", "", "bias"] : ["x", "q", "s", "", "", "bias", "minima of y"],
    );
    const copy = loaded.clone();
    for (const run of [loaded, copy])
      for (const [m, seed] of [
        [1, 0],
        [1, 1],
        [1, 2],
        [40, 3],
      ] as const) {
        const x = rows(m, seed);
        const y = numbers(run.call(dx.tensor(x, { shape: [m, K], device }))["y"]!);
        const wanted = expected(weight, x);
        y.forEach((v, i) => {
          expect(Math.abs(v - wanted[i]!)).toBeLessThan(2e-5 * (1 + Math.abs(wanted[i]!)));
        });
      }
    const x = dx.tensor(rows(2, 5), { shape: [2, K], device, requiresGrad: true });
    dx.sum(loaded.forward(x)).backward();
    const grads = numbers(x.grad!);
    for (const k of [0, 1, 17, K - 1]) {
      let sum = 0;
      for (let n = 0; n < N; n++) sum += weight[n * K + k]!;
      expect(Math.abs(grads[K + k]! - sum)).toBeLessThan(1e-4);
    }
    loaded.dispose();
    const kept = numbers(copy.call(dx.tensor(rows(1, 7), { shape: [1, K], device }))["y"]!);
    expect(Math.abs(kept[0]! - expected(weight, rows(1, 7))[0]!)).toBeLessThan(1e-4);
    copy.dispose();
  });
});
