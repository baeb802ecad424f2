/** Comparison and logical operations: results are bool. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call } from "../../dispatch/dispatch.ts";
import { isFloat, resultType } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { broadcastShapes } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { aligned, operands, type Arithmetic } from "./binary.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { comparable } from "./int64-order.ts";
import { BOOL, cast, computing, constant } from "../declare/support.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

const no = (g: GraphBuilder, x: Expr): Expr => g.elementWiseLogicalNot(x, BOOL);

function comparison(name: string, emit: (g: GraphBuilder, a: Expr, b: Expr) => Expr): Definition<undefined> {
  return define({
    name,
    traits: { elementwise: true },
    infer: ([a, b]) => [{ shape: broadcastShapes(name, a!.shape, b!.shape), dtype: "bool" }],
    lower: (g, inputs, _, [out]) => {
      const [a, b] = aligned(g, inputs, inputs[0]!.dtype, out!.shape);
      return [emit(g, a!, b!)];
    },
    grad: null,
  });
}

/** Both in the dtype to which they promote, as PyTorch compares. */
function promoted(name: string, x: Arithmetic, y: Arithmetic): [Tensor, Tensor] {
  const pair = operands(name, x, y);
  const dtype = computing(name, resultType(pair));
  return [toDType(pair[0], dtype), toDType(pair[1], dtype)];
}

function logical(name: string, emit: (g: GraphBuilder, a: Expr, b: Expr) => Expr): Definition<undefined> {
  return define({
    name,
    traits: { elementwise: true },
    infer: (inputs) => [{ shape: broadcastShapes(name, inputs[0]!.shape, inputs[1]!.shape), dtype: "bool" }],
    lower: (g, inputs, _, [out]) => {
      const [a, b] = aligned(g, inputs, "bool", out!.shape);
      return [emit(g, a!, b!)];
    },
    grad: null,
  });
}

function test(name: string, emit: (g: GraphBuilder, x: Expr) => Expr, ofIntegers: boolean): Definition<undefined> {
  return define({
    name,
    traits: { elementwise: true },
    infer: ([x]) => {
      computing(name, x!.dtype);
      return [{ shape: x!.shape, dtype: "bool" }];
    },
    lower: (g, [x]) => [isFloat(x!.dtype) ? emit(g, x!) : g.elementWiseIdentity(constant(g, "bool", ofIntegers ? 1 : 0, x!.sizes))],
    grad: null,
  });
}

const eqOp = comparison("eq", (g, a, b) => g.elementWiseLogicalEquals(a, b, BOOL));
const neOp = comparison("ne", (g, a, b) => no(g, g.elementWiseLogicalEquals(a, b, BOOL)));
const ltOp = comparison("lt", (g, a, b) => g.elementWiseLogicalLessThan(comparable(g, a), comparable(g, b), BOOL));
const leOp = comparison("le", (g, a, b) => g.elementWiseLogicalLessThanOrEqual(comparable(g, a), comparable(g, b), BOOL));
const gtOp = comparison("gt", (g, a, b) => g.elementWiseLogicalGreaterThan(comparable(g, a), comparable(g, b), BOOL));
const geOp = comparison("ge", (g, a, b) => g.elementWiseLogicalGreaterThanOrEqual(comparable(g, a), comparable(g, b), BOOL));
const andOp = logical("logicalAnd", (g, a, b) => g.elementWiseLogicalAnd(a, b, BOOL));
const orOp = logical("logicalOr", (g, a, b) => g.elementWiseLogicalOr(a, b, BOOL));
const xorOp = logical("logicalXor", (g, a, b) => g.elementWiseLogicalXor(a, b, BOOL));
const notOp = define({
  name: "logicalNot",
  traits: { elementwise: true },
  infer: ([x]) => [{ shape: x!.shape, dtype: "bool" }],
  lower: (g, [x]) => [no(g, cast(g, x!, "bool"))],
  grad: null,
});
const infinity =
  (mode: "EITHER" | "POSITIVE" | "NEGATIVE") =>
  (g: GraphBuilder, x: Expr): Expr =>
    g.elementWiseIsInfinity(x, { ...BOOL, infinityMode: mode });
const isnanOp = test("isnan", (g, x) => g.elementWiseIsNan(x, BOOL), false);
const isinfOp = test("isinf", infinity("EITHER"), false);
const isposinfOp = test("isposinf", infinity("POSITIVE"), false);
const isneginfOp = test("isneginf", infinity("NEGATIVE"), false);
const isfiniteOp = test(
  "isfinite",
  (g, x) => no(g, g.elementWiseLogicalOr(infinity("EITHER")(g, x), g.elementWiseIsNan(x, BOOL), BOOL)),
  true,
);

/** a == b. Shapes broadcast; dtypes promote. Reference: torch.eq. DirectML: ELEMENT_WISE_LOGICAL_EQUALS. */
export const eq = (a: Arithmetic, b: Arithmetic): Tensor => call(eqOp, promoted("eq", a, b), undefined);
/** a != b; true where one is NaN. Reference: torch.ne. DirectML: ELEMENT_WISE_LOGICAL_EQUALS and NOT. */
export const ne = (a: Arithmetic, b: Arithmetic): Tensor => call(neOp, promoted("ne", a, b), undefined);
/** a < b. Reference: torch.lt. DirectML: ELEMENT_WISE_LOGICAL_LESS_THAN. */
export const lt = (a: Arithmetic, b: Arithmetic): Tensor => call(ltOp, promoted("lt", a, b), undefined);
/** a <= b. Reference: torch.le. DirectML: ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL. */
export const le = (a: Arithmetic, b: Arithmetic): Tensor => call(leOp, promoted("le", a, b), undefined);
/** a > b. Reference: torch.gt. DirectML: ELEMENT_WISE_LOGICAL_GREATER_THAN. */
export const gt = (a: Arithmetic, b: Arithmetic): Tensor => call(gtOp, promoted("gt", a, b), undefined);
/** a >= b. Reference: torch.ge. DirectML: ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL. */
export const ge = (a: Arithmetic, b: Arithmetic): Tensor => call(geOp, promoted("ge", a, b), undefined);

/** Both are not zero. Shapes broadcast; any dtypes. Reference: torch.logical_and. DirectML: ELEMENT_WISE_LOGICAL_AND. */
export const logicalAnd = (a: Tensor, b: Arithmetic): Tensor => call(andOp, operands("logicalAnd", a, b), undefined);
/** One is not zero. Reference: torch.logical_or. DirectML: ELEMENT_WISE_LOGICAL_OR. */
export const logicalOr = (a: Tensor, b: Arithmetic): Tensor => call(orOp, operands("logicalOr", a, b), undefined);
/** Exactly one is not zero. Reference: torch.logical_xor. DirectML: ELEMENT_WISE_LOGICAL_XOR. */
export const logicalXor = (a: Tensor, b: Arithmetic): Tensor => call(xorOp, operands("logicalXor", a, b), undefined);
/** x is zero. Reference: torch.logical_not. DirectML: ELEMENT_WISE_LOGICAL_NOT. */
export const logicalNot = (x: Tensor): Tensor => call(notOp, [x], undefined);

/** x is NaN; false for integers. Reference: torch.isnan. DirectML: ELEMENT_WISE_IS_NAN. */
export const isnan = (x: Tensor): Tensor => call(isnanOp, [x], undefined);
/** x is an infinity; false for integers. Reference: torch.isinf. DirectML: ELEMENT_WISE_IS_INFINITY. */
export const isinf = (x: Tensor): Tensor => call(isinfOp, [x], undefined);
/** x is +infinity. Reference: torch.isposinf. DirectML: ELEMENT_WISE_IS_INFINITY. */
export const isposinf = (x: Tensor): Tensor => call(isposinfOp, [x], undefined);
/** x is -infinity. Reference: torch.isneginf. DirectML: ELEMENT_WISE_IS_INFINITY. */
export const isneginf = (x: Tensor): Tensor => call(isneginfOp, [x], undefined);
/** x is neither NaN nor an infinity; true for integers. Reference: torch.isfinite. */
export const isfinite = (x: Tensor): Tensor => call(isfiniteOp, [x], undefined);

export const methods = {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logicalAnd,
  logicalOr,
  logicalXor,
  logicalNot,
  isnan,
  isinf,
  isposinf,
  isneginf,
  isfinite,
};

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [sample("exact", "isposinf", [real([3, 4])], (x) => isposinf(x!))];
