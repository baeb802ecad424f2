/** What runs a path: one program, or a schedule of programs and loops if the path has loops. */
import { inPhase } from "../host/phases.ts";
import { outsideScopes } from "../core/scope.ts";
import { Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import type { Event, Scalar } from "./log.ts";
import { freeIn, hasLoops, madeBy, nested, usedBy, type Item, type Leaf, type LoopNode } from "./loops.ts";
import type { Operand } from "./operand.ts";
import { Lowering } from "./path-graph.ts";
import { CompiledProgram, type Lowered, type ProgramOptions, type Values } from "./program.ts";
import { fuseMode } from "../graph/passes/fuse/fuse.ts";
import { itemSync } from "../ops/data/conversion.ts";
import { runLoop, type StepResult } from "./run-loop.ts";
import { sharedProgram, type SharedProgram } from "./shared-programs.ts";

/** A path as it is made into programs. */
export interface Part {
  readonly path: Iterable<Event>;
  /** Index of the argument in a placeholder's storage, -1 for others. */
  readonly argument: (storage: Storage) => number;
  /** Arguments of a call. */
  readonly count: number;
  /** Storages whose last values a call returns. */
  readonly outputs: readonly Storage[];
  /** Whether the path gives the same graph later. */
  readonly isFixed?: boolean;
}

/** A program of its own, or a schedule. */
export type Executable = CompiledProgram | Schedule;

/** A program of a call, and the loops that it is in, the outer ones first. */
export interface ProgramInLoops {
  readonly program: CompiledProgram;
  readonly loops: readonly LoopStep[];
}

/** The programs of a call, in the order in which they run. */
export function programsOf(executable: Executable, loops: readonly LoopStep[] = []): ProgramInLoops[] {
  if (executable instanceof CompiledProgram) return [{ program: executable, loops }];
  return executable.steps.flatMap((s) =>
    s.kind === "program"
      ? [{ program: s.program, loops }]
      : [s.test, s.body].flatMap((p) => (p === null ? [] : programsOf(p, [...loops, s]))),
  );
}

/** Makes what runs a path. */
export function makeExecutable(native: NativeDevice, part: Part, options: ProgramOptions): Executable {
  if (hasLoops(part.path)) return new Schedule(native, { ...part, items: nested(part.path) }, options);
  const lower = (): Lowered => lowered(native, part.path, part, options);
  return new CompiledProgram(native, lower(), options, part.isFixed === true ? lower : null);
}

/** The graph of events, with what it reads and writes. */
function lowered(
  native: NativeDevice,
  events: Iterable<Event>,
  { argument, outputs }: Pick<Part, "argument" | "outputs">,
  { name, tuner }: ProgramOptions,
): Lowered {
  const lowering = new Lowering(native, name, argument, null, tuner);
  const written = inPhase("lower", () => {
    lowering.add(events);
    return lowering.finish(outputs);
  });
  return { graph: lowering.graph, inputs: lowering.inputs, contents: outputs.map((s) => s.contentInBytes), written };
}

interface Body extends Omit<Part, "path"> {
  readonly items: readonly Item[];
  /** Numbers from before, which programs contain as constants. */
  readonly numbers?: ReadonlyMap<Storage, Scalar>;
  /** It is run many times: other schedules may have the same. */
  readonly isBody?: boolean;
}

/** A program, with the values of earlier steps that it takes after the call's arguments, and the values that it gives. */
interface ProgramStep {
  readonly kind: "program";
  readonly program: CompiledProgram;
  readonly shared: SharedProgram | null;
  readonly takes: readonly Storage[];
  readonly gives: readonly Storage[];
}

/** A loop over its body. */
export interface LoopStep {
  readonly kind: "loop";
  readonly node: LoopNode;
  readonly body: Schedule;
  /** What says whether there is another step; it takes what the body takes. */
  readonly test: Schedule | null;
  /** Steps of the last call. */
  steps: number;
  /** What the body takes after carry and slices. */
  readonly takes: readonly Storage[];
}

export class Schedule {
  readonly native: NativeDevice;
  readonly name: string;
  readonly steps: readonly (ProgramStep | LoopStep)[];
  /** Storages outside that it writes to. */
  readonly state: readonly Storage[];
  readonly #argument: (storage: Storage) => number;
  readonly #outputs: readonly Storage[];
  /** The tensors that fill the storages that steps give. */
  readonly #whole = new Map<Storage, Tensor>();
  #isDisposed = false;

  constructor(native: NativeDevice, part: Body, options: ProgramOptions) {
    this.native = native;
    this.name = options.name;
    this.#argument = part.argument;
    this.#outputs = part.outputs;
    const steps: (ProgramStep | LoopStep)[] = [];
    try {
      this.#build(part, options, steps);
    } catch (error) {
      for (const s of steps) release(s);
      throw error;
    }
    this.steps = steps;
    this.state = [...new Set(steps.flatMap((s) => (s.kind === "program" ? s.program.state : [...(s.test?.state ?? []), ...s.body.state])))];
  }

  #build(part: Body, options: ProgramOptions, steps: (ProgramStep | LoopStep)[]): void {
    const { items, count, outputs, isBody = false } = part;
    const numbers = new Map(part.numbers);
    for (const e of items) if (e.kind === "scalar" && !e.varies) numbers.set(e.output.tensor.storage, e);
    const groups: (readonly Leaf[] | LoopNode)[] = [];
    let group: Leaf[] = [];
    for (const item of items) {
      if (item.kind !== "body") group.push(item);
      else {
        groups.push(group, item);
        group = [];
      }
    }
    groups.push(group);
    const used = groups.map((g) => ("kind" in g ? usedBy(g) : new Set(g.flatMap((e) => [...usedBy(e)]))));
    /** By group: what comes after it uses. */
    const needed: ReadonlySet<Storage>[] = [];
    let later = new Set(outputs);
    for (let i = groups.length - 1; i >= 0; i--) {
      needed[i] = later;
      later = new Set([...later, ...used[i]!]);
    }
    /** Whether a value comes from an earlier step, or as an argument. */
    const isMade = (s: Storage): boolean => this.#whole.has(s) && !this.#isNumber(numbers, s);
    groups.forEach((g, i) => {
      if ("kind" in g) {
        steps.push(this.#loop(g, isMade, numbers, options));
        for (const t of madeBy(g)) this.#whole.set(t.storage, t);
        return;
      }
      const own = new Map(g.flatMap((e) => madeBy(e).map((t) => [t.storage, t] as const)));
      const takes = [...used[i]!].filter((s) => !own.has(s) && isMade(s) && s.sizeInBytes > 0);
      const before = [...used[i]!].flatMap((s) => (own.has(s) ? [] : (numbers.get(s) ?? [])));
      const gives = [...own.keys()].filter((s) => s.sizeInBytes > 0 && needed[i]!.has(s) && !this.#isNumber(numbers, s));
      for (const [s, t] of own) this.#whole.set(s, t);
      const argument = (s: Storage): number => {
        const at = this.#argument(s);
        if (at >= 0) return at;
        const taken = takes.indexOf(s);
        return taken < 0 ? -1 : count + taken;
      };
      const events = [...before, ...g];
      const lower = lowered(this.native, events, { argument, outputs: gives }, options);
      if (lower.graph.outputs.length === 0 && lower.graph.state.length === 0) return;
      const { lists, regions, fuse } = options;
      const make = (): CompiledProgram => new CompiledProgram(this.native, lower, options);
      const shared = isBody ? sharedProgram(this.native, lower, [lists, regions, fuseMode(fuse)], make) : null;
      steps.push({ kind: "program", program: shared?.program ?? make(), shared, takes, gives });
    });
  }

  /** Whether programs contain a value as a constant. */
  #isNumber(numbers: ReadonlyMap<Storage, Scalar>, s: Storage): boolean {
    return numbers.has(s) && !this.#outputs.includes(s);
  }

  #loop(node: LoopNode, isMade: (s: Storage) => boolean, numbers: ReadonlyMap<Storage, Scalar>, options: ProgramOptions): LoopStep {
    const { begin, body: items, end } = node;
    const takes = [...freeIn(node)].filter((s) => (this.#argument(s) >= 0 || isMade(s)) && s.sizeInBytes > 0);
    const inputs = [...[...begin.carry, ...begin.slices].map((m) => m.tensor.storage), ...takes];
    const at = new Map(inputs.map((s, i) => [s, i]));
    const results = [...end.carry, ...end.ys].map((o) => o.storage).filter((s) => s.sizeInBytes > 0);
    const scheduled = (own: readonly Item[], outputs: readonly Storage[], name: string): Schedule =>
      new Schedule(
        this.native,
        { items: own, argument: (s) => at.get(s) ?? -1, count: inputs.length, outputs: [...new Set(outputs)], numbers, isBody: true },
        { ...options, name: `${options.name}: ${name}` },
      );
    const body = scheduled(items, results, begin.name);
    const tested = node.test === null ? null : scheduled(node.test.items, [node.test.holds.storage], `condition of ${begin.name}`);
    return { kind: "loop", node, body, test: tested, takes, steps: begin.length ?? 0 };
  }

  /** Runs on these arguments; returns new storages of the outputs. */
  call(args: readonly Tensor[], values: Values): Storage[] {
    return outsideScopes(() => this.#call(args, values));
  }

  #call(args: readonly Tensor[], values: Values): Storage[] {
    const made = new Map<Storage, Tensor>();
    const find = (s: Storage): Tensor | null => made.get(s) ?? args[this.#argument(s)] ?? null;
    const keep = (s: Storage, real: Storage): void => void made.set(s, new Tensor(real, this.#whole.get(s)!.desc));
    try {
      for (const step of this.steps) {
        if (step.kind === "program") {
          const found = step.program.call([...args, ...step.takes.map((s) => made.get(s)!)], values);
          step.gives.forEach((s, i) => {
            keep(s, found[i]!);
          });
        } else for (const [s, real] of this.#runLoop(step, find, values)) keep(s, real);
      }
      return this.#outputs.map((s) => {
        const { storage } = made.get(s)!;
        // What comes below lets go of the last reference to the others.
        storage.refs++;
        return storage;
      });
    } finally {
      for (const t of made.values()) t.dispose();
      for (const s of this.#outputs) {
        const t = made.get(s);
        if (t !== undefined && t.storage.refs > 0) t.storage.refs--;
      }
    }
  }

  #runLoop(step: LoopStep, find: (s: Storage) => Tensor | null, values: Values): [Storage, Storage][] {
    const { node, body, test, takes } = step;
    const { begin, end } = node;
    const results = [...new Set([...end.carry, ...end.ys].map((o) => o.storage).filter((s) => s.sizeInBytes > 0))];
    const free = takes.map((s) => find(s)!);
    const operand = (o: Operand): Tensor => tensorOf(o, find);
    const holds = (carry: readonly Tensor[]): boolean => {
      const t = new Tensor(test!.call([...carry, ...free], values)[0]!, node.test!.holds.desc);
      try {
        return itemSync(t) !== 0;
      } finally {
        t.dispose();
      }
    };
    const inputs = [begin.init.map(operand), begin.xs.map(operand)] as const;
    const run = (carry: readonly Tensor[], slices: readonly Tensor[]): StepResult => {
      const found = body.call([...carry, ...slices, ...free], values);
      const real = new Map(results.map((s, i) => [s, found[i]!]));
      const show = (o: Operand): Tensor => new Tensor(real.get(o.storage) ?? new Storage(this.native.device, 0), o.desc);
      return { carry: end.carry.map(show), ys: end.ys.map(show) };
    };
    const done = runLoop(this.native, node, ...inputs, run, test === null ? null : holds);
    step.steps = done.steps;
    return done.values;
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    for (const s of this.steps) release(s);
  }
}

function release(step: ProgramStep | LoopStep): void {
  if (step.kind === "loop") for (const s of [step.body, step.test]) s?.dispose();
  else if (step.shared !== null) step.shared.release();
  else step.program.dispose();
}

/** A tensor that shows what an operand shows, in the buffer that a call has for its storage. */
function tensorOf(o: Operand, find: (s: Storage) => Tensor | null): Tensor {
  const base = find(o.storage);
  return base === null ? new Tensor(o.storage, o.desc, o.offset) : new Tensor(base.storage, o.desc, base.offset + o.offset);
}
