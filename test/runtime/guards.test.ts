/** DXTENSOR_GUARD: what writes outside of its memory is found, and named. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { kernel, type Kernel } from "../../src/shader/kernels/kernel.ts";
import type { Float, Uint } from "../../src/shader/numbers.ts";
import { devices } from "../device.ts";
import { runKernel } from "../shader/device.ts";

const variables = ["DXTENSOR_GUARD", "DXTENSOR_FUSE"] as const;
const before = variables.map((name) => process.env[name]);
beforeAll(() => {
  process.env.DXTENSOR_GUARD = "1";
  process.env.DXTENSOR_FUSE = "always";
  for (const device of devices) dx.closeDevice(device);
});
afterEach(() => {
  for (const device of devices) dx.closeDevice(device);
});
afterAll(() => {
  variables.forEach((name, i) => {
    if (before[i] === undefined) delete process.env[name];
    else process.env[name] = before[i];
  });
});

/** Four numbers at once, whatever the result's size is: a structure is seen as a whole. */
const four = (name: string): Kernel =>
  kernel(name, { inputs: { x: "f32" }, outputs: { y: "f32" }, threads: 32, groups: () => 1 }, (s) => {
    const to = s.buffers.y as unknown as { storesInside(at: Uint, values: readonly Float[]): void };
    s.if(s.local.eq(0), () => to.storesInside(s.u32(0), [1, 2, 3, 4].map((n) => s.buffers.x.load(0).mul(n)))); // prettier-ignore
  });
const [writing, other] = [four("four numbers"), four("four other numbers")];
const run = (x: dx.Tensor, size: number, of = writing): dx.Tensor => runKernel(of, { inputs: { x }, outputs: { y: [size] } })["y"]!;

describe.each(devices)("guard areas on %s", (device) => {
  const numbers = (values: readonly number[]): dx.Tensor => dx.tensor(Float32Array.from(values), { device });

  it("let right work pass: eager calls, replays, in place, views, training steps", () => {
    const x = numbers([1, 2, 3, 4, 5]);
    expect([...dx.exp(dx.mul(x, 0)).dataSync()]).toEqual([1, 1, 1, 1, 1]);
    expect([...run(x, 4).dataSync()]).toEqual([1, 2, 3, 4]);
    const chain = dx.compile((a: dx.Tensor) => dx.sum(dx.mul(dx.softmax(dx.add(a, 1), -1), dx.gt(a, 2).to("float32"))));
    const sums = [0, 1, 2].map((i) => chain(dx.add(x, i)).dataSync()[0]!);
    const expected = [0, 1, 2].map((i) => {
      const e = [1, 2, 3, 4, 5].map((n) => Math.exp(n));
      const whole = e.reduce((a, b) => a + b);
      return e.reduce((sum, n, k) => sum + (k + 1 + i > 2 ? n / whole : 0), 0);
    });
    sums.forEach((sum, i) => expect(sum).toBeCloseTo(expected[i]!, 5));
    const w = dx.randn([7, 3], { device, requiresGrad: true });
    const optimizer = new dx.optim.Adam([w], { lr: 0.1 });
    const step = dx.compile((a: dx.Tensor) => {
      const loss = dx.mean(dx.square(dx.matmul(a, w)));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    const input = dx.randn([5, 7], { device });
    const losses = [0, 1, 2, 3].map(() => step(input).dataSync()[0]!);
    expect(losses[3]).toBeLessThan(losses[0]!);
    expect(dx.tensor(new Float32Array(0), { device }).dataSync()).toHaveLength(0);
  });

  it("name an eager operation that writes behind its result", () => {
    const y = run(numbers([1]), 1);
    expect(() => y.dataSync()).toThrow(dx.NativeError);
    expect(() => y.dataSync()).toThrow(
      /'four numbers' wrote outside of its memory: bytes 0 to 11 of the guard area behind a buffer of 4 bytes/,
    );
    // The memory is not to be trusted any more.
    expect(() => dx.add(y, 1)).toThrow(/'four numbers'/);
  });

  it("reject what waits for the device", async () => {
    const y = run(numbers([1]), 2);
    await expect(y.data()).rejects.toThrow(/bytes 0 to 7 of the guard area behind a buffer of 8 bytes/);
    await expect(dx.synchronize(device)).rejects.toThrow(/'four numbers'/);
  });

  it("name the program whose replay writes behind a result or a value between two operations", () => {
    const compiled = dx.compile((x: dx.Tensor) => run(run(x, 3), 4, other), { name: "twice" });
    const x = numbers([2]);
    expect(() => [0, 1, 2].forEach(() => compiled(x).dataSync())).toThrow(
      /program '.*twice.*' wrote outside of its memory: bytes 0 to 3 of the guard area at byte \d+ of its scratch memory have changed/,
    );
  });

  it("are made again where freed memory is used again, by smaller and larger buffers", () => {
    for (const n of [1000, 3, 64, 65, 4, 5000, 1])
      dx.scope(() => {
        const data = Array.from({ length: n }, (_, i) => i);
        expect([...dx.add(numbers(data), 1).dataSync()]).toEqual(data.map((x) => x + 1));
      });
  });
});

it("are not there without the switch: the bytes behind a result are its padding", () => {
  delete process.env.DXTENSOR_GUARD;
  try {
    const [device] = devices;
    expect([...run(dx.tensor(Float32Array.from([1]), { device: device! }), 1).dataSync()]).toEqual([1]);
  } finally {
    process.env.DXTENSOR_GUARD = "1";
  }
});
