/** Metric: a value over all batches so far, whose state is buffers on a device. */
import { inferenceMode, noGrad } from "../autograd/grad-mode.ts";
import { device as deviceOf, type DeviceLike } from "../core/device.ts";
import { isDType, isFloat, type DType } from "../core/dtype.ts";
import { DTypeError, ValueError } from "../core/errors.ts";
import { keep, outsideScopes, scope } from "../core/scope.ts";
import type { Shape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { assign, requireSameDevice } from "../dispatch/dispatch.ts";
import { INNER, KEEPS_DTYPES } from "../nn/inner.ts";
import { Module } from "../nn/module.ts";
import { full, tensor } from "../ops/creation/creation.ts";
import { data, to, toDType } from "../ops/data/conversion.ts";
import { clone as cloneTensor } from "../ops/data/state.ts";
import { cat } from "../ops/shape/join.ts";
import { refuseTraced } from "../ops/index/nonzero.ts";
import { requireNoProblems, type Problems } from "./problems.ts";

/** Where the state of a metric lies. */
export interface MetricOptions {
  /** The device of the state, on which the inputs have to be. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** A tensor of the state. @package */
export interface StateTensor {
  readonly name: string;
  readonly shape: Shape;
  readonly dtype: DType;
  /** The value of all elements before the first batch. Default: 0. */
  readonly initial?: number;
  /** Each batch adds rows along axis 0, of which shape has none. */
  readonly grows?: boolean;
}

/** What a metric is: the states of two sets of samples combine to the state of both. @package */
export interface Rule<R> {
  /** The name in errors. */
  readonly operation: string;
  /** Metrics with equal settings can be merged. */
  readonly settings: string;
  /** Those that grow come last. */
  readonly states: readonly StateTensor[];
  /** For the states that do not grow. */
  combine(a: readonly Tensor[], b: readonly Tensor[]): readonly Tensor[];
  /** The value, of the states' elements in row-major order. */
  result(states: readonly ArrayLike<number>[]): R;
  /** What the state "problems" counts, if there is one. */
  readonly problems?: Problems;
  /** Numbers that update() needs on the device. */
  readonly constant?: { readonly name: string; readonly values: Float32Array };
}

/** Runs fn without recording; its tensors are ordinary ones in inferenceMode() too, since later batches change the state. */
const unrecorded = <T>(fn: () => T): T => inferenceMode(() => noGrad(fn), { enabled: false });

/** The key of the batches that the buffers of growing states do not contain yet: a list for each of these states. */
const PENDING: unique symbol = Symbol("dxtensor.pending");

/**
 * A value over all batches since the last reset(). Its state is buffers of a module: stateDict(), loadStateDict(), clone(), to() and dx.save() work as for
 * other modules. update() does not wait for the device, and may be called inside a compiled function. No gradient goes through it, and
 * a cast of the model around it leaves its dtypes. Called like a function, a metric takes a batch into its state and gives the value of this batch
 * alone. Reference: torchmetrics.Metric.
 */
export abstract class Metric<R = number> extends Module {
  /** @internal */ readonly [INNER]: Rule<R>;
  /** @internal */ readonly [PENDING]: Tensor[][];

  /** @internal */
  constructor(rule: Rule<R>, { device }: MetricOptions) {
    super();
    this[INNER] = rule;
    const growing = rule.states.filter((s) => s.grows === true);
    this[PENDING] = growing.map(() => []);
    const makeBuffers = (): void => {
      for (const { name, shape, dtype, initial = 0 } of rule.states) this.registerBuffer(name, full(shape, initial, { dtype, device }));
      const { constant } = rule;
      if (constant !== undefined) this.registerBuffer(constant.name, tensor(constant.values, { device }), { persistent: false });
    };
    unrecorded(() => outsideScopes(makeBuffers));
    if (growing.length > 0)
      this.registerLoadStateDictPreHook((metric, state, prefix) => {
        for (const { name } of growing) metric.resize(name, state[`${prefix}${name}`]);
      });
  }

  /** @internal A cast of the model around leaves the state as it is: sums in float16 would be useless. */
  override get [KEEPS_DTYPES](): boolean {
    return true;
  }

  /** Takes a batch into the state. */
  abstract update(...inputs: readonly unknown[]): void;

  /** @internal The tensor of a state. */
  bufferOf(name: string): Tensor {
    return (this as unknown as Readonly<Record<string, Tensor>>)[name]!;
  }

  /** @internal The tensors of the state. */
  held(): readonly Tensor[] {
    this.settle();
    return this[INNER].states.map(({ name }) => this.bufferOf(name));
  }

  /** @internal The state is that of its samples and the batch's. */
  absorb(batch: readonly Tensor[]): void {
    const { operation, combine, states } = this[INNER];
    const count = states.length - this[PENDING].length;
    if (this[PENDING].length > 0) refuseTraced(operation, null, "Pass thresholds: the state has a fixed size then.");
    const held = states.slice(0, count).map(({ name }) => this.bufferOf(name));
    const next = combine(held, batch.slice(0, count));
    held.forEach((t, i) => {
      assign(operation, t, () => toDType(next[i]!, t.dtype));
    });
    this[PENDING].forEach((parts, i) => {
      // A copy: the batch may be what the caller holds, and writes to later.
      parts.push(keep(cloneTensor(toDType(batch[count + i]!, states[count + i]!.dtype))));
      // Joined to parts of about their own length, few parts are left, and each row is copied a logarithmic number of times.
      while (parts.length > 1 && parts.at(-1)!.shape[0]! >= parts.at(-2)!.shape[0]!) {
        const last = parts.splice(-2);
        parts.push(keep(cat(last)));
        for (const t of last) t.dispose();
      }
    });
  }

  /** @internal Appends the pending batches to the buffers. */
  settle(): void {
    const parts = this[PENDING];
    if (parts.length === 0 || parts[0]!.length === 0) return;
    const growing = this[INNER].states.filter((s) => s.grows === true);
    unrecorded(() =>
      outsideScopes(() => {
        growing.forEach(({ name }, i) => {
          const before = this.bufferOf(name);
          const joined = cat([before, ...parts[i]!]);
          (this as unknown as Record<string, Tensor>)[name] = joined;
          for (const t of [before, ...parts[i]!.splice(0)]) t.dispose();
        });
      }),
    );
  }

  /** @internal A growing buffer takes the shape of the state that is loaded. */
  resize(name: string, like: Tensor | undefined): void {
    this.settle();
    const before = this.bufferOf(name);
    const isRows = like?.rank === before.rank && before.shape.slice(1).every((d, i) => d === like.shape[i + 1]);
    if (!isRows || like.shape[0] === before.shape[0]) return;
    const resized = unrecorded(() => outsideScopes(() => full(like.shape, 0, { dtype: before.dtype, device: before.device })));
    (this as unknown as Record<string, Tensor>)[name] = resized;
    before.dispose();
  }

  /** @internal Who looks at the tensors sees all batches. */
  override *members(): ReturnType<Module["members"]> {
    this.settle();
    yield* super.members();
  }

  /** The modules inside: this one. */
  override *namedModules(prefix?: string, seen?: Set<Module>): Generator<[string, Module]> {
    this.settle();
    yield* super.namedModules(prefix, seen);
  }

  /** @internal The batch's state, null for no samples; checked. */
  protected batchStates(inputs: readonly unknown[], batch: () => readonly Tensor[] | null): readonly Tensor[] | null {
    const tensors = inputs.filter((x) => x instanceof Tensor);
    requireSameDevice(this[INNER].operation, [this.bufferOf(this[INNER].states[0]!.name), ...tensors]);
    return batch();
  }

  /** @internal update(): `batch` makes the batch's state. */
  protected take(inputs: readonly unknown[], batch: () => readonly Tensor[] | null): void {
    unrecorded(() => {
      scope(() => {
        const states = this.batchStates(inputs, batch);
        if (states !== null) this.absorb(states);
      });
    });
  }

  /** @internal forward(): update(), and the value of the batch. */
  protected takeAndRead(inputs: readonly unknown[], batch: () => readonly Tensor[] | null): Promise<R> {
    return unrecorded(() =>
      scope(() => {
        const states = this.batchStates(inputs, batch);
        if (states === null)
          return Promise.resolve(
            this.resultOf(this[INNER].states.map((s) => new Float64Array(s.shape.reduce((a, b) => a * b, 1)).fill(s.initial ?? 0))),
          );
        this.absorb(states);
        return this.read(states);
      }),
    );
  }

  /** @internal The value of states that are read. */
  protected async read(states: readonly Tensor[]): Promise<R> {
    // All reads begin before the first ends: later batches are in none of them.
    const read = await Promise.all(states.map((t) => data(t)));
    return this.resultOf(
      read.map((values) => (values instanceof BigInt64Array ? Float64Array.from(values, Number) : (values as Float32Array))),
    );
  }

  /** @internal The value of states; throws for samples that are no samples. */
  protected resultOf(states: readonly ArrayLike<number>[]): R {
    const { operation, problems, result, states: names } = this[INNER];
    if (problems !== undefined) requireNoProblems(operation, problems, states[names.findIndex((s) => s.name === "problems")]!);
    return result(states);
  }

  /**
   * The value over all batches since the last reset(), read from the device: in float64, of the exact counts. NaN where there was no sample, and where a
   * prediction was NaN. Rejects with ValueError where a batch had targets or predictions out of range, which update() cannot know without waiting.
   */
  compute(): Promise<R> {
    return this.read(this.held());
  }

  /** Forgets all batches. */
  reset(): void {
    unrecorded(() => {
      scope(() => {
        for (const t of this[PENDING].flatMap((parts) => parts.splice(0))) t.dispose();
        for (const { name, shape, dtype, initial = 0, grows } of this[INNER].states) {
          const t = this.bufferOf(name);
          const value = (): Tensor => full(shape, initial, { dtype, device: t.device });
          if (grows !== true) assign("reset", t, value);
          else if (t.size > 0) {
            (this as unknown as Record<string, Tensor>)[name] = value();
            t.dispose();
          }
        }
      });
    });
  }

  /**
   * Takes the samples of another metric, such as a worker's; that one's state stays, and may lie on another device. Throws ValueError for a metric of another
   * kind or with other options. Reference: torchmetrics.Metric.merge_state.
   */
  merge(other: Metric<R>): void {
    const { operation, settings } = this[INNER];
    if (!(other instanceof Metric)) throw new DTypeError("merge", "other", "a metric", other);
    const theirs = other[INNER];
    if (theirs.operation !== operation || theirs.settings !== settings)
      throw new ValueError("merge", "other", `${operation}(${settings})`, `${theirs.operation}(${theirs.settings})`);
    unrecorded(() => {
      scope(() => {
        const held = other.held();
        const { device } = this.held()[0]!;
        this.absorb(held.map((t) => to(t, device)));
      });
    });
  }

  /** Moves the state to a device. Dtypes stay, whatever is passed. Returns the metric. Reference: torchmetrics.Metric.to. */
  override to(target: DeviceLike | DType): this {
    if (isDType(target) && isFloat(target)) return this;
    return super.to(isDType(target) ? target : deviceOf(target));
  }

  protected override describeOptions(): string {
    const { operation, settings } = this[INNER];
    return settings === "" ? operation : `${operation}, ${settings}`;
  }
}

/** A rule for predictions and targets. @package */
export interface PairRule<R> extends Rule<R> {
  /** The state of a batch, null without samples. */
  batch(prediction: Tensor, target: Tensor, constant: Tensor | null): readonly Tensor[] | null;
}

/** A metric that compares predictions with targets. */
export class PredictionMetric<R = number> extends Metric<R> {
  /** @internal */ declare readonly [INNER]: PairRule<R>;

  /** @internal */
  // oxlint-disable-next-line no-useless-constructor -- it requires a rule with batch()
  constructor(rule: PairRule<R>, options: MetricOptions) {
    super(rule, options);
  }

  /** @internal */
  protected override batchStates(
    [prediction, target]: readonly unknown[],
    batch: () => readonly Tensor[] | null,
  ): readonly Tensor[] | null {
    const { operation } = this[INNER];
    for (const [name, value] of [
      ["prediction", prediction],
      ["target", target],
    ] as const)
      // prettier-ignore
      if (!(value instanceof Tensor)) throw new DTypeError(operation, name, "a tensor", value);
    return super.batchStates([prediction, target], batch);
  }

  /** @internal */
  protected batchOf(prediction: Tensor, target: Tensor): readonly Tensor[] | null {
    const { constant, batch } = this[INNER];
    return batch(prediction, target, constant === undefined ? null : this.bufferOf(constant.name));
  }

  /** Takes a batch into the state, without waiting for the device. Shapes and dtypes: those of the function that made the metric. */
  override update(prediction: Tensor, target: Tensor): void {
    this.take([prediction, target], () => this.batchOf(prediction, target));
  }

  /** Takes a batch into the state. Result: the value of this batch alone. */
  override forward(prediction: Tensor, target: Tensor): Promise<R> {
    return this.takeAndRead([prediction, target], () => this.batchOf(prediction, target));
  }
}

/** Settings as text, to compare and to show. @package */
export const settingsOf = (settings: Readonly<Record<string, unknown>>): string =>
  Object.entries(settings)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? `[${value.join(", ")}]` : String(value)}`)
    .join(", ");
