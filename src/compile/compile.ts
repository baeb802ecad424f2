/** compile(): traces a function of tensors, makes one program for each path through its JavaScript, and replays it. The contract is docs/compile.md. */
import { inPhase } from "../host/phases.ts";
import { recordingEnds } from "../host/young-generation.ts";
import { autocast, type AutocastDType } from "../core/autocast.ts";
import { batching } from "../core/batching.ts";
import { defaultDevice, type Device } from "../core/device.ts";
import { TraceError, ValueError } from "../core/errors.ts";
import { Journal, modes, withJournal } from "../core/journal.ts";
import type { FuseMode } from "../graph/passes/fuse/fuse.ts";
import type { Regions } from "../graph/plan/plan.ts";
import { nativeDevice, onClose, type NativeDevice } from "../runtime/devices.ts";
import { noteEager } from "../runtime/fallback.ts";
import { requireReal } from "../runtime/traced.ts";
import { outsideScopes } from "../core/scope.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { isAnomalyEnabled } from "../autograd/anomaly.ts";
import { tracer, withTracer } from "../core/tracer.ts";
import { Placeholders, CallArguments, type Likeness } from "./arguments.ts";
import { Restart } from "./argument-aliases.ts";
import { commit } from "./commit.ts";
import { MAX_EXITS, TraceExit, effectsOf } from "./exit.ts";
import { Dynamic, type Buckets, type DynamicAxes } from "./dynamic.ts";
import { explain as explainProgram, type Explanation } from "./explain.ts";
import { Bucketing } from "./bucketing.ts";
import { interpret, isMissing } from "./interpret.ts";
import { KINDS } from "./kinds.ts";
import { Unrolled } from "./loops.ts";
import { Step, renew } from "./log.ts";
import type { Notice } from "./notice.ts";
import { Objects, type Change, type Outcome } from "./objects.ts";
import { profile as profileProgram, type Profile } from "./profile.ts";
import type { Values } from "./program.ts";
import type { Executable } from "./schedule.ts";
import { Recordings } from "./recordings.ts";
import { newRecorded, type Recorded } from "./recorder.ts";
import { Run } from "./trace.ts";
import { Tuner, type TuneOptions } from "./tuner.ts";
import { shaderMode } from "../shader/choice.ts";
import { choosingBy } from "../shader/shader-forms.ts";

/** Options of compile(). */
export interface CompileOptions {
  /** Name in errors, traces and explain(). Default: the function's own. */
  readonly name?: string;
  /**
   * Closed command lists that are replayed in turn, 1 to 16; while the device has other work, a third of them is submitted together. Default: 3, on hardware up to 15
   * for programs of few dispatches that are called often, and none where there are 4 dispatches or fewer, or large results: those are run as operations are.
   */
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
  /**
   * Whether elementwise operators and reductions become shaders that are made for them, many in one dispatch: "always", on devices that run shaders;
   * "auto", where that was measured to be faster and `regions` is not given; or "off". Default: DXTENSOR_FUSE, else "auto".
   */
  readonly fuse?: FuseMode;
  /**
   * Measures on the device which form of each operation (DirectML's, the library's shader, its tiles) and of each fused region is fastest for the sizes of
   * this program, and keeps the answers in the user's cache folder, by adapter, driver, libraries and version: other calls and processes take them from
   * there. The first call takes longer. Not with `dynamic`; without effect where `DXTENSOR_SHADERS` is on or off. Default: false.
   */
  readonly tune?: boolean | TuneOptions;
  /**
   * Axes of the arguments that may have any size: `[0]` of every tensor, `[[0], null, [0, 1]]` by argument, `{ x: [0] }` by the fields of
   * objects among the arguments. A few programs serve all sizes, with padding up to the next of `buckets`. Default: each size has programs.
   */
  readonly dynamic?: DynamicAxes;
  /** Sizes that such programs are made for: 2, 4, 8, … ("doubling"), 2, 3, 4, 6, 8, 12, … ("halves"), or a list. Default: "halves". */
  readonly buckets?: Buckets;
  /**
   * Runs the function inside autocast(): its operations cast their inputs to this dtype by PyTorch's lists, and each weight once a call.
   * Default: as the code that calls it does.
   */
  readonly autocast?: AutocastDType;
}

/** A compiled function: called like the original, which must be synchronous. */
export interface Compiled<Args extends readonly unknown[], Result> {
  (...args: Args): Result;
  /** Programs that are there. */
  readonly programs: number;
  /** What the most recently used program consists of, and how often the function was recorded and why. */
  explain(): Explanation;
  /**
   * How long the device takes for each dispatch of the most recently used program, each alone between two barriers: where the time
   * goes. Blocks; runs the program a few times with the last call's arguments; each run updates the program's state.
   */
  profileSync(): Profile;
  /** Frees all programs. */
  dispose(): void;
}

const NO_CHANGES: readonly Change[] = [];

const CHANGED_SETTINGS = "settings changed, and the first path was not kept";

/** All paths for one kind of arguments. */
interface Root {
  /** Where paths begin. */
  start: Step;
  /** Whether the path of the only exit was let go of: the next run is a recording. */
  isReleased: boolean;
  readonly placeholders: Placeholders;
  /** In what it differs from the one before. */
  readonly reason: string;
  readonly exits: TraceExit[];
  readonly likeness: Likeness | null;
  recent: TraceExit | null;
  /** Why it runs eagerly: the device lacks something. */
  eager: string | null;
}

/** The paths of all compiled functions: held weakly, so that a function that nobody refers to is freed with what it captured. */
const functions = new Set<WeakRef<Map<string, Root>>>();
onClose((native) => {
  for (const ref of functions) {
    const roots = ref.deref();
    if (roots === undefined) functions.delete(ref);
    else for (const [key, root] of roots) if (root.exits.some((e) => e.made?.native === native)) roots.delete(key);
  }
});

const forgotten = new FinalizationRegistry<WeakRef<Map<string, Root>>>((ref) => functions.delete(ref));

function remember(roots: Map<string, Root>): void {
  const ref = new WeakRef(roots);
  functions.add(ref);
  forgotten.register(roots, ref);
}

/** @internal What calls of a compiled function share. */
export class CompiledFunction {
  readonly #keepsGraphs: boolean;
  readonly roots = new Map<string, Root>();
  recent: TraceExit | null = null;
  recentProgram: Executable | null = null;
  readonly #fn: (...args: never[]) => unknown;
  readonly name: string;
  readonly #options: CompileOptions;
  readonly #recorded: Recorded;
  readonly recordings: Recordings;
  /** Of functions whose sizes are dynamic. */
  readonly #bucketing: Bucketing | null;
  /** Why arguments of the last call were passed as they are: such are a kind of their own. */
  #restarted: string | null = null;
  readonly #isOuter = (t: Tensor): boolean => this.#recorded.hasOuter && this.#recorded.outer.has(t.storage);
  /** Of the device of the last program that was made. */
  #lastTuner: Tuner | null = null;
  /** The last of the roots. */
  #newest: Root | null = null;

  constructor(fn: (...args: never[]) => unknown, name: string, options: CompileOptions, keepsGraphs = true) {
    this.#keepsGraphs = keepsGraphs;
    this.#fn = fn;
    this.name = name;
    this.#options = options;
    const { dynamic, buckets = "halves", tune = false } = options;
    if (dynamic !== undefined && tune !== false)
      throw new ValueError(name, "tune", "false where sizes are dynamic: it measures programs of one size", tune);
    this.#recorded = newRecorded(name, dynamic === undefined ? null : "each step of a loop is traced: sizes are dynamic");
    this.recordings = new Recordings(name);
    this.#bucketing = dynamic === undefined ? null : new Bucketing(fn, this.#recorded, new Dynamic(dynamic, buckets), this.recordings);
  }

  call(args: readonly unknown[]): unknown {
    let direct: Set<Storage> | null = null;
    this.#restarted = null;
    for (;;) {
      try {
        return this.#run(args, direct === null ? this.#isOuter : this.#isOuterOr(direct));
      } catch (error) {
        if (error instanceof Unrolled && this.#recorded.unrolls === null) {
          this.#restarted = this.#recorded.unrolls = error.message;
          continue;
        }
        if (!(error instanceof Restart) || direct?.has(error.storage) === true) throw error;
        (direct ??= new Set<Storage>()).add(error.storage);
        this.#restarted = error.message;
      } finally {
        // Nothing that a run used is kept by what has to be renewed.
        renew();
        recordingEnds();
      }
    }
  }

  /** direct: storages of arguments that are passed as they are. */
  #isOuterOr(direct: ReadonlySet<Storage>): (t: Tensor) => boolean {
    return (t) => direct.has(t.storage) || this.#isOuter(t);
  }

  #run(args: readonly unknown[], isDirect: (t: Tensor) => boolean): unknown {
    const callArgs = new CallArguments(args, isDirect, this.#options.check === false ? "by value" : "any", this.#newest?.likeness);
    const { tensors } = callArgs;
    let isMeta = tensors.length > 0 || !defaultDevice().hasElements;
    for (let i = 0; i < tensors.length; i++) {
      const t = tensors[i]!;
      if (t.isDisposed) t.requireLive(this.name, `argument ${i}`);
      if (t.device.hasElements) isMeta = false;
    }
    // Without elements there is no program: shapes and dtypes are what the function itself says.
    if (isMeta) return this.#fn(...(args as never[]));
    requireReal(this.name, callArgs.tensors);
    const root = this.#rootOf(callArgs, args);
    if (root.eager !== null) return this.#eagerly(args, callArgs, root.eager);
    if (this.#options.check === false && root.recent !== null && root.recent.isApplicable) {
      const journal = new Journal();
      const values = withJournal(journal, () => root.recent!.repeated());
      if (values !== null) {
        this.recent = root.recent;
        return this.#finish(root, root.recent, root.recent.outcome, Objects.of(args), callArgs, { journal, values }, null);
      }
      journal.swap();
    }
    const { placeholders } = root;
    renew();
    placeholders.begin(callArgs.tensors);
    const run = new Run(this.#recorded, root.start, placeholders, callArgs.tensors, this.#options.check === false ? [] : null);
    const objects = Objects.of(args);
    let exit: TraceExit;
    let outcome: Outcome;
    try {
      const inner = objects === null ? placeholders.replace(args, callArgs) : objects.enter(args, (t) => placeholders.of(t, callArgs));
      const call = (): unknown => this.#fn(...(inner as never[]));
      const tuner = this.#options.tune ? this.#tuner(nativeDevice(tensors[0]?.device ?? defaultDevice(), this.name)) : null;
      const traced = (): TraceExit => {
        const result: unknown = withJournal(run.journal, () =>
          outsideScopes(tuner === null ? call : () => choosingBy(tuner.chooses, call)),
        );
        if (result instanceof Promise) this.#refusePromise(result);
        outcome = objects === null ? { result, changes: NO_CHANGES } : objects.leave(this.name, result, (t) => run.isTraced(t));
        return this.#exitOf(root, run, outcome);
      };
      exit = inPhase("trace", () => withTracer(run, traced));
      exit.saveState();
      if (run.unrolled !== null) throw run.unrolled;
      if (!run.isPassable) run.abandon("it changes what gradients that flow on from it need");
      if (run.abandoned !== null) throw run.abandoned;
    } catch (error) {
      objects?.restore();
      run.undo();
      if (run.unrolled !== null) throw run.unrolled;
      if (run.abandoned === null) throw error;
      root.eager = run.abandoned.message;
      return this.#eagerly(args, callArgs, root.eager);
    }
    run.outside.undo();
    if (this.#bucketing !== null) {
      exit.values = run.values;
      try {
        this.#bucketing.resolve(exit, { callArgs, args, isDirect, restarted: this.#restarted, journal: run.journal });
      } catch (error) {
        run.undo();
        throw error;
      }
    }
    if (run.host !== null) {
      exit.host = run.host;
      exit.modes = modes.changes;
      exit.values = run.values;
    }
    this.recent = exit;
    root.recent = exit;
    const result = this.#finish(root, exit, outcome!, objects, callArgs, run, args);
    if (run.host?.length === 0) this.#releasePath(root, exit);
    return result;
  }

  /** Where nobody asks for graphs: the program of the only path is all that calls need, as long as the settings stay. */
  #releasePath(root: Root, exit: TraceExit): void {
    if (this.#keepsGraphs || root.isReleased || root.exits.length > 1 || this.#bucketing !== null || !exit.releasePath()) return;
    root.start = new Step(null, null);
    root.isReleased = true;
  }

  /** run: of a function that did not run, since its calls are not checked, no more than its inputs. args: null for such. */
  #finish(
    root: Root,
    exit: TraceExit,
    outcome: Outcome,
    objects: Objects | null,
    callArgs: CallArguments,
    run: Run | { readonly journal: Journal; readonly values: Values },
    args: readonly unknown[] | null,
  ): unknown {
    let storages: Storage[];
    try {
      const native = nativeDevice(this.#deviceOf(callArgs, exit), this.name);
      try {
        storages = this.#call(native, root, exit, callArgs, run);
      } catch (error) {
        if (!isMissing(error) || args === null) throw error;
        root.eager = `compiled as a whole it needs what the device lacks: ${(error as Error).message}`;
        noteEager(this.name, callArgs.tensors, native, root.eager);
        const argument = (storage: Storage): Tensor | null => callArgs.tensors[root.placeholders.indices.get(storage) ?? -1] ?? null;
        storages = interpret(native, this.name, exit.source.path, run.values, argument, exit.outputs);
      }
    } catch (error) {
      // Nothing that the run has counted as written was.
      if (run instanceof Run) run.undo();
      else run.journal.swap();
      throw error;
    }
    // A run has counted its writes itself, and set what it set of the arguments.
    if (args === null) for (const storage of this.recentProgram!.state) storage.version++;
    else root.placeholders.end(callArgs.tensors);
    return commit(this.name, exit, root.placeholders, outcome, objects, callArgs.tensors, storages);
  }

  #call(
    native: NativeDevice,
    root: Root,
    exit: TraceExit,
    callArgs: CallArguments,
    run: { readonly values: Values; readonly notice?: Notice | null },
  ): Storage[] {
    const bucketed = exit.bucketed ?? null;
    const made = bucketed === null ? exit.made : null;
    if (made !== null) {
      this.recentProgram = made;
      return made.call(callArgs.tensors, run.values);
    }
    const { lists, regions, fuse } = this.#options;
    const tuner = this.#tuner(native);
    const options = { name: this.name, lists, regions, fuse, tuner, notice: run.notice ?? null };
    const common = bucketed === null ? null : bucketed.variant.program(native, options);
    if (bucketed !== null && common === null) this.#bucketing!.refuse(exit, bucketed.variant.refusal!);
    let program: Executable;
    try {
      program = common ?? exit.program(native, root.placeholders, options);
    } finally {
      tuner?.save();
    }
    this.recentProgram = program;
    if (common === null) return program.call(callArgs.tensors, run.values);
    return program.call(callArgs.tensors, bucketed!.variant.values(bucketed!.mapping, run.values), bucketed!.mapping);
  }

  /** Null: nothing is measured. */
  #tuner(native: NativeDevice): Tuner | null {
    const { tune = false, regions, fuse } = this.#options;
    if (tune === false || !native.capabilities.runsShaders || shaderMode() !== "only-measured") return null;
    if (this.#lastTuner?.native !== native) this.#lastTuner = new Tuner(native, tune === true ? {} : tune, { regions, fuse }, compile);
    return this.#lastTuner;
  }

  #eagerly(args: readonly unknown[], callArgs: CallArguments, reason: string): unknown {
    noteEager(this.name, callArgs.tensors, nativeDevice(callArgs.tensors[0]?.device ?? defaultDevice(), this.name), reason);
    return this.#fn(...(args as never[]));
  }

  #deviceOf(callArgs: CallArguments, exit: TraceExit): Device {
    return callArgs.tensors[0]?.device ?? exit.device ?? defaultDevice();
  }

  #refusePromise(result: Promise<unknown>): never {
    result.catch(() => {});
    throw new TraceError({
      operation: this.name,
      argument: "function",
      expected: "synchronous",
      received: "one that returns a promise",
      hint: "Await outside of the compiled function.",
    });
  }

  #rootOf(callArgs: CallArguments, args: readonly unknown[]): Root {
    let root = this.roots.get(callArgs.key);
    if (root !== undefined && root.exits.length >= MAX_EXITS) {
      this.#drop(callArgs.key, root);
      root = undefined;
    }
    if (root === undefined) {
      const reason = this.recordings.kinds.add(callArgs.tensors, args);
      root = {
        start: new Step(null, null),
        isReleased: false,
        placeholders: new Placeholders(callArgs, this.#recorded),
        reason,
        exits: [],
        likeness: callArgs.likeness(args),
        recent: null,
        eager: null,
      };
      const [oldest] = this.roots;
      if (this.roots.size >= KINDS && oldest !== undefined) this.#drop(oldest[0], oldest[1]);
    } else if (root === this.#newest) return root;
    else this.roots.delete(callArgs.key);
    this.roots.set(callArgs.key, root);
    this.#newest = root;
    return root;
  }

  #drop(key: string, root: Root): void {
    for (const e of root.exits) e.dispose();
    this.roots.delete(key);
    if (root === this.#newest) this.#newest = null;
  }

  /** The exit of this run's path that equals this run's, or a new one. */
  #exitOf(root: Root, run: Run, outcome: Outcome): TraceExit {
    const effects = effectsOf(run);
    if (run.varied.size > 0) {
      // A number that was part of programs has become an input of them.
      for (const e of run.varied) e.varies = true;
      for (const e of root.exits) {
        e.dispose();
        e.step?.dropExits();
      }
      root.exits.length = 0;
      root.recent = null;
      this.recordings.note("a number changed: it is an input from now on");
    }
    for (const known of run.at.exits) if (known.matches(outcome, effects, run.continuations)) return known;
    const exit = new TraceExit(run, root.placeholders, outcome, effects);
    if (run.varied.size === 0 && this.#bucketing === null)
      this.recordings.note(this.#restarted ?? (root.exits.length === 0 ? root.reason : root.isReleased ? CHANGED_SETTINGS : (run.reason ?? "another result"))); // prettier-ignore
    run.at.addExit(exit);
    root.exits.push(exit);
    return exit;
  }

  get programs(): number {
    const own = [...this.roots.values()].flatMap((r) => r.exits.filter((e) => !e.bucketed));
    return own.length + (this.#bucketing?.programs ?? 0);
  }

  dispose(): void {
    for (const [key, root] of this.roots) this.#drop(key, root);
    this.#bucketing?.dispose();
    this.recent = this.recentProgram = null;
  }
}

/**
 * fn as a compiled function: the first call with arguments of a kind records what fn asks for as one program, later ones replay
 * it. It returns what fn returns and changes what fn changes; gradients flow through its results. The whole contract, what is
 * refused, and how often fn's own JavaScript runs: docs/compile.md.
 */
export function compile<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  options: CompileOptions = {},
): Compiled<Args, Result> {
  return compileKeeping(fn, options, true);
}

/**
 * compile() of a function whose explain() and profileSync() may not be asked for where keepsGraphs is false. A path without checks, host state and changes
 * outside is not kept then: that of a model has megabytes. If settings change, as by eval(), it is recorded once more. @package
 */
export function compileKeeping<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  options: CompileOptions,
  keepsGraphs: boolean,
): Compiled<Args, Result> {
  const name = options.name ?? (fn.name === "" ? "compiled" : fn.name);
  const { autocast: dtype } = options;
  const traced = dtype === undefined ? fn : (...args: Args): Result => autocast(dtype, () => fn(...args));
  const compiled = new CompiledFunction(traced as (...args: never[]) => unknown, name, options, keepsGraphs);
  remember(compiled.roots);
  const run = (...args: Args): Result =>
    batching() === null && tracer() === null && !isAnomalyEnabled() ? (compiled.call(args) as Result) : traced(...args);
  Object.defineProperty(run, "programs", { get: () => compiled.programs });
  const recentProgram = (operation: string): Executable => {
    const program = compiled.recentProgram;
    if (compiled.recent !== null && program !== null && !program.native.isClosed) return program;
    throw new TraceError({
      operation,
      argument: name,
      expected: "called before",
      received: compiled.roots.size === 0 ? "no call" : "a function that runs eagerly, since its device lacks an operator",
    });
  };
  executables.set(run, () => compiled.recentProgram);
  return Object.assign(run, {
    explain: () => explainProgram(name, recentProgram("explain"), compiled.recordings.reasons),
    profileSync: () => profileProgram(name, recentProgram("profileSync")),
    dispose: () => compiled.dispose(),
  }) as unknown as Compiled<Args, Result>;
}

const executables = new WeakMap<object, () => Executable | null>();

/** What the last call of a compiled function ran; null: nothing, or no program. @package */
export const executableOf = (compiled: object): Executable | null => executables.get(compiled)?.() ?? null;

/** The compiled function's program, readable: nodes, dispatches, barriers, bytes, and which line asked for what. */
export function explain(compiled: {
  /** What the compiled function has recorded. */
  explain(): Explanation;
}): Explanation {
  if (typeof (compiled as { readonly explain?: unknown }).explain !== "function")
    throw new ValueError("explain", "compiled", "a result of compile()", compiled);
  return compiled.explain();
}
