/**
 * Measures which form of each operation and region of a program is fastest on the device, and remembers it: `compile()` with the option `tune`. An
 * operation's forms are DirectML's operators, the library's shader and the shader's tiles; a region's are one shader or a dispatch for each node.
 */
import { noGrad } from "../autograd/grad-mode.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import type { Definition, TensorSpec } from "../core/definition.ts";
import { DeviceRemovedError } from "../core/errors.ts";
import { Journal, withJournal } from "../core/journal.ts";
import { outsideScopes, scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { withTracer } from "../core/tracer.ts";
import { keyOf } from "../graph/key.ts";
import { Graph, type Expr, type GraphNode, type Value } from "../graph/graph.ts";
import { fuseRegions, fuses, type FuseMode, type MeasuredRegion } from "../graph/passes/fuse/fuse.ts";
import { optimize } from "../graph/passes/optimize.ts";
import { isOneGraph, type Regions } from "../graph/plan/plan.ts";
import { toDType } from "../ops/data/conversion.ts";
import { Generator, rand } from "../ops/random/random.ts";
import { lowerDefinition } from "../runtime/addon-program.ts";
import { loadReports, onClose, type NativeDevice } from "../runtime/devices.ts";
import { choosingBy, DIRECTML, formOfName, inForm, nameOfForm, SHADER, type Form, type TraceChooser, type TracedChoice } from "../shader/shader-forms.ts"; // prettier-ignore
import { addTuned, readTuned, type TunedChoice } from "../shader/tuned-store.ts";
import type { Operand } from "./operand.ts";
import { steadily } from "./steady-device.ts";
import { TimedGraph, type Content } from "./timed-graph.ts";

/** How `tune` measures. */
export interface TuneOptions {
  /** Called before the forms of an operation or a region are measured. */
  readonly onMeasure?: (progress: TuneProgress) => void;
  /** Ends measuring: what was measured is kept, the rest runs as it does without `tune`. Abort it in `onMeasure`: a call is synchronous. */
  readonly signal?: AbortSignal;
  /** Seconds after which nothing more is measured in this process. Default: no limit. */
  readonly seconds?: number;
}

/** What `tune` is about to measure. */
export interface TuneProgress {
  /** The operation with its inputs, "matmul float32[64, 512], float32[512, 512]", or a region's nodes. */
  readonly what: string;
  /** Operations and regions that this function has had measured before. */
  readonly measured: number;
}

/** How often each form is timed, and the seconds after which it is not again. */
const [ROUNDS, ENOUGH] = [5, 0.2];
/** How much faster another form than DirectML's has to be. */
const MARGIN = 1.03;
/** Of the largest element of a result. */
const TOLERANCE = { float32: 1e-4, float16: 1e-2 } as const;

/** The choices of each open device, as its file had them when they were first asked for, and those made since. */
const known = new WeakMap<NativeDevice, Map<string, TunedChoice>>();
onClose((native) => known.delete(native));

function choicesOf(native: NativeDevice): Map<string, TunedChoice> {
  let choices = known.get(native);
  if (choices === undefined) known.set(native, (choices = readTuned(native, loadReports()[native.runtime])));
  return choices;
}

const microseconds = (seconds: number): string => `${(1e6 * seconds).toFixed(1)} us`;

/** "measured: 16.2 us (shader) against 40.1 us (DirectML)". */
export function measuredText({ taken, seconds }: Pick<TunedChoice, "taken" | "seconds">): string {
  const others = Object.entries(seconds).filter(([name]) => name !== taken).toSorted((a, b) => a[1] - b[1]); // prettier-ignore
  const [first] = others.filter(([name]) => name === "DirectML" || name === "operators").concat(others);
  const own = `measured: ${microseconds(seconds[taken]!)} (${taken})`;
  if (first === undefined) return `${own}; other forms differ, or do not run`;
  return `${own} against ${microseconds(first[1])} (${first[0]})`;
}

/** compile(), which imports this file. */
type CompileOf = (
  fn: (...tensors: Tensor[]) => Tensor,
  options: { readonly name: string; readonly check: false; readonly fuse?: FuseMode },
) => ((...tensors: Tensor[]) => Tensor) & { profileSync(): { readonly microseconds: number }; dispose(): void };

/** What an operation's lowering gave. */
export interface TunedLowering<T> {
  readonly result: T;
  readonly choice: TunedChoice | null;
}

/** One form, to be made and timed. */
interface Candidate {
  readonly name: string;
  readonly make: () => { readonly graph: Graph; readonly contents: ReadonlyMap<Value, Content> };
}

export class Tuner {
  readonly native: NativeDevice;
  readonly #options: TuneOptions;
  readonly #program: { readonly regions: Regions | undefined; readonly fuse: FuseMode | undefined };
  readonly #choices: Map<string, TunedChoice>;
  readonly #single = new Set<string>();
  readonly #added = new Map<string, TunedChoice>();
  readonly #end: number;
  #measured = 0;

  readonly #compile: CompileOf;

  constructor(
    native: NativeDevice,
    options: TuneOptions,
    program: { readonly regions: Regions | undefined; readonly fuse: FuseMode | undefined },
    compile: CompileOf,
  ) {
    this.#compile = compile;
    this.native = native;
    this.#options = options;
    this.#program = program;
    this.#choices = choicesOf(native);
    this.#end = options.seconds === undefined ? Infinity : performance.now() + 1000 * options.seconds;
  }

  /** Lowers an operation in the form that is fastest for these inputs. */
  lower<T>(
    definition: Definition<never>,
    inputs: readonly Operand[],
    attrs: unknown,
    specs: readonly TensorSpec[],
    lower: () => T,
  ): TunedLowering<T> {
    const shapes = inputs.map(({ desc, offset }) => [desc.dtype, desc.shape, desc.strides, (offset * DTYPES[desc.dtype].sizeInBytes) % 16]);
    const { regions, fuse } = this.#program;
    const key = hashOf(["operation", definition.name, attrs ?? null, shapes, specs, regions ?? null, fuse ?? null]);
    const choice = this.#choices.get(key) ?? this.#measureOperation(key, definition, inputs, attrs, specs);
    if (choice === null) return { result: lower(), choice };
    return { result: inForm(formOfName(choice.taken), lower).result, choice };
  }

  /** Whether a shader stands for a composition of operations, in a function that is traced. */
  readonly chooses: TraceChooser = (choice) => {
    const { name, tensors, settings } = choice;
    if (tensors.some((t) => t.device !== this.native.device)) return null;
    const { regions, fuse } = this.#program;
    const key = hashOf(["traced", name, tensors.map((t) => [t.dtype, t.shape]), settings, regions ?? null, fuse ?? null]);
    const found = this.#choices.get(key) ?? (this.#single.has(key) ? null : this.#measureTraced(key, choice));
    return found === null ? null : found.taken === "shader";
  };

  #measureTraced(key: string, { name, tensors, run }: TracedChoice): TunedChoice | null {
    if (this.#isOver) return null;
    const what = whatOf(name, tensors);
    this.#options.onMeasure?.({ what, measured: this.#measured });
    if (this.#isOver) return null;
    const { device } = this.native;
    const own = (): Tensor[] => tensors.map(({ shape, dtype }, i) => rand([...shape], { device, dtype, generator: new Generator(i + 1) }));
    const seconds: Record<string, number> = {};
    try {
      withTracer(null, () =>
        withJournal(new Journal(), () =>
          outsideScopes(() =>
            noGrad(() =>
              scope(() => {
                Object.assign(seconds, this.#timesOfTraced(name, run, own()));
              }),
            ),
          ),
        ),
      );
    } catch (error) {
      if (error instanceof DeviceRemovedError) throw error;
    }
    if (seconds["DirectML"] === undefined) {
      this.#single.add(key);
      return null;
    }
    const isFaster = seconds["shader"] !== undefined && seconds["shader"] * MARGIN <= seconds["DirectML"];
    return this.#note(key, { what, taken: isFaster ? "shader" : "DirectML", seconds });
  }

  /** Seconds of the forms of a composition that are right. */
  #timesOfTraced(name: string, run: TracedChoice["run"], inputs: readonly Tensor[]): Record<string, number> {
    const made: { readonly form: string; readonly compiled: ReturnType<CompileOf> }[] = [];
    let expected: ArrayLike<number> | null = null;
    try {
      for (const form of ["DirectML", "shader"]) {
        // The gradient's shaders come behind the forward pass's.
        const forced: TraceChooser = (inner) => (inner.name === name ? form === "shader" : true);
        const { fuse } = this.#program;
        const compiled = this.#compile((...list) => run(list), { name: "tune", check: false, ...(fuse === undefined ? {} : { fuse }) });
        made.push({ form, compiled });
        try {
          const y = choosingBy(forced, () => compiled(...inputs));
          const result = Float32Array.from(toDType(y, "float32").dataSync() as ArrayLike<number>);
          // What is behind the first profile is made before anything is timed.
          compiled.profileSync();
          expected ??= result;
          if (agree(expected, result, y.dtype)) continue;
        } catch (error) {
          if (error instanceof DeviceRemovedError) throw error;
        }
        made.pop()!.compiled.dispose();
      }
      const times = made.map(({ form, compiled }) => [form, () => compiled.profileSync().microseconds / 1e6] as const);
      return steadily(this.native, () => timesOf(times));
    } finally {
      for (const { compiled } of made) compiled.dispose();
    }
  }

  #note(key: string, choice: TunedChoice): TunedChoice {
    this.#measured++;
    this.#choices.set(key, choice);
    this.#added.set(key, choice);
    return choice;
  }

  /** Whether nodes are to be the one shader that was made of them. */
  prefersRegion(region: GraphNode, nodes: readonly GraphNode[], constants: ReadonlyMap<Value, Uint8Array>): MeasuredRegion | null {
    const { bytes, constants: numbers, groups } = region.shader!;
    const key = hashOf(["region", hashBytes(bytes), [...numbers], groups]);
    const make = (own: readonly GraphNode[]) => () => partOf(own, region, constants);
    const dtypes = region.outputs.map((x) => x!.dtype);
    const candidates = [
      { name: "operators", make: make(nodes) },
      { name: "shader", make: make([region]) },
    ];
    const choice = this.#choices.get(key) ?? this.#measure(key, region.origin, candidates, dtypes, 1);
    return choice === null ? null : { isFaster: choice.taken === "shader", text: measuredText(choice) };
  }

  /** Writes what was measured to the user's cache folder. */
  save(): void {
    if (this.#added.size === 0) return;
    try {
      addTuned(this.native, loadReports()[this.native.runtime], this.#added);
    } catch {
      // A folder that cannot be written to costs measuring again, no more.
    }
    this.#added.clear();
  }

  get #isOver(): boolean {
    return this.#options.signal?.aborted === true || performance.now() >= this.#end;
  }

  #measureOperation(
    key: string,
    definition: Definition<never>,
    inputs: readonly Operand[],
    attrs: unknown,
    specs: readonly TensorSpec[],
  ): TunedChoice | null {
    if (this.#single.has(key) || this.#isOver) return null;
    const { capabilities } = this.native;
    const inputsOf = inputs.map(({ desc, offset }) => ({ desc, residue: (offset * DTYPES[desc.dtype].sizeInBytes) % 16 }));
    const lowered = (form: Form) => inForm(form, () => lowerDefinition(this.native, definition, inputsOf, attrs as never, specs, { isAlone: false })); // prettier-ignore
    const first = lowered(SHADER);
    const forms = [DIRECTML, SHADER, ...(capabilities.compilesLongShaders ? first.variants.map((variant): Form => ({ isShader: true, variant })) : [])]; // prettier-ignore
    if (!first.hasShader || first.result.nodes.every((n) => n.operator !== "SHADER")) {
      this.#single.add(key);
      return null;
    }
    const contents = (graph: Graph): ReadonlyMap<Value, Content> => new Map(graph.inputs.map((value, i) => [value, inputs[i]!.desc.dtype]));
    const what = whatOf(definition.name, inputs.map(({ desc }) => desc)); // prettier-ignore
    const candidates = forms.map((form): Candidate => ({
      name: nameOfForm(form),
      make: () => {
        const { result: graph } = lowered(form);
        return { graph: this.#asInProgram(graph), contents: contents(graph) };
      },
    }));
    return this.#measure(key, what, candidates, specs.map((s) => s.dtype), MARGIN); // prettier-ignore
  }

  /** The operation's graph after the passes that a program's goes through. */
  #asInProgram(graph: Graph): Graph {
    const { regions, fuse } = this.#program;
    const { capabilities } = this.native;
    const optimized = optimize(graph, capabilities, isOneGraph(capabilities, regions));
    return fuses(capabilities, fuse, regions !== undefined) ? fuseRegions(optimized, capabilities, new Map()) : optimized;
  }

  /** Times the candidates in alternation; the first one is right by definition, and stays unless another is `margin` times as fast. */
  #measure(key: string, what: string, candidates: readonly Candidate[], dtypes: readonly DType[], margin: number): TunedChoice | null {
    if (this.#isOver) return null;
    this.#options.onMeasure?.({ what, measured: this.#measured });
    if (this.#isOver) return null;
    const made: { readonly name: string; readonly timed: TimedGraph }[] = [];
    let seconds: Record<string, number>;
    try {
      let expected: readonly ArrayLike<number>[] | null = null;
      for (const { name, make } of candidates) {
        const timed = this.#made(make);
        if (timed === null) {
          // Nothing is compared with what cannot run.
          if (expected === null) return null;
          continue;
        }
        const own = { name, timed };
        made.push(own);
        timed.seconds();
        const results = timed.results(dtypes);
        expected ??= results;
        if (!results.every((list, i) => agree(expected![i]!, list, dtypes[i]!))) made.splice(made.indexOf(own), 1)[0]!.timed.dispose();
      }
      seconds = steadily(this.native, () => timesOf(made.map(({ name, timed }) => [name, () => timed.seconds()])));
    } finally {
      for (const { timed } of made) timed.dispose();
      this.#settle();
    }
    const first = made[0]!.name;
    const fastest = made.reduce((a, { name }) => (seconds[name]! < seconds[a]! ? name : a), first);
    const taken = seconds[fastest]! * margin <= seconds[first]! ? fastest : first;
    return this.#note(key, { what, taken, seconds });
  }

  /** Gives memory back that only the measurement needed: the program has to have what it would have without. */
  #settle(): void {
    const { binding, id } = this.native;
    try {
      binding.synchronizeSync(id);
      for (let i = 0; i < 2; i++) binding.settle(id);
    } catch {
      // What comes next reports the device's removal.
    }
  }

  /** Null: the device does not run it. */
  #made(make: Candidate["make"]): TimedGraph | null {
    try {
      const { graph, contents } = make();
      return new TimedGraph(this.native, graph, contents, this.#program.regions);
    } catch (error) {
      if (error instanceof DeviceRemovedError) throw error;
      return null;
    }
  }
}

/** The least seconds of each form, all of them timed in turn. */
function timesOf(forms: readonly (readonly [name: string, time: () => number])[]): Record<string, number> {
  const seconds = new Map(forms.map(([name]) => [name, Infinity]));
  const start = performance.now();
  for (let round = 0; round < ROUNDS && (round === 0 || performance.now() - start < 1000 * ENOUGH); round++)
    for (const [name, time] of forms) seconds.set(name, Math.min(seconds.get(name)!, time()));
  return Object.fromEntries([...seconds].map(([name, s]) => [name, Math.max(s, 1e-9)]));
}

const whatOf = (name: string, tensors: readonly TensorSpec[]): string =>
  `${name} ${tensors.map(({ dtype, shape }) => `${dtype}[${shape.join(", ")}]`).join(", ")}`;

/** Numbers of values that no program reaches. */
const FIRST_VALUE = 2 ** 30;

/** Nodes as a graph of their own, which reads and writes what a region of them does. */
function partOf(
  nodes: readonly GraphNode[],
  region: GraphNode,
  constants: ReadonlyMap<Value, Uint8Array>,
): { readonly graph: Graph; readonly contents: ReadonlyMap<Value, Content> } {
  const graph = new Graph(FIRST_VALUE);
  const made = new Set(nodes.flatMap((n) => n.outputs.flatMap((x) => (x === null ? [] : [x.value]))));
  const read = nodes.flatMap((n) => n.inputs.filter((x): x is Expr => x !== null && !made.has(x.value)));
  graph.nodes = [...nodes];
  graph.inputs = [...new Set(read.map((x) => x.value))];
  graph.outputs = region.outputs.map((x) => x!);
  const dtypes = new Map(read.map((x) => [x.value, x.dtype]));
  return { graph, contents: new Map(graph.inputs.map((value) => [value, constants.get(value) ?? dtypes.get(value)!])) };
}

/** Only programs that are tuned load the module. */
const hashBytes = (bytes: Uint8Array | string): string =>
  process.getBuiltinModule("node:crypto").createHash("sha256").update(bytes).digest("hex").slice(0, 32);
const hashOf = (data: unknown): string => hashBytes(keyOf(data));

/** Whether two results are the same but for roundings. */
function agree(a: ArrayLike<number>, b: ArrayLike<number>, dtype: DType): boolean {
  if (a.length !== b.length) return false;
  let largest = 0;
  for (let i = 0; i < a.length; i++) if (Math.abs(a[i]!) > largest) largest = Math.abs(a[i]!);
  const tolerance = dtype === "float32" || dtype === "float16" ? TOLERANCE[dtype] * largest : 0;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i]) && !(Math.abs(a[i]! - b[i]!) <= tolerance)) return false;
  return true;
}
