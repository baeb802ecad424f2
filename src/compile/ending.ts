/** How a path ends: what the function returns and what it changed outside, and the program that computes both. */
import type { TapeNode } from "../autograd/tape.ts";
import type { Device } from "../device.ts";
import type { Tensor } from "../tensor.ts";
import type { Storage } from "../storage.ts";
import { tensorsIn, type Ghosts } from "./arguments.ts";
import { Backward } from "./backward.ts";
import { isSame, isSameOrNull, operand, pathTo, type Event, type GradientEffect, type Operand, type Step } from "./log.ts";
import { Lowering } from "./lower.ts";
import { CompiledProgram } from "./program.ts";
import type { Continuation, Run } from "./trace.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import type { Regions } from "../graph/plan/plan.ts";

/** A tensor outside (or an argument's stand-in) whose gradient or history a call changes. */
export interface Effect {
  readonly tensor: Tensor;
  /** undefined: stays. */
  readonly grad: Tensor | null | undefined;
  /** Where it is on the tape afterwards; undefined: as before. */
  readonly node: TapeNode | null | undefined;
  readonly outputIndex: number;
}

export interface ProgramOptions {
  readonly name: string;
  readonly lists: number;
  readonly regions: Regions | undefined;
}

/** Where a tensor is on the tape. A view whose base has moved on may have no place: it says so when it is asked for its gradient. */
function historyOf(t: Tensor, lacks?: Map<Tensor, unknown>): TapeNode | null {
  try {
    return t.node;
  } catch (error) {
    lacks?.set(t, error);
    return null;
  }
}

export class Ending {
  readonly step: Step;
  readonly results: readonly Operand[];
  readonly effects: readonly Effect[];
  readonly continuations: readonly Continuation[];
  /** What the function returned, in terms of traced tensors: for calls that are not checked. */
  readonly result: unknown;
  /** Traced tensors with a history that outlive the call. */
  readonly carried: readonly Tensor[];
  /** Traced storages whose last value the call hands out. */
  readonly outputs: readonly Storage[];
  readonly outputOf: ReadonlyMap<Storage, number>;
  /** Tensors outside whose gradient or history changes. */
  readonly outside: ReadonlySet<Tensor>;
  readonly backward: Backward | null;
  #program: CompiledProgram | null = null;
  readonly device: Device | null;
  readonly #path: readonly Event[];
  /** Gradients of leaves outside that the path begins with. */
  readonly #begins: readonly GradientEffect[];
  readonly #lacks = new Map<Tensor, unknown>();
  readonly #isTraced: (t: Tensor) => boolean;

  constructor(run: Run, ghosts: Ghosts, result: unknown, effects: readonly Effect[]) {
    this.step = run.at;
    this.device = run.device;
    this.#isTraced = (t) => run.isTraced(t);
    this.result = result;
    this.effects = effects;
    this.continuations = [...run.continuations];
    this.#path = pathTo(run.at);
    const seen = new Set<Tensor>(run.replaced);
    this.#begins = this.#path
      .flatMap((event) => (event.kind === "region" ? event.effects : []))
      .filter(({ leaf }) => leaf.storage.trace === null && !seen.has(leaf) && seen.add(leaf));
    const returned = tensorsIn(result);
    this.results = returned.map((t) => operand(t, !run.isTraced(t)));
    const handed = new Set<Tensor>();
    const hand = (t: Tensor): void => {
      if (handed.has(t)) return;
      handed.add(t);
      if (t.grad !== null && run.isTraced(t)) hand(t.grad);
    };
    for (const t of returned) hand(t);
    for (const e of effects) if (e.grad) hand(e.grad);
    for (const c of run.continuations) hand(c.grad);
    const changed = effects.flatMap((e) => (e.node ? [e.tensor] : []));
    this.carried = [...new Set([...handed, ...changed])].filter((t) => historyOf(t, this.#lacks)?.isTraced === true);
    this.backward = this.carried.length === 0 ? null : new Backward(run.name, this.carried, this.#path);
    const outputs = new Set<Storage>();
    for (const t of [...handed, ...(this.backward?.saved ?? [])])
      if (t.storage.trace !== null && !ghosts.indices.has(t.storage) && t.storage.sizeInBytes > 0) outputs.add(t.storage);
    this.outputs = [...outputs];
    this.outputOf = new Map(this.outputs.map((s, i) => [s, i]));
    this.outside = new Set(effects.flatMap((e) => (run.isTraced(e.tensor) ? [] : [e.tensor])));
  }

  /** Why a returned tensor has no history, though it requires a gradient; null when it has one or needs none. */
  lackOf(t: Tensor): unknown {
    return this.#lacks.get(t) ?? null;
  }

  /** Whether another run of the same path ended alike. */
  matches(result: unknown, effects: readonly Effect[], continuations: readonly Continuation[]): boolean {
    const returned = tensorsIn(result);
    return (
      returned.length === this.results.length &&
      returned.every((t, i) => t.ownNode === this.results[i]!.node && isSame(this.results[i]!, t)) &&
      effects.length === this.effects.length &&
      effects.every((e, i) => {
        const own = this.effects[i]!;
        return e.tensor === own.tensor && e.grad === own.grad && e.node === own.node && e.outputIndex === own.outputIndex;
      }) &&
      continuations.length === this.continuations.length &&
      continuations.every((c, i) => c.grad === this.continuations[i]!.grad && c.node === this.continuations[i]!.node)
    );
  }

  program(native: NativeDevice, ghosts: Ghosts, options: ProgramOptions): CompiledProgram {
    if (this.#program !== null) return this.#program;
    const lowering = new Lowering(native, options.name, (storage) => ghosts.indices.get(storage) ?? -1);
    lowering.add(this.#path);
    const written = lowering.finish(this.outputs);
    this.#program = new CompiledProgram(
      native,
      { graph: lowering.graph, inputs: lowering.inputs, contents: this.outputs.map((s) => s.contentInBytes), written },
      options.name,
      options.lists,
      options.regions,
    );
    return this.#program;
  }

  /** Whether the gradients that the path begins with are there as they were: for calls that are not checked. */
  get isApplicable(): boolean {
    return this.#begins.every(({ leaf, before }) => isSameOrNull(before, leaf.grad));
  }

  isTraced(t: Tensor): boolean {
    return this.#isTraced(t);
  }

  /** The program, if it was made. */
  get made(): CompiledProgram | null {
    return this.#program;
  }

  dispose(): void {
    this.#program?.dispose();
    this.#program = null;
    this.backward?.dispose();
  }
}
