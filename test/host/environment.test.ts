/** Variables that switch. */
import { expect, test } from "vitest";
import { isSwitchedOn } from "../../src/host/environment.ts";

test.each([
  ["1", true],
  ["true", true],
  [" On ", true],
  ["0", false],
  ["no", false],
  ["", false],
])("a variable that is %j", (value, isOn) => {
  process.env["DXTENSOR_STRICT"] = value;
  try {
    expect(isSwitchedOn("DXTENSOR_STRICT")).toBe(isOn);
    process.env["DXTENSOR_STRICT"] = "maybe";
    expect(() => isSwitchedOn("DXTENSOR_STRICT")).toThrow('environment: DXTENSOR_STRICT must be "1" or "0"; received maybe.');
  } finally {
    delete process.env["DXTENSOR_STRICT"];
  }
  expect(isSwitchedOn("DXTENSOR_STRICT")).toBe(false);
});
