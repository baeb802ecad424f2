/** A call's arguments: the tensors in them, what a recording must have in common with them, and what stands for them in it. */
import { isForeign } from "../copies.ts";
import { DTYPES } from "../dtype.ts";
import { DTypeError } from "../errors.ts";
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { TapeNode, type Hook } from "../autograd/tape.ts";
import { Storage, internDesc } from "../storage.ts";
import { PARTS, WITH_PARTS, isComposite } from "../structure.ts";
import { Tensor } from "../tensor.ts";

/** Replaces the tensors in a structure of arrays, plain objects, Maps and composites. */
export function mapTensors(value: unknown, fn: (t: Tensor) => unknown): unknown {
  if (value instanceof Tensor) return fn(value);
  if (Array.isArray(value)) return value.map((v) => mapTensors(v, fn));
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [k, mapTensors(v, fn)]));
  if (typeof value !== "object" || value === null) return value;
  if (isComposite(value)) {
    const parts = value[PARTS]().map((v) => mapTensors(v, fn));
    // Who only looks gives no tensors back.
    return parts.every((p) => p instanceof Tensor) ? value[WITH_PARTS](parts) : value;
  }
  if (Object.getPrototypeOf(value) === Object.prototype)
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, mapTensors(v, fn)]));
  return value;
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
function keyOfValue(value: unknown, index: (t: Tensor) => number, numbers: Numbers): string {
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
  if (Array.isArray(value)) return `[${value.map((v) => keyOfValue(v, index, numbers)).join()}]`;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    return `${value.constructor.name}[${String(value as unknown as ArrayLike<number>)}]`;
  const object = value as object;
  if (isComposite(object))
    return `${object.constructor.name}(${object[PARTS]()
      .map((v) => keyOfValue(v, index, numbers))
      .join()})`;
  if (Object.getPrototypeOf(object) === Object.prototype)
    return `{${Object.entries(object)
      .map(([k, v]) => `${JSON.stringify(k)}:${keyOfValue(v, index, numbers)}`)
      .join()}}`;
  if (object instanceof Map)
    return `map[${[...object].map(([k, v]) => `${keyOfValue(k, index, numbers)}:${keyOfValue(v, index, numbers)}`).join()}]`;
  if (isForeign(object)) throw new DTypeError("compile", "arguments", "of this copy of dxtensor", object);
  let id = identity.get(object);
  if (id === undefined) identity.set(object, (id = identities++));
  return `@${id}`;
}

/** The tensors of a call: those among the arguments, each once, and after them the gradients that they have. */
export class Given {
  readonly tensors: Tensor[] = [];
  /** Place of each tensor's gradient among the tensors; -1 for none. */
  readonly gradients: number[] = [];
  /** By tensor: passed into the function as it is, since the function reaches it otherwise too. */
  readonly direct: boolean[] = [];
  readonly key: string;
  readonly #index = new Map<Tensor, number>();

  constructor(args: readonly unknown[], isDirect: (t: Tensor) => boolean, numbers: Numbers) {
    mapTensors(args, (t) => this.#add(t));
    const own = this.tensors.length;
    for (let i = 0; i < own; i++) this.gradients[i] = this.tensors[i]!.grad === null ? -1 : this.#add(this.tensors[i]!.grad!);
    for (let i = own; i < this.tensors.length; i++) this.gradients[i] = -1;
    const kinds = this.tensors.map((t, i) => {
      this.direct[i] = isDirect(t);
      return `${t.desc.id}${t.node !== null ? (isRetained(t) ? "r" : "n") : t.leafRequiresGrad ? "l" : ""}${this.direct[i] ? "d" : ""}${this.gradients[i]! < 0 ? "" : `g${this.gradients[i]}`}`;
    });
    this.key = `${isGradEnabled()}|${kinds.join()}|${keyOfValue(args, (t) => this.indexOf(t), numbers)}`;
  }

  #add(t: Tensor): number {
    let at = this.#index.get(t);
    if (at === undefined) {
      at = this.tensors.push(t) - 1;
      this.#index.set(t, at);
    }
    return at;
  }

  indexOf(t: Tensor): number {
    return this.#index.get(t) ?? -1;
  }
}

/** Whether the gradient of a tensor with a history is kept in its `grad`. */
const isRetained = (t: Tensor): boolean => t.ownNode?.retained?.get(t.outputIndex) === t;

/** What stands for a call's tensors while the function runs: traced tensors of the same layout, over storages of their own. */
export class Ghosts {
  readonly tensors: readonly (Tensor | null)[];
  /** By storage: which argument it stands for. */
  readonly indices = new Map<Storage, number>();
  readonly #boundaries: readonly (TapeNode | null)[];
  readonly #gradients: readonly number[];

  constructor(given: Pick<Given, "tensors" | "gradients" | "direct">, owner: object) {
    this.#gradients = given.gradients;
    this.tensors = given.tensors.map((t, i) => {
      if (given.direct[i]) return null;
      const storage = new Storage(t.device, t.desc.extent * DTYPES[t.dtype].sizeInBytes);
      storage.trace = owner;
      this.indices.set(storage, i);
      return new Tensor(storage, internDesc(t.device, t.dtype, t.shape, t.strides));
    });
    this.#boundaries = this.tensors.map((ghost, i) =>
      ghost === null || given.tensors[i]!.node === null ? null : new TapeNode("argument", [], [ghost.desc], [], () => []),
    );
  }

  /** Gives the traced tensors what autograd knows of the real ones at the start of a call. */
  begin(given: readonly Tensor[]): void {
    this.tensors.forEach((ghost, i) => {
      if (ghost === null) return;
      const t = given[i]!;
      ghost.revive();
      const boundary = this.#boundaries[i]!;
      boundary?.renew();
      if (boundary !== null && isRetained(t)) boundary.retained = new Map([[0, ghost]]);
      ghost.leafRequiresGrad = t.leafRequiresGrad;
      ghost.node = boundary;
      ghost.outputIndex = 0;
      ghost.hooks = t.hooks;
    });
    this.tensors.forEach((ghost, i) => {
      if (ghost === null) return;
      const g = this.#gradients[i]!;
      ghost.grad = g < 0 ? null : (this.tensors[g] ?? given[g]!);
    });
  }

  /** Gives the real tensors what the function has set of the traced ones: whether they require gradients, hooks, gradients to keep. */
  end(given: readonly Tensor[]): void {
    this.tensors.forEach((ghost, i) => {
      const t = given[i]!;
      if (ghost === null) return;
      const boundary = this.#boundaries[i]!;
      const { node } = t;
      if (boundary !== null && node !== null) {
        const hooks = boundary.hooks?.get(0) ?? [];
        if (hooks.length > 0) {
          const own = (node.hooks ??= new Map<number, Hook[]>());
          const before = own.get(t.outputIndex);
          if (before === undefined) own.set(t.outputIndex, hooks);
          else before.push(...hooks);
        }
        if (boundary.retained?.has(0) === true) (node.retained ??= new Map<number, Tensor>()).set(t.outputIndex, t);
        boundary.renew();
      }
      if (node !== null) return;
      t.leafRequiresGrad = ghost.leafRequiresGrad;
      t.hooks ??= ghost.hooks;
    });
  }

  /** The argument that a node stands for the history of; -1 for none. */
  boundary(node: TapeNode): number {
    return this.#boundaries.indexOf(node);
  }
}
