/** What the profiler records. */

/**
 * operation: an eager one. view: it computes nothing. compiled: a call of a compiled function, with the trace that checks or records it. program: a
 * compiled program's run. node: a dispatch of it, with the device's time alone. compile: a program is made. module: a call of a module. backward,
 * optimizer: a pass and a step. upload, copy: bytes move. wait: JavaScript stands still for the device. read: a promise of data.
 */
export type ProfileKind =
  | "operation"
  | "view"
  | "compiled"
  | "program"
  | "node"
  | "compile"
  | "module"
  | "backward"
  | "optimizer"
  | "upload"
  | "copy"
  | "wait"
  | "read";

/** Which part of a training step asked for something. */
export type ProfilePhase = "forward" | "backward" | "optimizer";

/** One thing that happened while a profile was on. Times are in milliseconds since the profile began. */
export interface ProfileEvent {
  /** Its number in the order of the beginnings. */
  readonly id: number;
  /** The event that it happened inside of; null for none. */
  readonly parent: number | null;
  /** What it is. */
  readonly kind: ProfileKind;
  /** The operation's, function's, module's or program's name. */
  readonly name: string;
  /** Of a backward pass or an optimizer's step, or of none of them. */
  readonly phase: ProfilePhase;
  /** Dotted path of the module that asked for it, "MLP.layers.0"; of a backward operation the module of the forward operation. Null outside of modules. */
  readonly module: string | null;
  /** The line of the user's code that asked for it, "train.ts:12"; of a backward operation the line of the forward operation. Null where unknown. */
  readonly line: string | null;
  /** The device, "cpu" or "dml:0"; null where none is concerned. */
  readonly device: string | null;
  /** Number of the step: how often step() had been called. */
  readonly step: number;
  /** When it began. */
  readonly startMs: number;
  /** The time of the JavaScript thread; of kind read: until the data was there. */
  readonly durationMs: number;
  /** The part of it outside of the events inside. */
  readonly selfMs: number;
  /** Time of the device's queue thread, which records command lists. Null where the device does not tell, and for what gave it no work. */
  readonly queueMs: number | null;
  /** When that thread began. Null as queueMs. */
  readonly queueStartMs: number | null;
  /** When the device began. Null as deviceMs. */
  readonly deviceStartMs: number | null;
  /** The device's own time. Null where the device has no clock, and for what gave it no work. */
  readonly deviceMs: number | null;
  /** Dtypes and shapes of the input tensors, "float32[2, 3], float32[3]". */
  readonly inputs: string;
  /** Floating-point operations, two for each multiply-add; null where no formula is known. */
  readonly flops: number | null;
  /** Bytes that moved; null for other events. */
  readonly bytes: number | null;
  /** By how much the live bytes of the device's tensors grew meanwhile; null where memory is not recorded. */
  readonly memoryInBytes: number | null;
}

/** Memory of a device at a time. */
export interface ProfileMemory {
  /** Milliseconds since the profile began. */
  readonly timeMs: number;
  /** The device, "cpu" or "dml:0". */
  readonly device: string;
  /** Bytes of live tensors. */
  readonly liveInBytes: number;
  /** Bytes that the device's heaps hold, free blocks included. */
  readonly pooledInBytes: number;
  /** Bytes of programs: their arenas, temporary and persistent memory. */
  readonly programInBytes: number;
}

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };
