/** Pixel shuffle, pixel unshuffle, channel shuffle: movements only. @functional */
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { permute, reshape, transpose } from "./movement.ts";

function requireFactor(operation: string, argument: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) throw new ValueError(operation, argument, "an integer of at least 1", value);
}

/** [..., C r², H, W] to [..., C, H r, W r]. Reference: torch.nn.functional.pixel_shuffle. DirectML: ELEMENT_WISE_IDENTITY. */
export function pixelShuffle(x: Tensor, factor: number): Tensor {
  requireFactor("pixelShuffle", "factor", factor);
  const [c, h, w] = x.shape.slice(-3) as [number, number, number];
  if (x.rank < 3 || c % factor ** 2 !== 0) throw new ShapeError("pixelShuffle", "x", `[..., C * ${factor ** 2}, H, W]`, x.describe());
  const lead = x.shape.slice(0, -3);
  const at = lead.map((_, i) => i);
  const n = lead.length;
  const parts = reshape(x, [...lead, c / factor ** 2, factor, factor, h, w]);
  return reshape(permute(parts, ...at, n, n + 3, n + 1, n + 4, n + 2), [...lead, c / factor ** 2, h * factor, w * factor]);
}

/** [..., C, H r, W r] to [..., C r², H, W]. Reference: torch.nn.functional.pixel_unshuffle. DirectML: ELEMENT_WISE_IDENTITY. */
export function pixelUnshuffle(x: Tensor, factor: number): Tensor {
  requireFactor("pixelUnshuffle", "factor", factor);
  const [c, h, w] = x.shape.slice(-3) as [number, number, number];
  if (x.rank < 3 || h % factor !== 0 || w % factor !== 0)
    throw new ShapeError("pixelUnshuffle", "x", `[..., C, H * ${factor}, W * ${factor}]`, x.describe());
  const lead = x.shape.slice(0, -3);
  const at = lead.map((_, i) => i);
  const n = lead.length;
  const parts = reshape(x, [...lead, c, h / factor, factor, w / factor, factor]);
  return reshape(permute(parts, ...at, n, n + 2, n + 4, n + 1, n + 3), [...lead, c * factor ** 2, h / factor, w / factor]);
}

/** Channels [N, C, ...] in `groups` groups, interleaved: one channel of each group after the other. Reference: torch.nn.functional.channel_shuffle. */
export function channelShuffle(x: Tensor, groups: number): Tensor {
  requireFactor("channelShuffle", "groups", groups);
  const [n, c, ...rest] = x.shape as [number, number, ...number[]];
  if (x.rank < 3 || c % groups !== 0)
    throw new ShapeError("channelShuffle", "x", `[N, C, ...] with C a multiple of ${groups}`, x.describe());
  return reshape(transpose(reshape(x, [n, groups, c / groups, ...rest]), 1, 2), x.shape);
}
