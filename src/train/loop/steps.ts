/** What a training step does on the device: loss, gradients, clipping, update. */
import { autocast } from "../../core/autocast.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { scope } from "../../core/scope.ts";
import type { Tensor } from "../../core/tensor.ts";
import { compile, type CompileOptions } from "../../compile/compile.ts";
import { clipGradNorm_, clipGradValue_ } from "../../nn/clip-grad.ts";
import { div } from "../../ops/elementwise/binary.ts";
import type { GradScaler } from "../../optim/grad-scaler.ts";
import type { FitOptions, LossAndOutputs, LossFunction } from "./options.ts";
import { lossOf, outcomeOf } from "./batch-loss.ts";

/** A function that frees what it makes inside, or a compiled one. */
interface Prepared<A extends readonly unknown[], R> {
  (...args: A): R;
  dispose(): void;
}

export function prepared<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  name: string,
  options: boolean | CompileOptions | undefined,
): Prepared<A, R> {
  if (options === undefined || options === false) {
    const scoped = (...args: A): R => scope(() => fn(...args));
    return Object.assign(scoped, { dispose: () => {} });
  }
  return compile(fn, { name, ...(options === true ? {} : options) });
}

/** A loss function inside autocast(), whose result is checked. */
export function forwardOf<B>(operation: string, loss: LossFunction<B>, dtype: FitOptions<B>["autocast"]): (batch: B) => LossAndOutputs {
  const found = dtype === undefined ? loss : (batch: B): Tensor | LossAndOutputs => autocast(dtype, () => loss(batch));
  return (batch) => lossOf(operation, found(batch));
}

export class Steps<B> {
  readonly #options: FitOptions<B>;
  readonly #scaler: GradScaler | null;
  readonly #accumulate: number;
  readonly #whole: Prepared<[B], LossAndOutputs>;
  readonly #gradients: Prepared<[B], LossAndOutputs>;
  readonly #update: Prepared<[], void>;

  constructor(options: FitOptions<B>, scaler: GradScaler | null) {
    const { compile: options_, loss, autocast: dtype, accumulate = 1 } = options;
    this.#options = options;
    this.#scaler = scaler;
    this.#accumulate = accumulate;
    const forward = forwardOf("fit", loss, dtype);
    const gradients = (batch: B): LossAndOutputs => this.#backward(forward(batch));
    this.#whole = prepared(
      (batch: B) => {
        const outcome = gradients(batch);
        this.#apply();
        return outcome;
      },
      "fit.step",
      options_,
    );
    this.#gradients = prepared(gradients, "fit.gradients", options_);
    this.#update = prepared(() => this.#apply(), "fit.update", options_);
  }

  #backward(found: LossAndOutputs): LossAndOutputs {
    const part = this.#accumulate === 1 ? found.loss : div(found.loss, this.#accumulate);
    (this.#scaler === null ? part : this.#scaler.scale(part)).backward();
    return outcomeOf(found);
  }

  #parameters(): Tensor[] {
    return this.#options.optimizer.paramGroups.flatMap((group) => [...group.params]);
  }

  #apply(): void {
    const { optimizer, clipNorm, clipValue } = this.#options;
    const scaler = this.#scaler;
    if (clipNorm !== undefined || clipValue !== undefined) {
      scaler?.unscale(optimizer);
      if (clipNorm !== undefined) clipGradNorm_(this.#parameters(), clipNorm);
      if (clipValue !== undefined) clipGradValue_(this.#parameters(), clipValue);
    }
    if (scaler === null) optimizer.step();
    else {
      scaler.stepOnDevice(optimizer);
      scaler.update();
    }
    optimizer.zeroGrad();
  }

  /** The gradients of a batch, the count-th of a step from 1; with the last one the update. The outcome is views, to be disposed of. */
  run(batch: B, count: number): LossAndOutputs {
    if (this.#accumulate === 1) return this.#whole(batch);
    const outcome = this.#gradients(batch);
    if (count === this.#accumulate) this.#update();
    return outcome;
  }

  /** The update of fewer batches than a step has: the mean of those. */
  flush(count: number): void {
    noGrad(() => {
      for (const { grad } of this.#parameters()) grad?.mul_(this.#accumulate / count);
    });
    this.#update();
  }

  dispose(): void {
    for (const fn of [this.#whole, this.#gradients, this.#update]) fn.dispose();
  }
}
