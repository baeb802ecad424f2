/**
 * The native addon's interface. Nothing outside src/native and src/runtime sees it.
 *
 * Devices, buffers, programs and recordings are small positive integers, valid in one JavaScript thread (environment). A call
 * that fails throws an Error with the properties of NativeFailure; it never ends the process. Sizes and offsets are in bytes.
 */

import type { DType } from "../core/dtype.ts";
import type { Handle } from "../core/storage.ts";

export type { Handle };

/** Which set of libraries: Microsoft's (WSL, Windows or over Vulkan), or the software adapter's. */
export type RuntimeKind = "gpu" | "software";

export interface LibraryPaths {
  /** Folders to search for libdxcore, libd3d12 and libdirectml, in order; absolute paths. */
  readonly folders: readonly string[];
  /** Explicit files, tried before the folders and instead of them. */
  readonly dxcore?: string | undefined;
  readonly d3d12?: string | undefined;
  readonly directml?: string | undefined;
  /** The software adapter's one library. */
  readonly software?: string | undefined;
  /** Simulated profiles of the software adapter: "rtx-3070@6.4,uhd-630@5.0-ELEMENT_WISE_ERF". */
  readonly simulate?: string | undefined;
}

export interface LoadReport {
  readonly loaded: boolean;
  /** "Direct3D 12", "Direct3D 12 over Vulkan", "Direct3D 12 in software": what the runtime says of itself. */
  readonly direct3d: string;
  /** Files that were loaded, by library name ("dxcore", "d3d12", "directml", "software"). */
  readonly libraries: readonly { readonly name: string; readonly path: string }[];
  /** Every path that was tried, in order; error is null for those that loaded. */
  readonly tried: readonly { readonly name: string; readonly path: string; readonly error: string | null }[];
}

export interface AdapterDescription {
  readonly index: number;
  readonly name: string;
  readonly vendorId: number;
  readonly deviceId: number;
  readonly luid: string;
  readonly driverVersion: string;
  readonly isHardware: boolean;
  readonly isIntegrated: boolean;
  /** True for a simulated profile of the software adapter. */
  readonly isSimulated: boolean;
  readonly dedicatedMemoryInBytes: number;
  readonly sharedMemoryInBytes: number;
}

export interface DeviceDescription {
  readonly id: number;
  /** 0x5000 for 5.0. */
  readonly featureLevel: number;
  /** Bit i: DML_TENSOR_DATA_TYPE i is supported. */
  readonly dataTypes: number;
  /** True where a compiled graph fuses its nodes (the software adapter), so that regions should be large. */
  readonly fusesGraphs: boolean;
  readonly isUnifiedMemory: boolean;
  /** The smallest number of lanes of a wave; 0 without wave operations. */
  readonly waveLanes: number;
  /** Compute shaders of our own run. */
  readonly runsShaders: boolean;
  /** Buffers may be read as texels of four words. */
  readonly readsTexels: boolean;
}

/** Properties of an Error thrown by the addon. */
export interface NativeFailure {
  readonly kind: "load" | "device" | "removed" | "timeout" | "outOfMemory" | "unsupported" | "invalid" | "internal";
  /** "0x80070057", null where no HRESULT is behind it. */
  readonly hresult: string | null;
  /** "E_INVALIDARG". */
  readonly hresultName: string | null;
  /** The native call that failed: "IDMLDevice::CreateOperator". */
  readonly call: string | null;
  /** The DirectML operator it was about: "GEMM"; of a removal, the programs that ran when it was noticed. */
  readonly operator: string | null;
  /** Of a removal: the adapter's words, where it has any. */
  readonly reason: string | null;
  /** Of a removal: another thread's work did it. */
  readonly isElsewhere: boolean;
}

export interface DeviceOptions {
  readonly memoryLimitInBytes?: number | undefined;
  readonly timeoutInMs?: number | undefined;
  /** Areas of a pattern around all memory, which are compared after each program. Of a device that this call opens. */
  readonly guards?: boolean;
}

export interface TensorDescription {
  /** DML_TENSOR_DATA_TYPE. */
  readonly dataType: number;
  readonly sizes: readonly number[];
  /** In elements; null: packed. */
  readonly strides: readonly number[] | null;
  readonly sizeInBytes: number;
}

/**
 * A field of an operator in the schema's form: tensor or null, arrays, numbers; bool as boolean; scaleBias as [scale, bias] or
 * null; size2D as [width, height]; scalarUnion as a Uint8Array of 8 bytes; an operator as OperatorDescription or null.
 */
export type FieldValue =
  | null
  | number
  | boolean
  | Uint8Array
  | TensorDescription
  | OperatorDescription
  | readonly TensorDescription[]
  | readonly OperatorDescription[]
  | readonly number[];

export interface OperatorDescription {
  /** DML_OPERATOR_TYPE. */
  readonly type: number;
  /** One for each field of the schema, in its order; count fields too. */
  readonly fields: readonly FieldValue[];
}

/** A DirectML graph: compiled as one dispatch. Edges are [from, fromIndex, to, toIndex]. */
export interface GraphDescription {
  readonly inputCount: number;
  readonly outputCount: number;
  readonly nodes: readonly OperatorDescription[];
  /** [graph input, node, node input] */
  readonly inputEdges: readonly (readonly [number, number, number])[];
  /** [from node, its output, to node, its input] */
  readonly edges: readonly (readonly [number, number, number, number])[];
  /** [node, node output, graph output] */
  readonly outputEdges: readonly (readonly [number, number, number])[];
  /** [graph output, graph input, bytes]: the output aliases the input, from this byte offset on. For devices that fuse graphs alone. */
  readonly overwrites?: readonly (readonly [number, number, number])[];
}

/** A compute shader of our own: launched over its step's ranges as buffers u0, u1, …, inputs first. */
export interface ShaderDescription {
  /** DXBC. */
  readonly shader: Uint8Array;
  /** As ShaderCall has them. */
  readonly views: Uint8Array;
  /** The words of cb0, 32 at most. */
  readonly constants: Uint32Array;
  readonly groups: readonly [number, number, number];
  readonly inputCount: number;
}

/** An operation of the library's, before it runs, for devices that have kernels for whole operations. */
export interface OperationCall {
  readonly operation: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly inputs: readonly OperationTensor[];
  /** Packed. */
  readonly outputs: readonly OperationTensor[];
}

export interface OperationTensor {
  readonly dtype: DType;
  readonly sizes: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
}

/** An operation with the kernel that its device has for it. The addon's own devices have none. */
export interface OperationDescription {
  readonly call: OperationCall;
  readonly kernel: object;
}

/** A range of a slot: [slot, offset, size]; null binds nothing (an absent optional tensor). */
export type BindingRange = readonly [slot: number, offset: number, size: number] | null;

/**
 * One step of a program. dispatch: an index into dispatchables. copy: bytes from one range to another (any offset; may lie in
 * the same slot if the ranges do not meet). A step runs after all steps of lower groups; steps of one group are independent.
 */
export type ProgramStep =
  | {
      readonly group: number;
      readonly dispatch: number;
      readonly inputs: readonly BindingRange[];
      readonly outputs: readonly BindingRange[];
      /** For people: the operation and its source line. The native side does not read it. */
      readonly origin?: string;
      /** The same of each node of a graph. */
      readonly origins?: readonly string[];
      /** For profiles: floating-point operations of each node of a graph, or of the one operator. */
      readonly flops?: readonly number[];
    }
  | { readonly group: number; readonly copy: readonly [from: BindingRange, to: BindingRange] };

/**
 * Slots are numbered: inputs 0 to inputs.length - 1, then outputs, then the scratch arena as the last one. When a program is
 * run, outputs and arena are allocated by the addon unless given.
 */
export interface ProgramDescription {
  /** Name for errors and traces: "matmul", "step#3". */
  readonly name: string;
  /** Minimum size of each input slot. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly scratch: number;
  /** Compiled once each, whatever the number of steps that use them. */
  readonly dispatchables: readonly (OperatorDescription | GraphDescription | ShaderDescription | OperationDescription)[];
  readonly steps: readonly ProgramStep[];
}

/** What the software adapter runs for a dispatchable, or a part of it; `nodes` by their indices in a graph's description. */
export interface KernelTime {
  readonly name: string;
  readonly nodes: readonly number[];
  readonly seconds: number;
}

/** What startTiming() has timed. */
export interface DeviceTiming {
  /**
   * Six numbers for each dispatch: number of the run, execute or replay since startTiming(), number of the dispatch in the program, begin and end of the
   * queue thread's work for the whole run, begin and end of the dispatch on the device, in milliseconds since startTiming().
   */
  readonly dispatches: Float64Array;
  /** Of programs whose kernels the library shows, by dispatchable; `work`: the number of one of their runs. Their times are the shortest of all runs. */
  readonly programs: readonly { readonly work: number; readonly kernels: readonly (readonly KernelTime[])[] }[];
}

/** Counted by the native side since the device was opened; see docs/internals/native.md. */
export interface Counters {
  /** Dispatches recorded into a command list (eager calls, and recordings while they are recorded). */
  readonly dispatchesRecorded: number;
  /** Binding tables written (descriptor writes), as against found bound already. */
  readonly tablesBound: number;
  readonly barriersRecorded: number;
  /** Calls that give the device command lists: one of several replays while the device has other work. */
  readonly submissions: number;
  readonly listsSubmitted: number;
  /** Closed lists of recordings executed again. */
  readonly replays: number;
  /** Copies of inputs, scalars and outputs around replays, not in the closed lists. */
  readonly replayCopies: number;
  readonly copies: number;
  readonly uploads: number;
  readonly readbacks: number;
  readonly operatorsCompiled: number;
  readonly graphsCompiled: number;
  /** Pipelines made; a shader of the same bytes is made once. */
  readonly shadersCompiled: number;
}

export interface DeviceMemory {
  /** Bytes and number of live buffers that JavaScript owns. */
  readonly liveInBytes: number;
  readonly liveBuffers: number;
  readonly peakInBytes: number;
  /** Held by the device's heaps, free blocks included. */
  readonly pooledInBytes: number;
  /** Of these, what nothing uses now: kept for what comes next, given back when memory is short. */
  readonly idleInBytes: number;
  /** Of the host's memory, what uploads and reads go through. */
  readonly stagingInBytes: number;
  /** Of programs and recordings: arenas, temporary and persistent resources. */
  readonly programInBytes: number;
  readonly limitInBytes: number;
}

export type LapackArgument = number | string | Float64Array | Int32Array;
export type Fault = "removeDevice" | "outOfMemory" | "hang";

export interface Binding {
  readonly version: string;
  /** Loads a runtime's libraries once for the process; later calls return the first report. Never throws for missing files. */
  load(kind: RuntimeKind, paths: LibraryPaths): LoadReport;
  /** [] when the runtime is not loaded or has no adapter. */
  adapters(kind: RuntimeKind): AdapterDescription[];
  /**
   * timeoutInMs: how long the device may finish nothing while it has work, before who waits for it is told. Each call is to be closed by
   * itself, and has its own buffers, programs and recordings: copies of the library in one thread share the addon.
   */
  openDevice(kind: RuntimeKind, adapter: number, options: DeviceOptions): DeviceDescription;
  /** Other options from now on, for a device that is open. */
  setDeviceOptions(device: number, options: DeviceOptions): void;
  /** Waits for its work, frees everything of it, but nothing that another call of openDevice has. Handles of it are dead then. */
  closeDevice(device: number): void;

  /**
   * Runs a program of one output whose inputs all start at offset 0: returns the output's new buffer. `owner` is the JavaScript
   * object that the buffer belongs to: kept weakly, see sweep. The hot path: no waiting, no object made.
   */
  run(program: number, owner: object, ...inputs: Handle[]): Handle;
  /**
   * The general form. slots holds handle and offset of each slot in pairs: inputs, outputs, arena. Output or arena handle 0:
   * allocated, and an output's new handle is written back into slots; owners has one object for each output (null: given).
   */
  execute(program: number, slots: Float64Array, owners: readonly (object | null)[]): void;

  /** Uninitialised memory. `ofProgram`: apart from tensors' memory, so that copies between the two need no detour. */
  allocate(device: number, sizeInBytes: number, owner: object, ofProgram?: boolean): Handle;
  /** A new buffer with these bytes, which are copied before the call returns. */
  upload(device: number, bytes: ArrayBufferView, owner: object): Handle;
  write(handle: Handle, offset: number, bytes: ArrayBufferView): void;
  copy(from: Handle, fromOffset: number, to: Handle, toOffset: number, sizeInBytes: number): void;
  /** Resolves when everything queued before it is done. Keeps the process alive until then. */
  read(handle: Handle, offset: number, sizeInBytes: number): Promise<ArrayBuffer>;
  readSync(handle: Handle, offset: number, sizeInBytes: number): ArrayBuffer;
  /** As many bytes as `into` has, blocking. */
  readInto(handle: Handle, offset: number, into: Uint8Array): void;
  /**
   * The address of a buffer's bytes, where the host can use them in place, null elsewhere: for other addons. The caller waits for the work queued before,
   * keeps the buffer, and queues none that uses it until giveBack(). Of backends from outside: absent.
   */
  lend?(handle: Handle): number | null;
  giveBack?(address: number): void;
  /** Frees now, in stream order: work queued before may still use it. */
  release(handle: Handle): void;
  /** Frees the buffers whose owner has been collected; returns their number. */
  sweep(): number;
  /** Collects all garbage and gives the pages of V8's heap back, as gc() does not; false where this Node has no such function. */
  collectGarbage(): boolean;
  /**
   * A number from 2^40 on for memory of a backend from outside. `owner` is kept weakly. The bytes and one buffer count in `pressure`.
   */
  track(owner: object, sizeInBytes: number): Handle;
  /** Takes the weight away. Throws "invalid" for a number that is not there. */
  untrack(handle: Handle): void;
  /** Numbers of track() whose owner has been collected, of all copies of the library: untrack each. */
  collectedOwners(): Handle[];
  /**
   * Numbers that the addon keeps current, readable without a call: [live buffers, live bytes] of this thread's devices.
   * The caller collects garbage and sweeps when they pass its limits.
   */
  readonly pressure: Float64Array;

  /** Begins to make a shader's pipeline on another thread. createProgram() takes it, and tells of what the device refuses. views, constants: how many it has. */
  preparePipeline?(device: number, shader: Uint8Array, views: number, constants: number): void;
  createProgram(device: number, program: ProgramDescription): number;
  releaseProgram(program: number): void;
  /** What a compiled program takes, and by dispatchable the kernels of its graphs, without times, where the library shows them. */
  programInfo(program: number): {
    descriptors: number;
    temporaryInBytes: number;
    persistentInBytes: number;
    operators: number;
    kernels: KernelTime[][];
  };

  /**
   * Records a program over fixed buffers (handle and offset of each slot in pairs, all given) into `lists` closed command lists
   * that replay() submits in rotation, none again before its fence. cuts: numbers of groups of steps, ascending, behind which a part of such a list
   * ends: parts are submitted one by one (see exchange).
   */
  record(program: number, slots: Float64Array, lists: number, cuts?: Float64Array): number;
  /**
   * Copies each input range to its target, submits the next closed list, copies each output range into a new buffer.
   * inputs: [from handle, from offset, to handle, to offset, size] each; outputs: [from handle, from offset, size] each;
   * owners: one for each output. New handles are written into results.
   */
  replay(recording: number, inputs: Float64Array, outputs: Float64Array, owners: readonly object[], results: Float64Array): void;
  releaseRecording(recording: number): void;
  /**
   * Runs the recording's dispatches one by one and waits: seconds of each by the device's timestamps, in the order of the steps, and of
   * each dispatchable's kernels where the library shows them.
   */
  profile(recording: number): { seconds: Float64Array; kernels: KernelTime[][] };

  /**
   * Waits for the device; from then on its dispatches run alone, each between two of its timestamps. Throws "unsupported" where the device has no
   * clock, "invalid" where it is timed already.
   */
  startTiming(device: number): void;
  /** Waits for the device, and ends that. */
  stopTiming(device: number): DeviceTiming;

  /** Submits what is queued without waiting. */
  flush(device: number): void;
  /** A new buffer with bytes of another device's, copied without the host; null where that is impossible. Of backends from outside alone. */
  receive?(peer: Binding, handle: Handle, offset: number, sizeInBytes: number, owner: object): Handle | null;
  /**
   * A new buffer of a device, with bytes of a buffer of another one of this addon's: through the host's memory, one device reads while the other
   * writes. Waits for what was queued on the other one before, unless it `isLater`: both queues do their parts then, and a failure of the other
   * device ends this one's work. Not of backends from outside.
   */
  carry?(handle: Handle, offset: number, sizeInBytes: number, device: number, owner: object, isLater: boolean): Handle;
  /**
   * Copies between devices of this addon's that run with their work. Eight numbers each: from handle and offset, to handle and offset, size; the
   * recording whose last replay made the bytes and its part of that number (0: all that was queued before); the receiver's recording from whose last replay
   * on no work uses what they go to (0: what was queued before may). What is queued afterwards sees them. Not of backends from outside.
   */
  exchange?(shipments: Float64Array): void;
  /**
   * Fills `to` with bytes of a buffer, and waits until the recording's last replay has made them in its part of that number, not for the rest of it
   * (recording 0: for all that was queued before). Not of backends from outside.
   */
  readMade?(handle: Handle, offset: number, to: Uint8Array, recording: number, part: number): void;
  synchronize(device: number): Promise<void>;
  synchronizeSync(device: number): void;
  /** Whether all work is done, or is within that time; false of a device that failed or is held. */
  doneWithin(device: number, milliseconds: number): boolean;
  counters(device: number): Counters;
  memory(device: number): DeviceMemory;
  /** Stops the queue thread before its next task, or lets it continue: for tests of asynchrony. */
  hold(device: number, held: boolean): void;
  /** Gives memory of the device back that was not needed at any time since the last call; returns the bytes. May wait for the device. */
  settle(device: number): number;
  /**
   * The software adapter's faults on demand; throws "unsupported" on others. "outOfMemory" is the device's answer to the next allocation of
   * any thread. With two numbers: so many of this device's next allocations, staging memory included, succeed, then so many fail; returns
   * how many have failed since the last such call.
   */
  injectFault(device: number, fault: Fault, succeed?: number, fail?: number): number | undefined;

  /** Opens a LAPACK library by its path, once for the process: null, or why it can't be. */
  lapackOpen(path: string): string | null;
  /** Whether it has a routine ("dgetrf"), however it spells it. */
  lapackHas(path: string, routine: string): boolean;
  /** Calls a routine as Fortran does: numbers as 32-bit integers, letters, arrays. What would write beyond an array is refused. */
  lapackCall(path: string, routine: string, args: readonly LapackArgument[]): void;

  /**
   * Libraries with the C ABI of native/include/dxtensor_backend.h. Devices, memory and operations are named by numbers; what the library reports is
   * thrown with its text.
   */
  backendLoad(path: string): LibraryLoad;
  backendDevices(library: number): { name: string; memoryInBytes: number; isHardware: boolean }[];
  /** A new device, with the numbers of its dtypes and the names of what it computes. */
  backendOpen(library: number, index: number): { device: number; dtypes: number[]; operations: string[] };
  /** Frees its memory, too. */
  backendClose(device: number): void;
  backendAllocate(device: number, sizeInBytes: number): number;
  backendFree(memory: number): void;
  backendWrite(memory: number, offset: number, bytes: ArrayBufferView): void;
  backendRead(memory: number, offset: number, sizeInBytes: number): ArrayBuffer;
  backendCopy(from: number, fromOffset: number, to: number, toOffset: number, sizeInBytes: number): void;
  /** 0 where the library does not support it. Tensors are the inputs, so many, then the outputs. */
  backendPrepare(
    device: number,
    name: string,
    tensors: readonly (LibraryTensor | null)[],
    inputs: number,
    attributes: readonly LibraryAttribute[],
  ): number;
  /** Memory, offset and size of each tensor; memory 0 where it is absent. */
  backendRun(operation: number, ranges: Float64Array): void;
  /** Nothing happens where the device was closed before. */
  backendForget(operation: number): void;
  backendSynchronize(device: number): void;
  backendMemory(device: number): { heldInBytes: number; limitInBytes: number };
}

/** What loading a backend library came to. */
export type LibraryLoad =
  | { readonly reason: null; readonly library: number; readonly name: string; readonly version: string }
  | {
      readonly reason: "notALibrary" | "missingSymbol" | "version" | "refused";
      /** The loader's words, the symbol, or the library's own text. */
      readonly text: string;
      /** The version of the ABI that the library has; 0 where that is not the reason. */
      readonly abi: number;
    };

/** A tensor for a backend library, with the header's number of its dtype. */
export interface LibraryTensor {
  readonly dtype: number;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

/** An attribute for a backend library. */
export interface LibraryAttribute {
  readonly name: string;
  readonly value: number | bigint | boolean | string | readonly number[];
}
