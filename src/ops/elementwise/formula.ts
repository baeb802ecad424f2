/** Formulas over elements: operations whose lowering is an expression of real numbers, and the arithmetic to write it in. @package */
import { refuseGradient } from "../../autograd/record.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call } from "../../dispatch/dispatch.ts";
import { resultType, type DType } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { broadcastShapes } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition, type SavedInputs } from "../../core/definition.ts";
import { aligned } from "./binary.ts";
import { BOOL, cast, constant, floating, sumTo } from "../declare/support.ts";

type Value = Expr | number;

/** Arithmetic of expressions of one dtype and size; numbers stand for constants. */
export class Formula {
  readonly g: GraphBuilder;
  readonly #dtype: DType;
  readonly #sizes: readonly number[];

  constructor(g: GraphBuilder, dtype: DType, sizes: readonly number[]) {
    this.g = g;
    this.#dtype = dtype;
    this.#sizes = sizes;
  }

  of(v: Value): Expr {
    return typeof v === "number" ? constant(this.g, this.#dtype, v, this.#sizes) : v;
  }
  /** x * scale + bias for numbers, in one operator. */
  affine(x: Expr, scale: number, bias: number): Expr {
    return this.g.elementWiseIdentity(x, { scaleBias: [scale, bias] });
  }
  add(a: Value, b: Value): Expr {
    if (typeof a === "number") return this.affine(this.of(b), 1, a);
    return typeof b === "number" ? this.affine(a, 1, b) : this.g.elementWiseAdd(a, b);
  }
  sub(a: Value, b: Value): Expr {
    if (typeof a === "number") return this.affine(this.of(b), -1, a);
    return typeof b === "number" ? this.affine(a, 1, -b) : this.g.elementWiseSubtract(a, b);
  }
  mul(a: Value, b: Value): Expr {
    if (typeof a === "number") return this.affine(this.of(b), a, 0);
    return typeof b === "number" ? this.affine(a, b, 0) : this.g.elementWiseMultiply(a, b);
  }
  div(a: Value, b: Value): Expr {
    return a === 1 ? this.g.elementWiseRecip(this.of(b)) : this.g.elementWiseDivide(this.of(a), this.of(b));
  }
  neg(x: Expr): Expr {
    return this.g.elementWiseNegate(x);
  }
  abs(x: Expr): Expr {
    return this.g.elementWiseAbs(x);
  }
  exp(x: Expr): Expr {
    return this.g.elementWiseExp(x);
  }
  log(x: Expr): Expr {
    return this.g.elementWiseLog(x);
  }
  sqrt(x: Expr): Expr {
    return this.g.elementWiseSqrt(x);
  }
  sin(x: Expr): Expr {
    return this.g.elementWiseSin(x);
  }
  cos(x: Expr): Expr {
    return this.g.elementWiseCos(x);
  }
  floor(x: Expr): Expr {
    return this.g.elementWiseFloor(x);
  }
  trunc(x: Expr): Expr {
    return this.g.elementWiseRound(x, { roundingMode: "TOWARD_ZERO" });
  }
  round(x: Expr): Expr {
    return this.g.elementWiseRound(x, { roundingMode: "HALVES_TO_NEAREST_EVEN" });
  }
  sign(x: Expr): Expr {
    return this.g.elementWiseSign(x);
  }
  pow(a: Value, b: Value): Expr {
    return this.g.elementWisePow(this.of(a), this.of(b));
  }
  square(x: Expr): Expr {
    return this.mul(x, x);
  }
  max(a: Value, b: Value): Expr {
    return this.g.elementWiseMax(this.of(a), this.of(b));
  }
  min(a: Value, b: Value): Expr {
    return this.g.elementWiseMin(this.of(a), this.of(b));
  }
  eq(a: Value, b: Value): Expr {
    return this.g.elementWiseLogicalEquals(this.of(a), this.of(b), BOOL);
  }
  lt(a: Value, b: Value): Expr {
    return this.g.elementWiseLogicalLessThan(this.of(a), this.of(b), BOOL);
  }
  le(a: Value, b: Value): Expr {
    return this.g.elementWiseLogicalLessThanOrEqual(this.of(a), this.of(b), BOOL);
  }
  gt(a: Value, b: Value): Expr {
    return this.g.elementWiseLogicalGreaterThan(this.of(a), this.of(b), BOOL);
  }
  ge(a: Value, b: Value): Expr {
    return this.g.elementWiseLogicalGreaterThanOrEqual(this.of(a), this.of(b), BOOL);
  }
  and(a: Expr, b: Expr): Expr {
    return this.g.elementWiseLogicalAnd(a, b, BOOL);
  }
  or(a: Expr, b: Expr): Expr {
    return this.g.elementWiseLogicalOr(a, b, BOOL);
  }
  not(a: Expr): Expr {
    return this.g.elementWiseLogicalNot(a, BOOL);
  }
  xor(a: Expr, b: Expr): Expr {
    return this.g.elementWiseLogicalXor(a, b, BOOL);
  }
  isNan(x: Expr): Expr {
    return this.g.elementWiseIsNan(x, BOOL);
  }
  isInfinite(x: Expr): Expr {
    return this.g.elementWiseIsInfinity(x, { ...BOOL, infinityMode: "EITHER" });
  }
  where(condition: Expr, a: Value, b: Value): Expr {
    return this.g.elementWiseIf(condition, this.of(a), this.of(b));
  }
  /** The first value whose condition is true, else the last. */
  cases(...parts: readonly [...(readonly [condition: Expr, value: Value])[], Value]): Expr {
    let result = this.of(parts.at(-1) as Value);
    for (const [condition, value] of (parts.slice(0, -1) as [Expr, Value][]).toReversed()) result = this.where(condition, value, result);
    return result;
  }
  /** Horner's scheme; the coefficient of the highest power comes first. */
  polynomial(x: Expr, coefficients: readonly number[]): Expr {
    const [first, second, ...rest] = coefficients as [number, number, ...number[]];
    let sum = this.affine(x, first, second);
    for (const c of rest) sum = this.add(this.mul(sum, x), c);
    return sum;
  }
  /** A sum of Chebyshev polynomials of x in [-1, 1] by Clenshaw's scheme; the highest comes first, and the last counts half. */
  chebyshev(x: Expr, coefficients: readonly number[]): Expr {
    const twice = this.mul(x, 2);
    let [b0, b1, b2]: [Value, Value, Value] = [coefficients[0]!, 0, 0];
    for (const c of coefficients.slice(1)) {
      [b1, b2] = [b0, b1];
      b0 = typeof b1 === "number" ? this.affine(twice, b1, c) : this.add(this.sub(this.mul(twice, b1), b2), c);
    }
    return this.mul(this.sub(b0, b2), 0.5);
  }
}

/** The gradient of one input: dy times the derivative at the inputs and the output. */
type Rule<A> = (dy: Tensor, inputs: readonly Tensor[], output: Tensor, attrs: A) => Tensor;

interface FormulaOptions<A> {
  readonly emit: (f: Formula, inputs: readonly Expr[], attrs: A) => Expr;
  /** One rule for each input (null: its derivative is not known, and is refused), or null where none is. */
  readonly grad: readonly (Rule<A> | null)[] | null;
  /** What the rules read: the inputs of these indices, where they are listed. Default: all inputs. */
  readonly saves?: "inputs" | "output" | "both" | "none" | SavedInputs;
  /** Whether it saves the output in addition to the listed inputs. Default: false. */
  readonly savesOutput?: boolean;
  /** The result's dtype from the promoted one. Default: floating, integers as float32. */
  readonly dtype?: (name: string, promoted: DType) => DType;
  /** Half precision computes in itself. Default: in float32, rounded once. */
  readonly ownPrecision?: boolean;
}

/** An operation of elements: inputs broadcast and promote. */
export function formula<A = undefined>(name: string, options: FormulaOptions<A>): Definition<A> {
  const { emit, grad, saves = "inputs", savesOutput = false, dtype = floating, ownPrecision = false } = options;
  return define<A>({
    name,
    traits: { elementwise: true },
    infer: (specs) => [
      { shape: specs.reduce<readonly number[]>((s, x) => broadcastShapes(name, s, x.shape), []), dtype: dtype(name, resultType(specs)) },
    ],
    lower: (g, inputs, attrs, [out]) => {
      const inner = out!.dtype === "float16" && !ownPrecision ? "float32" : out!.dtype;
      const operands = aligned(g, inputs, inner, out!.shape);
      return [cast(g, emit(new Formula(g, inner, operands[0]!.sizes), operands, attrs), out!.dtype)];
    },
    grad:
      grad === null
        ? null
        : (dy, { inputs, outputs, specs, needs, attrs }) =>
            specs.map((spec, i) => {
              if (!needs[i]) return null;
              const rule = grad[i] ?? refuseGradient(name, i);
              return sumTo(rule(dy, inputs, outputs[0]!, attrs), spec);
            }),
    saves: {
      ...(typeof saves !== "string" ? { inputs: saves } : saves === "output" || saves === "none" ? { inputs: [] } : {}),
      outputs: savesOutput || saves === "output" || saves === "both",
    },
  });
}

/** A function of one tensor by a formula; NaN stays, whatever the formula makes of it. */
export const unaryFormula = (
  name: string,
  emit: (f: Formula, x: Expr) => Expr,
  grad: ((dy: Tensor, x: Tensor, y: Tensor) => Tensor) | null,
  saves: "inputs" | "output" | "both" | "none" = "inputs",
): ((x: Tensor) => Tensor) => {
  const op = formula(name, {
    emit: (f, [x]) => f.where(f.isNan(x!), x!, emit(f, x!)),
    grad: grad === null ? null : [(dy, [x], y): Tensor => grad(dy, x!, y)],
    saves,
  });
  return (x) => call(op, [x], undefined);
};
