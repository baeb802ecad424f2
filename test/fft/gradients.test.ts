/** Gradients of transforms, of first and second order, compared with finite differences; and those that PyTorch gives. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { complexOf, errorOf, complexWaves, tensorOf, wave } from "./reference.ts";

const { fft } = dx;
const leaf = (size: number, shape: readonly number[] = [size]): dx.Tensor => tensorOf(wave(size), shape).requiresGrad_();
const complexLeaf = (size: number, shape: readonly number[] = [size]): dx.ComplexTensor =>
  complexOf(complexWaves(size), shape).detach().requiresGrad_();

eachDevice("gradients", (device) => {
  test.each<[string, (z: dx.ComplexTensor) => dx.ComplexTensor | dx.Tensor]>([
    ["fft", (z) => fft.fft(z)],
    ["ifft, cut", (z) => fft.ifft(z, { n: 3, norm: "ortho" })],
    ["fft, longer, along the first axis", (z) => fft.fft(z, { n: 5, axis: 0 })],
    ["irfft", (z) => fft.irfft(z)],
    ["irfft, odd", (z) => fft.irfft(z, { n: 5 })],
    ["hfft", (z) => fft.hfft(z, { n: 9, norm: "forward" })],
    ["fftn", (z) => fft.fftn(z)],
    ["irfftn", (z) => fft.irfftn(z, { s: [3, 4] })],
    ["hfft2", (z) => fft.hfft2(z)],
    ["fftshift", (z) => fft.fftshift(z)],
  ])("%s of complex numbers", async (_, f) => {
    await clean(device, () => {
      dx.gradcheck((z) => f(z), [complexLeaf(8, [2, 4])]);
      dx.gradgradcheck((z) => f(z.mul(z)), [complexLeaf(8, [2, 4])]);
    });
  });

  test.each<[string, (x: dx.Tensor) => dx.ComplexTensor | dx.Tensor]>([
    ["fft", (x) => fft.fft(x)],
    ["rfft", (x) => fft.rfft(x)],
    ["rfft, longer", (x) => fft.rfft(x, { n: 7 })],
    ["ihfft", (x) => fft.ihfft(x)],
    ["rfft2", (x) => fft.rfft2(x)],
    ["irfft of real numbers", (x) => fft.irfft(x)],
    ["stft", (x) => dx.stft(x, 4, { hopLength: 3, center: false })],
  ])("%s of real numbers", async (_, f) => {
    await clean(device, () => {
      dx.gradcheck((x: dx.Tensor) => f(x), [leaf(10, [2, 5])] as const);
      dx.gradgradcheck((x: dx.Tensor) => f(x.mul(x)), [leaf(10, [2, 5])] as const);
    });
  });

  test("in steps and by a chirp: the transform of the gradient, back", async () => {
    await clean(device, () => {
      for (const n of [130, 1000, 1009]) {
        const z = complexLeaf(n);
        const g = complexOf(complexWaves(n, 3), [n]);
        const [grad] = dx.grad(fft.fft(z), [z], { gradient: g });
        // The adjoint of fft is n ifft.
        const want = fft.ifft(g, { norm: "forward" });
        expect(errorOf(grad!, [want.real.dataSync(), want.imag.dataSync()] as Float32Array[])).toBeLessThan(4e-6);
        const x = leaf(n);
        const y = fft.rfft(x);
        const [real] = dx.grad(y.abs().square().sum(), [x]);
        // Parseval: twice the half spectrum's squares, but for the elements that are their own conjugates.
        const weights = dx.tensor(Float32Array.from({ length: n }, (_, k) => (k <= n / 2 ? 1 : 0)));
        const all = fft.ifft(fft.fft(x.detach()).mul(weights), { norm: "forward" });
        expect(errorOf(real!, [Float32Array.from(all.real.dataSync() as Float32Array, (v) => 2 * v)])).toBeLessThan(4e-6);
      }
    });
  });

  test("add up in a complex leaf, as PyTorch's do", async () => {
    await clean(device, () => {
      const z = dx
        .complex(dx.tensor([1, 2]), dx.tensor([3, -4]))
        .detach()
        .requiresGrad_();
      // torch: z.abs().square().sum().backward(); z.grad is 2 z.
      z.mul(z.conj()).real.sum().backward();
      expect(z.grad!.toArraySync()).toEqual([
        [2, 6],
        [4, -8],
      ]);
      fft.fft(z).backward({ gradient: dx.complex(dx.tensor([1, 0]), dx.tensor([0, 1])) });
      expect(z.grad!.toArraySync()).toEqual([
        [3, 7],
        [5, -9],
      ]);
      expect(() => z.backward()).toThrow(/real when no gradient is given/);
      expect(() =>
        dx.grad(z.real.sum(), [
          dx
            .complex(dx.zeros([1]), dx.zeros([1]))
            .detach()
            .requiresGrad_(),
        ]),
      ).toThrow(/depend on/);
      z.grad!.dispose();
    });
  });
});
