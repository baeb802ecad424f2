/** Aliases: PyTorch's other names of operations, and those that take the shape or dtype of another tensor. */
import type { Arithmetic } from "../elementwise/binary.ts";
import type { Tensor } from "../../core/tensor.ts";
import { to } from "./conversion.ts";
import { takeAlongAxis } from "../index/nonzero.ts";
import { split } from "../shape/join.ts";
import { outer } from "../matmul/matmul.ts";
import { expand, reshape, view } from "../shape/movement.ts";
import { pad } from "../shape/pad.ts";
import { abs, trunc } from "../elementwise/unary.ts";
import { clamp } from "../elementwise/where.ts";

/** x broadcast to the shape of another tensor, a view. Reference: torch.Tensor.expand_as. */
export const expandAs = (x: Tensor, other: Tensor): Tensor => expand(x, other.shape);
/** x with the shape of another tensor. Reference: torch.Tensor.reshape_as. */
export const reshapeAs = (x: Tensor, other: Tensor): Tensor => reshape(x, other.shape);
/** x as a view with the shape of another tensor. Reference: torch.Tensor.view_as. */
export const viewAs = (x: Tensor, other: Tensor): Tensor => view(x, other.shape);
/** x in the dtype of another tensor. Reference: torch.Tensor.type_as. */
export const typeAs = (x: Tensor, other: Tensor): Tensor => to(x, other.dtype);
/** clamp(). Reference: torch.clip. */
export const clip = (x: Tensor, min: Arithmetic | null = null, max: Arithmetic | null = null): Tensor => clamp(x, min, max);
/** abs(). Reference: torch.absolute. */
export const absolute = (x: Tensor): Tensor => abs(x);
/** trunc(). Reference: torch.fix. */
export const fix = (x: Tensor): Tensor => trunc(x);
/** outer(). Reference: torch.ger. */
export const ger = (a: Tensor, b: Tensor): Tensor => outer(a, b);
/** takeAlongAxis(). Reference: torch.take_along_dim. */
export const takeAlongDim = (x: Tensor, index: Tensor, axis: number | null = null): Tensor => takeAlongAxis(x, index, axis);
/** split() into parts of given lengths. Reference: torch.split_with_sizes. */
export const splitWithSizes = (x: Tensor, lengths: readonly number[], axis = 0): Tensor[] => split(x, lengths, axis);
/** pad() by a constant. Reference: torch.constant_pad_nd. */
export const constantPadNd = (x: Tensor, pads: readonly number[], value = 0): Tensor => pad(x, pads, { value });

export const methods = { expandAs, reshapeAs, viewAs, typeAs, clip, absolute, fix, ger, takeAlongDim, splitWithSizes };
export const inPlaceMethods = { clip_: clip, absolute_: absolute, fix_: fix };
