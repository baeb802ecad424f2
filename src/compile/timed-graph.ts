/** A graph as a program over buffers of its own, to compare forms of an operation: its results, and its time on the device. */
import { DTYPES, type DType } from "../core/dtype.ts";
import type { Storage } from "../core/storage.ts";
import type { Graph, Value } from "../graph/graph.ts";
import { planGraph, type Regions } from "../graph/plan/plan.ts";
import { allocate, readBytesSync, upload, withMemory } from "../runtime/buffers.ts";
import type { NativeDevice } from "../runtime/devices.ts";

/** Bytes of a pattern that inputs repeat: more than a device's fastest memory would make no difference, and take long to make. */
const PATTERN = 2 ** 16;
/** Bytes of a result that are compared. */
const COMPARED = 2 ** 22;
const OPERATION = "tune";

/** Numbers from 0.1 to 1.1, which logarithms, roots and quotients take. */
function* fractions(): Generator<number> {
  for (let state = 1; ; state = (Math.imul(state, 1664525) + 1013904223) >>> 0) yield 0.1 + state / 2 ** 32;
}

const HALVES = [0x3000, 0x3400, 0x3800, 0x3a00, 0x3b00, 0x3c00, 0x3555, 0x3999];

const patterns = new Map<DType, Uint8Array>();

/** Bytes of elements that every operation takes: indices are 0. */
function patternOf(dtype: DType): Uint8Array | null {
  const known = patterns.get(dtype);
  if (known !== undefined) return known;
  const bytes = new Uint8Array(PATTERN);
  const numbers = fractions();
  const next = (): number => numbers.next().value as number;
  if (dtype === "float32") new Float32Array(bytes.buffer).forEach((_, i, list) => (list[i] = next()));
  else if (dtype === "float16") new Uint16Array(bytes.buffer).forEach((_, i, list) => (list[i] = HALVES[Math.floor(8 * (next() - 0.1))]!));
  else if (dtype === "uint8") bytes.forEach((_, i) => (bytes[i] = Math.floor(256 * (next() - 0.1))));
  else return null;
  patterns.set(dtype, bytes);
  return bytes;
}

/** What an input holds: elements of a dtype that are made up, or bytes. */
export type Content = DType | Uint8Array;

function bytesOf(content: Content, sizeInBytes: number): Uint8Array {
  const bytes = new Uint8Array(sizeInBytes);
  const pattern = typeof content === "string" ? patternOf(content) : content;
  if (pattern === null) return bytes;
  const size = Math.min(pattern.length, sizeInBytes);
  bytes.set(pattern.subarray(0, size));
  if (typeof content !== "string") return bytes;
  for (let filled = size; filled < sizeInBytes; filled *= 2) bytes.copyWithin(filled, 0, Math.min(filled, sizeInBytes - filled));
  return bytes;
}

/** Owns a program, its recording and its buffers. */
export class TimedGraph {
  readonly #native: NativeDevice;
  readonly #graph: Graph;
  readonly #storages: Storage[] = [];
  #program = 0;
  #recording = 0;

  /** contents: of the graph's inputs. Throws where the device has no memory for it, or lacks an operator. */
  constructor(native: NativeDevice, graph: Graph, contents: ReadonlyMap<Value, Content>, regions: Regions | undefined) {
    this.#native = native;
    const distinct = [...new Map(graph.outputs.map((x) => [x.value, x])).values()];
    graph.outputs = distinct;
    this.#graph = graph;
    const plan = planGraph(graph, native.capabilities, OPERATION, regions);
    try {
      for (const value of graph.inputs)
        this.#own(upload(native, bytesOf(graph.constants.get(value) ?? contents.get(value) ?? "uint32", value.sizeInBytes), OPERATION));
      for (const bytes of plan.outputs) this.#own(allocate(native, bytes, OPERATION));
      const scratch = this.#own(allocate(native, plan.scratch, OPERATION));
      for (const { offset, bytes } of plan.presets) withMemory(OPERATION, () => native.binding.write(scratch.handle, offset, bytes));
      this.#program = withMemory(OPERATION, () => native.binding.createProgram(native.id, plan));
      const slots = Float64Array.from(this.#storages.flatMap((s) => [s.handle, 0]));
      this.#recording = withMemory(OPERATION, () => native.binding.record(this.#program, slots, 2));
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  #own(storage: Storage): Storage {
    storage.retain();
    this.#storages.push(storage);
    return storage;
  }

  /** Seconds of its dispatches by the device's clock, each alone. */
  seconds(): number {
    return this.#native.binding.profile(this.#recording).seconds.reduce((a, b) => a + b, 0);
  }

  /** The first elements of each result, as numbers. Null: a dtype whose bits have to be equal. */
  results(dtypes: readonly DType[]): ArrayLike<number>[] {
    return this.#graph.outputs.map(({ value }, i) => {
      const storage = this.#storages[this.#graph.inputs.length + i]!;
      const dtype = dtypes[i] ?? "uint8";
      const size = Math.min(COMPARED, value.sizeInBytes);
      const bytes = readBytesSync(this.#native, storage.handle, 0, size, OPERATION);
      return numbersOf(dtype, bytes);
    });
  }

  dispose(): void {
    const { binding } = this.#native;
    if (this.#recording !== 0) binding.releaseRecording(this.#recording);
    if (this.#program !== 0) binding.releaseProgram(this.#program);
    this.#recording = this.#program = 0;
    for (const s of this.#storages.splice(0)) s.release();
  }
}

function numbersOf(dtype: DType, bytes: ArrayBuffer): ArrayLike<number> {
  const size = DTYPES[dtype].sizeInBytes;
  const whole = bytes.slice(0, Math.floor(bytes.byteLength / size) * size);
  if (dtype === "float32") return new Float32Array(whole);
  if (dtype === "float16") return Float32Array.from(new Uint16Array(whole), halfValue);
  return dtype === "int32" || dtype === "uint32" ? new Int32Array(whole) : new Uint8Array(whole);
}

function halfValue(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : exponent === 31 ? (fraction === 0 ? Infinity : NaN) : (1 + fraction / 1024) * 2 ** (exponent - 15); // prettier-ignore
  return bits & 0x8000 ? -magnitude : magnitude;
}
