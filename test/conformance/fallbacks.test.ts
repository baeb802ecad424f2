/** Which calls a report counts as fallback: scripts/bundled-tests/fallbacks.ts. */
import { afterEach, beforeAll, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { backend as openreg } from "../../packages/openreg/src/backend.ts";
import { Fallbacks } from "../../scripts/bundled-tests/fallbacks.ts";

beforeAll(() => dx.backend.register(openreg));
afterEach(() => dx.resetFallbackStats());

const call = (): void => dx.scope(() => void dx.acos(dx.tensor([0.5], { device: "openreg:0" })));

it.each([["openreg:0"], ["openreg"], ["cpu,openreg:0"], [""], [undefined]])("those of the devices under test: %s", (devices) => {
  const fallbacks = new Fallbacks(devices);
  for (const count of [1, 2, 1]) {
    for (let i = 0; i < count; i++) call();
    fallbacks.note();
    dx.resetFallbackStats();
  }
  expect(fallbacks.list).toEqual([{ operation: "acos", reason: expect.stringContaining("ELEMENT_WISE_ACOS"), calls: 2 }]);
});

it.each([["cpu"], ["openreg:1"], ["open"]])("none of a device that a test opens besides: %s", (devices) => {
  const fallbacks = new Fallbacks(devices);
  call();
  fallbacks.note();
  expect(dx.fallbackStats()).toHaveLength(1);
  expect(fallbacks.list).toEqual([]);
});

it("none that runs on the host on every device", () => {
  const fallbacks = new Fallbacks("cpu");
  dx.scope(() => void dx.linalg.inv(dx.tensor([[2, 0], [0, 2]], { device: "cpu" }))); // prettier-ignore
  fallbacks.note();
  expect(dx.fallbackStats().map(({ kind }) => kind)).toEqual(["host"]);
  expect(fallbacks.list).toEqual([]);
});
