/** Special functions against values computed in float64 (SciPy 1.17), recorded in recorded/special.json. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachMode, isMicrosoft } from "../device.ts";
import { truncatesHalves } from "../compile/as-eager.ts";
import { expectClose, nearTruncated } from "../tolerance.ts";
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
        const [got, want] = [half, exact.to("float16")].map((t) => [t.toArraySync()].flat(3) as number[]);
        // DirectML over Vulkan truncates casts to float16 where a compiled function rounds to nearest.
        if (!truncatesHalves(device) || !want!.every((v, i) => nearTruncated(got![i]!, v))) expect(got).toEqual(want);
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
        expect(() => dx.polygamma(-1, dx.tensor([1]))).toThrow(/n must be an integer of at least 0/);
      },
      { collect: true },
    ));

  test("polygamma between the poles, and zeta of negative numbers, are PyTorch's", () =>
    clean(
      device,
      () => {
        const tolerance = { rtol: isMicrosoft(device) ? 1e-4 : 1e-5, atol: 0 };
        const second = mode.run((x) => dx.polygamma(2, x), dx.tensor([-100.5, -10.5, -2.5]));
        expectClose(second, [-9.802720262561968e-5, -0.008247469050651749, -0.1082040516417282], tolerance);
        expectClose(
          mode.run((x) => dx.polygamma(4, x), dx.tensor([-2.5])),
          [-0.06799599950675606],
          tolerance,
        );
        const s = dx.tensor([2, 3, 2, 3, 4, 2.5, 3, 2, 3]);
        const q = dx.tensor([-1.5, -1.5, -100.25, -0.75, -3.25, -1.5, -20.5, -1, 0]);
        const want = [
          9.379246644989,
          0.118102025821,
          19.729283325349,
          62.293499598398,
          259.75146713638,
          NaN,
          0.00113314496,
          Infinity,
          Infinity,
        ];
        expectClose(mode.run(dx.zeta, s, q), want, tolerance);
      },
      { collect: true },
    ));
});
