import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import type { Context } from "../../../src/verify/case.ts";
import { shaderCases } from "../../../src/verify/cases/shader-cases.ts";
import { Side } from "../../../src/verify/side.ts";
import { allCases } from "../../../src/verify/cases/suite.ts";
import { eachDevice } from "../../device.ts";

const wanted = ["softmax/eager", "crossEntropy/compiled", "embedding/eager", "matmul/views"].map((name) => `shader/lowering/${name}`);

eachDevice("samples by shaders", (device) => {
  it("run as shaders, on a device that ran DirectML's operators before", async () => {
    const cases = [...shaderCases(false)].filter(({ id }) => wanted.includes(id));
    expect(cases.map((c) => c.id).toSorted()).toEqual(wanted.toSorted());
    const judged = new Side(device);
    // Programs of before, by DirectML's operators, are not taken for it.
    dx.withDevice(device, () => dx.softmax(dx.ones([2, 3]), -1).dispose());
    const same = new Side(device);
    const context: Context = { device: judged, reference: same, peer: same, seed: 1, quick: true };
    for (const { id, run } of cases) {
      const before = dx.counters(device).shadersCompiled;
      expect([id, await run(context)]).toEqual([id, { kind: "agrees" }]);
      expect([id, dx.counters(device).shadersCompiled > (id === wanted[0] ? 0 : before)]).toEqual([id, true]);
    }
    expect(process.env["DXTENSOR_SHADERS"]).toBe(undefined);
    dx.closeDevice(device);
  });
});

it("are the last of all, since the device is opened again for them", () => {
  const families = [...allCases({ featureLevel: 0x6200, quick: true })].map(({ id }) => id.split("/")[0]!);
  const first = families.indexOf("shader");
  expect(first).toBeGreaterThan(0);
  expect(new Set(families.slice(first))).toEqual(new Set(["shader"]));
});
