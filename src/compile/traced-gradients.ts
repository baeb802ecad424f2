/** The traced gradients of a set of results: the values of the forward pass that they read, and the program that computes them. */
import type { TapeNode } from "../autograd/tape.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Placeholders } from "./arguments.ts";
import type { Backward } from "./backward.ts";
import type { Boundary } from "./gradient-edges.ts";
import { interpret, isMissing } from "./interpret.ts";
import { allEvents, madeOf, type Event } from "./log.ts";
import { operandsOf } from "./loops.ts";
import type { Values } from "./program.ts";
import { makeExecutable, type Executable } from "./schedule.ts";
import type { BucketMapping, Source, Variant } from "./variant.ts";

/** What the gradients' programs get of the forward pass. */
export interface ForwardValues {
  /** Inputs of the programs, after the gradients of the results. */
  readonly saved: readonly Tensor[];
  /** Numbers and constants: the programs make them again. */
  readonly recomputed: readonly Event[];
}

interface Fields {
  readonly path: readonly Event[];
  readonly placeholders: Placeholders;
  readonly gradients: readonly { readonly boundary: Boundary; readonly gradient: Tensor }[];
  readonly visited: ReadonlySet<TapeNode>;
  readonly histories: readonly Backward[];
}

export class TracedGradients {
  readonly path: Fields["path"];
  /** Of the gradients of the results. */
  readonly placeholders: Placeholders;
  readonly gradients: Fields["gradients"];
  /** Nodes of the forward pass that are freed. */
  readonly visited: Fields["visited"];
  /** The gradients' own history, where it is recorded. */
  readonly histories: Fields["histories"];
  /** A program that serves other sizes too. */
  variant: Variant | null = null;
  /** How a program of larger sizes serves it; undefined: not known yet. */
  bucketed: { readonly variant: Variant; readonly mapping: BucketMapping } | null | undefined = undefined;
  #program: Executable | null = null;
  /** The device lacks an operation, so there can be no program. */
  #isMissing = false;

  constructor({ path, placeholders, gradients, visited, histories }: Fields) {
    this.path = path;
    this.placeholders = placeholders;
    this.gradients = gradients;
    this.visited = visited;
    this.histories = histories;
  }

  /** Storages that the gradients' own operations made and that a gradient or its history reads. */
  outputs(): Storage[] {
    const own = madeBy(this.path);
    const read = [...this.gradients.map((g) => g.gradient), ...this.histories.flatMap((h) => h.saved)];
    return [...new Set(read.map((t) => t.storage))].filter((s) => own.has(s) && s.sizeInBytes > 0);
  }

  /** Tensors of the forward pass that the operations read. */
  reads(): Tensor[] {
    const own = madeBy(this.path);
    const reads = new Map<Storage, Tensor>();
    const read = (t: Tensor, storage: Storage): void => {
      if (!own.has(storage) && !this.placeholders.indices.has(storage) && storage.sizeInBytes > 0 && !reads.has(storage))
        reads.set(storage, t);
    };
    for (const e of allEvents(this.path)) for (const o of operandsOf(e)) read(o.tensor, o.storage);
    for (const { gradient } of this.gradients) read(gradient, gradient.storage);
    return [...reads.values()];
  }

  /** What else the nodes have saved: rules may read more of it where the gradients' own history is recorded. */
  kept(): Tensor[] {
    const own = madeBy(this.path);
    return [...this.visited]
      .flatMap((node) => node.kept)
      .filter((t) => !own.has(t.storage) && !this.placeholders.indices.has(t.storage) && t.storage.sizeInBytes > 0);
  }

  /** What a program for several sizes is made of. */
  source({ saved, recomputed }: ForwardValues): Source {
    const dys = this.placeholders.tensors.map((t) => t!.storage);
    return {
      path: [...recomputed, ...this.path],
      begins: [...dys, ...saved.map((t) => (t.storage.trace === null ? null : t.storage))],
      outputs: this.outputs(),
    };
  }

  /** Runs the program, or operation by operation where there can be none. args: gradients of results, and after them what was saved. */
  call(native: NativeDevice, name: string, forward: ForwardValues, args: readonly Tensor[], values: Values): Storage[] {
    const count = args.length - forward.saved.length;
    if (!this.#isMissing)
      try {
        this.#program ??= this.#compile(native, name, forward, count);
        return this.#program.call(args, values);
      } catch (error) {
        if (!isMissing(error)) throw error;
        this.#isMissing = true;
      }
    const saved = savedAt(forward.saved, count);
    const argument = (storage: Storage): Tensor | null => args[this.placeholders.indices.get(storage) ?? saved.get(storage) ?? -1] ?? null;
    return interpret(native, name, [...forward.recomputed, ...this.path], values, argument, this.outputs());
  }

  #compile(native: NativeDevice, name: string, forward: ForwardValues, count: number): Executable {
    const saved = savedAt(forward.saved, count);
    const argument = (storage: Storage): number => this.placeholders.indices.get(storage) ?? saved.get(storage) ?? -1;
    const part = { path: [...forward.recomputed, ...this.path], argument, count: count + forward.saved.length, outputs: this.outputs() };
    return makeExecutable(native, part, { name, lists: undefined, regions: undefined, fuse: undefined });
  }

  dispose(): void {
    this.#program?.dispose();
    this.variant?.drop();
    for (const h of this.histories) h.dispose();
  }
}

/** Which argument of a program lies in a traced storage that was saved; the first of them is argument `first`. */
function savedAt(saved: readonly Tensor[], first: number): Map<Storage, number> {
  const found = new Map<Storage, number>();
  saved.forEach((t, i) => {
    if (t.storage.trace !== null) found.set(t.storage, first + i);
  });
  return found;
}

function madeBy(path: readonly Event[]): Set<Storage> {
  const made = new Set<Storage>();
  for (const e of allEvents(path)) for (const m of madeOf(e)) if (m.ownsStorage) made.add(m.tensor.storage);
  return made;
}

/** Everything that a function made or read: hooks and rules of the user's may refer to any of it. */
export function everythingOf(path: readonly Event[]): Tensor[] {
  const found = new Map<Storage, Tensor>();
  const add = (t: Tensor, storage: Storage): void => {
    if (storage.sizeInBytes > 0 && !found.has(storage)) found.set(storage, t);
  };
  for (const e of allEvents(path)) {
    if (e.kind === "operation") for (const o of e.inputs) add(o.tensor, o.storage);
    if (e.kind === "assign") for (const o of [e.target, e.source]) add(o.tensor, o.storage);
    for (const m of madeOf(e)) if (m.ownsStorage) add(m.tensor, m.tensor.storage);
  }
  return [...found.values()];
}
