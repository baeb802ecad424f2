/** Every row of gradcheck through a compiled function: gradients and their gradients agree with eager calls, in each of three calls. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { ROWS, values, type Fn } from "../autograd/rows.ts";
import { eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";
import { share } from "../share.ts";

/** Gradients of the sum of squares, and those of the sum of their squares. */
function orders(fn: Fn, inputs: readonly dx.Tensor[]): (dx.Tensor | null)[] {
  const results = fn(...inputs);
  const list: readonly dx.Tensor[] = results instanceof dx.Tensor ? [results] : results;
  const sum = (parts: readonly (dx.Tensor | null)[]): dx.Tensor | null =>
    parts.reduce<dx.Tensor | null>(
      (s, t) => (t?.requiresGrad !== true ? s : s === null ? t.square().sum() : s.add(t.square().sum())),
      null,
    );
  const first = dx.grad(sum(list)!, inputs, { createGraph: true, allowUnused: true });
  const slopes = sum(first);
  return [...first, ...(slopes === null ? [] : dx.grad(slopes, inputs, { allowUnused: true }))];
}

/** Their result's shape depends on data, which compile refuses. */
const DATA_SHAPED: ReadonlySet<string> = new Set(["repeatInterleave"]);

eachDevice("first and second gradients through a compiled function", () => {
  for (const [name, fn, shapes, low = -1, high = 1] of share(
    ROWS.filter((row) => !DATA_SHAPED.has(row[0])),
    2,
    1,
  ))
    test(name, () => {
      const f = dx.compile(fn);
      for (let call = 0; call < 3; call++)
        dx.scope(() => {
          const inputs = shapes.map((shape) => {
            const n = shape.reduce((a, b) => a * b, 1);
            // Moved by a little: what is smooth at the row's own inputs is smooth there.
            return dx.tensor(
              values(n, low, high).map((v) => v + 0.001 * call),
              { shape, requiresGrad: true },
            );
          });
          const expected = orders(fn, inputs);
          orders(f as Fn, inputs).forEach((t, i) => {
            expect(t === null).toBe(expected[i] === null);
            if (t !== null) expectClose(t.detach(), [...expected[i]!.detach().dataSync()].map(Number), { atol: 1e-5, rtol: 1e-3 });
          });
        });
      f.dispose();
    });
});
