/** What a loader and its workers send each other. */
import type { HostNode, Padding } from "./host-collate.ts";
import type { PassSeed } from "./seeds.ts";

/** What a worker starts with. */
export interface WorkerStart {
  /** What it runs. */
  readonly code: string;
  /** The data set's module. */
  readonly module: string;
  readonly options: unknown;
  /** The module that is called first; null for none. */
  readonly init: string | null;
  readonly id: number;
  readonly numWorkers: number;
}

/** How a batch is made of samples: here by the data set (batch) or by collate, or by the loader's own function of the samples. */
export interface BatchForm {
  readonly by: "dataset" | "collate" | "loader";
  readonly padding: Padding | undefined;
}

/** A pass begins. Of a stream: samples in a batch. */
export interface PassRequest extends PassSeed {
  readonly message: "pass";
  readonly form: BatchForm;
  readonly batchSize: number;
  readonly dropLast: boolean;
}

/** The samples of a batch, whose first one has this position in the pass. */
export interface BatchRequest {
  readonly message: "batch";
  readonly id: number;
  readonly indices: readonly number[];
  readonly position: number;
}

/** The next batch of a stream, which may only be read and dropped. */
export interface NextRequest {
  readonly message: "next";
  readonly id: number;
  readonly isDropped: boolean;
}

export type Request = PassRequest | BatchRequest | NextRequest;

/** An error on its way to another thread. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly cause: SentError | null;
  /** Of samples that do not fit each other. */
  readonly collate: { readonly kind: "dtype" | "shape"; readonly expected: string; readonly received: string } | null;
}

/** Where something failed. */
export type FailedPart = "start" | "sample" | "collate";

export type Answer =
  | { readonly message: "batch"; readonly id: number; readonly node: HostNode }
  | { readonly message: "samples"; readonly id: number; readonly samples: readonly unknown[] }
  | { readonly message: "end"; readonly id: number }
  | { readonly message: "error"; readonly id: number; readonly part: FailedPart; readonly index: number | null; readonly error: SentError };
