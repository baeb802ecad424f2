/** A compiled training step over several ranks: two programs, between which the gradients are reduced. One rank has one program. */
import { noGrad } from "../autograd/grad-mode.ts";
import { compile, executableOf, type Compiled } from "../compile/compile.ts";
import { CompiledProgram } from "../compile/program.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import type { Parameter } from "../nn/parameter.ts";
import { FlatGradients } from "./flat-gradients.ts";
import type { ProcessGroup } from "./process-group.ts";

/** Options of DistributedDataParallel.compileStep(). */
export interface CompileStepOptions {
  /** What changes the parameters, in place of `optimizer.step()`: clipping, or a GradScaler's stepOnDevice() and update(). It is compiled. */
  readonly update?: (() => void) | undefined;
  /** As of compile(): whether each call runs lossOf and update to see that they ask for the same. Default: true. */
  readonly check?: boolean | undefined;
}

/** What DistributedDataParallel.compileStep() gives: a call is a step, and gives its loss. */
export interface CompiledStep<Inputs extends readonly unknown[]> {
  (...inputs: Inputs): Tensor;
  /** How many programs there are: two, as long as the inputs are of one kind; one in a group of one rank. */
  readonly programs: number;
  /** Frees the programs. */
  dispose(): void;
}

/** @internal Whose step it is. */
export interface RankTraining {
  readonly group: ProcessGroup;
  readonly parameters: readonly Parameter[];
  readonly bucketSizeInBytes: number;
  /** Before each step that reduces. */
  begin(): void;
  isSynchronizing(): boolean;
}

/** The programs, and the gradients between them. */
class Steps<Inputs extends readonly unknown[]> {
  readonly #training: RankTraining;
  readonly #flat: FlatGradients | null;
  /** The whole step of one rank, whose gradients nobody reduces. */
  readonly #whole: Compiled<Inputs, Tensor>;
  /** Gradients that stay in the parameters: those of noSync(). */
  readonly #backward: Compiled<Inputs, Tensor>;
  /** Gradients for the reduction. */
  readonly #flatBackward: Compiled<Inputs, Tensor>;
  readonly #update: Compiled<readonly [], void>;
  #cutProgram: CompiledProgram | null = null;

  constructor(
    training: RankTraining,
    lossOf: (...inputs: Inputs) => Tensor,
    change: () => void,
    check: boolean,
    isOwned: (p: Parameter) => boolean,
  ) {
    this.#training = training;
    const { group, parameters, bucketSizeInBytes } = training;
    this.#flat = group.size === 1 ? null : new FlatGradients(group, parameters, bucketSizeInBytes, isOwned);
    const backward = (...inputs: Inputs): Tensor => {
      const loss = lossOf(...inputs);
      loss.backward();
      return loss.detach();
    };
    this.#whole = compile(
      (...inputs: Inputs): Tensor => {
        const loss = backward(...inputs);
        change();
        return loss;
      },
      { name: "compileStep", check },
    );
    this.#backward = compile(backward, { name: "backward of compileStep", check });
    this.#flatBackward = compile(
      (...inputs: Inputs): Tensor => {
        const loss = backward(...inputs);
        noGrad(() => {
          this.#flat!.take();
        });
        return loss;
      },
      { name: "backward of compileStep", check },
    );
    this.#update = compile(
      (): void => {
        noGrad(() => {
          this.#flat!.give();
        });
        change();
      },
      { name: "update of compileStep", check },
    );
  }

  /** When the buckets of the last backward pass are made. */
  #made(): { readonly recording: number; readonly parts: readonly number[] } | null {
    const program = executableOf(this.#flatBackward);
    if (!(program instanceof CompiledProgram)) return null;
    const states = this.#flat!.storages;
    const made = program.partsOf(states);
    if (program !== this.#cutProgram) {
      program.cutBehind(states);
      this.#cutProgram = program;
    }
    return made;
  }

  run(inputs: Inputs): Tensor {
    if (!this.#training.isSynchronizing()) return this.#backward(...inputs);
    if (this.#flat === null) return this.#whole(...inputs);
    this.#training.begin();
    const loss = this.#flatBackward(...inputs);
    this.#flat.reduce(this.#made());
    this.#update();
    return loss;
  }

  get #compiled(): readonly Pick<CompiledStep<Inputs>, "programs" | "dispose">[] {
    return [this.#whole, this.#backward, this.#flatBackward, this.#update];
  }

  get programs(): number {
    return this.#compiled.reduce((sum, { programs }) => sum + programs, 0);
  }

  dispose(): void {
    for (const compiled of this.#compiled) compiled.dispose();
    this.#flat?.dispose();
  }
}

/** @internal */
export function compiledStep<Inputs extends readonly unknown[], O extends { lr: number }>(
  lossOf: (...inputs: Inputs) => Tensor,
  optimizer: Optimizer<O>,
  { update = () => void optimizer.step(), check = true }: CompileStepOptions,
  training: RankTraining,
): CompiledStep<Inputs> {
  const change = (): void => {
    update();
    optimizer.zeroGrad();
  };
  const owned = new Set<Tensor>(optimizer.paramGroups.flatMap(({ params }) => params));
  const steps = new Steps(training, lossOf, change, check, (p) => owned.has(p));
  const run = (...inputs: Inputs): Tensor => steps.run(inputs);
  Object.defineProperty(run, "programs", { get: () => steps.programs });
  return Object.assign(run, {
    dispose: (): void => {
      steps.dispose();
    },
  }) as CompiledStep<Inputs>;
}
