/** A state of the user's as JSON, with the tensors and typed arrays in it. */
import { isForeign } from "../../core/copies.ts";
import { ComplexTensor } from "../../core/complex-tensor.ts";
import { DTypeError, TraceError, ValueError } from "../../core/errors.ts";
import { define } from "../../core/own-property.ts";
import { outsideScopes, scope } from "../../core/scope.ts";
import { partOf, type TensorPart } from "../../core/tensor-part.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { Module } from "../../nn/module.ts";
import { Parameter } from "../../nn/parameter.ts";
import { Generator } from "../../ops/random/random.ts";
import type { OptimizerState } from "../../optim/group.ts";
import { Optimizer } from "../../optim/optimizer.ts";
import { requireElements } from "../../runtime/meta.ts";
import { entryTypeOf, isArray } from "./arrays.ts";
import { MAX_DEPTH, type Json } from "./format.ts";

/** What has a state of its own: modules, optimizers, schedules, GradScaler, loaders, and the user's classes. */
export interface Stateful {
  /** What a checkpoint holds of the object: tensors, plain values, and what is made of these. */
  stateDict(): unknown;
}

export const isStateful = (value: unknown): value is Stateful =>
  ((typeof value === "object" && value !== null) || typeof value === "function") &&
  "stateDict" in value &&
  typeof value.stateDict === "function";

/** A tensor of the state, as it is now. */
export interface SavedTensor {
  readonly name: string;
  /** Its own tensor of the same storage. */
  readonly tensor: Tensor;
  /** Of its storage. */
  readonly version: number;
  readonly requiresGrad: boolean;
  readonly isParameter: boolean;
  /** Whether all ranks of a data parallel training have the same: a parameter, or what an optimizer keeps for one. */
  readonly isCommon: boolean;
  /** Which part of a whole tensor it is. */
  readonly part: TensorPart | undefined;
}

export interface SavedArray {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly array: ArrayBufferView | ArrayBufferLike;
}

/** An object that is no class's. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const join = (path: string, key: string | number): string => (path === "" ? String(key) : `${path}.${key}`);

/** Traverses a state once. Tensors that stateDict() makes are disposed of at the end. */
export class Encoder {
  readonly tensors: SavedTensor[] = [];
  readonly arrays: SavedArray[] = [];
  readonly #operation: string;
  readonly #tensorIds = new Map<Tensor, number>();
  readonly #arrayIds = new Map<object, number>();
  readonly #around: object[] = [];
  readonly #common = new WeakSet<Tensor>();
  readonly #root: Record<string, Json> = {};
  #pending: Promise<void>[] = [];

  constructor(operation: string) {
    this.#operation = operation;
  }

  /** Traverses the state. Everything in it is read now, but for what a stateDict() promises: settle() waits for that. */
  begin(state: unknown): void {
    if (tracer() !== null)
      throw new TraceError({
        operation: this.#operation,
        expected: "called outside compile()",
        received: "a call inside a compiled function",
        hint: "Save between two calls of the compiled step.",
      });
    try {
      this.#encodeInto(this.#root, "state", state, "");
    } catch (error) {
      this.#abandon();
      throw error;
    }
  }

  /** Whether a stateDict() returned a promise. */
  get isWaiting(): boolean {
    return this.#pending.length > 0;
  }

  async settle(): Promise<void> {
    while (this.isWaiting) {
      const pending = this.#pending;
      this.#pending = [];
      // One that fails leaves none behind that nobody waits for.
      const failed = (await Promise.allSettled(pending)).find((result) => result.status === "rejected");
      if (failed === undefined) continue;
      this.#abandon();
      throw failed.reason;
    }
  }

  /** Nobody waits for what is still promised. */
  #abandon(): void {
    for (const promise of this.#pending) promise.catch(() => {});
    this.dispose();
  }

  /** The state as JSON. */
  get state(): Json {
    return this.#root.state!;
  }

  dispose(): void {
    for (const { tensor } of this.tensors) tensor.dispose();
  }

  #encodeInto(target: Record<string, Json>, key: string, value: unknown, path: string): void {
    scope(() => {
      define(target, key, this.#json(value, path));
    });
  }

  #refuse(path: string, value: unknown, hint: string): DTypeError {
    const what = "a module or another object with stateDict(), a tensor, or plain data";
    return new DTypeError(this.#operation, path === "" ? "state" : `state.${path}`, what, value, hint);
  }

  #json(value: unknown, path: string): Json {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0) ? value : { $number: Object.is(value, -0) ? "-0" : String(value) };
      case "bigint":
        return { $bigint: `${value < 0n ? "-" : ""}0x${(value < 0n ? -value : value).toString(16)}` };
      case "undefined":
        return { $undefined: true };
      case "symbol":
        throw this.#refuse(path, value, "A symbol is known to its own process only.");
      case "function":
        if (isStateful(value) && !isForeign(value)) return this.#stateful(value, path);
        throw this.#refuse(path, value, "Save what the function is made of, and create it again after load().");
      default:
        return value === null ? null : this.#nested(value as object, path);
    }
  }

  #nested(value: object, path: string): Json {
    if (this.#around.includes(value))
      throw new ValueError(this.#operation, `state.${path}`, "an object that does not contain itself", "a cycle", "Save a tree.");
    if (this.#around.length >= MAX_DEPTH)
      throw new ValueError(this.#operation, "state", `nested at most ${MAX_DEPTH} deep`, `more, at ${path.slice(0, 60)}`);
    this.#around.push(value);
    try {
      return this.#object(value, path);
    } finally {
      this.#around.pop();
    }
  }

  #object(value: object, path: string): Json {
    if (isForeign(value)) throw this.#refuse(path, value, "It is another copy's.");
    if (value instanceof Tensor) return { $tensor: this.#tensor(value, path) };
    if (value instanceof ComplexTensor) return { $complex: [this.#tensor(value.pairs, path), value.isConj] };
    if (value instanceof Generator) return this.#generator(value, path);
    if (isStateful(value)) return this.#stateful(value, path);
    if (isArray(value)) return { $array: this.#array(value, path) };
    if (Array.isArray(value)) return Array.from(value, (item, i) => this.#json(item, join(path, i)));
    if (value instanceof Date) return { $date: Number.isNaN(value.getTime()) ? null : value.getTime() };
    if (value instanceof Map)
      return { $map: [...value].map(([key, item], i) => [this.#json(key, join(path, i)), this.#json(item, join(path, keyText(key, i)))]) };
    if (value instanceof Set) return { $set: [...value].map((item, i) => this.#json(item, join(path, i))) };
    if (value instanceof Promise) throw this.#refuse(path, value, "Await it before.");
    if (!isPlainObject(value)) throw this.#refuse(path, value, "Give its class stateDict() and loadStateDict(), or save its fields.");
    return this.#record(value as Readonly<Record<string, unknown>>, path);
  }

  #record(value: Readonly<Record<string, unknown>>, path: string): Json {
    const symbol = Object.getOwnPropertySymbols(value).find((key) => Object.prototype.propertyIsEnumerable.call(value, key));
    if (symbol !== undefined) throw this.#refuse(path, symbol, "Keys are texts.");
    const entries = Object.entries(value).map(([key, item]) => [key, this.#json(item, join(path, key))] as const);
    if (entries.some(([key]) => key.startsWith("$"))) return { $object: entries };
    const made: Record<string, Json> = {};
    for (const [key, item] of entries) define(made, key, item);
    return made;
  }

  #stateful(value: Stateful, path: string): Json {
    const made: Record<string, Json> = { of: value.constructor.name };
    const state = value.stateDict();
    this.#notice(value, state);
    const take = async (promise: Promise<unknown>): Promise<void> => {
      this.#encodeInto(made, "state", await promise, path);
    };
    if (state instanceof Promise) this.#pending.push(take(state));
    else made.state = this.#json(state, path);
    return { $state: made };
  }

  /** Which tensors of a state all ranks have alike. Buffers differ: each rank computes its own. */
  #notice(value: Stateful, state: unknown): void {
    if (typeof state !== "object" || state === null) return;
    const add = (t: unknown): void => {
      if (t instanceof Tensor) this.#common.add(t);
    };
    if (value instanceof Module) {
      const tensors = state as Readonly<Record<string, unknown>>;
      for (const [name, own] of value.stateTensors()) if (own instanceof Parameter) add(tensors[name]);
    } else if (value instanceof Optimizer)
      for (const own of Object.values((state as OptimizerState).state)) Object.values(own).forEach(add);
  }

  /** As getState() has it, without waiting for the devices. */
  #generator(value: Generator, path: string): Json {
    const { seed, host, devices } = value.currentState;
    const words = Object.entries(devices).map(([name, t]) => [name, { $numbers: this.#tensor(t, `${path}.${name}`) }] as const);
    return { $state: { of: "Generator", state: { seed, host, devices: Object.fromEntries(words) } } };
  }

  #tensor(t: Tensor, path: string): number {
    const known = this.#tensorIds.get(t);
    if (known !== undefined) return known;
    const name = path === "" ? "tensor" : path;
    t.requireLive(this.#operation, name);
    requireElements(this.#operation, t);
    const id = this.tensors.length;
    this.#tensorIds.set(t, id);
    const tensor = outsideScopes(() => new Tensor(t.storage, t.desc, t.offset));
    const { requiresGrad } = t;
    const isParameter = t instanceof Parameter;
    const isCommon = isParameter || this.#common.has(t);
    this.tensors.push({ name, tensor, version: t.storage.version, requiresGrad, isParameter, isCommon, part: partOf(t) });
    return id;
  }

  #array(array: ArrayBufferView | ArrayBufferLike, path: string): number {
    const known = this.#arrayIds.get(array);
    if (known !== undefined) return known;
    const id = this.arrays.length;
    this.#arrayIds.set(array, id);
    const { type, bytes } = entryTypeOf(array);
    this.arrays.push({ name: path === "" ? "array" : path, type, bytes, array });
    return id;
  }
}

const keyText = (key: unknown, i: number): string => (typeof key === "string" || typeof key === "number" ? String(key) : String(i));
