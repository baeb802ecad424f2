/** The tensor: a view of a storage, with its state of autograd. Its operations are added by ops/declare/methods.ts. */
import type { Hook, TapeNode } from "../autograd/tape.ts";
import type { View } from "../autograd/view.ts";
import { copyMark, ownCopy, type Copy } from "./copies.ts";
import type { Device } from "./device.ts";
import type { DType } from "./dtype.ts";
import { AutogradError, DisposedError, ValueError } from "./errors.ts";
import { track } from "./scope.ts";
import { sameShape, showShape, type Shape } from "./shape.ts";
import type { Desc, Storage } from "./storage.ts";
import { tracer } from "./tracer.ts";

/** An array of numbers of one dtype on a device: a view of memory that others may share. Made by tensor(), zeros() and the like; operations are its methods. Reference: torch.Tensor. */
export class Tensor {
  /** @internal */ storage: Storage;
  /** @internal */ desc: Desc;
  /** @internal In elements from the start of the storage. */ offset: number;
  /** @internal The node as it was set last; `node` is right for views too, whose base may have moved on. */ ownNode: TapeNode | null =
    null;
  /** @internal Which of the node's outputs it is. Read after `node`. */ outputIndex = 0;
  /** @internal Of which tensor it is a view, and how; null for those that are none. */ viewOf: View | null = null;
  /** @internal */ leafRequiresGrad = false;
  /** @internal Of a leaf; those of others belong to their node. */ hooks: Hook[] | null = null;
  #grad: Tensor | null = null;
  #disposed = false;
  /** Itself, until it is disposed of, and the views of it: they need its history. */
  #holders = 1;

  /** @internal Use tensor(), zeros() and the like. */
  constructor(storage: Storage, desc: Desc, offset = 0) {
    this.storage = storage;
    this.desc = desc;
    this.offset = offset;
    storage.refs++;
    track(this);
  }

  /** @internal */
  get [copyMark](): Copy {
    return ownCopy();
  }

  /** Length of each axis; [] for a scalar. */
  get shape(): Shape {
    return this.desc.shape;
  }

  /** The dtype of the elements. */
  get dtype(): DType {
    return this.desc.dtype;
  }

  /** The device of the elements. */
  get device(): Device {
    return this.desc.device;
  }

  /** Number of axes. */
  get rank(): number {
    return this.desc.shape.length;
  }

  /** Number of elements. */
  get size(): number {
    return this.desc.size;
  }

  /** In elements. */
  get strides(): readonly number[] {
    return this.desc.strides;
  }

  /** Offset of the first element in the storage, in elements. */
  get storageOffset(): number {
    return this.offset;
  }

  /** Whether the elements are in row-major order without gaps. Reference: torch.Tensor.is_contiguous. */
  get isContiguous(): boolean {
    return this.desc.isPacked;
  }

  /** Whether dispose() has been called: any use is a DisposedError then. */
  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** @internal The operation that made it, when a gradient flows through; null for leaves. */
  get node(): TapeNode | null {
    return this.viewOf === null ? this.ownNode : this.viewOf.nodeOf(this);
  }

  /** @internal */
  set node(next: TapeNode | null) {
    if (next === this.ownNode) return;
    next?.retain();
    this.ownNode?.release();
    this.ownNode = next;
  }

  /** The gradient that backward() has accumulated, for leaves that require one; null before. */
  get grad(): Tensor | null {
    tracer()?.readGradient(this);
    return this.#grad;
  }

  /** @internal What `grad` is so far. */
  get ownGrad(): Tensor | null {
    return this.#grad;
  }

  set grad(next: Tensor | null) {
    if (next !== null) this.#requireGradient(next);
    if (next === null) tracer()?.readGradient(this);
    tracer()?.touchGradient(this);
    this.#grad = next;
  }

  #requireGradient(next: unknown): void {
    const isOne = next instanceof Tensor && next.dtype === this.dtype && next.device === this.device;
    if (!isOne || !sameShape(next.shape, this.shape))
      throw new ValueError("tensor", "grad", `null or a tensor like ${this.describe()} on ${this.device}`, next);
  }

  /** True for tensors that the user made or that no gradient flows through. */
  get isLeaf(): boolean {
    return this.node === null;
  }

  /** Whether gradients flow to it. May be set for leaves of a floating dtype. */
  get requiresGrad(): boolean {
    return this.leafRequiresGrad || this.ownNode !== null || (this.viewOf !== null && this.viewOf.base.requiresGrad);
  }

  /** Whether it was made in inferenceMode(), or is a view of such a tensor. Reference: torch.Tensor.is_inference. */
  get isInference(): boolean {
    return this.storage.isInference;
  }

  /** Writes to its storage so far: autograd compares it with what was saved. AutogradError for inference tensors, whose writes it does not count. */
  get version(): number {
    const { version } = this.storage;
    if (version >= 0) return version;
    throw new AutogradError({
      operation: "version",
      argument: "tensor",
      expected: "an ordinary tensor",
      received: `${this.describe()}, an inference tensor: its writes are not counted`,
    });
  }

  /** True when it shows every byte of its storage in order. */
  get coversStorage(): boolean {
    return this.offset === 0 && this.desc.isPacked && this.desc.sizeInBytes === this.storage.contentInBytes;
  }

  /** Frees the memory, unless other views or the tape still need it. Using the tensor afterwards is an error. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.storage.release();
    this.letGo();
    this.viewOf?.base.letGo();
  }

  /** @internal A traced tensor is as new again, for another run of the function that made it. */
  revive(): void {
    if (this.#disposed) {
      this.storage.retain();
      this.hold();
      this.viewOf?.base.hold();
    }
    this.#disposed = false;
    this.leafRequiresGrad = false;
    this.hooks = null;
    this.#grad = null;
    this.viewOf?.restart(this.storage.version);
  }

  /** @internal One more view of it. */
  hold(): void {
    this.#holders++;
  }

  /** @internal The last holder lets go of the history: what the tape kept for it is freed. */
  letGo(): void {
    if (--this.#holders === 0) this.ownNode?.release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** "float32[2, 3]", as error messages show it. */
  describe(): string {
    return `${this.dtype}${showShape(this.shape)}`;
  }

  /** @internal Throws when it has been disposed of. */
  requireLive(operation: string, argument = "tensor"): void {
    if (this.#disposed) throw new DisposedError(operation, argument, "a live tensor", `${this.describe()} after dispose()`);
  }
}
