/** What each device of a compiled data parallel step has: its parameters, optimizer, gradients and two programs. @package */
import { grad } from "../autograd/backward.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { compile, executableOf, type Compiled } from "../compile/compile.ts";
import { CompiledProgram } from "../compile/program.ts";
import { withDevice, type Device } from "../core/device.ts";
import { ShapeError } from "../core/errors.ts";
import { keep, outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { zeros } from "../ops/creation/creation.ts";
import { clone, copy_, detach } from "../ops/data/state.ts";
import { toDType } from "../ops/data/conversion.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import type { Bucket } from "./gradient-layout.ts";

/** What a step needs of an optimizer: those of dx.optim have it. */
export interface StepOptimizer {
  /** The options that its groups have unless they give their own. */
  readonly defaults: object;
  /** Groups of parameters, each with its options. */
  readonly paramGroups: readonly { readonly params: readonly Tensor[]; readonly options: object }[];
  /** Updates all parameters that have a gradient. */
  step(): unknown;
  /** The state of each parameter, and the options of the groups. */
  stateDict(): object;
  /** Takes over state and options, for the same parameters in the same order. */
  loadStateDict(state: never): void;
  /** Frees the state. The parameters stay. */
  dispose(): void;
}

/** What all replicas have alike. */
export interface ReplicaPlan<Inputs extends readonly unknown[], P extends StepOptimizer> {
  readonly buckets: readonly Bucket[];
  /** The loss of a part of the batch, computed with a replica's tensors. */
  readonly lossOf: (replica: Replica<Inputs, P>, ...inputs: Inputs) => Tensor;
  readonly update: (optimizer: P) => void;
  readonly check: boolean;
}

/** One device's part. The loss is treated as one more gradient, behind those of the parameters. */
export class Replica<Inputs extends readonly unknown[], P extends StepOptimizer> {
  readonly device: Device;
  readonly parameters: readonly Tensor[];
  readonly optimizer: P;
  /** Its share of each bucket of the gradients. */
  readonly own: readonly Tensor[];
  /** The other devices' shares, by device; its own among them. */
  readonly shares: readonly (readonly Tensor[])[];
  readonly #plan: ReplicaPlan<Inputs, P>;
  readonly #backward: Compiled<readonly [number, ...Inputs], void>;
  readonly #update: Compiled<readonly [], Tensor>;
  /** The parameters that the loss of the last traced call depends on. */
  #used: readonly boolean[] = [];
  #cutProgram: CompiledProgram | null = null;

  constructor(index: number, devices: readonly Device[], parameters: readonly Tensor[], optimizer: P, plan: ReplicaPlan<Inputs, P>) {
    this.device = devices[index]!;
    this.parameters = parameters;
    this.optimizer = optimizer;
    this.#plan = plan;
    const make = (): Tensor[] =>
      outsideScopes(() => plan.buckets.map(({ dtype, size }) => keep(zeros([size], { dtype, device: this.device }))));
    this.shares = devices.map(make);
    this.own = this.shares[index]!;
    this.#backward = compile((share: number, ...inputs: Inputs) => this.#gradients(share, inputs), {
      name: "backward of compileStep",
      check: plan.check,
    });
    this.#update = compile(() => this.#change(), { name: "update of compileStep", check: plan.check });
  }

  #gradients(share: number, inputs: Inputs): void {
    const own = this.#plan.lossOf(this, ...inputs);
    if (own.size !== 1) throw new ShapeError("DataParallel.compileStep", "lossOf", "one that gives one element", own.describe());
    const loss = mul(own, share);
    const found = grad(loss, this.parameters, { allowUnused: true });
    this.#used = found.map((g) => g !== null);
    const pieces = [...found, detach(loss)];
    noGrad(() => {
      this.#plan.buckets.forEach(({ dtype, pieces: own, size }, k) => {
        const parts: Tensor[] = [];
        const gap = (length: number): void => {
          if (length > 0) parts.push(zeros([length], { dtype, device: this.device }));
        };
        let end = 0;
        for (const { index, start } of own) {
          gap(start - end);
          const length = this.#sizeOf(index);
          const piece = pieces[index] ?? null;
          if (piece === null) gap(length);
          else parts.push(toDType(reshape(piece, [-1]), dtype));
          end = start + length;
        }
        gap(size - end);
        copy_(this.own[k]!, parts.length === 1 ? parts[0]! : cat(parts));
      });
    });
  }

  #sizeOf(index: number): number {
    return this.parameters[index]?.size ?? 1;
  }

  #change(): Tensor {
    return noGrad(() => {
      let loss: Tensor | null = null;
      this.#plan.buckets.forEach(({ pieces }, k) => {
        // In one order on all devices: their parameters stay equal.
        const sum = this.shares.map((share) => share[k]!).reduce((a, b) => add(a, b));
        for (const { index, start } of pieces) {
          const p = this.parameters[index];
          const part = reshape(narrow(sum, 0, start, this.#sizeOf(index)), p?.shape ?? []);
          if (p === undefined) loss = clone(part);
          else if (this.#used[index] === true) p.grad = part;
        }
      });
      this.#plan.update(this.optimizer);
      for (const p of this.parameters) p.grad = null;
      return loss!;
    });
  }

  backward(share: number, inputs: Inputs): void {
    withDevice(this.device, () => {
      this.#backward(share, ...inputs);
    });
  }

  update(): Tensor {
    return withDevice(this.device, () => this.#update());
  }

  /** The recording of the last backward(), and the part of it that made each bucket. */
  made(): { readonly recording: number; readonly parts: readonly number[] } {
    const program = executableOf(this.#backward);
    if (!(program instanceof CompiledProgram)) return { recording: 0, parts: this.own.map(() => 0) };
    const states = this.own.map((t) => t.storage);
    const made = program.partsOf(states);
    if (program !== this.#cutProgram) {
      program.cutBehind(states);
      this.#cutProgram = program;
    }
    return made;
  }

  get programs(): number {
    return this.#backward.programs + this.#update.programs;
  }

  dispose(): void {
    this.#backward.dispose();
    this.#update.dispose();
    for (const share of this.shares) for (const t of share) t.dispose();
  }
}
