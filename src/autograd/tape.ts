/** The tape: a node records the operation that made a tensor, its inputs, and the tensors that its gradient rule reads. */
import { AutogradError } from "../core/errors.ts";
import { isFloat } from "../core/dtype.ts";
import type { PartialGradient, TensorSpec } from "../core/definition.ts";
import type { Storage, Desc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { arithmetic } from "./arithmetic.ts";

export type Gradients = readonly (Tensor | null)[];
export type Hook = (grad: Tensor) => Tensor | void;

/** A tensor kept for backward, as it was then: its object may show another storage, or have another history, later. */
class Saved {
  #tensor: Tensor;
  #storage: Storage;
  #desc: Desc;
  #offset: number;
  #version: number;
  /** It became another tensor in the write that it was saved for: that write does not make it stale. */
  #isRepointed = false;
  #isReadLater = false;
  /** What made it; null for leaves, and for outputs of the node that saves it. */
  readonly #node: TapeNode | null;
  readonly #outputIndex: number;
  readonly #isOutput: boolean;
  /** The node of a view that the output was written into: a weak reference, since that node leads to the one that saves this. */
  #shownBy: WeakRef<TapeNode> | null = null;

  constructor(tensor: Tensor, isOutput: boolean, outputIndex: number) {
    this.#tensor = tensor;
    this.#storage = tensor.storage;
    this.#desc = tensor.desc;
    this.#offset = tensor.offset;
    this.#version = tensor.storage.version;
    this.#isOutput = isOutput;
    this.#node = isOutput ? null : tensor.node;
    this.#outputIndex = isOutput ? outputIndex : tensor.outputIndex;
    this.#storage.retain();
    this.#node?.retain();
  }

  holds(tensor: Tensor): boolean {
    return this.#tensor === tensor;
  }

  isIn(storage: Storage): boolean {
    return this.#storage === storage;
  }

  /** Saves another tensor instead: a copy from before a write, or the tensor that was just written. */
  repoint(to: Tensor): void {
    to.storage.retain();
    this.#storage.release();
    this.#isRepointed = true;
    this.#tensor = to;
    this.#storage = to.storage;
    this.#desc = to.desc;
    this.#offset = to.offset;
    this.#version = to.storage.version;
  }

  /** The output was written into a view: its gradients go the way of the view's. */
  showBy(node: TapeNode): void {
    if (this.#isOutput) this.#shownBy = new WeakRef(node);
  }

  /** Whether later runs of the function that is being compiled may find another version than now. */
  get isVersioned(): boolean {
    return this.#storage.trace === null || this.#version !== 0;
  }

  /** Notes that a write by its own operation is part of what it is. */
  refresh(): void {
    this.#version = this.#storage.version;
  }

  /** The same for a write that happens again: what was saved as it was before stays stale. */
  refreshRepointed(): void {
    if (this.#isRepointed) this.refresh();
  }

  isLike(other: Saved): boolean {
    return this.#storage === other.#storage && this.#desc === other.#desc && this.#offset === other.#offset;
  }

  /** Writes to it are no error: the gradient reads what is there then. */
  readLater(): void {
    this.#isReadLater = true;
  }

  requireUnchanged(by: TapeNode, isChanged?: (storage: Storage) => boolean): void {
    if (this.#isReadLater) return;
    const { version } = this.#storage;
    const isWritten = version !== this.#version && this.#storage.isChanged(this.#version, this.#offset, this.#offset + this.#desc.extent);
    if (!isWritten && isChanged?.(this.#storage) !== true) return;
    throw new AutogradError({
      operation: "backward",
      argument: this.#tensor.describe(),
      expected: `unchanged since ${by.name} saved it (version ${this.#version})`,
      received: `version ${this.#storage.version}: an in-place operation changed it`,
    });
  }

  /** The tensor, or one that shows what it showed: the storage was retained. */
  tensor(by: TapeNode): Tensor {
    const t = this.#tensor;
    const shownBy = this.#shownBy?.deref() ?? null;
    // Indices (as max() returns them) have no history.
    const node = this.#isOutput ? (isFloat(this.#desc.dtype) ? (shownBy ?? by) : null) : this.#node;
    const outputIndex = shownBy === null ? this.#outputIndex : 0;
    const same = t.storage === this.#storage && t.desc === this.#desc && t.offset === this.#offset;
    if (same && !t.isDisposed && t.node === node && (node === null || t.outputIndex === outputIndex)) return t;
    const again = new Tensor(this.#storage, this.#desc, this.#offset);
    again.node = node ?? (t.leafRequiresGrad ? new TapeNode("saved", [t], [t.desc], [], ([dy]) => [dy!]) : null);
    again.outputIndex = node === null ? 0 : outputIndex;
    return again;
  }

  release(): TapeNode | null {
    this.#storage.release();
    return this.#node;
  }
}

/** Where a gradient goes: to the node that made the input, or to a leaf. */
export type Edge = { readonly node: TapeNode; readonly output: number } | { readonly leaf: Tensor } | null;

let sequence = 0;
let watched: TapeNode[] | null = null;

/** A backward pass that a compiled function applies without visiting its nodes: they are freed while isOver is set. */
export interface Pass {
  isOver: boolean;
}

/** Traced nodes that are not as they were made: with hooks, with gradients to keep, freed. */
const changed = new Set<TapeNode>();

/** @internal Traced nodes that are not as they were made. */
export const changedNodes = (): ReadonlySet<TapeNode> => changed;

/** @internal Sets traced nodes up as they were made, for another run of a compiled function. */
export function renewNodes(): void {
  if (changed.size === 0) return;
  for (const node of changed) node.renew();
  changed.clear();
}

/** Whether the nodes that are recorded are those of an in-place operation's value. */
export const isWatching = (): boolean => watched !== null;

/** Tells watching() of a node that an earlier run of the function that is being compiled has recorded. */
export const recordedBefore = (node: TapeNode | null): void => void (node !== null && watched?.push(node));

/** Runs fn and tells which nodes it recorded. */
export function watching<T>(fn: () => T): { readonly result: T; readonly nodes: readonly TapeNode[] } {
  const outer = watched;
  const nodes: TapeNode[] = (watched = []);
  try {
    return { result: fn(), nodes };
  } finally {
    watched = outer;
  }
}

/** Whether a node that watching() will return has saved a tensor in a storage. */
export const isSavedByWatched = (storage: Storage): boolean => watched?.some((node) => node.savedIn(storage).length > 0) === true;

/** What a pass needs of a compiled function's node, which represents many. */
export interface Parts {
  /** Indices of saved tensors. */
  readonly saved: ReadonlySet<number>;
  /** The nodes that it represents, as far as the pass visits and frees them. */
  readonly visited: ReadonlySet<TapeNode>;
}

/** Nodes that passes have freed. */
export interface Freed {
  has(node: TapeNode): boolean;
  add(node: TapeNode): void;
}

/** A compiled function's node, which represents many. */
export interface CompiledNode {
  /** What a pass needs that has gradients of these outputs only, and stops at these edges. */
  readonly parts: (dys: Gradients, stops: readonly number[]) => Parts;
  /**
   * Edges to results of the same function. A pass stops there if hooks or retainGrad() watch their gradients; else it continues inside the function's
   * program.
   */
  readonly inner: readonly number[];
  /** Parts that passes freed: of all nodes of one call. */
  readonly freed: Freed;
}

/** The passes through a compiled function's node. */
interface CompiledNodeState extends CompiledNode {
  /** Outputs that passes began with. */
  readonly passed: Set<number>;
  /** Represented nodes that the last pass visited. */
  visited: ReadonlySet<TapeNode>;
}

type Run = (dys: Gradients, saved: Gradients, stops: readonly number[]) => Gradients;
const NONE: readonly number[] = [];

interface NodeOptions {
  /** Saved tensors from this index on are the node's own outputs. */
  readonly outputsFrom?: number;
  readonly isForeign?: boolean;
  /** Whether a second pass needs retainGraph. Default: where something is saved. */
  readonly isOnce?: boolean | undefined;
  readonly compiled?: CompiledNode;
  readonly part?: PartRule | null;
}

/** A view's adjoint without the zeros around it; null: the node's rule has to be asked, with all of dy. */
export type PartRule = (dy: PartialGradient) => PartialGradient | null;

/** One recorded operation. Keeps the storage of what it saves alive until backward(), or its last tensor, lets go of it. */
export class TapeNode {
  readonly name: string;
  /** Rises with time: backward visits the highest first. */
  readonly sequence: number = sequence++;
  readonly edges: readonly Edge[];
  /** Shapes and dtypes of the inputs: their gradients have them too. */
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** Hooks of the output tensors, by output. */
  hooks: Map<number, Hook[]> | null = null;
  /** Outputs whose gradient is to be kept in `grad`. */
  retained: Map<number, Tensor> | null = null;
  /** What it gets and gives may be kept by code of the user's. */
  readonly isForeign: boolean;
  /** For views, which have one input and save nothing. */
  readonly part: PartRule | null;
  /** Made while a function was being traced: later runs of it use it again. */
  readonly isTraced = tracer() !== null;
  readonly #isOnce: boolean | undefined;
  #refs = 0;
  #isFreed = false;
  #passes: Pass[] | null = null;
  #run: Run;
  #saved: readonly (Saved | null)[] | null;
  readonly #compiled: CompiledNodeState | null;

  constructor(
    name: string,
    inputs: readonly Tensor[],
    outputs: readonly TensorSpec[],
    saved: readonly (Tensor | null)[],
    run: Run,
    { outputsFrom = Infinity, isForeign = false, isOnce, compiled: standing, part = null }: NodeOptions = {},
  ) {
    this.name = name;
    this.edges = inputs.map(edgeOf);
    this.inputs = inputs.map((t) => t.desc);
    this.outputs = outputs;
    this.isForeign = isForeign;
    this.part = part;
    this.#isOnce = isOnce;
    this.#compiled = standing === undefined ? null : { ...standing, passed: new Set(), visited: new Set() };
    this.#run = run;
    this.#saved = saved.map((t, i) => (t === null ? null : new Saved(t, i >= outputsFrom, i - outputsFrom)));
    for (const edge of this.edges) if (edge !== null && "node" in edge) edge.node.retain();
    watched?.push(this);
  }

  /** Whether it represents many nodes: it takes gradients of some of its outputs alone. */
  get hasParts(): boolean {
    return this.#compiled !== null;
  }

  /** What it saved is read as it is when the gradient is computed. */
  readSavedLater(): void {
    for (const s of this.#saved ?? []) s?.readLater();
  }

  retain(): void {
    this.#refs++;
  }

  /** The last tensor or node that needs this one lets go of what it saved, and of the nodes before it. */
  release(): void {
    const waiting: TapeNode[] = [this];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (--node.#refs !== 0 || node.isTraced) continue;
      for (const edge of node.edges) if (edge !== null && "node" in edge) waiting.push(edge.node);
      node.#letGo(waiting);
    }
  }

  /**
   * Gradients of the inputs, of their shapes and dtypes. isWatched: whether hooks or retainGrad() watch a node's output. Throws
   * when what was saved has been freed or changed.
   */
  backward(dys: Gradients, isWatched: (node: TapeNode, output: number) => boolean): Gradients {
    const compiled = this.#compiled;
    const stops =
      compiled === null || compiled.inner.length === 0
        ? NONE
        : compiled.inner.filter((i) => {
            const edge = this.edges[i]!;
            return "node" in edge && isWatched(edge.node, edge.output);
          });
    const parts = this.#saved === null ? null : (compiled?.parts(dys, stops) ?? null);
    if (this.#hasLetGo || (parts !== null && [...parts.visited].some((p) => compiled!.freed.has(p)))) this.refusePass();
    const needed = parts === null ? this.#saved! : this.#saved!.map((s, i) => (parts.saved.has(i) ? s : null));
    for (const s of needed) s?.requireUnchanged(this);
    const grads = this.#run(
      dys,
      needed.map((s) => s?.tensor(this) ?? null),
      stops,
    );
    if (compiled !== null && parts !== null) {
      dys.forEach((dy, i) => dy !== null && compiled.passed.add(i));
      compiled.visited = parts.visited;
    }
    return this.edges.map((edge, i) => {
      const grad = grads[i] ?? null;
      return edge === null || grad === null ? null : conformGradient(this.name, `gradient ${i}`, grad, this.inputs[i]!);
    });
  }

  get #hasLetGo(): boolean {
    return this.#saved === null || this.#isFreed || this.#passes?.some((p) => p.isOver) === true;
  }

  /** @internal */
  refusePass(): never {
    throw new AutogradError({
      operation: "backward",
      received: `a second pass through ${this.name}, whose saved tensors have been freed`,
      hint: "Pass retainGraph: true to the first backward().",
    });
  }

  /**
   * @internal Throws where a pass would. What it needs of a compiled function's node is known by its gradients only: that is left to the
   * pass, unless `isStrict`.
   */
  requirePassable(isChanged: (storage: Storage) => boolean, isStrict: boolean): void {
    if (this.#hasLetGo) this.refusePass();
    if (this.#compiled === null || isStrict) for (const s of this.#saved!) s?.requireUnchanged(this, isChanged);
  }

  /** Lets go of what was saved. Where nothing was, another pass is right. */
  free(): void {
    const compiled = this.#compiled;
    // Parts that save nothing of the forward pass but numbers are freed all the same.
    if (!this.isFreeable && (compiled === null || compiled.visited.size === 0)) return;
    for (const p of compiled?.visited ?? []) compiled!.freed.add(p);
    if (compiled !== null && compiled.passed.size < this.outputs.length) return;
    this.#isFreed = true;
    if (this.isTraced) {
      this.change();
      return;
    }
    const nodes: TapeNode[] = [];
    this.#letGo(nodes);
    for (const node of nodes) node.release();
  }

  /** @internal What it has saved. */
  get kept(): Tensor[] {
    return (this.#saved ?? []).flatMap((s) => s?.tensor(this) ?? []);
  }

  /** @internal Whether a second pass needs retainGraph. */
  get isFreeable(): boolean {
    return this.#saved !== null && (this.#isOnce ?? this.#saved.some((s) => s !== null));
  }

  /** @internal It is freed while the pass is over. */
  freeAfter(pass: Pass): void {
    if (this.isFreeable) (this.#passes ??= []).push(pass);
  }

  /** @internal Hooks or gradients to keep have been added: a run of the function that is being compiled begins without them. */
  change(): void {
    if (this.isTraced) changed.add(this);
  }

  /** @internal As it was made. */
  renew(): void {
    this.#isFreed = false;
    this.hooks = null;
    this.retained = null;
  }

  /** @internal As new again, for another run of the function that is being compiled. */
  revive(): void {
    this.renew();
    this.refresh();
  }

  /** @internal Whether it saves what has another version in every run. */
  get isVersioned(): boolean {
    return this.#saved?.some((s) => s?.isVersioned) === true;
  }

  /** @internal Its hooks, its rule and whether it is freed, as they are now: gives what sets them again, whatever later runs of its function change. */
  behaviour(): () => void {
    const [hooks, run, isFreed] = [this.hooks === null ? null : new Map(this.hooks), this.#run, this.#isFreed];
    return () => {
      this.hooks = hooks;
      this.#run = run;
      this.#isFreed = isFreed;
      this.change();
    };
  }

  /** @internal What it saves is as it should be now. */
  refresh(): void {
    for (const s of this.#saved ?? []) s?.refresh();
  }

  /** @internal The write that its operation does has happened again. */
  rewritten(): void {
    for (const s of this.#saved ?? []) s?.refreshRepointed();
  }

  /** @internal Whether another node represents the same call of user code. */
  isLike(other: TapeNode): boolean {
    const [a, b] = [this.#saved ?? [], other.#saved ?? []];
    return (
      this.name === other.name &&
      this.outputs.length === other.outputs.length &&
      a.length === b.length &&
      a.every((s, i) => (s === null || b[i] === null ? s === b[i] : s.isLike(b[i]!)))
    );
  }

  /** @internal Takes over the rule of a node that is like it. */
  adopt(other: TapeNode): void {
    this.revive();
    this.#run = other.#run;
    const nodes: TapeNode[] = [];
    other.#letGo(nodes);
    for (const edge of other.edges) if (edge !== null && "node" in edge) nodes.push(edge.node);
    for (const node of nodes) node.release();
  }

  #letGo(nodes: TapeNode[]): void {
    for (const s of this.#saved ?? []) {
      const node = s?.release() ?? null;
      if (node !== null) nodes.push(node);
    }
    this.#saved = null;
  }

  /** The first saved entry of this tensor object. PyTorch saves the target of an in-place operation from before the write. */
  saving(tensor: Tensor): Saved | undefined {
    return this.#saved?.find((s) => s?.holds(tensor)) ?? undefined;
  }

  /** What it saves of a storage. */
  savedIn(storage: Storage): Saved[] {
    return (this.#saved ?? []).filter((s): s is Saved => s?.isIn(storage) ?? false);
  }
}

/**
 * Checks a gradient that user code or a rule returned. It must have the tensor's shape, or one that broadcasting made of it (it is summed then); its
 * dtype is cast.
 */
export function conformGradient(operation: string, argument: string, grad: Tensor, spec: TensorSpec): Tensor {
  if (!(grad instanceof Tensor))
    throw new AutogradError({
      operation,
      argument,
      expected: "a tensor or null",
      received: grad === undefined ? "undefined" : typeof grad,
    });
  let result = grad;
  if (!sameShape(grad.shape, spec.shape)) {
    const lead = grad.rank - spec.shape.length;
    if (lead < 0 || !spec.shape.every((d, i) => d === grad.shape[lead + i] || d === 1))
      throw new AutogradError({ operation, argument, expected: `of shape ${showShape(spec.shape)}`, received: grad.describe() });
    result = arithmetic.sumTo(result, spec.shape);
  }
  return result.dtype === spec.dtype ? result : arithmetic.cast(result, spec.dtype);
}

export function edgeOf(input: Tensor): Edge {
  const node = input.node;
  return node !== null ? { node, output: input.outputIndex } : input.leafRequiresGrad ? { leaf: input } : null;
}

export function isSameEdge(a: Edge, b: Edge): boolean {
  if (a === null || b === null) return a === b;
  return "node" in a ? "node" in b && a.node === b.node && a.output === b.output : "leaf" in b && a.leaf === b.leaf;
}
