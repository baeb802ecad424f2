/**
 * What a profile attaches to while it is on, and takes away afterwards: dispatch's interceptor, another binding for each open device, and other methods
 * on the prototypes of modules, of the tape, of optimizers and of compiled functions. Off, nothing of it is there, and nothing asks for it.
 */
import { record } from "../autograd/record.ts";
import { TapeNode } from "../autograd/tape.ts";
import { Traversal } from "../autograd/traversal.ts";
import { CompiledFunction } from "../compile/compile.ts";
import { CompiledProgram } from "../compile/program.ts";
import type { Definition } from "../core/definition.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Plan } from "../graph/plan/plan.ts";
import { observe, type Interceptor } from "../core/tracer.ts";
import { Optimizer } from "../optim/optimizer.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { runCreation, runEager } from "../runtime/eager.ts";
import { Bindings } from "./bindings.ts";
import { ModuleCalls, type ProfileModules } from "./module-calls.ts";
import type { Origin, Recorder } from "./event-recorder.ts";
import { replace } from "./replace-method.ts";

/** Of a program; null where no operation in it has a formula. */
const flopsOf = ({ steps }: Plan): number | null =>
  steps.reduce((sum, step) => sum + ("dispatch" in step ? (step.flops ?? []).reduce((a, b) => a + b, 0) : 0), 0) || null;

const described = (inputs: readonly Tensor[]): string => inputs.map((t) => t.describe()).join(", ");

/** Sees eager operations; notes for each node of the tape where its operation was asked for. */
function interceptorOf(recorder: Recorder, origins: WeakMap<TapeNode, Origin>): Interceptor {
  const note = (outputs: readonly Tensor[], { module, line }: Origin): void => {
    for (const { node } of outputs) if (node !== null && !origins.has(node)) origins.set(node, { module, line });
  };
  return {
    dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A, records: boolean) {
      const native = inputs.length === 0 ? null : nativeDevice(inputs[0]!.device, definition.name);
      return recorder.within("operation", definition.name, native, ({ event }) => {
        event.inputs = described(inputs);
        const outputs = runEager(definition, inputs, attrs);
        if (definition.multiplyAdds !== undefined) event.flops = 2 * definition.multiplyAdds(inputs, attrs, outputs);
        if (records) record(definition, inputs, attrs, outputs);
        note(outputs, event);
        return outputs;
      });
    },
    view: (definition, input, _, make) =>
      recorder.within("view", definition.name, null, ({ event }) => {
        event.inputs = input.describe();
        event.device = String(input.device);
        const output = make();
        note([output], event);
        return output;
      }),
    create(definition, device, attrs) {
      const native = nativeDevice(device, definition.name);
      return recorder.within("operation", definition.name, native, () => runCreation(definition, native, attrs)[0]!);
    },
  };
}

/** Passes, rules and steps. */
function attachAutograd(recorder: Recorder, origins: WeakMap<TapeNode, Origin>): (() => void)[] {
  return [
    replace(
      Traversal.prototype,
      "run",
      (run) =>
        function (this: Traversal, ...args) {
          return recorder.inPhase("backward", () => recorder.within("backward", "backward", null, () => run.apply(this, args)));
        },
    ),
    replace(
      TapeNode.prototype,
      "backward",
      (backward) =>
        function (this: TapeNode, ...args) {
          const before = recorder.origin;
          recorder.origin = origins.get(this) ?? null;
          try {
            return recorder.inPhase("backward", () => backward.apply(this, args));
          } finally {
            recorder.origin = before;
          }
        },
    ),
    replace(Optimizer.prototype, "step", (step) => {
      return function (this: Optimizer, closure?: () => never) {
        const whole = (): unknown => step.call(this, closure);
        return recorder.inPhase("optimizer", () => recorder.within("optimizer", `${this.constructor.name}.step`, null, whole));
      } as typeof step;
    }),
  ];
}

function attachCompiled(recorder: Recorder): (() => void)[] {
  return [
    replace(
      CompiledFunction.prototype,
      "call",
      (call) =>
        function (this: CompiledFunction, ...args) {
          return recorder.within("compiled", this.name, null, () => call.apply(this, args));
        },
    ),
    replace(
      CompiledProgram.prototype,
      "call",
      (call) =>
        function (this: CompiledProgram, ...args) {
          // Of a large program it is made now.
          const plan = this.description;
          return recorder.within("program", this.name, this.native, ({ event }) => {
            recorder.plan = plan;
            event.flops = flopsOf(plan);
            return call.apply(this, args);
          });
        },
    ),
  ];
}

/** Attaches; detach() takes everything away. */
export function attach(
  recorder: Recorder,
  modules: ProfileModules,
  times: boolean,
): { readonly bindings: Bindings; readonly detach: () => void } {
  const bindings = new Bindings(recorder, times);
  const calls = new ModuleCalls(recorder, modules);
  const origins = new WeakMap<TapeNode, Origin>();
  bindings.attach();
  calls.attach();
  const undo = [...attachAutograd(recorder, origins), ...attachCompiled(recorder)];
  observe(interceptorOf(recorder, origins));
  return {
    bindings,
    detach() {
      observe(null);
      for (const one of undo) one();
      calls.detach();
      bindings.detach();
    },
  };
}
