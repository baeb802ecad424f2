/** What a function asks for, without running it. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { capture } from "../../src/compile/capture.ts";
import { eachDevice } from "../device.ts";

eachDevice("capture()", (device) => {
  test("gives the events in order, computes nothing, and leaves state as it was", async () => {
    const weight = dx.ones([2], { device, requiresGrad: true });
    const state = dx.zeros([2], { device });
    const x = dx.tensor([1, 2], { device });
    for (let i = 0; i < 3; i++) {
      const { events, inputs, result } = capture(
        "f",
        (v) => {
          state.add_(v);
          return v.mul(weight).reshape([2, 1]).relu();
        },
        [x],
        (y) => y.shape,
      );
      expect(events.map((e) => ("definition" in e ? e.definition.name : e.kind))).toEqual(["add", "assign", "mul", "view", "relu"]);
      expect(inputs).toHaveLength(1);
      expect(result).toEqual([2, 1]);
    }
    expect(await state.toArray()).toEqual([0, 0]);
    expect(state.storage.version).toBe(0);
    expect(() =>
      capture(
        "f",
        (v) => v.itemSync(),
        [dx.ones([], { device })],
        (n) => n,
      ),
    ).toThrow(dx.TraceError);
  });
});
