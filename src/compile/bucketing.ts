/**
 * Bucketing: a call with dynamic sizes runs a program that was made for the sizes of its bucket, on padded arguments. Two traces with other sizes show
 * which axes, numbers and views depend on the sizes.
 */
import { changedNodes } from "../autograd/tape.ts";
import { defaultDevice } from "../core/device.ts";
import { DxError } from "../core/errors.ts";
import { withJournal, type Journal } from "../core/journal.ts";
import { outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { withTracer } from "../core/tracer.ts";
import { Placeholders, CallArguments, mapTensors, tensorsIn } from "./arguments.ts";
import { Restart } from "./argument-aliases.ts";
import { resizedTensors, type Dynamic, type Sizes } from "./dynamic.ts";
import { MAX_EXITS, TraceExit, effectsOf } from "./exit.ts";
import { layoutOf } from "./geometry.ts";
import { KINDS } from "./kinds.ts";
import { Step, renew } from "./log.ts";
import { matchTraces } from "./trace-matching.ts";
import type { Recordings } from "./recordings.ts";
import type { Recorded } from "./recorder.ts";
import { Run } from "./trace.ts";
import { Variant, type BucketMapping } from "./variant.ts";

/** A call that has run on traced tensors. */
export interface Call {
  readonly callArgs: CallArguments;
  readonly args: readonly unknown[];
  readonly isDirect: (t: Tensor) => boolean;
  /** Why arguments of it were passed as they are; null: none were. */
  readonly restarted: string | null;
  /** What it changed of the library's own state. */
  readonly journal: Journal;
}

/** The paths for one choice of larger sizes, and what was made of them. */
interface Bucket {
  readonly start: Step;
  readonly placeholders: Placeholders;
  readonly exits: TraceExit[];
  readonly variants: { readonly variant: Variant; readonly large: TraceExit; readonly base: TraceExit }[];
}

/** Why a call cannot be served by a program of larger sizes. */
function whyUnbucketed(exit: TraceExit, callArgs: CallArguments, padded: Sizes["large"]): string | null {
  const isLeft = [...changedNodes()].some((node) => (node.hooks?.size ?? 0) > 0 || (node.retained?.size ?? 0) > 0);
  if (exit.hasCode || isLeft) return "hooks or custom gradients in it: its sizes are not padded";
  const hasLayout = ([t, shape]: readonly [Tensor, readonly number[]]): boolean =>
    !callArgs.direct[callArgs.indexOf(t)] && layoutOf(t)?.covering(shape) != null;
  if (![...padded].every(hasLayout)) return "an argument that is a view: its sizes are not padded";
  return null;
}

export class Bucketing {
  readonly #fn: (...args: never[]) => unknown;
  readonly #recorded: Recorded;
  readonly #dynamic: Dynamic;
  readonly #recordings: Recordings;
  readonly #buckets = new Map<string, Bucket>();

  constructor(fn: (...args: never[]) => unknown, recorded: Recorded, dynamic: Dynamic, recordings: Recordings) {
    this.#fn = fn;
    this.#recorded = recorded;
    this.#dynamic = dynamic;
    this.#recordings = recordings;
  }

  get programs(): number {
    return [...this.#buckets.values()].reduce((n, b) => n + b.variants.filter((v) => v.variant.refusal === null).length, 0);
  }

  dispose(): void {
    for (const [key, bucket] of this.#buckets) this.#drop(key, bucket);
  }

  /** Finds or makes a program of larger sizes for a call; where there can be none, the call has its own. */
  resolve(exit: TraceExit, { callArgs, args, isDirect, restarted, journal }: Call): void {
    if (exit.bucketed !== undefined) return;
    exit.bucketed = null;
    const sizes = this.#dynamic.sizesOf(args);
    if (sizes === null) return this.#recordings.note("sizes that are not padded");
    // Another run gets objects of its own.
    const carried = exit.outcome.changes.some((c) => tensorsIn(c.values).length > 0)
      ? "tensors that it puts into an argument's object"
      : null;
    // Other runs begin with what this one began with.
    journal.swap();
    let reason: string | null;
    try {
      reason = restarted ?? carried ?? whyUnbucketed(exit, callArgs, sizes.large) ?? this.#resolveIn(exit, sizes, args, isDirect);
    } finally {
      journal.swap();
    }
    if (reason !== null) this.#recordings.noteUnbucketed(reason);
  }

  /** Says that a call has a program of its own, since there is none for several sizes. */
  refuse(exit: TraceExit, reason: string): void {
    exit.bucketed = null;
    this.#recordings.noteUnbucketed(reason);
  }

  #resolveIn(exit: TraceExit, { large, base }: Sizes, args: readonly unknown[], isDirect: (t: Tensor) => boolean): string | null {
    const stand = outsideScopes(() => resizedTensors(large));
    const bucket = this.#bucketOf(args, stand, isDirect);
    for (const known of bucket.variants) {
      const mapping = known.variant.match(exit.source, exit.initialPairs(known.large));
      if (typeof mapping !== "string") return known.variant.refusal ?? this.#use(exit, known, mapping);
    }
    const whole = this.#traced(bucket, args, stand, isDirect);
    if (typeof whole === "string") return whole;
    let small = exit;
    if (base !== null) {
      const other = outsideScopes(() => resizedTensors(base));
      const shown = this.#traced(this.#bucketFor(args, other, isDirect), args, other, isDirect);
      if (typeof shown === "string") return shown;
      small = shown;
    }
    const match = matchTraces(whole.source.path, small.source.path, small.initialPairs(whole));
    if (typeof match === "string") return `${match}, which depends on a size by more than its shape`;
    const variant = new Variant(whole.source, match, whole.device ?? defaultDevice());
    const mapping = variant.match(exit.source, exit.initialPairs(whole));
    if (typeof mapping === "string") return `${mapping}, which depends on a size by more than its shape`;
    const known = { variant, large: whole, base: small };
    bucket.variants.push(known);
    this.#recordings.note(`sizes up to ${[...large.values()].map((shape) => `[${shape.join(", ")}]`).join(" and ")}`, true);
    return this.#use(exit, known, mapping);
  }

  #use(exit: TraceExit, { variant, large, base }: Bucket["variants"][number], mapping: BucketMapping): null {
    exit.bucketed = { variant, mapping };
    exit.backwards.forEach((b, i) =>
      b.useLarger({
        larger: large.backwards[i]!,
        base: base.backwards[i]!,
        forward: mapping.match,
        known: variant.baseMatch,
        refuse: (reason) => this.#recordings.noteUnbucketed(reason),
      }),
    );
    return null;
  }

  #bucketFor(args: readonly unknown[], stand: ReadonlyMap<Tensor, Tensor>, isDirect: (t: Tensor) => boolean): Bucket {
    const callArgs = new CallArguments(mapTensors(args, (t) => stand.get(t) ?? t) as unknown[], isDirect, "any");
    return { start: new Step(null, null), placeholders: new Placeholders(callArgs, this.#recorded), exits: [], variants: [] };
  }

  #bucketOf(args: readonly unknown[], stand: ReadonlyMap<Tensor, Tensor>, isDirect: (t: Tensor) => boolean): Bucket {
    const { key } = new CallArguments(mapTensors(args, (t) => stand.get(t) ?? t) as unknown[], isDirect, "any");
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = this.#bucketFor(args, stand, isDirect);
      const [oldest] = this.#buckets;
      if (this.#buckets.size >= KINDS && oldest !== undefined) this.#drop(oldest[0], oldest[1]);
    } else this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (bucket.variants.length >= MAX_EXITS) for (const { variant } of bucket.variants.splice(0)) variant.drop();
    return bucket;
  }

  #drop(key: string, bucket: Bucket): void {
    for (const { variant } of bucket.variants) variant.drop();
    this.#buckets.delete(key);
  }

  /** A run with tensors of other sizes, which leaves nothing behind; or why there is none. */
  #traced(
    bucket: Bucket,
    args: readonly unknown[],
    stand: ReadonlyMap<Tensor, Tensor>,
    isDirect: (t: Tensor) => boolean,
  ): TraceExit | string {
    const replaced = mapTensors(args, (t) => stand.get(t) ?? t) as unknown[];
    const callArgs = new CallArguments(replaced, isDirect, "any");
    const { placeholders, start, exits } = bucket;
    renew();
    placeholders.begin(callArgs.tensors);
    const run = new Run(this.#recorded, start, placeholders, callArgs.tensors);
    try {
      const inner = mapTensors(replaced, (t) => placeholders.tensors[callArgs.indexOf(t)] ?? t) as never[];
      const result = withJournal(run.journal, () => outsideScopes(() => withTracer(run, () => this.#fn(...inner))));
      return withTracer(run, () => {
        const effects = effectsOf(run);
        for (const e of run.varied) e.varies = true;
        if (run.varied.size > 0) for (const { variant } of bucket.variants) variant.drop();
        const outcome = { result, changes: [] };
        const known = run.at.exits.find((e) => e.matches(outcome, effects, run.continuations));
        if (known !== undefined) return known;
        const exit = new TraceExit(run, placeholders, outcome, effects);
        run.at.addExit(exit);
        exits.push(exit);
        return exit;
      });
    } catch (error) {
      if (error instanceof Restart || error instanceof DxError) return `an error with other sizes: ${error.message}`;
      throw error;
    } finally {
      run.undo();
      renew();
    }
  }
}
