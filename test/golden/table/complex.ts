/** Transforms along several axes and of pieces, and views of complex numbers. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { op, type Entry, type Table } from "./entry.ts";

const norm = (c: Call): dx.fft.Norm | undefined => c.defined<dx.fft.Norm>("norm");
const list = (c: Call, name: string): number[] | undefined => (c.has(name) ? [...c.list(name)] : undefined);
const several = (f: (x: dx.Tensor & dx.ComplexTensor, options: dx.fft.FftnOptions) => dx.Tensor | dx.ComplexTensor): Entry =>
  op((c) => f(c.z as dx.Tensor & dx.ComplexTensor, { s: list(c, "s"), axes: list(c, "dim"), norm: norm(c) }));
const shift = (f: typeof dx.fft.fftshift): Entry => op((c) => f(c.z, { axes: list(c, "dim") }));

export const complexTable: Table = {
  "fft.fftn": several(dx.fft.fftn), "fft.ifftn": several(dx.fft.ifftn), "fft.rfftn": several(dx.fft.rfftn), "fft.irfftn": several(dx.fft.irfftn), "fft.hfftn": several(dx.fft.hfftn), "fft.ihfftn": several(dx.fft.ihfftn),
  "fft.fft2": several(dx.fft.fft2), "fft.ifft2": several(dx.fft.ifft2), "fft.rfft2": several(dx.fft.rfft2), "fft.irfft2": several(dx.fft.irfft2), "fft.hfft2": several(dx.fft.hfft2), "fft.ihfft2": several(dx.fft.ihfft2),
  "fft.fftshift": shift(dx.fft.fftshift), "fft.ifftshift": shift(dx.fft.ifftshift),
  stft: op((c) => {
    const options = { hopLength: c.defined<number>("hop_length"), winLength: c.defined<number>("win_length"), window: c.optional("window"), center: c.defined<boolean>("center"), padMode: c.defined<"reflect">("pad_mode"), normalized: c.defined<boolean>("normalized"), onesided: c.defined<boolean>("onesided") };
    return dx.stft(c.z, c.number("n_fft", 0), { ...options, returnComplex: c.defined<boolean>("return_complex") ?? false });
  }),
  istft: op((c) => {
    const options = { hopLength: c.defined<number>("hop_length"), winLength: c.defined<number>("win_length"), window: c.optional("window"), center: c.defined<boolean>("center"), normalized: c.defined<boolean>("normalized"), onesided: c.defined<boolean>("onesided"), length: c.defined<number>("length") };
    return dx.istft(c.z as dx.ComplexTensor, c.number("n_fft", 0), { ...options, returnComplex: c.defined<boolean>("return_complex") ?? false });
  }),
  is_complex: op((c) => dx.isComplex(c.z)), conj: op((c) => dx.conj(c.z)), view_as_real: op((c) => dx.viewAsReal(c.z as dx.ComplexTensor)),
};
