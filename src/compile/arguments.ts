/** A call's arguments: the tensors in them, the key of the calls that one recording serves, and the placeholders that the function gets instead. */
import { castingRegion, type AutocastDType } from "../core/autocast.ts";
import { isForeign } from "../core/copies.ts";
import { DTYPES } from "../core/dtype.ts";
import { DTypeError, ValueError } from "../core/errors.ts";
import { gradMode } from "../core/inference.ts";
import { TapeNode, type Hook } from "../autograd/tape.ts";
import type { View } from "../autograd/view.ts";
import { Storage, internDesc, type Desc } from "../core/storage.ts";
import { KIND, PARTS, WITH_PARTS, isComposite, type Composite } from "../core/structure.ts";
import { Tensor } from "../core/tensor.ts";

/** Structures that are searched for tensors, as composites are. */
export type Container = unknown[] | Map<unknown, unknown> | Record<string, unknown>;

export const isContainer = (value: object): value is Container =>
  Array.isArray(value) || value instanceof Map || Object.getPrototypeOf(value) === Object.prototype;

export const partsOf = (value: Container | Composite): readonly unknown[] =>
  Array.isArray(value)
    ? value
    : value instanceof Map
      ? [...value.values()]
      : isComposite(value)
        ? value[PARTS]()
        : Object.values(value as Record<string, unknown>);

/** Levels of arrays and objects in each other: what holds more was hardly meant. */
const MAX_DEPTH = 1000;

export function requireDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new ValueError("compile", "arguments and results", `nested ${MAX_DEPTH} levels deep at most`, "deeper ones");
}

/** Replaces the tensors in a structure of arrays, plain objects, Maps and composites. What is there twice, or holds itself, is so afterwards too. */
export function mapTensors(value: unknown, fn: (t: Tensor) => unknown, known?: Map<unknown, unknown>, depth = 1): unknown {
  if (value instanceof Tensor) return fn(value);
  if (typeof value !== "object" || value === null) return value;
  const made = known ?? new Map<unknown, unknown>();
  const before = made.get(value);
  if (before !== undefined) return before;
  if (isComposite(value)) {
    const parts = value[PARTS]().map((v) => mapTensors(v, fn, made, depth));
    // Who only looks gives no tensors back.
    const composite = parts.every((p) => p instanceof Tensor) ? value[WITH_PARTS](parts) : value;
    made.set(value, composite);
    return composite;
  }
  if (!isContainer(value)) return value;
  requireDepth(depth);
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    made.set(value, list);
    for (const v of value) list.push(mapTensors(v, fn, made, depth + 1));
    return list;
  }
  if (value instanceof Map) {
    const map = new Map<unknown, unknown>();
    made.set(value, map);
    for (const [k, v] of value) map.set(k, mapTensors(v, fn, made, depth + 1));
    return map;
  }
  const object: Record<string, unknown> = {};
  made.set(value, object);
  for (const [k, v] of Object.entries(value))
    if (k === "__proto__")
      Object.defineProperty(object, k, { value: mapTensors(v, fn, made, depth + 1), enumerable: true, configurable: true, writable: true });
    else object[k] = mapTensors(v, fn, made, depth + 1);
  return object;
}

export function tensorsIn(value: unknown): Tensor[] {
  const found: Tensor[] = [];
  mapTensors(value, (t) => found.push(t));
  return found;
}

let identities = 0;
const identity = new WeakMap<object, number>();

/** Which numbers the function's own JavaScript sees in each call anyway. */
type Numbers = "by value" | "any";

/** Text that is equal for equal values: plain data by value, functions and other objects by identity. */
function keyOfValue(value: unknown, index: (t: Tensor) => number, numbers: Numbers, seen: Map<object, number>): string {
  switch (typeof value) {
    case "number":
      return numbers === "any" ? "number" : Object.is(value, -0) ? "-0" : String(value);
    case "string":
      return JSON.stringify(value);
    case "bigint":
      return numbers === "any" ? "bigint" : `${value}n`;
    case "undefined":
    case "boolean":
      return String(value);
    case "symbol":
      return `symbol ${String(value)}`;
    default:
  }
  if (value === null) return "null";
  if (value instanceof Tensor) return `#${index(value)}`;
  const at = seen.get(value as object);
  if (at !== undefined) return `^${at}`;
  if (isContainer(value as object)) seen.set(value as object, seen.size);
  if (Array.isArray(value)) return `[${value.map((v) => keyOfValue(v, index, numbers, seen)).join()}]`;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    return `${value.constructor.name}[${String(value as unknown as ArrayLike<number>)}]`;
  const object = value as object;
  if (isComposite(object))
    return `${object[KIND]()}(${object[PARTS]()
      .map((v) => keyOfValue(v, index, numbers, seen))
      .join()})`;
  if (Object.getPrototypeOf(object) === Object.prototype)
    return `{${Object.entries(object)
      .map(([k, v]) => `${JSON.stringify(k)}:${keyOfValue(v, index, numbers, seen)}`)
      .join()}}`;
  if (object instanceof Map)
    return `map[${[...object].map(([k, v]) => `${keyOfValue(k, index, numbers, seen)}:${keyOfValue(v, index, numbers, seen)}`).join()}]`;
  if (isForeign(object)) throw new DTypeError("compile", "arguments", "of this copy of dxtensor", object);
  let id = identity.get(object);
  if (id === undefined) identity.set(object, (id = identities++));
  return `@${id}`;
}

/** More tensors than this are found by a map. */
const FEW = 8;

/** The tensors of a call: those among the arguments, each once, and after them the gradients that they have. */
export class CallArguments {
  readonly tensors: Tensor[] = [];
  /** Index of each tensor's gradient in `tensors`; -1 for none. */
  readonly gradients: number[] = [];
  /** By tensor: passed into the function as it is, since the function reaches it otherwise too. */
  readonly direct: boolean[] = [];
  /** Equal for calls that a recording serves alike. */
  readonly key: string;
  #index: Map<Tensor, number> | null = null;

  /** like: an earlier call's, whose key is taken over where it is this one's too. */
  constructor(args: readonly unknown[], isDirect: (t: Tensor) => boolean, numbers: Numbers, like: Likeness | null = null) {
    for (const a of args)
      if (a instanceof Tensor) this.#add(a);
      else mapTensors(a, (t) => this.#add(t));
    const { tensors, gradients, direct } = this;
    const own = tensors.length;
    for (let i = 0; i < own; i++) {
      const { ownGrad } = tensors[i]!;
      gradients.push(ownGrad === null ? -1 : this.#add(ownGrad));
    }
    for (let i = own; i < tensors.length; i++) gradients.push(-1);
    for (const t of tensors) direct.push((t.viewOf !== null && isUnrecordedView(t, t.viewOf)) || isDirect(t));
    this.key = like !== null && this.#isLike(like, args) ? like.key : this.#makeKey(args, numbers);
  }

  /** How to see that a call is like this one without making its key: where the arguments are nothing but different tensors. */
  likeness(args: readonly unknown[]): Likeness | null {
    const { tensors } = this;
    if (args.length !== tensors.length || tensors.length > FEW || !args.every((a, i) => a === tensors[i])) return null;
    return {
      key: this.key,
      grad: gradMode.value,
      casts: castsNow(),
      descs: tensors.map((t) => t.desc),
      kinds: tensors.map((t, i) => this.#kindOf(t, i)),
    };
  }

  #isLike({ grad, casts, descs, kinds }: Likeness, args: readonly unknown[]): boolean {
    const { tensors } = this;
    if (args.length !== descs.length || tensors.length !== descs.length || gradMode.value !== grad || castsNow() !== casts) return false;
    for (let i = 0; i < descs.length; i++) {
      const t = tensors[i]!;
      if (t !== args[i] || t.desc !== descs[i] || this.#kindOf(t, i) !== kinds[i]) return false;
    }
    return true;
  }

  /** What autograd knows of a tensor, and how it gets into the function. */
  #kindOf(t: Tensor, i: number): string {
    const isDirect = this.direct[i]!;
    if (!isDirect && !t.requiresGrad && this.gradients[i]! < 0 && t.storage.version >= 0) return "";
    const node = isDirect ? t.ownNode : t.node;
    const history = node !== null ? (isRetained(t) ? "r" : "n") : t.leafRequiresGrad ? "l" : "";
    const shared = t.storage.version < 0 ? `${history}i` : history;
    const way = isDirect ? `${shared}d` : shared;
    return this.gradients[i]! < 0 ? way : `${way}g${this.gradients[i]}`;
  }

  #makeKey(args: readonly unknown[], numbers: Numbers): string {
    const kinds = this.tensors.map((t, i) => `${t.desc.id}${this.#kindOf(t, i)}`);
    return `${gradMode.value}${castsNow() ?? ""}|${kinds.join()}|${keyOfValue(args, (t) => this.indexOf(t), numbers, new Map())}`;
  }

  #add(t: Tensor): number {
    const at = this.indexOf(t);
    if (at >= 0) return at;
    const next = this.tensors.push(t) - 1;
    if (this.#index !== null) this.#index.set(t, next);
    else if (next === FEW) this.#index = new Map(this.tensors.map((x, i) => [x, i]));
    return next;
  }

  indexOf(t: Tensor): number {
    return this.#index === null ? this.tensors.indexOf(t) : (this.#index.get(t) ?? -1);
  }
}

/** The dtype that operations are cast to around the call, or null. */
const castsNow = (): AutocastDType | null => castingRegion()?.dtype ?? null;

/** What calls of one key have in common, where that can be told without the key. */
export interface Likeness {
  readonly key: string;
  /** The grad mode. */
  readonly grad: number;
  readonly casts: AutocastDType | null;
  readonly descs: readonly Desc[];
  readonly kinds: readonly string[];
}

/** A view without a history of its own of a tensor that has one: what may be done with it depends on what it is a view of. */
const isUnrecordedView = ({ ownNode }: Tensor, viewOf: View): boolean =>
  viewOf.origin !== "recorded" && (ownNode !== null || viewOf.base.requiresGrad);

/** Whether the gradient of a tensor with a history is kept in its `grad`. */
const isRetained = (t: Tensor): boolean => t.ownNode?.retained?.get(t.outputIndex) === t;

/** The placeholders of a call's tensors: traced tensors of the same shapes and strides, over storages of their own. The function runs on them. */
export class Placeholders {
  readonly tensors: readonly (Tensor | null)[];
  /** Index of the argument of each placeholder's storage. */
  readonly indices = new Map<Storage, number>();
  readonly #boundaries: readonly (TapeNode | null)[];
  readonly #gradients: readonly number[];

  constructor(args: Pick<CallArguments, "tensors" | "gradients" | "direct">, owner: object) {
    this.#gradients = args.gradients;
    this.tensors = args.tensors.map((t, i) => {
      if (args.direct[i]) return null;
      const storage = new Storage(t.device, t.desc.extent * DTYPES[t.dtype].sizeInBytes);
      storage.trace = owner;
      storage.version = t.storage.firstVersion;
      this.indices.set(storage, i);
      return new Tensor(storage, internDesc(t.device, t.dtype, t.shape, t.strides));
    });
    this.#boundaries = this.tensors.map((placeholder, i) =>
      placeholder === null || args.tensors[i]!.node === null ? null : new TapeNode("argument", [], [placeholder.desc], [], () => []),
    );
  }

  /** The placeholder of an argument; the argument itself where it has none. */
  of(t: Tensor, args: CallArguments): Tensor {
    return this.tensors[args.indexOf(t)] ?? t;
  }

  /** The arguments that the function gets. */
  replace(args: readonly unknown[], tensors: CallArguments): unknown[] {
    const replaced: unknown[] = [];
    for (const a of args) replaced.push(a instanceof Tensor ? this.of(a, tensors) : mapTensors(a, (t) => this.of(t, tensors)));
    return replaced;
  }

  /** Gives the traced tensors what autograd knows of the real ones at the start of a call. */
  begin(args: readonly Tensor[]): void {
    for (let i = 0; i < this.tensors.length; i++) {
      const placeholder = this.tensors[i]!;
      if (placeholder === null) continue;
      const t = args[i]!;
      placeholder.revive();
      const boundary = this.#boundaries[i]!;
      boundary?.renew();
      // What registers another one meets those that are there.
      const hooks = boundary === null ? undefined : t.ownNode?.hooks?.get(t.outputIndex);
      if (hooks !== undefined && hooks.length > 0) boundary!.hooks = new Map([[0, hooks]]);
      if (boundary !== null && isRetained(t)) boundary.retained = new Map([[0, placeholder]]);
      placeholder.leafRequiresGrad = t.leafRequiresGrad;
      placeholder.node = boundary;
      placeholder.outputIndex = 0;
      placeholder.hooks = t.hooks;
    }
    for (let i = 0; i < this.tensors.length; i++) {
      const placeholder = this.tensors[i]!;
      if (placeholder === null) continue;
      const g = this.#gradients[i]!;
      if (g >= 0) placeholder.grad = this.tensors[g] ?? args[g]!;
    }
  }

  /** Gives the real tensors what the function has set of the traced ones: whether they require gradients, hooks, gradients to keep. */
  end(args: readonly Tensor[]): void {
    for (let i = 0; i < this.tensors.length; i++) {
      const placeholder = this.tensors[i]!;
      const t = args[i]!;
      if (placeholder === null) continue;
      const boundary = this.#boundaries[i]!;
      // Its history as it was before the call: what the function changed comes after this.
      const node = t.ownNode;
      if (boundary !== null && node !== null) {
        const hooks = boundary.hooks?.get(0) ?? [];
        if (hooks.length > 0) {
          const own = (node.hooks ??= new Map<number, Hook[]>());
          const before = own.get(t.outputIndex);
          if (before === undefined) own.set(t.outputIndex, hooks);
          else if (before !== hooks) before.push(...hooks);
        }
        if (boundary.retained?.has(0) === true) (node.retained ??= new Map<number, Tensor>()).set(t.outputIndex, t);
        boundary.renew();
      }
      if (node !== null) continue;
      t.leafRequiresGrad = placeholder.leafRequiresGrad;
      t.hooks ??= placeholder.hooks;
    }
  }

  /** Index of the argument whose history a boundary node represents; -1 for none. */
  boundary(node: TapeNode): number {
    return this.#boundaries.indexOf(node);
  }
}
