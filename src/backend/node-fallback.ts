/** An operator that a backend from outside has no kernel for: it runs on the software adapter, over copies that go through the host. */
import type { BindingRange, Handle, OperatorDescription } from "../native/binding.ts";
import type { BackendCall, BackendRange } from "./interface.ts";
import { isDense } from "./outside-call.ts";
import type { NativeDevice } from "./provider.ts";

/** How the fallback reads and writes the device's memory. */
export interface HostCopies {
  read(from: BackendRange): Uint8Array;
  write(to: BackendRange, bytes: Uint8Array): void;
}

type Ranges = readonly (BackendRange | null)[];

export class NodeFallback {
  readonly call: BackendCall;
  readonly #description: OperatorDescription;
  readonly #software: () => NativeDevice;
  #made: { readonly native: NativeDevice; readonly program: number } | null = null;

  constructor(description: OperatorDescription, call: BackendCall, software: () => NativeDevice) {
    this.#description = description;
    this.call = call;
    this.#software = software;
  }

  run(inputs: Ranges, outputs: Ranges, copies: HostCopies): void {
    const native = this.#software();
    const program = this.#programOn(native, inputs, outputs);
    const { binding, id } = native;
    const handles: Handle[] = [];
    // The addon keeps owners weakly.
    const owners: object[] = [];
    const upload = (bytes: Uint8Array): void => {
      const owner = {};
      owners.push(owner);
      handles.push(binding.upload(id, bytes, owner));
    };
    try {
      for (const range of inputs) if (range !== null) upload(copies.read(range));
      const results = outputs.flatMap((range, i) => (range === null ? [] : [{ range, tensor: this.call.outputs[i]! }]));
      // What lies between the elements of a result stays as it is.
      for (const { range, tensor } of results) upload(isDense(tensor) ? new Uint8Array(range.size) : copies.read(range));
      const slots = new Float64Array(2 * handles.length + 2);
      handles.forEach((handle, i) => (slots[2 * i] = handle));
      binding.execute(
        program,
        slots,
        results.map(() => null),
      );
      const first = handles.length - results.length;
      results.forEach(({ range }, i) => copies.write(range, new Uint8Array(binding.readSync(handles[first + i]!, 0, range.size))));
    } finally {
      for (const handle of handles) binding.release(handle);
    }
  }

  /** The addon's program of the operator, made again when the software adapter was closed. */
  #programOn(native: NativeDevice, inputs: Ranges, outputs: Ranges): number {
    if (this.#made !== null && !this.#made.native.isClosed) return this.#made.program;
    const sizes = (ranges: Ranges): number[] => ranges.flatMap((r) => (r === null ? [] : [r.size]));
    let slot = 0;
    const slotted = (ranges: Ranges): BindingRange[] => ranges.map((r) => (r === null ? null : [slot++, 0, r.size]));
    const step = { group: 0, dispatch: 0, inputs: slotted(inputs), outputs: slotted(outputs) };
    const description = { name: this.call.operator, inputs: sizes(inputs), outputs: sizes(outputs), scratch: 0 };
    const program = native.binding.createProgram(native.id, { ...description, dispatchables: [this.#description], steps: [step] });
    this.#made = { native, program };
    return program;
  }

  release(): void {
    if (this.#made !== null && !this.#made.native.isClosed) this.#made.native.binding.releaseProgram(this.#made.program);
    this.#made = null;
  }
}
