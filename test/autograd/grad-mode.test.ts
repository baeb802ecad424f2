import { expect, it } from "vitest";
import { enableGrad, isGradEnabled, noGrad, setGradEnabled } from "../../src/autograd/grad-mode.ts";

it("is on, off inside noGrad, on again inside enableGrad, and as before after an error", () => {
  const inside = noGrad(() => [isGradEnabled(), enableGrad(isGradEnabled), isGradEnabled()]);
  expect([isGradEnabled(), ...inside]).toEqual([true, false, true, false]);
  expect(() =>
    noGrad(() => {
      throw new RangeError("stop");
    }),
  ).toThrow(RangeError);
  expect(isGradEnabled()).toBe(true);
});

it("set by hand it holds until the function around it is over", async () => {
  noGrad(() => {
    setGradEnabled(true);
    expect(isGradEnabled()).toBe(true);
  });
  expect(isGradEnabled()).toBe(true);
  const seen: boolean[] = [];
  await Promise.all([
    noGrad(async () => {
      await Promise.resolve();
      seen.push(isGradEnabled());
      setGradEnabled(true);
      await Promise.resolve();
      seen.push(isGradEnabled());
    }),
    noGrad(async () => {
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
      seen.push(isGradEnabled());
    }),
  ]);
  expect([seen, isGradEnabled()]).toEqual([[false, true, false], true]);
});
