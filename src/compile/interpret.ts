/**
 * Interprets a path operation by operation, as eager calls do. It serves paths without a program: an operation runs on the host, or the device lacks it.
 * So the call that finds this out need not run the function a second time.
 */
import { noGrad } from "../autograd/grad-mode.ts";
import { elements } from "../core/elements.ts";
import { NativeError, UnsupportedError } from "../core/errors.ts";
import { assignEager, contiguousOp } from "../runtime/assign.ts";
import { upload } from "../runtime/buffers.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import { runCreation, runEager } from "../runtime/eager.ts";
import { flatDesc, type Target } from "../runtime/storage-write.ts";
import { outsideScopes } from "../core/scope.ts";
import { Storage, type Desc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import type { Event } from "./log.ts";
import { nested, type Item, type LoopNode } from "./loops.ts";
import type { Operand } from "./operand.ts";
import type { Values } from "./program.ts";
import { itemSync } from "../ops/data/conversion.ts";
import { runLoop, type StepResult } from "./run-loop.ts";

/** The buffer and offset of a traced storage's elements. */
interface BufferRange {
  readonly storage: Storage;
  /** In elements. */
  readonly offset: number;
}

class Interpreter {
  readonly #native: NativeDevice;
  readonly #name: string;
  readonly #argument: (storage: Storage) => Tensor | null;
  readonly #ranges = new Map<Storage, BufferRange>();
  /** Storages outside that are written to: what they will hold, all of it at the end. A call that fails has changed nothing. */
  readonly #shadows = new Map<Storage, { readonly target: Tensor; readonly value: Tensor; readonly isArgument: boolean }>();
  readonly #made: Tensor[] = [];

  constructor(native: NativeDevice, name: string, argument: (storage: Storage) => Tensor | null) {
    this.#native = native;
    this.#name = name;
    this.#argument = argument;
  }

  run(items: Iterable<Item>, values: Values): void {
    for (const e of items) {
      switch (e.kind) {
        case "body":
          this.#loop(e, values);
          break;
        case "operation": {
          const inputs = e.inputs.map((o) => this.#tensor(o));
          const outputs = runEager(e.definition, inputs, e.attrs as never);
          for (const t of inputs) t.dispose();
          outputs.forEach((t, i) => {
            this.#define(e.outputs[i]!.tensor.storage, t);
          });
          break;
        }
        case "create":
          this.#define(e.output.tensor.storage, runCreation(e.definition, this.#native, e.attrs as never)[0]!);
          break;
        case "scalar": {
          const value = (values.get(e) ?? e.value) as number | bigint | boolean;
          this.#upload(e.output.tensor, elements(e.dtype, [value]));
          break;
        }
        case "constant":
          this.#upload(e.output.tensor, (values.get(e) ?? e.bytes) as Uint8Array);
          break;
        case "assign": {
          const source = this.#tensor(e.source);
          this.#shadow(e.target);
          const target = this.#tensor(e.target);
          assignEager(target, source, false);
          for (const t of [source, target]) t.dispose();
          break;
        }
        case "view":
        case "retraced":
        case "custom":
          break;
        default:
          e satisfies never;
      }
    }
  }

  #loop(node: LoopNode, values: Values): void {
    const { begin, test, body, end } = node;
    const inputs = [begin.init, begin.xs].map((list) => list.map((o) => this.#tensor(o))) as [Tensor[], Tensor[]];
    const packed = (o: Operand): Tensor => {
      const t = this.#tensor(o);
      const own = runEager(contiguousOp, [t], undefined)[0]!;
      t.dispose();
      return own;
    };
    const step = <T>(items: readonly Item[], carry: readonly Tensor[], slices: readonly Tensor[], take: () => T): T => {
      begin.carry.forEach((m, i) => this.#ranges.set(m.tensor.storage, carry[i]!));
      begin.slices.forEach((m, i) => this.#ranges.set(m.tensor.storage, slices[i]!));
      const before = this.#made.length;
      this.run(items, values);
      const result = take();
      for (const t of this.#made.splice(before)) t.dispose();
      return result;
    };
    const holds = (carry: readonly Tensor[]): boolean =>
      step(test!.items, carry, [], () => {
        const t = packed(test!.holds);
        const is = itemSync(t) !== 0;
        t.dispose();
        return is;
      });
    const run = (carry: readonly Tensor[], slices: readonly Tensor[]): StepResult =>
      step(body, carry, slices, () => ({ carry: end.carry.map(packed), ys: end.ys.map(packed) }));
    const found = runLoop(this.#native, node, ...inputs, run, test === null ? null : holds);
    found.values.forEach(([traced, storage], i) => {
      this.#define(traced, new Tensor(storage, end.outputs[i]!.tensor.desc));
    });
  }

  #upload({ storage, desc }: Tensor, bytes: ArrayBufferView): void {
    const made = desc.size === 0 ? new Storage(this.#native.device, 0) : upload(this.#native, bytes, this.#name);
    this.#define(storage, new Tensor(made, desc));
  }

  #define(traced: Storage, t: Tensor): void {
    this.#made.push(t);
    this.#ranges.set(traced, t);
  }

  /** The buffer of an operand, before any write of the path to it. */
  #rangeOf(storage: Storage): BufferRange {
    return this.#ranges.get(storage) ?? this.#argument(storage) ?? { storage, offset: 0 };
  }

  #tensor(o: { readonly storage: Storage; readonly desc: Desc; readonly offset: number }): Tensor {
    const { storage, offset } = this.#rangeOf(o.storage);
    return new Tensor(this.#shadows.get(storage)?.value.storage ?? storage, o.desc, offset + o.offset);
  }

  #shadow({ storage: traced, desc }: Target): void {
    const { storage } = this.#rangeOf(traced);
    if (this.#ranges.has(traced) || this.#shadows.has(storage) || desc.size === 0) return;
    const target = new Tensor(storage, flatDesc({ storage, desc, offset: 0 }));
    const isArgument = this.#argument(traced) !== null;
    this.#shadows.set(storage, { target, value: runEager(contiguousOp, [target], undefined)[0]!, isArgument });
  }

  /** Writes what the path has changed outside. */
  finish(): void {
    for (const { target, value, isArgument } of this.#shadows.values()) {
      const { version } = target.storage;
      assignEager(target, value, false);
      // The run has counted its writes to state itself.
      if (!isArgument) target.storage.forgetWrites(version);
    }
  }

  /** The values of traced storages, as storages without references. */
  take(outputs: readonly Storage[]): Storage[] {
    return outputs.map((o) => {
      const { storage } = this.#ranges.get(o)!;
      // dispose() below lets go of the last reference to the others.
      storage.refs++;
      return storage;
    });
  }

  dispose(outputs: readonly Storage[]): void {
    for (const t of this.#made) t.dispose();
    for (const { target, value } of this.#shadows.values()) for (const t of [target, value]) t.dispose();
    for (const s of outputs) s.refs--;
  }
}

/** Whether an error says that a program cannot have an operation. */
export const isMissing = (error: unknown): boolean =>
  error instanceof UnsupportedError || (error instanceof NativeError && error.kind === "unsupported");

/** Runs a path. argument: the tensor of a placeholder's storage, if it is one. Returns new storages of the outputs. */
export function interpret(
  native: NativeDevice,
  name: string,
  path: Iterable<Event>,
  values: Values,
  argument: (storage: Storage) => Tensor | null,
  outputs: readonly Storage[],
): Storage[] {
  return outsideScopes(() =>
    noGrad(() => {
      const interpreter = new Interpreter(native, name, argument);
      let taken: Storage[] = [];
      try {
        interpreter.run(nested(path), values);
        taken = interpreter.take(outputs);
        interpreter.finish();
      } finally {
        interpreter.dispose(taken);
      }
      return taken;
    }),
  );
}
