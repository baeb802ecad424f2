/** Data parallel training: each rank has the whole module and a part of the batch. */
import { createHash } from "node:crypto";
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { AutogradError, DistributedError, TraceError, ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { Module } from "../nn/module.ts";
import type { Parameter } from "../nn/parameter.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import { compiledStep, type CompiledStep, type CompileStepOptions } from "./compiled-step.ts";
import { takeFrom } from "./first-rank.ts";
import { GradientReduction } from "./gradient-reduction.ts";
import { groupOf } from "./init-process-group.ts";
import type { ProcessGroup } from "./process-group.ts";

/** Options of DistributedDataParallel. */
export interface DistributedDataParallelOptions {
  /** The group. Default: that of all ranks. */
  readonly group?: ProcessGroup | undefined;
  /** Gradients are reduced in parts of so many bytes. Default: 26,214,400 (25 MiB). */
  readonly bucketSizeInBytes?: number | undefined;
  /** Whether each forward in training mode takes the buffers of the group's first rank. Default: true. */
  readonly broadcastBuffers?: boolean | undefined;
}

const OPERATION = "DistributedDataParallel";
const BUCKET_SIZE = 25 * 2 ** 20;

/** What all ranks must have alike, in 16 bytes. */
const digestOf = (tensors: Iterable<[string, Tensor]>): Uint8Array =>
  createHash("sha256")
    .update([...tensors].map(([name, t]) => `${name} ${t.dtype} ${t.shape.join()} ${String(t.requiresGrad)}`).join("\n"))
    .digest()
    .subarray(0, 16);

/**
 * The module in each rank of a group, over a part of the batch: backward() gives every rank the mean of all ranks' gradients, which is that of the whole
 * batch where the parts have one size and the loss is a mean.
 *
 * The ranks take the first rank's parameters and buffers when it is made. Gradients are reduced in buckets while backward runs, and are complete when
 * backward() returns; that blocks this thread until all ranks are there. Parameters that a rank's loss does not depend on count as zeros, and keep their
 * gradient where no rank's does. Parameters are those of the time when it is made. All ranks run the same number of forward and backward passes.
 *
 * Throws AutogradError for a module without parameters that require gradients, DistributedError (reason "mismatch") where the ranks' modules differ. A function
 * that is being compiled cannot call it: see compileStep().
 * Reference: torch.nn.parallel.DistributedDataParallel.
 */
export class DistributedDataParallel<M extends Module> extends Module {
  /** The module itself. */
  readonly module: M;
  readonly #group: ProcessGroup;
  readonly #reduction: GradientReduction;
  readonly #parameters: readonly Parameter[];
  readonly #bucketSizeInBytes: number;
  readonly #broadcastBuffers: boolean;
  #isSynchronizing = true;

  constructor(module: M, { group, bucketSizeInBytes = BUCKET_SIZE, broadcastBuffers = true }: DistributedDataParallelOptions = {}) {
    super();
    if (!Number.isSafeInteger(bucketSizeInBytes) || bucketSizeInBytes < 1)
      throw new ValueError(OPERATION, "bucketSizeInBytes", "an integer of at least 1", bucketSizeInBytes);
    this.module = module;
    this.#group = groupOf(OPERATION, group);
    this.#broadcastBuffers = broadcastBuffers;
    const parameters = module.parameters().filter((p) => p.requiresGrad);
    if (parameters.length === 0)
      throw new AutogradError({
        operation: OPERATION,
        argument: "module",
        expected: "one with parameters that require gradients",
        received: module.constructor.name,
      });
    this.#requireAlike();
    takeFrom(OPERATION, this.#group, [...module.parameters(), ...module.buffers()]);
    this.#parameters = parameters;
    this.#bucketSizeInBytes = bucketSizeInBytes;
    this.#reduction = new GradientReduction(this.#group, parameters, bucketSizeInBytes);
  }

  #requireAlike(): void {
    const own = digestOf([...this.module.namedParameters(), ...this.module.namedBuffers()]);
    const all = new Uint8Array(own.length * this.#group.size);
    this.#group.reduceNow(OPERATION, { kind: "allGather", what: "DistributedDataParallel(module)", input: own, output: all })();
    this.#group.ranks.forEach((peer, i) => {
      if (own.every((byte, j) => byte === all[i * own.length + j])) return;
      const data = { reason: "mismatch", rank: this.#group.ranks[this.#group.rank]!, peer, group: this.#group.name, sequence: 0 } as const;
      throw new DistributedError(
        OPERATION,
        data,
        `rank ${peer} has a module with other parameters or buffers: names, shapes, dtypes or requiresGrad differ.`,
      );
    });
  }

  #takeBuffers(): void {
    if (this.#group.size > 1 && this.#broadcastBuffers && this.training) takeFrom(OPERATION, this.#group, this.module.buffers());
  }

  /** The module's result. The next backward() reduces, unless it is called inside noSync() or without gradients. */
  forward(...inputs: Parameters<M["forward"]>): ReturnType<M["forward"]> {
    if (tracer() !== null)
      throw new TraceError({
        operation: OPERATION,
        received: "a call while a function is compiled",
        hint: "ddp.compileStep() compiles a step with the reduction between its two programs.",
      });
    if (isGradEnabled() && this.#isSynchronizing) {
      this.#takeBuffers();
      this.#reduction.arm();
    }
    const forward = this.module.forward as (...values: unknown[]) => unknown;
    return forward.apply(this.module, inputs) as ReturnType<M["forward"]>;
  }

  /**
   * Runs fn, whose forward passes are those of one rank alone: their gradients add up in `grad`, and the next backward pass outside reduces the sum.
   * fn may be asynchronous. Reference: torch.nn.parallel.DistributedDataParallel.no_sync.
   */
  noSync<T>(fn: () => T): T {
    const before = this.#isSynchronizing;
    this.#isSynchronizing = false;
    this.#reduction.disarm();
    const restore = (): void => void (this.#isSynchronizing = before);
    let result: T;
    try {
      result = fn();
    } catch (error) {
      restore();
      throw error;
    }
    if (result instanceof Promise) return result.finally(restore) as T;
    restore();
    return result;
  }

  /** Reduces the gradients that the parameters have now: behind a compiled step, which cannot do it itself. All ranks call it. */
  reduceGradients(): void {
    this.#reduction.arm();
    this.#reduction.finish();
  }

  /**
   * A compiled training step: a program of the loss and its gradients, the reduction, and a program of the update, which also takes the gradients away.
   * Inside noSync() a call computes gradients alone, which add up until the next one outside.
   *
   * lossOf: the loss of one rank's part of the batch, computed with `ddp.module`; it is compiled, so what it is called with are tensors or values as
   * compile() has them. optimizer: of the module's parameters. Result: a function with the parameters of lossOf that gives the loss, and blocks until all
   * ranks are there. All ranks call it. See compile() for what is refused.
   */
  compileStep<Inputs extends readonly unknown[], O extends { lr: number }>(
    lossOf: (...inputs: Inputs) => Tensor,
    optimizer: Optimizer<O>,
    options: CompileStepOptions = {},
  ): CompiledStep<Inputs> {
    return compiledStep(lossOf, optimizer, options, {
      group: this.#group,
      parameters: this.#parameters,
      bucketSizeInBytes: this.#bucketSizeInBytes,
      begin: () => {
        this.#takeBuffers();
      },
      isSynchronizing: () => this.#isSynchronizing,
    });
  }
}

/** Makes a DistributedDataParallel. */
export const distributedDataParallel = <M extends Module>(
  module: M,
  options: DistributedDataParallelOptions = {},
): DistributedDataParallel<M> => new DistributedDataParallel(module, options);
