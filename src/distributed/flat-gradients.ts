/** The gradients of a compiled step in a few flat tensors, which engines reduce in place where the host can use the device's memory. */
import { outsideScopes, keep } from "../core/scope.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { layoutOf, type Bucket } from "../nn/gradient-layout.ts";
import type { Parameter } from "../nn/parameter.ts";
import { zeros } from "../ops/creation/creation.ts";
import { clone, copy_ } from "../ops/data/state.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { EngineMemory } from "./engine-memory.ts";
import { described, type ProcessGroup } from "./process-group.ts";

const OPERATION = "DistributedDataParallel";
/** Each reduction has a fixed cost. A GPU computes while the host reduces, so many small buckets shorten the wait at the end. A CPU does the work of both, so it has few large ones. */
const BUCKETS = { cpu: { minBytes: 2 ** 20, parts: 4 }, gpu: { minBytes: 2 ** 18, parts: 8 } };

/** @internal Gradients of one module's parameters. */
export class FlatGradients {
  readonly #group: ProcessGroup;
  readonly #parameters: readonly Parameter[];
  readonly #buckets: readonly Bucket[];
  readonly #flats: readonly Tensor[];
  readonly #memories: readonly EngineMemory[];
  readonly #isOwned: (p: Parameter) => boolean;
  /** Which parameters the loss of the last traced call depends on; and that of any rank. */
  #own: Uint8Array;
  #used: Uint8Array;

  /** isOwned: an optimizer changes the parameter, and takes its gradient away. */
  constructor(group: ProcessGroup, parameters: readonly Parameter[], bucketSizeInBytes: number, isOwned: (p: Parameter) => boolean) {
    this.#group = group;
    this.#parameters = parameters;
    this.#isOwned = isOwned;
    const total = parameters.reduce((sum, p) => sum + p.desc.sizeInBytes, 0);
    const { device } = parameters[0]!;
    const { minBytes, parts } = device.type === "cpu" ? BUCKETS.cpu : BUCKETS.gpu;
    this.#buckets = layoutOf(parameters, Math.min(bucketSizeInBytes, Math.max(minBytes, total / parts)));
    this.#flats = outsideScopes(() => this.#buckets.map(({ dtype, size }) => keep(zeros([size], { dtype, device }))));
    this.#memories = this.#flats.map((flat) => EngineMemory.inPlace(OPERATION, flat));
    this.#own = this.#used = new Uint8Array(parameters.length);
  }

  get storages(): readonly Storage[] {
    return this.#flats.map((flat) => flat.storage);
  }

  /** Takes the parameters' gradients, in a function that is compiled. */
  take(): void {
    this.#own = Uint8Array.from(this.#parameters, (p) => Number(p.grad !== null));
    this.#buckets.forEach(({ pieces, size, dtype }, k) => {
      const flat = this.#flats[k]!;
      const parts: Tensor[] = [];
      const gap = (length: number): void => {
        if (length > 0) parts.push(zeros([length], { dtype, device: flat.device }));
      };
      let end = 0;
      for (const { index, start } of pieces) {
        const p = this.#parameters[index]!;
        gap(start - end);
        if (p.grad === null) gap(p.size);
        else parts.push(reshape(p.grad, [-1]));
        end = start + p.size;
      }
      gap(size - end);
      copy_(flat, parts.length === 1 ? parts[0]! : cat(parts));
    });
    for (const p of this.#parameters) p.grad = null;
  }

  /** The means of all ranks. made: when each bucket is there; null: when the device has done all. */
  reduce(made: { readonly recording: number; readonly parts: readonly number[] } | null): void {
    const used = this.#own.slice();
    const waitUsed = this.#group.reduceNow(OPERATION, {
      kind: "allReduce",
      what: described("allReduce", "max", "uint8", [used.length]),
      dtype: "uint8",
      reduction: "max",
      input: used,
      output: used,
    });
    const waits = this.#buckets.map(({ dtype, size }, k) => {
      const bytes = this.#memories[k]!.bytesNow(true, made === null ? null : { recording: made.recording, part: made.parts[k]! });
      const what = described("allReduce", "mean", dtype, [size]);
      return this.#group.reduceNow(OPERATION, { kind: "allReduce", what, dtype, reduction: "mean", input: bytes, output: bytes });
    });
    waitUsed();
    this.#used = used;
    waits.forEach((wait, k) => {
      wait();
      this.#memories[k]!.returned();
    });
  }

  /** Gives the parameters their gradients, in a function that is compiled. One that no rank's loss depends on keeps none. */
  give(): void {
    this.#buckets.forEach(({ pieces }, k) => {
      for (const { index, start } of pieces) {
        const p = this.#parameters[index]!;
        if (this.#used[index] !== 1) continue;
        const part = reshape(narrow(this.#flats[k]!, 0, start, p.size), p.shape);
        p.grad = this.#isOwned(p) ? part : clone(part);
      }
    });
  }

  dispose(): void {
    for (const flat of this.#flats) flat.dispose();
  }
}
