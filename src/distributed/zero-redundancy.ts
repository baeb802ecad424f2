/** ZeroRedundancyOptimizer: each rank keeps the optimizer's state of a part of the parameters. */
import { enableGrad } from "../autograd/grad-mode.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { TraceError, ValueError } from "../core/errors.ts";
import { namedDevice } from "../core/device.ts";
import { outsideScopes } from "../core/scope.ts";
import { sizeOf } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { TAKES } from "../io/checkpoint/into.ts";
import { clearGradient } from "../nn/module-tensors.ts";
import { Parameter } from "../nn/parameter.ts";
import { zeros } from "../ops/creation/creation.ts";
import { ParamGroup, type BaseOptions, type GroupInput, type OptimizerState, type ParametersInput } from "../optim/group.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import { setAgreement } from "../optim/found-agreement.ts";
import { agreementOf } from "./agreed-found.ts";
import { EngineMemory } from "./engine-memory.ts";
import { takeFrom } from "./first-rank.ts";
import { groupOf } from "./init-process-group.ts";
import { described, type ProcessGroup } from "./process-group.ts";

const OPERATION = "ZeroRedundancyOptimizer";

/** Options of ZeroRedundancyOptimizer. */
export interface ZeroRedundancyOptions {
  /** The group. Default: that of all ranks. */
  readonly group?: ProcessGroup | undefined;
}

type State = Readonly<Record<string, Readonly<Record<string, Tensor>>>>;

/** Which rank has each parameter: the largest first, each to the rank with the fewest bytes. */
export function ownersOf(sizesInBytes: readonly number[], ranks: number): readonly number[] {
  const owners = new Array<number>(sizesInBytes.length);
  const bytes = new Array<number>(ranks).fill(0);
  const order = sizesInBytes.map((_, i) => i).sort((a, b) => sizesInBytes[b]! - sizesInBytes[a]! || a - b);
  for (const i of order) {
    const rank = bytes.indexOf(Math.min(...bytes));
    owners[i] = rank;
    bytes[rank]! += sizesInBytes[i]!;
  }
  return owners;
}

/** What a tensor of a state is, for ranks that do not have it. */
interface Described {
  readonly parameter: number;
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly device: string;
}

/**
 * An optimizer of which each rank of a group keeps a part of the state (ZeRO 1): whole parameters are divided among the ranks by their size. step() updates
 * this rank's, and takes the others from their ranks; it blocks until all are there. Gradients are those of all ranks, as DistributedDataParallel gives them.
 * To shard gradients and parameters too, see fullyShard().
 *
 * params: parameters, or groups of them with options; the same on all ranks. make: gives the optimizer of some of them, such as
 * `(params) => dx.optim.adamW(params, { lr: 1e-3 })`. Schedules take `optimizer`, this rank's own, whose groups have the options of all.
 * GradScaler steps `optimizer`, for which the ranks agree whether a gradient is infinite; call synchronize() behind it.
 * Throws ValueError for no parameters, TraceError in step() inside a compiled function. Reference: torch.distributed.optim.ZeroRedundancyOptimizer.
 */
export class ZeroRedundancyOptimizer<O extends BaseOptions> {
  /** This rank's optimizer: of its parameters, with the options of all groups. */
  readonly optimizer: Optimizer<O>;
  /** The groups with all parameters. Their options are those of this rank's optimizer. */
  readonly paramGroups: readonly ParamGroup<O>[];
  readonly #group: ProcessGroup;
  readonly #parameters: readonly Tensor[];
  readonly #owners: readonly number[];
  /** By number of the parameter: its number in this rank's optimizer. */
  readonly #own = new Map<number, number>();

  constructor(
    params: ParametersInput<NoInfer<O>>,
    make: (params: readonly GroupInput<O>[]) => Optimizer<O>,
    { group }: ZeroRedundancyOptions = {},
  ) {
    this.#group = groupOf(OPERATION, group);
    const list = [...(params as Iterable<Tensor | GroupInput<O>>)];
    const refuse = (what: string): ValueError => new ValueError(OPERATION, "params", "at least one parameter", what);
    if (list.length === 0) throw refuse("none");
    const groups = (list[0] instanceof Tensor ? [{ params: list }] : list) as unknown as readonly GroupInput<O>[];
    const members = groups.map((one) => [...one.params]);
    if (members.some((own) => own.length === 0)) throw refuse("an empty group");
    this.#parameters = members.flat();
    this.#owners = ownersOf(
      this.#parameters.map((p) => p.size * DTYPES[p.dtype].sizeInBytes),
      this.#group.size,
    );
    let [first, next] = [0, 0];
    const parts = groups.map((one, i) => {
      const own: Tensor[] = [];
      members[i]!.forEach((p, j) => {
        if (this.#owners[first + j] !== this.#group.rank) return;
        own.push(p);
        this.#own.set(first + j, next++);
      });
      first += members[i]!.length;
      // A group of which this rank has nothing keeps its options by a parameter that never has a gradient.
      if (own.length === 0) {
        own.push(outsideScopes(() => new Parameter(zeros([1], { device: members[i]![0]!.device }))));
        next++;
      }
      for (const p of own) setAgreement(p, agreementOf(this.#group));
      return { ...one, params: own };
    });
    this.optimizer = make(parts);
    this.paramGroups = this.optimizer.paramGroups.map(({ options }, i) => new ParamGroup(members[i]!, options));
  }

  /** The first group's learning rate; setting it sets all groups'. */
  get lr(): number {
    return this.optimizer.lr;
  }

  set lr(value: number) {
    this.optimizer.lr = value;
  }

  /** Updates this rank's parameters, and takes the others. A closure, if given, is called first and its result returned. All ranks call it. */
  step<T = undefined>(closure?: () => T): T | undefined {
    if (tracer() !== null)
      throw new TraceError({
        operation: `${OPERATION}.step`,
        received: "a call while a function is compiled",
        hint: "Compile the forward and backward pass, and call step() behind it.",
      });
    const result = closure === undefined ? undefined : enableGrad(closure);
    this.optimizer.step();
    this.synchronize();
    return result;
  }

  /** Each rank takes the parameters of the others, as they are there: what step() does after the update. For code that steps `optimizer` itself. */
  synchronize(): void {
    for (let rank = 0; rank < this.#group.size; rank++) {
      const theirs = this.#parameters.filter((_, i) => this.#owners[i] === rank);
      takeFrom(OPERATION, this.#group, theirs, rank);
    }
  }

  /** Takes the gradients of all parameters away, or fills them with zeros. */
  zeroGrad({
    setToNull = true,
  }: {
    /** Whether gradients become null; false fills them with zeros. Default: true. */
    readonly setToNull?: boolean;
  } = {}): void {
    for (const p of this.#parameters) clearGradient(p, setToNull);
  }

  /** The state of this rank's parameters by their numbers among all, and the options of all groups. */
  stateDict(): OptimizerState {
    const { state, paramGroups } = this.optimizer.stateDict();
    const own: Record<string, Readonly<Record<string, Tensor>>> = {};
    for (const [global, local] of this.#own) if (state[local] !== undefined) own[global] = state[local];
    let first = 0;
    return {
      state: own,
      paramGroups: paramGroups.map((group, i) => {
        const params = this.paramGroups[i]!.params.map((_, j) => first + j);
        first += params.length;
        return { ...group, params };
      }),
    };
  }

  /**
   * The state of all parameters, which an optimizer of one process loads too: new tensors on all ranks, of which the caller disposes. All ranks call it; it
   * blocks until they have. Reference: torch.distributed.optim.ZeroRedundancyOptimizer.consolidate_state_dict.
   */
  fullStateDict(): OptimizerState {
    const { state: own, paramGroups } = this.stateDict();
    const state: Record<string, Record<string, Tensor>> = {};
    for (let rank = 0; rank < this.#group.size; rank++)
      for (const [{ parameter, name }, t] of this.#sent(rank, own)) (state[parameter] ??= {})[name] = t;
    return { state, paramGroups };
  }

  /** What a rank has, on all ranks: new tensors. */
  *#sent(root: number, own: State): Generator<readonly [Described, Tensor]> {
    const isRoot = root === this.#group.rank;
    const tensors = isRoot
      ? Object.entries(own).flatMap(([parameter, byName]) =>
          Object.entries(byName).map(([name, t]): readonly [Described, Tensor] => [
            { parameter: Number(parameter), name, dtype: t.dtype, shape: t.shape, device: String(t.device) },
            t,
          ]),
        )
      : [];
    const text = Buffer.from(JSON.stringify(tensors.map(([one]) => one)));
    const length = this.#broadcast(root, new Uint8Array(new BigUint64Array([BigInt(text.byteLength)]).buffer));
    const size = Number(new BigUint64Array(length.slice().buffer)[0]);
    const list = JSON.parse(Buffer.from(this.#broadcast(root, isRoot ? text : new Uint8Array(size))).toString()) as readonly Described[];
    for (const [i, one] of list.entries()) {
      const { dtype, shape, device } = one;
      const memory = isRoot
        ? EngineMemory.of(OPERATION, tensors[i]![1])
        : EngineMemory.empty(OPERATION, { dtype, shape, device: namedDevice(OPERATION, "state", device) });
      const bytes = memory.bytesNow(isRoot);
      if (sizeOf(shape) > 0 && this.#group.size > 1) {
        const what = described("broadcast", OPERATION, dtype, shape);
        this.#group.reduceNow(OPERATION, { kind: "broadcast", what, root, input: bytes, output: bytes })();
      }
      yield [one, isRoot ? memory.kept() : memory.written()];
    }
  }

  #broadcast(root: number, bytes: Uint8Array): Uint8Array {
    if (this.#group.size > 1 && bytes.byteLength > 0)
      this.#group.reduceNow(OPERATION, {
        kind: "broadcast",
        what: `${OPERATION} ${bytes.byteLength}`,
        root,
        input: bytes,
        output: bytes,
      })();
    return bytes;
  }

  /** Takes over options, and the state of this rank's parameters: from fullStateDict(), from this rank's stateDict(), or from an optimizer of one process. */
  loadStateDict(saved: OptimizerState): void {
    const own = this.optimizer.stateDict();
    if (saved.paramGroups.length !== own.paramGroups.length)
      throw new ValueError(`${OPERATION}.loadStateDict`, "paramGroups", `${own.paramGroups.length} groups`, saved.paramGroups.length);
    const state: Record<string, Readonly<Record<string, Tensor>>> = {};
    let first = 0;
    saved.paramGroups.forEach(({ params }, i) => {
      const { length } = this.paramGroups[i]!.params;
      if (params.length !== length)
        throw new ValueError(`${OPERATION}.loadStateDict`, `paramGroups[${i}]`, `of ${length} parameters`, params.length);
      params.forEach((key, j) => {
        const local = this.#own.get(first + j);
        if (local !== undefined && saved.state[key] !== undefined) state[local] = saved.state[key];
      });
      first += length;
    });
    this.optimizer.loadStateDict({
      state,
      paramGroups: saved.paramGroups.map((group, i) => ({ ...group, params: own.paramGroups[i]!.params })),
    });
  }

  /** @internal Whether it takes the state of a parameter, by its number. */
  [TAKES](parameter: string): boolean {
    return this.#own.has(Number(parameter));
  }

  /** Frees this rank's state. The parameters stay. */
  dispose(): void {
    this.optimizer.dispose();
  }
}

/** Makes a ZeroRedundancyOptimizer. */
export const zeroRedundancyOptimizer = <O extends BaseOptions>(
  params: ParametersInput<NoInfer<O>>,
  make: (params: readonly GroupInput<O>[]) => Optimizer<O>,
  options: ZeroRedundancyOptions = {},
): ZeroRedundancyOptimizer<O> => new ZeroRedundancyOptimizer(params, make, options);
