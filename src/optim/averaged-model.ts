/** Averages of a model's weights over its training: EMA and SWA. */
import { noGrad } from "../autograd/grad-mode.ts";
import type { DeviceLike } from "../core/device.ts";
import { isFloat } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { outsideScopes, scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { assign } from "../dispatch/dispatch.ts";
import { INNER } from "../nn/inner.ts";
import { Module } from "../nn/module.ts";
import { BatchNorm1d, BatchNorm2d, BatchNorm3d } from "../nn/norm.ts";
import { zeros } from "../ops/creation/creation.ts";
import { to, toDType } from "../ops/data/conversion.ts";
import { copyInto } from "../ops/data/copy.ts";
import { add, div, mul, sub } from "../ops/elementwise/binary.ts";
import { eq } from "../ops/elementwise/compare.ts";
import { where } from "../ops/elementwise/where.ts";

/** An average with one more value. numAveraged: how many are in it, int64 of one element. */
export type AvgFn = (averaged: Tensor, current: Tensor, numAveraged: Tensor) => Tensor;

/** The same for all parameters, in place. */
export type MultiAvgFn = (averaged: readonly Tensor[], current: readonly Tensor[], numAveraged: Tensor) => void;

/** Options of averagedModel(). Reference: torch.optim.swa_utils.AveragedModel. */
export interface AveragedModelOptions {
  /** How one more value enters an average. Default: the mean of all, getSwaAvgFn(). */
  readonly avgFn?: AvgFn | undefined;
  /** The same for all parameters at once, which goes before avgFn. */
  readonly multiAvgFn?: MultiAvgFn | undefined;
  /** Whether buffers are averaged too; otherwise they are copied. Default: false. */
  readonly useBuffers?: boolean | undefined;
}

function requireDecay(operation: string, decay: number): void {
  if (!(decay >= 0 && decay <= 1)) throw new ValueError(operation, "decay", "in [0, 1]", decay);
}

/** Numbers for a tensor's dtype; those of integers are computed in float32. */
const floatOf = (t: Tensor): Tensor => (isFloat(t.dtype) ? t : toDType(t, "float32"));

/** averaged + (current - averaged) * weight, exact where both are equal. */
const lerped = (averaged: Tensor, current: Tensor, weight: number | Tensor): Tensor => {
  const [a, c] = [floatOf(averaged), floatOf(current)];
  return add(a, mul(sub(c, a), typeof weight === "number" ? weight : toDType(weight, a.dtype)));
};

/** decay * averaged + (1 - decay) * current. Throws ValueError for a decay outside of [0, 1]. Reference: torch.optim.swa_utils.get_ema_avg_fn. */
export function getEmaAvgFn(decay = 0.999): AvgFn {
  requireDecay("getEmaAvgFn", decay);
  return (averaged, current) => lerped(averaged, current, 1 - decay);
}

/** getEmaAvgFn() for all parameters, in place. Reference: torch.optim.swa_utils.get_ema_multi_avg_fn. */
export function getEmaMultiAvgFn(decay = 0.999): MultiAvgFn {
  requireDecay("getEmaMultiAvgFn", decay);
  return inPlace(getEmaAvgFn(decay));
}

/** The mean of all values so far: averaged + (current - averaged) / (numAveraged + 1). Reference: torch.optim.swa_utils.get_swa_avg_fn. */
export function getSwaAvgFn(): AvgFn {
  return (averaged, current, numAveraged) =>
    lerped(averaged, current, div(1, add(toDType(to(numAveraged, averaged.device), "float32"), 1)));
}

/** getSwaAvgFn() for all parameters, in place. Reference: torch.optim.swa_utils.get_swa_multi_avg_fn. */
export const getSwaMultiAvgFn = (): MultiAvgFn => inPlace(getSwaAvgFn());

const inPlace =
  (fn: AvgFn): MultiAvgFn =>
  (averaged, current, numAveraged) => {
    averaged.forEach((a, i) => {
      copyInto("averagedModel", a, fn(a, current[i]!, numAveraged));
    });
  };

/**
 * A copy of a model whose parameters are averages of the model's: called, it runs the copy. `module` is the copy, `n_averaged` (int64, part of the state) the
 * number of updates. The first update copies. Nothing is read back, so updateParameters() may be called in a compiled function. Reference:
 * torch.optim.swa_utils.AveragedModel.
 */
export class AveragedModel<M extends Module = Module> extends Module {
  /** The copy, with the averages. */
  readonly module: M;
  /** Number of updates, int64 of one element. */
  declare readonly n_averaged: Tensor;
  /** @internal */ readonly [INNER]: { readonly average: MultiAvgFn; readonly usesBuffers: boolean };

  constructor(model: M, { avgFn, multiAvgFn, useBuffers = false }: AveragedModelOptions = {}) {
    super();
    this.module = model.clone();
    const [first] = [...model.parameters(), ...model.buffers()];
    this.registerBuffer(
      "n_averaged",
      outsideScopes(() => zeros([], { dtype: "int64", device: first?.device })),
    );
    this[INNER] = { average: multiAvgFn ?? inPlace(avgFn ?? getSwaAvgFn()), usesBuffers: useBuffers };
  }

  override forward(...inputs: Parameters<M["forward"]>): ReturnType<M["forward"]> {
    return (this.module as unknown as (...values: unknown[]) => ReturnType<M["forward"]>)(...(inputs as unknown[]));
  }

  /** Takes the model's present parameters into the averages. Throws ValueError for a model with other parameters or buffers. */
  updateParameters(model: Module): void {
    const own = [this.module.parameters() as Tensor[], this.module.buffers()] as const;
    const theirs = [model.parameters() as Tensor[], model.buffers()] as const;
    for (const i of [0, 1] as const)
      if (own[i].length !== theirs[i].length)
        throw new ValueError("updateParameters", "model", `with ${own[i].length} ${i === 0 ? "parameters" : "buffers"}`, theirs[i].length);
    const averaged = this[INNER].usesBuffers ? [...own[0], ...own[1]] : own[0];
    const current = this[INNER].usesBuffers ? [...theirs[0], ...theirs[1]] : theirs[0];
    noGrad(() => {
      scope(() => {
        const now = current.map((t, i) => to(t.detach(), averaged[i]!.device));
        const isFirst = eq(this.n_averaged, 0);
        averaged.forEach((a, i) => {
          copyInto("updateParameters", a, where(to(isFirst, a.device), now[i]!, a));
        });
        // The average of equal values is the value: the first update copies.
        this[INNER].average(averaged, now, this.n_averaged);
        if (!this[INNER].usesBuffers)
          own[1].forEach((b, i) => {
            copyInto("updateParameters", b, theirs[1][i]!);
          });
        assign("updateParameters", this.n_averaged, () => add(this.n_averaged, 1));
      });
    });
  }
}

export const averagedModel = <M extends Module>(model: M, options: AveragedModelOptions = {}): AveragedModel<M> =>
  new AveragedModel(model, options);

/**
 * Sets the running statistics of a model's BatchNorm layers to the average over all batches of a loader, by running the model on each without gradients. A batch is a
 * tensor, or a list whose first element is one. Modes and momenta are as before afterwards. Reference: torch.optim.swa_utils.update_bn.
 */
export async function updateBn(
  loader: Iterable<unknown> | AsyncIterable<unknown>,
  model: Module,
  {
    device,
  }: {
    /** Where the batches are moved. Default: they stay where they are. */
    readonly device?: DeviceLike | undefined;
  } = {},
): Promise<void> {
  const layers = model.modules().filter((m) => m instanceof BatchNorm1d || m instanceof BatchNorm2d || m instanceof BatchNorm3d);
  if (layers.length === 0) return;
  const wasTraining = model.modules().map((m) => [m, m.training] as const);
  const momenta = layers.map((m) => [m as { momentum: number | null }, m.momentum] as const);
  noGrad(() => {
    for (const m of layers) {
      m.runningMean?.zero_();
      m.runningVariance?.fill_(1);
      m.batchesTracked?.zero_();
    }
  });
  model.train();
  for (const [m] of momenta) m.momentum = null;
  try {
    for await (const batch of loader) {
      const x = (Array.isArray(batch) ? batch[0] : batch) as Tensor;
      noGrad(() => {
        scope(() => void (model as unknown as (x: Tensor) => unknown)(device === undefined ? x : to(x, device)));
      });
    }
  } finally {
    for (const [m, momentum] of momenta) m.momentum = momentum;
    for (const [m, mode] of wasTraining) if (m.training !== mode) m.training = mode;
  }
}
