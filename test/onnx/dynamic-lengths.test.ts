/** load(file, { dynamic }): one program for all lengths of a bucket, with the results of exact shapes. */
import { expect, test, vi } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const { nn } = dx;

/** Attention over tokens [batch, time], and what a mask leaves of it. */
class Attention extends nn.Module {
  readonly words = nn.embedding(20, 16);
  readonly layer = nn.transformerEncoderLayer(16, 2, { dimFeedforward: 32, dropout: 0, batchFirst: true });

  override forward(tokens: dx.Tensor, mask: dx.Tensor): dx.Tensor {
    return this.layer.forward(this.words.forward(tokens), { srcKeyPaddingMask: mask.eq(0) });
  }
}

/** A convolution network over pictures [batch, 3, 8, width], to a sequence. */
const reader = (): dx.nn.Sequential =>
  nn.sequential(
    nn.conv2d(3, 6, 3, { padding: 1 }),
    nn.relu(),
    nn.maxPool2d(2),
    nn.conv2d(6, 5, [4, 3], { padding: [0, 1] }),
    nn.flatten(2, 3),
    nn.softmax(1),
  );

eachDevice("a model of dynamic lengths", (device) => {
  /** Programs that are made during fn. */
  async function programsOf(fn: () => Promise<void>): Promise<number> {
    const native = nativeDevice(dx.device(device));
    // How a GPU rounds halves is found by a program of its own, before the first shader.
    void native.capabilities.roundsHalf;
    const made = vi.spyOn(native.binding, "createProgram");
    try {
      await fn();
      return made.mock.calls.length;
    } finally {
      made.mockRestore();
    }
  }

  async function check(
    file: Uint8Array,
    dynamic: dx.io.onnx.OnnxOptions["dynamic"],
    inputs: readonly (readonly dx.Tensor[])[],
    max: number,
  ): Promise<void> {
    using exact = await dx.io.onnx.load(file, { device, eager: true });
    using model = await dx.io.onnx.load(file, { device, ...(dynamic === undefined ? {} : { dynamic }) });
    const wanted = inputs.map((list) => exact(...list));
    const count = await programsOf(async () => {
      for (let round = 0; round < 2; round++)
        for (const [i, list] of inputs.entries()) {
          const y = model(...list);
          expect(y.shape).toEqual(wanted[i]!.shape);
          expectClose(y, [...((await wanted[i]!.data()) as Float32Array)], { rtol: 1e-4, atol: 1e-5 });
          y.dispose();
        }
    });
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThanOrEqual(max);
  }

  test("attention runs any length of a bucket by one program", async () => {
    const lengths = [9, 10, 11, 12, 13, 15, 16];
    const net = new Attention();
    net.eval();
    const file = await dx.io.onnx.serialize(
      (t: dx.Tensor, m: dx.Tensor) => net.forward(t, m),
      [dx.zeros([2, 5], { dtype: "int64" }), dx.ones([2, 5], { dtype: "int64" })],
      {
        names: { inputs: ["tokens", "mask"] },
        dynamicAxes: { tokens: { 0: "batch", 1: "time" }, mask: { 0: "batch", 1: "time" } },
      },
    );
    const inputs = lengths.map((n, i) => [
      dx.randint(0, 20, [2, n], { dtype: "int64" }),
      dx.arange(n, { dtype: "int64" }).lt(n - (i % 3)).to("int64").expand([2, n]).contiguous(), // prettier-ignore
    ]);
    await check(file, ["time"], inputs, 2);
  });

  test("convolutions run any width of a bucket by one program", async () => {
    const net = reader();
    net.eval();
    const file = await dx.io.onnx.serialize(net, dx.zeros([1, 3, 8, 12]), {
      names: { inputs: ["x"] },
      dynamicAxes: { x: { 0: "batch", 3: "width" } },
    });
    const inputs = [26, 28, 30, 32, 27, 40].map((width) => [dx.rand([1, 3, 8, width])]);
    await check(file, { x: [3] }, inputs, 2);
    await check(file, ["width", "batch"], [...inputs.slice(0, 2), [dx.rand([3, 3, 8, 30])], [dx.rand([3, 3, 8, 25])]], 2);
  });
});

test("what is no length of an input is refused", async () => {
  const file = await dx.io.onnx.serialize(nn.relu(), dx.zeros([1, 3]), { names: { inputs: ["x"] }, dynamicAxes: { x: { 0: "batch" } } });
  const load = (dynamic: unknown): Promise<unknown> => dx.io.onnx.load(file, { device: "cpu", dynamic: dynamic as string[] });
  for (const wrong of [["time"], { y: [0] }, { x: [1] }, { x: [0.5] }, { x: 0 }, { x: [-1] }])
    await expect(load(wrong)).rejects.toThrow(dx.ValueError);
  await expect(load(true)).rejects.toThrow(/dynamic/);
  await expect(load({ x: [0] })).resolves.toBeInstanceOf(dx.io.onnx.OnnxModel);
});
