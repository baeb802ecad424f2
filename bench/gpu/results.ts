// The results of a run on a GPU machine, as in its report.
import type { Counts, Failure } from "./program.ts";

export interface Options {
  readonly out: string;
  readonly quick: boolean;
  readonly small: boolean;
  readonly device: string;
  readonly patience: number;
}

interface Kernel {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

interface Form {
  readonly ms: number;
  readonly callUs: number;
}

export interface TrainingStep {
  readonly name: string;
  readonly eager: Form;
  readonly compiled: Form;
  readonly unchecked: Form;
  readonly operators: Form;
  readonly head: Form;
  readonly dispatches: number;
  readonly barriers: number;
  readonly profile: string;
}

/** What bench/device writes. */
export interface Figures {
  readonly device?: { readonly name: string };
  readonly steps: readonly TrainingStep[];
  readonly kernels: readonly Kernel[];
  readonly failures: readonly Failure[];
}

/** What bench/peers/torch writes. */
export interface TorchFigures {
  readonly torch: string;
  readonly cuda: string;
  readonly steps?: Readonly<Record<string, { readonly eager?: number; readonly cudaGraph?: number }>>;
  readonly kernels?: readonly Kernel[];
}

/** What the quickstart writes. */
export interface Summary {
  readonly accuracy: number;
  readonly imagesPerSecondEager: number;
  readonly imagesPerSecondCompiled: number;
  readonly seconds: number;
}

/** One step of the part "windows". */
export interface WindowsStep {
  readonly key: string;
  readonly title: string;
  readonly code: number | null;
  readonly counts: Counts;
  readonly seconds: number;
  readonly note: string;
  readonly failures?: readonly Failure[];
  readonly device?: string | undefined;
  readonly driver?: string | undefined;
  readonly summary?: Summary | null;
  readonly figures?: Pick<Figures, "kernels"> | null;
}

export interface Versions {
  readonly directml: string;
  readonly sha256: string;
  readonly isDirectmlRight: boolean;
  readonly wine: string | undefined;
  readonly libvkd3d: string | undefined;
  readonly node: string | undefined;
}

/** What came of a part. notRun: why it was not. */
export interface Part<Steps = unknown, Result = unknown> {
  readonly code: number | null;
  readonly notRun?: string;
  readonly seconds: number;
  readonly note: string;
  readonly counts?: Counts | null;
  readonly failures?: readonly Failure[];
  readonly summary?: Summary | null;
  readonly figures?: Result | null;
  /** DirectML alone: the programs' output. */
  readonly operators?: string;
  readonly steps?: Steps;
  readonly versions?: Versions;
}

export type WindowsPart = Part<readonly WindowsStep[]>;

export interface Parts {
  runtime?: Part;
  tests?: Part;
  verify?: Part;
  quickstart?: Part;
  bench?: Part<unknown, Figures>;
  shaders?: Part<unknown, Figures>;
  /** Rows of bench/device/fusion.ts. */
  fusion?: Part;
  torch?: Part<unknown, TorchFigures>;
  directml?: Part<Readonly<Record<string, string>>>;
  windows?: WindowsPart;
}

export interface Report {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly processor: string;
  readonly cores: number;
  readonly driver: string;
  readonly quick: boolean;
  readonly parts: Parts;
}
