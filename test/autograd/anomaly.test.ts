/** detectAnomaly(): which operation's gradient has a NaN, and where it was called. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const caught = (fn: () => unknown): dx.AnomalyError => {
  try {
    fn();
  } catch (error) {
    if (error instanceof dx.AnomalyError) return error;
    throw error;
  }
  return expect.fail("no AnomalyError");
};

eachDevice("detectAnomaly", (device) => {
  const alone = (fn: () => void) => (): Promise<void> => clean(device, fn, { collect: true });

  test(
    "names the operation, its input, and the line of the forward call",
    alone(() => {
      const x = dx.tensor([-1, 4], { requiresGrad: true });
      for (const dtype of ["float32", "float16"] as const)
        for (let i = 0; i < 3; i++) {
          const error = caught(() => dx.detectAnomaly(() => x.to(dtype).sqrt().mul(2).sum().backward()));
          expect([error.gradientOf, error.input, error.operation]).toEqual(["sqrt", 0, "backward"]);
          expect(error.site).toMatch(/^at .*anomaly\.test\.ts:\d+$/);
          expect(error.message).toMatch(/^backward: gradient 0 of sqrt must be without NaN; received NaN; sqrt was called at .*:\d+\.$/);
        }
      const zero = dx.tensor([0], { requiresGrad: true });
      // 0 / 0 by the second input.
      const quotient = caught(() => dx.detectAnomaly(() => dx.grad(dx.div(dx.tensor([0]), zero).sum(), [zero])));
      expect([quotient.gradientOf, quotient.input]).toEqual(["div", 1]);
    }),
  );

  test(
    "checks only while it is on, says what is missing, and changes no gradient",
    alone(() => {
      const x = dx.tensor([-1, 4], { requiresGrad: true });
      const y = x.sqrt().sum();
      expect(numbers(dx.grad(y, [x], { retainGraph: true })[0])).toEqual([Number.NaN, 0.25]);
      const error = caught(() => dx.detectAnomaly(() => dx.grad(y, [x], { retainGraph: true })));
      expect([error.site, error.hint]).toEqual([null, expect.stringContaining("forward pass")]);
      const z = dx.detectAnomaly(() => x.sqrt().sum());
      expect(numbers(dx.grad(z, [x])[0])).toEqual([Number.NaN, 0.25]);
      const good = dx.tensor([1, 4], { requiresGrad: true });
      expect(numbers(dx.detectAnomaly(() => dx.grad(good.sqrt().sum(), [good]))[0])).toEqual([0.5, 0.25]);
      expect(dx.detectAnomaly(() => dx.grad(dx.zeros([0], { requiresGrad: true }).sqrt().sum(), [x], { allowUnused: true }))).toEqual([
        null,
      ]);
      expect([dx.isAnomalyEnabled(), dx.detectAnomaly(() => dx.isAnomalyEnabled())]).toEqual([false, true]);
      dx.setDetectAnomaly(true);
      try {
        expect(caught(() => x.sqrt().sum().backward()).gradientOf).toBe("sqrt");
      } finally {
        dx.setDetectAnomaly(false);
      }
      x.sqrt().sum().backward();
      x.grad!.dispose();
    }),
  );

  test(
    "finds it in second derivatives, functions of users, checkpoints and compiled functions",
    alone(() => {
      const x = dx.tensor([0, 1], { requiresGrad: true });
      const second = (): unknown => {
        const [first] = dx.grad(x.pow(1.5).sum(), [x], { createGraph: true });
        return dx.grad(first.mul(0).sqrt().sum(), [x]);
      };
      expect(caught(() => dx.detectAnomaly(second)).gradientOf).not.toBe("");
      const broken = dx.defineFunction({
        name: "broken",
        forward: (_, t: dx.Tensor) => t.clone(),
        backward: (_, dy) => dy.mul(Number.NaN),
      });
      expect(caught(() => dx.detectAnomaly(() => broken(x).sum().backward())).gradientOf).toBe("broken");
      const root = (t: dx.Tensor): dx.Tensor => t.sub(2).sqrt().sum();
      expect(caught(() => dx.detectAnomaly(() => dx.checkpoint(root, x).backward())).gradientOf).toBe("sqrt");
      const compiled = dx.compile(root);
      for (let i = 0; i < 3; i++) {
        compiled(x).dispose();
        const error = caught(() => dx.detectAnomaly(() => compiled(x).backward()));
        expect([error.gradientOf, error.site]).toEqual(["sqrt", expect.stringContaining("anomaly.test.ts")]);
      }
      for (const wrong of [3, null, undefined]) expect(() => dx.detectAnomaly(wrong as never)).toThrow(dx.DxError);
      expect(() => dx.setDetectAnomaly("on" as never)).toThrow(dx.DxError);
    }),
  );
});
