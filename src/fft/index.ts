/** Fourier transforms, with PyTorch's names of torch.fft. */
export type { Norm, Numbers } from "./along.ts";
export { fft, hfft, ifft, ihfft, irfft, rfft, type FftOptions } from "./transforms.ts";
export { fft2, fftn, hfft2, hfftn, ifft2, ifftn, ihfft2, ihfftn, irfft2, irfftn, rfft2, rfftn, type FftnOptions } from "./nd.ts";
export { fftfreq, fftshift, ifftshift, rfftfreq, type FrequencyOptions, type ShiftOptions } from "./frequencies.ts";
