/** One of the two devices that are compared, and running single operators on it. */
import { device } from "../core/device.ts";
import { DxError, fromNative } from "../core/errors.ts";
import type { Handle, OperatorDescription, TensorDescription } from "../native/binding.ts";
import { closeDevice, nativeDevice, type NativeDevice } from "../runtime/devices.ts";
import { tensorsOf } from "./operators/operators.ts";
import { description, type Described } from "./values/operator-text.ts";

/** A call that failed: the HRESULT, or the kind of failure where none is behind it. */
export interface Refusal {
  readonly code: string;
  readonly call: string;
  readonly kind: string;
  readonly message: string;
}

export type Outcome = { readonly outputs: readonly (ArrayBuffer | null)[] } | { readonly refusal: Refusal };

export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Error) || !("kind" in error)) throw error;
  const data = error as Error & { kind: string; hresult?: string | null; hresultName?: string | null; call?: string | null };
  return { code: data.hresultName ?? data.hresult ?? data.kind, call: data.call ?? "", kind: data.kind, message: error.message };
}

export class Side {
  readonly name: string;
  #native: NativeDevice;
  #runsShaders = false;

  constructor(name: string) {
    this.name = name;
    this.#native = nativeDevice(device(name), "verify");
  }

  get native(): NativeDevice {
    return this.#native;
  }
  get featureLevel(): number {
    return this.#native.capabilities.featureLevel;
  }

  get waveLanes(): number {
    return this.#native.capabilities.waveLanes;
  }

  /** "llvmpipe, feature level 6.2" */
  describe(): string {
    return this.#native.capabilities.describe();
  }

  /** A device that was removed is opened again; what was on it is lost. */
  reopen(): void {
    closeDevice(this.name);
    this.#native = nativeDevice(device(this.name), "verify");
  }

  /** Runs fn with the library's shaders wherever there is one. From then on the device's programs are of that kind. */
  byShaders<T>(fn: () => T): T {
    if (!this.#runsShaders) this.reopen();
    this.#runsShaders = true;
    const before = process.env["DXTENSOR_SHADERS"];
    process.env["DXTENSOR_SHADERS"] = "on";
    try {
      return fn();
    } finally {
      if (before === undefined) delete process.env["DXTENSOR_SHADERS"];
      else process.env["DXTENSOR_SHADERS"] = before;
    }
  }

  /** What CreateOperator says, without compiling: CompileGraph creates its nodes first, and refuses this graph without edges. */
  createOperator(operator: OperatorDescription): Refusal | null {
    const program = {
      name: "verify",
      inputs: [],
      outputs: [],
      scratch: 0,
      dispatchables: [{ inputCount: 0, outputCount: 0, nodes: [operator], inputEdges: [], edges: [], outputEdges: [] }],
      steps: [],
    };
    try {
      this.native.binding.releaseProgram(this.native.binding.createProgram(this.native.id, program));
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal.kind === "removed") this.reopen();
      const isLost = ["removed", "timeout", "outOfMemory"].includes(refusal.kind);
      return refusal.call === "IDMLDevice1::CompileGraph" && !isLost ? null : refusal;
    }
    return null;
  }

  /** Compiles and runs one operator; absent tensors are null. */
  run(described: Described, inputs: readonly (Uint8Array | null)[]): Outcome {
    const { binding, id } = this.native;
    const outputs: (TensorDescription | null)[] = [];
    described.row.fields.forEach((f, i) => {
      if (f.kind !== "output") return;
      const tensors = tensorsOf(described, i);
      outputs.push(...(tensors.length === 0 && f.type === "tensor" ? [null] : tensors));
    });
    const present = inputs.filter((bytes) => bytes !== null);
    const results = outputs.filter((t) => t !== null);
    let slot = 0;
    const inputRanges = inputs.map((bytes) => (bytes === null ? null : ([slot++, 0, bytes.byteLength] as const)));
    const outputRanges = outputs.map((t) => (t === null ? null : ([slot++, 0, t.sizeInBytes] as const)));
    const handles: Handle[] = [];
    const owners = [...present, ...results].map(() => ({}));
    let program = 0;
    try {
      program = binding.createProgram(id, {
        name: described.row.name,
        inputs: present.map((bytes) => bytes.byteLength),
        outputs: results.map((t) => t.sizeInBytes),
        scratch: 0,
        dispatchables: [description(described)],
        steps: [{ group: 0, dispatch: 0, inputs: inputRanges, outputs: outputRanges }],
      });
      present.forEach((bytes, i) => handles.push(binding.upload(id, bytes, owners[i]!)));
      const slots = new Float64Array(2 * (present.length + results.length + 1));
      handles.forEach((handle, i) => {
        slots[2 * i] = handle;
      });
      binding.execute(program, slots, owners.slice(present.length));
      results.forEach((_, i) => handles.push(slots[2 * (present.length + i)]!));
      const read = results.map((t, i) => binding.readSync(handles[present.length + i]!, 0, t.sizeInBytes));
      return { outputs: outputs.map((t) => (t === null ? null : read.shift()!)) };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal.kind === "removed") this.reopen();
      return { refusal };
    } finally {
      if (this.native.id === id) {
        for (const handle of handles) binding.release(handle);
        if (program > 0) binding.releaseProgram(program);
      }
    }
  }
}

/** An error that a public function threw, as a refusal. */
export function failureOf(operation: string, error: unknown): Refusal {
  const wrapped = fromNative(operation, error);
  if (wrapped instanceof DxError && !("kind" in wrapped))
    return { code: wrapped.name, call: operation, kind: wrapped.name, message: wrapped.message };
  return refusalOf(wrapped);
}
