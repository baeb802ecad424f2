/** Loops of a path as trees: the events of a body belong to its loop. */
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { allEvents, madeOf, type Event, type LoopBegin, type LoopEnd, type LoopTest, type Region, type Rewrite } from "./log.ts";
import type { Operand } from "./operand.ts";

/** Thrown where a loop's body cannot be a program of its own: the run begins again, and traces each step. */
export class Unrolled extends Error {}

/** What a program consists of. */
export type Leaf = Exclude<Event, Region | Rewrite | LoopBegin | LoopTest | LoopEnd>;

/** A loop with its body. */
export interface LoopNode {
  readonly kind: "body";
  readonly begin: LoopBegin;
  /** What says before each step whether there is one; null where the number of steps is known. */
  readonly test: { readonly items: readonly Item[]; readonly holds: Operand } | null;
  readonly end: LoopEnd;
  readonly body: readonly Item[];
}

export type Item = Leaf | LoopNode;

/** Tensors that an event reads or writes. */
export function operandsOf(e: Event): readonly Operand[] {
  switch (e.kind) {
    case "operation":
      return e.inputs;
    case "assign":
      return [e.target, e.source];
    case "loop":
      return [...e.init, ...e.xs];
    case "loopTest":
      return [e.holds];
    case "loopEnd":
      return [...e.carry, ...e.ys];
    default:
      return [];
  }
}

/** Whether a path has loops. */
export function hasLoops(path: Iterable<Event>): boolean {
  for (const e of allEvents(path)) if (e.kind === "loop") return true;
  return false;
}

/** Numbers and data that a body only reads are the same in each step: they come before the loop. */
export function nested(path: Iterable<Event>): Item[] {
  const events = [...allEvents(path)];
  const written = new Set<Storage>();
  for (const e of events) if (e.kind === "assign") written.add(e.target.storage);
  const whole: Item[] = [];
  const open: { readonly begin: LoopBegin; items: Item[]; test: LoopNode["test"] }[] = [];
  for (const e of events) {
    const items = open.at(-1)?.items ?? whole;
    if (e.kind === "loop") open.push({ begin: e, items: [], test: null });
    else if (e.kind === "loopTest") {
      const loop = open.at(-1)!;
      loop.test = { items: loop.items, holds: e.holds };
      loop.items = [];
    } else if (e.kind === "loopEnd") {
      const { begin, test, items: body } = open.pop()!;
      (open.at(-1)?.items ?? whole).push({ kind: "body", begin, test, end: e, body });
    } else if ((e.kind === "scalar" || e.kind === "constant") && !written.has(e.output.tensor.storage)) whole.push(e);
    else items.push(e);
  }
  return whole;
}

/** Tensors with storages of their own that an item made, as those after it see them. */
export function madeBy(item: Item): readonly Tensor[] {
  const made = item.kind === "body" ? item.end.outputs : madeOf(item);
  return made.filter((m) => m.ownsStorage).map((m) => m.tensor);
}

/** Storages that an item uses and its body, if it is a loop, did not make. */
export function usedBy(item: Item): Set<Storage> {
  if (item.kind !== "body") return new Set(operandsOf(item).map((o) => o.storage));
  const used = new Set([...item.begin.init, ...item.begin.xs].map((o) => o.storage));
  for (const s of freeIn(item)) used.add(s);
  return used;
}

/** Storages that a loop's body and test use, other than their own and the placeholders'. */
export function freeIn({ begin, test, body, end }: LoopNode): Set<Storage> {
  const own = [...begin.carry, ...begin.slices].map((m) => m.tensor.storage);
  const tested = test === null ? [] : freeAmong(own, test.items, [test.holds]);
  return new Set([...tested, ...freeAmong(own, body, operandsOf(end))]);
}

/** Storages that some items and their results use and did not make, other than those that are there. */
export function freeAmong(there: readonly Storage[], items: readonly Item[], results: readonly Operand[]): Set<Storage> {
  const own = new Set(there);
  const free = new Set<Storage>();
  const use = (s: Storage): void => void (own.has(s) || free.add(s));
  for (const item of items) {
    for (const s of usedBy(item)) use(s);
    for (const t of madeBy(item)) own.add(t.storage);
  }
  for (const o of results) use(o.storage);
  return free;
}
