/** Where, masked fill, clamp, maximum and minimum. */
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import type { Device } from "../../core/device.ts";
import { isFloat, isHalf, isInteger, resultType, type DType } from "../../core/dtype.ts";
import { requireOperand, largestOf, notRepresentable, rangeOf } from "../../core/elements.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import { contiguousOp } from "../../runtime/assign.ts";
import { heldScalar, scalarTensor } from "../../runtime/constants.ts";
import { broadcastShapes } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { aligned, binary, mul, operands, type Arithmetic } from "./binary.ts";
import { eq, gt, isfinite, le, logicalAnd, logicalOr, lt } from "./compare.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition, type GradRule } from "../../core/definition.ts";
import { extremeOf, extremeOfNumbers } from "../reduce/extreme-lower.ts";
import type { Expr } from "../../graph/graph.ts";
import { BOOL, cast, computable, computing, constant, sumTo } from "../declare/support.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

const whereOp = define({
  name: "where",
  traits: { elementwise: true, carries: true },
  infer: ([condition, a, b]) => [
    { shape: broadcastShapes("where", condition!.shape, broadcastShapes("where", a!.shape, b!.shape)), dtype: a!.dtype },
  ],
  lower: (g, [condition, a, b], _, [out]) => {
    const sizes = out!.shape.length === 0 ? [1] : out!.shape;
    return [g.elementWiseIf(g.expand(condition!, sizes), g.expand(a!, sizes), g.expand(b!, sizes))];
  },
  grad: (dy, { inputs: [condition], specs, needs }) => {
    const zero = scalarTensor(dy.device, dy.dtype, 0);
    return [
      null,
      needs[1] ? sumTo(where(condition!, dy, zero), specs[1]!) : null,
      needs[2] ? sumTo(where(condition!, zero, dy), specs[2]!) : null,
    ];
  },
  saves: { inputs: [0], outputs: false },
});

/** Both operands in one dtype; at least one of a, b and anchor is a tensor. */
function operandPair(operation: string, a: Arithmetic, b: Arithmetic, anchor: Tensor): [Tensor, Tensor] {
  const dtype = resultType([a, b]);
  const made = (v: Arithmetic, argument: string): Tensor =>
    v instanceof Tensor
      ? toDType(v, dtype)
      : // In half precision it becomes infinite, as in PyTorch.
        isHalf(dtype)
        ? scalarTensor(anchor.device, dtype, v)
        : heldScalar(operation, argument, anchor.device, dtype, v);
  const both: [Tensor, Tensor] = [made(a, "a"), made(b, "b")];
  requireSameDevice(operation, [anchor, ...both]);
  return both;
}

/**
 * a where the condition is true, b elsewhere. Shapes broadcast; a and b promote to one dtype.
 * condition: bool. Throws DTypeError for another dtype. DirectML: ELEMENT_WISE_IF. Reference: torch.where.
 */
export function where(condition: Tensor, a: Arithmetic, b: Arithmetic): Tensor {
  if (condition.dtype !== "bool" && condition.dtype !== "uint8")
    throw new DTypeError("where", "condition", "of dtype bool", condition.describe());
  return call(whereOp, [condition, ...operandPair("where", a, b, condition)], undefined);
}

/** x with `value` where the mask is true. Reference: torch.Tensor.masked_fill. DirectML: ELEMENT_WISE_IF. */
export function maskedFill(x: Tensor, mask: Tensor, value: Arithmetic): Tensor {
  if (mask.dtype !== "bool") throw new DTypeError("maskedFill", "mask", "of dtype bool", mask.describe());
  const fill = value instanceof Tensor ? value : heldScalar("maskedFill", "value", x.device, x.dtype, value);
  if (fill.rank !== 0) throw new DTypeError("maskedFill", "value", "a number or a tensor of rank 0", fill.describe());
  return call(whereOp, [mask, toDType(fill, x.dtype), x], undefined);
}

/** The gradient of the one that is chosen; where they are equal each gets half, and where one is NaN each gets all, as in PyTorch. */
const sharedGradient =
  (loses: typeof lt) =>
  (dy: Tensor, a: Tensor, b: Tensor, needs: readonly boolean[]): readonly (Tensor | null)[] => {
    const share = where(eq(a, b), mul(dy, 0.5), dy);
    const zero = scalarTensor(dy.device, dy.dtype, 0);
    return [needs[0] ? where(loses(a, b), zero, share) : null, needs[1] ? where(loses(b, a), zero, share) : null];
  };

const extreme = (name: "maximum" | "minimum"): ReturnType<typeof binary> =>
  binary(name, {
    operator: name === "maximum" ? "ELEMENT_WISE_MAX" : "ELEMENT_WISE_MIN",
    dtype: computing,
    emit: (g, a, b) => extremeOf(g, name === "maximum" ? "max" : "min", a, b),
    grad: name === "maximum" ? sharedGradient(lt) : sharedGradient(gt),
  });
const maximumOp = extreme("maximum");
const minimumOp = extreme("minimum");

/** The larger of a and b; NaN if one is. Shapes broadcast; dtypes promote. Reference: torch.maximum. DirectML: ELEMENT_WISE_MAX. */
export const maximum = (a: Arithmetic, b: Arithmetic): Tensor => call(maximumOp, operands("maximum", a, b), undefined);
/** The smaller of a and b; NaN if one is. Shapes broadcast; dtypes promote. Reference: torch.minimum. DirectML: ELEMENT_WISE_MIN. */
export const minimum = (a: Arithmetic, b: Arithmetic): Tensor => call(minimumOp, operands("minimum", a, b), undefined);

/** A limit in the dtype of the result. One that lies outside an integer dtype limits nothing, or there is no number within it. */
function edge(operation: string, argument: "min" | "max", device: Device, dtype: DType, value: number | bigint | boolean): Tensor {
  if (!isInteger(dtype) || typeof value === "boolean") return heldScalar(operation, argument, device, dtype, value);
  requireOperand(dtype, value);
  const [lowest, highest] = rangeOf(dtype);
  if (argument === "min" ? value > highest : value < lowest) throw notRepresentable(operation, argument, dtype, value);
  return scalarTensor(device, dtype, value < lowest ? lowest : value > highest ? highest : value);
}

type Limit = "clampMin" | "clampMax";
/** x limited on one side. At the limit itself x has no gradient where that is a number, as in PyTorch 2.15, and all of it where it is a tensor. */
const limit = (name: Limit, isNumber: boolean): ReturnType<typeof binary> =>
  binary(name, {
    operator: name === "clampMin" ? "ELEMENT_WISE_MAX" : "ELEMENT_WISE_MIN",
    dtype: computing,
    emit: (g, a, b) => extremeOf(g, name === "clampMin" ? "max" : "min", a, b),
    grad: isNumber
      ? (dy, x, edge) => [where((name === "clampMin" ? gt : lt)(x, edge), dy, scalarTensor(dy.device, dy.dtype, 0)), null]
      : sharedGradient(name === "clampMin" ? lt : gt),
  });
const limits = {
  clampMin: { number: limit("clampMin", true), tensor: limit("clampMin", false) },
  clampMax: { number: limit("clampMax", true), tensor: limit("clampMax", false) },
};
function limited(name: Limit, x: Tensor, by: Arithmetic): Tensor {
  if (by instanceof Tensor) return call(limits[name].tensor, operands(name, x, by), undefined);
  const number = edge(name, name === "clampMin" ? "min" : "max", x.device, resultType([x, by]), by);
  return call(limits[name].number, [x, number], undefined);
}

/** x, but at least min. A number or a tensor that broadcasts. Reference: torch.clamp_min. DirectML: ELEMENT_WISE_MAX. */
export const clampMin = (x: Tensor, min: Arithmetic): Tensor => limited("clampMin", x, min);
/** x, but at most max. A number or a tensor that broadcasts. Reference: torch.clamp_max. DirectML: ELEMENT_WISE_MIN. */
export const clampMax = (x: Tensor, max: Arithmetic): Tensor => limited("clampMax", x, max);

/** At limits that are numbers there is no gradient; x and the tensor that it equals have half of it each. A limit that is NaN gets none. */
const clampGradient =
  (isNumber: boolean): GradRule<undefined> =>
  (dy, { inputs: [x, min, max], specs, needs }) => {
    const zero = scalarTensor(dy.device, dy.dtype, 0);
    const give = (i: number, condition: () => Tensor): Tensor | null => (needs[i] ? sumTo(where(condition(), dy, zero), specs[i]!) : null);
    if (isNumber) return [give(0, () => logicalAnd(gt(x!, min!), lt(x!, max!))), null, null];
    const isOpen = lt(min!, max!);
    const share = (edge: Tensor): Tensor => where(logicalAnd(eq(x!, edge), isOpen), mul(dy, 0.5), zero);
    const ifNeeded = (i: number, t: () => Tensor): Tensor | null => (needs[i] ? sumTo(t(), specs[i]!) : null);
    return [
      ifNeeded(0, () => {
        const isTied = logicalAnd(logicalOr(eq(x!, min!), eq(x!, max!)), isOpen);
        return where(logicalOr(lt(x!, min!), gt(x!, max!)), zero, where(isTied, mul(dy, 0.5), dy));
      }),
      ifNeeded(1, () => where(logicalAnd(lt(x!, min!), le(min!, max!)), dy, share(min!))),
      ifNeeded(2, () => where(logicalOr(logicalAnd(gt(x!, max!), le(min!, max!)), gt(min!, max!)), dy, share(max!))),
    ];
  };

const clampBetween = (isNumber: boolean): Definition<undefined> =>
  define({
    name: "clamp",
    traits: { elementwise: true },
    infer: ([x, min, max]) => {
      const dtype = computing("clamp", resultType([x!, min!, max!]));
      return [{ shape: broadcastShapes("clamp", x!.shape, broadcastShapes("clamp", min!.shape, max!.shape)), dtype }];
    },
    lower: (g, inputs, _, [out]) => {
      const [x, min, max] = aligned(g, inputs, out!.dtype, out!.shape);
      const inner = computable(g, "ELEMENT_WISE_MAX", out!.dtype);
      const raised = extremeOfNumbers(g, "max", cast(g, x!, inner), cast(g, min!, inner));
      let result = cast(g, extremeOfNumbers(g, "min", raised, cast(g, max!, inner)), out!.dtype);
      // NaN is kept; limits that are numbers are none.
      const kept = isNumber ? [x!] : [min!, max!, x!];
      if (isFloat(out!.dtype)) for (const v of kept) result = g.elementWiseIf(g.elementWiseIsNan(v, BOOL), v, result);
      return [result];
    },
    grad: clampGradient(isNumber),
    saves: { inputs: [0, 1, 2], outputs: false },
  });
const clampToNumbersOp = clampBetween(true);
const clampToTensorsOp = clampBetween(false);

/**
 * x limited to [min, max]; one of the two may be left out. Where min > max the result is max. Numbers or tensors that
 * broadcast; dtypes promote; NaN stays. Throws ValueError without a limit. Reference: torch.clamp. DirectML: ELEMENT_WISE_MAX and MIN.
 */
export function clamp(x: Tensor, min: Arithmetic | null = null, max: Arithmetic | null = null): Tensor {
  if (min === null && max === null) throw new ValueError("clamp", "min or max", "given", "neither");
  if (max === null) return clampMin(x, min!);
  if (min === null) return clampMax(x, max);
  // A limit that is no number makes all elements NaN.
  if (Number.isNaN(min) || Number.isNaN(max)) return clampMax(clampMin(x, min), max);
  const dtype = resultType([x, min, max]);
  const made = (v: Arithmetic, argument: "min" | "max"): Tensor => (v instanceof Tensor ? v : edge("clamp", argument, x.device, dtype, v));
  const inputs = [x, made(min, "min"), made(max, "max")];
  requireSameDevice("clamp", inputs);
  return call(!(min instanceof Tensor) && !(max instanceof Tensor) ? clampToNumbersOp : clampToTensorsOp, inputs, undefined);
}

/** x with NaN and infinities replaced: by `nan` (0), the dtype's largest number, its lowest. Reference: torch.nan_to_num. */
export function nanToNum(
  x: Tensor,
  {
    nan = 0,
    posinf,
    neginf,
  }: {
    /** Replaces NaN. Default: 0. */
    readonly nan?: number; /** Replaces infinity. Default: the dtype's largest number. */
    readonly posinf?: number | undefined; /** Replaces -infinity. Default: the dtype's least number. */
    readonly neginf?: number | undefined;
  } = {},
): Tensor {
  if (!isFloat(x.dtype)) return call(contiguousOp, [x], undefined);
  const largest = largestOf(x.dtype);
  const number = (v: number): Tensor => scalarTensor(x.device, x.dtype, v);
  return call(nanToNumOp, [x, number(nan), number(posinf ?? largest), number(neginf ?? -largest)], undefined);
}
const nanToNumOp: Definition<undefined> = define({
  name: "nanToNum",
  traits: { elementwise: true, carries: true },
  infer: ([x]) => [x!],
  lower: (g, [x, nan, highest, lowest]) => {
    const seen = cast(g, x!, "float32");
    const equals = (v: number): Expr => g.elementWiseLogicalEquals(seen, constant(g, "float32", v, x!.sizes), BOOL);
    const [a, b, c] = [nan!, highest!, lowest!].map((v) => g.expand(v, x!.sizes)) as [Expr, Expr, Expr];
    const finite = g.elementWiseIf(equals(Infinity), b, g.elementWiseIf(equals(-Infinity), c, x!));
    return [g.elementWiseIf(g.elementWiseIsNan(seen, BOOL), a, finite)];
  },
  // Multiplied, as in PyTorch: an infinite gradient of a replaced element is NaN.
  grad: (dy, { inputs: [x] }) => [mul(dy, toDType(isfinite(x!), dy.dtype)), null, null, null],
  saves: { inputs: [0], outputs: false },
});

export const methods = {
  /** x where the condition is true, other elsewhere. Shapes broadcast. Reference: torch.Tensor.where. */
  where: (x: Tensor, condition: Tensor, other: Arithmetic): Tensor => where(condition, x, other),
  maskedFill,
  maximum,
  minimum,
  clamp,
  clampMin,
  clampMax,
  nanToNum,
};
export const inPlaceMethods = { clamp_: clamp, clampMin_: clampMin, clampMax_: clampMax };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("rounded", "clampMin and clampMax", [real([3, 5]), real([5])], (x, y) => [
    clampMin(x!, 0.3),
    clampMax(x!, -0.3),
    clampMax(x!, y!),
  ]),
];
