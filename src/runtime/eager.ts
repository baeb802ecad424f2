/**
 * Eager execution: each operation is one program, cached by definition, attributes and the descriptions of its inputs. A
 * hit costs a Map lookup and one call of the addon; infer, lower and compile run on a miss only.
 */
import { DeviceError, UnsupportedError, NativeError, ShapeError } from "../core/errors.ts";
import { DTYPES } from "../core/dtype.ts";
import type { Definition, ProgramCache, TensorSpec } from "../core/definition.ts";
import { Generations } from "../core/bounded-map.ts";
import { showShape, sizeOf } from "../core/shape.ts";
import { internDesc, Storage, type Desc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { updatedBy, type Graph } from "../graph/graph.ts";
import { keyOf, sameData } from "../graph/key.ts";
import { writesPartsByShader } from "../shader/choice.ts";
import { relieve, withMemory } from "./buffers.ts";
import { fillOp } from "./constants.ts";
import { nativeDevice, onClose, type NativeDevice } from "./devices.ts";
import { fallBack, setFallbackRunner } from "./fallback.ts";
import { runHost } from "./host-operations.ts";
import { requireReal } from "./traced.ts";
import { ProgramLru } from "./operator-cache.ts";
import { compileGraph, lowerDefinition, type ProgramInput } from "./addon-program.ts";

/** The program of a key. */
interface EagerProgram {
  /** The operation's. */
  readonly name: string;
  readonly native: NativeDevice;
  /** The addon's program; 0: nothing to run (all outputs empty, or on meta), -1: runs on the fallback device, -2: on the host. */
  readonly id: number;
  readonly outputs: readonly Desc[];
  /** Whether the addon's `run` does it when the inputs start their buffers. */
  readonly isSimple: boolean;
  /** Why it runs on the fallback device. */
  readonly reason: string;
  /** Value of all elements when the inputs have none. */
  readonly fill: number | null;
  dropped: boolean;
}

const programs = new ProgramLru<EagerProgram>(4096, (p) => {
  if (p.id > 0) p.native.binding.releaseProgram(p.id);
});
onClose((native) => programs.drop((p) => p.native === native, false));

/** As many as there are programs. */
const attributeIds = new Generations<string, number>(4096);
let attributeCount = 0;

/** @internal Drops all programs: operations make them again, with the environment variables of that time. */
export const forgetPrograms = (native: NativeDevice): void => programs.drop((p) => p.native === native, true);

/** @internal The operation that a program of a device is of; null where it is none of an operation's. */
export function operationOf(native: NativeDevice, program: number): string | null {
  for (const p of programs.values()) if (p.id === program && p.native === native) return p.name;
  return null;
}

/** @internal For tests: how many attributes are remembered. */
export const knownAttributes = (): number => attributeIds.size;

/** Told of the number of an operation's inputs and of its nodes' operators whenever a program is made. */
type Observer = (inputs: number, operators: readonly string[]) => void;
let observer: Observer | null = null;

/** @internal For tests: from now on every operation makes its program again and is observed; null ends that. */
export function observePrograms(observe: Observer | null): void {
  observer = observe;
  if (observe !== null) programs.drop(() => true, true);
}

const RECENT = 8;

/** A small number for equal attributes; 0 for none. Those of the last few calls of an operation are compared by value. */
function attributesId({ recent }: ProgramCache, attrs: unknown): number {
  if (attrs === undefined || attrs === null) return 0;
  for (const { value, id } of recent) if (sameData(value, attrs)) return id;
  const key = keyOf(attrs);
  let id = attributeIds.get(key);
  if (id === undefined) {
    id = ++attributeCount;
    attributeIds.set(key, id);
  }
  // A copy: a caller may change its own array later.
  recent.unshift({ value: structuredClone(attrs), id });
  if (recent.length > RECENT) recent.pop();
  return id;
}

const residueOf = (t: Tensor): number => (t.offset * DTYPES[t.desc.dtype].sizeInBytes) % 16;

/** Ids below it fit a number in pairs. */
const FEW = 0x200000;

/** The key of one or two inputs that start their buffers: a number as long as ids are small, then text. */
function plainKey(attributes: number, first: Desc, second: Desc | null): number | string {
  if (first.id < FEW && attributes < FEW) {
    if (second === null) return attributes === 0 ? first.id : -(attributes * FEW + first.id);
    if (second.id < FEW && attributes === 0) return (first.id + 1) * FEW + second.id;
  }
  return second === null ? `${attributes},${first.id}` : `${attributes},${first.id},${second.id}`;
}

/** The program of a call, which one or two inputs that start their buffers leave in the inline cache. */
function programFor<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): EagerProgram {
  const { cache } = definition;
  const attributes = attrs === undefined ? 0 : attributesId(cache, attrs);
  const few = inputs.length === 1 || inputs.length === 2;
  if (!few || inputs.some((t) => t.offset !== 0)) {
    if (inputs.length === 0) throw new TypeError(`${definition.name}: operations without inputs run through runCreation`);
    let key = `${attributes}`;
    for (const t of inputs) key += `,${t.desc.id}${t.offset === 0 ? "" : `+${residueOf(t)}`}`;
    return programs.get(cache.id, key) ?? programs.set(cache.id, key, make(definition, inputs, attrs));
  }
  const first = inputs[0]!.desc;
  const second = inputs.length === 1 ? null : inputs[1]!.desc;
  const key = plainKey(attributes, first, second);
  const program = programs.get(cache.id, key) ?? programs.set(cache.id, key, make(definition, inputs, attrs));
  cache.first = first;
  cache.second = second;
  cache.attributes = attributes;
  cache.last = program;
  return program;
}

/** The shortest path: a hit of the inline cache; null: a miss. */
function runKnown<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor | null {
  const { cache } = definition;
  const n = inputs.length;
  if (n !== 1 && n !== 2) return null;
  const a = inputs[0]!;
  const b = n === 1 ? a : inputs[1]!;
  if (cache.first !== a.desc || cache.second !== (n === 1 ? null : b.desc) || a.offset !== 0 || b.offset !== 0) return null;
  if (cache.attributes !== (attrs === undefined ? 0 : attributesId(cache, attrs))) return null;
  const program = cache.last as EagerProgram;
  if (!program.isSimple || program.dropped) return null;
  relieve();
  const desc = program.outputs[0]!;
  const storage = new Storage(desc.device, desc.sizeInBytes);
  try {
    storage.handle =
      n === 1
        ? program.native.binding.run(program.id, storage, a.storage.handle)
        : program.native.binding.run(program.id, storage, a.storage.handle, b.storage.handle);
  } catch {
    runAgain(definition.name, program, inputs, storage);
  }
  return new Tensor(storage, desc);
}

/** Runs an operation. */
export function runEager<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[] {
  const known = runKnown(definition, inputs, attrs);
  if (known !== null) return [known];
  relieve();
  return execute(definition, programFor(definition, inputs, attrs), inputs, attrs);
}

/** The same for operations of one output. */
export function runOne<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor {
  return runKnown(definition, inputs, attrs) ?? runEager(definition, inputs, attrs)[0]!;
}

/**
 * Runs an operation whose one result is written over its first input, a packed tensor that fills its storage, and tells whether it did: not where the
 * device has no such graphs and no shader writes it. The other inputs are elsewhere.
 */
export function runOver<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): boolean {
  const native = nativeDevice(inputs[0]!.device, definition.name);
  if (!native.capabilities.fusesGraphs && !writesPartsByShader(native.capabilities)) return false;
  relieve();
  let key = `over ${attributesId(definition.cache, attrs)}`;
  for (const t of inputs) key += `,${t.desc.id}${t.offset === 0 ? "" : `+${residueOf(t)}`}`;
  const known = programs.get(definition.cache.id, key);
  const program = known ?? programs.set(definition.cache.id, key, makeOver(native, definition, inputs, attrs));
  if (program.id === ELSEWHERE) return false;
  requireReal(definition.name, inputs);
  bind(program, inputs, [], definition.name);
  return true;
}

function makeOver<A>(native: NativeDevice, definition: Definition<A>, inputs: readonly Tensor[], attrs: A): EagerProgram {
  const operands = inputs.map((t) => ({ desc: t.desc, residue: residueOf(t) }));
  const graph = lowerDefinition(native, definition, operands, attrs, definition.infer(inputs.map((t) => t.desc), attrs), { writesOver: true }); // prettier-ignore
  graph.state = [{ buffer: graph.inputs[0]!, value: graph.outputs[0]! }];
  graph.outputs = [];
  const base = { name: definition.name, native, outputs: [], isSimple: false, reason: "", fill: null, dropped: false };
  if (!native.capabilities.fusesGraphs && !isUpdate(graph)) return { ...base, id: ELSEWHERE };
  observer?.(inputs.length, graph.nodes.map((n) => n.operator)); // prettier-ignore
  const program = compileGraph(native, graph, definition.name, native.capabilities.fusesGraphs);
  return { ...base, ...program };
}

/** Whether a shader writes the value over the one mutable buffer. */
function isUpdate({ nodes, state: [write] }: Graph): boolean {
  const node = nodes.find((n) => n.outputs.some((x) => x?.value === write!.value.value));
  return node !== undefined && updatedBy(node, write!.value.value)?.value === write!.buffer;
}

/** After a failure: with memory freed, if that was missing, or for the error as users see it. */
function runAgain(name: string, { id, native }: EagerProgram, inputs: readonly Tensor[], storage: Storage): void {
  requireReal(name, inputs);
  storage.handle = withMemory(name, () => native.binding.run(id, storage, ...inputs.map((t) => t.storage.handle)));
}

/** Runs an operation that has no inputs on a device. */
export function runCreation<A>(definition: Definition<A>, native: NativeDevice, attrs: A): Tensor[] {
  relieve();
  const key = `${native.device.id}:${attributesId(definition.cache, attrs)}`;
  const program =
    programs.get(definition.cache.id, key) ?? programs.set(definition.cache.id, key, makeOn(native, definition, [], [], attrs));
  return execute(definition, program, [], attrs);
}

/** Told of each operation that runs without elements. storages: of the outputs. */
export type MetaObserver = <A>(
  definition: Definition<A>,
  inputs: readonly Tensor[],
  attrs: A,
  outputs: readonly Desc[],
  storages: readonly Storage[],
) => void;
let metaObserver: MetaObserver | null = null;
/** Told of each write of a value into a tensor without elements. */
export type MetaWriteObserver = (target: Tensor, value: Tensor) => void;
let metaWriteObserver: MetaWriteObserver | null = null;

/** Runs fn, in which observe sees every operation on the device `meta`, and observeWrite every write. */
export function observingMeta<T>(observe: MetaObserver, observeWrite: MetaWriteObserver | null, fn: () => T): T {
  const before = [metaObserver, metaWriteObserver] as const;
  [metaObserver, metaWriteObserver] = [observe, observeWrite];
  try {
    return fn();
  } finally {
    [metaObserver, metaWriteObserver] = before;
  }
}

/** A value is about to be written into a tensor. */
export const noteMetaWrite = (target: Tensor, value: Tensor): void => {
  if (metaWriteObserver !== null && !target.device.hasElements) metaWriteObserver(target, value);
};

const HOST = -2;
/** No program that writes over its input: the operation is run as any other. */
const ELSEWHERE = -3;
let slots = new Float64Array(64);

function execute<A>(definition: Definition<A>, program: EagerProgram, inputs: readonly Tensor[], attrs: A): Tensor[] {
  if (program.id === HOST) return runHost(definition, program.native, program.outputs, inputs, attrs);
  if (program.fill !== null)
    return program.outputs.map((d) => runCreation(fillOp, program.native, { shape: d.shape, dtype: d.dtype, value: program.fill! })[0]!);
  if (program.id < 0) return fallBack(definition, inputs, attrs, program.native, program.reason);
  const storages = program.outputs.map((d) => new Storage(program.native.device, d.sizeInBytes));
  if (metaObserver !== null && !program.native.device.hasElements) metaObserver(definition, inputs, attrs, program.outputs, storages);
  if (program.id > 0) {
    for (const t of inputs) if (t.storage.handle === 0) requireReal(definition.name, inputs);
    bind(program, inputs, storages, definition.name);
    storages.forEach((s, i) => {
      s.handle = slots[2 * (inputs.length + i)]!;
    });
  }
  return storages.map((s, i) => new Tensor(s, program.outputs[i]!));
}

/** Runs a program on inputs and into new buffers, whose handles are in `slots` afterwards. */
function bind(program: EagerProgram, inputs: readonly Tensor[], storages: readonly Storage[], name: string): void {
  const count = inputs.length + storages.length + 1;
  if (slots.length < 2 * count) slots = new Float64Array(4 * count);
  withMemory(name, () => {
    slots.fill(0, 0, 2 * count);
    inputs.forEach((t, i) => {
      const at = t.offset * DTYPES[t.desc.dtype].sizeInBytes;
      slots[2 * i] = t.storage.handle;
      slots[2 * i + 1] = at - (at % 16);
    });
    program.native.binding.execute(program.id, slots.subarray(0, 2 * count), storages);
  });
}

function make<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): EagerProgram {
  const { device } = inputs[0]!;
  const native = nativeDevice(device, definition.name);
  for (const t of inputs)
    if (t.device !== device)
      throw new DeviceError(definition.name, "tensors", `all on ${device}`, `one on ${t.device}`, "Use to(device) to move it.");
  return makeOn(
    native,
    definition,
    inputs.map((t) => ({ desc: t.desc, residue: residueOf(t) })),
    inputs,
    attrs,
  );
}

const MAX_ELEMENTS = 2 ** 32 - 1;

function makeOn<A>(
  native: NativeDevice,
  definition: Definition<A>,
  inputs: readonly ProgramInput[],
  tensors: readonly Tensor[],
  attrs: A,
): EagerProgram {
  const specs: readonly TensorSpec[] = definition.infer(
    tensors.map((t) => ({ shape: t.shape, dtype: t.dtype })),
    attrs,
  );
  for (const s of specs)
    if (sizeOf(s.shape) > MAX_ELEMENTS)
      throw new ShapeError(
        definition.name,
        "result",
        `of at most ${MAX_ELEMENTS} elements, as DirectML counts them in 32 bits`,
        showShape(s.shape),
      );
  const outputs = specs.map((s) => internDesc(native.device, s.dtype, s.shape));
  const base = { name: definition.name, native, outputs, isSimple: false, reason: "", fill: null, dropped: false };
  const isMeta = !native.device.hasElements;
  if (definition.host !== undefined) return { ...base, id: isMeta ? 0 : HOST };
  if (specs.every((s) => sizeOf(s.shape) === 0)) return { ...base, id: 0 };
  if (tensors.some((t) => t.size === 0) || specs.some((s) => sizeOf(s.shape) === 0)) {
    if (definition.whenEmpty === undefined)
      throw new ShapeError(
        definition.name,
        "tensor",
        "of at least one element along the reduced axes",
        tensors.map((t) => t.describe()).join(", "),
      );
    return { ...base, id: 0, fill: definition.whenEmpty };
  }
  if (isMeta) return { ...base, id: 0 };
  try {
    const graph = lowerDefinition(native, definition, inputs, attrs, specs);
    observer?.(
      inputs.length,
      graph.nodes.map((n) => n.operator),
    );
    const program = compileGraph(native, graph, definition.name, definition.traits.asGraph);
    return { ...base, ...program, isSimple: outputs.length === 1 };
  } catch (error) {
    const missing = error instanceof UnsupportedError || (error instanceof NativeError && error.kind === "unsupported");
    if (!missing || native.isFallback) throw error;
    return { ...base, id: -1, reason: error.message };
  }
}

setFallbackRunner((definition, inputs, attrs, native) =>
  inputs.length === 0 ? runCreation(definition, native, attrs) : runEager(definition, inputs, attrs),
);
