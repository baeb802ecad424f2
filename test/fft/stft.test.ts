/** stft against its definition, and its inverse. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { checkIndices, clean, eachDevice, eachMode } from "../device.ts";
import { complexOf, dft, errorOf, complexWaves, tensorOf, wave, type ComplexValues } from "./reference.ts";

const BOUND = 4e-6;

/** Spectra [frequencies, pieces] of x, padded with zeros or mirrored. */
function reference(x: Float64Array, nFft: number, hop: number, window: ArrayLike<number>, center: boolean, count: number): ComplexValues {
  const half = center ? Math.floor(nFft / 2) : 0;
  const at = (i: number): number => x[i < 0 ? -i : i >= x.length ? 2 * (x.length - 1) - i : i]!;
  const pieces = Math.floor((x.length + 2 * half - nFft) / hop) + 1;
  const out: ComplexValues = [new Float64Array(count * pieces), new Float64Array(count * pieces)];
  for (let t = 0; t < pieces; t++) {
    const piece = Float64Array.from({ length: nFft }, (_, i) => at(t * hop + i - half) * window[i]!);
    const y = dft([piece, new Float64Array(nFft)], -1);
    for (let f = 0; f < count; f++) for (const part of [0, 1] as const) out[part][f * pieces + t] = y[part][f]!;
  }
  return out;
}

eachMode("stft", (device, mode) => {
  test.each([
    [16, 4, 16, true],
    [16, 5, 12, true],
    [15, 15, 15, false],
    [8, 11, 8, false],
    [16, 1, 7, false],
  ])("pieces of %i, one every %i, a window of %i, center %s; and back", async (nFft, hopLength, winLength, center) => {
    await clean(
      device,
      () => {
        const x = wave(50);
        const window = dx.hannWindow(winLength).add(0.1);
        const left = Math.floor((nFft - winLength) / 2);
        const all = new Float64Array(nFft);
        all.set(Array.from(window.dataSync() as Float32Array), left);
        const half = Math.floor(nFft / 2) + 1;
        const options = { hopLength, winLength, center };
        const [re, im] = mode.run(
          (t, w) => {
            const y = dx.stft(t, nFft, { ...options, window: w });
            return [y.real, y.imag];
          },
          tensorOf(x, [50]),
          window,
        );
        const want = reference(x, nFft, hopLength, all, center, half);
        expect(re!.shape[0]).toBe(half);
        expect(errorOf(dx.complex(re!, im!), want)).toBeLessThan(BOUND);
        if (left > 0 && !center) return;
        if (hopLength > winLength) return;
        const back = mode.run((a, b, w) => dx.istft(dx.complex(a, b), nFft, { ...options, window: w }), re!, im!, window);
        expect(errorOf(back, [x.slice(0, back.size)])).toBeLessThan(5 * BOUND);
      },
      { collect: mode.name === "compiled" },
    );
  });
});

eachDevice("stft", (device) => {
  test("of batches, whole spectra, complex signals, norms, lengths, pairs", async () => {
    await clean(device, () => {
      const x = tensorOf(wave(120), [3, 40]);
      const y = dx.stft(x, 16);
      expect(y.shape).toEqual([3, 9, 11]);
      expect(dx.istft(y, 16).sub(x).abs().max().itemSync()).toBeLessThan(1e-5);
      expect(
        dx
          .istft(y, 16, { length: 37 })
          .sub(x.narrow(1, 0, 37))
          .abs()
          .max()
          .itemSync(),
      ).toBeLessThan(1e-5);
      const longer = dx.istft(y, 16, { length: 60 });
      expect(longer.shape).toEqual([3, 60]);
      expect(longer.narrow(1, 48, 12).abs().max().itemSync()).toBe(0);
      const whole = dx.stft(x, 16, { onesided: false, normalized: true });
      expect(whole.shape).toEqual([3, 16, 11]);
      expect(whole.narrow(1, 0, 9).mul(4).sub(y).abs().max().itemSync()).toBeLessThan(1e-5);
      expect(dx.istft(whole, 16, { onesided: false, normalized: true }).sub(x).abs().max().itemSync()).toBeLessThan(1e-5);
      const z = complexOf(complexWaves(40), [40]);
      const spectra = dx.stft(z, 16, { hopLength: 8 });
      expect(spectra.shape).toEqual([16, 6]);
      const again = dx.istft(spectra, 16, { hopLength: 8, returnComplex: true, onesided: false });
      expect(again.sub(z).abs().max().itemSync()).toBeLessThan(1e-5);
      expect(dx.stft(x, 16, { returnComplex: false }).shape).toEqual([3, 9, 11, 2]);
      expect(dx.stft(x.to("float16"), 16).dtype).toBe("complex32");
      expect(dx.stft(x, 16, { padMode: "constant" }).shape).toEqual([3, 9, 11]);
    });
  });

  test("windows that leave an element out throw where values are checked", ({ onTestFinished }) => {
    onTestFinished(checkIndices());
    const z = dx.stft(tensorOf(wave(40), [40]), 16, { window: dx.ones([16]) });
    const window = dx.hannWindow(16, { periodic: false });
    // Both ends of a window are 0, and alone at the ends of the signal, or where pieces only touch.
    expect(() => dx.istft(z, 16, { window, center: false })).toThrow(/istft: window must be one whose overlapped squares/);
    expect(() => dx.istft(z, 16, { window, hopLength: 16 })).toThrow(dx.ValueError);
    expect(() => dx.istft(z, 16, { window: dx.zeros([16]) })).toThrow(dx.ValueError);
    expect(dx.istft(z, 16, { window, hopLength: 8 }).isfinite().all().itemSync()).toBe(1);
    const compiled = dx.compile((w: dx.Tensor) => dx.istft(z, 16, { window: w, center: false }));
    expect(compiled(window).isfinite().all().itemSync()).toBe(0);
    compiled.dispose();
  });

  test("gradients flow to the signal, the window and back through the inverse", async () => {
    await clean(device, () => {
      const x = tensorOf(wave(12), [12]).requiresGrad_();
      const window = dx.hannWindow(4).add(0.5).detach().requiresGrad_();
      dx.gradcheck((t: dx.Tensor, w: dx.Tensor) => dx.stft(t, 4, { window: w, hopLength: 2 }), [x, window] as const);
      const z = complexOf(complexWaves(9), [3, 3]).detach().requiresGrad_();
      dx.gradcheck((v: dx.ComplexTensor, w: dx.Tensor) => dx.istft(v, 4, { window: w, hopLength: 2 }), [z, window] as const);
      // Of a whole spectrum of a real signal only the first half is looked at, as PyTorch does.
      const whole = complexOf(complexWaves(12), [4, 3]).detach().requiresGrad_();
      const [g] = dx.grad(dx.istft(whole, 4, { onesided: false }).sum(), [whole]);
      expect(g!.narrow(0, 3, 1).abs().sum().itemSync()).toBe(0);
    });
  });

  test("refused", async () => {
    await clean(device, () => {
      const x = dx.zeros([20]);
      const z = dx.complex(dx.zeros([9, 4]), dx.zeros([9, 4]));
      expect(() => dx.stft(x, 0)).toThrow(/nFft/);
      expect(() => dx.stft(x, 3)).toThrow(/hopLength/);
      expect(() => dx.stft(x, 16, { winLength: 17 })).toThrow(/winLength/);
      expect(() => dx.stft(x, 16, { window: dx.ones([15]) })).toThrow(/window/);
      expect(() => dx.stft(x, 21, { center: false })).toThrow(/at least 21/);
      expect(() => dx.stft(dx.zeros([1, 1, 20]), 16)).toThrow(/\[B, L\]/);
      expect(() => dx.stft(dx.complex(x, x), 16, { onesided: true })).toThrow(/onesided/);
      expect(() => dx.istft(x as unknown as dx.ComplexTensor, 16)).toThrow(/complex/);
      expect(() => dx.istft(z, 15)).toThrow(/frequencies/);
      expect(() => dx.istft(z, 16, { returnComplex: true })).toThrow(/onesided/);
      expect(() => dx.istft(z, 16, { length: 0 })).toThrow(/length/);
    });
  });
});
