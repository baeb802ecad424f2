/** The values in a shader's function: each method adds a statement to the shader and returns its value. */
import { ShaderError } from "../core/errors.ts";
import type { Builder } from "./builder.ts";
import { roundedHalf } from "./half.ts";
import type { Value } from "./ir.ts";
import type { OperationName, Scalar } from "./operations.ts";

/** Where values come from: the shader under construction. */
export interface Context {
  readonly name: string;
  readonly builder: Builder;
  /** "at file.ts:3", or "" where source positions are not asked for. */
  source(): string;
}

/** A float of a shader, or a number. */
export type FloatLike = Float | number;
/** An integer of a shader, or a number. */
export type IntLike = Int | number;
/** An unsigned integer of a shader, or a number. */
export type UintLike = Uint | number;

/** An error that names the line of the shader's function. */
export function refuse(context: Context, problem: string): never {
  throw new ShaderError(context.name, problem, context.source());
}

export abstract class Typed {
  /** @internal */
  readonly context: Context;
  /** @internal */
  readonly value: Value;
  abstract readonly type: Scalar;

  constructor(context: Context, value: Value) {
    this.context = context;
    this.value = value;
  }

  /** JavaScript would compare or add objects without a word. */
  [Symbol.toPrimitive](): never {
    return refuse(
      this.context,
      "a value of the shader is known on the device only: use its methods (add, lt, select, …), not JavaScript's operators",
    );
  }
}

const operate = (context: Context, name: OperationName, ...args: readonly Value[]): Value => context.builder.operate(name, ...args);

function constant(context: Context, type: Scalar, x: unknown): Value {
  if (typeof x !== "number")
    return refuse(context, `expected ${article[type]}, received ${x instanceof Typed ? article[x.type] : typeof x}`);
  if (type === "i32" && (!Number.isInteger(x) || x < -(2 ** 31) || x >= 2 ** 31)) refuse(context, `${x} is no 32-bit integer`);
  if (type === "u32" && (!Number.isInteger(x) || x < 0 || x >= 2 ** 32)) refuse(context, `${x} is no unsigned 32-bit integer`);
  return context.builder.constant(type, x);
}
const article: { readonly [K in Scalar]: string } = {
  f32: "a float or a number",
  i32: "an int or an integer",
  u32: "a uint or an integer",
  bool: "a bool",
};

export const floatValue = (c: Context, x: FloatLike): Value => (x instanceof Float ? x.value : constant(c, "f32", x));
export const intValue = (c: Context, x: IntLike): Value => (x instanceof Int ? x.value : constant(c, "i32", x));
export const uintValue = (c: Context, x: UintLike): Value => (x instanceof Uint ? x.value : constant(c, "u32", x));
export const boolValue = (c: Context, x: Bool | boolean): Value =>
  x instanceof Bool ? x.value : typeof x === "boolean" ? c.builder.constant("bool", Number(x)) : constant(c, "bool", x);

/** True or false. */
export class Bool extends Typed {
  /** The type in shaders. */
  readonly type = "bool";
  #of(name: OperationName, ...args: readonly Value[]): Bool {
    return new Bool(this.context, operate(this.context, name, ...args));
  }
  /** Whether both are true. */
  and(other: Bool): Bool {
    return this.#of("and.bool", this.value, boolValue(this.context, other));
  }
  /** Whether one is true, or both. */
  or(other: Bool): Bool {
    return this.#of("or.bool", this.value, boolValue(this.context, other));
  }
  /** Whether just one is true. */
  xor(other: Bool): Bool {
    return this.#of("xor.bool", this.value, boolValue(this.context, other));
  }
  /** Whether this is false. */
  not(): Bool {
    return this.#of("not.bool", this.value);
  }
  /** 1 or 0. */
  toUint(): Uint {
    return new Uint(this.context, operate(this.context, "bool.to.u32", this.value));
  }
  /** a where it is true, b elsewhere; both are computed. */
  select(a: Float, b: FloatLike): Float;
  select(a: FloatLike, b: Float): Float;
  select(a: Uint, b: UintLike): Uint;
  select(a: UintLike, b: Uint): Uint;
  select(a: Int, b: IntLike): Int;
  select(a: IntLike, b: Int): Int;
  select(a: Bool, b: Bool): Bool;
  select(a: Typed | number, b: Typed | number): Typed {
    const c = this.context;
    const kind = a instanceof Typed ? a : b;
    const type = kind instanceof Typed ? kind.type : "f32";
    return wrap(c, operate(c, `select.${type}`, this.value, valueAs(c, type, a), valueAs(c, type, b)));
  }
}

/** A number of 32 bits. */
export class Float extends Typed {
  /** The type in shaders. */
  readonly type = "f32";
  #of(name: OperationName, ...others: readonly FloatLike[]): Float {
    return new Float(this.context, operate(this.context, name, this.value, ...others.map((x) => floatValue(this.context, x))));
  }
  #is(name: OperationName, other: FloatLike): Bool {
    return new Bool(this.context, operate(this.context, name, this.value, floatValue(this.context, other)));
  }
  /** this + other. */
  add(other: FloatLike): Float {
    return this.#of("add.f32", other);
  }
  /** this - other. */
  sub(other: FloatLike): Float {
    return this.#of("sub.f32", other);
  }
  /** this * other. */
  mul(other: FloatLike): Float {
    return this.#of("mul.f32", other);
  }
  /** this / other. */
  div(other: FloatLike): Float {
    return this.#of("div.f32", other);
  }
  /** this * b + c, rounded once or twice, as the device does it. */
  fma(b: FloatLike, c: FloatLike): Float {
    return this.#of("fma.f32", b, c);
  }
  /** The lesser one; the other one where one is NaN. */
  min(other: FloatLike): Float {
    return this.#of("min.f32", other);
  }
  /** The greater one; the other one where one is NaN. */
  max(other: FloatLike): Float {
    return this.#of("max.f32", other);
  }
  /** -this. */
  neg(): Float {
    return this.#of("neg.f32");
  }
  /** |this|. */
  abs(): Float {
    return this.#of("abs.f32");
  }
  /** The square root. */
  sqrt(): Float {
    return this.#of("sqrt.f32");
  }
  /** 1 / √x. */
  rsqrt(): Float {
    return this.#of("rsqrt.f32");
  }
  /** 2 to the power of this. */
  exp2(): Float {
    return this.#of("exp2.f32");
  }
  /** e to the power of this. */
  exp(): Float {
    return this.mul(Math.LOG2E).exp2();
  }
  /** The logarithm to base 2. */
  log2(): Float {
    return this.#of("log2.f32");
  }
  /** The natural logarithm. */
  log(): Float {
    return this.log2().mul(Math.LN2);
  }
  /** The largest integer that is not greater. */
  floor(): Float {
    return this.#of("floor.f32");
  }
  /** The least integer that is not less. */
  ceil(): Float {
    return this.#of("ceil.f32");
  }
  /** The integer part. */
  trunc(): Float {
    return this.#of("trunc.f32");
  }
  /** To the nearest integer, ties to the even one. */
  round(): Float {
    return this.#of("round.f32");
  }
  /** this * this. */
  square(): Float {
    return this.mul(this);
  }
  /** 1 / (1 + e^-x). */
  sigmoid(): Float {
    return new Float(this.context, floatValue(this.context, 1)).div(this.neg().exp().add(1));
  }
  /** (1 - t) / (1 + t) with t = e^-2|x|; the first terms of its series near 0. */
  tanh(): Float {
    const t = this.abs().mul(-2).exp();
    const far = new Float(this.context, floatValue(this.context, 1)).sub(t).div(t.add(1));
    const s = this.square();
    const near = s
      .fma(62 / 2835, -17 / 315)
      .fma(s, 2 / 15)
      .fma(s, -1 / 3)
      .mul(s)
      .fma(this, this);
    return this.abs().lt(0.2).select(near, this.lt(0).select(far.neg(), far));
  }
  /** The error function, to some 1e-7 of its value. */
  erf(): Float {
    const t = this.abs();
    const s = this.square();
    const far = t
      .fma(-1.7285347e-5, 3.83197126e-4)
      .fma(s, t.fma(-3.88396438e-3, 2.42546219e-2))
      .fma(t, -1.06777877e-1)
      .fma(t, -6.34846687e-1)
      .fma(t, -1.28717512e-1)
      .fma(t, t.neg())
      .exp()
      .neg()
      .add(1);
    const near = s
      .fma(-5.96761703e-4, 4.99119423e-3)
      .fma(s, -2.67681349e-2)
      .fma(s, 1.12819925e-1)
      .fma(s, -3.76125336e-1)
      .fma(s, 1.28379166e-1)
      .fma(this, this);
    return t.gt(0.927734375).select(this.lt(0).select(far.neg(), far), near);
  }
  /** this between low and high. */
  clamp(low: FloatLike, high: FloatLike): Float {
    return this.max(low).min(high);
  }
  /** this < other. */
  lt(other: FloatLike): Bool {
    return this.#is("lt.f32", other);
  }
  /** this >= other. */
  ge(other: FloatLike): Bool {
    return this.#is("ge.f32", other);
  }
  /** this > other. */
  gt(other: FloatLike): Bool {
    return new Float(this.context, floatValue(this.context, other)).lt(this);
  }
  /** this <= other. */
  le(other: FloatLike): Bool {
    return new Float(this.context, floatValue(this.context, other)).ge(this);
  }
  /** this = other. */
  eq(other: FloatLike): Bool {
    return this.#is("eq.f32", other);
  }
  /** this ≠ other. */
  ne(other: FloatLike): Bool {
    return this.#is("ne.f32", other);
  }
  /** Whether this is NaN. */
  isNaN(): Bool {
    return this.ne(this);
  }
  /** Towards zero; the nearest there is where it does not fit, 0 for NaN. */
  toInt(): Int {
    return new Int(this.context, operate(this.context, "f32.to.i32", this.value));
  }
  /** As an unsigned integer: the fraction is cut off. */
  toUint(): Uint {
    return new Uint(this.context, operate(this.context, "f32.to.u32", this.value));
  }
  /** Its 32 bits. */
  bits(): Uint {
    return new Uint(this.context, operate(this.context, "f32.as.u32", this.value));
  }
  /** The 16 bits of the nearest float16. */
  toHalf(): Uint {
    return new Uint(this.context, roundedHalf(this.context.builder, this.value));
  }
}

/** An integer of 32 bits with a sign; it wraps around. */
export class Int extends Typed {
  /** The type in shaders. */
  readonly type = "i32";
  #of(name: OperationName, ...others: readonly IntLike[]): Int {
    return new Int(this.context, operate(this.context, name, this.value, ...others.map((x) => intValue(this.context, x))));
  }
  #is(name: OperationName, other: IntLike): Bool {
    return new Bool(this.context, operate(this.context, name, this.value, intValue(this.context, other)));
  }
  /** this + other. */
  add(other: IntLike): Int {
    return this.#of("add.i32", other);
  }
  /** this - other. */
  sub(other: IntLike): Int {
    return this.#of("sub.i32", other);
  }
  /** this * other. */
  mul(other: IntLike): Int {
    return this.#of("mul.i32", other);
  }
  /** The lesser one. */
  min(other: IntLike): Int {
    return this.#of("min.i32", other);
  }
  /** The greater one. */
  max(other: IntLike): Int {
    return this.#of("max.i32", other);
  }
  /** Bitwise and. */
  and(other: IntLike): Int {
    return this.#of("and.i32", other);
  }
  /** Bitwise or. */
  or(other: IntLike): Int {
    return this.#of("or.i32", other);
  }
  /** Bitwise exclusive or. */
  xor(other: IntLike): Int {
    return this.#of("xor.i32", other);
  }
  /** By the lower five bits of the other. */
  shiftLeft(by: UintLike): Int {
    return new Int(this.context, operate(this.context, "shl.i32", this.value, uintValue(this.context, by)));
  }
  /** The sign is kept. */
  shiftRight(by: UintLike): Int {
    return new Int(this.context, operate(this.context, "shr.i32", this.value, uintValue(this.context, by)));
  }
  /** -this. */
  neg(): Int {
    return this.#of("neg.i32");
  }
  /** Every bit negated. */
  not(): Int {
    return this.#of("not.i32");
  }
  /** this < other. */
  lt(other: IntLike): Bool {
    return this.#is("lt.i32", other);
  }
  /** this >= other. */
  ge(other: IntLike): Bool {
    return this.#is("ge.i32", other);
  }
  /** this > other. */
  gt(other: IntLike): Bool {
    return new Int(this.context, intValue(this.context, other)).lt(this);
  }
  /** this <= other. */
  le(other: IntLike): Bool {
    return new Int(this.context, intValue(this.context, other)).ge(this);
  }
  /** this = other. */
  eq(other: IntLike): Bool {
    return this.#is("eq.i32", other);
  }
  /** this ≠ other. */
  ne(other: IntLike): Bool {
    return this.#is("ne.i32", other);
  }
  /** As a float. */
  toFloat(): Float {
    return new Float(this.context, operate(this.context, "i32.to.f32", this.value));
  }
  /** The same 32 bits. */
  bits(): Uint {
    return new Uint(this.context, operate(this.context, "i32.as.u32", this.value));
  }
}

/** An integer of 32 bits without a sign; it wraps around. */
export class Uint extends Typed {
  /** The type in shaders. */
  readonly type = "u32";
  #of(name: OperationName, ...others: readonly UintLike[]): Uint {
    return new Uint(this.context, operate(this.context, name, this.value, ...others.map((x) => uintValue(this.context, x))));
  }
  #is(name: OperationName, other: UintLike): Bool {
    return new Bool(this.context, operate(this.context, name, this.value, uintValue(this.context, other)));
  }
  /** this + other. */
  add(other: UintLike): Uint {
    return this.#of("add.u32", other);
  }
  /** this - other. */
  sub(other: UintLike): Uint {
    return this.#of("sub.u32", other);
  }
  /** this * other. */
  mul(other: UintLike): Uint {
    return this.#of("mul.u32", other);
  }
  /** Rounded down; all bits where the other is 0. */
  div(other: UintLike): Uint {
    return this.#of("div.u32", other);
  }
  /** The remainder of this / other. */
  mod(other: UintLike): Uint {
    return this.#of("mod.u32", other);
  }
  /** The lesser one. */
  min(other: UintLike): Uint {
    return this.#of("min.u32", other);
  }
  /** The greater one. */
  max(other: UintLike): Uint {
    return this.#of("max.u32", other);
  }
  /** Bitwise and. */
  and(other: UintLike): Uint {
    return this.#of("and.u32", other);
  }
  /** Bitwise or. */
  or(other: UintLike): Uint {
    return this.#of("or.u32", other);
  }
  /** Bitwise exclusive or. */
  xor(other: UintLike): Uint {
    return this.#of("xor.u32", other);
  }
  /** By the lower five bits of the other. */
  shiftLeft(by: UintLike): Uint {
    return this.#of("shl.u32", by);
  }
  /** The bits moved to the right; zeros come in. */
  shiftRight(by: UintLike): Uint {
    return this.#of("shr.u32", by);
  }
  /** Every bit negated. */
  not(): Uint {
    return this.#of("not.u32");
  }
  /** How many bits are set. */
  countBits(): Uint {
    return this.#of("count.u32");
  }
  /** The bits in the opposite order. */
  reverseBits(): Uint {
    return this.#of("reverse.u32");
  }
  /** this < other. */
  lt(other: UintLike): Bool {
    return this.#is("lt.u32", other);
  }
  /** this >= other. */
  ge(other: UintLike): Bool {
    return this.#is("ge.u32", other);
  }
  /** this > other. */
  gt(other: UintLike): Bool {
    return new Uint(this.context, uintValue(this.context, other)).lt(this);
  }
  /** this <= other. */
  le(other: UintLike): Bool {
    return new Uint(this.context, uintValue(this.context, other)).ge(this);
  }
  /** this = other. */
  eq(other: UintLike): Bool {
    return this.#is("eq.u32", other);
  }
  /** this ≠ other. */
  ne(other: UintLike): Bool {
    return this.#is("ne.u32", other);
  }
  /** As a float. */
  toFloat(): Float {
    return new Float(this.context, operate(this.context, "u32.to.f32", this.value));
  }
  /** The same 32 bits with a sign. */
  toInt(): Int {
    return new Int(this.context, operate(this.context, "u32.as.i32", this.value));
  }
  /** The number that has these 32 bits. */
  asFloat(): Float {
    return new Float(this.context, operate(this.context, "u32.as.f32", this.value));
  }
  /** The number that the lower 16 bits are as a float16. */
  fromHalf(): Float {
    return new Float(this.context, operate(this.context, "half.to.f32", this.value));
  }
}

/** The class of each type. */
export interface TypedOf {
  readonly f32: Float;
  readonly i32: Int;
  readonly u32: Uint;
  readonly bool: Bool;
}
/** What may stand for a value of each type. */
export interface LikeOf {
  readonly f32: FloatLike;
  readonly i32: IntLike;
  readonly u32: UintLike;
  readonly bool: Bool | boolean;
}

export function valueAs(c: Context, type: Scalar, x: unknown): Value {
  if (type === "f32") return floatValue(c, x as FloatLike);
  if (type === "i32") return intValue(c, x as IntLike);
  return type === "u32" ? uintValue(c, x as UintLike) : boolValue(c, x as Bool);
}

export function wrap<T extends Scalar>(c: Context, value: Value): TypedOf[T];
export function wrap(c: Context, value: Value): Typed {
  if (value.type === "f32") return new Float(c, value);
  if (value.type === "i32") return new Int(c, value);
  return value.type === "u32" ? new Uint(c, value) : new Bool(c, value);
}
