/**
 * The interface of a backend from outside: devices, memory, one queue in order, kernels for DirectML's operators. Version 1. A device needs no
 * kernel for everything: operators that it lacks are composed of others, or run on the software adapter and are counted.
 */
import type { AutocastDType } from "../core/autocast.ts";
import type { DType } from "../core/dtype.ts";
import type { OperatorName } from "../dml/operators.generated.ts";

/** The version of this interface, which a backend names in `interfaceVersion`. */
export const BACKEND_INTERFACE: number = 1;

/** What a backend wants of autocast() on its devices. */
export interface BackendAutocast {
  /** The dtypes that regions may cast to. Default: both. */
  readonly dtypes?: readonly AutocastDType[];
  /**
   * Operations that its devices want on another list than PyTorch's: cast to the region's dtype ("lower"), to float32, to the widest dtype of the
   * inputs, or not at all ("none"). Names of operations that are on one of PyTorch's lists (docs/mixed-precision.md).
   */
  readonly operations?: Readonly<Record<string, "lower" | "float32" | "widest" | "none">>;
}

/**
 * Devices of one kind. A method may throw anything: a property `kind` of the error chooses the class that users see: "outOfMemory"
 * (OutOfMemoryError), "removed" (DeviceRemovedError), "timeout" (DeviceTimeoutError), "unsupported" or "internal" (NativeError). Without it the
 * kind is "internal".
 */
export interface Backend {
  /** The type of its devices, "openreg" of "openreg:0": a lower-case letter, then lower-case letters, digits, "-", "_". */
  readonly name: string;
  /** BACKEND_INTERFACE as it was when the backend was written. */
  readonly interfaceVersion: number;
  /** The backend's own version, for people. */
  readonly version: string;
  /** What it wants of autocast(). Default: PyTorch's lists. */
  readonly autocast?: BackendAutocast;
  /** The devices that are there now, by index; empty where there is none. */
  devices(): readonly BackendDeviceDescription[];
  /** Opens a device. Each call has memory and a queue of its own, until close(). */
  open(index: number, options: BackendOptions): BackendDevice;
}

/** What is known of a device before it is opened. */
export interface BackendDeviceDescription {
  /** Of the device, for people. */
  readonly name: string;
  /** Its memory, in bytes; 0 where it has none of its own. */
  readonly memoryInBytes: number;
  /** False of a simulation, or of one that runs on the CPU. */
  readonly isHardware: boolean;
}

/** Settings of the program, as they are now. */
export interface BackendOptions {
  /** How long the device may finish nothing while it has work, before who waits is told by an error of kind "timeout"; in milliseconds. */
  readonly timeoutInMs: number;
}

/** Memory of a device. The library looks at none of it: any object of the backend's, one for each allocation. */
export type BackendMemory = object;

/** Bytes of an allocation. A view is a range with an offset, a multiple of 16 for kernels, of 1 for copies. */
export interface BackendRange {
  /** What allocate() gave. */
  readonly memory: BackendMemory;
  /** The first byte. */
  readonly offset: number;
  /** Bytes from there on. */
  readonly size: number;
}

/** A tensor as a kernel sees it in a range. bool is uint8 (0 or 1), bfloat16 is uint16. */
export interface BackendTensor {
  /** The dtype of the elements. */
  readonly dtype: DType;
  /** Length of each axis, 1 to 8 axes. */
  readonly sizes: readonly number[];
  /** Distance of elements along each axis, in elements; 0 along a broadcast axis. */
  readonly strides: readonly number[];
}

/** An operator without tensors, which is to be computed over another one's result. */
export interface BackendActivation {
  /** DirectML's name: "ACTIVATION_RELU". */
  readonly operator: OperatorName;
  /** As BackendCall has them. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** One operator, before it runs. */
export interface BackendCall {
  /** DirectML's name: "GEMM"; the operator's page in DirectML's reference says what it computes. */
  readonly operator: OperatorName;
  /**
   * By the names of dx.dml.OPERATORS: numbers, booleans, arrays of numbers; names for enumerations ("SUM"); [scale, bias] or null for scaleBias;
   * numbers (bigint for 64 bits) for scalars; BackendActivation or null for operators.
   */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** In the table's order; null where an optional tensor is absent. */
  readonly inputs: readonly (BackendTensor | null)[];
  /** The same of the results. */
  readonly outputs: readonly (BackendTensor | null)[];
}

/** A whole operation of the library's, before it runs. */
export interface BackendOperation {
  /** The library's name of it, as dx.explain() shows it for such a kernel: "softmax". */
  readonly operation: string;
  /** By name, plain data: { axis: 1 }. docs/write-a-backend.md has a table. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** In the operation's order, optional ones at the end left out. bool and bfloat16 are called by their names here. */
  readonly inputs: readonly BackendTensor[];
  /** The same of the results, which are packed. */
  readonly outputs: readonly BackendTensor[];
}

/** What prepare() and prepareOperation() make of a call. It is kept, and runs over other ranges each time. */
export interface BackendKernel {
  /**
   * Queues the kernel over these ranges, in the order of the call's tensors. An output's range may be an input's where the table says
   * `supportsInPlace`; otherwise they do not meet. Does not wait.
   */
  run(inputs: readonly (BackendRange | null)[], outputs: readonly (BackendRange | null)[]): void;
}

/** Bytes of a slot of a program: the memory is named when it runs. */
export interface BackendSlotRange {
  /** Which of the memories that run() is given. */
  readonly slot: number;
  /** The first byte, counted from the slot's own offset. */
  readonly offset: number;
  /** Bytes from there on. */
  readonly size: number;
}

/** A step of a program: a kernel over ranges, or a copy. */
export type BackendStep =
  | {
      readonly kernel: BackendKernel;
      readonly inputs: readonly (BackendSlotRange | null)[];
      readonly outputs: readonly (BackendSlotRange | null)[];
    }
  | { readonly copy: readonly [from: BackendSlotRange, to: BackendSlotRange] };

/** A whole program, which the device runs as one piece of work. */
export interface BackendProgram {
  /** Queues it over these memories, by slot. Does not wait. */
  run(slots: readonly (BackendRange | null)[]): void;
}

/** What the device says of its memory. */
export interface BackendMemoryStatistics {
  /** Bytes that it holds, free blocks that it keeps included. */
  readonly heldInBytes: number;
  /** Bytes that it has. */
  readonly limitInBytes: number;
}

/**
 * A device that is open. Its work behaves as if it ran in the order of the calls: where it has several streams, it orders them by events of its
 * own. write, copy, free and run queue work and do not wait for it; free is in order too, so memory may be freed while queued work uses it.
 */
export interface BackendDevice {
  /** The dtypes that its kernels compute in. Memory may hold any dtype. */
  readonly dtypes: readonly DType[];
  /** DirectML's operators that it has kernels for; what is not in the list is composed of others, or falls back. */
  readonly operators: readonly OperatorName[];
  /** Operations of the library's, by name ("softmax"), that prepareOperation() has kernels for. Default: none. */
  readonly operations?: readonly string[];
  /** Memory of so many bytes, a multiple of 4, not initialised. Throws kind "outOfMemory" where there is none. */
  allocate(sizeInBytes: number): BackendMemory;
  /** Gives memory back, after the work that was queued before. */
  free(memory: BackendMemory): void;
  /** Copies bytes to the device. They may change when the call has returned. */
  write(memory: BackendMemory, offset: number, bytes: Uint8Array): void;
  /** Bytes of the device, after the work that was queued before. */
  read(memory: BackendMemory, offset: number, sizeInBytes: number): Promise<Uint8Array>;
  /** The same; waits. */
  readSync(memory: BackendMemory, offset: number, sizeInBytes: number): Uint8Array;
  /** Copies between two ranges of this device, of one size, which do not meet. */
  copy(from: BackendRange, to: BackendRange): void;
  /**
   * Copies from another device of this backend, after the work that was queued on both. False where it cannot: the bytes then go through the host.
   * Default: it cannot.
   */
  copyFrom?(peer: BackendDevice, from: BackendRange, to: BackendRange): boolean;
  /** The kernel of a call; null where the device has none for these tensors or attributes: the call then falls back, and is counted. */
  prepare(call: BackendCall): BackendKernel | null;
  /**
   * The kernel of a whole operation of `operations`, in place of operators; gradients stay the library's. Null where there is none for these tensors
   * or attributes: they are tried once more as packed copies, then the operation is composed of operators, as it is on other devices.
   */
  prepareOperation?(call: BackendOperation): BackendKernel | null;
  /** A program of several steps as one piece of work; null: the steps are run one by one. Default: null. */
  prepareProgram?(steps: readonly BackendStep[]): BackendProgram | null;
  /** Begins the work that is queued, without waiting. Default: work begins by itself. */
  flush?(): void;
  /** Resolves when the work that was queued before is done. */
  synchronize(): Promise<void>;
  /** The same; waits. */
  synchronizeSync(): void;
  /** Whether all work is done. */
  isIdle(): boolean;
  /** Seconds of the work that `queue` queues, by the device's own clock. Default: the host's clock around it, with a wait at the end. */
  timeSync?(queue: () => void): number;
  /** For dx.memoryStatistics(). */
  memory(): BackendMemoryStatistics;
  /** Gives everything back. No other method is called afterwards. */
  close(): void;
}
