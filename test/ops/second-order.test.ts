/** Gradients of first and second order against finite differences. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, devices } from "../device.ts";
import { SMOOTH, type Smooth } from "./smooth.ts";
import { share } from "../share.ts";

/** The gradients of fn as a function of its inputs, so that their own gradients can be checked. */
const gradientsOf =
  (fn: Smooth["fn"]) =>
  (...inputs: dx.Tensor[]): dx.Tensor[] =>
    dx.enableGrad(() => {
      const leaves = inputs.map((t) => (t.requiresGrad ? t : t.detach().requiresGrad_()));
      const y = fn(...leaves);
      const seed = dx.tensor(
        Float32Array.from({ length: y.size }, (_, i) => 0.5 + Math.cos(3 * i)),
        { shape: y.shape, device: y.device },
      );
      return dx.grad(y, leaves, { gradient: seed, createGraph: true }).filter((g) => g.requiresGrad);
    });

describe.each(devices)("gradients on %s", (device) => {
  test.each(share(SMOOTH, 2).map((s): [string, Smooth] => [s.name, s]))("%s", (_name, { fn, inputs, step = 0.02, once = false }) =>
    clean(
      device,
      () => {
        const operands = inputs.map(([shape, values]) => {
          const size = shape.reduce((a, b) => a * b, 1);
          return dx
            .tensor(
              Float32Array.from({ length: size }, (_, i) => values[i % values.length]! + 0.11 * Math.floor(i / values.length)),
              { shape },
            )
            .requiresGrad_();
        });
        expect(dx.gradcheck(fn, operands, { step })).toBe(true);
        if (!once) expect(dx.gradcheck(gradientsOf(fn), operands, { step, absolute: 5e-3, relative: 1e-2 })).toBe(true);
      },
      { collect: true },
    ),
  );
});
