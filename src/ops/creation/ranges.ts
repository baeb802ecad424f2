/** Ranges, identity and triangular matrices: arange, eye, tril, triu. */
import { asItIs } from "../../core/padded-axes.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { asResult, call, create } from "../../dispatch/dispatch.ts";
import { defaultDevice, device as deviceOf, type Device } from "../../core/device.ts";
import { isInteger, type DType, dataTypeName } from "../../core/dtype.ts";
import { requireRepresentable, element } from "../../core/elements.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { normalizeAxis, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { empty, tensor, withGrad, type TensorOptions } from "./creation.ts";
import { contiguous } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { diagonal, movedim, setDiagonalGrad } from "../shape/movement.ts";
import { alongAxis, BOOL, cast, computing, constant, sequence } from "../declare/support.ts";
import { onLastAxes, withAttributes } from "../declare/batched.ts";

const deviceIn = (options: TensorOptions): Device => (options.device === undefined ? defaultDevice() : deviceOf(options.device));

const sequenceOp = define<{
  readonly length: number;
  readonly start: number | bigint;
  readonly step: number | bigint;
  readonly dtype: DType;
}>({
  name: "arange",
  infer: (_, { length, dtype }) => [{ shape: [length], dtype }],
  lower: (g, _, { length, start, step, dtype }) => [sequence(g, dtype, [length], start, step)],
  grad: null,
  follows: ["start", "step"],
  padded: (g, _inputs, attrs, _outputs, p, lower) => {
    const { length, dtype } = attrs;
    const smaller = p.smaller as typeof attrs;
    if (smaller.start === attrs.start && smaller.step === attrs.step) return lower([]);
    const number = (name: "start" | "step"): Expr => {
      const value = attrs[name];
      if (value === smaller[name]) return constant(g, dtype, value, [length]);
      return g.expand(
        cast(
          g,
          p.number((a: typeof attrs) => Number(a[name]), isInteger(dtype) ? "int32" : "float32"),
          dtype,
        ),
        [length],
      );
    };
    const at = cast(g, sequence(g, "int32", [length]), dtype);
    return [g.elementWiseAdd(g.elementWiseMultiply(at, number("step")), number("start"))];
  },
});

interface RangeOptions extends TensorOptions {
  /** Default: 0. */
  readonly start?: number;
  /** Default: 1. */
  readonly step?: number;
}

/**
 * start, start + step, … before end: arange(end), arange(start, end) or arange(start, end, step). Dtype: int32 if all three are integers, else float32.
 * Throws ValueError for a step of 0 or one that leads away from end. DirectML: FILL_VALUE_SEQUENCE. Reference: torch.arange.
 */
export function arange(end: number, options?: RangeOptions): Tensor;
export function arange(start: number, end: number, options?: RangeOptions): Tensor;
export function arange(start: number, end: number, step: number, options?: TensorOptions): Tensor;
export function arange(end: number, second?: number | RangeOptions, third?: number | RangeOptions, last: TensorOptions = {}): Tensor {
  const isPair = typeof second === "number";
  const settings: RangeOptions = { ...last, ...(typeof second === "object" ? second : {}), ...(typeof third === "object" ? third : {}) };
  if (isPair && settings.start !== undefined) throw new ValueError("arange", "start", "passed once", settings.start);
  const { start = isPair ? end : 0, step = typeof third === "number" ? third : 1, ...options } = settings;
  if (isPair) end = second;
  if (![start, end, step].every(Number.isFinite))
    throw new ValueError("arange", "start, end and step", "finite numbers", [start, end, step]);
  if (step === 0 || (end - start) / step < 0) throw new ValueError("arange", "step", `a number that leads from ${start} to ${end}`, step);
  const isWhole = [start, end, step].every(Number.isInteger);
  // Indices are int32 by default, int64 where they exceed it.
  const max = Math.max(Math.abs(start), Math.abs(end), Math.abs(step));
  const dtype = computing("arange", options.dtype ?? (!isWhole ? "float32" : max < 2 ** 31 ? "int32" : "int64"));
  if (dtype === "bool") throw new DTypeError("arange", "dtype", "a numeric one", dtype);
  // Shorter integers wrap, as in PyTorch.
  for (const [name, v] of Object.entries({ start, step })) requireRepresentable("arange", name, isInteger(dtype) ? "int64" : "float32", v);
  if (isInteger(dtype)) requireRepresentable("arange", "end", "int64", end);
  const length = Math.ceil((end - start) / step);
  const dev = deviceIn(options);
  if (length === 0) return empty([0], { ...options, dtype });
  const whole = (v: number): number | bigint => (isInteger(dtype) ? element(dtype, Math.trunc(v)) : v);
  return withGrad("arange", create(sequenceOp, dev, { length, start: whole(start), step: whole(step), dtype }), options);
}

/** Numbers at equal distances, counted from the nearer end. @package */
export function evenly(start: number, end: number, steps: number): number[] {
  const step = (end - start) / (steps - 1);
  return Array.from({ length: steps }, (_, i) => (i < steps / 2 ? start + (steps === 1 ? 0 : step * i) : end - step * (steps - 1 - i)));
}

/** linspace() between numbers. @package */
export function evenSteps(start: number, end: number, steps: number, options: TensorOptions = {}): Tensor {
  if (!Number.isInteger(steps) || steps < 0) throw new ValueError("linspace", "steps", "an integer of at least 0", steps);
  const dtype = computing("linspace", options.dtype ?? "float32");
  if (steps === 0) return empty([0], { ...options, dtype });
  if (dtype === "bool") throw new DTypeError("linspace", "dtype", "a numeric one", dtype);
  requireRepresentable("linspace", "start", dtype, start);
  requireRepresentable("linspace", "end", dtype, end);
  if (isInteger(dtype)) {
    const whole = (v: number): number => Number(element(dtype, Math.trunc(v)));
    const values = evenly(whole(start), whole(end), steps).map(Math.trunc);
    return tensor(values, { ...options, dtype, shape: [steps] });
  }
  const step = steps === 1 ? 0 : (end - start) / (steps - 1);
  return withGrad("linspace", create(sequenceOp, deviceIn(options), { length: steps, start, step, dtype }), options);
}

/** Row (or column) indices of a matrix, from `first` on, broadcast to the sizes of a stack of matrices. */
function coordinates(g: GraphBuilder, sizes: readonly number[], which: "row" | "column", first: number): Expr {
  const axis = sizes.length - (which === "row" ? 2 : 1);
  return alongAxis(g, sequence(g, "int32", [sizes[axis]!], first), sizes, axis);
}

const eyeOp = define<{ readonly shape: Shape; readonly dtype: DType }>({
  name: "eye",
  infer: (_, { shape, dtype }) => [{ shape, dtype }],
  lower: (g, _, { shape, dtype }) => [
    cast(g, g.elementWiseLogicalEquals(coordinates(g, shape, "row", 0), coordinates(g, shape, "column", 0), BOOL), dtype),
  ],
  grad: null,
  padded: asItIs,
});

/** Ones on the main diagonal of a rows x columns matrix, zeros elsewhere. Reference: torch.eye. */
export function eye(rows: number, columns = rows, options: TensorOptions = {}): Tensor {
  for (const [name, n] of [
    ["rows", rows],
    ["columns", columns],
  ] as const)
    if (!Number.isInteger(n) || n < 0) throw new ValueError("eye", name, "an integer of at least 0", n);
  const dtype = computing("eye", options.dtype ?? "float32");
  if (rows * columns === 0) return empty([rows, columns], { ...options, dtype });
  return withGrad("eye", create(eyeOp, deviceIn(options), { shape: [rows, columns], dtype }), options);
}

interface TriangleAttributes {
  readonly upper: boolean;
  readonly diagonal: number;
}

/** x with zeros on one side of the columns given for each row. */
function emitTriangle(g: GraphBuilder, x: Expr, upper: boolean, row: Expr): Expr {
  const column = coordinates(g, x.sizes, "column", 0);
  const kept = upper ? g.elementWiseLogicalGreaterThanOrEqual(column, row, BOOL) : g.elementWiseLogicalLessThanOrEqual(column, row, BOOL);
  return g.elementWiseIf(kept, x, constant(g, x.dtype, 0, x.sizes));
}

const triangleOp: Definition<TriangleAttributes> = define<TriangleAttributes>({
  name: "triangle",
  batched: onLastAxes,
  traits: { carries: true },
  infer: ([x]) => [x!],
  lower: (g, [x], { upper, diagonal }) => [emitTriangle(g, x!, upper, coordinates(g, x!.sizes, "row", diagonal))],
  grad: (dy, { attrs }) => [call(triangleOp, [dy], attrs)],
  follows: ["diagonal"],
  padded: (g, [x], attrs, _outputs, p, lower) => {
    if ((p.smaller as TriangleAttributes).diagonal === attrs.diagonal) return lower([x!]);
    const diagonal = g.expand(
      p.number((a: TriangleAttributes) => a.diagonal),
      x!.sizes,
    );
    return [emitTriangle(g, x!, attrs.upper, g.elementWiseAdd(coordinates(g, x!.sizes, "row", 0), diagonal))];
  },
  saves: { inputs: [], outputs: false },
});

function triangle(operation: string, x: Tensor, upper: boolean, diagonal: number): Tensor {
  if (x.rank < 2) throw new ShapeError(operation, "x", "of at least two axes", x.describe());
  if (!Number.isInteger(diagonal)) throw new ValueError(operation, "diagonal", "an integer", diagonal);
  return call(triangleOp, [x], { upper, diagonal });
}

/** x with zeros above a diagonal (0: the main one) of its last two axes. Reference: torch.tril. */
export const tril = (x: Tensor, diagonal = 0): Tensor => triangle("tril", x, false, diagonal);
/** x with zeros below a diagonal (0: the main one) of its last two axes. Reference: torch.triu. */
export const triu = (x: Tensor, diagonal = 0): Tensor => triangle("triu", x, true, diagonal);

const diagonalEmbedOp: Definition<{ readonly shape: Shape; readonly offset: number }> = define<{
  readonly shape: Shape;
  readonly offset: number;
}>({
  name: "diagonalEmbed",
  batched: withAttributes((attrs, size) => ({ ...attrs, shape: [size, ...attrs.shape] })),
  infer: ([x], { shape }) => [{ shape, dtype: x!.dtype }],
  lower: (g, [x], { shape, offset }) => {
    // Along a column for offset <= 0, along a row for offset >= 0: the element's number is that of its row or column there.
    const length = x!.sizes[x!.sizes.length - 1]!;
    const [rows, columns] = [shape[shape.length - 2]!, shape[shape.length - 1]!];
    const byRow = offset >= 0;
    const extent = byRow ? rows : columns;
    const filled =
      extent > length
        ? g.padding1(x!, {
            output: { sizes: [...x!.sizes.slice(0, -1), extent] },
            paddingMode: "CONSTANT",
            paddingValueDataType: dataTypeName(x!.dtype),
            paddingValue: { dtype: x!.dtype, value: 0 },
            startPadding: x!.sizes.map(() => 0),
            endPadding: x!.sizes.map((_, i) => (i === x!.sizes.length - 1 ? extent - length : 0)),
          })
        : x!;
    const step = filled.strides[filled.strides.length - 1]!;
    const seen = g.reinterpret(filled, { sizes: shape, strides: [...filled.strides.slice(0, -1), byRow ? step : 0, byRow ? 0 : step] });
    const on = g.elementWiseLogicalEquals(coordinates(g, shape, "row", offset), coordinates(g, shape, "column", 0), BOOL);
    return [g.elementWiseIf(on, seen, constant(g, x!.dtype, 0, shape))];
  },
  padded: (_g, _inputs, _attrs, _outputs, p, lower) => lower([p.filled(0, 0)]),
  grad: (dy, { attrs: { offset } }) => [diagonal(dy, { offset, axis0: -2, axis1: -1 })],
  saves: { inputs: [], outputs: false },
  whenEmpty: 0,
});

/** @internal x's last axis on a diagonal of the last two axes of `shape`. */
export const embedDiagonal = (x: Tensor, shape: Shape, offset: number): Tensor => call(diagonalEmbedOp, [x], { shape, offset });

setDiagonalGrad((dy, shape, { offset, axes: [a, b] }) => {
  const rest = shape.filter((_, i) => i !== a && i !== b);
  const stacked = call(diagonalEmbedOp, [dy], { shape: [...rest, shape[a]!, shape[b]!], offset });
  return asResult(contiguous(movedim(stacked, [-2, -1], [a, b])));
});

const oneHotOp = define<{ readonly classes: number; readonly dtype: DType }>({
  name: "oneHot",
  batched: onLastAxes,
  infer: ([x], { classes, dtype }) => [{ shape: [...x!.shape, classes], dtype }],
  lower: (g, [x], { dtype }, [out]) => {
    const sizes = out!.shape;
    const index = g.reshape(x!.dtype === "int64" || x!.dtype === "int32" ? x! : cast(g, x!, "int32"), [...sizes.slice(0, -1), 1]);
    const ends = sequence(g, dtype === "bool" ? "uint8" : dtype, [2]);
    const values = g.reinterpret(ends, { sizes: [...sizes.slice(1).map(() => 1), 2], strides: sizes.map(() => 1), dtype });
    return [g.oneHot(index, values, { output: { sizes }, axis: sizes.length - 1 })];
  },
  padded: asItIs,
  grad: null,
});

/** 1 at index x along a new last axis, 0 elsewhere. @package */
export const oneHotOf = (x: Tensor, classes: number, dtype: DType): Tensor => call(oneHotOp, [x], { classes, dtype });

/** @internal An axis that must exist. */
export const existingAxis = (operation: string, x: Tensor, axis: number): number => {
  if (x.rank === 0) throw new ShapeError(operation, "x", "of at least one axis", x.describe());
  return normalizeAxis(operation, axis, x.rank);
};

export const methods = { tril, triu };
