/**
 * One call of vmap(): a tensor of the level has the shape, strides and history of one sample, and a batched value whose first axis is the batch.
 * Operations on these run on the values, at the level below, by the rule of their definition.
 */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { record } from "../autograd/record.ts";
import { batching, withBatching, type Batching } from "../core/batching.ts";
import type { Definition, ViewDefinition } from "../core/definition.ts";
import { DTYPES } from "../core/dtype.ts";
import { TraceError, UnsupportedError, ValueError } from "../core/errors.ts";
import { outsideScopes, scope } from "../core/scope.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer, withTracer } from "../core/tracer.ts";
import { assign, dispatch, view } from "../dispatch/dispatch.ts";
import { expand, reshape } from "../ops/shape/movement.ts";
import { batched } from "./rules.ts";

/** What operations that draw random numbers do in vmap(). */
export type Randomness = "error" | "same" | "different";

/** The batched value of the tensors of a storage. */
class Batch {
  readonly level: BatchLevel;
  readonly isBatched: boolean;
  /** By description and offset: for tensors that autograd makes again. */
  readonly values = new Map<string, Tensor>();

  constructor(level: BatchLevel, isBatched: boolean) {
    this.level = level;
    this.isBatched = isBatched;
  }
}

const batchOf = ({ storage: { trace } }: Tensor): Batch | null => (trace instanceof Batch ? trace : null);
const keyOf = ({ desc, offset }: Tensor): string => `${desc.id},${offset}`;

export class BatchLevel implements Batching {
  readonly #size: number;
  readonly #randomness: Randomness;
  readonly #outer = batching();
  readonly #tracer = tracer();
  readonly #values = new WeakMap<Tensor, Tensor>();
  /** Values that the level has made. */
  readonly #made = new Set<Tensor>();
  #isOver = false;

  constructor(size: number, randomness: Randomness) {
    this.#size = size;
    this.#randomness = randomness;
  }

  /** Runs fn in this level. `end` gives the results in terms of the level below; what else the level has made is disposed of. */
  run<R>(fn: () => unknown, end: (result: unknown) => R, kept: (result: R) => Iterable<Tensor>): R {
    let ended: R | undefined;
    try {
      const result = withTracer(null, () => withBatching(this, fn));
      ended = end(result);
      return ended;
    } finally {
      this.#isOver = true;
      const returned = new Set(ended === undefined ? [] : kept(ended));
      for (const t of this.#made) if (!returned.has(t)) t.dispose();
    }
  }

  below<T>(fn: () => T): T {
    return withTracer(this.#tracer, () => withBatching(this.#outer, fn));
  }

  owns(t: Tensor): boolean {
    const batch = batchOf(t);
    if (batch === null) return false;
    if (batch.level.#isOver)
      throw new TraceError({
        operation: "vmap",
        argument: t.describe(),
        expected: "a tensor of this call",
        received: "one that was made inside another vmap() and kept",
        hint: "Return it from the function.",
      });
    return batch.level === this;
  }

  isBatched(t: Tensor): boolean {
    return this.owns(t) && batchOf(t)!.isBatched;
  }

  valueOf(t: Tensor): Tensor {
    return this.owns(t) ? (this.#values.get(t) ?? batchOf(t)!.values.get(keyOf(t))!) : t;
  }

  /** A tensor of this level with this batched value. */
  lift(value: Tensor, isBatched: boolean): Tensor {
    const { device, dtype } = value;
    const from = isBatched ? 1 : 0;
    const desc = internDesc(device, dtype, value.shape.slice(from), value.strides.slice(from));
    const storage = new Storage(device, desc.extent * DTYPES[dtype].sizeInBytes);
    storage.trace = new Batch(this, isBatched);
    return this.#register(new Tensor(storage, desc), value);
  }

  leaf(t: Tensor): Tensor {
    if (!this.owns(t)) return this.lift(t, false);
    return this.lift(this.valueOf(t), batchOf(t)!.isBatched);
  }

  #register(t: Tensor, value: Tensor): Tensor {
    const { values } = batchOf(t)!;
    this.#values.set(t, value);
    const key = keyOf(t);
    if (!values.has(key)) values.set(key, value);
    return t;
  }

  dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[] {
    for (const t of inputs) t.requireLive(definition.name);
    const draws = definition.traits.random === true;
    if (draws && this.#randomness === "error") refuseRandom(definition.name);
    const differs = draws && this.#randomness === "different";
    const own = inputs.some((t) => this.owns(t));
    if (!own && !differs) return this.below(() => dispatch(definition, inputs, attrs));
    const isBatched = inputs.map((t) => this.isBatched(t));
    const values = inputs.map((t) => this.valueOf(t));
    const shared = new Set<Tensor>();
    const outputs = this.below(() =>
      outsideScopes(() =>
        isBatched.includes(true) || differs
          ? scope(() => batched(definition, values, isBatched, attrs, this.#size, shared))
          : dispatch(definition, values, attrs),
      ),
    );
    const hasBatch = isBatched.includes(true) || differs;
    const results = outputs.map((value) => {
      if (!own && shared.has(value)) return value;
      if (!values.includes(value)) this.#made.add(value);
      return this.lift(value, hasBatch && !shared.has(value));
    });
    if (isGradEnabled() && inputs.some((t) => this.owns(t) && t.requiresGrad))
      record(
        definition,
        inputs.map((t) => (this.owns(t) ? t : this.lift(t, false))),
        attrs,
        results,
      );
    return results;
  }

  view<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A, make: () => Tensor, show?: (value: Tensor) => Tensor): Tensor {
    const own = this.owns(input);
    const value = this.valueOf(input);
    const seen = this.isBatched(input) ? viewOfBatch(definition) : definition;
    const shown = this.below(() => {
      const of = (): Tensor => show?.(value) ?? view(seen, value, attrs);
      return own ? outsideScopes(of) : of();
    });
    if (!own) return shown;
    this.#made.add(shown);
    return this.#register(make(), shown);
  }

  write(operation: string, target: Tensor, value: Tensor): void {
    if (this.isBatched(value) && !this.isBatched(target)) refuseWrite(operation, target);
    const to = this.valueOf(target);
    const from = this.valueOf(value);
    const full = this.isBatched(value) || !this.isBatched(target) ? from : null;
    // Another view: the value's own buffer stays its own.
    this.below(() => void assign(operation, to, () => (full === null ? expand(from, to.shape) : reshape(full, to.shape))));
  }

  writeOutside(operation: string, compute: () => Tensor, assignTo: (value: Tensor) => void): void {
    const value = compute();
    if (this.isBatched(value)) refuseWrite(operation, value);
    const from = this.valueOf(value);
    this.below(() => {
      assignTo(from === value ? value : reshape(from, from.shape));
    });
  }

  requireHostRandom(operation: string): void {
    if (this.#randomness === "error") refuseRandom(operation);
    if (this.#randomness === "different")
      throw new UnsupportedError({
        operation,
        argument: "randomness",
        expected: '"same", since the host draws these numbers once for all samples',
        received: '"different"',
      });
    if (this.#outer !== null) this.#outer.requireHostRandom(operation);
  }
}

function refuseRandom(operation: string): never {
  throw new ValueError(
    "vmap",
    "randomness",
    '"same" or "different" for a function that draws random numbers',
    `"error", and ${operation} draws some`,
  );
}

function refuseWrite(operation: string, t: Tensor): never {
  throw new ValueError(
    operation,
    "tensor",
    "one that is different in each sample, since the value is",
    `${t.describe()}, of which all samples have the same`,
    "In vmap() use an operation that is not in place, or pass the tensor as a batched argument.",
  );
}

const known = new WeakMap<object, ViewDefinition<never>>();

/** fn, which has no history, of each sample of x. */
function eachSample(x: Tensor, fn: (sample: Tensor) => Tensor): Tensor {
  const size = x.shape[0]!;
  const level = new BatchLevel(size, "same");
  return level.run(
    () => fn(level.lift(x, true)),
    (result) => {
      const t = result as Tensor;
      const value = level.valueOf(t);
      return level.isBatched(t) ? value : expand(value, [size, ...value.shape]);
    },
    (value) => [value],
  );
}

/** The definition that shows of each sample what a definition shows of one. */
export function viewOfBatch<A>(definition: ViewDefinition<A>): ViewDefinition<A> {
  let made = known.get(definition) as ViewDefinition<A> | undefined;
  if (made !== undefined) return made;
  made = {
    name: definition.name,
    view: ({ shape, strides }, attrs) => {
      const inner = definition.view({ shape: shape.slice(1), strides: strides.slice(1) }, attrs);
      return { shape: [shape[0]!, ...inner.shape], strides: [strides[0]!, ...inner.strides], offset: inner.offset };
    },
    apply: (x, attrs) => eachSample(x, (sample) => (definition.apply ?? apply)(sample, attrs)),
    grad: (dy, { spec, attrs }) =>
      eachSample(dy, (sample) => definition.grad(sample, { spec: { ...spec, shape: spec.shape.slice(1) }, attrs })),
  };
  known.set(definition, made as unknown as ViewDefinition<never>);
  return made;

  function apply(sample: Tensor, attrs: A): Tensor {
    return view(definition, sample, attrs);
  }
}
