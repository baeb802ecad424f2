/** What a run changes of tensors outside: gradients, histories, versions; and how they are put back. */
import { changedNodes, type TapeNode } from "../autograd/tape.ts";
import { noteWrite } from "../runtime/assign.ts";
import type { Target } from "../runtime/write.ts";
import type { Storage } from "../storage.ts";
import type { Tensor } from "../tensor.ts";

/** What a tensor outside was to autograd before the run. */
export interface Before {
  readonly grad: Tensor | null;
  readonly node: TapeNode | null;
  readonly outputIndex: number;
}

export class Outside {
  /** Outer tensors and arguments whose gradient or history the run changes, as they were. */
  readonly touched = new Map<Tensor, Before>();
  /** Leaves outside whose gradient the function itself set before any pass. */
  readonly replaced = new Set<Tensor>();
  /** Leaves whose gradient of before the call nobody needs after it. */
  readonly dropped = new Set<Tensor>();
  /** Views outside that got nodes of the run, as they were. */
  readonly #renewed = new Map<Tensor, Omit<Before, "grad"> & { readonly version: number }>();
  /** Storages outside that the run writes to, with their versions before. */
  readonly #versions = new Map<Storage, number>();

  touch(t: Tensor): void {
    if (!this.touched.has(t)) this.touched.set(t, { grad: t.grad, node: t.ownNode, outputIndex: t.outputIndex });
  }

  renew(view: Tensor): void {
    if (this.#renewed.has(view)) return;
    view.ownNode?.retain();
    this.#renewed.set(view, { node: view.ownNode, outputIndex: view.outputIndex, version: view.viewOf!.version });
  }

  /** Views outside to whose new nodes the function has added hooks or gradients to keep: those stay. */
  keepChanged(): void {
    for (const [view, before] of this.#renewed)
      if (view.ownNode !== null && changedNodes().has(view.ownNode) && !this.touched.has(view))
        this.touched.set(view, { grad: view.grad, ...before });
  }

  /** Puts gradients and histories outside back as they were before the run; `isLost`: nothing of it will be, so its writes neither. */
  undo(isLost = false): void {
    if (isLost) for (const [storage, version] of this.#versions) storage.forgetWrites(version);
    for (const [view, { node, outputIndex, version }] of this.#renewed) {
      view.node = node;
      view.outputIndex = outputIndex;
      view.viewOf!.restart(version);
      node?.release();
    }
    this.#renewed.clear();
    for (const [t, before] of this.touched) {
      t.grad = before.grad;
      t.node = before.node;
      t.outputIndex = before.outputIndex;
    }
  }

  wrote(target: Target): void {
    const { storage } = target;
    if (!this.#versions.has(storage)) this.#versions.set(storage, storage.version);
    noteWrite(target);
  }
}
