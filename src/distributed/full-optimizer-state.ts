/** The state of an optimizer over sharded parameters, with whole tensors. */
import { noGrad } from "../autograd/grad-mode.ts";
import { outsideScopes, scope } from "../core/scope.ts";
import { sameShape } from "../core/shape.ts";
import { partOf } from "../core/tensor-part.ts";
import type { Tensor } from "../core/tensor.ts";
import { cutPart } from "../nn/cut-part.ts";
import { clone } from "../ops/data/state.ts";
import type { OptimizerState } from "../optim/group.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import { unitOf } from "./sharded-unit.ts";

type State = Record<string, Record<string, Tensor>>;

const parametersOf = ({ paramGroups }: Optimizer): readonly Tensor[] => paramGroups.flatMap(({ params }) => params);

/**
 * The state of an optimizer whose parameters fullyShard() has sharded, with whole tensors, as an optimizer of one process has it: new tensors on all ranks, of
 * which the caller disposes. All ranks call it; it blocks until they have. Reference: torch.distributed.checkpoint.state_dict.get_optimizer_state_dict with
 * full_state_dict.
 */
export function fullOptimizerStateDict(optimizer: Optimizer): OptimizerState {
  const parameters = parametersOf(optimizer);
  const state: State = {};
  const { counterNames } = optimizer;
  const paramGroups = scope(() => {
    const { state: own, paramGroups } = optimizer.stateDict();
    for (const [key, byName] of Object.entries(own)) {
      const parameter = parameters[Number(key)]!;
      const unit = unitOf(parameter);
      state[key] = Object.fromEntries(
        Object.entries(byName).map(([name, t]) => {
          const isPart = unit !== undefined && !counterNames.has(name) && sameShape(t.shape, parameter.shape);
          return [name, outsideScopes(() => noGrad(() => (isPart ? unit.gatherLike(parameter, t) : clone(t))))];
        }),
      );
    }
    return paramGroups;
  });
  return { state, paramGroups };
}

/**
 * An optimizer whose parameters fullyShard() has sharded takes its parts of a state with whole tensors: of fullOptimizerStateDict(), or of one process. Throws
 * what its loadStateDict() throws. Reference: torch.distributed.checkpoint.state_dict.set_optimizer_state_dict with full_state_dict.
 */
export function loadFullOptimizerStateDict(optimizer: Optimizer, saved: OptimizerState): void {
  const parameters = parametersOf(optimizer);
  const numbers = saved.paramGroups.flatMap(({ params }) => params);
  const { counterNames } = optimizer;
  scope(() => {
    const state: State = {};
    numbers.forEach((key, i) => {
      const part = parameters[i] === undefined ? undefined : partOf(parameters[i]);
      const own = saved.state[key];
      if (own === undefined) return;
      state[key] = Object.fromEntries(
        Object.entries(own).map(([name, t]) => [
          name,
          part !== undefined && !counterNames.has(name) && sameShape(t.shape, part.shape) ? cutPart(t, part) : t,
        ]),
      );
    });
    optimizer.loadStateDict({ ...saved, state });
  });
}
