/** Data sets and the way from them to batches. */
export * as augment from "./augment/index.ts";
export { CifarDataset, cifar10, cifar100, type Cifar10Options, type Cifar100Options, type CifarSample } from "./cifar.ts";
export { collate, padCollate, type Batch, type PadOptions, type Sample } from "./collate.ts";
export { CachedDataset, ConcatDataset, MappedDataset, cache, concat, map, randomSplit, subset, type CacheOptions } from "./combine.ts";
export { CsvDataset, csv, type CsvBatchOptions, type CsvOptions } from "./files/csv.ts";
export type { CsvBatch, CsvColumn, CsvColumns, CsvRow, CsvType, CsvValue } from "./files/csv-types.ts";
export { Subset, TensorDataset, type BatchedDataset, type Dataset } from "./dataset.ts";
export { JsonLines, jsonLines, type JsonLinesOptions } from "./files/json-lines.ts";
export type { FilePart, FileProgress, TextFileOptions } from "./files/sequential-file.ts";
export { mnist, parseIdx, readIdx, type DigitsOptions, type IdxData } from "./idx.ts";
export { LengthBatchSampler, type LengthBatchSamplerOptions } from "./length-batches.ts";
export { DataLoader, dataLoader, type DataLoaderOptions, type Samples } from "./loader.ts";
export {
  BatchSampler,
  DistributedSampler,
  RandomSampler,
  SequentialSampler,
  SubsetRandomSampler,
  WeightedRandomSampler,
  type BatchIndices,
  type DistributedSamplerOptions,
  type OrderOptions,
  type RandomSamplerOptions,
  type Sampler,
  type Sized,
  type WeightedRandomSamplerOptions,
} from "./sampler.ts";
export type { LoaderState } from "./loader-state.ts";
export { StreamLoader, streamLoader, type Stream, type StreamLoaderOptions } from "./stream.ts";
export {
  WorkerDataset,
  WorkerStream,
  getWorkerInfo,
  workerDataset,
  type WorkerDataOf,
  type WorkerModule,
  type WorkerOptions,
} from "./worker-dataset.ts";
export type { HostArray } from "./worker/host-collate.ts";
export type { WorkerLimits } from "./worker/worker-pool.ts";
export type { SampleContext } from "./worker/seeds.ts";
export type { WorkerInfo } from "../host/data-worker.ts";
export type { WorkerLoaderOptions } from "./workers.ts";
