/**
 * Error classes. Each carries data (operation, argument, expected, received) and makes its text from it:
 * `matmul: b must be float32[3, N]; received float32[4, 5].`
 */

import { copyHint } from "./copies.ts";
import { show } from "./format-value.ts";

export interface ErrorData {
  /** Operation as the user called it: "matmul". */
  readonly operation: string;
  /** Argument it is about: "b". */
  readonly argument?: string | undefined;
  /** What reads behind "must be": "float32[3, N]". */
  readonly expected?: string | undefined;
  /** What was given instead: "float32[4, 5]". */
  readonly received?: string | undefined;
  /** The way out, where there is one. */
  readonly hint?: string | undefined;
}

/** Base of all errors of this library. */
export class DxError extends Error {
  /** The operation as the user called it: "matmul". */
  operation: string;
  /** The argument that is wrong: "b"; undefined where it is none. */
  readonly argument: string | undefined;
  /** What the argument must be. */
  readonly expected: string | undefined;
  /** What was given instead. */
  readonly received: string | undefined;
  /** The way out, where there is one. */
  readonly hint: string | undefined;

  constructor(data: ErrorData, options?: ErrorOptions) {
    const subject = data.argument === undefined ? "" : `${data.argument} `;
    const rule = data.expected === undefined ? "" : `${subject}must be ${data.expected}`;
    const got = data.received === undefined ? "" : `${rule === "" ? subject : ""}received ${data.received}`;
    const text = [rule, got].filter((part) => part !== "").join("; ");
    super(`${data.operation}: ${text}.${data.hint === undefined ? "" : ` ${data.hint}`}`, options);
    this.operation = data.operation;
    this.argument = data.argument;
    this.expected = data.expected;
    this.received = data.received;
    this.hint = data.hint;
  }

  /** @internal The user called another function, which is made of the one that failed. */
  rename(operation: string): this {
    const [before, after] = [`${this.operation}: `, `${operation}: `];
    this.operation = operation;
    if (!this.message.startsWith(before)) return this;
    // The stack contains the old text.
    const { stack } = this;
    const start = stack?.indexOf(this.message) ?? -1;
    const text = after + this.message.slice(before.length);
    if (stack !== undefined && start >= 0) this.stack = stack.slice(0, start) + text + stack.slice(start + this.message.length);
    this.message = text;
    return this;
  }
}

class ArgumentError extends DxError {
  /** `expected` reads after "must be"; `received` may be any value. */
  constructor(operation: string, argument: string, expected: string, received: unknown, hint?: string) {
    super({ operation, argument, expected, received: show(received), hint: copyHint(received) ?? hint });
  }
}

/** Shapes that do not fit each other or the operation. */
export class ShapeError extends ArgumentError {}
/** A dtype that the operation does not take. */
export class DTypeError extends ArgumentError {}
/** A number, string or option out of its range. */
export class ValueError extends ArgumentError {}
/** An index out of range. */
export class IndexError extends ValueError {}
/** Tensors on different devices, or a device that is not there. */
export class DeviceError extends ArgumentError {}
/** Use of a tensor after dispose(). */
export class DisposedError extends ArgumentError {}
/** Misuse of autograd: backward twice, a saved tensor changed in place, … */
export class AutogradError extends DxError {}
/** A gradient with a NaN, which detectAnomaly() found. */
export class AnomalyError extends AutogradError {
  /** The operation whose gradient it is: "sqrt". */
  readonly gradientOf: string;
  /** Of which of the operation's inputs it is the gradient. */
  readonly input: number;
  /** Where the operation was called: "at train.ts:12"; null where detectAnomaly() did not hold then. */
  readonly site: string | null;
  constructor(gradientOf: string, input: number, site: string | null) {
    super({
      operation: "backward",
      argument: `gradient ${input} of ${gradientOf}`,
      expected: "without NaN",
      received: `NaN; ${gradientOf} was called ${site ?? "outside of detectAnomaly()"}`,
      ...(site === null ? { hint: "Run the forward pass inside detectAnomaly() too: it notes the line." } : {}),
    });
    this.gradientOf = gradientOf;
    this.input = input;
    this.site = site;
  }
}
/** A function of checkpoint() that computes something else when it is called again. Reference: torch.utils.checkpoint.CheckpointError. */
export class CheckpointError extends AutogradError {}
/** A feature that the device lacks, in strict mode or where no fallback exists. */
export class UnsupportedError extends DxError {}
/** A matrix that is singular, not positive definite, or whose decomposition did not converge: the batch element, and where. */
export class LinAlgError extends DxError {
  /** Index of the matrix in the batch, in row-major order; null without a batch. */
  readonly batch: number | null;
  /** LAPACK's number: the diagonal element, from 1; 0 where there is none. */
  readonly info: number;
  constructor(operation: string, batch: number | null, info: number, problem: string) {
    super({ operation, received: problem });
    this.message = `${operation}: ${batch === null ? "" : `(Batch element ${batch}): `}${problem}`;
    this.batch = batch;
    this.info = info;
  }
}
/** A shader whose function breaks the language's rules. */
export class ShaderError extends DxError {
  /** The source line in the shader's function, "file:line:column"; "" where it is not known. */
  readonly place: string;
  constructor(shader: string, problem: string, source: string) {
    super({ operation: shader, received: problem });
    this.message = `${shader}: ${problem}${source === "" ? "" : ` (${source})`}.`;
    this.place = source;
  }

  /** It is about the shader, whoever was called. */
  override rename(): this {
    return this;
  }
}
/** Misuse of compile(): reading data while tracing, and the like. */
export class TraceError extends DxError {}

/** A file or byte sequence that breaks the rules of its format: `expected` says which, `received` what is there. */
export class FormatError extends DxError {
  /** The line of a text file, from 1, which `argument` has too ("train.csv:3"); null where it is about none. */
  readonly line: number | null;
  constructor(operation: string, source: string, expected: string, received: string, hint?: string, line: number | null = null) {
    super({ operation, argument: line === null ? source : `${source}:${line}`, expected, received, hint });
    this.line = line;
  }
}

/** A package that this one needs for what was called, and that is not installed: which, and the command that installs it. */
export class MissingPackageError extends DxError {
  /** The package's name: "sharp". */
  readonly package: string;
  /** What installs it: "npm install sharp". */
  readonly command: string;
  constructor(operation: string, source: string, name: string, options?: ErrorOptions) {
    const command = `npm install ${name}`;
    super({ operation, received: source }, options);
    this.message = `${operation}: ${source} needs the package ${name}, which is not installed. Run: ${command}`;
    this.package = name;
    this.command = command;
  }
}

/** A device index out of range, in PyTorch's words. */
export class DeviceIndexError extends DeviceError {
  constructor(operation: string, index: number, count: number) {
    const hint =
      count === 0
        ? 'This machine has no dml device: use "cpu", or let `npx dxtensor doctor` say why.'
        : `There ${count === 1 ? 'is "dml:0"' : `are "dml:0" to "dml:${count - 1}"`} and "cpu".`;
    super(operation, "device_id", `in range [0, ${count})`, index, hint);
    this.message = `Invalid device_id argument supplied ${index}. device_id must be in range [0, ${count}). ${hint}`;
  }
}

/** A worker of a loader that could not make a batch: its data set threw (the cause is that error, with its own stack), or the worker is gone. */
export class DataWorkerError extends DxError {
  /** Where it failed: the data set's making, a sample, the batch of samples; or the worker exited, ran out of memory, or took too long. */
  readonly reason: "start" | "sample" | "collate" | "exit" | "outOfMemory" | "timeout";
  /** The worker, from 0. */
  readonly worker: number;
  /** The index of the sample; null where it is about none. */
  readonly index: number | null;
  constructor(operation: string, reason: DataWorkerError["reason"], worker: number, index: number | null, problem: string, cause?: Error) {
    super({ operation, received: problem }, cause === undefined ? undefined : { cause });
    const sample = index === null ? "" : `, sample ${index}`;
    this.message = `${operation}: worker ${worker}${sample}: ${problem}`;
    this.reason = reason;
    this.worker = worker;
    this.index = index;
  }
}

/** A call between processes that failed: which rank of which group, in which of its calls, and, where it is known, because of which other rank. */
export class DistributedError extends DxError {
  /**
   * "timeout": not all ranks answered in time; "connection": a rank has ended, or its connection is closed; "mismatch": ranks called different things;
   * "closed": the group was destroyed meanwhile; "rendezvous": the ranks did not find each other; "engine": the engine refused the call; "peer": another rank
   * could not do its part.
   */
  readonly reason: "timeout" | "connection" | "mismatch" | "closed" | "rendezvous" | "engine" | "peer";
  /** This process's rank in the world; -1 where it has none yet. */
  readonly rank: number;
  /** The rank of the world that the failure is about; null where it is not known. */
  readonly peer: number | null;
  /** The group's name: "world". */
  readonly group: string;
  /** Which call of the group it was, from 1; 0 for the rendezvous. Sends and receives are counted apart. */
  readonly sequence: number;
  constructor(
    operation: string,
    data: Pick<DistributedError, "reason" | "rank" | "peer" | "group" | "sequence">,
    problem: string,
    options?: ErrorOptions,
  ) {
    super({ operation, received: problem }, options);
    const call = data.sequence === 0 ? "" : `, call ${data.sequence}`;
    this.message = `${operation}: rank ${data.rank} in group "${data.group}"${call}: ${problem}`;
    this.reason = data.reason;
    this.rank = data.rank;
    this.peer = data.peer;
    this.group = data.group;
    this.sequence = data.sequence;
  }
}

/** Properties of what the addon throws; see src/native/binding.ts. */
export interface NativeErrorData {
  /** "load", "device", "removed", "timeout", "outOfMemory", "unsupported", "invalid" or "internal". */
  readonly kind: string;
  /** The failed call's HRESULT, "0x887A0005"; null where there is none. */
  readonly hresult: string | null;
  /** Its name, "DXGI_ERROR_DEVICE_REMOVED"; null where it is not known. */
  readonly hresultName: string | null;
  /** The native function that failed; null where it is not known. */
  readonly call: string | null;
  /** The DirectML operator it was about, or of a removal the programs that ran; null for none. */
  readonly operator: string | null;
  /** Of a removal: the adapter's own words, where it has any. */
  readonly reason?: string | null;
  /** Of a removal: whether another thread's work did it. */
  readonly isElsewhere?: boolean;
}

/** A native call that failed: HRESULT, call and DirectML operator are properties. */
export class NativeError extends DxError {
  /** "load", "device", "removed", "timeout", "outOfMemory", "unsupported", "invalid" or "internal". */
  readonly kind: string;
  /** The failed call's HRESULT, "0x887A0005"; null where there is none. */
  readonly hresult: string | null;
  /** Its name, "DXGI_ERROR_DEVICE_REMOVED"; null where it is not known. */
  readonly hresultName: string | null;
  /** The native function that failed; null where it is not known. */
  readonly call: string | null;
  /** The DirectML operator it was about; null for none. */
  readonly operator: string | null;

  constructor(operation: string, message: string, data: NativeErrorData, options?: ErrorOptions) {
    super({ operation, received: message }, options);
    this.message = `${operation}: ${message}`;
    this.kind = data.kind;
    this.hresult = data.hresult;
    this.hresultName = data.hresultName;
    this.call = data.call;
    this.operator = data.operator;
  }
}
/**
 * The device was removed (driver reset, a hazard that the software adapter found, …): its tensors are lost. closeDevice() lets the
 * next use open it again.
 */
export class DeviceRemovedError extends NativeError {
  /** The adapter's own words, where it has any. */
  readonly reason: string | null;
  /** True when the work of another thread did it: threads share an adapter's device. */
  readonly isElsewhere: boolean;
  /** What ran when it was noticed, the last first; with their lines where they are known. */
  readonly work: string | null;

  constructor(operation: string, message: string, data: NativeErrorData, options?: ErrorOptions) {
    super(operation, message, data, options);
    this.message += ". closeDevice() lets the next use open it again.";
    this.reason = data.reason ?? null;
    this.isElsewhere = data.isElsewhere ?? false;
    this.work = data.operator;
  }
}
/** The device finished nothing for as long as setDeviceTimeout() allows, though it had work. */
export class DeviceTimeoutError extends NativeError {}
/** The device's memory or the limit set for it is exhausted. */
export class OutOfMemoryError extends NativeError {}

/** The addon or a runtime's libraries could not be loaded: which, every path tried, and the remedy. */
export class NativeLoadError extends DxError {
  /** The paths that were tried, in order. */
  readonly tried: readonly string[];
  constructor(operation: string, problem: string, tried: readonly string[], hint: string) {
    super({ operation, received: problem, hint });
    this.tried = tried;
    this.message = `${operation}: ${problem}. ${hint}${tried.length > 0 ? ` Tried: ${tried.join("; ")}.` : ""}`;
  }
}

/** An object that is no backend, or a backend whose name is taken. */
export class BackendError extends ArgumentError {}
/** A backend that was written for another version of the interface. */
export class BackendVersionError extends BackendError {
  /** The version that the backend names. */
  readonly version: number;
  /** The version that this library has. */
  readonly supported: number;
  constructor(operation: string, backend: string, version: number, supported: number) {
    const newer = version > supported ? "dxtensor" : `the package of ${backend}`;
    super(
      operation,
      "backend.interfaceVersion",
      `${supported}, which this library has`,
      version,
      `${backend} needs another version: update ${newer}.`,
    );
    this.version = version;
    this.supported = supported;
  }
}
/** A backend of a package that could not be loaded: which, from where, and why. */
export class BackendLoadError extends DxError {
  /** The backend's name: "openreg". */
  readonly backend: string;
  /** The file that was to be loaded; null where none was chosen. */
  readonly file: string | null;
  constructor(backend: string, file: string | null, problem: string, hint?: string, options?: ErrorOptions) {
    super({ operation: "backend", received: problem, hint }, options);
    this.message = `backend ${backend}${file === null ? "" : ` (${file})`}: ${problem}.${hint === undefined ? "" : ` ${hint}`}`;
    this.backend = backend;
    this.file = file;
  }

  /** It is about the backend, whoever was called. */
  override rename(): this {
    return this;
  }
}
/** A library with the C ABI of native backends that could not be loaded: the file, and why. */
export class BackendLibraryError extends BackendLoadError {
  /**
   * "missingFile"; "notALibrary": the system's loader refuses it; "missingSymbol": it does not export what the header asks for; "version": it was
   * compiled for another version of the ABI; "refused": its initialisation failed.
   */
  readonly reason: "missingFile" | "notALibrary" | "missingSymbol" | "version" | "refused";
  constructor(file: string, reason: BackendLibraryError["reason"], problem: string, hint?: string) {
    super("library", file, problem, hint);
    this.reason = reason;
  }
}

const classOf: { readonly [kind: string]: typeof NativeError } = {
  removed: DeviceRemovedError,
  timeout: DeviceTimeoutError,
  outOfMemory: OutOfMemoryError,
};

/** Wraps what the addon threw into the class for its kind; other values pass through. */
export function fromNative(operation: string, error: unknown): unknown {
  if (!(error instanceof Error) || !("kind" in error)) return error;
  const data = error as Error & NativeErrorData;
  const Class = classOf[data.kind] ?? NativeError;
  return new Class(operation, error.message, data, { cause: error });
}

// By text: a minifier gives classes other names. Who derives a class sets its own.
const names = {
  DxError,
  ShapeError,
  DTypeError,
  ValueError,
  IndexError,
  DeviceError,
  DisposedError,
  AutogradError,
  AnomalyError,
  CheckpointError,
  UnsupportedError,
  LinAlgError,
  ShaderError,
  TraceError,
  FormatError,
  MissingPackageError,
  DistributedError,
  DeviceIndexError,
  NativeError,
  DeviceRemovedError,
  DeviceTimeoutError,
  OutOfMemoryError,
  NativeLoadError,
  BackendError,
  BackendVersionError,
  BackendLoadError,
  BackendLibraryError,
};
for (const [name, type] of Object.entries(names))
  Object.defineProperty(type.prototype, "name", { value: name, writable: true, configurable: true, enumerable: false });
