/** Transforms against their definition in float64: every way in which they are planned, and every option. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { planOf, type Plan } from "../../src/fft/transform-plan.ts";
import { tableBytes, tableTensors } from "../../src/runtime/tables.ts";
import { cosSin } from "../../src/core/circle.ts";
import { clean, eachDevice, eachMode } from "../device.ts";
import { along, complexOf, dft, errorOf, first, complexWaves, tensorOf, unsigned, wave } from "./reference.ts";

/** Errors as shares of the results' root mean square: some units of float32's last place (6e-8). */
const BOUND = 4e-6;
const { fft } = dx;

const kinds = (p: Plan): string[] => [p.kind, ...(p.kind === "step" ? kinds(p.rest) : p.kind === "chirp" ? kinds(p.inner) : [])];

test("plans: matrices for small lengths, steps for composed ones, chirps for large primes", () => {
  expect([1, 2, 7, 64, 97].map((n) => kinds(planOf(n)))).toEqual([["matrix"], ["matrix"], ["matrix"], ["matrix"], ["matrix"]]);
  expect(kinds(planOf(4096)).every((k) => k !== "chirp")).toBe(true);
  expect(kinds(planOf(1009))[0]).toBe("chirp");
  expect(kinds(planOf(3 * 4099))).toContain("chirp");
  for (const n of [6, 1000, 4096, 65536, 1 << 24, 999983, 2 * 999983]) {
    let p: Plan = planOf(n);
    while (p.kind === "step") {
      expect(p.rest.n * p.radix).toBe(p.n);
      p = p.rest;
    }
    if (p.kind === "chirp") expect(p.length).toBeGreaterThanOrEqual(2 * p.n - 1);
  }
});

test("cosSin is exact at multiples of 45 degrees, and near everywhere", () => {
  expect([0, 1, 2, 3, 4].map((t) => cosSin(t, 4).map((v) => v + 0))).toEqual([
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
    [1, 0],
  ]);
  for (let t = 0; t < 360; t++) {
    const [c, s] = cosSin(t, 360);
    expect(Math.abs(c - Math.cos((2 * Math.PI * t) / 360)) + Math.abs(s - Math.sin((2 * Math.PI * t) / 360))).toBeLessThan(2e-15);
    expect(cosSin(t + 360, 360)).toEqual([c, s]);
  }
});

eachMode("transforms", (device, mode) => {
  const sizes =
    mode.name === "eager"
      ? [...Array.from({ length: 64 }, (_, i) => i + 1), 67, 97, 128, 257, 521, 1000, 1009, 2018, 4096, 65536]
      : [1, 2, 31, 129, 1000, 1009];
  test("of many lengths, and back", async () => {
    await clean(
      device,
      () => {
        for (const n of sizes)
          dx.scope(() => {
            const x = complexWaves(n);
            const z = complexOf(x, [n]);
            const want = dft(x, -1);
            const [re, im, back] = mode.run(
              (a, b) => {
                const y = fft.fft(dx.complex(a, b));
                return [y.real, y.imag, fft.ifft(y).real];
              },
              z.real,
              z.imag,
            );
            expect(errorOf(dx.complex(re!, im!), want), `fft ${n}`).toBeLessThan(BOUND);
            expect(errorOf(back!, [x[0]]), `ifft ${n}`).toBeLessThan(BOUND);
            const half = Math.floor(n / 2) + 1;
            const real = dft([x[0], new Float64Array(n)], -1);
            const [a, b, again] = mode.run(
              (t) => {
                const y = fft.rfft(t);
                return [y.real, y.imag, fft.irfft(y, { n })];
              },
              tensorOf(x[0], [n]),
            );
            expect(
              errorOf(
                dx.complex(a!, b!),
                real.map((p) => p.slice(0, half)),
              ),
              `rfft ${n}`,
            ).toBeLessThan(BOUND);
            expect(errorOf(again!, [x[0]]), `irfft ${n}`).toBeLessThan(BOUND);
          });
      },
      { collect: mode.name === "compiled" },
    );
  });

  test("axes, lengths and norms", async () => {
    await clean(
      device,
      () => {
        const shape = [3, 10, 4];
        const x = complexWaves(120);
        for (const [axis, n, norm] of [
          [0, undefined, "ortho"],
          [1, 7, "forward"],
          [1, 260, "backward"],
          [-1, 4, "ortho"],
          [-2, 262, undefined],
        ] as const)
          dx.scope(() => {
            const a = axis < 0 ? axis + 3 : axis;
            const length = n ?? shape[a]!;
            const scale = { forward: 1 / length, ortho: 1 / Math.sqrt(length), backward: 1 }[norm ?? "backward"];
            const z = complexOf(x, shape);
            const run = (f: typeof fft.fft): dx.ComplexTensor => {
              const parts = ({ real, imag }: dx.ComplexTensor): dx.Tensor[] => [real, imag];
              const [re, im] = mode.run((p, q) => parts(f(dx.complex(p, q), { n, axis, norm })), z.real, z.imag);
              return dx.complex(re!, im!);
            };
            const want = along(x, shape, a, length, -1, scale);
            expect(run(fft.fft).shape).toEqual(want.shape);
            expect(errorOf(run(fft.fft), want.x)).toBeLessThan(BOUND);
            expect(errorOf(run(fft.ifft), along(x, shape, a, length, 1, 1 / length / scale).x)).toBeLessThan(BOUND);
          });
      },
      { collect: mode.name === "compiled" },
    );
  });
});

eachDevice("transforms", (device) => {
  test("of real numbers: half spectra, their inverses, and the two of Hermitian signals", async () => {
    await clean(device, () => {
      for (const n of [1, 2, 5, 8, 260, 261])
        for (const norm of ["backward", "forward", "ortho"] as const) {
          const x = wave(2 * n);
          const half = Math.floor(n / 2) + 1;
          const forward = { backward: 1, forward: 1 / n, ortho: 1 / Math.sqrt(n) }[norm];
          const t = tensorOf(x, [2, n]);
          const none = new Float64Array(2 * n);
          const spectrum = along([x, none], [2, n], 1, n, -1, forward);
          const y = fft.rfft(t, { norm });
          expect(y.shape).toEqual([2, half]);
          expect(
            errorOf(
              y,
              spectrum.x.map((p) => first(p, [2, n], 1, half)),
            ),
          ).toBeLessThan(BOUND);
          const inverse = along([x, none], [2, n], 1, n, 1, 1 / n / forward);
          expect(
            errorOf(
              fft.ihfft(t, { norm }),
              inverse.x.map((p) => first(p, [2, n], 1, half)),
            ),
          ).toBeLessThan(BOUND);
          expect(errorOf(fft.irfft(y, { n, norm }), [x])).toBeLessThan(BOUND);
          expect(errorOf(fft.hfft(fft.ihfft(t, { norm }), { n, norm }), [x])).toBeLessThan(BOUND);
        }
      // Half a spectrum whose ends aren't real, longer than asked for, or shorter: what it can't be is left out.
      const z = complexOf(complexWaves(6), [6]);
      const [re, im] = [z.real.dataSync(), z.imag.dataSync()] as Float32Array[];
      for (const n of [10, 9, 4, 17]) {
        const whole = [new Float64Array(n), new Float64Array(n)] as const;
        for (let k = 0; k <= Math.floor(n / 2) && k < 6; k++) {
          whole[0][k] = re![k]!;
          if (k === 0 || 2 * k === n) continue;
          whole[1][k] = im![k]!;
          whole[0][n - k] = re![k]!;
          whole[1][n - k] = -im![k]!;
        }
        expect(errorOf(fft.irfft(z, { n }), [dft(whole, 1)[0].map((v) => v / n)])).toBeLessThan(BOUND);
        expect(errorOf(fft.hfft(z, { n }), [dft(whole, -1)[0]])).toBeLessThan(BOUND);
      }
      expect(fft.irfft(z).shape).toEqual([10]);
    });
  });

  test("along several axes", async () => {
    await clean(device, () => {
      const shape = [2, 3, 5];
      const x = complexWaves(30);
      const z = complexOf(x, shape);
      const chain = (
        steps: readonly (readonly [axis: number, n: number])[],
        sign: -1 | 1,
        from = { x, shape },
      ): { x: typeof x; shape: number[] } =>
        steps.reduce((v, [axis, n]) => along(v.x, v.shape, axis, n, sign, sign === 1 ? 1 / n : 1), { ...from, shape: [...from.shape] });
      expect(
        errorOf(
          fft.fftn(z),
          chain(
            [
              [0, 2],
              [1, 3],
              [2, 5],
            ],
            -1,
          ).x,
        ),
      ).toBeLessThan(BOUND);
      expect(
        errorOf(
          fft.ifft2(z),
          chain(
            [
              [1, 3],
              [2, 5],
            ],
            1,
          ).x,
        ),
      ).toBeLessThan(BOUND);
      expect(
        errorOf(
          fft.fftn(z, { s: [4, -1] }),
          chain(
            [
              [1, 4],
              [2, 5],
            ],
            -1,
          ).x,
        ),
      ).toBeLessThan(BOUND);
      expect(
        errorOf(
          fft.ifftn(z, { s: [3, 6], axes: [2, 0] }),
          chain(
            [
              [2, 3],
              [0, 6],
            ],
            1,
          ).x,
        ),
      ).toBeLessThan(BOUND);
      const real = tensorOf(x[0], shape);
      const whole = chain(
        [
          [0, 2],
          [2, 5],
        ],
        -1,
        { x: [x[0], new Float64Array(30)], shape },
      );
      const half = fft.rfftn(real, { axes: [0, 2] });
      expect(
        errorOf(
          half,
          whole.x.map((p) => first(p, shape, 2, 3)),
        ),
      ).toBeLessThan(BOUND);
      expect(errorOf(fft.irfftn(half, { s: [2, 5], axes: [0, 2] }), [x[0]])).toBeLessThan(BOUND);
      expect(errorOf(fft.irfft2(fft.rfft2(real), { s: [3, 5] }), [x[0]])).toBeLessThan(BOUND);
      expect(errorOf(fft.hfftn(fft.ihfftn(real, { norm: "ortho" }), { s: shape, norm: "ortho" }), [x[0]])).toBeLessThan(BOUND);
      expect(errorOf(fft.hfft2(fft.ihfft2(real), { s: [3, 5] }), [x[0]])).toBeLessThan(BOUND);
      expect(
        errorOf(
          fft.fft2(real),
          chain(
            [
              [1, 3],
              [2, 5],
            ],
            -1,
            { x: [x[0], new Float64Array(30)], shape },
          ).x,
        ),
      ).toBeLessThan(BOUND);
      expect(unsigned(fft.fftn(dx.tensor(3)))).toEqual([3, 0]);
    });
  });

  test("of views, integers and half precision", async () => {
    await clean(device, () => {
      const x = complexWaves(48);
      const z = complexOf(x, [6, 8]);
      const transposed = fft.fft(z.transpose(0, 1), { axis: 0 });
      expect(errorOf(transposed.transpose(0, 1).contiguous(), along(x, [6, 8], 1, 8, -1).x)).toBeLessThan(BOUND);
      const part = z.slice(1, 1, 8, 3).slice(0, 1);
      const picked = (p: Float64Array): Float64Array =>
        Float64Array.from({ length: 15 }, (_, i) => p[(1 + Math.floor(i / 3)) * 8 + 1 + 3 * (i % 3)]!);
      expect(errorOf(fft.fft(part), along([picked(x[0]), picked(x[1])], [5, 3], 1, 3, -1).x)).toBeLessThan(BOUND);
      const spread = dx.complex(dx.tensor(2), dx.tensor(-1)).expand(4);
      expect(unsigned(fft.fft(spread))).toEqual([
        [8, -4],
        [0, 0],
        [0, 0],
        [0, 0],
      ]);
      expect(unsigned(fft.fft(dx.tensor([1, 2, 3, 4], { dtype: "int64" })))).toEqual([
        [10, 0],
        [-2, 2],
        [-2, 0],
        [-2, -2],
      ]);
      expect(unsigned(fft.rfft(dx.tensor([true, false])))).toEqual([
        [1, 0],
        [1, 0],
      ]);
      const halved = fft.fftn(complexOf(x, [6, 8], "float16"));
      expect(halved.dtype).toBe("complex32");
      const rounded = complexOf(x, [6, 8], "float16").to("complex64");
      const exact = fft.fftn(rounded).to("complex32");
      expect(halved.equalSync(exact)).toBe(true);
      expect(fft.irfft(halved).dtype).toBe("float16");
    });
  });

  test("the frequencies, and zero in the middle", async () => {
    await clean(device, () => {
      expect(fft.fftfreq(5, { d: 0.5 }).toArraySync()).toEqual([0, 0.4, 0.8, -0.8, -0.4].map(Math.fround));
      expect(fft.fftfreq(4).toArraySync()).toEqual([0, 0.25, -0.5, -0.25]);
      expect(fft.rfftfreq(5).toArraySync()).toEqual([0, 0.2, 0.4].map(Math.fround));
      expect(fft.rfftfreq(4, { dtype: "float16" }).toArraySync()).toEqual([0, 0.25, 0.5]);
      const x = dx.tensor(
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
        { dtype: "int32" },
      );
      expect(fft.fftshift(x).toArraySync()).toEqual([
        [5, 3, 4],
        [2, 0, 1],
      ]);
      expect(fft.ifftshift(fft.fftshift(x)).toArraySync()).toEqual(x.toArraySync());
      expect(fft.fftshift(x, { axes: -1 }).toArraySync()).toEqual([
        [2, 0, 1],
        [5, 3, 4],
      ]);
      const z = fft.fftshift(fft.fft(dx.tensor([1, 1, 1])));
      expect(unsigned(z)).toEqual([
        [0, 0],
        [3, 0],
        [0, 0],
      ]);
    });
  });

  test("nothing, and what is not finite", async () => {
    await clean(device, () => {
      expect(fft.fft(dx.zeros([0, 4])).shape).toEqual([0, 4]);
      expect(unsigned(fft.fft(dx.zeros([2, 0]), { n: 3 }))).toEqual(unsigned(fft.fft(dx.zeros([2, 3]))));
      expect(fft.rfftn(dx.zeros([0, 3, 4]), { axes: [1, 2] }).shape).toEqual([0, 3, 3]);
      const y = fft.fft(
        dx.tensor([
          [1, NaN, 2],
          [1, 2, 3],
        ]),
      );
      expect(y.isnan().toArraySync()).toEqual([
        [true, true, true],
        [false, false, false],
      ]);
      expect(unsigned(fft.fft(dx.tensor([1e30, 1e30])))).toEqual([
        [Math.fround(2e30), 0],
        [0, 0],
      ]);
    });
  });

  test("tables stay within their budget, and programs that read a dropped one keep working", async () => {
    await clean(
      device,
      () => {
        const x = tensorOf(wave(1000), [1000]);
        const want = dft([wave(1000), new Float64Array(1000)], -1);
        const program = dx.compile((t: dx.Tensor) => fft.fft(t));
        expect(errorOf(program(x), want)).toBeLessThan(BOUND);
        const filler = (i: number): void =>
          void tableTensors(x.device, [{ key: `filler ${i}`, shape: [4 << 20], make: () => [new Float32Array(4 << 20)] }]);
        for (let i = 0; i < 5; i++) filler(i);
        expect(tableBytes(x.device)).toBeLessThanOrEqual(64 << 20);
        expect(errorOf(program(x), want)).toBeLessThan(BOUND);
        expect(errorOf(fft.fft(x), want)).toBeLessThan(BOUND);
        program.dispose();
      },
      { collect: true },
    );
  });
});

describe("refused", () => {
  const x = dx.zeros([2, 4]);
  const z = dx.complex(x, x);
  test.each([
    ["a length of none", () => fft.fft(x, { n: 0 }), /fft: n/],
    ["a part of a length", () => fft.ifft(x, { n: 2.5 }), /ifft: n/],
    ["an axis that isn't there", () => fft.fft(x, { axis: 2 }), /axis/],
    ["a scalar", () => fft.fft(dx.tensor(1)), /at least one axis/],
    ["another norm", () => fft.fft(x, { norm: "both" as "ortho" }), /"backward", "forward" or "ortho"/],
    ["complex numbers as real ones", () => fft.rfft(z as unknown as dx.Tensor), /real numbers/],
    ["complex numbers as a real signal", () => fft.ihfft(z as unknown as dx.Tensor), /real numbers/],
    ["float64", () => fft.fft(dx.zeros([4], { dtype: "float64" })), /only stored and cast/],
    ["half a spectrum of one element without n", () => fft.irfft(dx.zeros([1])), /irfft: n/],
    ["an axis twice", () => fft.fftn(x, { axes: [0, -2] }), /repeats/],
    ["lengths that don't fit the axes", () => fft.fftn(x, { s: [2], axes: [0, 1] }), /length for each of 2/],
    ["more lengths than axes", () => fft.fftn(x, { s: [2, 2, 2] }), /at most one length/],
    ["no axes of a half spectrum", () => fft.rfftn(x, { axes: [] }), /at least one axis/],
    ["an axis of no length", () => fft.fftn(dx.zeros([2, 0])), /length of x/],
    ["two axes of one", () => fft.fft2(dx.zeros([4])), /axes/],
    ["no frequencies", () => fft.fftfreq(0), /fftfreq: n/],
    ["whole frequencies", () => fft.fftfreq(4, { dtype: "int32" }), /floating/],
  ])("%s", (_, call, message) => {
    expect(call).toThrow(message);
    expect(call).toThrow(dx.DxError);
  });
});
