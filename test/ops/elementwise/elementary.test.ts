/** sinc's derivatives, also at 0, where its formula divides by 0. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode } from "../../device.ts";

/** The n-th derivative of sin(πx) / (πx) by its series, Σ (-1)^k (πx)^(2k) / (2k + 1)!, in float64. */
function derivative(n: number, x: number): number {
  let sum = 0;
  // power / (2k + 1)! of the k-th term.
  let factor = 1;
  for (let k = 0; k < 40; k++) {
    let falling = 1;
    for (let i = 0; i < n; i++) falling *= 2 * k - i;
    if (2 * k >= n) sum += factor * falling * x ** (2 * k - n);
    factor *= -(Math.PI ** 2) / ((2 * k + 2) * (2 * k + 3));
  }
  return sum;
}

const inputs: readonly [number, number, number, number][] = [
  [0, 0.5, -1.25, -0],
  [1, 0, 2.5, -0.75],
  [-0, 0, 0, 1.5],
];

/** sinc and its first three derivatives. */
function derivatives(x: dx.Tensor): dx.Tensor[] {
  const leaf = x.detach().requiresGrad_();
  const made = [dx.sinc(leaf)];
  for (let n = 1; n <= 3; n++) made.push(dx.grad(made.at(-1)!.sum(), [leaf], { createGraph: n < 3 })[0]!);
  return made.map((t) => t.detach());
}

eachMode("sinc", (device, mode) =>
  test.each(inputs)("derivatives at %d, %d, %d and %d", (...x) =>
    clean(device, () => {
      for (const [n, t] of mode.run(derivatives, dx.tensor(x)).entries())
        for (const [i, v] of (t.toArraySync() as number[]).entries())
          expect(v, `derivative ${n} at ${x[i]}`).toBeCloseTo(derivative(n, x[i]!), 3);
    }),
  ),
);
