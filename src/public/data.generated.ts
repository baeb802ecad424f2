// Made by npm run generate from the families in src/ops.
import { checkedClass } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $dataCollate from "../data/collate.ts";
import * as $dataDataset from "../data/dataset.ts";
import * as $coreTensor from "../core/tensor.ts";
import * as $dataIdx from "../data/idx.ts";
import * as $dataLoader from "../data/loader.ts";
export type { Batch } from "../data/collate.ts";
export type { Sample } from "../data/collate.ts";
export type { BatchedDataset } from "../data/dataset.ts";
export type { Dataset } from "../data/dataset.ts";
export type { DigitsOptions } from "../data/idx.ts";
export type { IdxData } from "../data/idx.ts";
export type { DataLoaderOptions } from "../data/loader.ts";
export type { Samples } from "../data/loader.ts";
/**
 * Stacks samples: tensors along a new first axis; integers as int32, other numbers as float32, bigints as int64; typed arrays as
 * rows of their dtype; arrays and objects member by member. Throws unless all samples are alike. Reference: torch.utils.data.default_collate.
 */
export const collate = guarded($dataCollate.collate, "collate", "samples:listOfAnything");
/** Some samples of another data set, by their numbers there. Reference: torch.utils.data.Subset. */
export const Subset = checkedClass($dataDataset.Subset, "dataset:listOfAnythingOrDataset_62715b indices:numbers", "get index:number");
export type Subset<Sample> = $dataDataset.Subset<Sample>;
/** Rows of tensors with equal first axes: sample i is row i of each. Reference: torch.utils.data.TensorDataset. */
export const TensorDataset = checkedClass($dataDataset.TensorDataset, "...tensors:eachTensor", "get index:number;batch indices:numbers");
export type TensorDataset<T extends readonly $coreTensor.Tensor[] = $coreTensor.Tensor[]> = $dataDataset.TensorDataset<T>;
/**
 * The MNIST digits of a folder with the four original files: images float32 [N, 1, 28, 28] in [0, 1], labels int32 [N].
 * Throws when a file is missing, damaged or not what its name says; nothing replaces it.
 */
export const mnist = guardedAsync($dataIdx.mnist, "mnist", "folder:anything options:DigitsOptions?");
/** The elements in the bytes of an IDX file. Throws FormatError for anything else, also when bytes are missing or left over. */
export const parseIdx = guarded($dataIdx.parseIdx, "parseIdx", "bytes:data source:string?");
/** Reads an IDX file, by path or file: URL. Throws FormatError when it is damaged or not there; the file system's error is its cause. */
export const readIdx = guardedAsync($dataIdx.readIdx, "readIdx", "path:anything");
/**
 * `for await (const batch of loader)`; each loop is one pass over the data set. A batch has the structure of a sample, also to its type: pairs give
 * pairs of tensors. Batches live until they are disposed of. Reference: torch.utils.data.DataLoader.
 */
export const DataLoader = checkedClass($dataLoader.DataLoader, "dataset:listOfAnythingOrDataset_62715b options:batchSize_3b5ec3?");
export type DataLoader<S, B = $dataCollate.Batch<S>> = $dataLoader.DataLoader<S, B>;
/** A DataLoader of a data set, or of an array of samples. Reference: torch.utils.data.DataLoader. */
export const dataLoader = factory(DataLoader, $dataLoader.dataLoader);
