/** Grid sample and affine grid. @functional */
import { reading, tie } from "../../autograd/tie.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { isHalf } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { eq, ge, le, logicalAnd } from "../elementwise/compare.ts";
import { tensor } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { fmod } from "../elementwise/division.ts";
import { gather } from "../index/gather.ts";
import { matmul } from "../matmul/matmul.ts";
import { expand, reshape, select, transpose, unsqueeze } from "../shape/movement.ts";
import { evenSteps } from "../creation/ranges.ts";
import { requireFloat } from "../declare/support.ts";
import { abs, floor, round } from "../elementwise/unary.ts";
import { clamp, where } from "../elementwise/where.ts";
import { stack } from "../shape/join.ts";

/** Options of gridSample(). Reference: torch.nn.functional.grid_sample. */
export interface GridSampleOptions {
  /** Default: "bilinear", which is trilinear for volumes. */
  readonly mode?: "bilinear" | "nearest" | "bicubic" | undefined;
  /** What lies beyond the edges. Default: "zeros". */
  readonly paddingMode?: "zeros" | "border" | "reflection" | undefined;
  /** Whether -1 and 1 name the corner pixels' centres, instead of their outer edges. Default: false. */
  readonly alignCorners?: boolean | undefined;
}

/** A coordinate in [-1, 1], converted to pixels. */
const unnormalized = (v: Tensor, length: number, align: boolean): Tensor =>
  align ? mul(add(v, 1), (length - 1) / 2) : div(sub(mul(add(v, 1), length), 1), 2);

/** Mirrored at both edges, as often as it takes. */
function reflected(v: Tensor, length: number, align: boolean): Tensor {
  const [low, span] = align ? [0, length - 1] : [-0.5, length];
  if (span === 0) return mul(v, 0);
  const distance = abs(sub(v, low));
  const extra = fmod(distance, span);
  const flips = floor(div(sub(distance, extra), span));
  const even = eq(fmod(round(flips), 2), 0);
  return add(where(even, extra, sub(span, extra)), low);
}

function bounded(v: Tensor, length: number, padding: string, align: boolean): Tensor {
  if (padding === "zeros") return v;
  const inside = padding === "reflection" ? reflected(v, length, align) : v;
  return clamp(inside, 0, length - 1);
}

/** Elements of x [N, C, plane] at integer coordinates (one tensor [N, points] for each axis); zeros outside if asked for. @package */
export function readElements(x: Tensor, lengths: readonly number[], coordinates: readonly Tensor[], zeros: boolean): Tensor {
  const [n, c] = x.shape as [number, number];
  let flat: Tensor | null = null;
  let inside: Tensor | null = null;
  coordinates.forEach((p, i) => {
    const within = clamp(p, 0, lengths[i]! - 1);
    flat = flat === null ? within : add(mul(flat, lengths[i]!), within);
    if (!zeros) return;
    const here = logicalAnd(ge(p, 0), le(p, lengths[i]! - 1));
    inside = inside === null ? here : logicalAnd(inside, here);
  });
  const index = toDType(flat! as Tensor, "int32");
  const points = index.shape[1]!;
  const values = gather(x, 2, expand(reshape(index, [n, 1, points]), n, c, points));
  return inside === null ? values : where(unsqueeze(inside, 1), values, 0);
}

/** The four weights of cubic convolution (Keys, a = -0.75) at a fraction. */
function cubicWeights(t: Tensor): Tensor[] {
  const a = -0.75;
  const near = (d: Tensor): Tensor => add(mul(mul(sub(mul(d, a + 2), a + 3), d), d), 1);
  const far = (d: Tensor): Tensor => sub(mul(add(mul(sub(mul(d, a), 5 * a), d), 8 * a), d), 4 * a);
  return [far(add(t, 1)), near(t), near(sub(1, t)), far(sub(2, t))];
}

/**
 * x [N, C, H, W] (or with a depth) sampled at the coordinates of grid [N, h, w, 2] ([N, d, h, w, 3]), whose last axis is (x, y[, z]) in [-1, 1].
 * Result: [N, C, h, w]. Floating dtypes. DirectML: GATHER_ELEMENTS, arithmetic. Reference: torch.nn.functional.grid_sample.
 * @autocast widest
 */
export function gridSample(
  x: Tensor,
  grid: Tensor,
  { mode = "bilinear", paddingMode = "zeros", alignCorners = false }: GridSampleOptions = {},
): Tensor {
  requireSameDevice("gridSample", [x, grid]);
  requireFloat("gridSample", x);
  const spatial = x.rank - 2;
  if (
    (spatial !== 2 && spatial !== 3) ||
    grid.rank !== x.rank ||
    grid.shape.at(-1) !== spatial ||
    grid.shape[0] !== x.shape[0] ||
    x.shape.slice(2).includes(0)
  )
    throw new ShapeError(
      "gridSample",
      "x and grid",
      "[N, C, H, W] and [N, h, w, 2], or with a depth",
      `${x.describe()}, ${grid.describe()}`,
    );
  if (mode !== "bilinear" && mode !== "nearest" && mode !== "bicubic")
    throw new ValueError("gridSample", "mode", '"bilinear", "nearest" or "bicubic"', mode);
  if (mode === "bicubic" && spatial === 3) throw new ValueError("gridSample", "mode", '"bilinear" or "nearest" for volumes', mode);
  if (paddingMode !== "zeros" && paddingMode !== "border" && paddingMode !== "reflection")
    throw new ValueError("gridSample", "paddingMode", '"zeros", "border" or "reflection"', paddingMode);
  if (grid.dtype !== x.dtype) throw new ValueError("gridSample", "grid", `of x's dtype ${x.dtype}`, grid.describe());
  // Coordinates need more digits than half precision has; the result is rounded once.
  if (isHalf(x.dtype))
    return toDType(gridSample(toDType(x, "float32"), toDType(grid, "float32"), { mode, paddingMode, alignCorners }), x.dtype);
  const [n, c] = x.shape as [number, number];
  const lengths = x.shape.slice(2);
  const points = sizeOf(grid.shape.slice(1, -1));
  const planes = reshape(x, [n, c, sizeOf(lengths)]);
  // The grid names x first; axes are counted from the outermost here.
  const raw = lengths.map((d, i) => unnormalized(reshape(select(grid, -1, spatial - 1 - i), [n, points]), d, alignCorners));
  const zeros = paddingMode === "zeros";
  const shape = [n, c, ...grid.shape.slice(1, -1)];
  // PyTorch's gradient reads x, though it does not depend on it.
  const result = (found: Tensor): Tensor => reading(reshape(found, shape), x, "none");
  if (mode === "bicubic") return result(bicubic(planes, lengths, raw, paddingMode, alignCorners));
  const coordinates = raw.map((v, i) => bounded(v, lengths[i]!, paddingMode, alignCorners));
  if (mode === "nearest") {
    const found = readElements(
      planes,
      lengths,
      coordinates.map((p) => round(p)),
      zeros,
    );
    // By the grid it is a step function.
    return tie(result(found), grid);
  }
  const low = coordinates.map((p) => floor(p));
  const rest = coordinates.map((p, i) => sub(p, low[i]!));
  let sum: Tensor | null = null;
  for (let corner = 0; corner < 2 ** spatial; corner++) {
    const up = lengths.map((_, i) => (corner >> i) & 1);
    const weight = rest.map((r, i) => (up[i] ? r : sub(1, r))).reduce((a, b) => mul(a, b));
    const part = mul(
      readElements(
        planes,
        lengths,
        low.map((p, i) => (up[i] ? add(p, 1) : p)),
        zeros,
      ),
      unsqueeze(weight, 1),
    );
    sum = sum === null ? part : add(sum, part);
  }
  return result(sum!);
}

function bicubic(planes: Tensor, lengths: readonly number[], raw: readonly Tensor[], padding: string, align: boolean): Tensor {
  const low = raw.map((p) => floor(p));
  const weights = raw.map((p, i) => cubicWeights(sub(p, low[i]!)));
  let sum: Tensor | null = null;
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++) {
      const at = [add(low[0]!, i - 1), add(low[1]!, j - 1)].map((p, k) => bounded(p, lengths[k]!, padding, align));
      const part = mul(
        readElements(
          planes,
          lengths,
          at.map((p) => round(p)),
          padding === "zeros",
        ),
        unsqueeze(mul(weights[0]![i]!, weights[1]![j]!), 1),
      );
      sum = sum === null ? part : add(sum, part);
    }
  return sum!;
}

/**
 * The grid that gridSample reads for affine maps theta [N, 2, 3] ([N, 3, 4] for volumes) and results of `size` [N, C, H, W].
 * DirectML: GEMM. Reference: torch.nn.functional.affine_grid.
 */
export function affineGrid(
  theta: Tensor,
  size: readonly number[],
  {
    alignCorners = false,
  }: {
    /** Whether -1 and 1 are the centres of corner pixels instead of their outer edges. Default: false. */
    readonly alignCorners?: boolean | undefined;
  } = {},
): Tensor {
  requireFloat("affineGrid", theta, "theta");
  const spatial = size.length - 2;
  if (
    (spatial !== 2 && spatial !== 3) ||
    theta.rank !== 3 ||
    theta.shape[0] !== size[0] ||
    theta.shape[1] !== spatial ||
    theta.shape[2] !== spatial + 1
  )
    throw new ShapeError(
      "affineGrid",
      "theta",
      `[${size[0]}, ${spatial}, ${spatial + 1}] for a size of ${spatial} spatial axes`,
      theta.describe(),
    );
  const lengths = size.slice(2);
  const axis = (i: number): Tensor => {
    const d = lengths[i]!;
    const edge = alignCorners ? 1 : (d - 1) / d;
    const steps =
      d === 1
        ? tensor([0], { dtype: theta.dtype, device: theta.device })
        : evenSteps(-edge, edge, d, { dtype: theta.dtype, device: theta.device });
    return expand(
      reshape(
        steps,
        lengths.map((_, j) => (j === i ? d : 1)),
      ),
      lengths,
    );
  };
  // x comes first, the outermost axis last, then the constant.
  const coordinates = lengths.map((_, i) => axis(spatial - 1 - i));
  const base = stack([...coordinates, add(mul(coordinates[0]!, 0), 1)], -1);
  const rows = reshape(base, [1, sizeOf(lengths), spatial + 1]);
  return reshape(matmul(expand(rows, size[0]!, sizeOf(lengths), spatial + 1), transpose(theta, 1, 2)), [size[0]!, ...lengths, spatial]);
}
