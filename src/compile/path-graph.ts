/** Lowers a path of the log to a graph, by the same `lower` functions as eager execution. */
import { markOf } from "../core/checkpoint-marks.ts";
import { DTYPES, packedBytes, type DType } from "../core/dtype.ts";
import type { Definition, TensorSpec } from "../core/definition.ts";
import { TraceError } from "../core/errors.ts";
import { keepWideValues } from "../graph/bfloat16.ts";
import { GraphBuilder } from "../graph/builder.generated.ts";
import { isWhole, Expr, Graph, packedExpr, type Value } from "../graph/graph.ts";
import { elements } from "../core/elements.ts";
import { fillOp } from "../runtime/constants.ts";
import { alone, flatDesc, scatterFlatOp, wayOf, type Target } from "../runtime/storage-write.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import { lowerOperation } from "../runtime/lowering.ts";
import { hostOnly } from "../runtime/fallback.ts";
import { sizeOf } from "../core/shape.ts";
import type { Storage } from "../core/storage.ts";
import { allEvents, type Assignment, type Constant, type Event, type Scalar } from "./log.ts";
import type { Operand } from "./operand.ts";
import { PaddedLowering, type Sized } from "./padded-graph.ts";
import { Patches } from "./patches.ts";
import { measuredText, type Tuner } from "./tuner.ts";

/** Where the bytes of a graph's input come from at each call. */
export type InputSource =
  | { readonly kind: "argument"; readonly index: number }
  | { readonly kind: "state"; readonly storage: Storage }
  /** A number or array that each call uploads. */
  | { readonly kind: "volatile"; readonly event: Scalar | Constant }
  /** Bytes that never change. */
  | { readonly kind: "fixed"; readonly bytes: ArrayBufferView };

export interface LoweredInput {
  readonly value: Value;
  readonly source: InputSource;
}

/** Operators that are most of an operation's work. */
const PRODUCTS: ReadonlySet<string> = new Set(["GEMM", "CONVOLUTION", "MULTIHEAD_ATTENTION", "GRU", "LSTM", "RNN"]);

/** A storage that may be written, with its value at this point of the path. */
interface MutableBuffer {
  readonly storage: Storage;
  readonly dtype: DType;
  /** The graph's input that holds its bytes at the start, and where they come from; null for storages made inside. */
  readonly initial: Value | null;
  readonly source: InputSource | null;
  /** Without the ranges that were written since. */
  current: Value;
  patches: Patches | null;
}

export class Lowering {
  readonly graph = new Graph();
  readonly inputs: LoweredInput[] = [];
  readonly #builder: GraphBuilder;
  readonly #buffers = new Map<Storage, MutableBuffer>();
  readonly #numbers = new Map<string, Value>();
  readonly #name: string;
  readonly #argument: (storage: Storage) => number;
  readonly #padded: PaddedLowering | null;
  readonly #inputOf = new Map<Event, Value>();
  readonly #tuner: Tuner | null;

  /**
   * argument: index of the argument of a placeholder's storage, -1 for others. sized: set for a program that serves several sizes. tuner: says which form
   * operations take.
   */
  constructor(
    native: NativeDevice,
    name: string,
    argument: (storage: Storage) => number,
    sized: Sized | null = null,
    tuner: Tuner | null = null,
  ) {
    this.#tuner = tuner;
    this.#builder = new GraphBuilder(this.graph, native.capabilities);
    keepWideValues(this.graph);
    this.#name = name;
    this.#argument = argument;
    this.#padded = sized === null ? null : new PaddedLowering(sized, (e) => this.#volatile(e, []));
  }

  add(path: Iterable<Event>): void {
    for (const event of allEvents(path)) {
      this.#builder.mark = markOf(event);
      switch (event.kind) {
        case "operation":
          this.#builder.origin = event.origin;
          this.#operation(
            this.#padded?.definition(event) ?? event.definition,
            event.inputs,
            event.attrs,
            event.outputs.map((m) => m.tensor),
          );
          break;
        case "create":
          this.#builder.origin = event.origin;
          this.#operation(this.#padded?.definition(event) ?? event.definition, [], event.attrs, [event.output.tensor]);
          break;
        case "scalar":
          this.#define(
            event.output.tensor.storage,
            event.dtype,
            event.varies ? this.#volatile(event, []) : this.#number(event.dtype, event.value),
          );
          break;
        case "constant":
          if (sizeOf(event.shape) > 0) this.#define(event.output.tensor.storage, event.dtype, this.#volatile(event, event.shape));
          break;
        case "assign":
          this.#builder.origin = event.origin;
          this.#assign(event);
          break;
        case "view":
        case "retraced":
        case "custom":
          break;
        case "loop":
        case "loopTest":
        case "loopEnd":
          throw new Error(`${this.#name}: a loop is no part of a program`);
        default:
          event satisfies never;
      }
    }
  }

  /**
   * Makes the storages' last values outputs of the graph, and writes those of arguments and state back to their buffers. Returns the indices of the
   * arguments written.
   */
  finish(outputs: readonly Storage[]): number[] {
    this.#builder.origin = "result";
    this.#builder.mark = null;
    const written: number[] = [];
    const results = outputs.map((storage) => this.#output(this.#buffers.get(storage)!));
    for (const buffer of this.#buffers.values()) {
      if (buffer.source === null || this.#settled(buffer) === buffer.initial) continue;
      if (buffer.source.kind !== "argument" && buffer.source.kind !== "state") continue;
      if (buffer.source.kind === "argument") written.push(buffer.source.index);
      this.graph.state.push({ buffer: buffer.initial!, value: this.#bytes(buffer) });
    }
    this.graph.outputs = results;
    return written;
  }

  /** Whether a storage has a value here. */
  has(storage: Storage): boolean {
    return this.#buffers.has(storage);
  }

  #output(buffer: MutableBuffer): Expr {
    const n = buffer.storage.contentInBytes / DTYPES[buffer.dtype].sizeInBytes;
    const whole = packedExpr(this.#settled(buffer), buffer.dtype, [n]);
    if (buffer.current.producer === null) return this.#builder.emit("ELEMENT_WISE_IDENTITY", { input: whole }).output as Expr;
    return whole;
  }

  /** All bytes of a buffer as 32-bit words. The value of another input is copied first. */
  #bytes(buffer: MutableBuffer): Expr {
    const words = packedExpr(this.#settled(buffer), "uint32", [buffer.storage.sizeInBytes / 4]);
    return words.value.producer === null ? (this.#builder.emit("ELEMENT_WISE_IDENTITY", { input: words }).output as Expr) : words;
  }

  #operation(
    definition: Definition<never>,
    inputs: readonly Operand[],
    attrs: unknown,
    outputs: readonly { shape: readonly number[]; dtype: DType; storage: Storage }[],
  ): void {
    if (definition.host !== undefined) throw hostOnly(definition.name, this.#builder.origin);
    const specs: TensorSpec[] = outputs.map(({ shape, dtype }) => ({ shape, dtype }));
    if (inputs.some((x) => x.desc.size === 0) || specs.some((s) => sizeOf(s.shape) === 0)) {
      outputs.forEach((t, i) => {
        if (sizeOf(t.shape) === 0) return;
        const value = definition.whenEmpty!;
        this.#lower(fillOp as unknown as Definition<never>, [], { ...specs[i]!, value }, [t], [specs[i]!]);
      });
      return;
    }
    this.#lower(definition, inputs, attrs, outputs, specs);
  }

  #lower(
    definition: Definition<never>,
    inputs: readonly Operand[],
    attrs: unknown,
    outputs: readonly { storage: Storage }[],
    specs: readonly TensorSpec[],
  ): void {
    const exprs = inputs.map((x) => this.#expr(x));
    const first = this.graph.nodes.length;
    const lower = (): readonly Expr[] => lowerOperation(this.#builder, definition, exprs, attrs as never, specs);
    const results = this.#tuner === null ? lower() : this.#tuned(this.#tuner, definition, inputs, attrs, specs, lower);
    this.#count(definition, inputs, attrs, specs, first);
    results.forEach((x, i) => {
      const { dtype, shape } = specs[i]!;
      const whole = isWhole(x) && x.value.sizeInBytes === packedBytes(dtype, shape) ? x : this.#copied(x);
      this.#define(outputs[i]!.storage, dtype, whole.value);
    });
  }

  /** In the form that was measured to be fastest, which the node that does most of the work notes. */
  #tuned<T>(
    tuner: Tuner,
    definition: Definition<never>,
    inputs: readonly Operand[],
    attrs: unknown,
    specs: readonly TensorSpec[],
    lower: () => T,
  ): T {
    const first = this.graph.nodes.length;
    const { result, choice } = tuner.lower(definition, inputs, attrs, specs, lower);
    const made = this.graph.nodes.slice(first);
    const node: { measured?: string } | undefined = made.find((n) => n.operator === "SHADER" || PRODUCTS.has(n.operator)) ?? made.at(-1);
    if (choice !== null && node !== undefined) node.measured = measuredText(choice);
    return result;
  }

  /** Notes an operation's floating-point operations on the node that does most of them. first: index of its first node. */
  #count(definition: Definition<never>, inputs: readonly Operand[], attrs: unknown, specs: readonly TensorSpec[], first: number): void {
    const { multiplyAdds } = definition;
    const made = this.graph.nodes.slice(first);
    if (multiplyAdds === undefined || made.length === 0) return;
    const node: { flops?: number } = made.find((n) => PRODUCTS.has(n.operator)) ?? made.at(-1)!;
    node.flops = 2 * multiplyAdds(inputs.map((x) => x.desc), attrs as never, specs); // prettier-ignore
  }

  #copied(x: Expr): Expr {
    return this.#builder.emit("ELEMENT_WISE_IDENTITY", { input: x }).output as Expr;
  }

  #define(storage: Storage, dtype: DType, current: Value): void {
    this.#buffers.set(storage, { storage, dtype, initial: null, source: null, current, patches: null });
  }

  /** A number that stays the same: uploaded once, however often it is used. */
  #number(dtype: DType, value: number | bigint | boolean): Value {
    const key = `${dtype}:${Object.is(value, -0) ? "-0" : value}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#input(packedBytes(dtype, []), { kind: "fixed", bytes: elements(dtype, [value]) });
      this.#numbers.set(key, number);
    }
    return number;
  }

  #volatile(event: Scalar | Constant, shape: readonly number[]): Value {
    let value = this.#inputOf.get(event);
    if (value === undefined) this.#inputOf.set(event, (value = this.#input(packedBytes(event.dtype, shape), { kind: "volatile", event })));
    return value;
  }

  #input(sizeInBytes: number, source: InputSource): Value {
    const value = this.graph.addInput(sizeInBytes);
    this.inputs.push({ value, source });
    return value;
  }

  #buffer(storage: Storage, dtype: DType): MutableBuffer {
    let buffer = this.#buffers.get(storage);
    if (buffer === undefined) {
      const index = this.#argument(storage);
      if (index < 0 && storage.handle === 0)
        throw new TraceError({
          operation: this.#name,
          argument: "tensor",
          expected: "made in this call or alive outside it",
          received:
            storage.trace === null ? "a tensor that was disposed of" : "a tensor made inside a compiled function, in another call of it",
        });
      const source: InputSource = index >= 0 ? { kind: "argument", index } : { kind: "state", storage };
      const initial = this.#input(storage.sizeInBytes, source);
      buffer = { storage, dtype, initial, source, current: initial, patches: null };
      this.#buffers.set(storage, buffer);
    }
    return buffer;
  }

  #expr(x: Operand): Expr {
    const buffer = this.#buffer(x.storage, x.desc.dtype);
    const moved = this.#padded?.read(this.#builder, x, () => this.#flat(buffer, x.desc.dtype)) ?? null;
    if (moved !== null) return moved;
    const isRank0 = x.desc.shape.length === 0;
    const shown = (e: Expr): Expr => new Expr(e.value, e.dtype, isRank0 ? [1] : e.sizes, isRank0 ? [1] : e.strides, e.byteOffset);
    const found = buffer.patches?.read(x.desc, x.offset) ?? null;
    if (found !== null && found !== "untouched") return shown(found);
    const value = found === null ? this.#settled(buffer) : buffer.current;
    return shown(new Expr(value, x.desc.dtype, x.desc.shape, x.desc.strides, x.offset * DTYPES[x.desc.dtype].sizeInBytes));
  }

  /** All elements of a buffer, as one axis. */
  #flat(buffer: MutableBuffer, dtype: DType): Expr {
    return packedExpr(this.#settled(buffer), dtype, [buffer.storage.contentInBytes / DTYPES[dtype].sizeInBytes]);
  }

  #assign(event: Assignment): void {
    const { target: written, source: value } = event;
    if (written.desc.size === 0) return;
    const isItself = written.storage === value.storage && written.desc === value.desc && written.offset === value.offset;
    if (isItself) return this.#rewritten(this.#buffer(written.storage, written.desc.dtype));
    const target = { storage: written.storage, desc: alone(written.desc, written.desc), offset: written.offset };
    const buffer = this.#buffer(target.storage, target.desc.dtype);
    const desc = alone(written.desc, value.desc);
    let source = this.#expr(desc === value.desc ? value : { ...value, desc });
    const moved = this.#padded?.written(this.#builder, event, () => this.#flat(buffer, written.desc.dtype), source) ?? null;
    if (moved !== null) {
      buffer.current = moved.value;
      buffer.patches = null;
      return;
    }
    const way = wayOf(target);
    if (way.kind !== "whole" || this.#padded?.isPart(event) === true)
      source = this.#padded?.partly(this.#builder, event, source, () => this.#expr(written)) ?? source;
    if (way.kind === "range") return this.#patch(target, buffer, source, way.start);
    if (way.kind === "positions") buffer.current = this.#scattered(target, buffer, source, way.positions);
    else if (isWhole(source) && source.value.sizeInBytes === target.storage.sizeInBytes) buffer.current = source.value;
    else buffer.current = this.#copied(source).value;
    buffer.patches = null;
  }

  /** A write of what is there changes nothing; an argument counts it. */
  #rewritten(buffer: MutableBuffer): void {
    if (buffer.source?.kind !== "argument") return;
    const n = buffer.storage.contentInBytes / DTYPES[buffer.dtype].sizeInBytes;
    buffer.current = this.#copied(packedExpr(this.#settled(buffer), buffer.dtype, [n])).value;
  }

  /** The storage with the elements at flat indices replaced. */
  #scattered(target: Target, buffer: MutableBuffer, source: Expr, addresses: Int32Array): Value {
    const flat = flatDesc(target);
    const base = packedExpr(this.#settled(buffer), flat.dtype, flat.shape);
    const packed = this.#builder.reshape(source, [target.desc.size]);
    const indices = this.#input(packedBytes("int32", packed.sizes), { kind: "fixed", bytes: addresses });
    const index = packedExpr(indices, "int32", packed.sizes);
    return scatterFlatOp.lower(this.#builder, [base, index, packed], undefined, [flat])[0]!.value;
  }

  /** A packed range takes a value, which waits for others. */
  #patch(target: Target, buffer: MutableBuffer, source: Expr, start: number): void {
    const value = this.#builder.reshape(source, [target.desc.size]);
    if (buffer.patches?.dtype === target.desc.dtype && buffer.patches.add(start, value)) return;
    this.#settled(buffer);
    buffer.patches = new Patches(target.desc.dtype);
    buffer.patches.add(start, value);
  }

  /** All of what the storage holds now. */
  #settled(buffer: MutableBuffer): Value {
    const { patches, storage } = buffer;
    if (patches === null) return buffer.current;
    buffer.patches = null;
    buffer.current = patches.join(this.#builder, buffer.current, storage.contentInBytes / DTYPES[patches.dtype].sizeInBytes);
    return buffer.current;
  }
}
