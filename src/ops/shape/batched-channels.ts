/** Samples of vmap() as channels, for operations that treat each channel, or each group of channels, alone. @package */
import type { Tensor } from "../../core/tensor.ts";
import { reshape, transpose } from "./movement.ts";

/** [B, N, C, ...] as [N, B * C, ...]. */
export function asChannels(x: Tensor): Tensor {
  const [size, n, c, ...rest] = x.shape as [number, number, number, ...number[]];
  return reshape(transpose(x, 0, 1), [n, size * c, ...rest]);
}

/** The adjoint of asChannels(). */
export function asSamples(y: Tensor, size: number): Tensor {
  const [n, c, ...rest] = y.shape as [number, number, ...number[]];
  return transpose(reshape(y, [n, size, c / size, ...rest]), 0, 1);
}

/** x [B, ...] with axes of length 1 behind the first, up to a rank. */
export const spreadBehind = (x: Tensor, rank: number): Tensor =>
  x.rank >= rank ? x : reshape(x, [x.shape[0]!, ...new Array<number>(rank - x.rank).fill(1), ...x.shape.slice(1)]);
