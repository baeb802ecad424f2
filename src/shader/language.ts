/** The argument of a shader's function: the threads, the buffers, group-shared memory, control flow. */
import { callSite } from "../host/call-site.ts";
import { Builder } from "./builder.ts";
import {
  typeOfElement,
  type AtomicName,
  type Buffer,
  type Element,
  type Load,
  type Memory,
  type Shader,
  type Shared,
  type Uniform,
  type UniformSource,
  type Value,
  type Variable,
} from "./ir.ts";
import type { Scalar } from "./operations.ts";
import {
  Bool,
  Float,
  Int,
  refuse,
  Typed,
  Uint,
  uintValue,
  valueAs,
  wrap,
  type Context,
  type LikeOf,
  type TypedOf,
  type UintLike,
} from "./numbers.ts";

type ElementType<E extends Element> = E extends "f16" ? "f32" : Exclude<E, "f16">;

/** Memory of elements: a buffer of the launch or group-shared memory. Outside nothing is read (0) and nothing is written. */
export abstract class Elements<E extends Element> {
  /** @internal */
  readonly context: Context;
  /** @internal */
  readonly memory: Memory;

  constructor(context: Context, memory: Memory) {
    this.context = context;
    this.memory = memory;
  }

  /** The element at an index; 0 out of bounds. */
  load(at: UintLike): TypedOf[ElementType<E>] {
    return this.loads(at, 1)[0]!;
  }

  /** `count` elements from an index on (1 to 4, of float16 1, 2, 4 or 8 from an even index on): one wide access. */
  loads(at: UintLike, count: number): TypedOf[ElementType<E>][] {
    return this.#load(at, count, true);
  }

  /** @internal The shader guarantees that the index is in bounds and a multiple of count; the evaluator reports where it is not. */
  loadsInside(at: UintLike, count: number): TypedOf[ElementType<E>][] {
    return this.#load(at, count, false);
  }

  /** @internal As loadsInside, for buffers: the launch guarantees it in a way that verifyBounds() does not see, and the view bounds it. */
  loadsInView(at: UintLike, count: number): TypedOf[ElementType<E>][] {
    return this.#load(at, count, false, { byView: true });
  }

  #load(at: UintLike, count: number, checked: boolean, bounds: Pick<Load, "byView"> = {}): TypedOf[ElementType<E>][] {
    const c = this.context;
    this.#requireCount(count);
    const type = typeOfElement(this.memory.element);
    const index = uintValue(c, at);
    const make = (): Value[] => {
      const results = Array.from({ length: count }, () => c.builder.value(type));
      c.builder.add({ kind: "load", memory: this.memory, at: index, raw: false, checked, ...bounds, results, source: c.source() });
      return results;
    };
    const isConstant = this.memory.kind === "buffer" && !this.memory.isWritable && count === 1;
    const key = isConstant ? `load ${(this.memory as Buffer).slot} ${index.id} ${checked}` : null;
    const results = key === null ? make() : [c.builder.once(key, () => make()[0]!)];
    return results.map((v) => wrap<ElementType<E>>(c, v));
  }

  #requireCount(count: number): void {
    const allowed = this.memory.element === "f16" ? [1, 2, 4, 8] : [1, 2, 3, 4];
    if (!allowed.includes(count))
      refuse(this.context, `${count} elements of ${this.memory.name} at once; possible are ${allowed.join(", ")}`);
  }

  /** Writes an element; outside nothing happens. Single elements of float16 are written by atomics: `stores` is faster. */
  store(at: UintLike, value: LikeOf[ElementType<E>]): void {
    this.stores(at, [value]);
  }

  /** Writes elements from an index on, as many as `loads` reads. */
  stores(at: UintLike, values: readonly LikeOf[ElementType<E>][]): void {
    this.#store(at, values, true);
  }

  /** @internal As loadsInside. */
  storesInside(at: UintLike, values: readonly LikeOf[ElementType<E>][]): void {
    this.#store(at, values, false);
  }

  #store(at: UintLike, values: readonly LikeOf[ElementType<E>][], checked: boolean): void {
    const c = this.context;
    this.#requireWritable();
    this.#requireCount(values.length);
    const type = typeOfElement(this.memory.element);
    const converted = values.map((x) => valueAs(c, type, x));
    c.builder.add({ kind: "store", memory: this.memory, at: uintValue(c, at), raw: false, checked, values: converted, source: c.source() });
  }

  #requireWritable(): void {
    const m = this.memory;
    if (m.kind === "buffer" && !m.isWritable) refuse(this.context, `${m.name} is an input: only outputs are written`);
  }

  #atomic(name: AtomicName, index: UintLike, value: Value, expected: Value | null): TypedOf[ElementType<E>] {
    const c = this.context;
    const at = uintValue(c, index);
    this.#requireWritable();
    const { element } = this.memory;
    if (element === "f16" || (element === "f32" && name !== "exchange" && name !== "compareExchange"))
      refuse(c, `atomics take int32 and uint32, and ${this.memory.name} is ${element}`);
    const result = c.builder.value(typeOfElement(element));
    c.builder.add({
      kind: "atomic",
      name,
      memory: this.memory,
      at,
      raw: false,
      checked: true,
      value,
      expected,
      result,
      source: c.source(),
    });
    return wrap<ElementType<E>>(c, result);
  }

  #own(value: LikeOf[ElementType<E>]): Value {
    return valueAs(this.context, typeOfElement(this.memory.element), value);
  }

  /** Adds in one step that no other thread can come between; gives what was there before (0 outside). Of float32 by a loop. */
  atomicAdd(at: UintLike, value: LikeOf[ElementType<E>]): TypedOf[ElementType<E>] {
    if (this.memory.element === "f32") return this.#addFloat(uintValue(this.context, at), this.#own(value)) as TypedOf[ElementType<E>];
    return this.#atomic("add", at, this.#own(value), null);
  }
  /** Bitwise and with an element, in one step for all threads. Returns what it was before. */
  atomicAnd(at: UintLike, value: LikeOf[ElementType<E>]): TypedOf[ElementType<E>] {
    return this.#atomic("and", at, this.#own(value), null);
  }
  /** Bitwise or with an element, in one step for all threads. Returns what it was before. */
  atomicOr(at: UintLike, value: LikeOf[ElementType<E>]): TypedOf[ElementType<E>] {
    return this.#atomic("or", at, this.#own(value), null);
  }
  /** Bitwise exclusive or with an element, in one step for all threads. Returns what it was before. */
  atomicXor(at: UintLike, value: LikeOf[ElementType<E>]): TypedOf[ElementType<E>] {
    return this.#atomic("xor", at, this.#own(value), null);
  }
  /** The lesser of an element and a value, in one step for all threads. Returns what it was before. */
  atomicMin(at: UintLike, value: LikeOf[ElementType<E>]): TypedOf[ElementType<E>] {
    return this.#atomic("min", at, this.#own(value), null);
  }
  /** The greater of an element and a value, in one step for all threads. Returns what it was before. */
  atomicMax(at: UintLike, value: LikeOf[ElementType<E>]): TypedOf[ElementType<E>] {
    return this.#atomic("max", at, this.#own(value), null);
  }
  /** Sets an element, in one step for all threads. Returns what it was before. */
  atomicExchange(at: UintLike, value: LikeOf[ElementType<E>]): TypedOf[ElementType<E>] {
    return this.#atomic("exchange", at, this.#own(value), null);
  }
  /** Writes value where `expected` is; gives what was there before. float32 is compared by its bits. */
  atomicCompareExchange(at: UintLike, expected: LikeOf[ElementType<E>], value: LikeOf[ElementType<E>]): TypedOf[ElementType<E>] {
    return this.#atomic("compareExchange", at, this.#own(value), this.#own(expected));
  }

  /** Until nobody came between reading and writing. */
  #addFloat(at: Value, value: Value): Float {
    const { context: c, memory } = this;
    const b = c.builder;
    const source = c.source();
    this.#requireWritable();
    // What is there first is a guess, which the first exchange corrects.
    const old = new Var<"f32">(c, "f32", b.constant("f32", 0));
    const again = new Var<"bool">(c, "bool", b.constant("bool", 1));
    // Outside there is nothing to wait for.
    const inside = b.operate("lt.u32", at, memory.kind === "buffer" ? memory.size : b.constant("u32", memory.length));
    again.value = new Bool(c, inside);
    let condition: Value | null = null;
    const head = b.block(() => {
      condition = again.value.value;
    });
    const body = b.block(() => {
      const expected = old.value;
      const seen = this.#atomic("compareExchange", new Uint(c, at), b.operate("add.f32", expected.value, value), expected.value) as Float;
      again.value = seen.bits().ne(expected.bits());
      old.value = seen;
    });
    b.add({ kind: "while", head, condition: condition!, body, source });
    return old.value;
  }
}

/** A tensor's elements, flat and packed. */
export class BufferElements<E extends Element> extends Elements<E> {
  /** How many there are. */
  get size(): Uint {
    return new Uint(this.context, (this.memory as Buffer).size);
  }

  /** The tensor's size along an axis; negative ones count from the last. */
  dim(axis: number): Uint {
    const c = this.context;
    if (!Number.isInteger(axis)) refuse(c, `${axis} is no axis`);
    const { name } = this.memory;
    return new Uint(c, c.builder.uniform({ name: `${name}.dim(${axis})`, type: "u32", source: { kind: "dimension", buffer: name, axis } }));
  }
}

/** Memory that the threads of a group share; its contents are undefined until written. */
export class SharedElements<E extends Exclude<Element, "f16">> extends Elements<E> {
  /** Number of elements. */
  get length(): number {
    return (this.memory as Shared).length;
  }
}

/** A value that changes: read and set by `value`. */
export class Var<T extends Scalar> {
  readonly #context: Context;
  readonly #variable: Variable;

  /** @internal */
  constructor(context: Context, type: T, initial: Value) {
    this.#context = context;
    this.#variable = context.builder.variable(type);
    context.builder.add({ kind: "declare", variable: this.#variable, value: initial });
  }

  /** The variable's value; may be set. */
  get value(): TypedOf[T] {
    const b = this.#context.builder;
    const result = b.value(this.#variable.type);
    b.add({ kind: "get", variable: this.#variable, result });
    return wrap<T>(this.#context, result);
  }

  /** The variable's value; may be set. */
  set value(x: LikeOf[T]) {
    const c = this.#context;
    c.builder.add({ kind: "assign", variable: this.#variable, value: valueAs(c, this.#variable.type, x) });
  }
}

/** Options of a shader's loop. */
export interface ForOptions {
  /** Default: 1. */
  readonly step?: UintLike;
  /** true: the body once for each trip, false: never; default: where the trips are known and the whole has at most 512 statements. */
  readonly unroll?: boolean;
}

export type Parameters = { readonly [name: string]: Exclude<Scalar, "bool"> };
export type Buffers = { readonly [name: string]: { readonly element: Element; readonly isWritable: boolean } };

const MAX_SHARED = 32768;

/** The shader under construction. */
export class Scope<B extends { readonly [name: string]: Element }, P extends Parameters> {
  /** @internal */
  readonly name: string;
  /** @internal */
  readonly builder = new Builder();
  /** Threads of a group. */
  readonly threads: number;
  /** The launch's tensors, by name. */
  readonly buffers: { readonly [K in keyof B]: BufferElements<B[K]> };
  /** The launch's numbers, by name. */
  readonly params: { readonly [K in keyof P]: TypedOf[P[K]] };
  readonly #buffers: readonly Buffer[];
  readonly #shared: Shared[] = [];
  readonly #namesLines: boolean;
  #loops = 0;

  /** @internal */
  constructor(name: string, threads: number, buffers: Buffers, params: P, namesLines: boolean) {
    this.name = name;
    this.threads = threads;
    this.#namesLines = namesLines;
    this.#buffers = Object.entries(buffers).map(([key, { element, isWritable }], slot) => ({
      kind: "buffer",
      name: key,
      element,
      slot,
      isWritable,
      size: this.#uniform(`${key}.size`, "u32", { kind: "size", buffer: key }),
    }));
    this.buffers = Object.fromEntries(this.#buffers.map((b) => [b.name, new BufferElements(this, b)])) as never;
    this.params = Object.fromEntries(
      Object.entries(params).map(([key, type]) => [key, wrap(this, this.#uniform(key, type, { kind: "parameter", name: key }))]),
    ) as never;
  }

  #uniform(name: string, type: Uniform["type"], source: UniformSource): Value {
    return this.builder.uniform({ name, type, source });
  }

  /** @internal */
  source(): string {
    return this.#namesLines ? (callSite() ?? "") : "";
  }

  /** @internal What was built. */
  finish(): Shader {
    this.builder.close(() => refuse(this, "the shader is complete: its function's values cannot be used any more"));
    return {
      name: this.name,
      threads: this.threads,
      buffers: this.#buffers,
      shared: this.#shared,
      uniforms: this.builder.uniforms,
      body: this.builder.statements,
    };
  }

  /** The thread's index in its group. */
  get local(): Uint {
    return new Uint(this, this.builder.index("local"));
  }

  /** The group's index in the launch. */
  get group(): Uint {
    const b = this.builder;
    const row = b.operate("mul.u32", b.index("groupY"), this.#uniform("grid", "u32", { kind: "grid" }));
    return new Uint(this, b.operate("add.u32", row, b.index("groupX")));
  }

  /** The thread's index in the launch: group * threads + local. */
  get thread(): Uint {
    return this.group.mul(this.threads).add(this.local);
  }

  /** A constant 32-bit float. */
  f32(x: number): Float {
    return new Float(this, valueAs(this, "f32", x));
  }
  /** A constant 32-bit integer. */
  i32(x: number): Int {
    return new Int(this, valueAs(this, "i32", x));
  }
  /** A constant unsigned 32-bit integer. */
  u32(x: number): Uint {
    return new Uint(this, valueAs(this, "u32", x));
  }
  /** A constant truth value. */
  bool(x: boolean): Bool {
    return new Bool(this, valueAs(this, "bool", x));
  }

  /** A variable that starts as this. */
  variable(initial: Float): Var<"f32">;
  variable(initial: Int): Var<"i32">;
  variable(initial: Uint): Var<"u32">;
  variable(initial: Bool): Var<"bool">;
  variable(initial: Typed): unknown {
    if (!(initial instanceof Typed)) refuse(this, "a variable starts as a value of the shader: s.variable(s.f32(0))");
    return new Var(this, initial.type, initial.value);
  }

  /** Memory that the group's threads share. */
  shared<E extends "f32" | "i32" | "u32">(element: E, length: number): SharedElements<E> {
    if (!(element === "f32" || element === "i32" || element === "u32"))
      refuse(this, `shared memory of ${String(element)}; there is f32, i32, u32`);
    if (!Number.isInteger(length) || length < 1) refuse(this, `shared memory of ${length} elements`);
    const slot = this.#shared.length;
    const memory: Shared = { kind: "shared", name: `shared${slot}`, element, slot, length };
    this.#shared.push(memory);
    const bytes = this.#shared.reduce((n, m) => n + 4 * m.length, 0);
    if (bytes > MAX_SHARED) refuse(this, `${bytes} bytes of shared memory; a group has ${MAX_SHARED}`);
    return new SharedElements<E>(this, memory);
  }

  /** Runs one of two parts. */
  if(condition: Bool, then: () => void, otherwise?: () => void): void {
    const source = this.source();
    const value = valueAs(this, "bool", condition);
    const first = this.builder.block(then);
    const second = otherwise === undefined ? [] : this.builder.block(otherwise);
    this.builder.add({ kind: "if", condition: value, body: first, otherwise: second, source });
  }

  /** body for each index from start up to, but not including, end. */
  for(start: UintLike, end: UintLike, body: (index: Uint) => void, options: ForOptions = {}): void {
    const source = this.source();
    const b = this.builder;
    const index = b.value("u32");
    const [from, to, step] = [start, end, options.step ?? 1].map((x) => uintValue(this, x)) as [Value, Value, Value];
    if (step.leaf?.kind === "constant" && step.leaf.number === 0) refuse(this, "a loop whose step is 0");
    this.#loops++;
    const made = b.block(() => body(new Uint(this, index)));
    this.#loops--;
    b.add({ kind: "for", index, start: from, end: to, step, body: made, unroll: options.unroll ?? null, source });
  }

  /** body as long as the condition holds, which is computed before each trip. */
  while(condition: () => Bool, body: () => void): void {
    const source = this.source();
    const b = this.builder;
    let value: Value | null = null;
    const head = b.block(() => {
      value = valueAs(this, "bool", condition());
    });
    this.#loops++;
    const made = b.block(body);
    this.#loops--;
    b.add({ kind: "while", head, condition: value!, body: made, source });
  }

  /** Leaves the innermost loop. */
  break(): void {
    this.#jump("break");
  }

  /** Continues with the next iteration of the innermost loop. */
  continue(): void {
    this.#jump("continue");
  }

  #jump(kind: "break" | "continue"): void {
    if (this.#loops === 0) refuse(this, `${kind} outside of a loop`);
    this.builder.add({ kind, source: this.source() });
  }

  /** Waits until all threads of the group are here and their writes to shared memory ("all": to buffers too) are seen. */
  barrier(scope: "shared" | "all" = "shared"): void {
    this.builder.add({ kind: "barrier", scope, source: this.source() });
  }

  /** Written by the evaluator for each thread that comes here; nothing on a device. */
  print(label: string, ...values: readonly Typed[]): void {
    this.builder.add({ kind: "print", label, values: values.map((v) => v.value), source: this.source() });
  }
}
