/** Special functions against values computed in float64 (SciPy 1.17), recorded in recorded/special.json. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachMode, isMicrosoft } from "../device.ts";
import { expectClose } from "../tolerance.ts";
import recorded from "./recorded/special.json" with { type: "json" };

interface Recorded {
  readonly x: readonly number[];
  readonly second?: readonly number[];
  readonly y: readonly number[];
}
type Any = (...inputs: dx.Tensor[]) => dx.Tensor;
const functions: Readonly<Record<string, Any>> = {
  polygamma1: (x) => dx.polygamma(1, x!),
  polygamma3: (x) => dx.polygamma(3, x!),
};
const cases = Object.entries(recorded as Record<string, Recorded>);

eachMode("special functions", (device, mode) => {
  test.each(cases)("%s", (name, { x, second, y }) =>
    clean(
      device,
      () => {
        const fn = functions[name] ?? (dx as unknown as Record<string, Any>)[name]!;
        const inputs = [x, ...(second === undefined ? [] : [second])].map((v) => dx.tensor(v));
        // A GPU's powers, logarithms and exponential functions are less exact.
        expectClose(mode.run(fn, ...inputs), y, { rtol: isMicrosoft(device) ? 2e-5 : 3e-6, atol: 1e-6 });
        // Half precision is computed in float32 and rounded once; what it cannot hold is left out.
        const halves = inputs.map((t) => t.to("float16"));
        const exact = fn(...halves.map((t) => t.to("float32")));
        const half = mode.run(fn, ...halves);
        expect(half.dtype).toBe("float16");
        expect(half.toArraySync()).toEqual(exact.to("float16").toArraySync());
      },
      { collect: true },
    ),
  );

  test("poles, limits and integers", () =>
    clean(
      device,
      () => {
        expectClose(mode.run(dx.lgamma, dx.tensor([0, -1, -2, Infinity, NaN])), [Infinity, Infinity, Infinity, Infinity, NaN]);
        expectClose(mode.run(dx.digamma, dx.tensor([0, -1, NaN])), [-Infinity, NaN, NaN]);
        expectClose(mode.run(dx.erfinv, dx.tensor([-1, 1, 1.5])), [-Infinity, Infinity, NaN]);
        expectClose(mode.run(dx.ndtri, dx.tensor([0, 1, -0.1])), [-Infinity, Infinity, NaN]);
        expectClose(mode.run(dx.igamma, dx.tensor([1, 1, -1, 0]), dx.tensor([0, Infinity, 1, 1])), [0, 1, NaN, 1]);
        expect(mode.run(dx.lgamma, dx.tensor([3], { dtype: "int32" })).dtype).toBe("float32");
        expectClose(
          mode.run((x) => dx.mvlgamma(x, 2), dx.tensor([2])),
          [0.451582705],
        );
        expectClose(
          mode.run((x) => dx.hermitePolynomialH(x, 3), dx.tensor([0.5])),
          [8 * 0.125 - 12 * 0.5],
        );
        expectClose(
          mode.run((x, n) => dx.laguerrePolynomialL(x, n), dx.tensor([0.5, 0.5]), dx.tensor([2, -1])),
          [1 - 2 * 0.5 + 0.125, 0],
        );
        expect(() => dx.polygamma(-1, dx.tensor([1]))).toThrow(/n must be a whole number of at least 0/);
      },
      { collect: true },
    ));
});
