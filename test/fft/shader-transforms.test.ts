/** Transforms by shaders against float64: every plan, axes, views, halves and gradients. */
import { afterEach, beforeEach, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { shaderPlanOf } from "../../src/fft/shader-plan.ts";
import { eachMode, numbers } from "../device.ts";
import { share } from "../share.ts";
import { along, complexOf, complexWaves, errorOf, first, tensorOf } from "./reference.ts";

/** As shares of the results' root mean square. */
const BOUND = 4e-6;

let before: string | undefined;
beforeEach(() => {
  before = process.env.DXTENSOR_SHADERS;
  process.env.DXTENSOR_SHADERS = "on";
});
afterEach(() => {
  if (before === undefined) delete process.env.DXTENSOR_SHADERS;
  else process.env.DXTENSOR_SHADERS = before;
});

eachMode("transforms by shaders", (device, mode) => {
  const small = Array.from({ length: 64 }, (_, i) => i + 1);
  const lengths = [...share(small, 5, 2), 97, 360, 1009, 4096, ...share([1000, 8192], 2)];
  test("of many lengths, both ways, and halves", () => {
    dx.closeDevice(device);
    for (const n of mode.name === "eager" ? lengths : [31, 1000])
      dx.scope(() => {
        const x = complexWaves(2 * n);
        const [y, back, half, real] = mode.run(
          (pairs) => {
            const z = dx.viewAsComplex(pairs!);
            const spectrum = dx.fft.fft(z);
            const ofReal = dx.fft.rfft(z.real);
            return [dx.viewAsReal(spectrum), dx.viewAsReal(dx.fft.ifft(spectrum)), dx.viewAsReal(ofReal), dx.fft.irfft(ofReal, { n })];
          },
          dx.viewAsReal(complexOf(x, [2, n])),
        );
        const want = along(x, [2, n], 1, n, -1).x;
        expect(errorOf(dx.viewAsComplex(y!), want), `fft ${n}`).toBeLessThan(BOUND);
        expect(errorOf(dx.viewAsComplex(back!), x), `ifft ${n}`).toBeLessThan(BOUND);
        const count = Math.floor(n / 2) + 1;
        const spectrum = along([x[0], new Float64Array(2 * n)], [2, n], 1, n, -1).x.map((p) => first(p, [2, n], 1, count));
        expect(errorOf(dx.viewAsComplex(half!), spectrum), `rfft ${n}`).toBeLessThan(BOUND);
        expect(errorOf(real!, [x[0]]), `irfft ${n}`).toBeLessThan(BOUND);
      });
    expect(dx.counters(device).shadersCompiled).toBeGreaterThan(0);
  });

  test("along any axis, cut and padded, of views and of conjugates", () => {
    const shape = [3, 20, 5];
    const x = complexWaves(300);
    for (const [axis, n] of [
      [0, 3],
      [1, 20],
      [1, 7],
      [1, 34],
      [0, 4352 / 17],
      [2, 9],
    ] as const)
      dx.scope(() => {
        const [y] = mode.run(
          (pairs) => [dx.viewAsReal(dx.fft.fft(dx.viewAsComplex(pairs!), { axis, n }))],
          dx.viewAsReal(complexOf(x, shape)),
        );
        expect(errorOf(dx.viewAsComplex(y!), along(x, shape, axis, n, -1).x), `axis ${axis}, ${n}`).toBeLessThan(BOUND);
      });
    const [t] = mode.run((a) => [dx.viewAsReal(dx.fft.fft(dx.complex(a!.transpose(0, 2), a!.transpose(0, 2)).conj(), { axis: 1 }))], tensorOf(x[0], shape)); // prettier-ignore
    const moved = new Float64Array(300);
    for (let i = 0; i < 3; i++)
      for (let j = 0; j < 20; j++) for (let k = 0; k < 5; k++) moved[(k * 20 + j) * 3 + i] = x[0][(i * 20 + j) * 5 + k]!;
    const conjugate = moved.map((v) => -v);
    expect(errorOf(dx.viewAsComplex(t!), along([moved, conjugate], [5, 20, 3], 1, 20, -1).x)).toBeLessThan(BOUND);
  });

  test("in two launches along an axis in the middle, of nothing, and of NaN", () => {
    expect(shaderPlanOf(4608)!.kind).toBe("twice");
    const x = complexWaves(4608 * 2);
    const [y] = mode.run((pairs) => [dx.viewAsReal(dx.fft.ifft(dx.viewAsComplex(pairs!), { axis: 1 }))], dx.viewAsReal(complexOf(x, [1, 4608, 2]))); // prettier-ignore
    expect(errorOf(dx.viewAsComplex(y!), along(x, [1, 4608, 2], 1, 4608, 1, 1 / 4608).x)).toBeLessThan(BOUND);
    expect(dx.fft.fft(dx.zeros([0, 8])).shape).toEqual([0, 8]);
    const odd = dx.fft.fft(dx.tensor([1, NaN, 2, 3, 1, 2, 3, 4], { shape: [2, 4] }));
    const parts = numbers(dx.viewAsReal(odd));
    const isNone = Array.from({ length: 8 }, (_, i) => Number.isNaN(parts[2 * i]! + parts[2 * i + 1]!));
    expect(isNone).toEqual([true, true, true, true, false, false, false, false]);
  });

  test("have the gradients of the composed form", () => {
    const x = tensorOf(complexWaves(2 * 12 * 2)[0], [2, 12, 2]);
    const of = (fn: (t: dx.Tensor) => dx.Tensor): number[] =>
      mode
        .run((a) => {
          const leaf = a!.detach().requiresGrad_();
          return dx.grad(fn(leaf).square().sum(), [leaf]) as dx.Tensor[];
        }, x)
        .flatMap((t) => numbers(t));
    const functions = [
      (t: dx.Tensor) => dx.viewAsReal(dx.fft.fft(dx.viewAsComplex(t), { n: 17 })),
      (t: dx.Tensor) => dx.viewAsReal(dx.fft.rfft(t, { axis: 1, n: 10, norm: "ortho" })),
      (t: dx.Tensor) => dx.fft.irfft(dx.viewAsComplex(t), { n: 21 }).mul(2),
      (t: dx.Tensor) => dx.fft.hfft(dx.viewAsComplex(t)).cos(),
    ];
    for (const fn of functions) {
      process.env.DXTENSOR_SHADERS = "off";
      const want = of(fn);
      process.env.DXTENSOR_SHADERS = "on";
      of(fn).forEach((v, i) => expect(Math.abs(v - want[i]!)).toBeLessThan(2e-4 * Math.max(1, Math.abs(want[i]!))));
    }
  });
});
