/** What the programs of gradients recompute of a function's forward pass, in place of reading it: what calls of checkpoint() made. */
import { markOf, type Segment } from "../core/checkpoint-marks.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { allEvents, madeOf, type Creation, type Event, type Operation } from "./log.ts";

type Making = Operation | Creation;

/** The events that make some storages again, in order, and the tensors that these events read. */
export interface Remade {
  readonly events: readonly Making[];
  readonly reads: readonly Tensor[];
}

const NOTHING: Remade = { events: [], reads: [] };

export class Recomputation {
  /** Of each storage that can be made again: the event that does it. */
  readonly #makers = new Map<Storage, Making>();
  readonly #order = new Map<Making, number>();

  /** path: of the function. What it reads of a segment outside of it is in memory anyway, and what is written in place may have another value later. */
  constructor(path: readonly Event[]) {
    const segments = new Map<Storage, Segment>();
    for (const e of allEvents(path)) {
      const mark = markOf(e);
      if (mark === null || mark.isGradient || (e.kind !== "operation" && e.kind !== "create") || e.definition.host !== undefined) continue;
      this.#order.set(e, this.#order.size);
      for (const { tensor } of madeOf(e)) {
        this.#makers.set(tensor.storage, e);
        segments.set(tensor.storage, mark.segment);
      }
    }
    if (this.#makers.size === 0) return;
    const written = new Set<Storage>();
    for (const e of allEvents(path)) {
      if (e.kind === "assign") written.add(e.target.storage);
      const read = e.kind === "operation" ? e.inputs : e.kind === "assign" ? [e.source] : [];
      for (const { storage } of read)
        if (segments.has(storage) && markOf(e)?.segment !== segments.get(storage)) this.#makers.delete(storage);
    }
    for (const [storage, e] of this.#makers)
      if (madeOf(e).some((m) => written.has(m.tensor.storage)) || (e.kind === "operation" && e.inputs.some((o) => written.has(o.storage))))
        this.#makers.delete(storage);
  }

  makes(storage: Storage): boolean {
    return this.#makers.has(storage);
  }

  /** How to make those of the storages again that can be. */
  of(storages: Iterable<Storage>): Remade {
    if (this.#makers.size === 0) return NOTHING;
    const events = new Set<Making>();
    const reads = new Map<Storage, Tensor>();
    const waiting = [...storages];
    for (let storage = waiting.pop(); storage !== undefined; storage = waiting.pop()) {
      const maker = this.#makers.get(storage);
      if (maker === undefined || events.has(maker)) continue;
      events.add(maker);
      for (const o of maker.kind === "operation" ? maker.inputs : []) {
        if (this.#makers.has(o.storage)) waiting.push(o.storage);
        else if (o.storage.sizeInBytes > 0) reads.set(o.storage, o.tensor);
      }
    }
    return { events: [...events].sort((a, b) => this.#order.get(a)! - this.#order.get(b)!), reads: [...reads.values()] };
  }
}
