/** compile(): a function of tensors becomes one program per input signature, recorded once and replayed. */
import { TraceError, UnsupportedError, NativeError } from "../errors.ts";
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { defaultDevice, type Device } from "../device.ts";
import { noteFallback } from "../runtime/fallback.ts";
import { nativeDevice, onClose } from "../runtime/devices.ts";
import { keep, outsideScopes } from "../scope.ts";
import { internDesc, Storage, type Desc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { tracer, withTracer } from "../tracer.ts";
import { Check, Mismatch } from "./check.ts";
import { keyOf } from "../graph/key.ts";
import { explain as explainProgram, type Explanation } from "./explain.ts";
import { profile as profileProgram, type Profile } from "./profile.ts";
import type { Regions } from "../graph/plan/plan.ts";
import { CompiledProgram } from "./program.ts";
import { Trace } from "./trace.ts";

export interface CompileOptions {
  /** Name in errors, traces and explain(). Default: the function's own. */
  readonly name?: string;
  /** Closed command lists that are replayed in turn, 2 to 4. Default 3. */
  readonly lists?: number;
  /**
   * Whether each call runs the function's JavaScript on traced tensors to see that it still asks for what was recorded. Without,
   * only the arguments are compared: faster by the time of that JavaScript, but a changed closure variable goes unseen.
   * Default true.
   */
  readonly check?: boolean;
  /**
   * What is compiled as one DirectML graph: "whole", "head" (what comes before the first update of state in place) or "none", a
   * dispatch for each node. Default: "whole" where graphs fuse, else "head" for large programs and "none" for small ones.
   */
  readonly regions?: Regions;
}

/** A compiled function: called like the original, which must be synchronous and act on tensors only. */
export interface Compiled<Args extends readonly unknown[], Result> {
  (...args: Args): Result;
  /** Programs that were made so far. */
  readonly programs: number;
  /** What the most recently used program consists of. */
  explain(): Explanation;
  /**
   * How long the device takes for each dispatch of the most recently used program, each alone between two barriers: where the time
   * goes. Blocks; runs the program a few times with the last call's arguments, so state that it updates goes on.
   */
  profileSync(): Profile;
  /** Frees all programs. */
  dispose(): void;
}

/** One recording of the function: a program, or the note that the function runs eagerly. */
interface Variant {
  readonly trace: Trace;
  readonly program: CompiledProgram | null;
  readonly arguments: readonly Tensor[];
  readonly result: unknown;
  readonly outputs: readonly Tensor[];
  /** Leaves (and traced arguments) whose gradient is an output, after the function's own outputs. */
  readonly gradients: readonly Tensor[];
}

const VARIANTS = 8;

/** Replaces the tensors in a structure of arrays and plain objects. */
function mapTensors(value: unknown, fn: (t: Tensor) => unknown): unknown {
  if (value instanceof Tensor) return fn(value);
  if (Array.isArray(value)) return value.map((v) => mapTensors(v, fn));
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, mapTensors(v, fn)]));
  return value;
}

function tensorsIn(value: unknown): Tensor[] {
  const found: Tensor[] = [];
  mapTensors(value, (t) => found.push(t));
  return found;
}

/** What must be equal for a program to serve a call: kinds of the tensors, and all other arguments by value. */
function signature(args: readonly unknown[]): string {
  const kinds = mapTensors(args, (t) => `${t.device}:${t.dtype}:${t.shape.join()}:${t.requiresGrad}`);
  return `${isGradEnabled()}|${keyOf(kinds)}`;
}

/** A call whose arguments are all tensors, remembered so that the next one like it needs no signature. */
interface Kinds {
  readonly key: string;
  readonly isGradEnabled: boolean;
  readonly descs: readonly Desc[];
  readonly wants: readonly boolean[];
}

const isLike = (kinds: Kinds, args: readonly unknown[]): boolean =>
  args.length === kinds.descs.length &&
  kinds.isGradEnabled === isGradEnabled() &&
  args.every((t, i) => t instanceof Tensor && t.desc === kinds.descs[i] && t.requiresGrad === kinds.wants[i]);

function kindsOf(key: string, args: readonly unknown[]): Kinds | null {
  const tensors = args.filter((t) => t instanceof Tensor);
  if (tensors.length !== args.length) return null;
  return { key, isGradEnabled: isGradEnabled(), descs: tensors.map((t) => t.desc), wants: tensors.map((t) => t.requiresGrad) };
}

/** The variants of all compiled functions: held weakly, so that a function that nobody refers to is freed with what it captured. */
const functions = new Set<WeakRef<Map<string, Variant[]>>>();
onClose((native) => {
  for (const ref of functions) {
    const variants = ref.deref();
    if (variants === undefined) functions.delete(ref);
    else for (const [key, list] of variants) if (list.some((v) => v.trace.native === native)) variants.delete(key);
  }
});

export function compile<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  options: CompileOptions = {},
): Compiled<Args, Result> {
  const name = options.name ?? (fn.name === "" ? "compiled" : fn.name);
  const variants = new Map<string, Variant[]>();
  let recent: Variant | null = null;
  let kinds: Kinds | null = null;
  functions.add(new WeakRef(variants));

  const run = (...args: Args): Result => {
    if (tracer() !== null) return fn(...args);
    const given = tensorsIn(args);
    given.forEach((t, i) => t.demandLive(name, `argument ${i}`));
    const key = kinds !== null && isLike(kinds, args) ? kinds.key : signature(args);
    if (kinds?.key !== key) kinds = kindsOf(key, args);
    const list = variants.get(key) ?? [];
    const volatile = new Set<number>();
    for (const variant of list) {
      if (variant.program === null) return fn(...args);
      const check = options.check === false ? null : new Check(variant.trace);
      try {
        const result = check === null ? variant.result : checked(check, variant, fn, args);
        recent = variant;
        return finish(variant, result, given, check) as Result;
      } catch (error) {
        check?.undo();
        if (!(error instanceof Mismatch)) throw error;
        if (error.event >= 0) {
          volatile.add(error.event);
          for (const input of variant.trace.inputs) if (input.source.kind === "volatile") volatile.add(input.source.event);
        }
      }
    }
    const variant = trace(name, fn, args, given, volatile, options);
    variants.set(key, [variant, ...list].slice(0, VARIANTS));
    for (const old of list.slice(VARIANTS - 1)) old.program?.dispose();
    recent = variant;
    if (variant.program === null) return fn(...args);
    return finish(variant, variant.result, given, null) as Result;
  };

  Object.defineProperty(run, "programs", { get: () => [...variants.values()].reduce((n, v) => n + v.length, 0) });
  const recentProgram = (operation: string): CompiledProgram => {
    if (recent?.program != null) return recent.program;
    throw new TraceError({
      operation,
      argument: name,
      expected: "called before",
      received: recent === null ? "no call" : "a function that runs eagerly, since its device lacks an operator",
    });
  };
  return Object.assign(run, {
    explain: () => explainProgram(name, recentProgram("explain")),
    profileSync: () => profileProgram(name, recentProgram("profileSync")),
    dispose(): void {
      for (const list of variants.values()) for (const v of list) v.program?.dispose();
      variants.clear();
      recent = null;
    },
  }) as unknown as Compiled<Args, Result>;
}

/** The compiled function's program, readable: nodes, dispatches, barriers, bytes, and which line asked for what. */
export const explain = (compiled: { explain(): Explanation }): Explanation => compiled.explain();

function call(fn: (...args: never[]) => unknown, args: readonly unknown[], ghosts: readonly Tensor[]): unknown {
  let i = 0;
  return fn(...(mapTensors(args, () => ghosts[i++]!) as never[]));
}

/** Runs the function against the log; its result is in terms of the trace's tensors. */
function checked(check: Check, variant: Variant, fn: (...args: never[]) => unknown, args: readonly unknown[]): unknown {
  const ghosts = variant.arguments.map((t) => {
    const ghost = new Tensor(t.storage, t.desc, 0);
    ghost.leafRequiresGrad = t.leafRequiresGrad;
    return ghost;
  });
  const result = outsideScopes(() => withTracer(check, () => call(fn, args, ghosts)));
  check.finish();
  const outputs = tensorsIn(result).filter((t) => isComputed(variant.trace, t));
  if (
    outputs.length !== variant.outputs.length ||
    outputs.some(
      (t, i) => t.storage !== variant.outputs[i]!.storage || t.desc !== variant.outputs[i]!.desc || t.offset !== variant.outputs[i]!.offset,
    )
  )
    throw new Mismatch("another result");
  return result;
}

/** Whether a result is one of the program's: what is empty needs no program. */
const isComputed = (trace: Trace, t: Tensor): boolean => t.size > 0 && trace.owns(t.storage);

function deviceOf(name: string, given: readonly Tensor[]): Device {
  const first = given[0]?.device ?? defaultDevice();
  for (const t of given)
    if (t.device !== first)
      throw new TraceError({ operation: name, argument: "arguments", expected: `all on ${first}`, received: `one on ${t.device}` });
  return first;
}

function trace(
  name: string,
  fn: (...args: never[]) => unknown,
  args: readonly unknown[],
  given: readonly Tensor[],
  volatile: ReadonlySet<number>,
  options: CompileOptions,
): Variant {
  const native = nativeDevice(deviceOf(name, given), name);
  const t = new Trace(native, name, volatile);
  const undo = (): void => {
    for (const [leaf, grad] of t.gradients) leaf.grad = grad;
  };
  try {
    const ghosts = given.map((x, i) => {
      const ghost = t.argument(i, x);
      ghost.leafRequiresGrad = x.requiresGrad;
      return ghost;
    });
    const result = outsideScopes(() => withTracer(t, () => call(fn, args, ghosts)));
    if (result instanceof Promise)
      throw new TraceError({
        operation: name,
        argument: "function",
        expected: "synchronous",
        received: "one that returns a promise",
        hint: "Await outside of the compiled function.",
      });
    const outputs = tensorsIn(result).filter((x) => isComputed(t, x));
    const gradients = [...t.gradients.keys()].filter((leaf) => leaf.grad !== null && t.owns(leaf.grad.storage));
    t.finish([...outputs, ...gradients.map((leaf) => leaf.grad!)]);
    const program = new CompiledProgram(native, t, name, options.lists ?? 3, options.regions);
    return { trace: t, program, arguments: ghosts, result, outputs, gradients };
  } catch (error) {
    undo();
    const lacks = error instanceof UnsupportedError || (error instanceof NativeError && error.kind === "unsupported");
    if (!lacks) throw error;
    noteFallback(name, given, native, `compiled as a whole it needs what the device lacks: ${error.message}`);
    return { trace: t, program: null, arguments: [], result: null, outputs: [], gradients: [] };
  }
}

/** Replays the program and puts real tensors in place of the traced ones. */
function finish(variant: Variant, result: unknown, given: readonly Tensor[], check: Check | null): unknown {
  const program = variant.program!;
  const tensors = program.replay(given, check?.volatile ?? null);
  variant.gradients.forEach((leaf, i) => {
    const grad = keep(tensors[variant.outputs.length + i]!);
    const argument = variant.arguments.indexOf(leaf);
    const target = argument >= 0 ? given[argument]! : leaf;
    target.grad = grad;
    if (argument >= 0) leaf.grad = null;
  });
  let at = 0;
  return mapTensors(result, (t) => {
    if (isComputed(variant.trace, t)) return tensors[at++];
    // An empty result is a tensor of its own at every call, too.
    return t.size === 0 && t.storage.handle === 0 ? new Tensor(new Storage(t.device, 0), internDesc(t.device, t.dtype, t.shape)) : t;
  });
}
