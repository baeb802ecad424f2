/** GradScaler: scales losses so that gradients in half precision neither vanish nor overflow. */
import { noGrad } from "../autograd/grad-mode.ts";
import { assign } from "../dispatch/dispatch.ts";
import { ValueError } from "../core/errors.ts";
import { changing } from "../core/journal.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { eq, ge, isnan, logicalAnd } from "../ops/elementwise/compare.ts";
import { item, itemSync, to, toDType } from "../ops/data/conversion.ts";
import { refuseTraced } from "../ops/index/nonzero.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { reciprocal } from "../ops/elementwise/unary.ts";
import { where } from "../ops/elementwise/where.ts";
import { keep, scope } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { effect, tracer } from "../core/tracer.ts";
import type { Device } from "../core/device.ts";
import { scalarBuffer } from "./clock.ts";
import { agreementsOf } from "./found-agreement.ts";
import { STEP_UNLESS, type Optimizer } from "./optimizer.ts";
import { withDefaults } from "./options.ts";

/** Options of gradScaler(). Reference: torch.amp.GradScaler. */
export interface GradScalerOptions {
  /** Default: 65536. */
  readonly initScale: number;
  /** By how much the scale grows after growthInterval steps without an infinite or NaN gradient. Default: 2. */
  readonly growthFactor: number;
  /** By how much it shrinks after one with such. Default: 0.5. */
  readonly backoffFactor: number;
  /** Default: 2000. */
  readonly growthInterval: number;
  /** false: nothing is scaled, and each step is taken. Default: true. */
  readonly enabled: boolean;
}

/** What GradScaler.stateDict() gives: plain numbers. */
export interface GradScalerState {
  /** The factor of losses. */
  readonly scale: number;
  /** By how much the scale grows. */
  readonly growthFactor: number;
  /** By how much it shrinks. */
  readonly backoffFactor: number;
  /** Steps without an infinite or NaN gradient until it grows. */
  readonly growthInterval: number;
  /** Such steps so far. */
  readonly growthTracker: number;
}

type Factors = readonly [growth: number | Tensor, backoff: number | Tensor, interval: number | Tensor];

/** What the scaler knows of an optimizer until update(). */
interface Seen {
  /** Above 0: a gradient was infinite or NaN. */
  readonly found: Tensor;
  readonly hasStepped: boolean;
}

/**
 * tensors * factor in place, and whether any element was infinite or NaN before: 1 or 0, float32, on the device. As PyTorch's
 * _amp_foreach_non_finite_check_and_unscale_.
 */
export function unscale(tensors: readonly Tensor[], factor: Tensor): Tensor {
  return noGrad(() =>
    scope(() => {
      // 0 times a finite number is 0, times any other NaN: one sum tells of all.
      const sums = tensors.map((t) => to(toDType(sum(mul(t, 0)), "float32"), factor.device));
      const found = sums.length === 0 ? mul(factor, 0) : toDType(isnan(sums.reduce((a, b) => add(a, b))), "float32");
      for (const t of tensors) t.mul_(toDType(to(factor, t.device), t.dtype === "float16" ? "float32" : t.dtype));
      return found;
    }),
  );
}

/** An optimizer of any options. */
type Stepping = Pick<Optimizer, typeof STEP_UNLESS>;

/**
 * The scale of losses in mixed precision. In a step: `scaler.scale(loss).backward()`, `await scaler.step(optimizer)` (which leaves the step
 * out where a gradient is infinite or NaN), `scaler.update()`. To clip gradients, call unscale(optimizer) before.
 *
 * scale(), unscale(), stepOnDevice() and update() compute on the device alone, also inside `compile`; step() reads one number back, stepSync() blocks
 * for it.
 * Reference: torch.amp.GradScaler.
 */
export class GradScaler {
  /** The options passed to the constructor. */
  readonly options: GradScalerOptions;
  #scale: Tensor | null = null;
  #tracker: Tensor | null = null;
  #starts: { readonly scale: number; readonly tracker: number };
  #seen: ReadonlyMap<Stepping, Seen> = new Map();
  /** Where compiled functions leave what they found: outlives a call, as state does. */
  readonly #foundFlags = new Map<Stepping, Tensor>();

  constructor(options: Partial<GradScalerOptions> = {}) {
    this.options = withDefaults({ initScale: 65536, growthFactor: 2, backoffFactor: 0.5, growthInterval: 2000, enabled: true }, options);
    const { initScale, growthFactor, backoffFactor, growthInterval } = this.options;
    if (!(initScale > 0 && Number.isFinite(initScale))) throw new ValueError("GradScaler", "initScale", "above 0", initScale);
    if (!(growthFactor > 1)) throw new ValueError("GradScaler", "growthFactor", "above 1", growthFactor);
    if (!(backoffFactor > 0 && backoffFactor < 1)) throw new ValueError("GradScaler", "backoffFactor", "between 0 and 1", backoffFactor);
    if (!Number.isInteger(growthInterval) || growthInterval < 1)
      throw new ValueError("GradScaler", "growthInterval", "an integer of at least 1", growthInterval);
    this.#starts = { scale: initScale, tracker: 0 };
  }

  /** A change of what the host keeps: part of every call of a compiled function, and taken back with one that fails. */
  #changing(run: () => void): void {
    effect(() => {
      changing(this, () => {
        const [starts, seen, options] = [this.#starts, this.#seen, { ...this.options }];
        const [scale, tracker] = [this.#scale, this.#tracker];
        return () => {
          [this.#starts, this.#seen, this.#scale, this.#tracker] = [starts, seen, scale, tracker];
          Object.assign(this.options, options);
        };
      });
      run();
    });
  }

  #note(key: Stepping, seen: Seen): void {
    this.#seen = new Map([...this.#seen, [key, seen]]);
  }

  #requireUnstepped(key: Stepping): void {
    if (this.#seen.has(key)) throw new ValueError("GradScaler.unscale", "optimizer", "one not yet unscaled since update()", "it was");
  }

  #at(device: Device): { scale: Tensor; tracker: Tensor } {
    if (this.#scale === null || this.#tracker === null)
      this.#changing(() => {
        this.#scale ??= scalarBuffer(device, this.#starts.scale);
        this.#tracker ??= scalarBuffer(device, this.#starts.tracker);
      });
    return { scale: this.#scale!, tracker: this.#tracker! };
  }

  /** A loss, or several, times the scale. */
  scale(outputs: Tensor): Tensor;
  scale(outputs: readonly Tensor[]): Tensor[];
  scale(outputs: Tensor | readonly Tensor[]): Tensor | Tensor[] {
    if (!(outputs instanceof Tensor)) return outputs.map((x) => this.scale(x));
    if (!this.options.enabled) return outputs;
    return mul(outputs, to(this.#at(outputs.device).scale, outputs.device));
  }

  /** The gradients of an optimizer's parameters over the scale, in place; once between two calls of update(). */
  unscale<O extends { lr: number }>(optimizer: Optimizer<O>): void {
    if (!this.options.enabled) return;
    this.#requireUnstepped(optimizer);
    const parameters = optimizer.paramGroups.flatMap((g) => g.params);
    const gradients = parameters.flatMap((p) => p.grad ?? []);
    const agreements = agreementsOf(parameters);
    if (gradients.length === 0 && agreements.size === 0)
      throw new ValueError("GradScaler.unscale", "optimizer", "one whose parameters have gradients", "none");
    const { scale } = this.#at((gradients[0] ?? parameters[0]!).device);
    const found = scope(() =>
      unscale(
        gradients,
        noGrad(() => reciprocal(scale)),
      ),
    );
    for (const agree of agreements) agree(found);
    const kept = tracer() === null ? keep(found) : this.#left(optimizer, found);
    this.#changing(() => {
      this.#requireUnstepped(optimizer);
      this.#note(optimizer, { found: kept, hasStepped: false });
    });
  }

  /** What a compiled function found, as step() and update() read it after the call. */
  #left(key: Stepping, found: Tensor): Tensor {
    let left = this.#foundFlags.get(key);
    if (left === undefined) this.#foundFlags.set(key, (left = scalarBuffer(found.device, 0)));
    const target = left;
    noGrad(() => assign("GradScaler.unscale", target, () => found));
    return target;
  }

  #unscaledState<O extends { lr: number }>(operation: string, optimizer: Optimizer<O>): Seen {
    refuseTraced(operation, null, "Inside a compiled function call stepOnDevice().");
    if (!this.#seen.has(optimizer)) this.unscale(optimizer);
    const seen = this.#seen.get(optimizer)!;
    if (seen.hasStepped) throw new ValueError(operation, "optimizer", "one that has taken no step since update()", "it has");
    return seen;
  }

  #stepped<O extends { lr: number }>(optimizer: Optimizer<O>, seen: Seen, found: number): boolean {
    this.#note(optimizer, { ...seen, hasStepped: true });
    if (found === 0) optimizer.step();
    return found === 0;
  }

  /** Unscales unless that was done, and lets the optimizer step unless a gradient was infinite or NaN. Whether it did. */
  async step<O extends { lr: number }>(optimizer: Optimizer<O>): Promise<boolean> {
    if (!this.options.enabled) return this.#always(optimizer);
    const seen = this.#unscaledState("GradScaler.step", optimizer);
    return this.#stepped(optimizer, seen, await item(seen.found));
  }

  /** step(), blocking until the device has looked. */
  stepSync<O extends { lr: number }>(optimizer: Optimizer<O>): boolean {
    if (!this.options.enabled) return this.#always(optimizer);
    const seen = this.#unscaledState("GradScaler.stepSync", optimizer);
    return this.#stepped(optimizer, seen, itemSync(seen.found));
  }

  /**
   * step() without reading anything back, also inside a compiled function: the device decides. Where a gradient is infinite or NaN, parameters,
   * state and counters keep their values; nothing is recorded again. Unscales unless that was done.
   */
  stepOnDevice<O extends { lr: number }>(optimizer: Optimizer<O>): void {
    if (!this.options.enabled) {
      optimizer.step();
      return;
    }
    if (!this.#seen.has(optimizer)) this.unscale(optimizer);
    const seen = this.#seen.get(optimizer)!;
    if (seen.hasStepped)
      throw new ValueError("GradScaler.stepOnDevice", "optimizer", "one that has taken no step since update()", "it has");
    this.#changing(() => {
      this.#note(optimizer, { ...seen, hasStepped: true });
    });
    optimizer[STEP_UNLESS](seen.found);
  }

  #always<O extends { lr: number }>(optimizer: Optimizer<O>): true {
    optimizer.step();
    return true;
  }

  /**
   * The scale of the next step: smaller where a gradient was infinite or NaN, larger after growthInterval steps without such (PyTorch's
   * _amp_update_scale_); or the given one.
   */
  update(newScale?: number): void {
    if (!this.options.enabled) return;
    if (newScale !== undefined) {
      if (!(newScale > 0 && Number.isFinite(newScale))) throw new ValueError("GradScaler.update", "newScale", "above 0", newScale);
      this.#setState({ scale: newScale, tracker: this.#tracker === null ? this.#starts.tracker : null });
      this.#forget();
      return;
    }
    const founds = [...this.#seen.values()].map((s) => s.found);
    if (founds.length === 0) throw new ValueError("GradScaler.update", "optimizers", "unscaled or stepped since the last update()", "none");
    const { scale, tracker } = this.#at(founds[0]!.device);
    const [growthFactor, backoffFactor, growthInterval] = this.#factors(scale.device);
    noGrad(() => {
      scope(() => {
        const isFinite = eq(
          founds.map((f) => to(f, scale.device)).reduce((a, b) => add(a, b)),
          0,
        );
        const after = add(tracker, 1);
        const isDue = logicalAnd(isFinite, ge(after, growthInterval));
        const grown = mul(scale, growthFactor);
        // A scale that would overflow stays, as in PyTorch.
        const larger = where(eq(mul(grown, 0), 0), grown, scale);
        const next = where(isFinite, where(isDue, larger, scale), mul(scale, backoffFactor));
        const count = where(logicalAnd(isFinite, eq(toDType(isDue, "float32"), 0)), after, 0);
        assign("GradScaler.update", scale, () => next);
        assign("GradScaler.update", tracker, () => count);
      });
    });
    this.#forget();
  }

  /** growthFactor, backoffFactor and growthInterval; in a compiled function inputs, which each call reads. */
  #factors(device: Device): Factors {
    const read = (): Factors & readonly number[] => [this.options.growthFactor, this.options.backoffFactor, this.options.growthInterval];
    return (tracer()?.held(this, device, read) as Factors | undefined) ?? read();
  }

  #setState({ scale, tracker }: { readonly scale: number; readonly tracker: number | null }): void {
    if (this.#scale === null)
      this.#changing(() => {
        this.#starts = { scale, tracker: tracker ?? this.#starts.tracker };
      });
    else {
      noGrad(() => this.#scale!.fill_(scale));
      if (tracker !== null) noGrad(() => this.#tracker!.fill_(tracker));
    }
  }

  #forget(): void {
    const kept = new Set(this.#foundFlags.values());
    // Those of a compiled function are freed by it, and those that it may have to give back stay.
    if (tracer() === null) for (const { found } of this.#seen.values()) if (!kept.has(found)) found.dispose();
    this.#changing(() => {
      this.#seen = new Map();
    });
  }

  /** The scale; 1 where the scaler is not enabled. Reads it back. */
  async getScale(): Promise<number> {
    return this.options.enabled ? (this.#scale === null ? this.#starts.scale : await item(this.#scale)) : 1;
  }

  /** getScale(), blocking. */
  getScaleSync(): number {
    return this.options.enabled ? (this.#scale === null ? this.#starts.scale : itemSync(this.#scale)) : 1;
  }

  /** The scale and the number of steps since it changed, read back, with the options that rule them. */
  stateDict(): GradScalerState {
    const { growthFactor, backoffFactor, growthInterval } = this.options;
    const growthTracker = this.#tracker === null ? this.#starts.tracker : itemSync(this.#tracker);
    return { scale: this.getScaleSync(), growthFactor, backoffFactor, growthInterval, growthTracker };
  }

  /** Takes over what stateDict() gave. */
  loadStateDict(state: GradScalerState): void {
    if (!(state.scale > 0)) throw new ValueError("GradScaler.loadStateDict", "scale", "above 0", state.scale);
    const { scale, growthTracker, growthFactor, backoffFactor, growthInterval } = state;
    this.#changing(() => Object.assign(this.options, { growthFactor, backoffFactor, growthInterval }));
    this.#setState({ scale, tracker: growthTracker });
  }

  /** Frees the scale on the device. */
  dispose(): void {
    this.#forget();
    for (const t of [this.#scale, this.#tracker, ...this.#foundFlags.values()]) t?.dispose();
    this.#foundFlags.clear();
    this.#scale = this.#tracker = null;
  }
}

export const gradScaler = (options: Partial<GradScalerOptions> = {}): GradScaler => new GradScaler(options);
