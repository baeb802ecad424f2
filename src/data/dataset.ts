/** Collections of samples. */
import { demandSameDevice } from "../dispatch.ts";
import { ShapeError, ValueError } from "../errors.ts";
import { indexSelect } from "../ops/gather.ts";
import { select } from "../ops/movement.ts";
import { tensor } from "../ops/creation.ts";
import { scope } from "../scope.ts";
import type { Tensor } from "../tensor.ts";

/** Samples by number. @open */
export interface Dataset<Sample> {
  readonly length: number;
  get(index: number): Sample | Promise<Sample>;
}

/** A data set that gives whole batches faster than sample by sample. */
export interface BatchedDataset<Sample, Batch> extends Dataset<Sample> {
  batch(indices: readonly number[]): Batch | Promise<Batch>;
}

/** Rows of tensors with equal first axes: sample i is row i of each. */
export class TensorDataset implements BatchedDataset<Tensor[], Tensor[]> {
  readonly tensors: readonly Tensor[];

  constructor(...tensors: Tensor[]) {
    const first = tensors[0];
    if (first === undefined) throw new ValueError("TensorDataset", "tensors", "at least one tensor", "none");
    demandSameDevice("TensorDataset", tensors);
    for (const t of tensors)
      if (t.rank === 0 || t.shape[0] !== first.shape[0])
        throw new ShapeError("TensorDataset", "tensors", `of ${first.shape[0] ?? 0} rows each`, t.describe());
    this.tensors = tensors;
  }

  get length(): number {
    return this.tensors[0]!.shape[0]!;
  }

  get(index: number): Tensor[] {
    if (!Number.isInteger(index) || index < 0 || index >= this.length)
      throw new ValueError("TensorDataset.get", "index", `in [0, ${this.length})`, index);
    return this.tensors.map((t) => select(t, 0, index));
  }

  /** The rows of these numbers, gathered on the device. */
  batch(indices: readonly number[]): Tensor[] {
    return scope(() => {
      const rows = tensor(Int32Array.from(indices), { device: this.tensors[0]!.device });
      return this.tensors.map((t) => indexSelect(t, 0, rows));
    });
  }
}

/** Some samples of another data set, by their numbers there. */
export class Subset<Sample> implements Dataset<Sample> {
  readonly dataset: Dataset<Sample>;
  readonly indices: readonly number[];

  constructor(dataset: Dataset<Sample>, indices: readonly number[]) {
    for (const i of indices)
      if (!Number.isInteger(i) || i < 0 || i >= dataset.length) throw new ValueError("Subset", "indices", `in [0, ${dataset.length})`, i);
    this.dataset = dataset;
    this.indices = indices;
  }

  get length(): number {
    return this.indices.length;
  }

  get(index: number): Sample | Promise<Sample> {
    const at = this.indices[index];
    if (at === undefined) throw new ValueError("Subset.get", "index", `in [0, ${this.length})`, index);
    return this.dataset.get(at);
  }
}
