/** A program of the planner's on a device of a backend from outside: its kernels, prepared once, and the order in which they run. */
import type { BindingRange, ProgramDescription } from "../native/binding.ts";
import { failure } from "./failure.ts";
import type { BackendCall, BackendKernel, BackendProgram, BackendRange, BackendSlotRange, BackendStep } from "./interface.ts";
import { NodeFallback } from "./node-fallback.ts";
import { callOf, splitActivation } from "./outside-call.ts";
import type { NativeDevice } from "./provider.ts";

/** A kernel with the name of its operator or operation. */
interface NamedKernel {
  readonly name: string;
  readonly kernel: BackendKernel;
}

/** What a dispatchable has become: kernels, one behind the other, or the software adapter's operator. */
type Prepared = readonly NamedKernel[] | NodeFallback;

type SlotRanges = readonly (BackendSlotRange | null)[];

export type OutsideStep =
  | { readonly kind: "copy"; readonly from: BackendSlotRange; readonly to: BackendSlotRange }
  | {
      readonly kind: "dispatch";
      readonly prepared: Prepared;
      readonly inputs: SlotRanges;
      readonly outputs: SlotRanges;
      readonly origin: string;
    };

const slotRange = (range: BindingRange): BackendSlotRange | null =>
  range === null ? null : { slot: range[0], offset: range[1], size: range[2] };

const bound = (range: BackendSlotRange | null, slots: readonly (BackendRange | null)[]): BackendRange | null => {
  const slot = range === null ? null : slots[range.slot]!;
  return range === null || slot === null ? null : { memory: slot.memory, offset: slot.offset + range.offset, size: range.size };
};

/** Ranges of slots over the memories of a call. */
export const boundAll = (ranges: SlotRanges, slots: readonly (BackendRange | null)[]): (BackendRange | null)[] =>
  ranges.map((r) => bound(r, slots));

export class OutsideProgram {
  readonly description: ProgramDescription;
  readonly steps: readonly OutsideStep[];
  /** The whole as one piece of work, where the backend takes it so. */
  readonly whole: BackendProgram | null;
  readonly #fallbacks: readonly NodeFallback[];

  constructor(
    description: ProgramDescription,
    prepare: (call: BackendCall) => BackendKernel | null,
    prepareWhole: (steps: readonly BackendStep[]) => BackendProgram | null,
    software: () => NativeDevice,
  ) {
    this.description = description;
    const dispatchables = description.dispatchables.map((d): Prepared => {
      if ("call" in d) return [{ name: d.call.operation, kernel: d.kernel as BackendKernel }];
      if (!("fields" in d)) throw failure("unsupported", "it runs operators, no shaders and no graphs of DirectML");
      const call = callOf(d);
      const kernel = prepare(call);
      if (kernel !== null) return [{ name: call.operator, kernel }];
      const parts = splitActivation(call)?.map((part) => ({ name: part.operator, kernel: prepare(part) })) ?? [];
      return parts.length > 0 && parts.every((part) => part.kernel !== null)
        ? (parts as readonly NamedKernel[])
        : new NodeFallback(d, call, software);
    });
    this.#fallbacks = dispatchables.filter((d) => d instanceof NodeFallback);
    this.steps = description.steps
      .map((step, i) => ({ step, i }))
      .sort((a, b) => a.step.group - b.step.group || a.i - b.i)
      .map(({ step }): OutsideStep => {
        if ("copy" in step) return { kind: "copy", from: slotRange(step.copy[0])!, to: slotRange(step.copy[1])! };
        const { dispatch, inputs, outputs, origin = description.name } = step;
        return {
          kind: "dispatch",
          prepared: dispatchables[dispatch]!,
          inputs: inputs.map(slotRange),
          outputs: outputs.map(slotRange),
          origin,
        };
      });
    this.whole = this.steps.length > 1 && this.#fallbacks.length === 0 ? prepareWhole(this.steps.flatMap(backendSteps)) : null;
  }

  release(): void {
    for (const fallback of this.#fallbacks) fallback.release();
  }
}

function backendSteps(step: OutsideStep): BackendStep[] {
  if (step.kind === "copy") return [{ copy: [step.from, step.to] }];
  const { prepared, inputs, outputs } = step;
  if (prepared instanceof NodeFallback) return [];
  // What follows the first kernel is an activation over its result.
  return prepared.map(({ kernel }, i) => ({
    kernel,
    inputs: i === 0 ? inputs : outputs.filter((r) => r !== null),
    outputs: i === 0 ? outputs : outputs.filter((r) => r !== null),
  }));
}

/** The kernels of a step with the ranges of each. */
export const kernelsOf = backendSteps;
