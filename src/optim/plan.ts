/** Which parameters one step updates together: runs that lie behind each other and have taken the same steps. */
import { ShapeError } from "../errors.ts";
import { sameShape } from "../shape.ts";
import { internDesc, type Storage } from "../storage.ts";
import { outsideScopes } from "../scope.ts";
import { Tensor } from "../tensor.ts";
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

/** Where a parameter lay and whether it had a gradient when the plan was made. */
interface Place {
  readonly storage: Storage;
  readonly offset: number;
  readonly hadGradient: boolean;
}

let plans = 0;

export class Plan {
  readonly id = plans++;
  readonly runs: readonly Run[];
  /** Names of the state that the runs show. */
  readonly states: readonly string[];
  readonly #partition: Partition;
  readonly #places: readonly Place[];
  readonly #views: Tensor[] = [];

  /** clocks[i] counts the steps of parameter i. */
  constructor(partition: Partition, clocks: readonly Clock[], states: readonly string[]) {
    this.#partition = partition;
    this.states = states;
    this.#places = partition.parameters.map((p) => ({ storage: p.storage, offset: p.offset, hadGradient: p.grad !== null }));
    const runs: number[][] = [];
    partition.parameters.forEach((p, i) => {
      if (p.grad === null || p.size === 0) return;
      const run = runs.at(-1);
      if (run !== undefined && run.at(-1) === i - 1 && clocks[i] === clocks[i - 1] && this.#follows(i - 1, i)) run.push(i);
      else runs.push([i]);
    });
    this.runs = runs.map((run) => this.#make(run, clocks[run[0]!]!, states));
  }

  #follows(i: number, j: number): boolean {
    const [p, q] = [this.#partition.parameters[i]!, this.#partition.parameters[j]!];
    return p.storage === q.storage && p.desc.isPacked && q.desc.isPacked && q.offset === p.offset + paddedSize(p.dtype, p.size);
  }

  #make(run: readonly number[], clock: Clock, states: readonly string[]): Run {
    const { parameters, offsets, dtype, total, data } = this.#partition;
    const [first, last] = [run[0]!, run.at(-1)!];
    const p = parameters[first]!;
    const whole = run.length === parameters.length && data !== null && p.storage === data.storage && p.offset === 0;
    const length = whole ? total : offsets[last]! - offsets[first]! + parameters[last]!.size;
    const shape = run.length === 1 && !p.desc.isPacked ? p.shape : [length];
    const view = (t: Tensor): Tensor => {
      this.#views.push(t);
      return t;
    };
    const flat = p.desc.isPacked ? viewOf(p, 0, shape) : outsideScopes(() => new Tensor(p.storage, p.desc, p.offset));
    return {
      parameters: run.map((i) => parameters[i]!),
      data: view(flat),
      state: new Map(states.map((name) => [name, view(viewOf(this.#partition.stateOf(name), offsets[first]!, shape))])),
      clock,
      padded: run.length > 1 || (whole && paddedSize(dtype, p.size) !== p.size),
    };
  }

  /** Whether the same parameters have gradients and lie where they lay. */
  get isCurrent(): boolean {
    return this.#partition.parameters.every((p, i) => {
      const place = this.#places[i]!;
      return p.storage === place.storage && p.offset === place.offset && (p.grad !== null) === place.hadGradient;
    });
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
