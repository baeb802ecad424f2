/** Event files for TensorBoard. Reference: torch.utils.tensorboard.SummaryWriter. */
import { join } from "node:path";
import { DTYPES, isFloat, type TypedArray } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { processRanks } from "../core/process-ranks.ts";
import { sizeOf } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { pathOf, type FilePath } from "../host/source.ts";
import { data } from "../ops/data/conversion.ts";
import { Module } from "../nn/module.ts";
import { onTrial } from "../nn/lazy.ts";
import type { SummaryInputSpec } from "../nn/summary.ts";
import { requireElements } from "../runtime/meta.ts";
import type { Moment } from "./events/encode.ts";
import { EventFile, NoEvents } from "./events/event-file.ts";
import { graphOf } from "./events/graph-run.ts";

/** Options of summaryWriter(). */
export interface SummaryWriterOptions {
  /** A run that ended at a later step resumes here: TensorBoard hides what it recorded from this step on. Default: nothing is hidden. */
  readonly purgeStep?: number | undefined;
  /** More text for the end of the files' names. Default: none. */
  readonly filenameSuffix?: string | undefined;
  /** How many records may wait for the device and the disk before methods return false; they also do for 64 MiB. Default 1000. */
  readonly maxQueue?: number | undefined;
  /** Whether every rank of a process group writes a file. Default: false: the first one alone, and on the others records are left out. */
  readonly allRanks?: boolean | undefined;
}

/** Options of each record. */
export interface RecordOptions {
  /** The time of the record, in seconds since 1970. Default: now. */
  readonly wallTime?: number | undefined;
}

/** Options of histogram(). */
export interface HistogramOptions extends RecordOptions {
  /**
   * "tensorflow": 1549 edges of ±1e-12 times powers of 1.1, and 0. A number: so many buckets of equal width from the least to the greatest value. A list:
   * their edges, ascending. Default "tensorflow".
   */
  readonly bins?: "tensorflow" | number | readonly number[] | undefined;
}

/** Options of graph(). */
export interface GraphOptions extends RecordOptions {
  /** Of a function: the modules that it calls, by the names that the graph has for them. */
  readonly modules?: Readonly<Record<string, Module>> | undefined;
  /** Whether modules are in training mode. Default: false. */
  readonly training?: boolean | undefined;
}

/** A number, or a tensor with one real element. */
export type ScalarValue = number | Tensor;

/** Hyperparameters by name; null and undefined are left out. */
export interface HyperParameters {
  readonly [name: string]: string | number | boolean | null | undefined;
}

/** What waits takes memory: its bytes, and more for small records. */
const MAX_WAITING_BYTES = 64 * 2 ** 20;
const RECORD_BYTES = 64;
/** A histogram's record has two numbers a bucket. */
const MAX_BINS = 2 ** 20;

/** Loaded with the first record: importing the library takes no time for it. */
const encoder = () => import("./events/encode.ts");
type Encoder = Awaited<ReturnType<typeof encoder>>;

function requireStep(operation: string, argument: string, step: number): void {
  if (!Number.isSafeInteger(step)) throw new ValueError(operation, argument, "an integer", step);
}

function requireTag(operation: string, tag: string): void {
  if (typeof tag !== "string") throw new DTypeError(operation, "tag", "a string", tag);
  if (tag === "") throw new ValueError(operation, "tag", "a text that is not empty", tag);
}

/** A tensor's elements as they are now, which arrive later. */
function elementsOf(operation: string, argument: string, tensor: Tensor): Promise<TypedArray> {
  tensor.requireLive(operation, argument);
  tracer()?.read(operation, tensor);
  requireElements(operation, tensor);
  const elements = data(tensor);
  // Whoever writes the record awaits it, perhaps much later.
  elements.catch(() => {});
  return elements;
}

const sizeInBytes = (t: Tensor): number => sizeOf(t.shape) * DTYPES[t.dtype].sizeInBytes;

function requireBins(operation: string, bins: NonNullable<HistogramOptions["bins"]>): void {
  if (typeof bins === "number") {
    if (!Number.isSafeInteger(bins) || bins < 1 || bins > MAX_BINS)
      throw new ValueError(operation, "bins", `an integer from 1 to ${MAX_BINS}`, bins);
  } else if (bins !== "tensorflow") {
    if (!Array.isArray(bins)) throw new DTypeError(operation, "bins", '"tensorflow", a number or a list of numbers', bins);
    const isAscending = bins.every((edge, i) => typeof edge === "number" && (i === 0 ? !Number.isNaN(edge) : edge >= bins[i - 1]!));
    if (bins.length < 2 || bins.length > MAX_BINS || !isAscending)
      throw new ValueError(operation, "bins", `from 2 to ${MAX_BINS} ascending numbers`, bins);
  }
}

/** Part of a folder's name on every system. */
const folderPart = (text: string): string => text.replaceAll(/[/\\<>:"|?*\p{Cc}]/gu, "_");

/**
 * Writes records for TensorBoard into a file of its own in a folder. Each method takes the values of now and returns at once: a tensor's elements are read
 * while the program continues, and records are appended in the order of the calls. The result is false while more than `maxQueue` records wait:
 * `await writer.flush()` then. Steps are integers.
 *
 * Methods throw ValueError once the file cannot be written (a full disk). A record whose values are wrong is left out, and flush() or close() throws
 * its error.
 */
export class SummaryWriter {
  /** Where the files are. */
  readonly folder: string;
  readonly #suffix: string;
  readonly #maxQueue: number;
  /** By folder: the own one first, then those of scalars(). */
  readonly #files = new Map<string, EventFile | NoEvents>();
  readonly #main: EventFile | NoEvents;
  readonly #isSilent: boolean;
  #closed: Promise<void> | null = null;

  constructor(folder: FilePath, options: SummaryWriterOptions = {}) {
    const operation = "summaryWriter";
    const { purgeStep, filenameSuffix = "", maxQueue = 1000, allRanks = false } = options;
    if (purgeStep !== undefined) requireStep(operation, "purgeStep", purgeStep);
    if (typeof filenameSuffix !== "string" || /[/\\]/.test(filenameSuffix))
      throw new ValueError(operation, "filenameSuffix", "a part of a file's name", filenameSuffix);
    if (!Number.isSafeInteger(maxQueue) || maxQueue < 1) throw new ValueError(operation, "maxQueue", "an integer of at least 1", maxQueue);
    this.folder = pathOf(operation, "folder", folder);
    if (this.folder === "") throw new ValueError(operation, "folder", "a path or a file: URL", folder);
    this.#suffix = filenameSuffix;
    this.#maxQueue = maxQueue;
    this.#isSilent = !allRanks && (processRanks()?.rank ?? 0) !== 0;
    this.#main = this.#open(operation, this.folder);
    if (purgeStep !== undefined) this.#append(this.#main, RECORD_BYTES, (e) => e.purge({ wallTime: Date.now() / 1000, step: purgeStep }));
  }

  #open(operation: string, folder: string): EventFile | NoEvents {
    const file = this.#isSilent ? new NoEvents() : new EventFile(operation, folder, this.#suffix);
    this.#files.set(folder, file);
    const wallTime = Date.now() / 1000;
    this.#append(file, RECORD_BYTES, (e) => e.version(wallTime));
    return file;
  }

  #append(file: EventFile | NoEvents, bytes: number, make: (encode: Encoder) => Uint8Array | Promise<Uint8Array>): boolean {
    file.append(bytes, async () => make(await encoder()));
    let [waiting, waitingBytes] = [0, 0];
    for (const other of this.#files.values()) {
      waiting += other.waiting;
      waitingBytes += other.waitingBytes;
    }
    return waiting <= this.#maxQueue && waitingBytes <= MAX_WAITING_BYTES;
  }

  /** Checks what all records have. */
  #at(operation: string, tag: string, step: number, { wallTime = Date.now() / 1000 }: RecordOptions): Moment {
    if (this.#closed !== null) throw new ValueError(operation, "writer", "open", "one that was closed");
    this.#main.requireWritable(operation);
    requireTag(operation, tag);
    requireStep(operation, "step", step);
    if (!Number.isFinite(wallTime)) throw new ValueError(operation, "wallTime", "a finite number of seconds", wallTime);
    return { wallTime, step };
  }

  #scalar(operation: string, file: EventFile | NoEvents, at: Moment, tag: string, argument: string, value: ScalarValue): boolean {
    if (typeof value === "number") return this.#append(file, RECORD_BYTES, (e) => e.scalar(at, tag, value));
    if (this.#isSilent) return true;
    const elements = elementsOf(operation, argument, value);
    const { dtype } = value;
    return this.#append(file, RECORD_BYTES, async (e) => e.scalarOf(at, tag, dtype, await elements));
  }

  /**
   * Records a number at a step, as float32. value: a number, or a tensor with one element, whose value is read without waiting for the device.
   * Throws ShapeError for a tensor of several elements. Reference: SummaryWriter.add_scalar.
   */
  scalar(tag: string, value: ScalarValue, step: number, options: RecordOptions = {}): boolean {
    const operation = "SummaryWriter.scalar";
    const at = this.#at(operation, tag, step, options);
    requireScalar(operation, "value", value);
    return this.#scalar(operation, this.#main, at, tag, "value", value);
  }

  /**
   * Records several numbers for one chart, each as a run of its own in the folder "<mainTag>_<name>" inside this one. values: numbers or tensors with one
   * element, by name. Reference: SummaryWriter.add_scalars.
   */
  scalars(mainTag: string, values: Readonly<Record<string, ScalarValue>>, step: number, options: RecordOptions = {}): boolean {
    const operation = "SummaryWriter.scalars";
    const at = this.#at(operation, mainTag, step, options);
    if (typeof values !== "object" || values === null || values instanceof Tensor)
      throw new DTypeError(operation, "values", "an object of numbers or tensors", values);
    const entries = Object.entries(values);
    for (const [name, value] of entries) requireScalar(operation, `values.${name}`, value);
    let hasCapacity = true;
    for (const [name, value] of entries) {
      const folder = join(this.folder, folderPart(`${mainTag}_${name}`));
      const file = this.#files.get(folder) ?? this.#open(operation, folder);
      file.requireWritable(operation);
      hasCapacity = this.#scalar(operation, file, at, mainTag, `values.${name}`, value) && hasCapacity;
    }
    return hasCapacity;
  }

  /**
   * Records how a tensor's values are distributed. NaN and infinities are in no bucket, but in minimum, maximum and sum. Throws ShapeError for an empty
   * tensor, ValueError for bins that do not ascend. A record without a value in any bucket is left out, and one of NaN or infinities where bins is a number.
   * Reference: SummaryWriter.add_histogram.
   */
  histogram(tag: string, tensor: Tensor, step: number, options: HistogramOptions = {}): boolean {
    const operation = "SummaryWriter.histogram";
    const at = this.#at(operation, tag, step, options);
    const { bins = "tensorflow" } = options;
    requireBins(operation, bins);
    requireTensor(operation, tensor);
    if (tensor.size === 0) throw new ShapeError(operation, "tensor", "of at least one element", tensor.describe());
    if (this.#isSilent) return true;
    const elements = elementsOf(operation, "tensor", tensor);
    const { dtype } = tensor;
    const edges = typeof bins === "object" ? [...bins] : bins;
    return this.#append(this.#main, sizeInBytes(tensor), async (e) => e.histogram(operation, at, tag, dtype, await elements, edges));
  }

  /**
   * Records an image: [C, H, W], or [N, C, H, W] as a grid of up to 8 images a row. C is 1 (gray), 3 (RGB) or 4 (RGBA). Floats and bools are from 0 to 1 and
   * limited to that, uint8 from 0 to 255. Throws ShapeError for other shapes, DTypeError for other dtypes. Reference: SummaryWriter.add_image, add_images.
   */
  image(tag: string, tensor: Tensor, step: number, options: RecordOptions = {}): boolean {
    const operation = "SummaryWriter.image";
    const at = this.#at(operation, tag, step, options);
    requireTensor(operation, tensor);
    const { dtype, shape } = tensor;
    if (!isFloat(dtype) && dtype !== "uint8" && dtype !== "bool")
      throw new DTypeError(operation, "tensor", "of floats from 0 to 1, of uint8 or of bool", tensor.describe());
    if ((shape.length !== 3 && shape.length !== 4) || ![1, 3, 4].includes(shape.at(-3)!) || tensor.size === 0)
      throw new ShapeError(operation, "tensor", "[C, H, W] or [N, C, H, W] with C of 1, 3 or 4", tensor.describe());
    if (this.#isSilent) return true;
    const elements = elementsOf(operation, "tensor", tensor);
    return this.#append(this.#main, sizeInBytes(tensor), async (e) => e.image(at, tag, dtype, await elements, shape));
  }

  /** Records a text, which TensorBoard shows as Markdown. Reference: SummaryWriter.add_text. */
  text(tag: string, value: string, step: number, options: RecordOptions = {}): boolean {
    const operation = "SummaryWriter.text";
    const at = this.#at(operation, tag, step, options);
    if (typeof value !== "string") throw new DTypeError(operation, "value", "a string", value);
    return this.#append(this.#main, RECORD_BYTES + 2 * value.length, (e) => e.text(at, tag, value));
  }

  /**
   * Records the operations of a module or a function, which may be compiled, as a graph: a box for each module, a node for each operation, parameter and input,
   * and shapes at the edges. It is called on the device `meta`, which computes nothing, without gradients.
   *
   * of: a module, or a function of tensors that takes its modules from `modules`. input: as summary() takes it: a tensor, a shape, { shape, dtype }, or a list of these.
   * TensorBoard shows one graph a run. Throws TraceError inside of compiled functions; DeviceError for a function with tensors that no module of `modules` holds.
   * Reference: SummaryWriter.add_graph.
   */
  graph(
    of: Module | ((...inputs: never[]) => unknown),
    input: Tensor | SummaryInputSpec | readonly unknown[],
    options: GraphOptions = {},
  ): boolean {
    const operation = "SummaryWriter.graph";
    const at = this.#at(operation, "graph", 0, options);
    if (typeof of !== "function") throw new DTypeError(operation, "of", "a module or a function", of);
    const { modules = {}, training = false } = options;
    for (const [name, module] of Object.entries(modules))
      if (!(module instanceof Module)) throw new DTypeError(operation, `modules.${name}`, "a module", module);
    if (this.#isSilent) return true;
    const roots = of instanceof Module ? { "": of, ...modules } : modules;
    const call = of as (...inputs: unknown[]) => unknown;
    const all = Object.values(roots).flatMap((root) => root.modules());
    const nodes = onTrial(all, () => graphOf({ operation, call, argument: "of", input, training, roots }));
    return this.#append(this.#main, RECORD_BYTES * nodes.length, (e) => e.graph(at, nodes));
  }

  /**
   * Records this run's hyperparameters and the metrics that it is compared by, at the end of a run. metrics: numbers or tensors with one element, which are
   * recorded as scalars of step 0 too. PyTorch puts them into a run of their own, this writer into its own run. Reference: SummaryWriter.add_hparams.
   */
  hparams(values: HyperParameters, metrics: Readonly<Record<string, ScalarValue>>, options: RecordOptions = {}): boolean {
    const operation = "SummaryWriter.hparams";
    const at = this.#at(operation, "hparams", 0, options);
    if (typeof values !== "object" || values === null) throw new DTypeError(operation, "values", "an object", values);
    if (typeof metrics !== "object" || metrics === null || metrics instanceof Tensor)
      throw new DTypeError(operation, "metrics", "an object of numbers or tensors", metrics);
    const parameters = Object.entries(values).flatMap(([name, value]) => {
      if (value === null || value === undefined) return [];
      if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
        throw new DTypeError(operation, `values.${name}`, "a string, a number or a boolean", value);
      return [[name, value] as const];
    });
    const measured = Object.entries(metrics);
    for (const [name, value] of measured) {
      requireTag(operation, name);
      requireScalar(operation, `metrics.${name}`, value);
    }
    const names = measured.map(([name]) => name);
    let hasCapacity = this.#append(this.#main, RECORD_BYTES * (1 + parameters.length), (e) => e.hparams(at, parameters, names));
    for (const [name, value] of measured)
      hasCapacity = this.#scalar(operation, this.#main, at, name, `metrics.${name}`, value) && hasCapacity;
    return hasCapacity;
  }

  /**
   * Waits until all records of now are in their files: the system has them, and the end of the process loses none. Throws ValueError where a file cannot
   * be written, and the errors of records that were left out.
   */
  async flush(): Promise<void> {
    await this.#each((file) => file.flush("SummaryWriter.flush"));
  }

  /** flush(), then closes the files. Once is enough: more calls wait for the first one, which throws its errors. */
  async close(): Promise<void> {
    if (this.#closed !== null) return this.#closed.catch(() => {});
    await (this.#closed = this.#each((file) => file.close("SummaryWriter.close")));
  }

  /** close(), for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** All files, also after one that fails. */
  async #each(act: (file: EventFile | NoEvents) => Promise<void>): Promise<void> {
    const results = await Promise.allSettled([...this.#files.values()].map(act));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

function requireTensor(operation: string, tensor: Tensor): void {
  if (!(tensor instanceof Tensor)) throw new DTypeError(operation, "tensor", "a tensor", tensor);
}

function requireScalar(operation: string, argument: string, value: ScalarValue): void {
  if (typeof value === "number") return;
  if (!(value instanceof Tensor)) throw new DTypeError(operation, argument, "a number or a tensor", value);
  value.requireLive(operation, argument);
  if (value.size !== 1) throw new ShapeError(operation, argument, "of one element", value.describe());
}

/**
 * A writer of TensorBoard's event files, in a new file "events.out.tfevents.<seconds>.<host>.<process>.<number>" in a folder, which is made where it is
 * not there. `tensorboard --logdir` of the folder above shows each folder as a run.
 *
 * folder: text or a file: URL. Throws ValueError where no file can be made there, and for options out of their range.
 * Reference: torch.utils.tensorboard.SummaryWriter.
 */
export const summaryWriter = (folder: FilePath, options: SummaryWriterOptions = {}): SummaryWriter => new SummaryWriter(folder, options);
