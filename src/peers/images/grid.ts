/** makeGrid: many images as one. */
import { ShapeError, ValueError, cat, expand, full, permute, reshape, scope, stack, type Tensor } from "../../index.ts";

/** Options of makeGrid(). */
export interface GridOptions {
  /** Images in a row. PyTorch calls it nrow too. Default: 8. */
  readonly nrow?: number | undefined;
  /** Pixels between images and around them. Default: 2. */
  readonly padding?: number | undefined;
  /** What is between the images. Default: 0. */
  readonly padValue?: number | undefined;
}

const requireWhole = (name: string, value: number, least: number): number => {
  if (!Number.isInteger(value) || value < least) throw new ValueError("makeGrid", name, `an integer of at least ${least}`, value);
  return value;
};

/** [N, C, H, W], with three channels in place of one. */
function batchOf(images: Tensor | readonly Tensor[]): Tensor {
  let batch = Array.isArray(images) ? stack(images as Tensor[]) : (images as Tensor);
  if (batch.rank === 2) batch = reshape(batch, [1, ...batch.shape]);
  if (batch.rank === 3) batch = reshape(batch, Array.isArray(images) ? [batch.shape[0]!, 1, ...batch.shape.slice(1)] : [1, ...batch.shape]);
  if (batch.rank !== 4 || batch.shape[0] === 0)
    throw new ShapeError("makeGrid", "images", "[N, C, H, W] with at least one image, [C, H, W] or [H, W]", batch.describe());
  const [n, c, h, w] = batch.shape as [number, number, number, number];
  return c === 1 ? expand(batch, [n, 3, h, w]) : batch;
}

/**
 * One image [C, rows, columns] of a batch [N, C, H, W] or of a list of images, row by row; of one image that image itself. One channel becomes three.
 * Reference: torchvision.utils.make_grid, without its `normalize`.
 */
export function makeGrid(images: Tensor | readonly Tensor[], options: GridOptions = {}): Tensor {
  const padding = requireWhole("padding", options.padding ?? 2, 0);
  const nrow = requireWhole("nrow", options.nrow ?? 8, 1);
  return scope(() => {
    const batch = batchOf(images);
    const [n, c, h, w] = batch.shape as [number, number, number, number];
    if (n === 1) return reshape(batch, [c, h, w]);
    const of = (shape: number[]): Tensor => full(shape, options.padValue ?? 0, { dtype: batch.dtype, device: batch.device });
    const columns = Math.min(nrow, n);
    const rows = Math.ceil(n / columns);
    const filled = rows * columns === n ? batch : cat([batch, of([rows * columns - n, c, h, w])], 0);
    if (padding === 0) return reshape(permute(reshape(filled, [rows, columns, c, h, w]), [2, 0, 3, 1, 4]), [c, rows * h, columns * w]);
    // Each image with the space above and to the left of it; the grid with that below and to the right.
    const low = cat([of([rows * columns, c, padding, w]), filled], 2);
    const each = cat([of([rows * columns, c, h + padding, padding]), low], 3);
    const [height, width] = [rows * (h + padding), columns * (w + padding)];
    const grid = reshape(permute(reshape(each, [rows, columns, c, h + padding, w + padding]), [2, 0, 3, 1, 4]), [c, height, width]);
    return cat([cat([grid, of([c, height, padding])], 2), of([c, padding, width + padding])], 1);
  });
}
