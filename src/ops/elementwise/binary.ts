/** Elementwise arithmetic: add, sub, mul with broadcasting and PyTorch's type promotion. */
import { addShader } from "../../shader/kernels/select.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { isFloat, resultType, type DType } from "../../core/dtype.ts";
import { canRepresent } from "../../core/elements.ts";
import { DTypeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { broadcastShapes } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import type { OperatorName } from "../../dml/operators.generated.ts";
import { BOOL, cast, computing, floating, sumTo, widened } from "../declare/support.ts";
import { define, type Definition, type SavedInputs, type TensorSpec } from "../../core/definition.ts";

/** A tensor, or a number that takes part as a rank-0 tensor. @package */
export type Arithmetic = Tensor | number | bigint | boolean;

/** The two operands as tensors; a number takes the dtype that the result will have. At least one must be a tensor. @package */
export function operands(operation: string, a: Arithmetic, b: Arithmetic): [Tensor, Tensor] {
  if (a instanceof Tensor && b instanceof Tensor) {
    if (a.device !== b.device) requireSameDevice(operation, [a, b]);
    return [a, b];
  }
  const anchor = a instanceof Tensor ? a : b instanceof Tensor ? b : null;
  if (anchor === null) throw new DTypeError(operation, "a or b", "a tensor", a);
  const other = (a instanceof Tensor ? b : a) as number | bigint | boolean;
  if (typeof other === "object" || typeof other === "string" || other === undefined) {
    const hint = "Complex numbers have methods of their own: docs/fft.md.";
    throw new DTypeError(operation, a instanceof Tensor ? "b" : "a", "a tensor or a number", other, hint);
  }
  const dtype = typeof other === "number" && isFloat(anchor.dtype) ? anchor.dtype : resultType([anchor, other]);
  const number = scalarTensor(anchor.device, dtype, other);
  return a instanceof Tensor ? [a, number] : [number, b as Tensor];
}

/** The same for operations whose results are real numbers: with integers, a number does not take their dtype. @package */
export function realOperands(operation: string, a: Arithmetic, b: Arithmetic): [Tensor, Tensor] {
  const isNumber = (v: Arithmetic): v is number | bigint => typeof v === "number" || typeof v === "bigint";
  if (a instanceof Tensor && isNumber(b) && !isFloat(a.dtype)) return [a, scalarTensor(a.device, "float32", Number(b))];
  if (b instanceof Tensor && isNumber(a) && !isFloat(b.dtype)) return [scalarTensor(b.device, "float32", Number(a)), b];
  return operands(operation, a, b);
}

/** The inputs in one dtype, broadcast to the shape of the result. @package */
export function aligned(g: GraphBuilder, inputs: readonly Expr[], dtype: DType, shape: readonly number[]): Expr[] {
  const sizes = shape.length === 0 ? [1] : shape;
  return inputs.map((x) => g.expand(cast(g, x, dtype), sizes));
}

type Rule = (dy: Tensor, a: Tensor, b: Tensor, needs: readonly boolean[]) => readonly (Tensor | null)[];

interface BinaryOptions {
  /** The operator that emit adds: where the device lacks it for a dtype, a wider one is used. */
  readonly operator?: OperatorName;
  readonly emit: (g: GraphBuilder, a: Expr, b: Expr) => Expr;
  readonly grad: Rule | null;
  readonly saves?: SavedInputs;
  /** The second operand is a number in float32, which has no part in the type promotion. */
  readonly byNumber?: boolean;
  /** The dtype in which it computes, from the promoted one. */
  readonly dtype?: (name: string, promoted: DType) => DType;
}

/** An operation c = f(a, b). @package */
export function binary(name: string, options: BinaryOptions): Definition<undefined> {
  const rule = options.grad;
  const resultDType = (inputs: readonly TensorSpec[]): DType => {
    const promoted = options.byNumber === true ? inputs[0]!.dtype : resultType(inputs);
    return options.dtype?.(name, promoted) ?? promoted;
  };
  return define({
    name,
    traits: { elementwise: true },
    infer: (inputs) => [{ shape: broadcastShapes(name, inputs[0]!.shape, inputs[1]!.shape), dtype: resultDType(inputs) }],
    lower: (g, inputs, _, [out]) => {
      // Half precision times a number that lies outside it.
      if (options.byNumber === true && out!.dtype === "float16") {
        const [x, by] = aligned(g, inputs, "float32", out!.shape);
        return [cast(g, options.emit(g, x!, by!), "float16")];
      }
      const [a, b] = aligned(g, inputs, out!.dtype, out!.shape);
      if (options.operator === undefined || out!.dtype === "bool") return [options.emit(g, a!, b!)];
      return [widened(g, options.operator, [a!, b!], (x, y) => options.emit(g, x!, y!))];
    },
    grad:
      rule === null
        ? null
        : (dy, { inputs: [a, b], specs, needs }) =>
            rule(dy, a!, b!, needs).map((g, i) => (g === null || !needs[i] ? null : sumTo(g, specs[i]!))),
    saves: { inputs: options.saves ?? [0, 1], outputs: false },
  });
}

/** Bytes add as numbers: bool becomes uint8's saturating OR in PyTorch, here an integer first. */
const numeric = (name: string, promoted: DType): DType => (promoted === "bool" ? "bool" : computing(name, promoted));

const addOp = binary("add", {
  operator: "ELEMENT_WISE_ADD",
  dtype: numeric,
  emit: (g, a, b) => (a.dtype === "bool" ? g.elementWiseLogicalOr(a, b, BOOL) : (addShader(g, a, b) ?? g.elementWiseAdd(a, b))),
  grad: (dy) => [dy, dy],
  saves: [],
});
const subOp = binary("sub", {
  operator: "ELEMENT_WISE_SUBTRACT",
  dtype: computing,
  emit: (g, a, b) => g.elementWiseSubtract(a, b),
  grad: (dy, _a, _b, needs) => [dy, needs[1] ? mul(dy, -1) : null],
  saves: [],
});
const product: BinaryOptions = {
  operator: "ELEMENT_WISE_MULTIPLY",
  dtype: numeric,
  emit: (g, a, b) => (a.dtype === "bool" ? g.elementWiseLogicalAnd(a, b, BOOL) : g.elementWiseMultiply(a, b)),
  grad: (dy, a, b, needs) => [needs[0] ? mul(dy, b) : null, needs[1] ? mul(dy, a) : null],
  saves: (needs) => [...(needs[1] ? [0] : []), ...(needs[0] ? [1] : [])],
};
const mulOp = binary("mul", product);
const mulNumberOp: Definition<undefined> = binary("mul", {
  ...product,
  byNumber: true,
  grad: (dy, _, by) => [call(mulNumberOp, [dy, by], undefined), null],
  saves: [1],
});
const quotient: BinaryOptions = {
  operator: "ELEMENT_WISE_DIVIDE",
  dtype: floating,
  emit: (g, a, b) => g.elementWiseDivide(a, b),
  // PyTorch's order: zeros stay zeros where 1 / b overflows.
  grad: (dy, a, b, needs) => [needs[0] ? div(dy, b) : null, needs[1] ? mul(mul(dy, -1), div(div(a, b), b)) : null],
  saves: (needs) => (needs[1] ? [0, 1] : [1]),
};
const divOp = binary("div", quotient);
const divNumberOp: Definition<undefined> = binary("div", {
  ...quotient,
  byNumber: true,
  grad: (dy, _, by) => [call(divNumberOp, [dy, by], undefined), null],
  saves: [1],
});

/**
 * bfloat16 is multiplied and divided by numbers of float32's digits, as in PyTorch, and so is float16 by numbers that lie outside it; for
 * other operations they are rounded to the tensor's dtype.
 */
const keepsDigits = (x: Arithmetic, by: Arithmetic): x is Tensor =>
  typeof by === "number" && x instanceof Tensor && (x.dtype === "bfloat16" || (x.dtype === "float16" && !canRepresent("float16", by)));
const digits = (x: Tensor, by: Arithmetic): [Tensor, Tensor] => [x, scalarTensor(x.device, "float32", by as number)];

/** a + b. Reference: torch.add. DirectML: ELEMENT_WISE_ADD. Shapes broadcast; dtypes promote; bool is OR. */
export const add = (a: Arithmetic, b: Arithmetic): Tensor => call(addOp, operands("add", a, b), undefined);
/** a - b. Reference: torch.sub. DirectML: ELEMENT_WISE_SUBTRACT. Shapes broadcast; dtypes promote; bool is refused. */
export function sub(a: Arithmetic, b: Arithmetic): Tensor {
  const pair = operands("sub", a, b);
  const bool = [a, b].find((v) => (v instanceof Tensor ? v.dtype === "bool" : typeof v === "boolean"));
  if (bool !== undefined) throw new DTypeError("sub", bool === a ? "a" : "b", "of a numeric dtype", bool, "Use logicalXor or logicalNot.");
  return call(subOp, pair, undefined);
}
/** a * b. Reference: torch.mul. DirectML: ELEMENT_WISE_MULTIPLY. Shapes broadcast; dtypes promote; bool is AND. */
export function mul(a: Arithmetic, b: Arithmetic): Tensor {
  if (keepsDigits(a, b)) return call(mulNumberOp, digits(a, b), undefined);
  if (keepsDigits(b, a)) return call(mulNumberOp, digits(b, a), undefined);
  return call(mulOp, operands("mul", a, b), undefined);
}
/** a / b as real numbers: integers give float32. Reference: torch.div. DirectML: ELEMENT_WISE_DIVIDE. Shapes broadcast. @package */
export const div = (a: Arithmetic, b: Arithmetic): Tensor =>
  keepsDigits(a, b) ? call(divNumberOp, digits(a, b), undefined) : call(divOp, realOperands("div", a, b), undefined);

const byOwnNumber = (definition: Definition<undefined>): Definition<undefined> =>
  define({ ...definition, saves: { ...definition.saves, keepsNumbers: true } });
const mulOwnOp = byOwnNumber(mulOp);
const divOwnOp = byOwnNumber(divOp);

/** x by a number that is the operation's own, not the user's: as where PyTorch computes with scalars, a second pass needs no retainGraph. @package */
export const mulByOwn = (x: Tensor, by: number): Tensor =>
  keepsDigits(x, by) ? mul(x, by) : call(mulOwnOp, operands("mul", x, by), undefined);
/** x by constants of the operation's own, in x's dtype. @package */
export const mulByConstants = (x: Tensor, constants: Tensor): Tensor => call(mulOwnOp, [x, constants], undefined);
const mulLaterOp: Definition<undefined> = define({ ...mulOp, saves: { ...mulOp.saves, readsLater: true } });
/** a * b, whose gradient reads what a and b hold by then, as where PyTorch multiplies views that have no version of their own. @package */
export const mulReadLater = (a: Tensor, b: Tensor): Tensor => call(mulLaterOp, operands("mul", a, b), undefined);
/** x divided by a number of the operation's own. @package */
export const divByOwn = (x: Tensor, by: number): Tensor =>
  keepsDigits(x, by) ? div(x, by) : call(divOwnOp, realOperands("div", x, by), undefined);

export const methods = { add, sub, mul };
export const inPlaceMethods = { add_: add, sub_: sub, mul_: mul };
