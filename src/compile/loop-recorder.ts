/**
 * Records loops: one step is traced on placeholders of its carry and slices, between an event that begins the loop and one that ends it. Results get one
 * node of the tape, whose gradients are a loop too.
 */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { edgeTensor } from "../autograd/record.ts";
import { TapeNode, changedNodes, nextSequence } from "../autograd/tape.ts";
import { isFloat, type DType } from "../core/dtype.ts";
import { TraceError } from "../core/errors.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Loop, LoopBody, LoopResult, LoopTest, Tracer } from "../core/tracer.ts";
import { callSite } from "../host/call-site.ts";
import { contiguousOp } from "../runtime/assign.ts";
import { isInBranch } from "../autograd/branch.ts";
import { batching } from "../core/batching.ts";
import { madeAs, madeOf, type Constant, type Event, type LoopBegin, type LoopEnd, type Made, type Scalar, type Step } from "./log.ts";
import { loopGradients } from "./loop-gradient.ts";
import { historyOf } from "./loop-history.ts";
import { Unrolled, operandsOf } from "./loops.ts";
import { nextLoop, nextLoopEnd, nextLoopTest } from "./next-step.ts";
import type { Operand } from "./operand.ts";
import { Recorder } from "./recorder.ts";

/** A number or data of a body. */
export type LoopNumber = Scalar | Constant;

interface Open {
  readonly begin: LoopBegin;
  /** In the order in which the body asks for them. */
  readonly numbers: LoopNumber[];
}

/** The numbers of an earlier trace; those of the loop around it include them. */
interface Known {
  readonly numbers: readonly LoopNumber[];
  next: number;
  readonly around: Known | null;
}

export abstract class LoopRecorder extends Recorder implements Pick<Tracer, "loop" | "hasLoops"> {
  /** Why the run begins again without loops: whatever becomes of the error in the function's own code. */
  unrolled: Unrolled | null = null;
  readonly #open: Open[] = [];
  /** Numbers that a body asks for once more: those of when it was traced first. */
  #known: Known | null = null;
  /** A body is traced a second time, which must ask for the same. */
  #isChecking = false;

  abstract dispatch(definition: typeof contiguousOp, inputs: readonly Tensor[], attrs: undefined, records: boolean): Tensor[];

  /** A traced tensor as the event that made it left it. */
  protected abstract revived(made: Made): Tensor;

  get hasLoops(): boolean {
    return this.recorded.unrolls === null && batching() === null && !isInBranch();
  }

  protected get isChecking(): boolean {
    return this.#isChecking;
  }

  protected get isInLoop(): boolean {
    return this.#open.length > 0;
  }

  /** Throws in a loop's body: a step does what happens once only in a trace. */
  protected refuseInLoop(what: string): void {
    if (this.#open.length > 0) this.#unroll(what);
  }

  #unroll(what: string): never {
    throw (this.unrolled = new Unrolled(`each step of a loop is traced: ${what} ${callSite() ?? ""}`.trim()));
  }

  protected override leave(what: string): void {
    if (this.#isChecking) this.#unroll(`its function does not do the same each time: ${what}`);
    super.leave(what);
  }

  protected override requireReachable(t: Tensor): void {
    const loop = this.recorded.enclosed?.get(t.storage);
    if (loop !== undefined && !this.#open.some((o) => o.begin === loop)) this.#unroll("a tensor of its body is used after it");
  }

  /** Throws for a write in a loop's body to what it did not make. */
  protected requireOwnInLoop({ storage }: Tensor): void {
    const open = this.#open.at(-1);
    if (open !== undefined && !this.#made(this.#bodyOf(open.begin)).has(storage)) this.#unroll("it writes to what is outside of it");
  }

  /** The number that a body asked for at this point when it was traced first; null if this is the first time. */
  protected knownNumber(kind: LoopNumber["kind"], dtype: DType): Tensor | null {
    if (this.#known === null) return null;
    const event = this.#known.numbers[this.#known.next];
    for (let known: Known | null = this.#known; known !== null; known = known.around) known.next++;
    if (event?.kind !== kind || event.dtype !== dtype) this.#refuseOthers(kind);
    for (const { numbers } of this.#open) numbers.push(event);
    return event.output.tensor;
  }

  #refuseOthers(kind: string): never {
    throw new TraceError({
      operation: this.name,
      argument: "fn",
      expected: "a function of a loop that does the same each time it is traced",
      received: `another ${kind}`,
    });
  }

  protected noteNumber(event: LoopNumber): void {
    if (!this.#isChecking) for (const { numbers } of this.#open) numbers.push(event);
  }

  /** Runs a body again, with the numbers of its first trace. */
  withNumbers<T>(numbers: readonly LoopNumber[], run: () => T): T {
    const before = this.#known;
    this.#known = { numbers, next: 0, around: before };
    try {
      return run();
    } finally {
      this.#known = before;
    }
  }

  /** Runs a backward pass through a body that this run has traced: it reads what branches have saved. */
  withinPass<T>(run: () => T): T {
    const before = this.isInPass;
    this.isInPass = true;
    try {
      return run();
    } finally {
      this.isInPass = before;
    }
  }

  loop(loop: Loop, body: LoopBody, test?: LoopTest): LoopResult {
    const init = loop.init.map((t) => this.#packed(t));
    const xs = loop.xs.map((t) => this.#packed(t));
    const begin = this.#begin(loop, init, xs);
    const { at } = this;
    const open: Open = { begin, numbers: [] };
    const step = (): LoopResult => {
      if (test !== undefined) this.#test(begin, test(begin.carry.map((m) => this.revived(m))));
      const result = body(
        begin.carry.map((m) => this.revived(m)),
        begin.slices.map((m) => this.revived(m)),
        begin.start,
      );
      const made = this.#made(this.#bodyOf(begin));
      const own = (t: Tensor): Tensor => (t.coversStorage && made.delete(t.storage) ? t : this.#contiguous(t));
      const carry = result.carry.map(own);
      return { carry, ys: result.ys.map((t) => (carry.includes(t) ? t : own(t))) };
    };
    this.#open.push(open);
    try {
      const result = step();
      const known = this.recording === null ? nextLoopEnd(this.at, begin, result.carry, result.ys) : null;
      if (known !== null) {
        this.at = known;
        return this.#outputs(known.event);
      }
      const end = this.#end(loop, body, open, { init, xs }, result);
      if (this.recording === null && this.#known === null) this.#check(at, step, end);
      return this.#outputs(end);
    } finally {
      this.#open.pop();
    }
  }

  #test(begin: LoopBegin, holds: Tensor): void {
    const own = holds.coversStorage && this.#made(this.#bodyOf(begin)).has(holds.storage) ? holds : this.#contiguous(holds);
    const known = this.recording === null ? nextLoopTest(this.at, begin, own) : null;
    if (known !== null) {
      this.at = known;
      return;
    }
    if (this.recording === null) this.leave(begin.name);
    this.push({ kind: "loopTest", begin, holds: this.operand(begin.name, own) });
  }

  #packed(t: Tensor): Tensor {
    return t.desc.isPacked ? t : this.#contiguous(t);
  }

  #contiguous(t: Tensor): Tensor {
    return this.dispatch(contiguousOp, [t], undefined, t.requiresGrad && isGradEnabled())[0]!;
  }

  #begin(loop: Loop, init: readonly Tensor[], xs: readonly Tensor[]): LoopBegin {
    const { name, length, reverse } = loop;
    if (this.recording === null) {
      const step = nextLoop(this.at, loop, init, xs);
      if (step !== null) {
        this.at = step;
        return step.event;
      }
      this.leave(name);
    }
    const site = callSite();
    const seen = (list: readonly Tensor[]): Operand[] => list.map((t) => this.operand(name, t));
    const { device } = init[0] ?? xs[0]!;
    const placeholder = (of: Tensor, shape: readonly number[], requires: boolean): Made => {
      const t = this.allocate(device, { dtype: of.dtype, shape });
      // Its history ends at this node, which is no leaf: a write to it is found.
      if (requires && isFloat(t.dtype)) t.node = new TapeNode(name, [], [t.desc], [], () => []);
      return madeAs(t, true);
    };
    const isRecorded = isGradEnabled();
    const begin: LoopBegin = {
      kind: "loop",
      name,
      length,
      reverse,
      init: seen(init),
      xs: seen(xs),
      carry: init.map((t) => placeholder(t, t.shape, isRecorded)),
      slices: xs.map((t) => placeholder(t, t.shape.slice(1), isRecorded && t.requiresGrad)),
      start: nextSequence(),
      origin: site === null ? name : `${name} ${site}`,
    };
    this.push(begin);
    return begin;
  }

  /** The events of the loop that is open. */
  #bodyOf(begin: LoopBegin): Event[] {
    if (this.recording?.events.includes(begin) === true) return this.recording.events.slice(this.recording.events.indexOf(begin) + 1);
    const events: Event[] = [];
    for (let s: Step | null = this.at; s?.event != null && s.event !== begin; s = s.parent) events.push(s.event);
    return events.reverse();
  }

  /** Storages that each step makes. */
  #made(body: readonly Event[]): Set<Storage> {
    const made = body.flatMap((e) => (e.kind === "scalar" || e.kind === "constant" ? [] : madeOf(e).filter((m) => m.ownsStorage)));
    return new Set(made.map((m) => m.tensor.storage));
  }

  #outputs({ outputs, kept, carry }: LoopEnd): LoopResult {
    const all = outputs.map((m) => this.revived(m));
    return { carry: all.slice(kept.length, kept.length + carry.length), ys: all.slice(kept.length + carry.length) };
  }

  #end(
    { name, length, reverse }: Loop,
    body: LoopBody,
    { begin, numbers }: Open,
    { init, xs }: Pick<Loop, "init" | "xs">,
    { carry, ys }: LoopResult,
  ): LoopEnd {
    const events = this.#bodyOf(begin);
    const made = this.#made(events);
    const written = new Set(events.flatMap((e) => (e.kind === "assign" ? [e.target.storage] : [])));
    if (numbers.some((e) => written.has(e.output.tensor.storage))) this.#unroll("it writes to a number or to data");
    for (const node of changedNodes()) if (node.sequence >= begin.start) this.#unroll("hooks on a tensor of its body");
    if (begin.carry.some((m) => (m.tensor.hooks?.length ?? 0) > 0)) this.#unroll("hooks on its carry");
    const history = isGradEnabled() ? historyOf(begin, init, xs, carry, ys) : null;
    if (history !== null && length === null) this.#unroll("its gradients need to know how many steps there are");
    const seen = (list: readonly Tensor[]): Operand[] => list.map((t) => this.operand(name, t));
    const results = { carry: seen(carry), ys: seen(ys) };
    const { device } = init[0] ?? xs[0]!;
    const make = ({ dtype, shape }: Tensor, isStacked: boolean): Tensor =>
      this.allocate(device, { dtype, shape: isStacked ? [length!, ...shape] : shape });
    const stacks = history === null ? [] : carry.map((t) => make(t, true));
    const outputs = [...stacks, ...carry.map((t) => make(t, false)), ...ys.map((t) => make(t, true))];
    if (history !== null) {
      const { requires, reads, outside } = history;
      const edges = outside.map((edge) => edgeTensor(device, edge, "leaf" in edge ? edge.leaf.desc : edge.node.outputs[edge.output]!));
      const own = new Set([...begin.carry, ...begin.slices].map((m) => m.tensor.storage));
      const read = new Map<Storage, Tensor>();
      for (const o of events.flatMap(operandsOf)) if (!own.has(o.storage) && !made.has(o.storage)) read.set(o.storage, o.tensor);
      for (const e of numbers) read.delete(e.output.tensor.storage);
      for (const t of xs) read.delete(t.storage);
      const specs = outputs.map((t) => t.desc);
      const recorded = {
        name,
        length: length!,
        reverse,
        body,
        numbers,
        requires,
        reads,
        outside,
        count: { carry: init.length, xs: xs.length },
      };
      const saved = [...xs, ...read.values(), ...stacks];
      const node = new TapeNode(name, [...init, ...xs, ...edges], specs, saved, (dys, kept) => loopGradients(recorded, dys, kept), {
        outputsFrom: xs.length + read.size,
      });
      edges.forEach((t, i) => {
        if ("node" in outside[i]!) t.dispose();
      });
      [...requires.carry, ...requires.carry, ...requires.ys].forEach((is, i) => {
        if (!is || !isFloat(outputs[i]!.dtype)) return;
        outputs[i]!.node = node;
        outputs[i]!.outputIndex = i;
      });
    }
    const end: LoopEnd = {
      kind: "loopEnd",
      begin,
      ...results,
      kept: stacks.map((_, i) => i),
      outputs: outputs.map((t) => madeAs(t, true)),
    };
    const enclosed = (this.recorded.enclosed ??= new WeakMap<Storage, LoopBegin>());
    for (const m of [...begin.carry, ...begin.slices]) enclosed.set(m.tensor.storage, begin);
    for (const s of made) if (!enclosed.has(s)) enclosed.set(s, begin);
    this.push(end);
    return end;
  }

  /** Traces the body once more: what differs by something else than its tensors is no loop. */
  #check(begin: Step, step: () => LoopResult, end: LoopEnd): void {
    const { at } = this;
    if (this.#bodyOf(end.begin).some((e) => e.kind === "assign" || e.kind === "rewrite")) return;
    const outer = this.#isChecking;
    this.#isChecking = true;
    this.at = begin;
    try {
      const { carry, ys } = step();
      if (nextLoopEnd(this.at, end.begin, carry, ys)?.event !== end) this.#unroll("its function does not do the same each time");
    } finally {
      this.#isChecking = outer;
      this.at = at;
    }
  }
}
