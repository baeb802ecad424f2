// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $fftTransforms from "../fft/transforms.ts";
import * as $fftNd from "../fft/nd.ts";
import * as $fftFrequencies from "../fft/frequencies.ts";
export type { Norm } from "../fft/along.ts";
export type { Numbers } from "../fft/along.ts";
export type { FftOptions } from "../fft/transforms.ts";
export type { FftnOptions } from "../fft/nd.ts";
export type { FrequencyOptions } from "../fft/frequencies.ts";
export type { ShiftOptions } from "../fft/frequencies.ts";
/** sum of x_j exp(-2πi jk / n) for each k. x: real or complex. Reference: torch.fft.fft. */
export const fft = checked($fftTransforms.fft, "fft", "x:tensorOrComplexTensor options:FftOptions?");
/** fft of n numbers of which x has the first half and whose rest are the conjugates: n real numbers. Reference: torch.fft.hfft. */
export const hfft = checked($fftTransforms.hfft, "hfft", "x:tensorOrComplexTensor options:FftOptions?");
/** The inverse of fft: sum of x_j exp(2πi jk / n), over n. Reference: torch.fft.ifft. */
export const ifft = checked($fftTransforms.ifft, "ifft", "x:tensorOrComplexTensor options:FftOptions?");
/** The inverse of hfft: the first half of ifft's result for real numbers. Reference: torch.fft.ihfft. */
export const ihfft = checked($fftTransforms.ihfft, "ihfft", "x options:FftOptions?");
/** The inverse of rfft, to n real numbers (give n where it is odd). Reference: torch.fft.irfft. */
export const irfft = checked($fftTransforms.irfft, "irfft", "x:tensorOrComplexTensor options:FftOptions?");
/** fft of real numbers: its first floor(n / 2) + 1 elements; the rest are their conjugates. Reference: torch.fft.rfft. */
export const rfft = checked($fftTransforms.rfft, "rfft", "x options:FftOptions?");
/** fftn along two axes, the last ones by default. Reference: torch.fft.fft2. */
export const fft2 = checked($fftNd.fft2, "fft2", "x:tensorOrComplexTensor options:FftnOptions?");
/** fft along several axes. Reference: torch.fft.fftn. */
export const fftn = checked($fftNd.fftn, "fftn", "x:tensorOrComplexTensor options:FftnOptions?");
/** hfftn along two axes. Reference: torch.fft.hfft2. */
export const hfft2 = checked($fftNd.hfft2, "hfft2", "x:tensorOrComplexTensor options:FftnOptions?");
/** hfft along the last axis listed, fft along the others. Reference: torch.fft.hfftn. */
export const hfftn = checked($fftNd.hfftn, "hfftn", "x:tensorOrComplexTensor options:FftnOptions?");
/** ifftn along two axes. Reference: torch.fft.ifft2. */
export const ifft2 = checked($fftNd.ifft2, "ifft2", "x:tensorOrComplexTensor options:FftnOptions?");
/** ifft along several axes. Reference: torch.fft.ifftn. */
export const ifftn = checked($fftNd.ifftn, "ifftn", "x:tensorOrComplexTensor options:FftnOptions?");
/** ihfftn along two axes. Reference: torch.fft.ihfft2. */
export const ihfft2 = checked($fftNd.ihfft2, "ihfft2", "x options:FftnOptions?");
/** The inverse of hfftn. Reference: torch.fft.ihfftn. */
export const ihfftn = checked($fftNd.ihfftn, "ihfftn", "x options:FftnOptions?");
/** irfftn along two axes. Reference: torch.fft.irfft2. */
export const irfft2 = checked($fftNd.irfft2, "irfft2", "x:tensorOrComplexTensor options:FftnOptions?");
/** The inverse of rfftn. Reference: torch.fft.irfftn. */
export const irfftn = checked($fftNd.irfftn, "irfftn", "x:tensorOrComplexTensor options:FftnOptions?");
/** rfftn along two axes. Reference: torch.fft.rfft2. */
export const rfft2 = checked($fftNd.rfft2, "rfft2", "x options:FftnOptions?");
/** rfft along the last axis listed, fft along the others. Reference: torch.fft.rfftn. */
export const rfftn = checked($fftNd.rfftn, "rfftn", "x options:FftnOptions?");
/** The frequencies of fft's n elements: 0, 1, …, then the negative ones, over n d. Reference: torch.fft.fftfreq. */
export const fftfreq = checked($fftFrequencies.fftfreq, "fftfreq", "n:number options:FrequencyOptions?");
/** The frequency 0 to the middle of the axes. Any dtype. DirectML: JOIN. Reference: torch.fft.fftshift. */
export const fftshift = checked($fftFrequencies.fftshift, "fftshift", "x:tensorOrComplexTensor options:ShiftOptions?");
/** The inverse of fftshift. Reference: torch.fft.ifftshift. */
export const ifftshift = checked($fftFrequencies.ifftshift, "ifftshift", "x:tensorOrComplexTensor options:ShiftOptions?");
/** The frequencies of rfft's floor(n / 2) + 1 elements: 0, 1, …, over n d. Reference: torch.fft.rfftfreq. */
export const rfftfreq = checked($fftFrequencies.rfftfreq, "rfftfreq", "n:number options:FrequencyOptions?");
