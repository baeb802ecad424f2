/** int64 is compared exactly, past 2^53 and on devices that compare its halves otherwise: every comparing node sees uint64. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode } from "../../device.ts";

const MINIMUM = -(2n ** 63n);
const MAXIMUM = 2n ** 63n - 1n;
const whole = (values: readonly bigint[], dtype: dx.DType = "int64"): dx.Tensor => dx.tensor([...values], { dtype });
const A = [MAXIMUM, MINIMUM, 5_000_000_000n, -1n, 2n ** 53n + 1n];
const B = [MAXIMUM - 1n, MINIMUM + 1n, 3_000_000_000n, 3_000_000_000n, 2n ** 53n];
const larger = A.map((a, i) => (a > B[i]! ? a : B[i]!));
const smaller = A.map((a, i) => (a < B[i]! ? a : B[i]!));

const cases: readonly [string, (a: dx.Tensor, b: dx.Tensor) => dx.Tensor, readonly (bigint | boolean)[] | bigint][] = [
  ["maximum", dx.maximum, larger],
  ["minimum", dx.minimum, smaller],
  ["fmax", dx.fmax, larger],
  ["fmin", dx.fmin, smaller],
  ["clampMin", dx.clampMin, larger],
  ["clampMax", dx.clampMax, smaller],
  ["clamp", (a, b) => dx.clamp(a, b, b), B],
  ["amax", (a) => dx.amax(a), MAXIMUM],
  ["amin", (a) => dx.amin(a), MINIMUM],
  ["scatterReduce", (a, b) => dx.scatterReduce(a, 0, dx.arange(5, { device: a.device }), b, "amax"), larger],
  ["lt", dx.lt, A.map((a, i) => a < B[i]!)],
  ["bitwiseRightShift", (a) => dx.bitwiseRightShift(a, 1), A.map((a) => a >> 1n)],
];

eachMode("int64", (device, mode) => {
  it.each(cases)("%s", (_, run, expected) =>
    clean(device, () => {
      expect(mode.run(run, whole(A), whole(B)).toArraySync()).toEqual(expected);
    }),
  );
});

it.each(cases)("no node of %s compares int64", (_, run) => {
  dx.withDevice("cpu", () => {
    const compiled = dx.compile(run);
    compiled(whole(A), whole(B));
    const comparing = compiled.explain().nodes.filter((n) => /MAX|MIN|LESS_THAN|GREATER_THAN|REDUCE/.test(n.operator));
    expect(comparing.length).toBeGreaterThan(0);
    expect(comparing.filter((n) => n.inputs.some((i) => i.includes(":int64")))).toEqual([]);
    compiled.dispose();
  });
});

it("masked extremes leave out what the mask does, at the ends of each integer dtype", () => {
  dx.withDevice("cpu", () => {
    const mask = dx.tensor([false, true, true], { dtype: "bool" });
    expect(dx.masked.amax(whole([0n, MINIMUM, MINIMUM + 1n]), 0, { mask }).toArraySync()).toBe(MINIMUM + 1n);
    expect(dx.masked.amax(whole([0n, MINIMUM, MINIMUM]), 0, { mask }).toArraySync()).toBe(MINIMUM);
    expect(dx.masked.amin(whole([0n, MAXIMUM, MAXIMUM]), 0, { mask }).toArraySync()).toBe(MAXIMUM);
    const top = 2n ** 64n - 1n;
    expect(dx.masked.amin(whole([0n, top, top], "uint64"), 0, { mask }).toArraySync()).toBe(top);
    expect(dx.masked.argmin(whole([0n, MAXIMUM, MAXIMUM - 1n]), 0, { mask }).toArraySync()).toBe(2);
    expect(dx.masked.amax(dx.tensor([5, -128, -127], { dtype: "int8" }), 0, { mask }).toArraySync()).toBe(-127);
  });
});
