/** The linear recurrence s[i] = b[i] + a[i] s[i-1] along an axis, the gradient of cumprod. @package */
import { neutral } from "../../core/padded-axes.ts";
import { call } from "../../dispatch/dispatch.ts";
import type { Tensor } from "../../core/tensor.ts";
import { mul } from "../elementwise/binary.ts";
import { define, type Definition } from "../../core/definition.ts";
import { emitScan, shifted } from "./scan-lower.ts";
import { constant } from "../declare/support.ts";
import { sample, type Sample, real } from "../declare/sample.ts";
import { axisBehindBatch } from "../declare/batched.ts";

interface LinearAttributes {
  readonly axis: number;
  /** From the end to the start: s[i] = b[i] + a[i] s[i+1]. */
  readonly reverse: boolean;
}

const linearOp: Definition<LinearAttributes> = define<LinearAttributes>({
  name: "scanLinear",
  batched: axisBehindBatch,
  infer: ([, b]) => [b!],
  lower: (g, [a, b], { axis, reverse }) => {
    const [, s] = emitScan(g, [g.packed(a!), g.packed(b!)], {
      axis,
      reverse,
      identity: [1, 0],
      combine: ([a0, b0], [a1, b1]) => [g.elementWiseMultiply(a0!, a1!), g.elementWiseAdd(b1!, g.elementWiseMultiply(a1!, b0!))],
    });
    return [s!];
  },
  // db is the scan in reverse with each factor shifted by one; da[i] is db[i] times s[i - 1].
  grad: (dy, { inputs: [a], outputs: [s], attrs: { axis, reverse } }) => {
    const next = shift(a!, axis, reverse ? 1 : -1);
    const db = call(linearOp, [next, dy], { axis, reverse: !reverse });
    return [mul(db, shift(s!, axis, reverse ? -1 : 1)), db];
  },
  saves: { inputs: [0], outputs: true },
  padded: (_g, inputs, { axis, reverse }, _outputs, p, lower) =>
    lower(reverse && p.isPadded(1, axis) ? [p.filled(0, 0), p.filled(1, 0)] : inputs),
});

const shiftOp: Definition<{ readonly axis: number; readonly by: number }> = define<{ readonly axis: number; readonly by: number }>({
  name: "shift",
  batched: axisBehindBatch,
  infer: ([x]) => [x!],
  lower: (g, [x], { axis, by }) => [
    Math.abs(by) < x!.sizes[axis]! ? shifted(g, x!, axis, by, 0) : g.elementWiseIdentity(constant(g, x!.dtype, 0, x!.sizes)),
  ],
  grad: (dy, { attrs: { axis, by } }) => [shift(dy, axis, -by)],
  saves: { inputs: [], outputs: false },
  padded: neutral(({ axis }) => [axis], 0),
});

/** @internal s[i] = b[i] + a[i] s[i-1] along an axis; reverse: + a[i] s[i+1]. */
export const recurrence = (a: Tensor, b: Tensor, axis: number, reverse: boolean): Tensor => call(linearOp, [a, b], { axis, reverse });

/** x shifted along an axis by a number of elements, with zeros shifted in. */
const shift = (x: Tensor, axis: number, by: number): Tensor => call(shiftOp, [x], { axis, by });

/**
 * @internal For each k the sum over i from k on of dy[i] times the factors x strictly between k and i and at i; exclusive: the
 * factors at i are left out, and i begins behind k.
 */
export function scanLinear(x: Tensor, dy: Tensor, axis: number, { reverse, exclusive }: { reverse: boolean; exclusive: boolean }): Tensor {
  const on = reverse ? -1 : 1;
  return call(linearOp, [shift(x, axis, on), exclusive ? shift(dy, axis, on) : dy], { axis, reverse });
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "cumulative products, and sums of them", [real([3, 5], 0.5, 2), real([3, 5])], (x, dy) => [
    scanLinear(x!.detach(), dy!.detach(), 1, { reverse: false, exclusive: true }),
    scanLinear(x!.detach(), dy!.detach(), 1, { reverse: true, exclusive: false }),
  ]),
];
