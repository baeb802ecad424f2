/** Elements by index: gather, indexSelect, takeAlongAxis, and their adjoint, the sum by index. */
import type { GraphBuilder } from "../graph/builder.generated.ts";
import { dataTypeName } from "../graph/describe.ts";
import { call, demandSameDevice } from "../dispatch.ts";
import { isInteger } from "../dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../errors.ts";
import type { Expr } from "../graph/graph.ts";
import { normalizeAxis, sizeOf, type Shape } from "../shape.ts";
import type { Tensor } from "../tensor.ts";
import { define, type Definition, type TensorSpec } from "../definition.ts";
import { broadcastTo, reshape } from "./movement.ts";
import { existingAxis } from "./ranges.ts";
import { emitReduce } from "./reduce.ts";
import { cast, constant } from "./support.ts";

interface AxisAttributes {
  readonly axis: number;
}
interface SumAttributes extends AxisAttributes {
  readonly shape: Shape;
}

/** Elements of a one-hot table that is made at once: larger ones are worked off in parts. */
const TABLE = 2 ** 24;

/** Indices in a dtype that gathering takes. */
const indexExpr = (g: GraphBuilder, index: Expr): Expr =>
  index.dtype === "int32" || index.dtype === "int64" || index.dtype === "uint32" || index.dtype === "uint64"
    ? index
    : cast(g, index, "int32");

/** Part of an expression along an axis, packed. */
function cut(g: GraphBuilder, x: Expr, axis: number, start: number, length: number): Expr {
  if (start === 0 && length === x.sizes[axis]) return x;
  const sizes = x.sizes.map((d, i) => (i === axis ? length : d));
  return g.slice1(x, {
    output: { sizes },
    inputWindowOffsets: sizes.map((_, i) => (i === axis ? start : 0)),
    inputWindowSizes: sizes,
    inputWindowStrides: sizes.map(() => 1),
  });
}

const gatherOp: Definition<AxisAttributes> = define<AxisAttributes>({
  name: "gather",
  infer: ([x, index]) => [{ shape: index!.shape, dtype: x!.dtype }],
  lower: (g, [x, index], { axis }) => {
    // The other axes of the index may be shorter than x's: x is seen as far as the index reaches.
    const seen = g.reinterpret(x!, { sizes: x!.sizes.map((d, i) => (i === axis ? d : index!.sizes[i]!)), strides: x!.strides });
    return [g.gatherElements(seen, indexExpr(g, index!), { output: { sizes: index!.sizes }, axis })];
  },
  grad: (dy, { inputs: [, index], specs: [x], attrs: { axis } }) => [call(gatherGradOp, [dy, index!], { axis, shape: x!.shape }), null],
  saves: { inputs: [1], outputs: false },
});

/** dx[…, j, …] = sum over i of dy[…, i, …] where index[…, i, …] = j: compared with every place, since nothing in DirectML adds by index. */
const gatherGradOp: Definition<SumAttributes> = define<SumAttributes>({
  name: "gatherGrad",
  infer: ([dy], { shape }) => [{ shape, dtype: dy!.dtype }],
  lower: (g, [dy, index], { axis, shape }) => {
    const sizes = shape.length === 0 ? [1] : shape;
    const [n, k] = [sizes[axis]!, dy!.sizes[axis]!];
    const rest = sizeOf(dy!.sizes) / k;
    const part = Math.max(1, Math.min(k, Math.floor(TABLE / (n * rest))));
    let total: Expr | null = null;
    const wideSizes = [...dy!.sizes.slice(0, axis), n, part, ...dy!.sizes.slice(axis + 1)];
    for (let start = 0; start < k; start += part) {
      const length = Math.min(part, k - start);
      wideSizes[axis + 1] = length;
      const wide = (x: Expr): Expr =>
        g.reinterpret(x, { sizes: wideSizes, strides: [...x.strides.slice(0, axis), 0, ...x.strides.slice(axis)] });
      const line = g.fillValueSequence({
        output: { sizes: [n], dtype: "int32" },
        valueDataType: "INT32",
        valueStart: { dtype: "int32", value: 0 },
        valueDelta: { dtype: "int32", value: 1 },
      });
      const places = g.reinterpret(line, { sizes: wideSizes, strides: wideSizes.map((_, i) => (i === axis ? 1 : 0)) });
      const hit = g.elementWiseLogicalEquals(wide(cast(g, cut(g, index!, axis, start, length), "int32")), places, {
        output: { dtype: "bool" },
      });
      const chosen = g.elementWiseIf(hit, wide(cut(g, dy!, axis, start, length)), constant(g, dy!.dtype, 0, wideSizes));
      const reduced = emitReduce(g, chosen, "SUM", [axis + 1]);
      const flat = g.reinterpret(reduced, { sizes: wideSizes.filter((_, i) => i !== axis + 1) });
      total = total === null ? flat : g.elementWiseAdd(total, flat);
    }
    // Back to x's sizes where the index was shorter.
    const found = total!;
    if (found.sizes.every((d, i) => d === sizes[i])) return [found];
    const zero = { dtype: dy!.dtype, value: 0 };
    return [
      g.padding1(found, {
        output: { sizes },
        paddingMode: "CONSTANT",
        paddingValueDataType: dataTypeName(dy!.dtype),
        paddingValue: zero,
        startPadding: sizes.map(() => 0),
        endPadding: sizes.map((d, i) => d - found.sizes[i]!),
      }),
    ];
  },
  grad: (dy, { inputs: [, index], attrs: { axis } }) => [call(gatherOp, [dy, index!], { axis }), null],
  saves: { inputs: [1], outputs: false },
  whenEmpty: 0,
});

const selectedShape = (x: TensorSpec, count: number, axis: number): number[] => x.shape.map((d, i) => (i === axis ? count : d));

const indexSelectOp: Definition<AxisAttributes> = define<AxisAttributes>({
  name: "indexSelect",
  infer: ([x, index], { axis }) => [{ shape: selectedShape(x!, index!.shape[0]!, axis), dtype: x!.dtype }],
  lower: (g, [x, index], { axis }) => {
    const rank = x!.sizes.length;
    const count = index!.sizes[0]!;
    const line = g.reinterpret(indexExpr(g, index!), {
      sizes: [...new Array<number>(rank - 1).fill(1), count],
      strides: [...new Array<number>(rank - 1).fill(0), index!.strides[0]!],
    });
    return [g.gather(x!, line, { output: { sizes: x!.sizes.map((d, i) => (i === axis ? count : d)) }, axis, indexDimensions: 1 })];
  },
  grad: (dy, { inputs: [, index], specs: [x], attrs: { axis } }) => [call(indexAddOp, [dy, index!], { axis, shape: x!.shape }), null],
  saves: { inputs: [1], outputs: false },
});

/**
 * Adds the parts of dy along an axis at the places of a 1-axis index: one-hot(index)^T x dy, a GEMM, since nothing in DirectML
 * adds by index. Large tables are worked off in parts, each added by GEMM's third operand.
 */
const indexAddOp: Definition<SumAttributes> = define<SumAttributes>({
  name: "indexAdd",
  infer: ([dy], { shape }) => [{ shape, dtype: dy!.dtype }],
  lower: (g, [dy, index], { axis, shape }) => {
    const n = shape[axis]!;
    const order = [axis, ...shape.map((_, i) => i).filter((i) => i !== axis)];
    const count = dy!.sizes[axis]!;
    const rest = sizeOf(shape) / n;
    const rows = g.reshape(g.transpose(dy!, order), [count, rest]);
    const line = g.reshape(indexExpr(g, index!), [count, 1]);
    const ends = g.fillValueSequence({
      output: { sizes: [1, 2], dtype: dy!.dtype },
      valueDataType: dataTypeName(dy!.dtype),
      valueStart: { dtype: dy!.dtype, value: 0 },
      valueDelta: { dtype: dy!.dtype, value: 1 },
    });
    const part = Math.max(1, Math.min(count, Math.floor(TABLE / n)));
    let total: Expr | null = null;
    for (let start = 0; start < count; start += part) {
      const length = Math.min(part, count - start);
      const table = g.oneHot(cut(g, line, 0, start, length), ends, { output: { sizes: [length, n] }, axis: 1 });
      const lift = (x: Expr): Expr => g.reinterpret(x, { sizes: [1, 1, ...x.sizes], strides: [0, 0, ...x.strides] });
      total = g.gemm(lift(table), lift(cut(g, rows, 0, start, length)), {
        c: total,
        output: { sizes: [1, 1, n, rest] },
        transA: "TRANSPOSE",
        transB: "NONE",
        alpha: 1,
        beta: total === null ? 0 : 1,
      });
    }
    const back = order.map((_, i) => order.indexOf(i));
    return [g.transpose(g.reinterpret(total!, { sizes: order.map((i) => shape[i]!) }), back)];
  },
  grad: (dy, { inputs: [, index], attrs: { axis } }) => [call(indexSelectOp, [dy, index!], { axis }), null],
  saves: { inputs: [1], outputs: false },
  whenEmpty: 0,
});

function demandIndex(operation: string, index: Tensor): void {
  if (!isInteger(index.dtype))
    throw new DTypeError(
      operation,
      "index",
      "of an integer dtype",
      index.describe(),
      index.dtype === "bool" ? "A mask's size depends on its data; use where() or maskedFill()." : undefined,
    );
}

/**
 * out[i][j] = x[index[i][j]][j] for axis 0, and so on for other axes. index: integers, as many axes as x, not longer than x on
 * the others. Indices are not checked against x: DirectML reads the nearest place. Reference: torch.gather. DirectML: GATHER_ELEMENTS.
 */
export function gather(x: Tensor, axis: number, index: Tensor): Tensor {
  demandIndex("gather", index);
  demandSameDevice("gather", [x, index]);
  const a = normalizeAxis("gather", axis, x.rank);
  if (Math.max(1, x.rank) !== Math.max(1, index.rank) || index.shape.some((d, i) => i !== a && d > (x.shape[i] ?? 1)))
    throw new ShapeError("gather", "index", `of ${x.rank} axes, not longer than ${x.describe()} but along axis ${a}`, index.describe());
  return call(gatherOp, [x, index], { axis: a });
}

/** The parts of x at the places of a 1-axis index along an axis. Reference: torch.index_select. DirectML: GATHER. */
export function indexSelect(x: Tensor, axis: number, index: Tensor): Tensor {
  demandIndex("indexSelect", index);
  demandSameDevice("indexSelect", [x, index]);
  const a = normalizeAxis("indexSelect", axis, x.rank);
  if (index.rank > 1) throw new ShapeError("indexSelect", "index", "of one axis", index.describe());
  if (x.rank === 0) {
    if (index.size !== 1) throw new ShapeError("indexSelect", "index", "of one element for a tensor of rank 0", index.describe());
    return reshape(call(indexSelectOp, [reshape(x, [1]), reshape(index, [1])], { axis: 0 }), []);
  }
  if (x.shape[a] === 0 && index.size > 0) throw new ValueError("indexSelect", "index", "empty, since the axis is", index.describe());
  return call(indexSelectOp, [x, reshape(index, [index.size])], { axis: a });
}

/** gather() in which x and index broadcast to each other but along the axis; without an axis, of the flattened x. Reference: torch.take_along_dim. */
export function takeAlongAxis(x: Tensor, index: Tensor, axis: number | null = null): Tensor {
  if (axis === null) return gather(reshape(x, [-1]), 0, reshape(index, [-1]));
  const a = existingAxis("takeAlongAxis", x, axis);
  if (index.rank !== x.rank) throw new ShapeError("takeAlongAxis", "index", `of ${x.rank} axes`, index.describe());
  const wide = (own: Tensor, other: Tensor): Tensor =>
    broadcastTo(
      own,
      own.shape.map((d, i) => (i === a || d !== 1 ? d : other.shape[i]!)),
      "takeAlongAxis",
    );
  return gather(wide(x, index), a, wide(index, x));
}

export const methods = { gather, indexSelect, takeAlongAxis };
