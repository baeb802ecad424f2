/** Which parameters one step updates together: runs that lie behind each other and have taken the same steps. */
import { ShapeError } from "../core/errors.ts";
import { sameShape } from "../core/shape.ts";
import { internDesc, type Storage } from "../core/storage.ts";
import { outsideScopes } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import type { Clock } from "./clock.ts";
import { paddedSize, viewOf, type Partition } from "./flat.ts";

/** Parameters updated by one set of operations. */
export interface Run {
  readonly parameters: readonly Tensor[];
  /** All of them as one flat tensor; the parameter itself where it stands alone and is not packed. */
  readonly data: Tensor;
  /** State of the same shape, by name. */
  readonly state: ReadonlyMap<string, Tensor>;
  readonly clock: Clock;
  /** Whether gradients are joined with padding between them. */
  readonly padded: boolean;
}

/** Where a parameter lay when the plan was made, and what counted its steps; null: it had no gradient. */
interface ParameterRun {
  readonly storage: Storage;
  readonly offset: number;
  readonly clock: Clock | null;
}

let plans = 0;

export class Plan {
  readonly id = plans++;
  readonly runs: readonly Run[];
  /** Those of the runs, each once. */
  readonly clocks: readonly Clock[];
  /** Names of the state that the runs show. */
  readonly states: readonly string[];
  readonly #partition: Partition;
  readonly #isShaped: boolean;
  readonly #runs: readonly ParameterRun[];
  readonly #views: Tensor[] = [];

  /** clocks[i] counts the steps of parameter i, if it has a gradient. isShaped: a parameter by itself keeps its shape. */
  constructor(partition: Partition, clocks: readonly (Clock | null)[], states: readonly string[], isShaped: boolean) {
    this.#partition = partition;
    this.#isShaped = isShaped;
    this.states = states;
    this.#runs = partition.parameters.map((p, i) => ({
      storage: p.storage,
      offset: p.offset,
      clock: p.grad === null ? null : clocks[i]!,
    }));
    const runs: number[][] = [];
    partition.parameters.forEach((p, i) => {
      if (p.grad === null || p.size === 0) return;
      const run = runs.at(-1);
      if (run !== undefined && run.at(-1) === i - 1 && clocks[i] === clocks[i - 1] && this.#follows(i - 1, i)) run.push(i);
      else runs.push([i]);
    });
    this.runs = runs.map((run) => this.#make(run, clocks[run[0]!]!, states));
    this.clocks = [...new Set(this.runs.map((run) => run.clock))];
  }

  #follows(i: number, j: number): boolean {
    const [p, q] = [this.#partition.parameters[i]!, this.#partition.parameters[j]!];
    return p.storage === q.storage && p.desc.isPacked && q.desc.isPacked && q.offset === p.offset + paddedSize(p.dtype, p.size);
  }

  #make(run: readonly number[], clock: Clock, states: readonly string[]): Run {
    const { parameters, offsets, dtype, total, data } = this.#partition;
    const [first, last] = [run[0]!, run.at(-1)!];
    const p = parameters[first]!;
    const keepsShape = run.length === 1 && p.rank > 0 && (this.#isShaped || !p.desc.isPacked);
    const whole = !keepsShape && run.length === parameters.length && data !== null && p.storage === data.storage && p.offset === 0;
    const length = whole ? total : offsets[last]! - offsets[first]! + parameters[last]!.size;
    const shape = keepsShape ? p.shape : [length];
    const view = (t: Tensor): Tensor => {
      this.#views.push(t);
      return t;
    };
    const flat = p.desc.isPacked ? viewOf(p, 0, shape) : outsideScopes(() => new Tensor(p.storage, p.desc, p.offset));
    return {
      parameters: run.map((i) => parameters[i]!),
      data: view(flat),
      state: new Map(
        states.map((name) => [
          name,
          view(viewOf(this.#partition.stateOf(name), offsets[first]!, this.#partition.form(name).shape ?? shape)),
        ]),
      ),
      clock,
      padded: run.length > 1 || (whole && paddedSize(dtype, p.size) !== p.size),
    };
  }

  /** Whether the same parameters have gradients, by the same clocks, and lie where they lay. */
  isCurrent(clocks: readonly (Clock | null)[]): boolean {
    return this.#partition.parameters.every((p, i) => (p.grad !== null) === (this.#runs[i]!.clock !== null)) && this.isInPlace(clocks);
  }

  /** Whether parameters lie where they lay and are counted by the same clocks, whatever gradients they have now. */
  isInPlace(clocks: readonly (Clock | null)[]): boolean {
    const { parameters } = this.#partition;
    for (let i = 0; i < parameters.length; i++) {
      const [p, { storage, offset, clock }] = [parameters[i]!, this.#runs[i]!];
      if (p.storage !== storage || p.offset !== offset || (clock !== null && clock !== clocks[i])) return false;
    }
    return true;
  }

  dispose(): void {
    for (const t of this.#views) t.dispose();
  }
}

/** The gradients of a run in the shape of its data. gather joins several; views of them need nothing. */
export function gradientOf(run: Run, gather: (gradients: readonly Tensor[]) => Tensor, packed: (t: Tensor) => Tensor): Tensor {
  const gradients = run.parameters.map((p) => {
    const grad = p.grad!;
    if (sameShape(grad.shape, p.shape) && grad.dtype === p.dtype && grad.device === p.device) return grad;
    throw new ShapeError("step", "grad", `like its parameter, ${p.describe()} on ${p.device}`, `${grad.describe()} on ${grad.device}`);
  });
  if (run.padded) {
    const joined = gather(gradients);
    if (joined.size === run.data.size) return joined;
    const part = new Tensor(joined.storage, internDesc(joined.device, joined.dtype, run.data.shape), joined.offset);
    joined.dispose();
    return part;
  }
  const only = gradients[0]!;
  if (run.data.rank !== 1 || only.rank === 1) return only;
  const dense = packed(only);
  const flat = new Tensor(dense.storage, internDesc(dense.device, dense.dtype, [dense.size]), dense.offset);
  if (dense !== only) dense.dispose();
  return flat;
}
