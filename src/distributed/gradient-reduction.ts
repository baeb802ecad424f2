/** The reduction of gradients over the ranks of a group, bucket by bucket, while backward runs. */
import { noGrad } from "../autograd/grad-mode.ts";
import { addReducer, type GradientReducer } from "../autograd/gradient-reducers.ts";
import { DTYPES } from "../core/dtype.ts";
import { keep, scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Parameter } from "../nn/parameter.ts";
import { zeros } from "../ops/creation/creation.ts";
import { dataSync } from "../ops/data/conversion.ts";
import { assign } from "../dispatch/dispatch.ts";
import { add } from "../ops/elementwise/binary.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { EngineMemory } from "./engine-memory.ts";
import { bucketsOf } from "./gradient-buckets.ts";
import { described, type ProcessGroup } from "./process-group.ts";

const FIRST_BUCKET = 2 ** 20;
const OPERATION = "DistributedDataParallel";

interface Bucket {
  readonly parameters: readonly Parameter[];
  readonly values: Map<Parameter, Tensor>;
  /** The values one behind the other, in memory that the engine reduces in place. */
  memory: EngineMemory | null;
  /** Of the call that reduces it. */
  wait: (() => void) | null;
}

/** @internal The bytes of a tensor, when the device is done. */
export function bytesNow(x: Tensor): Uint8Array {
  // The detached tensor would keep the memory until it is collected.
  const array = noGrad(() => scope(() => dataSync(x.detach())));
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** @internal The gradients of one module's parameters. */
export class GradientReduction implements GradientReducer {
  leaves: ReadonlySet<Tensor> = new Set();
  readonly #group: ProcessGroup;
  readonly #parameters: readonly Parameter[];
  readonly #buckets: readonly Bucket[];
  readonly #bucketOf = new Map<Tensor, Bucket>();
  readonly #used = new Set<Tensor>();
  /** The next bucket to hand over: in one order on all ranks. */
  #next = 0;
  #remove: (() => void) | null = null;

  constructor(group: ProcessGroup, parameters: readonly Parameter[], bucketSizeInBytes: number) {
    this.#group = group;
    this.#parameters = parameters;
    const inputs = parameters.map((p) => ({ dtype: p.dtype, device: String(p.device), sizeInBytes: p.size * DTYPES[p.dtype].sizeInBytes }));
    this.#buckets = bucketsOf(inputs, bucketSizeInBytes, FIRST_BUCKET).map((indices) => ({
      parameters: indices.map((i) => parameters[i]!),
      values: new Map(),
      memory: null,
      wait: null,
    }));
    for (const bucket of this.#buckets) for (const p of bucket.parameters) this.#bucketOf.set(p, bucket);
  }

  /** The next backward pass reduces. One rank alone has the mean already. */
  arm(): void {
    if (this.#group.size === 1) return;
    this.disarm();
    this.leaves = new Set(this.#parameters);
    this.#remove = addReducer(this);
  }

  /** The next backward pass does not. */
  disarm(): void {
    this.#remove?.();
    this.#remove = null;
    this.leaves = new Set();
    this.#used.clear();
    this.#next = 0;
    for (const bucket of this.#buckets) {
      bucket.values.clear();
      // What the engine still works on stays.
      if (bucket.wait === null) bucket.memory?.read();
      Object.assign(bucket, { memory: null, wait: null });
    }
  }

  ready(leaf: Tensor, gradient: Tensor): void {
    // What its hooks return comes at the end.
    if (leaf.hooks !== null && leaf.hooks.length > 0) return;
    this.#take(leaf as Parameter, leaf.ownGrad === null ? gradient : noGrad(() => add(leaf.ownGrad!, gradient)));
  }

  #take(parameter: Parameter, value: Tensor): void {
    this.#bucketOf.get(parameter)!.values.set(parameter, value);
    this.#used.add(parameter);
    this.#advance();
  }

  /** Puts together what is complete. A bucket is read when the next one is complete: the device works meanwhile. */
  #advance(): void {
    while (this.#next < this.#buckets.length) {
      const bucket = this.#buckets[this.#next]!;
      if (bucket.values.size < bucket.parameters.length) return;
      bucket.memory = EngineMemory.joined(
        OPERATION,
        bucket.parameters.map((p) => bucket.values.get(p)!),
      );
      bucket.values.clear();
      if (this.#next > 0) this.#send(this.#buckets[this.#next - 1]!);
      this.#next++;
    }
  }

  #send(bucket: Bucket): void {
    const { dtype } = bucket.parameters[0]!;
    const bytes = bucket.memory!.bytesNow(true);
    const what = described("allReduce", "mean", dtype, [bucket.parameters.reduce((sum, p) => sum + p.size, 0)]);
    bucket.wait = this.#group.reduceNow(OPERATION, { kind: "allReduce", what, dtype, reduction: "mean", input: bytes, output: bytes });
  }

  finish(): void {
    if (this.#group.size === 1) return;
    try {
      this.#reduce();
    } finally {
      this.disarm();
    }
  }

  #reduce(): void {
    // A parameter that no rank's result depends on keeps what it has.
    const used = Uint8Array.from(this.#parameters, (p) => Number(this.#used.has(p) || p.ownGrad !== null));
    const what = described("allReduce", "max", "uint8", [used.length]);
    for (const p of this.#parameters) {
      if (this.#bucketOf.get(p)!.values.has(p) || this.#used.has(p)) continue;
      this.#take(p, p.ownGrad ?? noGrad(() => zeros(p.shape, { dtype: p.dtype, device: p.device })));
    }
    const waitUsed = this.#group.reduceNow(OPERATION, {
      kind: "allReduce",
      what,
      dtype: "uint8",
      reduction: "max",
      input: used,
      output: used,
    });
    this.#send(this.#buckets.at(-1)!);
    const waits = this.#buckets.map(({ wait }) => wait!);
    waitUsed();
    const isUsed = new Map(this.#parameters.map((p, i) => [p, used[i] === 1]));
    this.#buckets.forEach((bucket, i) => {
      waits[i]!();
      this.#give(bucket, isUsed);
    });
  }

  /** The parameters of a bucket that was reduced get their gradients. */
  #give(bucket: Bucket, isUsed: ReadonlyMap<Parameter, boolean>): void {
    const flat = bucket.memory!.written();
    bucket.memory = null;
    noGrad(() =>
      scope(() => {
        let start = 0;
        for (const p of bucket.parameters) {
          const part = reshape(narrow(flat, 0, start, p.size), p.shape);
          start += p.size;
          if (!isUsed.get(p)!) continue;
          const { ownGrad } = p;
          if (ownGrad === null) p.grad = keep(part.clone());
          else assign(OPERATION, ownGrad, () => part.clone(), { replaces: true });
        }
      }),
    );
    flat.dispose();
  }
}
