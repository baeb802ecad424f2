/** A compiled training step over several ranks: two programs, between which the gradients are reduced. */
import { compile } from "../compile/compile.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Optimizer } from "../optim/optimizer.ts";

/** Options of DistributedDataParallel.compileStep(). */
export interface CompileStepOptions {
  /** What changes the parameters, in place of `optimizer.step()`: clipping, or a GradScaler's stepOnDevice() and update(). It is compiled. */
  readonly update?: (() => void) | undefined;
}

/** What DistributedDataParallel.compileStep() gives: a call is a step, and gives its loss. */
export interface CompiledStep<Inputs extends readonly unknown[]> {
  (...inputs: Inputs): Tensor;
  /** How many programs there are: two, as long as the inputs are of one kind. */
  readonly programs: number;
  /** Frees the programs. */
  dispose(): void;
}

/** @internal between: reduces the gradients, and tells whether the update follows. */
export function compiledStep<Inputs extends readonly unknown[], O extends { lr: number }>(
  lossOf: (...inputs: Inputs) => Tensor,
  optimizer: Optimizer<O>,
  { update = () => void optimizer.step() }: CompileStepOptions,
  before: () => void,
  between: () => boolean,
): CompiledStep<Inputs> {
  const backward = compile(
    (...inputs: Inputs): Tensor => {
      const loss = lossOf(...inputs);
      loss.backward();
      return loss.detach();
    },
    { name: "backward of compileStep" },
  );
  const change = compile(
    (): void => {
      update();
      optimizer.zeroGrad();
    },
    { name: "update of compileStep" },
  );
  const run = (...inputs: Inputs): Tensor => {
    before();
    const loss = backward(...inputs);
    if (between()) change();
    return loss;
  };
  Object.defineProperty(run, "programs", { get: () => backward.programs + change.programs });
  return Object.assign(run, {
    dispose: (): void => {
      backward.dispose();
      change.dispose();
    },
  }) as CompiledStep<Inputs>;
}
