/**
 * Tracing: runs a function with traced tensors, building one graph and a log of what the function asked for. The log is what a
 * later call is checked against (check.ts).
 */
import { GraphBuilder } from "../graph/builder.generated.ts";

import type { Device } from "../device.ts";
import { DTYPES, type DType } from "../dtype.ts";
import { DeviceError, ShapeError, TraceError } from "../errors.ts";
import type { Definition, TensorSpec } from "../definition.ts";
import { elements, fillOp } from "../runtime/constants.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import { sizeOf } from "../shape.ts";
import { Storage, internDesc, type Desc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import type { Tracer } from "../tracer.ts";
import { Expr, Graph, isWhole, packedBytes, packedExpr, type Value } from "../graph/graph.ts";
import { callerPlace } from "./place.ts";

/** What a trace knows of a storage: the value that it holds at this point of the function. */
interface Cell {
  readonly storage: Storage;
  /** The graph's input that holds its bytes at the start; null for storages made inside. */
  readonly initial: Value | null;
  current: Value;
}

/** A view of a storage, as the log remembers it. */
export interface Seen {
  readonly storage: Storage;
  readonly desc: Desc;
  readonly offset: number;
}

export const seen = (t: Tensor): Seen => ({ storage: t.storage, desc: t.desc, offset: t.offset });
export const isSeen = (s: Seen, t: Tensor): boolean => s.storage === t.storage && s.desc === t.desc && s.offset === t.offset;

/** What happened, in order. */
export type Event =
  | {
      readonly kind: "operation";
      readonly definition: Definition<never>;
      readonly attrs: unknown;
      readonly inputs: readonly Seen[];
      readonly outputs: readonly Tensor[];
    }
  | {
      readonly kind: "create";
      readonly definition: Definition<never>;
      readonly device: Device;
      readonly attrs: unknown;
      readonly output: Tensor;
    }
  | {
      readonly kind: "scalar";
      readonly dtype: DType;
      readonly value: number | bigint | boolean;
      readonly output: Tensor;
      readonly cell: number;
    }
  | {
      readonly kind: "constant";
      readonly dtype: DType;
      readonly shape: readonly number[];
      readonly bytes: Uint8Array;
      readonly output: Tensor;
      readonly cell: number;
    }
  | { readonly kind: "assign"; readonly target: Seen; readonly source: Seen }
  | {
      readonly kind: "region";
      readonly owner: object;
      readonly guards: readonly unknown[];
      readonly end: number;
      readonly effects: readonly GradientEffect[];
    };

/** A leaf's gradient before and after backward(). */
export interface GradientEffect {
  readonly leaf: Tensor;
  readonly before: Storage | null;
  readonly after: Tensor | null;
}

/** An input of the graph and where its bytes come from at each call. */
export type InputSource =
  | { readonly kind: "argument"; readonly index: number }
  | { readonly kind: "state"; readonly storage: Storage }
  /** A number or array that JavaScript gives anew at each call. */
  | { readonly kind: "volatile"; readonly event: number }
  /** Bytes that never change. */
  | { readonly kind: "fixed"; readonly bytes: ArrayBufferView };

export interface TracedInput {
  readonly value: Value;
  readonly source: InputSource;
}

/** How often an event's number has changed between calls decides whether it is an input: see compile.ts. */
export type VolatileEvents = ReadonlySet<number>;

export class Trace implements Tracer {
  readonly graph = new Graph();
  readonly builder: GraphBuilder;
  readonly native: NativeDevice;
  readonly events: Event[] = [];
  readonly inputs: TracedInput[] = [];
  /** Leaves whose gradient was set inside, with what it was before. */
  readonly gradients = new Map<Tensor, Tensor | null>();
  readonly recordsTape = true;
  /** The results that finish() was given. */
  results: readonly Tensor[] = [];
  readonly #cells = new Map<Storage, Cell>();
  #effects: Map<Tensor, Tensor | null> | null = null;
  readonly #numbers = new Map<string, Value>();
  readonly #volatile: VolatileEvents;
  readonly #name: string;

  constructor(native: NativeDevice, name: string, volatile: VolatileEvents) {
    this.native = native;
    this.#name = name;
    this.#volatile = volatile;
    this.builder = new GraphBuilder(this.graph, native.capabilities);
  }

  /** A traced tensor that stands for the function's argument of that index. */
  argument(index: number, like: Tensor): Tensor {
    const size = packedBytes(like.dtype, like.shape);
    const storage = new Storage(like.device, like.desc.sizeInBytes);
    if (like.size > 0) {
      const value = this.graph.addInput(size);
      this.inputs.push({ value, source: { kind: "argument", index } });
      this.#cells.set(storage, { storage, initial: value, current: value });
    }
    return new Tensor(storage, internDesc(like.device, like.dtype, like.shape));
  }

  /** True for storages that the trace made, which hold nothing outside it. */
  owns(storage: Storage): boolean {
    const cell = this.#cells.get(storage);
    return cell !== undefined && storage.handle === 0;
  }

  dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[] {
    const specs = definition.infer(
      inputs.map((t) => ({ shape: t.shape, dtype: t.dtype })),
      attrs,
    );
    const outputs =
      inputs.some((t) => t.size === 0) || specs.some((s) => sizeOf(s.shape) === 0)
        ? this.#emptied(definition, inputs, specs)
        : this.#lower(definition, inputs, attrs, specs);
    this.events.push({
      kind: "operation",
      definition: definition as unknown as Definition<never>,
      attrs,
      inputs: inputs.map(seen),
      outputs,
    });
    return outputs;
  }

  create<A>(definition: Definition<A>, device: Device, attrs: A): Tensor {
    this.#demandDevice(definition.name, device);
    const output = this.#lower(definition, [], attrs, definition.infer([], attrs))[0]!;
    this.events.push({ kind: "create", definition: definition as unknown as Definition<never>, device, attrs, output });
    return output;
  }

  scalar(device: Device, dtype: DType, value: number | bigint | boolean): Tensor {
    this.#demandDevice("scalar", device);
    const event = this.events.length;
    const varies = this.#volatile.has(event);
    const output = varies ? this.#volatileInput(event, dtype, []) : this.#made(this.#number(dtype, value), dtype, []);
    this.events.push({ kind: "scalar", dtype, value, output, cell: varies ? this.inputs.length - 1 : -1 });
    return output;
  }

  constant(device: Device, dtype: DType, shape: readonly number[], bytes: ArrayBufferView): Tensor {
    this.#demandDevice("tensor", device);
    const event = this.events.length;
    const output = sizeOf(shape) === 0 ? this.#made(null, dtype, shape) : this.#volatileInput(event, dtype, shape);
    const copy = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice();
    this.events.push({ kind: "constant", dtype, shape, bytes: copy, output, cell: sizeOf(shape) === 0 ? -1 : this.inputs.length - 1 });
    return output;
  }

  assign(target: Tensor, source: Tensor): void {
    if (target.size > 0) {
      const cell = this.#cell(target.storage);
      this.builder.origin = this.#origin("assign");
      const value = this.#expr(source);
      if (target.coversStorage) {
        cell.current = this.#whole(value, target).value;
      } else {
        cell.current = this.#patched(target, cell, value).value;
      }
      target.storage.version++;
    }
    this.events.push({ kind: "assign", target: seen(target), source: seen(source) });
  }

  read(operation: string, tensor: Tensor): never {
    throw new TraceError({
      operation,
      argument: tensor.describe(),
      expected: `read outside ${this.#name}, which is being compiled: its data do not exist yet`,
      received: `a read ${callerPlace() ?? "inside it"}`,
      hint: "Return the tensor and read it from the result, or keep the decision on the device (where).",
    });
  }

  backward(roots: readonly Tensor[], run: () => void): void {
    this.region(
      backwardOwner,
      roots.map((t) => t.storage),
      run,
    );
  }

  region(owner: object, guards: readonly unknown[], run: () => void): void {
    const at = this.events.length;
    this.events.push(null as unknown as Event);
    const outer = this.#effects;
    const before = (this.#effects = new Map<Tensor, Tensor | null>());
    run();
    this.#effects = outer;
    const effects = [...before].map(([leaf, old]): GradientEffect => ({ leaf, before: old?.storage ?? null, after: leaf.grad }));
    for (const [leaf, old] of before) if (outer !== null && !outer.has(leaf)) outer.set(leaf, old);
    this.events[at] = { kind: "region", owner, guards: [...guards], end: this.events.length, effects };
  }

  /** Notes a leaf whose gradient is about to change. */
  touchGradient(leaf: Tensor): void {
    if (!this.gradients.has(leaf)) this.gradients.set(leaf, leaf.grad);
    if (this.#effects !== null && !this.#effects.has(leaf)) this.#effects.set(leaf, leaf.grad);
  }

  /** Adds the function's results as outputs of the graph, and the new values of state cells. */
  finish(results: readonly Tensor[]): void {
    this.results = results;
    this.builder.origin = "result";
    const taken = new Set<Value>();
    this.graph.outputs = results.map((t) => {
      let x = this.#expr(t);
      const fresh = x.value.producer !== null && isWhole(x) && !taken.has(x.value);
      if (!fresh) x = this.builder.emit("ELEMENT_WISE_IDENTITY", { input: x }).output as Expr;
      taken.add(x.value);
      return x;
    });
    for (const cell of this.#cells.values()) {
      if (cell.initial === null || cell.current === cell.initial || cell.storage.handle === 0) continue;
      let value = packedBytesOf(cell);
      // A cell that takes over another cell's or an argument's bytes, or a result's: through a node of its own.
      if (value.value.producer === null || taken.has(value.value))
        value = this.builder.emit("ELEMENT_WISE_IDENTITY", { input: value }).output as Expr;
      taken.add(value.value);
      this.graph.state.push({ cell: cell.initial, value });
    }
  }

  #lower<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A, specs: readonly TensorSpec[]): Tensor[] {
    this.builder.origin = this.#origin(definition.name);
    const exprs = inputs.map((t) => this.#expr(t));
    const results = definition.lower(this.builder, exprs, attrs, specs);
    return results.map((x, i) => {
      const spec = specs[i]!;
      const whole =
        isWhole(x) && x.value.sizeInBytes === packedBytes(spec.dtype, spec.shape)
          ? x
          : (this.builder.emit("ELEMENT_WISE_IDENTITY", { input: x }).output as Expr);
      return this.#made(whole.value, spec.dtype, spec.shape);
    });
  }

  #emptied<A>(definition: Definition<A>, inputs: readonly Tensor[], specs: readonly TensorSpec[]): Tensor[] {
    return specs.map((s) => {
      if (sizeOf(s.shape) === 0) return this.#made(null, s.dtype, s.shape);
      if (definition.whenEmpty === undefined)
        throw new ShapeError(
          definition.name,
          "tensor",
          "of at least one element along the axes it works on",
          inputs.map((t) => t.describe()).join(", "),
        );
      return this.#lower(fillOp, [], { shape: s.shape, dtype: s.dtype, value: definition.whenEmpty }, [s])[0]!;
    });
  }

  #made(value: Value | null, dtype: DType, shape: readonly number[]): Tensor {
    const storage = new Storage(this.native.device, sizeOf(shape) * DTYPES[dtype].sizeInBytes);
    if (value !== null) this.#cells.set(storage, { storage, initial: null, current: value });
    return new Tensor(storage, internDesc(this.native.device, dtype, shape));
  }

  /** A number that stays the same: uploaded once, however often it is used. */
  #number(dtype: DType, value: number | bigint | boolean): Value {
    const key = `${dtype}:${Object.is(value, -0) ? "-0" : value}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.graph.addInput(packedBytes(dtype, []));
      this.#numbers.set(key, number);
      this.inputs.push({ value: number, source: { kind: "fixed", bytes: elements(dtype, [value]) } });
    }
    return number;
  }

  #volatileInput(event: number, dtype: DType, shape: readonly number[]): Tensor {
    const value = this.graph.addInput(packedBytes(dtype, shape));
    this.inputs.push({ value, source: { kind: "volatile", event } });
    return this.#made(value, dtype, shape);
  }

  #cell(storage: Storage): Cell {
    let cell = this.#cells.get(storage);
    if (cell === undefined) {
      if (storage.handle === 0)
        throw new TraceError({
          operation: this.#name,
          argument: "tensor",
          expected: "made in this call or alive outside it",
          received: "a traced tensor of another call, or one that was disposed of",
        });
      this.#demandDevice(this.#name, storage.device);
      const value = this.graph.addInput(storage.sizeInBytes);
      this.inputs.push({ value, source: { kind: "state", storage } });
      cell = { storage, initial: value, current: value };
      this.#cells.set(storage, cell);
    }
    return cell;
  }

  #expr(t: Tensor): Expr {
    const value = this.#cell(t.storage).current;
    const rank0 = t.rank === 0;
    return new Expr(value, t.dtype, rank0 ? [1] : t.shape, rank0 ? [1] : t.strides, t.offset * DTYPES[t.dtype].sizeInBytes);
  }

  #whole(x: Expr, target: Tensor): Expr {
    return isWhole(x) && x.value.sizeInBytes === target.storage.sizeInBytes
      ? x
      : (this.builder.emit("ELEMENT_WISE_IDENTITY", { input: x }).output as Expr);
  }

  /** The storage with a part of it replaced: pieces joined for a packed range, else a scatter over its flat elements. */
  #patched(target: Tensor, cell: Cell, source: Expr): Expr {
    const g = this.builder;
    const total = target.storage.sizeInBytes / DTYPES[target.dtype].sizeInBytes;
    const flat = packedExpr(cell.current, target.dtype, [total]);
    const packed = g.reshape(source, [target.size]);
    if (target.desc.isPacked) {
      const piece = (from: number, count: number): Expr[] =>
        count === 0
          ? []
          : [
              g.emit("SLICE1", {
                input: flat,
                output: { sizes: [count] },
                inputWindowOffsets: [from],
                inputWindowSizes: [count],
                inputWindowStrides: [1],
              }).output as Expr,
            ];
      const end = target.offset + target.size;
      return g.join([...piece(0, target.offset), packed, ...piece(end, total - end)], { axis: 0, output: { sizes: [total] } });
    }
    const places: number[] = [];
    const visit = (axis: number, at: number): void => {
      if (axis === target.rank) places.push(at);
      else for (let i = 0; i < target.shape[axis]!; i++) visit(axis + 1, at + i * target.strides[axis]!);
    };
    visit(0, target.offset);
    const indices = packedExpr(this.graph.addInput(packedBytes("int32", [places.length])), "int32", [places.length]);
    this.inputs.push({ value: indices.value, source: { kind: "fixed", bytes: elements("int32", places) } });
    return g.scatter(flat, indices, packed, { axis: 0, output: { sizes: [total] } });
  }

  #demandDevice(operation: string, device: Device): void {
    if (device !== this.native.device)
      throw new DeviceError(operation, "tensor", `on ${this.native.device}, like the other tensors of ${this.#name}`, String(device));
  }

  #origin(name: string): string {
    const place = callerPlace();
    return place === null ? name : `${name} ${place}`;
  }
}

/** Owner of the regions that backward() makes. */
export const backwardOwner = { name: "backward" };

/** All bytes of a cell as 32-bit words: only moved, never computed with. */
const packedBytesOf = (cell: Cell): Expr => packedExpr(cell.current, "uint32", [cell.storage.sizeInBytes / 4]);
