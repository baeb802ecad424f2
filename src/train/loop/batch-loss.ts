/** The loss of a batch: checked, and summed on the device. */
import { noGrad } from "../../autograd/grad-mode.ts";
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ShapeError } from "../../core/errors.ts";
import { keep, scope } from "../../core/scope.ts";
import { Tensor } from "../../core/tensor.ts";
import { disposeAll } from "../../data/collate.ts";
import { item, to, toDType } from "../../ops/data/conversion.ts";
import { add, mul } from "../../ops/elementwise/binary.ts";
import { reshape } from "../../ops/shape/movement.ts";
import type { LossAndOutputs } from "./options.ts";

/** What a loss function returned, checked. */
export function lossOf(operation: string, result: Tensor | LossAndOutputs): LossAndOutputs {
  const found = result instanceof Tensor ? { loss: result } : result;
  const loss: unknown = typeof found === "object" && found !== null ? found.loss : found;
  if (!(loss instanceof Tensor)) {
    const isPromise = typeof found === "object" && found !== null && "then" in found;
    const hint = isPromise ? "The loss function must be synchronous: let the loader do what has to wait." : undefined;
    throw new DTypeError(operation, "loss(batch)", "a tensor, or an object with a tensor `loss`", isPromise ? "a promise" : found, hint);
  }
  if (loss.size !== 1) throw new ShapeError(operation, "loss(batch)", "of one element", loss.describe(), "Take its mean().");
  if (!isFloat(loss.dtype)) throw new DTypeError(operation, "loss(batch)", "of a float dtype", loss.describe());
  return found;
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** The same structure with detached views in it: disposing of them leaves the tensors alone. */
export function detached(value: unknown): unknown {
  if (value instanceof Tensor) return value.detach();
  if (Array.isArray(value)) return value.map(detached);
  return isPlain(value) ? Object.fromEntries(Object.entries(value).map(([name, v]) => [name, detached(v)])) : value;
}

/** Views of what a loss function found, for those who read it before disposeAll(). */
export const outcomeOf = (found: LossAndOutputs): LossAndOutputs => detached({ ...found }) as unknown as LossAndOutputs;

/** The first tensor of a batch or of targets. */
function firstTensor(value: unknown): Tensor | null {
  if (value instanceof Tensor) return value;
  const parts = Array.isArray(value) ? value : isPlain(value) ? Object.values(value) : [];
  for (const part of parts) {
    const tensor = firstTensor(part);
    if (tensor !== null) return tensor;
  }
  return null;
}

/** Samples of a batch: the first axis of its first tensor; 1 where there is none. */
export const samplesOf = (batch: unknown): number => firstTensor(batch)?.shape[0] ?? 1;

/** A sum of losses that stays on the device until it is read. */
export class LossSum {
  #sum: Tensor | null = null;
  /** The weights that were added since the last read. */
  weight = 0;

  /** The sum on the device; null where nothing was added. */
  get tensor(): Tensor | null {
    return this.#sum;
  }

  /** Begins with a sum that was saved. */
  begin(sum: Tensor | null, weight: number): void {
    this.dispose();
    this.#sum = sum === null ? null : keep(sum);
    this.weight = weight;
  }

  add(loss: Tensor, weight = 1): void {
    const before = this.#sum;
    const next = noGrad(() =>
      scope(() => {
        const own = reshape(toDType(loss, "float32"), []);
        const weighted = weight === 1 && before !== null ? own : mul(own, weight);
        return before === null ? weighted : add(to(before, weighted.device), weighted);
      }),
    );
    this.#sum = keep(next);
    this.weight += weight;
    before?.dispose();
  }

  /** Reads the sum and its weight, and begins again. Waits for the device, unless nothing was added. */
  async take(): Promise<{ readonly sum: number; readonly weight: number }> {
    const [sum, weight] = [this.#sum, this.weight];
    [this.#sum, this.weight] = [null, 0];
    if (sum === null) return { sum: 0, weight };
    try {
      return { sum: Number(await item(sum)), weight };
    } finally {
      sum.dispose();
    }
  }

  dispose(): void {
    disposeAll(this.#sum);
    this.#sum = null;
  }
}
