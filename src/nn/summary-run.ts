/** The run behind summary() and graphs for TensorBoard: a call on `meta`, with what each call of a module in it took, gave and computed. @package */
import { noGrad } from "../autograd/grad-mode.ts";
import { withDevice } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { DxError, TraceError, ValueError } from "../core/errors.ts";
import { scope } from "../core/scope.ts";
import type { Shape } from "../core/shape.ts";
import type { Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { empty } from "../ops/creation/creation.ts";
import { observingMeta, type MetaObserver, type MetaWriteObserver } from "../runtime/eager.ts";
import { withTensors } from "./functional-call.ts";
import type { Module } from "./module.ts";
import { sitesIn } from "./sites.ts";
import { isUninitialized } from "./uninitialized.ts";

/** One call of a module in the run. */
export interface ModuleCall {
  readonly module: Module;
  readonly input: readonly Shape[];
  output: readonly Shape[];
  outputBytes: number;
  /** Of operations that the module's own forward() called. */
  multiplyAdds: number;
  readonly inner: ModuleCall[];
}

/** What a run saw. */
export interface SummaryRun {
  /** The first call. */
  readonly root: ModuleCall | null;
  readonly inputBytes: number;
  /** Of what calls gave, each buffer once, inputs not among them. */
  readonly activationBytes: number;
}

/** What is run, and who is told of it. */
export interface MetaRun {
  /** The function of the errors. */
  readonly operation: string;
  readonly call: (...inputs: unknown[]) => unknown;
  /** What the call is of, as an argument of `operation`. */
  readonly argument: string;
  /** The modules by name, whose tensors are replaced by ones without elements. */
  readonly names: ReadonlyMap<Module, string>;
  /** One input, or a list. */
  readonly input: unknown;
  /** The mode; null: as each module is. */
  readonly training: boolean | null;
  /** Told before the call. held: what replaces tensors of modules. */
  readonly onBegin?: (inputs: readonly Tensor[], held: ReadonlyMap<Tensor, Tensor>) => void;
  /** Told of each operation, with the module whose forward() calls it. */
  readonly onOperation?: (module: Module | null, ...seen: Parameters<MetaObserver>) => void;
  /** Told of each write of a value into a tensor. */
  readonly onWrite?: MetaWriteObserver;
  /** Told what the call gave. */
  readonly onEnd?: (outputs: readonly Tensor[]) => void;
}

const META = "meta";

/** A tensor without elements of the same shape and dtype. */
const outlineOf = (shape: readonly number[], dtype: DType): Tensor => empty(shape, { dtype, device: META });

const isShape = (value: unknown): value is readonly number[] => Array.isArray(value) && value.every((d) => typeof d === "number");

/** Tensors and { shape, dtype } as tensors without elements, also in lists and objects; everything else as it is. */
function outlined(operation: string, value: unknown): unknown {
  if (value instanceof Tensor) {
    value.requireLive(operation, "input");
    return outlineOf(value.shape, value.dtype);
  }
  if (typeof value !== "object" || value === null) return value;
  // Numbers in options are numbers: lengths of sequences, say.
  if (Array.isArray(value)) return isShape(value) ? value : (value as unknown[]).map((inner) => outlined(operation, inner));
  if (value instanceof Map) return new Map([...value].map(([key, inner]) => [key as unknown, outlined(operation, inner)]));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const { shape, dtype } = value as { readonly shape?: unknown; readonly dtype?: DType };
  if (isShape(shape)) return outlineOf(shape, dtype ?? "float32");
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, outlined(operation, inner)]));
}

/** The arguments of forward(): a list of inputs, or one. An input that is a list of numbers is a shape. */
function argumentsOf(operation: string, input: unknown): readonly unknown[] {
  const one = (value: unknown): unknown => (isShape(value) ? outlineOf(value, "float32") : outlined(operation, value));
  if (isShape(input) || !Array.isArray(input)) return [one(input)];
  return input.map(one);
}

const tensorsIn = (value: unknown): Tensor[] => [...sitesIn(value, () => {}, [])].map(({ tensor }) => tensor);
const bytesOf = (tensors: readonly Tensor[]): number => tensors.reduce((sum, t) => sum + t.desc.sizeInBytes, 0);

/** The calls of one run. While it is on, each module has a forward() of its own that notes what goes in and out. */
class Recorder {
  readonly #operation: string;
  readonly #names: ReadonlyMap<Module, string>;
  readonly #open: ModuleCall[] = [];
  readonly #storages: Set<Storage>;
  #failed: { readonly error: unknown; readonly name: string } | null = null;
  root: ModuleCall | null = null;
  activationBytes = 0;

  constructor(operation: string, names: ReadonlyMap<Module, string>, inputs: readonly Tensor[]) {
    this.#operation = operation;
    this.#names = names;
    this.#storages = new Set(inputs.map((t) => t.storage));
  }

  /** The module whose forward() runs. */
  get module(): Module | null {
    return this.#open.at(-1)?.module ?? null;
  }

  count(multiplyAdds: number): void {
    const call = this.#open.at(-1);
    if (call !== undefined) call.multiplyAdds += multiplyAdds;
  }

  run(module: Module, inputs: readonly unknown[], forward: (...inputs: unknown[]) => unknown): unknown {
    const input = tensorsIn(inputs).map((t) => t.shape);
    const call: ModuleCall = { module, input, output: [], outputBytes: 0, multiplyAdds: 0, inner: [] };
    const outer = this.#open.at(-1);
    if (outer === undefined) this.root ??= call;
    else outer.inner.push(call);
    this.#open.push(call);
    try {
      const output = forward.apply(module, [...inputs]);
      const tensors = tensorsIn(output);
      call.output = tensors.map((t) => t.shape);
      call.outputBytes = bytesOf(tensors);
      for (const { storage } of tensors) {
        if (this.#storages.has(storage)) continue;
        this.#storages.add(storage);
        this.activationBytes += storage.contentInBytes;
      }
      return output;
    } catch (error) {
      this.#failed ??= { error, name: this.#names.get(module) ?? "" };
      throw error;
    } finally {
      this.#open.pop();
    }
  }

  /** The error with the name of the module whose forward() threw it. */
  named(error: unknown): unknown {
    if (this.#failed === null || this.#failed.error !== error) return error;
    const data = {
      operation: this.#operation,
      argument: `forward() of ${this.#failed.name}`,
      expected: "a function of tensors without elements",
      received: error instanceof Error ? `the error "${error.message}"` : String(error),
      hint: 'It runs on the device "meta": what it reads, or makes on another device, is an error.',
    };
    return new DxError(data, { cause: error });
  }
}

/** Runs fn while calls of the modules are recorded. */
function recording<T>(modules: readonly Module[], recorder: Recorder, fn: () => T): T {
  const before = modules.map((m) => [m, Object.getOwnPropertyDescriptor(m, "forward")] as const);
  try {
    for (const [module] of before) {
      const forward = module.forward as (...inputs: unknown[]) => unknown;
      const value = (...inputs: unknown[]): unknown => recorder.run(module, inputs, forward);
      Object.defineProperty(module, "forward", { value, configurable: true, enumerable: false, writable: true });
    }
    return fn();
  } finally {
    for (const [module, own] of before) {
      if (own === undefined) delete (module as { forward?: unknown }).forward;
      else Object.defineProperty(module, "forward", own);
    }
  }
}

/** Runs fn in a mode; null: each module in its own. */
function inMode<T>(modules: readonly Module[], training: boolean | null, fn: () => T): T {
  const before = modules.map((m) => m.training);
  try {
    if (training !== null) for (const m of modules) m.training = training;
    return fn();
  } finally {
    modules.forEach((m, i) => {
      m.training = before[i]!;
    });
  }
}

/** Makes the call on `meta`. Its calls of modules; root is null where it calls none. */
export function runOnMeta(run: MetaRun): SummaryRun {
  const { operation, names, training } = run;
  if (tracer() !== null)
    throw new TraceError({ operation, expected: "called outside of compiled functions", received: "a call inside of one" });
  const modules = [...names.keys()];
  const make = (): SummaryRun => {
    const inputs = argumentsOf(operation, run.input);
    const inputTensors = tensorsIn(inputs);
    const held = new Map<Tensor, Tensor>();
    for (const m of modules)
      for (const { tensor } of m.sites()) {
        if (!held.has(tensor) && !isUninitialized(tensor)) held.set(tensor, outlineOf(tensor.shape, tensor.dtype));
      }
    const recorder = new Recorder(operation, names, [...inputTensors, ...held.values()]);
    run.onBegin?.(inputTensors, held);
    try {
      const result = observingMeta(
        (definition, tensors, attrs, outputs, storages) => {
          if (definition.multiplyAdds !== undefined) recorder.count(definition.multiplyAdds(tensors, attrs, outputs));
          run.onOperation?.(recorder.module, definition as never, tensors, attrs, outputs, storages);
        },
        run.onWrite ?? null,
        () => withTensors(modules, held, () => recording(modules, recorder, () => run.call(...inputs))),
      );
      if (result instanceof Promise) throw new ValueError(operation, run.argument, "one whose call gives no promise", result);
      run.onEnd?.(tensorsIn(result));
    } catch (error) {
      throw recorder.named(error);
    }
    return { root: recorder.root, inputBytes: bytesOf(inputTensors), activationBytes: recorder.activationBytes };
  };
  return inMode(modules, training, () => withDevice(META, () => noGrad(() => scope(make))));
}
