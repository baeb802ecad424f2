/** Changes that a run makes to tensors outside (gradients, histories, versions), and their undo. */
import { changedNodes, type TapeNode } from "../autograd/tape.ts";
import { noteWrite } from "../runtime/assign.ts";
import type { Target } from "../runtime/storage-write.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";

/** What a tensor outside was to autograd before the run. */
export interface Before {
  readonly grad: Tensor | null;
  readonly node: TapeNode | null;
  readonly outputIndex: number;
  /** Its node when the run first changed something: of a view that the run had renewed, one of the run's. */
  readonly seen: TapeNode | null;
  /** Whether its gradient from before the call is disposed of after it, as zeroGrad() does. */
  drops: boolean;
}

type Renewed = Pick<Before, "node" | "outputIndex"> & { readonly version: number };

const NONE: ReadonlyMap<Tensor, Before> = new Map();
const NO_TENSORS: ReadonlySet<Tensor> = new Set();

/** Most runs change nothing outside: what there is to note is made when there is something. */
export class Outside {
  #touched: Map<Tensor, Before> | null = null;
  #replaced: Set<Tensor> | null = null;
  #dropped: Set<Tensor> | null = null;
  /** Views outside that got nodes of the run, as they were. */
  #renewed: Map<Tensor, Renewed> | null = null;
  /** The run's number; storages that it writes to have it. */
  readonly #id: number;
  /** Storages outside that the run writes to, with their versions before: again where another run came between. */
  #written: Storage[] | null = null;
  readonly #versions: number[] = [];

  /** What takes back other changes: of a run that fails, or of every run. */
  #reversals: { readonly undo: () => void; readonly always: boolean }[] | null = null;

  constructor(id: number) {
    this.#id = id;
  }

  /** Outer tensors and arguments whose gradient or history the run changes, as they were. */
  get touched(): ReadonlyMap<Tensor, Before> {
    return this.#touched ?? NONE;
  }

  /** Leaves outside whose gradient the function itself set before any pass. */
  get replaced(): ReadonlySet<Tensor> {
    return this.#replaced ?? NO_TENSORS;
  }

  /** Whether a leaf's gradient from before the call is disposed of after it. */
  drops(leaf: Tensor, before: Before): boolean {
    return before.drops || this.#dropped?.has(leaf) === true;
  }

  /** Whether the run has changed nothing outside. */
  get isUnchanged(): boolean {
    return this.#touched === null && this.#renewed === null && this.#written === null && this.#reversals === null;
  }

  touch(t: Tensor): void {
    if (this.touched.has(t)) return;
    const { node, outputIndex } = this.#renewed?.get(t) ?? { node: t.ownNode, outputIndex: t.outputIndex };
    this.#note(t, { grad: t.ownGrad, node, outputIndex, seen: t.ownNode, drops: false });
  }

  #note(t: Tensor, before: Before): void {
    (this.#touched ??= new Map<Tensor, Before>()).set(t, before);
  }

  replace(leaf: Tensor): void {
    (this.#replaced ??= new Set<Tensor>()).add(leaf);
  }

  drop(leaf: Tensor): void {
    const before = this.#touched?.get(leaf);
    if (before !== undefined) before.drops = true;
    else (this.#dropped ??= new Set<Tensor>()).add(leaf);
  }

  renew(view: Tensor): void {
    const renewed = (this.#renewed ??= new Map<Tensor, Renewed>());
    if (renewed.has(view)) return;
    view.ownNode?.retain();
    renewed.set(view, { node: view.ownNode, outputIndex: view.outputIndex, version: view.viewOf!.version });
  }

  /** Views outside to whose new nodes the function has added hooks or gradients to keep: those stay. */
  keepChanged(): void {
    if (this.#renewed === null) return;
    for (const [view, before] of this.#renewed)
      if (view.ownNode !== null && changedNodes().has(view.ownNode))
        this.#note(view, { grad: view.ownGrad, drops: false, ...this.touched.get(view), ...before, seen: before.node });
  }

  onUndo(undo: () => void, always: boolean): void {
    (this.#reversals ??= []).push({ undo, always });
  }

  /** Puts gradients and histories outside back as they were before the run; `isLost`: nothing of it will be, so its writes neither. */
  undo(isLost = false): void {
    if (this.isUnchanged) return;
    if (isLost && this.#written !== null)
      for (let i = this.#written.length - 1; i >= 0; i--) this.#written[i]!.forgetWrites(this.#versions[i]!);
    // Once: a run may be lost after its end.
    const reversals = this.#reversals?.reverse() ?? [];
    for (const { undo, always } of reversals) if (isLost || always) undo();
    this.#reversals = isLost ? null : reversals.filter((r) => !r.always).reverse();
    if (this.#renewed !== null) {
      for (const [view, { node, outputIndex, version }] of this.#renewed) {
        view.node = node;
        view.outputIndex = outputIndex;
        view.viewOf!.restart(version);
        node?.release();
      }
      this.#renewed = null;
    }
    if (this.#touched === null) return;
    for (const [t, before] of this.#touched) {
      t.grad = before.grad;
      t.node = before.node;
      t.outputIndex = before.outputIndex;
    }
  }

  wrote(target: Target): void {
    const { storage } = target;
    if (storage.writtenIn !== this.#id) {
      storage.writtenIn = this.#id;
      (this.#written ??= []).push(storage);
      this.#versions.push(storage.version);
    }
    noteWrite(target);
  }
}
