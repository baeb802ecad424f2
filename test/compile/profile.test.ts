import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

describe("profileSync", () => {
  it("needs a call first", () => {
    const step = dx.compile((x: dx.Tensor) => dx.add(x, 1), { name: "step" });
    expect(() => step.profileSync()).toThrow(/profileSync: step must be called before; received no call/);
    step.dispose();
  });
});

eachDevice("profileSync", (device) => {
  it("tells the time of each dispatch, and updates state", () => {
    const state = dx.zeros([1000], { device });
    const step = dx.compile(
      (x: dx.Tensor) => {
        state.add_(x);
        return dx.sum(dx.matmul(state.reshape(10, 100), dx.transpose(state.reshape(10, 100), 0, 1)));
      },
      { name: "step" },
    );
    const x = dx.ones([1000], { device });
    step(x).dataSync();
    const profile = step.profileSync();
    expect(profile.dispatches.length).toBe(step.explain().dispatches);
    // A clock of the device may not tell the ends of a small dispatch apart.
    for (const d of profile.dispatches) expect(d.microseconds).toBeGreaterThanOrEqual(0);
    expect(profile.microseconds).toBeGreaterThan(0);
    expect(profile.microseconds).toBeCloseTo(
      profile.dispatches.reduce((sum, d) => sum + d.microseconds, 0),
      6,
    );
    const text = `${profile}`;
    expect(text).toContain(`step on ${device}`);
    expect(text).toMatch(/ {2}1x/);
    // One call and the profile's rounds.
    const after = state.dataSync()[0]!;
    expect(after).toBeGreaterThan(1);
    expect(step(x).dataSync()[0]).toBeCloseTo(100 * 100 * (Number(after) + 1) ** 2, -3);
    step.dispose();
    x.dispose();
    state.dispose();
  });
});
