/** Data sets and the way from them to batches. */
export { collate, type Batch, type Sample } from "./collate.ts";
export { Subset, TensorDataset, type BatchedDataset, type Dataset } from "./dataset.ts";
export { mnist, parseIdx, readIdx, type DigitsOptions, type IdxData } from "./idx.ts";
export { DataLoader, dataLoader, type DataLoaderOptions, type Samples } from "./loader.ts";
