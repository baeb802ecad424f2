/**
 * Eager execution: an operation is a program of its own, found by definition, attributes and the descriptions of its inputs. A
 * hit costs a Map lookup and one call of the addon; infer, lower and compile run on a miss only.
 */
import { UnsupportedError, NativeError, ShapeError } from "../errors.ts";
import { DTYPES } from "../dtype.ts";
import type { Definition, ProgramCache, TensorSpec } from "../definition.ts";
import { Generations } from "../generations.ts";
import { showShape, sizeOf } from "../shape.ts";
import { internDesc, Storage, type Desc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { keyOf, sameData } from "../graph/key.ts";
import { relieve, withMemory } from "./buffers.ts";
import { fillOp } from "./constants.ts";
import { nativeDevice, onClose, type NativeDevice } from "./devices.ts";
import { fallBack, setFallbackRunner } from "./fallback.ts";
import { runHost } from "./host.ts";
import { demandReal } from "./traced.ts";
import { ProgramLru } from "./operator-cache.ts";
import { compileGraph, lowerDefinition, type ProgramInput } from "./program.ts";

/** What a key leads to. */
interface EagerProgram {
  readonly native: NativeDevice;
  /** The addon's program; 0: nothing to run (all outputs empty), -1: runs on the fallback device, -2: on the host. */
  readonly id: number;
  readonly outputs: readonly Desc[];
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

/** @internal For tests: how many attributes are remembered. */
export const knownAttributes = (): number => attributeIds.size;

/** Told of the number of an operation's inputs and of its nodes' operators whenever a program is made. */
type Observer = (inputs: number, operators: readonly string[]) => void;
let observer: Observer | null = null;

/** @internal For tests: from now on every operation makes its program anew and is observed; null ends that. */
export function observePrograms(observe: Observer | null): void {
  observer = observe;
  if (observe !== null) programs.drop(() => true, true);
}

const RECENT = 8;

/** A small number for equal attributes; 0 for none. Those of the last few calls of an operation are compared by value. */
function attributesId({ attributes }: ProgramCache, attrs: unknown): number {
  if (attrs === undefined || attrs === null) return 0;
  for (const recent of attributes) if (sameData(recent.value, attrs)) return recent.id;
  const key = keyOf(attrs);
  let id = attributeIds.get(key);
  if (id === undefined) {
    id = ++attributeCount;
    attributeIds.set(key, id);
  }
  // A copy: a caller may go on to change its own array.
  attributes.unshift({ value: structuredClone(attrs), id });
  if (attributes.length > RECENT) attributes.pop();
  return id;
}

const residueOf = (t: Tensor): number => (t.offset * DTYPES[t.desc.dtype].sizeInBytes) % 16;

/** Ids below it fit a number in pairs. */
const FEW = 0x200000;

/** The key of a call without attributes whose inputs start their buffers: a number as long as ids are small, then text. */
function plainKey(first: Desc, second: Desc | null): number | string {
  if (first.id < FEW && (second === null || second.id < FEW)) return second === null ? first.id : (first.id + 1) * FEW + second.id;
  return second === null ? `0,${first.id}` : `0,${first.id},${second.id}`;
}

/** Runs an operation. In the common case (one or two inputs that start their buffers, no attributes) the inline cache knows it. */
export function runEager<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[] {
  relieve();
  const n = inputs.length;
  const a = inputs[0];
  const b = inputs[1];
  const plain = n > 0 && n <= 2 && attrs === undefined && a!.offset === 0 && (n === 1 || b!.offset === 0);
  if (plain) {
    const first = a!.desc;
    const second = n === 1 ? null : b!.desc;
    const cache = definition.cache;
    let program: EagerProgram | undefined;
    if (cache.first === first && cache.second === second) {
      program = cache.last as EagerProgram;
      if (program.dropped) program = undefined;
    }
    if (program === undefined) {
      const key = plainKey(first, second);
      program = programs.get(cache.id, key) ?? programs.set(cache.id, key, make(definition, inputs, attrs));
      cache.first = first;
      cache.second = second;
      cache.last = program;
    }
    if (program.id > 0 && program.outputs.length === 1) {
      const storage = new Storage(program.native.device, program.outputs[0]!.sizeInBytes);
      try {
        storage.handle =
          n === 1
            ? program.native.binding.run(program.id, storage, a!.storage.handle)
            : program.native.binding.run(program.id, storage, a!.storage.handle, b!.storage.handle);
      } catch {
        demandReal(definition.name, inputs);
        const p = program;
        storage.handle = withMemory(definition.name, () => p.native.binding.run(p.id, storage, ...inputs.map((t) => t.storage.handle)));
      }
      return [new Tensor(storage, program.outputs[0]!)];
    }
    return execute(definition, program, inputs, attrs);
  }
  let key = `${attributesId(definition.cache, attrs)}`;
  for (const t of inputs) key += `,${t.desc.id}${t.offset === 0 ? "" : `+${residueOf(t)}`}`;
  if (n === 0) throw new TypeError(`${definition.name}: operations without inputs run through runCreation`);
  const program = programs.get(definition.cache.id, key) ?? programs.set(definition.cache.id, key, make(definition, inputs, attrs));
  return execute(definition, program, inputs, attrs);
}

/** Runs an operation that has no inputs on a device. */
export function runCreation<A>(definition: Definition<A>, native: NativeDevice, attrs: A): Tensor[] {
  relieve();
  const key = `${native.device.id}:${attributesId(definition.cache, attrs)}`;
  const program =
    programs.get(definition.cache.id, key) ?? programs.set(definition.cache.id, key, makeOn(native, definition, [], [], attrs));
  return execute(definition, program, [], attrs);
}

const HOST = -2;
let slots = new Float64Array(64);

function execute<A>(definition: Definition<A>, program: EagerProgram, inputs: readonly Tensor[], attrs: A): Tensor[] {
  if (program.id === HOST) return runHost(definition, program.native, program.outputs, inputs, attrs);
  if (program.fill !== null)
    return program.outputs.map((d) => runCreation(fillOp, program.native, { shape: d.shape, dtype: d.dtype, value: program.fill! })[0]!);
  if (program.id < 0) return fallBack(definition, inputs, attrs, program.native, program.reason);
  const storages = program.outputs.map((d) => new Storage(program.native.device, d.sizeInBytes));
  if (program.id > 0) {
    const count = inputs.length + storages.length + 1;
    if (slots.length < 2 * count) slots = new Float64Array(4 * count);
    for (const t of inputs) if (t.storage.handle === 0) demandReal(definition.name, inputs);
    withMemory(definition.name, () => {
      slots.fill(0, 0, 2 * count);
      inputs.forEach((t, i) => {
        const at = t.offset * DTYPES[t.desc.dtype].sizeInBytes;
        slots[2 * i] = t.storage.handle;
        slots[2 * i + 1] = at - (at % 16);
      });
      program.native.binding.execute(program.id, slots.subarray(0, 2 * count), storages);
    });
    storages.forEach((s, i) => {
      s.handle = slots[2 * (inputs.length + i)]!;
    });
  }
  return storages.map((s, i) => new Tensor(s, program.outputs[i]!));
}

function make<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): EagerProgram {
  const native = nativeDevice(inputs[0]!.device, definition.name);
  return makeOn(
    native,
    definition,
    inputs.map((t) => ({ desc: t.desc, residue: residueOf(t) })),
    inputs,
    attrs,
  );
}

const MOST_ELEMENTS = 2 ** 32 - 1;

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
    if (sizeOf(s.shape) > MOST_ELEMENTS)
      throw new ShapeError(
        definition.name,
        "result",
        `of at most ${MOST_ELEMENTS} elements, as DirectML counts them in 32 bits`,
        showShape(s.shape),
      );
  const outputs = specs.map((s) => internDesc(native.device, s.dtype, s.shape));
  const base = { native, outputs, reason: "", fill: null, dropped: false };
  if (definition.host !== undefined) return { ...base, id: HOST };
  if (specs.every((s) => sizeOf(s.shape) === 0)) return { ...base, id: 0 };
  if (tensors.some((t) => t.size === 0) || specs.some((s) => sizeOf(s.shape) === 0)) {
    if (definition.whenEmpty === undefined)
      throw new ShapeError(
        definition.name,
        "tensor",
        "of at least one element along the axes it works on",
        tensors.map((t) => t.describe()).join(", "),
      );
    return { ...base, id: 0, fill: definition.whenEmpty };
  }
  try {
    const graph = lowerDefinition(native, definition, inputs, attrs, specs);
    observer?.(
      inputs.length,
      graph.nodes.map((n) => n.operator),
    );
    const program = compileGraph(native, graph, definition.name, definition.traits.asGraph);
    return { ...base, ...program };
  } catch (error) {
    const missing = error instanceof UnsupportedError || (error instanceof NativeError && error.kind === "unsupported");
    if (!missing || native.device.type === "cpu") throw error;
    return { ...base, id: -1, reason: error.message };
  }
}

setFallbackRunner((definition, inputs, attrs, native) =>
  inputs.length === 0 ? runCreation(definition, native, attrs) : runEager(definition, inputs, attrs),
);
