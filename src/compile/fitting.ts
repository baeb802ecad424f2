/** Programs of larger sizes that serve a call with padding: found, or made of two runs with other sizes. */
import { changedNodes } from "../autograd/tape.ts";
import { defaultDevice } from "../device.ts";
import { DxError } from "../errors.ts";
import { withJournal, type Journal } from "../journal.ts";
import { outsideScopes } from "../scope.ts";
import type { Tensor } from "../tensor.ts";
import { withTracer } from "../tracer.ts";
import { Ghosts, Given, mapTensors, tensorsIn } from "./arguments.ts";
import { standIns, type Dynamic, type Sizes } from "./dynamic.ts";
import { ENDINGS, Ending, effectsOf } from "./ending.ts";
import { layoutOf } from "./geometry.ts";
import { KINDS } from "./kinds.ts";
import { Step, renew } from "./log.ts";
import { pairPaths } from "./pairing.ts";
import type { Recordings } from "./recordings.ts";
import { Restart, Run, type Recorded } from "./trace.ts";
import { Variant, type Fit } from "./variant.ts";

/** A call that has run on traced tensors. */
export interface Call {
  readonly given: Given;
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
  readonly ghosts: Ghosts;
  readonly endings: Ending[];
  readonly variants: { readonly variant: Variant; readonly large: Ending; readonly base: Ending }[];
}

/** Why a call cannot be served by a program of larger sizes. */
function unfit(ending: Ending, given: Given, padded: Sizes["large"]): string | null {
  const isLeft = [...changedNodes()].some((node) => (node.hooks?.size ?? 0) > 0 || (node.retained?.size ?? 0) > 0);
  if (ending.hasCode || isLeft) return "hooks or rules of gradients in it: its sizes are not padded";
  const hasLayout = ([t, shape]: readonly [Tensor, readonly number[]]): boolean =>
    !given.direct[given.indexOf(t)] && layoutOf(t)?.covering(shape) != null;
  if (![...padded].every(hasLayout)) return "an argument that is a view: its sizes are not padded";
  return null;
}

export class Fitting {
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
  fit(ending: Ending, { given, args, isDirect, restarted, journal }: Call): void {
    if (ending.fitted !== undefined) return;
    ending.fitted = null;
    const sizes = this.#dynamic.sizesOf(args);
    if (sizes === null) return this.#recordings.note("sizes that are not padded");
    // Another run gets objects of its own.
    const carried = ending.outcome.changes.some((c) => tensorsIn(c.values).length > 0)
      ? "tensors that it puts into an argument's object"
      : null;
    // Other runs begin with what this one began with.
    journal.swap();
    let reason: string | null;
    try {
      reason = restarted ?? carried ?? unfit(ending, given, sizes.large) ?? this.#fitTo(ending, sizes, args, isDirect);
    } finally {
      journal.swap();
    }
    if (reason !== null) this.#recordings.noteUnfit(reason);
  }

  /** Says that a call has a program of its own, since there is none for several sizes. */
  refuse(ending: Ending, reason: string): void {
    ending.fitted = null;
    this.#recordings.noteUnfit(reason);
  }

  #fitTo(ending: Ending, { large, base }: Sizes, args: readonly unknown[], isDirect: (t: Tensor) => boolean): string | null {
    const stand = outsideScopes(() => standIns(large));
    const bucket = this.#bucketOf(args, stand, isDirect);
    for (const known of bucket.variants) {
      const fit = known.variant.fit(ending.source, ending.beginningsOf(known.large));
      if (typeof fit !== "string") return known.variant.refusal ?? this.#fitted(ending, known, fit);
    }
    const whole = this.#traced(bucket, args, stand, isDirect);
    if (typeof whole === "string") return whole;
    let small = ending;
    if (base !== null) {
      const other = outsideScopes(() => standIns(base));
      const shown = this.#traced(this.#bucketFor(args, other, isDirect), args, other, isDirect);
      if (typeof shown === "string") return shown;
      small = shown;
    }
    const pairing = pairPaths(whole.source.path, small.source.path, small.beginningsOf(whole));
    if (typeof pairing === "string") return `${pairing}, which depends on a size otherwise than by its shape`;
    const variant = new Variant(whole.source, pairing, whole.device ?? defaultDevice());
    const fit = variant.fit(ending.source, ending.beginningsOf(whole));
    if (typeof fit === "string") return `${fit}, which depends on a size otherwise than by its shape`;
    const known = { variant, large: whole, base: small };
    bucket.variants.push(known);
    this.#recordings.note(`sizes up to ${[...large.values()].map((shape) => `[${shape.join(", ")}]`).join(" and ")}`, true);
    return this.#fitted(ending, known, fit);
  }

  #fitted(ending: Ending, { variant, large, base }: Bucket["variants"][number], fit: Fit): null {
    ending.fitted = { variant, fit };
    ending.backwards.forEach((b, i) =>
      b.fitTo({
        larger: large.backwards[i]!,
        base: base.backwards[i]!,
        forward: fit.pairing,
        known: variant.pairing,
        refuse: (reason) => this.#recordings.noteUnfit(reason),
      }),
    );
    return null;
  }

  #bucketFor(args: readonly unknown[], stand: ReadonlyMap<Tensor, Tensor>, isDirect: (t: Tensor) => boolean): Bucket {
    const given = new Given(mapTensors(args, (t) => stand.get(t) ?? t) as unknown[], isDirect, "any");
    return { start: new Step(null, null), ghosts: new Ghosts(given, this.#recorded), endings: [], variants: [] };
  }

  #bucketOf(args: readonly unknown[], stand: ReadonlyMap<Tensor, Tensor>, isDirect: (t: Tensor) => boolean): Bucket {
    const { key } = new Given(mapTensors(args, (t) => stand.get(t) ?? t) as unknown[], isDirect, "any");
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = this.#bucketFor(args, stand, isDirect);
      const [oldest] = this.#buckets;
      if (this.#buckets.size >= KINDS && oldest !== undefined) this.#drop(oldest[0], oldest[1]);
    } else this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (bucket.variants.length >= ENDINGS) for (const { variant } of bucket.variants.splice(0)) variant.drop();
    return bucket;
  }

  #drop(key: string, bucket: Bucket): void {
    for (const { variant } of bucket.variants) variant.drop();
    this.#buckets.delete(key);
  }

  /** A run with tensors of other sizes, which leaves nothing behind; or why there is none. */
  #traced(bucket: Bucket, args: readonly unknown[], stand: ReadonlyMap<Tensor, Tensor>, isDirect: (t: Tensor) => boolean): Ending | string {
    const replaced = mapTensors(args, (t) => stand.get(t) ?? t) as unknown[];
    const given = new Given(replaced, isDirect, "any");
    const { ghosts, start, endings } = bucket;
    renew();
    ghosts.begin(given.tensors);
    const run = new Run(this.#recorded, start, ghosts, given.tensors);
    try {
      const inner = mapTensors(replaced, (t) => ghosts.tensors[given.indexOf(t)] ?? t) as never[];
      const result = withJournal(run.journal, () => outsideScopes(() => withTracer(run, () => this.#fn(...inner))));
      return withTracer(run, () => {
        const effects = effectsOf(run);
        for (const e of run.varied) e.varies = true;
        if (run.varied.size > 0) for (const { variant } of bucket.variants) variant.drop();
        const outcome = { result, changes: [] };
        const known = run.at.endings.find((e) => e.matches(outcome, effects, run.flows.continuations));
        if (known !== undefined) return known;
        const ending = new Ending(run, ghosts, outcome, effects);
        run.at.endings.push(ending);
        endings.push(ending);
        return ending;
      });
    } catch (error) {
      if (error instanceof Restart || error instanceof DxError) return `what it says with other sizes: ${error.message}`;
      throw error;
    } finally {
      run.undo();
      renew();
    }
  }
}
