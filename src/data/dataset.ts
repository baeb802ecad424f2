/** Dataset, TensorDataset, Subset. */
import { requireSameDevice } from "../dispatch/dispatch.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { indexSelect } from "../ops/index/gather.ts";
import { select } from "../ops/shape/movement.ts";
import { tensor } from "../ops/creation/creation.ts";
import { scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import type { SampleContext } from "./worker/seeds.ts";

/** Samples by number: any object with these two members. An array is a data set too. Reference: torch.utils.data.Dataset. @open */
export interface Dataset<Sample> {
  /** Number of samples. */
  readonly length: number;
  /** Sample `index`, from 0 to length - 1. context: what a loader adds for random choices. */
  get(index: number, context?: SampleContext): Sample | Promise<Sample>;
}

/** A data set that gives whole batches faster than sample by sample: a DataLoader without `collate` takes these. @open */
export interface BatchedDataset<Sample, Batch> extends Dataset<Sample> {
  /** The batch of the samples of these numbers. contexts: one for each. */
  batch(indices: readonly number[], contexts?: readonly SampleContext[]): Batch | Promise<Batch>;
}

/** @internal The data set that an array is: as long as that, whenever it is asked. */
export const datasetOf = <Sample>(samples: Dataset<Sample> | readonly Sample[]): Dataset<Sample> =>
  !isArray(samples)
    ? samples
    : {
        get length() {
          return samples.length;
        },
        get: (index) => samples[index]!,
      };
const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** One tensor for each of a list's. @package */
export type TensorsOf<T extends readonly Tensor[]> = { -readonly [K in keyof T]: Tensor };

/** Rows of tensors with equal first axes: sample i is row i of each. Reference: torch.utils.data.TensorDataset. */
export class TensorDataset<T extends readonly Tensor[] = Tensor[]> implements BatchedDataset<TensorsOf<T>, TensorsOf<T>> {
  /** The tensors passed to the constructor. */
  readonly tensors: T;

  /** Throws ShapeError for a scalar or for first axes that differ, DeviceError for tensors on different devices. */
  constructor(...tensors: T) {
    const first = tensors[0];
    if (first === undefined) throw new ValueError("TensorDataset", "tensors", "at least one tensor", "none");
    requireSameDevice("TensorDataset", tensors);
    for (const t of tensors)
      if (t.rank === 0 || t.shape[0] !== first.shape[0])
        throw new ShapeError("TensorDataset", "tensors", `of ${first.shape[0] ?? 0} rows each`, t.describe());
    this.tensors = tensors;
  }

  /** Number of rows. */
  get length(): number {
    return this.tensors[0]!.shape[0]!;
  }

  /** Row `index` of each tensor, without its first axis. Throws ValueError for a number out of range. */
  get(index: number, _context?: SampleContext): TensorsOf<T> {
    if (!Number.isInteger(index) || index < 0 || index >= this.length)
      throw new ValueError("TensorDataset.get", "index", `in [0, ${this.length})`, index);
    return this.tensors.map((t) => select(t, 0, index)) as TensorsOf<T>;
  }

  /** The rows of these numbers, gathered on the device. */
  batch(indices: readonly number[], _contexts?: readonly SampleContext[]): TensorsOf<T> {
    return scope(() => {
      const rows = tensor(Int32Array.from(indices), { device: this.tensors[0]!.device });
      return this.tensors.map((t) => indexSelect(t, 0, rows)) as TensorsOf<T>;
    });
  }
}

/** Some samples of another data set, by their numbers there. Reference: torch.utils.data.Subset. */
export class Subset<const Sample> implements Dataset<Sample> {
  /** The whole data set. */
  readonly dataset: Dataset<Sample>;
  /** Which samples, in which order. */
  readonly indices: readonly number[];

  /** Throws ValueError for a number out of range. */
  constructor(dataset: readonly Sample[] | Dataset<Sample>, indices: readonly number[]) {
    for (const i of indices)
      if (!Number.isInteger(i) || i < 0 || i >= dataset.length) throw new ValueError("Subset", "indices", `in [0, ${dataset.length})`, i);
    this.dataset = datasetOf(dataset);
    this.indices = indices;
  }

  /** Number of samples. */
  get length(): number {
    return this.indices.length;
  }

  /** Sample `index` of this part. Throws ValueError for a number out of range. */
  get(index: number, context?: SampleContext): Sample | Promise<Sample> {
    const at = this.indices[index];
    if (at === undefined) throw new ValueError("Subset.get", "index", `in [0, ${this.length})`, index);
    return this.dataset.get(at, context);
  }
}
