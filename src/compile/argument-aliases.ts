/**
 * Finds arguments that share memory with each other or with tensors that the function reads from its closure. If a placeholder cannot replace such an
 * argument, the run restarts with the argument itself.
 */
import { callSite } from "../host/call-site.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Placeholders } from "./arguments.ts";

/** Thrown when a placeholder cannot stand for an argument: the run begins again with that argument passed as it is. */
export class Restart extends Error {
  readonly storage: Storage;
  constructor(storage: Storage, why: string) {
    super(`${why} ${callSite() ?? ""}`.trim());
    this.storage = storage;
  }
}

const REACHED = "an argument that the function also reaches by closure";

export class ArgumentAliases {
  readonly #placeholders: Placeholders;
  readonly #args: readonly Tensor[];
  /** Storages of the arguments with placeholders, with how many arguments lie in each. */
  #counts: ReadonlyMap<Storage, number> | null = null;

  constructor(placeholders: Placeholders, args: readonly Tensor[]) {
    this.#placeholders = placeholders;
    this.#args = args;
  }

  get #storages(): ReadonlyMap<Storage, number> {
    if (this.#counts !== null) return this.#counts;
    const counts = new Map<Storage, number>();
    this.#args.forEach((t, i) => {
      if (this.#placeholders.tensors[i] !== null) counts.set(t.storage, (counts.get(t.storage) ?? 0) + 1);
    });
    this.#counts = counts;
    return counts;
  }

  /** A write to one of two arguments over one storage is a write to the other. Tells whether the target is an argument. */
  requireOwnStorage(target: Tensor): boolean {
    const index = this.#placeholders.indices.get(target.storage);
    if (index === undefined) return false;
    const { storage } = this.#args[index]!;
    if (this.#storages.get(storage)! > 1) throw new Restart(storage, "arguments that share memory, one of which is written");
    return true;
  }

  /** Autograd's state of an argument that is a view depends, after a write, on its base. */
  requireNoGradientView(target: Tensor): void {
    const argument = this.#argumentOf(target);
    if (argument !== undefined && argument.viewOf !== null && argument.requiresGrad)
      throw new Restart(argument.storage, "an argument that is a view, and is written");
  }

  /** A write to an argument that is a view changes the history of its base. */
  requireNoView(target: Tensor): void {
    const argument = this.#argumentOf(target);
    if (argument !== undefined && argument.viewOf !== null)
      throw new Restart(argument.storage, "an argument that is a view, and gets another history");
  }

  /** The function asks for the gradient of the argument's own tensor, but the placeholder has it. */
  requireOwnGradient(t: Tensor): void {
    if (t.storage.trace === null) this.requireUnreached(t);
  }

  /** The function uses a tensor from outside. */
  requireUnreached(t: Tensor): void {
    if (this.#storages.has(t.storage)) throw new Restart(t.storage, REACHED);
  }

  #argumentOf(target: Tensor): Tensor | undefined {
    return this.#args[this.#placeholders.indices.get(target.storage) ?? -1];
  }
}
