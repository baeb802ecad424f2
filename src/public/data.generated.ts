// Made by npm run generate from the families in src/ops.
import { checkedClass } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $dataCifar from "../data/cifar.ts";
import * as $dataCollate from "../data/collate.ts";
import * as $dataCombine from "../data/combine.ts";
import * as $dataFilesCsv from "../data/files/csv.ts";
import * as $dataFilesCsvTypes from "../data/files/csv-types.ts";
import * as $dataDataset from "../data/dataset.ts";
import * as $coreTensor from "../core/tensor.ts";
import * as $dataFilesJsonLines from "../data/files/json-lines.ts";
import * as $dataIdx from "../data/idx.ts";
import * as $dataLengthBatches from "../data/length-batches.ts";
import * as $dataLoader from "../data/loader.ts";
import * as $dataSampler from "../data/sampler.ts";
import * as $dataStream from "../data/stream.ts";
import * as $dataWorkerDataset from "../data/worker-dataset.ts";
export type { Cifar10Options } from "../data/cifar.ts";
export type { Cifar100Options } from "../data/cifar.ts";
export type { CifarSample } from "../data/cifar.ts";
export type { Batch } from "../data/collate.ts";
export type { PadOptions } from "../data/collate.ts";
export type { Sample } from "../data/collate.ts";
export type { CacheOptions } from "../data/combine.ts";
export type { CsvBatchOptions } from "../data/files/csv.ts";
export type { CsvOptions } from "../data/files/csv.ts";
export type { CsvBatch } from "../data/files/csv-types.ts";
export type { CsvColumn } from "../data/files/csv-types.ts";
export type { CsvColumns } from "../data/files/csv-types.ts";
export type { CsvRow } from "../data/files/csv-types.ts";
export type { CsvType } from "../data/files/csv-types.ts";
export type { CsvValue } from "../data/files/csv-types.ts";
export type { BatchedDataset } from "../data/dataset.ts";
export type { Dataset } from "../data/dataset.ts";
export type { JsonLinesOptions } from "../data/files/json-lines.ts";
export type { FilePart } from "../data/files/sequential-file.ts";
export type { FileProgress } from "../data/files/sequential-file.ts";
export type { TextFileOptions } from "../data/files/sequential-file.ts";
export type { DigitsOptions } from "../data/idx.ts";
export type { IdxData } from "../data/idx.ts";
export type { LengthBatchSamplerOptions } from "../data/length-batches.ts";
export type { DataLoaderOptions } from "../data/loader.ts";
export type { Samples } from "../data/loader.ts";
export type { BatchIndices } from "../data/sampler.ts";
export type { DistributedSamplerOptions } from "../data/sampler.ts";
export type { OrderOptions } from "../data/sampler.ts";
export type { RandomSamplerOptions } from "../data/sampler.ts";
export type { Sampler } from "../data/sampler.ts";
export type { Sized } from "../data/sampler.ts";
export type { WeightedRandomSamplerOptions } from "../data/sampler.ts";
export type { LoaderState } from "../data/loader-state.ts";
export type { Stream } from "../data/stream.ts";
export type { StreamLoaderOptions } from "../data/stream.ts";
export type { WorkerDataOf } from "../data/worker-dataset.ts";
export type { WorkerModule } from "../data/worker-dataset.ts";
export type { WorkerOptions } from "../data/worker-dataset.ts";
export type { HostArray } from "../data/worker/host-collate.ts";
export type { WorkerLimits } from "../data/worker/worker-pool.ts";
export type { SampleContext } from "../data/worker/seeds.ts";
export type { WorkerInfo } from "../host/data-worker.ts";
export type { WorkerLoaderOptions } from "../data/workers.ts";
export * as augment from "./augment.generated.ts";
/** Images of CIFAR's files, each read when it is asked for: nothing is kept in memory, and workers can make one too. */
export const CifarDataset = checkedClass($dataCifar.CifarDataset, "format:Format files:Files classes:strings", "get index:number");
export type CifarDataset = $dataCifar.CifarDataset;
/**
 * The CIFAR-10 images of a folder with the files of its binary version: samples [image, label], where the image is float32 [3, 32, 32] in [0, 1]. Images
 * are read when they are asked for.
 *
 * folder: text or a file: URL. Throws FormatError when a file is missing or damaged, UnsupportedError for the Python version, which is pickles.
 * Reference: torchvision.datasets.CIFAR10.
 */
export const cifar10 = guardedAsync($dataCifar.cifar10, "cifar10", "folder:anything options:Cifar10Options?");
/**
 * The CIFAR-100 images of a folder with the files of its binary version, as cifar10(); `labels` says which of the two labels samples have.
 *
 * folder: text or a file: URL. Throws as cifar10() does. Reference: torchvision.datasets.CIFAR100.
 */
export const cifar100 = guardedAsync($dataCifar.cifar100, "cifar100", "folder:anything options:Cifar100Options?");
/**
 * Stacks samples: tensors along a new first axis; integers as int32, other numbers as float32, bigints as int64; typed arrays as
 * rows of their dtype; { data, shape } (HostArray) as a tensor of that shape; arrays and objects member by member. Throws unless all samples are alike. Reference: torch.utils.data.default_collate.
 */
export const collate = guarded($dataCollate.collate, "collate", "samples:listOfAnything");
/**
 * A collateFn for samples of different lengths: as collate(), but tensors and typed arrays whose first axes differ are padded to the longest of the
 * batch. Throws ValueError for a multipleOf below 1, ShapeError where other axes differ. Reference: torch.nn.utils.rnn.pad_sequence.
 */
export const padCollate = guarded($dataCollate.padCollate, "padCollate", "options:PadOptions?");
/** A data set that keeps the samples that were read. TensorFlow has Dataset.cache for this. */
export const CachedDataset = checkedClass($dataCombine.CachedDataset, "dataset:listOfAnythingOrDataset_62715b options:CacheOptions?", "get index:number context:SampleContext?;clear");
export type CachedDataset<Sample> = $dataCombine.CachedDataset<Sample>;
/** Several data sets, one after the other. Reference: torch.utils.data.ConcatDataset. */
export const ConcatDataset = checkedClass($dataCombine.ConcatDataset, "datasets:listOfListOfAnythingOrDataset_62715b", "get index:number context:SampleContext?");
export type ConcatDataset<Sample> = $dataCombine.ConcatDataset<Sample>;
/** A data set whose samples go through a function, when they are read. TensorFlow has Dataset.map for this. */
export const MappedDataset = checkedClass($dataCombine.MappedDataset, "dataset:listOfAnythingOrDataset_62715b fn:callback", "get index:number context:SampleContext?");
export type MappedDataset<Sample, Result> = $dataCombine.MappedDataset<Sample, Result>;
/**
 * Divides a data set at random into parts without a common sample. lengths: integers whose sum is the data set's length, or fractions whose sum is 1.
 * generator: draws the order; default: the default generator (manualSeed). Throws ValueError for other sums. Reference: torch.utils.data.random_split.
 */
export const randomSplit = guarded($dataCombine.randomSplit, "randomSplit", "dataset:listOfAnythingOrDataset_62715b lengths:numbers options:OrderOptions?");
/** The rows of a CSV file: a stream, each pass over which reads the file again. */
export const CsvDataset = checkedClass($dataFilesCsv.CsvDataset, "path:anything options:signal_a33da7?", "types;batches options:CsvBatchOptions?");
export type CsvDataset<C extends $dataFilesCsvTypes.CsvColumns = $dataFilesCsvTypes.CsvColumns> = $dataFilesCsv.CsvDataset<C>;
/** Some samples of another data set, by their numbers there. Reference: torch.utils.data.Subset. */
export const Subset = checkedClass($dataDataset.Subset, "dataset:listOfAnythingOrDataset_62715b indices:numbers", "get index:number context:SampleContext?");
export type Subset<Sample> = $dataDataset.Subset<Sample>;
/** Rows of tensors with equal first axes: sample i is row i of each. Reference: torch.utils.data.TensorDataset. */
export const TensorDataset = checkedClass($dataDataset.TensorDataset, "...tensors:eachTensor", "get index:number _context:SampleContext?;batch indices:numbers _contexts:SampleContexts?");
export type TensorDataset<T extends readonly $coreTensor.Tensor[] = $coreTensor.Tensor[]> = $dataDataset.TensorDataset<T>;
/** The rows of a JSON Lines file: a stream, each pass over which reads the file again. */
export const JsonLines = checkedClass($dataFilesJsonLines.JsonLines, "path:anything options:signal_2e8536?");
export type JsonLines<T> = $dataFilesJsonLines.JsonLines<T>;
/**
 * The MNIST digits of a folder with the four original files, unpacked or as .gz files: images float32 [N, 1, 28, 28] in [0, 1], labels int32 [N].
 * Throws when a file is missing, damaged or not what its name says; nothing replaces it.
 */
export const mnist = guardedAsync($dataIdx.mnist, "mnist", "folder:anything options:DigitsOptions?");
/** The elements in the bytes of an IDX file. Throws FormatError for anything else, also when bytes are missing or left over. */
export const parseIdx = guarded($dataIdx.parseIdx, "parseIdx", "bytes:data source:string?");
/** Reads an IDX file, also a .gz file, by path or file: URL. Throws FormatError when it is damaged or not there; the file system's error is its cause. */
export const readIdx = guardedAsync($dataIdx.readIdx, "readIdx", "path:anything");
/** Batches of samples with similar lengths, so that padding is little. TensorFlow has Dataset.bucket_by_sequence_length for this. */
export const LengthBatchSampler = checkedClass($dataLengthBatches.LengthBatchSampler, "lengths:anything options:LengthBatchSamplerOptions", "", "state;pass state:string");
export type LengthBatchSampler = $dataLengthBatches.LengthBatchSampler;
/**
 * `for await (const batch of loader)`; each loop is one pass over the data set. A batch has the structure of a sample, also to its type: pairs give
 * pairs of tensors. Batches live until they are disposed of. Reference: torch.utils.data.DataLoader.
 */
export const DataLoader = checkedClass($dataLoader.DataLoader, "dataset:listOfAnythingOrDataset_62715b options:numWorkers_e66e12?", "stateDict;loadStateDict state:LoaderState;setEpoch epoch:number;close");
export type DataLoader<S, B = $dataCollate.Batch<S>> = $dataLoader.DataLoader<S, B>;
/** Batches of the indices of a sampler. Reference: torch.utils.data.BatchSampler. */
export const BatchSampler = checkedClass($dataSampler.BatchSampler, "sampler:anything batchSize:number dropLast:boolean?", "state;pass state:string;rest state:string count:number;before state:string");
export type BatchSampler = $dataSampler.BatchSampler;
/**
 * Every numReplicas-th index, from `rank` on: the part of one process. The order of all is the same for any number of processes, and so is what is left of
 * it: the state of a loader resumes with another number of them. Reference: torch.utils.data.distributed.DistributedSampler.
 */
export const DistributedSampler = checkedClass($dataSampler.DistributedSampler, "dataset:numberOrListOfAnythingOrDataset_62715b options:DistributedSamplerOptions?", "setEpoch epoch:number;state;pass state:string;rest state:string count:number;before state:string");
export type DistributedSampler = $dataSampler.DistributedSampler;
/** Indices in a random order. Reference: torch.utils.data.RandomSampler. */
export const RandomSampler = checkedClass($dataSampler.RandomSampler, "dataset:numberOrListOfAnythingOrDataset_62715b options:RandomSamplerOptions?", "", "state;pass state:string");
export type RandomSampler = $dataSampler.RandomSampler;
/** All indices in order. Reference: torch.utils.data.SequentialSampler. */
export const SequentialSampler = checkedClass($dataSampler.SequentialSampler, "dataset:numberOrListOfAnythingOrDataset_62715b");
export type SequentialSampler = $dataSampler.SequentialSampler;
/** Some indices in a random order. Reference: torch.utils.data.SubsetRandomSampler. */
export const SubsetRandomSampler = checkedClass($dataSampler.SubsetRandomSampler, "indices:numbers options:OrderOptions?", "", "state;pass state:string");
export type SubsetRandomSampler = $dataSampler.SubsetRandomSampler;
/** Indices with probabilities in proportion to weights, one weight a sample. Reference: torch.utils.data.WeightedRandomSampler. */
export const WeightedRandomSampler = checkedClass($dataSampler.WeightedRandomSampler, "weights:anything numSamples:number options:WeightedRandomSamplerOptions?", "", "state;pass state:string");
export type WeightedRandomSampler = $dataSampler.WeightedRandomSampler;
/**
 * `for await (const batch of loader)` over a stream; each loop is one pass. Reference: torch.utils.data.DataLoader of an IterableDataset.
 * Batches live until they are disposed of.
 */
export const StreamLoader = checkedClass($dataStream.StreamLoader, "stream:anything options:numWorkers_267797?", "stateDict;loadStateDict state:LoaderState;close");
export type StreamLoader<S, B = $dataCollate.Batch<S>> = $dataStream.StreamLoader<S, B>;
/** A data set whose module workers load too. This thread has one as well: it knows the length, and serves `get` and numWorkers: 0. */
export const WorkerDataset = checkedClass($dataWorkerDataset.WorkerDataset, "source:WorkerSource own:IndexedSource", "get index:number context:SampleContext?;batch indices:numbers contexts:SampleContexts?");
export type WorkerDataset<Sample, B = $dataCollate.Batch<Sample>> = $dataWorkerDataset.WorkerDataset<Sample, B>;
/** A stream whose module workers load too: each has one of its own, and getWorkerInfo() says which part it is to read. */
export const WorkerStream = checkedClass($dataWorkerDataset.WorkerStream, "source:WorkerSource own:anything");
export type WorkerStream<Sample> = $dataWorkerDataset.WorkerStream<Sample>;
/** The worker of a loader that this code runs in; null in any other thread. Reference: torch.utils.data.get_worker_info. */
export const getWorkerInfo = guarded($dataWorkerDataset.getWorkerInfo, "getWorkerInfo", "");
/**
 * A data set that loaders can make in worker threads (numWorkers). The module's default export makes it from `options`: plain data that a thread can be
 * sent, once in this thread and once in each worker. Samples have numbers, bigints, booleans, typed arrays and { data, shape }, in arrays and objects.
 * `workerDataset<typeof import("./dataset.js")>(new URL("./dataset.js", import.meta.url), options)` has the types of the module's samples.
 *
 * module: a URL, or an absolute path as require.resolve() gives it. Throws ValueError for options that cannot be sent; what the module throws is
 * passed on. PyTorch pickles data sets in place of this.
 */
export const workerDataset = guardedAsync($dataWorkerDataset.workerDataset, "workerDataset", "module:anything ...options:anything");
/** A data set that keeps the samples that were read. maxSamples: how many at most; default: all. */
export const cache = factory(CachedDataset, $dataCombine.cache);
/** Several data sets as one, one after the other. Throws ValueError for none. Reference: torch.utils.data.ConcatDataset. */
export const concat = factory(ConcatDataset, $dataCombine.concat);
/** A data set whose samples go through a function, when they are read. fn: gets a sample, its index, and the loader's context; may be asynchronous. */
export const map = factory(MappedDataset, $dataCombine.map);
/** Some samples of a data set, by their indices. Throws ValueError for an index out of range. Reference: torch.utils.data.Subset. */
export const subset = factory(Subset, $dataCombine.subset);
/**
 * The rows of a CSV file (also of a .gz file) as a stream for streamLoader(), and by batches() as columns. RFC 4180: quoted fields, line ends CRLF, LF or
 * CR, a BOM. `columns` states the types, and gives the rows theirs; without it types are those of the first rows (bool, int32, int64, float32, float64,
 * string). Empty lines are left out. In workers of a loader each reads the rows of its part.
 *
 * path: text or a file: URL, of a file or a pipe. Throws ValueError for options out of their range; a pass throws FormatError, whose `line` says where.
 * TensorFlow.js' name: tf.data.csv.
 */
export const csv = factory(CsvDataset, $dataFilesCsv.csv);
/**
 * The rows of a JSON Lines file (also of a .gz file) as a stream for streamLoader(): `for await (const row of jsonLines<Row>(path))`. Empty lines are left
 * out. In workers of a loader each reads the rows of its part. Numbers are those of JSON.parse(), but an integer that a number would round (beyond 2^53) is a
 * BigInt; `bigints` makes all integers of a member BigInts, so that its rows are alike.
 *
 * path: text or a file: URL, of a file or a pipe. T: the rows' type, which the file is not checked for without `parse`. Throws ValueError for options out
 * of their range; a pass throws FormatError, whose `line` says where.
 */
export const jsonLines = factory(JsonLines, $dataFilesJsonLines.jsonLines);
/** A DataLoader of a data set, or of an array of samples. Reference: torch.utils.data.DataLoader. */
export const dataLoader = factory(DataLoader, $dataLoader.dataLoader);
/** A loader of a stream. Throws ValueError for a batchSize below 1 or a prefetch below 0. */
export const streamLoader = factory(StreamLoader, $dataStream.streamLoader);
