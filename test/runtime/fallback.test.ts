import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";

// Read when a device is first used, which is below: profiles of the software adapter that lack something.
process.env.DXTENSOR_SIMULATE = "rtx-3070@6.4-ELEMENT_WISE_ERF,uhd-630@5.0";
/** They come after the machine's own adapters. */
const own = dx.dml.deviceCount() - 2;
const lacking = `dml:${own}`;
const old = `dml:${own + 1}`;

describe("fallback to the software adapter", () => {
  const warnings: Error[] = [];
  const note = (w: Error): void => void (w.name === "FallbackWarning" && warnings.push(w));

  beforeEach(() => {
    dx.resetFallbackStats();
    warnings.length = 0;
    process.on("warning", note);
  });
  afterEach(() => {
    process.off("warning", note);
    dx.setStrict(null);
  });

  it("names the simulated devices as simulated", () => {
    expect([dx.dml.deviceName(own), dx.dml.deviceName(own + 1)]).toEqual([
      "NVIDIA GeForce RTX 3070 (simulated)",
      "Intel(R) UHD Graphics 630 (simulated)",
    ]);
  });

  it("warns once, counts every call, and gives the right result on the tensor's own device", async () => {
    const x = dx.tensor([0, 0.5, -2], { device: lacking });
    const y = dx.erf(x);
    dx.erf(x);
    expect(String(y.device)).toBe(lacking);
    const want = [0, 0.5204998778, -0.995322265];
    ((await y.data()) as Float32Array).forEach((v, i) => expect(v).toBeCloseTo(want[i]!, 5));
    expect(dx.fallbackStats()).toEqual([expect.objectContaining({ operation: "erf", device: lacking, inputs: "float32[3]", calls: 2 })]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]!.message).toMatch(/erf\(float32\[3\]\).*RTX 3070/);
  });

  it("runs a compiled function eagerly when its device lacks an operator", async () => {
    const step = dx.compile((x: dx.Tensor) => dx.erf(x.mul(1)).add(1), { name: "needsErf" });
    for (let i = 0; i < 2; i++) expect((await step(dx.zeros([2], { device: lacking })).data())[0]).toBeCloseTo(1, 6);
    expect(dx.fallbackStats().map((r) => r.operation)).toContain("needsErf");
  });

  it("counts what runs on the host by its nature apart, and lets it run in strict mode", () => {
    dx.setStrict(true);
    const x = dx.linalg.solve(
      dx.tensor(
        [
          [2, 0],
          [0, 4],
        ],
        { device: old },
      ),
      dx.tensor([2, 4], { device: old }),
    );
    expect([String(x.device), x.toArraySync()]).toEqual([old, [1, 1]]);
    expect(dx.fallbackStats()).toEqual([expect.objectContaining({ kind: "host", operation: "linalg.solveEx", device: old, calls: 1 })]);
  });

  it("throws in strict mode, with operation, device and shapes", () => {
    dx.setStrict(true);
    expect(() => dx.erf(dx.ones([4], { device: lacking }))).toThrow(dx.UnsupportedError);
    expect(() => dx.erf(dx.ones([4], { device: lacking }))).toThrow(
      new RegExp(`erf: float32\\[4\\].*${lacking} \\(NVIDIA GeForce RTX 3070 \\(simulated\\)\\)`),
    );
  });

  it("is never taken at feature level 5.0 by what a training step needs", async () => {
    dx.setStrict(true);
    await dx.withDevice(old, async () => {
      dx.manualSeed(3);
      const network = dx.nn
        .sequential(
          dx.nn.conv2d(1, 4, 3),
          dx.nn.batchNorm2d(4),
          dx.nn.relu(),
          dx.nn.maxPool2d(2),
          dx.nn.conv2d(4, 4, 3),
          dx.nn.sigmoid(),
          dx.nn.avgPool2d(2),
          dx.nn.flatten(),
          dx.nn.dropout(0.2),
          dx.nn.linear(36, 12),
          dx.nn.layerNorm(12),
          dx.nn.gelu(),
          dx.nn.linear(12, 5),
        )
        .to(old);
      const optimizer = dx.optim.adamW(network.parameters(), { lr: 0.01 });
      const x = dx.randn([6, 1, 18, 18]);
      const y = dx.tensor(Int32Array.from([0, 1, 2, 3, 4, 0]));
      const step = (): dx.Tensor => {
        const loss = dx.crossEntropy(network.forward(x), y);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      };
      const first = await step().item();
      const compiled = dx.compile(step);
      let last = first;
      for (let i = 0; i < 15; i++) last = await compiled().item();
      expect(last).toBeLessThan(first);
      compiled.dispose();
    });
    expect(dx.fallbackStats()).toEqual([]);
  });
});
