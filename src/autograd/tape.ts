/** The tape: a node records the operation that made a tensor, its inputs, and the tensors that its gradient rule reads. */
import { mark } from "../core/checkpoint-marks.ts";
import { AutogradError } from "../core/errors.ts";
import type { PartialGradient, TensorSpec } from "../core/definition.ts";
import type { Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { isAnomalyEnabled, noteSite } from "./anomaly.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { isGradEnabled } from "./grad-mode.ts";
import { Saved, requireSavable } from "./saved.ts";
import { savingHooks, type SavedHooks } from "./saved-hooks.ts";

export type Gradients = readonly (Tensor | null)[];
export type Hook = (grad: Tensor) => Tensor | void;

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

/** @internal The number that the next node gets. */
export const nextSequence = (): number => sequence;

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
  /** Outputs that passes began with; null: there were none. */
  passed: Set<number> | null;
  /** Represented nodes that the last pass visited. */
  visited: ReadonlySet<TapeNode>;
}

type Run = (dys: Gradients, saved: Gradients, stops: readonly number[]) => Gradients;
const NONE: readonly number[] = [];
const NO_NODES: ReadonlySet<TapeNode> = new Set();

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
  /** It has let go of the nodes before it. */
  #isReleased = false;
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
    for (const t of saved) if (t !== null) requireSavable(t);
    this.name = name;
    this.edges = inputs.map(edgeOf);
    this.inputs = inputs.map((t) => t.desc);
    this.outputs = outputs;
    this.isForeign = isForeign;
    this.part = part;
    this.#isOnce = isOnce;
    this.#compiled = standing === undefined ? null : { ...standing, passed: null, visited: NO_NODES };
    this.#run = run;
    this.#saved = saved.map((t, i) => (t === null ? null : new Saved(t, i >= outputsFrom, i - outputsFrom)));
    for (const edge of this.edges) if (edge !== null && "node" in edge) edge.node.retain();
    mark(this);
    if (isAnomalyEnabled()) noteSite(this);
    // What an in-place operation saves is decided when it has written.
    if (watched !== null) watched.push(this);
    else this.pack(savingHooks());
  }

  /** Gives what it saves to hooks, which decide how it is kept. What a traced node saves has no data. */
  pack(hooks: SavedHooks | null): void {
    if (hooks === null || this.isTraced) return;
    try {
      for (const s of this.#saved ?? []) s?.pack(hooks, this.name);
    } catch (error) {
      const nodes: TapeNode[] = this.edges.flatMap((edge) => (edge !== null && "node" in edge ? [edge.node] : []));
      this.#letGo(nodes);
      for (const node of nodes) node.release();
      throw error;
    }
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
    // A node that saves nothing may be needed again: that of a view which shows a saved output.
    if (this.#refs++ !== 0 || !this.#isReleased) return;
    this.#isReleased = false;
    for (const edge of this.edges) if (edge !== null && "node" in edge) edge.node.retain();
  }

  /** The last tensor or node that needs this one lets go of what it saved, and of the nodes before it. */
  release(): void {
    const waiting: TapeNode[] = [this];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (--node.#refs !== 0 || node.isTraced) continue;
      node.#isReleased = true;
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
    for (const s of needed) s?.requireUnchanged(this.name);
    const saved = needed.map((s) => s?.tensor(this, nodeOfLeaf) ?? null);
    const grads = this.#run(dys, saved, stops);
    // What hooks gave back for this pass. User code, and gradients that are recorded, may need it longer.
    if (!this.isForeign && !isGradEnabled())
      needed.forEach((s, i) => {
        if (s?.isPacked === true && !grads.includes(saved[i]!)) saved[i]!.dispose();
      });
    if (compiled !== null && parts !== null) {
      const outputs = (compiled.passed ??= new Set());
      dys.forEach((dy, i) => dy !== null && outputs.add(i));
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
    if (this.#compiled === null || isStrict) for (const s of this.#saved!) s?.requireUnchanged(this.name, isChanged);
  }

  /** Lets go of what was saved. Where nothing was, another pass is right. */
  free(): void {
    const compiled = this.#compiled;
    // Parts that save nothing of the forward pass but numbers are freed all the same.
    if (!this.isFreeable && (compiled === null || compiled.visited.size === 0)) return;
    for (const p of compiled?.visited ?? []) compiled!.freed.add(p);
    if (compiled !== null && (compiled.passed?.size ?? 0) < this.outputs.length) return;
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
    return (this.#saved ?? []).flatMap((s) => s?.tensor(this, nodeOfLeaf) ?? []);
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
    if (this.#saved?.some((s) => s !== null) === true) this.#saved = null;
  }

  /** The first saved entry of this tensor object. origin: the tensor that another one stands for. PyTorch saves the target of an in-place operation from before the write. */
  saving(tensor: Tensor, origin: (t: Tensor) => Tensor): Saved | undefined {
    return this.#saved?.find((s) => s?.holds(tensor, origin)) ?? undefined;
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

/** Leads to a leaf, from a tensor that shows what the leaf showed. */
export const nodeOfLeaf = (leaf: Tensor): TapeNode => new TapeNode("saved", [leaf], [leaf.desc], [], ([dy]) => [dy!]);

export function edgeOf(input: Tensor): Edge {
  const node = input.node;
  return node !== null ? { node, output: input.outputIndex } : input.leafRequiresGrad ? { leaf: input } : null;
}

export function isSameEdge(a: Edge, b: Edge): boolean {
  if (a === null || b === null) return a === b;
  return "node" in a ? "node" in b && a.node === b.node && a.output === b.output : "leaf" in b && a.leaf === b.leaf;
}
