/** A compiled training step on several devices of one process: each computes a part of the batch, and updates parameters of its own. */
import { noGrad } from "../autograd/grad-mode.ts";
import type { Device } from "../core/device.ts";
import { AutogradError, DeviceError, TraceError, ValueError } from "../core/errors.ts";
import { keep, outsideScopes, scope } from "../core/scope.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { mapTree } from "../control/tree.ts";
import { to } from "../ops/data/conversion.ts";
import { clone, copy_ } from "../ops/data/state.ts";
import { exchange, mayExchange, type Shipment } from "../runtime/exchange.ts";
import { movedTo, partsOf } from "./batch-parts.ts";
import { Replica, type ReplicaPlan, type StepOptimizer } from "./device-replica.ts";
import { withTensors } from "./functional-call.ts";
import { layoutOf } from "./gradient-layout.ts";
import type { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";
import { replicate } from "./replicas.ts";

export type { StepOptimizer } from "./device-replica.ts";

const OPERATION = "DataParallel.compileStep";

/** Options of DataParallel.compileStep(). */
export interface DeviceStepOptions<P extends StepOptimizer> {
  /** What changes the parameters, in place of `optimizer.step()`: clipping, for example. It is compiled, and called with each device's optimizer. */
  readonly update?: ((optimizer: P) => void) | undefined;
  /** As of compile(): whether each call runs lossOf to see that it asks for the same. Default: true. */
  readonly check?: boolean | undefined;
  /** Gradients travel in parts of at least so many bytes. Default: half of them, between 256 KiB and 8 MiB. */
  readonly bucketSizeInBytes?: number | undefined;
}

/** What DataParallel.compileStep() gives: a call is a step, and gives its loss. */
export interface DeviceStep<Inputs extends readonly unknown[]> {
  (...inputs: Inputs): Tensor;
  /** The same with the inputs of each device's part, which are on that device: nothing has to be split or copied. */
  ofParts(parts: readonly Inputs[]): Tensor;
  /** How many programs there are: two for each device, as long as the inputs are of one kind. */
  readonly programs: number;
  /** Frees the programs, and what the other devices have. */
  dispose(): void;
}

/** The number of elements along an axis of the first tensor that has it. */
function lengthOf(inputs: unknown, axis: number): number {
  let length: number | null = null;
  mapTree(inputs, (t) => {
    if (t.rank > axis) length ??= t.shape[axis]!;
    return t;
  });
  return length ?? 1;
}

/** The same optimizer of other parameters, in the same order. */
function cloneOf<P extends StepOptimizer>(optimizer: P, copies: ReadonlyMap<Tensor, Tensor>): P {
  const groups = optimizer.paramGroups.map(({ params, options }) => ({ ...options, params: params.map((p) => copies.get(p)!) }));
  const Class = optimizer.constructor as new (groups: unknown, defaults: object) => P;
  return new Class(groups, optimizer.defaults);
}

/** Where tensors are and how often they were written. */
type Marks = readonly (readonly [storage: Storage, version: number])[];
const marksOf = (tensors: readonly Tensor[]): Marks => tensors.map(({ storage }) => [storage, storage.version]);

/** @package What a step works with. */
export class DeviceTraining<M extends Module, Inputs extends readonly unknown[], P extends StepOptimizer> {
  readonly #module: M;
  readonly #devices: readonly Device[];
  readonly #axis: number;
  readonly #parameters: readonly Parameter[];
  readonly #optimizer: P;
  readonly #replicas: Replica<Inputs, P>[] = [];
  /** What stands for the module's tensors on the other devices, by device. */
  readonly #copies: ReadonlyMap<Tensor, Tensor>[] = [];
  readonly #mayExchange: boolean;
  /** Of the module's parameters after the last step: others were written since. */
  #marks: Marks = [];

  constructor(
    module: M,
    devices: readonly Device[],
    axis: number,
    lossOf: (...inputs: Inputs) => Tensor,
    optimizer: P,
    { update = (own) => void own.step(), check = true, bucketSizeInBytes }: DeviceStepOptions<P>,
  ) {
    this.#module = module;
    this.#devices = devices;
    this.#axis = axis;
    this.#optimizer = optimizer;
    const own = optimizer.paramGroups.flatMap(({ params }) => params);
    const all = new Set<Tensor>(module.parameters());
    const other = own.find((p) => !all.has(p));
    if (other !== undefined) throw new ValueError(OPERATION, "optimizer", "of the module's parameters", other.describe());
    this.#parameters = module.parameters().filter((p) => p.requiresGrad && own.includes(p));
    if (this.#parameters.length === 0)
      throw new AutogradError({
        operation: OPERATION,
        argument: "optimizer",
        expected: "of parameters that require gradients",
        received: "none",
      });
    this.#requireHome();
    const total = this.#parameters.reduce((n, p) => n + p.size * 4, 0);
    const limit = bucketSizeInBytes ?? Math.min(8 * 2 ** 20, Math.max(256 * 2 ** 10, total / 2));
    if (!(limit >= 1)) throw new ValueError(OPERATION, "bucketSizeInBytes", "at least 1", bucketSizeInBytes);
    // The loss travels with the first of them.
    const buckets = layoutOf([...this.#parameters, { dtype: "float32", size: 1 }], limit);
    const modules = module.modules();
    const plan: ReplicaPlan<Inputs, P> = {
      buckets,
      lossOf: (replica, ...inputs) => {
        const copies = this.#copies[this.#replicas.indexOf(replica)]!;
        return copies.size === 0 ? lossOf(...inputs) : withTensors(modules, copies, () => lossOf(...inputs));
      },
      update,
      check,
    };
    this.#mayExchange = mayExchange(OPERATION, devices);
    devices.forEach((device, i) => {
      const copies = i === 0 ? new Map<Tensor, Tensor>() : this.#replicate(device);
      this.#copies.push(copies);
      const parameters = this.#parameters.map((p) => copies.get(p) ?? p);
      const its = i === 0 ? optimizer : cloneOf(optimizer, copies);
      this.#replicas.push(new Replica(i, devices, parameters, its, plan));
    });
  }

  #requireHome(): void {
    const [first] = this.#devices;
    for (const t of [...this.#module.parameters(), ...this.#module.buffers()])
      if (t.device !== first!)
        throw new DeviceError(OPERATION, "module", `all on ${first!}`, `one on ${t.device}`, `Use module.to("${first!}").`);
  }

  #replicate(device: Device): ReadonlyMap<Tensor, Tensor> {
    return outsideScopes(() =>
      noGrad(() => {
        const made = new Map<Tensor, Tensor>();
        for (const [t, copy] of replicate(this.#module.parameters(), this.#module.buffers(), device)) {
          const own = clone(copy);
          made.set(t, t instanceof Parameter ? new Parameter(own, { requiresGrad: t.requiresGrad }) : keep(own));
        }
        return made;
      }),
    );
  }

  /** The other devices take what was written to the module or its optimizer since the last step, and the options of the optimizer. */
  #follow(): void {
    const isSame =
      this.#marks.length > 0 &&
      this.#parameters.every((p, i) => {
        const [storage, version] = this.#marks[i]!;
        return p.storage === storage && p.storage.version === version;
      });
    this.#copies.forEach((copies, i) => {
      if (i === 0) return;
      const { optimizer } = this.#replicas[i]!;
      if (!isSame) {
        noGrad(() => {
          scope(() => {
            for (const [t, value] of replicate(this.#module.parameters(), this.#module.buffers(), this.#devices[i]!))
              copy_(copies.get(t)!, value);
          });
        });
        optimizer.loadStateDict(this.#optimizer.stateDict() as never);
      }
      this.#optimizer.paramGroups.forEach(({ options }, k) => {
        const target = optimizer.paramGroups[k]!.options;
        for (const name of Object.keys(options) as (keyof typeof options)[])
          if (!Object.is(target[name], options[name])) Object.assign(target, { [name]: options[name] });
      });
    });
  }

  step(inputs: Inputs): Tensor {
    const parts = partsOf(OPERATION, inputs, this.#devices.length, this.#axis) as unknown as readonly Inputs[];
    if (parts.length < this.#devices.length)
      throw new ValueError(
        OPERATION,
        "inputs",
        `of at least ${this.#devices.length} along axis ${this.#axis}, one for each device`,
        parts.length,
      );
    return scope(() => keep(this.ofParts(parts.map((part, i) => movedTo(part, this.#devices[i]!)))));
  }

  ofParts(parts: readonly Inputs[]): Tensor {
    if (tracer() !== null)
      throw new TraceError({ operation: OPERATION, received: "a call while a function is compiled", hint: "The step is compiled itself." });
    if (parts.length !== this.#devices.length)
      throw new ValueError(OPERATION, "parts", `the inputs of ${this.#devices.length} devices`, parts.length);
    parts.forEach((part, i) =>
      mapTree(part, (t) => {
        if (t.device === this.#devices[i]) return t;
        throw new DeviceError(OPERATION, `parts[${i}]`, `on ${this.#devices[i]!}`, `one on ${t.device}`);
      }),
    );
    this.#requireHome();
    this.#follow();
    const lengths = parts.map((part) => lengthOf(part, this.#axis));
    const total = lengths.reduce((a, b) => a + b, 0);
    parts.forEach((part, i) => this.#replicas[i]!.backward(lengths[i]! / total, part));
    this.#reduce();
    const [loss] = this.#replicas.map((replica, i) => {
      const own = replica.update();
      if (i > 0) own.dispose();
      return own;
    });
    this.#marks = marksOf(this.#parameters);
    return loss!;
  }

  /** Each device gets the gradients of all others. */
  #reduce(): void {
    const made = this.#replicas.map((replica) => replica.made());
    const shipments = this.#replicas[0]!.own.flatMap((_, bucket) =>
      this.#replicas.flatMap((sender, i) =>
        this.#replicas.flatMap((receiver, j): Shipment[] => {
          if (i === j) return [];
          const [maker, part] = [made[i]!.recording, made[i]!.parts[bucket]!];
          return [{ from: sender.own[bucket]!, to: receiver.shares[i]![bucket]!, maker, part, freeBefore: made[j]!.recording }];
        }),
      ),
    );
    if (this.#mayExchange) return exchange(OPERATION, shipments);
    noGrad(() => {
      scope(() => {
        for (const { from, to: target } of shipments) copy_(target, to(from, target.device));
      });
    });
  }

  get programs(): number {
    return this.#replicas.reduce((n, replica) => n + replica.programs, 0);
  }

  dispose(): void {
    this.#replicas.forEach((replica, i) => {
      replica.dispose();
      if (i > 0) replica.optimizer.dispose();
    });
    for (const copies of this.#copies) for (const t of copies.values()) t.dispose();
  }
}
