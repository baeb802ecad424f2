/** fullyShard(): each rank holds a part of each parameter, of its gradient and of what an optimizer keeps for it. */
import { savingHooks, withHooks } from "../autograd/saved-hooks.ts";
import { AutogradError, TraceError, ValueError } from "../core/errors.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { outsideScopes } from "../core/scope.ts";
import { sameShape } from "../core/shape.ts";
import { tracer } from "../core/tracer.ts";
import { withTensors } from "../nn/functional-call.ts";
import type { Module } from "../nn/module.ts";
import type { StateDict } from "../nn/module-state.ts";
import { Parameter } from "../nn/parameter.ts";
import { to, toDType } from "../ops/data/conversion.ts";
import { clone, copy_ } from "../ops/data/state.ts";
import { takeFrom } from "./first-rank.ts";
import { groupOf } from "./init-process-group.ts";
import type { ProcessGroup } from "./process-group.ts";
import { shardHooks, ShardedUnit, unitOf } from "./sharded-unit.ts";

const OPERATION = "fullyShard";

/** Options of fullyShard(). */
export interface FullyShardOptions {
  /** The group. Default: that of all ranks. */
  readonly group?: ProcessGroup | undefined;
  /**
   * Whether the whole parameters are freed when forward() has ended, and gathered again in backward (ZeRO 3). With false they stay until then (ZeRO 2): more
   * memory, fewer messages. Default: true.
   */
  readonly reshardAfterForward?: boolean | undefined;
}

/**
 * Shards the parameters of a module over the ranks, in place: each rank keeps 1/n of the elements of each, in one axis, and an optimizer that is made of
 * them keeps 1/n of the state. forward() gathers the whole parameters before it runs; backward() gathers them again, and gives each rank the mean of
 * all ranks' gradients for its part, as DistributedDataParallel does. Both block until all ranks are there.
 *
 * Parameters that an inner call has sharded stay with it: shard the layers first, then the whole, and one layer's parameters are whole at a time. The ranks
 * take the first rank's parameters and buffers. stateDict() gives this rank's parts; fullStateDict() and loadFullStateDict() whole tensors. Optimizers that
 * look at a whole parameter (LAMB, Adafactor, Muon) are not those of one process. It computes eagerly, and first derivatives only. Returns the module.
 *
 * Throws AutogradError where there is nothing left to shard, ValueError for a module that was sharded before, DistributedError where a rank is lost.
 * Reference: torch.distributed.fsdp.fully_shard.
 */
export function fullyShard<M extends Module>(module: M, { group: chosen, reshardAfterForward = true }: FullyShardOptions = {}): M {
  const group = groupOf(OPERATION, chosen);
  const own = module.parameters().filter((p) => unitOf(p) === undefined);
  if (own.length === 0)
    throw new AutogradError({
      operation: OPERATION,
      argument: "module",
      expected: "one with parameters that are not sharded yet",
      received: module.constructor.name,
    });
  for (const p of own) if (p.grad !== null) throw new ValueError(OPERATION, "module", "one without gradients", "one with gradients");
  takeFrom(OPERATION, group, [...own, ...module.buffers()]);
  const unit = new ShardedUnit(group, own);
  const before = Object.getOwnPropertyDescriptor(module, "forward")?.value as ((...inputs: unknown[]) => unknown) | undefined;
  const inner = before ?? (Object.getPrototypeOf(module) as { forward(...inputs: unknown[]): unknown }).forward;
  const hooks = new WeakSet<object>();
  const forward = (...inputs: unknown[]): unknown => {
    if (tracer() !== null)
      throw new TraceError({
        operation: OPERATION,
        received: "a call of a sharded module while a function is compiled",
        hint: "A program cannot gather the ranks' parts. Call it eagerly.",
      });
    const outer = savingHooks();
    const around = outer !== null && hooks.has(outer) ? outer : shardHooks(outer);
    hooks.add(around);
    return unit.use(!reshardAfterForward, (whole) =>
      withTensors(module.modules(), whole, () => withHooks(around, () => inner.apply(module, inputs))),
    );
  };
  Object.defineProperty(module, "forward", { value: forward, configurable: true, enumerable: false, writable: true });
  return module;
}

/**
 * The state of a module with whole tensors in place of the parts that fullyShard() left: new tensors on all ranks, of which the caller disposes. All ranks call
 * it. Reference: torch.distributed.checkpoint.state_dict.get_model_state_dict with full_state_dict.
 */
export function fullStateDict(module: Module): StateDict {
  const state: StateDict = {};
  for (const [name, t] of module.stateTensors()) state[name] = outsideScopes(() => noGrad(() => unitOf(t)?.wholeOf(t) ?? clone(t)));
  return state;
}

/**
 * Each rank takes its parts of whole tensors, which all ranks have. Throws ValueError for names that are missing or unknown and for other shapes, before
 * anything is copied. Reference: torch.distributed.checkpoint.state_dict.set_model_state_dict with full_state_dict.
 */
export function loadFullStateDict(module: Module, state: Readonly<StateDict>): void {
  const operation = "loadFullStateDict";
  const own = new Map(module.stateTensors());
  for (const name of Object.keys(state)) if (!own.has(name)) throw new ValueError(operation, "state", "names of the module", name);
  for (const [name, t] of own) {
    const value = state[name];
    if (value === undefined) throw new ValueError(operation, "state", `with ${name}`, "without it");
    const shape = unitOf(t)?.shapeOf(t) ?? t.shape;
    if (!sameShape(value.shape, shape))
      throw new ValueError(operation, `state["${name}"]`, `of shape [${shape.join(", ")}]`, value.describe());
  }
  noGrad(() => {
    for (const [name, t] of own) {
      const value = toDType(to(state[name]!, t.device), t.dtype);
      const unit = t instanceof Parameter ? unitOf(t) : undefined;
      copy_(t, unit === undefined ? value : unit.partOf(t, value));
    }
  });
}
