/** The tensors that a compiled function saves for its gradients, and the computation of these. */
import { describe, expect, it } from "vitest";
import { madeAs, type Event } from "../../src/compile/log.ts";
import { operand } from "../../src/compile/operand.ts";
import { everythingOf } from "../../src/compile/traced-gradients.ts";
import * as dx from "../../src/index.ts";
import { devices, numbers } from "../device.ts";

describe.each(devices)("gradients of a compiled function on %s", (device) => {
  it("keep the tensors that they read as outputs, and make numbers again", () => {
    const w = dx.tensor([0.5, -2], { device, requiresGrad: true });
    const kept = (fn: (x: dx.Tensor) => dx.Tensor): { bytes: number; gradients: number[][] } => {
      const f = dx.compile(fn);
      const gradients = [1, 2, 3].map((k) => {
        w.grad = null;
        f(dx.tensor([k, k + 1], { device }))
          .sum()
          .backward();
        return numbers(w.grad!);
      });
      const bytes = f.explain().outputsInBytes;
      f.dispose();
      return { bytes, gradients };
    };
    // dw = 3: nothing of the forward pass is read but the number.
    expect(kept((x) => x.add(w.mul(3)))).toEqual({ bytes: 8, gradients: [0, 1, 2].map(() => [3, 3]) });
    // dw = 3 (x + 1): the sum is an output in addition to the result.
    expect(kept((x) => x.add(1).mul(w).mul(3))).toEqual({
      bytes: 16,
      gradients: [
        [6, 9],
        [9, 12],
        [12, 15],
      ],
    });
  });
});

it("user code may read whatever the function made or read, each storage once", () => {
  const [a, b, c] = [dx.ones([2]), dx.ones([2]), dx.ones([0])];
  const path = [
    { kind: "operation", inputs: [operand(a), operand(a), operand(c)], outputs: [madeAs(b, true)] },
    { kind: "assign", target: operand(b), source: operand(a) },
  ] as unknown as Event[];
  expect(everythingOf(path)).toEqual([a, b]);
});
