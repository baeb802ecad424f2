/** Finds the next step of the log that matches the operation that a run calls now; null if the log has none. */
import type { Definition, ViewDefinition } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { sameData } from "../graph/key.ts";
import type { Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Loop } from "../core/tracer.ts";
import type { TapeNode } from "../autograd/tape.ts";
import type {
  Assignment,
  Constant,
  Creation,
  Custom,
  Event,
  LoopBegin,
  LoopEnd,
  LoopTest,
  Operation,
  Region,
  RetracedRegion,
  Rewrite,
  Scalar,
  Step,
  View,
} from "./log.ts";
import { areSame, areSameOrNull, isSame, isSameGuard } from "./operand.ts";

/** A step whose event is of a known kind. */
type StepOf<E extends Event> = Step & { readonly event: E };

export function nextOperation(
  at: Step,
  definition: unknown,
  inputs: readonly Tensor[],
  attrs: unknown,
  records: boolean,
  writes: boolean,
): StepOf<Operation> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (
      e.kind === "operation" &&
      (e.definition as unknown) === definition &&
      e.records === records &&
      e.writes === writes &&
      areSame(e.inputs, inputs) &&
      sameData(e.attrs, attrs)
    )
      return step as StepOf<Operation>;
  }
  return null;
}

export function nextView<A>(
  at: Step,
  definition: ViewDefinition<A>,
  input: Tensor,
  attrs: A,
  others: readonly Tensor[],
  records: boolean,
): StepOf<View> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (
      e.kind === "view" &&
      (e.definition as unknown) === definition &&
      e.records === records &&
      isSame(e.input, input) &&
      areSame(e.others, others) &&
      sameData(e.attrs, attrs)
    )
      return step as StepOf<View>;
  }
  return null;
}

export function nextCreation<A>(at: Step, definition: Definition<A>, device: Device, attrs: A): StepOf<Creation> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "create" && (e.definition as unknown) === definition && e.device === device && sameData(e.attrs, attrs))
      return step as StepOf<Creation>;
  }
  return null;
}

/** A number that the function's own code gives, whatever its value. */
export function nextScalar(at: Step, device: Device, dtype: DType): StepOf<Scalar> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "scalar" && e.dtype === dtype && e.device === device && e.holder === null) return step as StepOf<Scalar>;
  }
  return null;
}

/** A number that an object of the library holds, such as an optimizer's learning rate. */
export function nextHeldScalar(at: Step, device: Device, owner: object, index: number): StepOf<Scalar> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "scalar" && e.holder?.owner === owner && e.holder.index === index && e.device === device) return step as StepOf<Scalar>;
  }
  return null;
}

export function nextConstant(at: Step, device: Device, dtype: DType, shape: Shape): StepOf<Constant> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "constant" && e.dtype === dtype && e.device === device && sameData(e.shape, shape)) return step as StepOf<Constant>;
  }
  return null;
}

export function nextAssignment(at: Step, target: Tensor, source: Tensor): StepOf<Assignment> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "assign" && isSame(e.target, target) && isSame(e.source, source)) return step as StepOf<Assignment>;
  }
  return null;
}

export function nextRewrite(at: Step, target: Tensor, value: Tensor): StepOf<Rewrite> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "rewrite" && (!e.target.isOuter || e.target.tensor === target) && isSame(e.target, target) && isSame(e.value, value))
      return step as StepOf<Rewrite>;
  }
  return null;
}

export function nextCustom(at: Step, node: TapeNode, inputs: readonly Tensor[]): StepOf<Custom> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "custom" && e.node.isLike(node) && areSame(e.inputs, inputs)) return step as StepOf<Custom>;
  }
  return null;
}

export function nextLoop(
  at: Step,
  { name, length, reverse }: Loop,
  init: readonly Tensor[],
  xs: readonly Tensor[],
): StepOf<LoopBegin> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "loop" && e.name === name && e.length === length && e.reverse === reverse && areSame(e.init, init) && areSame(e.xs, xs))
      return step as StepOf<LoopBegin>;
  }
  return null;
}

export function nextLoopTest(at: Step, begin: LoopBegin, holds: Tensor): StepOf<LoopTest> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "loopTest" && e.begin === begin && isSame(e.holds, holds)) return step as StepOf<LoopTest>;
  }
  return null;
}

export function nextLoopEnd(at: Step, begin: LoopBegin, carry: readonly Tensor[], ys: readonly Tensor[]): StepOf<LoopEnd> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if (e.kind === "loopEnd" && e.begin === begin && areSame(e.carry, carry) && areSame(e.ys, ys)) return step as StepOf<LoopEnd>;
  }
  return null;
}

function areSameGuards(a: readonly unknown[], b: readonly unknown[]): boolean {
  for (let i = 0; i < a.length; i++) if (!isSameGuard(a[i], b[i])) return false;
  return true;
}

/** A region of the same owner over the same tensors. applies: whether the gradients and hooks are as they were when it was recorded. */
export function nextRegion(
  at: Step,
  owner: object,
  tensors: readonly (Tensor | null)[],
  guards: readonly unknown[],
  applies: (region: Region) => boolean,
): StepOf<Region | RetracedRegion> | null {
  for (let step = at.first; step !== null; step = step.sibling) {
    const e = step.event!;
    if ((e.kind !== "region" && e.kind !== "retraced") || e.owner !== owner || !areSameOrNull(e.tensors, tensors)) continue;
    if (e.guards.length !== guards.length || !areSameGuards(e.guards, guards)) continue;
    if (e.kind === "retraced" || applies(e)) return step as StepOf<Region | RetracedRegion>;
  }
  return null;
}
