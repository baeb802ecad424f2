/** Tensors that nodes of the tape keep for backward. */
import { isFloat } from "../core/dtype.ts";
import { AutogradError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { sameShape } from "../core/shape.ts";
import type { Desc, Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import type { SavedHooks } from "./saved-hooks.ts";
import type { TapeNode } from "./tape.ts";

/** A node that leads to a leaf: a tensor made again has the leaf's history by it. */
type NodeOfLeaf = (leaf: Tensor) => TapeNode;

/** Throws for inference tensors: nobody counts writes to them, so a gradient could not tell that one was changed. */
export function requireSavable(tensor: Tensor): void {
  if (tensor.storage.version >= 0) return;
  throw new AutogradError({
    operation: "backward",
    argument: "saved tensor",
    expected: "an ordinary tensor",
    received: `${tensor.describe()}. Inference tensors cannot be saved for backward`,
    hint: "Use clone() to get an ordinary tensor.",
  });
}

/** A tensor kept for backward, as it was then: its object may show another storage, or have another history, later. */
export class Saved {
  /** Null where hooks have it, and it is no leaf that requires a gradient. */
  #tensor: Tensor | null;
  /** Null where hooks have it. */
  #storage: Storage | null;
  #desc: Desc;
  #offset: number;
  #version: number;
  #packed: { readonly hooks: SavedHooks; readonly value: unknown } | null = null;
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

  /** Whether it is what was saved of a tensor; origin: the tensor that another one stands for. */
  holds(tensor: Tensor, origin: (t: Tensor) => Tensor): boolean {
    return this.#storage !== null && this.#tensor !== null && origin(this.#tensor) === tensor;
  }

  isIn(storage: Storage): boolean {
    return this.#storage === storage;
  }

  /** Whether hooks have it: tensor() makes a new one. */
  get isPacked(): boolean {
    return this.#packed !== null;
  }

  /** Gives it to hooks, which give it back when a gradient is computed. */
  pack(hooks: SavedHooks, by: string): void {
    const storage = this.#storage!;
    const { version } = storage;
    const value = hooks.pack(outsideScopes(() => new Tensor(storage, this.#desc, this.#offset)));
    this.#packed = { hooks, value };
    this.#storage = null;
    if (!this.#tensor!.leafRequiresGrad) this.#tensor = null;
    const isWritten = storage.version !== version;
    storage.release();
    if (isWritten)
      throw new AutogradError({
        operation: "savedTensorsHooks",
        argument: "pack",
        expected: "a function that leaves its argument as it is",
        received: `one that changed what ${by} saved in place`,
      });
  }

  /** Saves another tensor instead: a copy from before a write, or the tensor that was just written. */
  repoint(to: Tensor): void {
    to.storage.retain();
    this.#storage?.release();
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
    return this.#storage === null || this.#storage.trace === null || this.#version !== 0;
  }

  /** Notes that a write by its own operation is part of what it is. */
  refresh(): void {
    if (this.#storage !== null) this.#version = this.#storage.version;
  }

  /** The same for a write that happens again: what was saved as it was before stays stale. */
  refreshRepointed(): void {
    if (this.#isRepointed) this.refresh();
  }

  isLike(other: Saved): boolean {
    return this.#storage !== null && this.#storage === other.#storage && this.#desc === other.#desc && this.#offset === other.#offset;
  }

  /** Writes to it are no error: the gradient reads what is there then. */
  readLater(): void {
    this.#isReadLater = true;
  }

  /** Writes to what hooks have are theirs to notice. by: what saved it. */
  requireUnchanged(by: string, isChanged?: (storage: Storage) => boolean): void {
    const storage = this.#storage;
    if (this.#isReadLater || storage === null) return;
    const { version } = storage;
    const isWritten = version !== this.#version && storage.isChanged(this.#version, this.#offset, this.#offset + this.#desc.extent);
    if (!isWritten && isChanged?.(storage) !== true) return;
    throw new AutogradError({
      operation: "backward",
      argument: this.#tensor!.describe(),
      expected: `unchanged since ${by} saved it (version ${this.#version})`,
      received: `version ${version}: an in-place operation changed it`,
    });
  }

  /** The tensor, or one that shows what it showed: the storage was retained. by: the node whose output it is, if it is one. */
  tensor(by: TapeNode | null, nodeOfLeaf: NodeOfLeaf): Tensor {
    const shownBy = this.#shownBy?.deref() ?? null;
    // Indices (as max() returns them) have no history.
    const node = this.#isOutput ? (isFloat(this.#desc.dtype) ? (shownBy ?? by) : null) : this.#node;
    const outputIndex = shownBy === null ? this.#outputIndex : 0;
    const t = this.#tensor;
    const storage = this.#storage;
    if (storage !== null && t !== null) {
      const same = t.storage === storage && t.desc === this.#desc && t.offset === this.#offset;
      if (same && !t.isDisposed && t.node === node && (node === null || t.outputIndex === outputIndex)) return t;
    }
    const again = storage === null ? this.#unpacked() : new Tensor(storage, this.#desc, this.#offset);
    again.node = node ?? (t?.leafRequiresGrad === true ? nodeOfLeaf(t) : null);
    again.outputIndex = node === null ? 0 : outputIndex;
    return again;
  }

  #unpacked(): Tensor {
    const { hooks, value } = this.#packed!;
    const { tensor: t, isOwn } = hooks.unpack(value);
    const { dtype, shape, device } = this.#desc;
    if (!(t instanceof Tensor) || t.isDisposed || t.dtype !== dtype || t.device !== device || !sameShape(t.shape, shape))
      throw new AutogradError({
        operation: "savedTensorsHooks",
        argument: "unpack's result",
        expected: `a live tensor like the one that pack got, ${dtype}[${shape.join(", ")}] on ${device}`,
        received: t instanceof Tensor ? `${t.describe()} on ${t.device}${t.isDisposed ? " after dispose()" : ""}` : typeof t,
      });
    const again = new Tensor(t.storage, t.desc, t.offset);
    if (isOwn) t.dispose();
    return again;
  }

  release(): TapeNode | null {
    if (this.#packed !== null) this.#packed.hooks.drop(this.#packed.value);
    this.#storage?.release();
    return this.#node;
  }
}
