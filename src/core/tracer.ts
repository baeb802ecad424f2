/** The hook through which compile() takes over dispatch: the interface of a tracer, without its implementation. */
import type { Device } from "./device.ts";
import type { Definition, ViewDefinition } from "./definition.ts";
import type { DType } from "./dtype.ts";
import type { TapeNode } from "../autograd/tape.ts";
import type { Tensor } from "./tensor.ts";

/** How a gradient flows on. */
export interface Flow {
  readonly retains: boolean;
  /** Its own operations are recorded. */
  readonly creates: boolean;
}

/** Where a gradient leaves the traced tape: for a node outside, or for a leaf whose hooks wait for what comes from outside. */
export type FlowEnd =
  { readonly node: TapeNode; readonly output: number; readonly grad: Tensor } | { readonly leaf: Tensor; readonly grad: Tensor };

/** A function that runs once for each step, with a carry from step to step. */
export interface Loop {
  /** The function that asks for it. */
  readonly name: string;
  /** Steps, at least one. Null: as many as its test says. */
  readonly length: number | null;
  /** The last slice comes first. */
  readonly reverse: boolean;
  /** The carry of the first step. */
  readonly init: readonly Tensor[];
  /** What each step gets a slice of, along the first axis. */
  readonly xs: readonly Tensor[];
}

/** What a step gives: the next carry, like the last one, and what is stacked. */
export interface LoopResult {
  readonly carry: readonly Tensor[];
  readonly ys: readonly Tensor[];
}

/** A step. start: the tape's nodes that it makes have this number or a higher one. */
export type LoopBody = (carry: readonly Tensor[], slices: readonly Tensor[], start: number) => LoopResult;

/** Whether there is another step: one boolean. */
export type LoopTest = (carry: readonly Tensor[]) => Tensor;

export interface Tracer {
  /** Of this call: no other has it. */
  readonly id: number;
  /** An operation: returns its results as traced tensors, on the tape if `records`. */
  dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A, records: boolean): Tensor[];
  /** A view: `make` makes it, with its node on the tape, which may depend on other tensors too. */
  view<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A, make: () => Tensor, others?: readonly Tensor[]): Tensor;
  /** An operation without inputs. */
  create<A>(definition: Definition<A>, device: Device, attrs: A): Tensor;
  /** A one-element tensor of a JavaScript number. */
  scalar(device: Device, dtype: DType, value: number | bigint | boolean): Tensor;
  /** A tensor made of data that JavaScript holds. again: makes the data of a call in which the function does not run. */
  constant(device: Device, dtype: DType, shape: readonly number[], bytes: ArrayBufferView, again?: () => ArrayBufferView): Tensor;
  /** Numbers of the library's own, such as an optimizer's rates: float32 inputs of the program, read in every call. */
  held(owner: object, device: Device, read: () => readonly number[]): Tensor[];
  /** Runs a change of the library's own state on the host, which is made in every call, also where the function does not run. */
  effect<T>(run: () => T): T;
  /** `holds` tells whether a call in which the function does not run may follow the path, as far as it has come. */
  guard(holds: () => boolean): void;
  /** target (all of it, any strides) takes the value of source, which has its shape and dtype. */
  assign(target: Tensor, source: Tensor): void;
  /** The same where histories change: `run` writes and gives target, or its base, the new one; `nodes` made the value. */
  rewrite(target: Tensor, value: Tensor, nodes: readonly TapeNode[], run: () => void): void;
  /** The data of a tensor is asked for: an error while tracing. */
  read(operation: string, tensor: Tensor): never;
  /** A leaf's gradient is about to change. */
  touchGradient(leaf: Tensor): void;
  /** A leaf's gradient is taken away, and nobody needs it any more. */
  dropGradient(leaf: Tensor): void;
  /** A view gets another node, since what it is a view of has another history. */
  renew(view: Tensor): void;
  /** A node that user code made, with rules of its own: the one that the recording has, with this call's rule. */
  custom(node: TapeNode, inputs: readonly Tensor[]): TapeNode;
  /** backward() visits a node, and frees its saved tensors or not. */
  visit(node: TapeNode, frees: boolean): void;
  /** Gradients of one pass leave the traced tape: they flow on after the call. keep: gives an argument its gradient where retainGrad() asked for it. */
  flowOut(ends: readonly FlowEnd[], flow: Flow, keep: (t: Tensor, grad: Tensor) => void): void;
  /** Whether what flows on from these ends comes to a leaf too. */
  isReached(leaf: Tensor, ends: readonly FlowEnd[]): boolean;
  /** grad() looks for the gradients of these inputs. */
  searches(roots: readonly Tensor[], inputs: readonly Tensor[]): void;
  /** Code asks for a tensor's gradient, or takes it away: an error where some of it has not come yet. */
  readGradient(t: Tensor): void;
  /** Something outside has been changed (hooks, whether a leaf requires a gradient): undo takes it back where the run fails. always: at its end too. */
  lost(undo: () => void, always?: boolean): void;
  /** The gradient to be kept of an output of a node outside is another node's from here on. */
  movesRetained(node: TapeNode, output: number): void;
  /** What no program can do comes next: ends the run, and the call is made eagerly. */
  abandon(reason: string): never;
  /** User code (a hook, a function's own rule) runs inside a region: it has to run in every call. */
  runsCode(): void;
  /** Whether loop() may be called: else each step is traced. */
  readonly hasLoops: boolean;
  /** Traces one step of a loop for all of them: the last carry, and what the steps gave, stacked along a new first axis. */
  loop(loop: Loop, body: LoopBody, test?: LoopTest): LoopResult;
  /**
   * A part of the traced function whose operations depend on nothing but `tensors`, `guards` (plain values), and what was traced
   * before: backward(), an optimizer's step. A later call whose guards are equal need not run it again.
   */
  region<T extends readonly (Tensor | null)[] | void>(
    owner: object,
    tensors: readonly (Tensor | null)[],
    guards: readonly unknown[],
    run: () => T,
  ): T;
  /**
   * A forward part of the traced function whose operations depend on nothing but `tensors`, `guards`, and weights that are there before the call: what
   * an imported model runs, or a layer. A later call whose guards are equal does not run it again. The same owner gives results for the same nodes.
   */
  part<T extends readonly (Tensor | null)[]>(
    owner: object,
    tensors: readonly (Tensor | null)[],
    guards: readonly unknown[],
    run: () => T,
  ): T;
}

/** What dispatch calls in place of running an operation: a tracer, or the profiler where no tracer is in charge. */
export type Interceptor = Pick<Tracer, "dispatch" | "view" | "create">;

let current: Tracer | null = null;
let observing: Interceptor | null = null;
/** The tracer that is in charge, else the profiler's interceptor. */
let intercepting: Interceptor | null = null;
let isBatched = false;
/** One variable, since each eager call asks it. */
let isDirect = true;

export const tracer = (): Tracer | null => current;

/** @internal */
export const interceptor = (): Interceptor | null => intercepting;

/** @internal Whether calls run their operations themselves: no tracer, no profiler and no vmap() takes over. */
export const runsDirectly = (): boolean => isDirect;

function intercept(next: Interceptor | null): void {
  intercepting = next;
  isDirect = next === null && !isBatched;
}

/** @internal Whether a level of vmap() takes over. */
export function noteBatching(next: boolean): void {
  isBatched = next;
  isDirect = intercepting === null && !next;
}

/** @internal Calls next for each operation outside of traces; next has to run it. null: nobody is called. */
export function observe(next: Interceptor | null): void {
  observing = next;
  if (current === null) intercept(next);
}

/** Runs a change of the library's own state on the host; in a compiled function it is part of every call, checked or not. */
export const effect = <T>(run: () => T): T => (current === null ? run() : current.effect(run));

/** @internal Runs fn with a tracer in charge; null: outside of the one that is. */
export function withTracer<T>(next: Tracer | null, fn: () => T): T {
  const before = current;
  current = next;
  intercept(next ?? observing);
  try {
    return fn();
  } finally {
    current = before;
    intercept(before ?? observing);
  }
}
