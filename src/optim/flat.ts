/** Parameters laid out behind each other in one buffer, so that an optimizer updates all of them by a few operations. */
import { holdState } from "../core/holders.ts";
import type { Device } from "../core/device.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { define } from "../core/definition.ts";
import { constant } from "../ops/declare/support.ts";
import { joinFlat } from "../graph/flat-join.ts";
import type { Expr } from "../graph/graph.ts";
import { assignEager, contiguousOp } from "../runtime/assign.ts";
import { fillOp } from "../runtime/constants.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { runCreation, runEager } from "../runtime/eager.ts";
import { ordinary } from "../core/inference.ts";
import { outsideScopes } from "../core/scope.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import { internDesc, type Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";

/** Elements that a tensor takes in a flat buffer: up to the next multiple of 16 bytes, where a binding may start. */
export function paddedSize(dtype: DType, size: number): number {
  const unit = 16 / DTYPES[dtype].sizeInBytes;
  return Math.ceil(size / unit) * unit;
}

/** Tensors of one dtype behind each other, each padded with zeros to a multiple of 16 bytes. DirectML: JOIN. */
export const gatherFlatOp = define({
  name: "gatherFlat",
  traits: { carries: true },
  infer: (inputs) => [{ shape: [inputs.reduce((n, x) => n + paddedSize(x.dtype, sizeOf(x.shape)), 0)], dtype: inputs[0]!.dtype }],
  lower: (g, inputs) => {
    const dtype = inputs[0]!.dtype;
    const fillers = new Map<number, Expr>();
    const filler = (length: number): Expr => {
      const known = fillers.get(length) ?? g.packed(constant(g, dtype, 0, [length]));
      fillers.set(length, known);
      return known;
    };
    const parts = inputs.flatMap((x) => {
      const size = sizeOf(x.sizes);
      const pad = paddedSize(dtype, size) - size;
      return pad === 0 ? [g.reshape(x, [size])] : [g.reshape(x, [size]), filler(pad)];
    });
    return [joinFlat(g, parts, dtype)];
  },
  grad: null,
});

/** Storages that hold the parameters of an optimizer, so that no other one takes them out. */
const owners = new WeakMap<Storage, object>();

/** Parameters come to lie in what these make: it is ordinary, in inferenceMode() too. */
const ordinaryOutside = <T>(fn: () => T): T => outsideScopes(() => ordinary(fn));

/** @internal The operations here run at once, also while a function is being traced: they make state, not results. */
export const atOnce = {
  full: (device: Device, dtype: DType, size: number, value: number): Tensor =>
    ordinaryOutside(() => runCreation(fillOp, nativeDevice(device), { shape: [size], dtype, value })[0]!),
  copy: (t: Tensor): Tensor => ordinaryOutside(() => runEager(contiguousOp, [t], undefined)[0]!),
  gather: (tensors: readonly Tensor[]): Tensor => ordinaryOutside(() => runEager(gatherFlatOp, tensors, undefined)[0]!),
};

/** A packed view of a storage, which no scope disposes of. */
export const viewOf = (base: Tensor, offset: number, shape: readonly number[]): Tensor =>
  outsideScopes(() => new Tensor(base.storage, internDesc(base.device, base.dtype, shape), base.offset + offset));

/** The tensor object shows another range from now on. Its own storage is let go. */
export function repoint(t: Tensor, to: Tensor): void {
  to.storage.retain();
  t.storage.release();
  t.storage = to.storage;
  t.desc = to.desc;
  t.offset = to.offset;
}

/** A state's dtype and shape. Only a parameter that is laid out by itself has states of other shapes than its own. */
export interface StateForm {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** A flat layout for the parameters of one group that have one device and dtype, with state of the same layout. */
export class Partition {
  readonly device: Device;
  readonly dtype: DType;
  readonly parameters: readonly Tensor[];
  /** Where each parameter starts, in elements. */
  readonly offsets: readonly number[];
  readonly total: number;
  /** The buffer of the parameters; null when all of them lie in another optimizer's. */
  data: Tensor | null = null;
  readonly state = new Map<string, Tensor>();
  /** What each parameter's part of a state was filled with last. */
  readonly #initial = new Map<string, (number | null)[]>();
  readonly #owner: object;

  readonly #formOf: (name: string) => Partial<StateForm>;
  readonly #forms = new Map<string, Partial<StateForm>>();

  /** formOf: how a state differs from its parameter, asked once for each name. */
  constructor(owner: object, parameters: readonly Tensor[], formOf: (name: string) => Partial<StateForm> = () => ({})) {
    this.#owner = owner;
    this.device = parameters[0]!.device;
    this.dtype = parameters[0]!.dtype;
    this.parameters = parameters;
    this.#formOf = formOf;
    let at = 0;
    this.offsets = parameters.map((p) => {
      const here = at;
      at += paddedSize(p.dtype, p.size);
      return here;
    });
    this.total = at;
    holdState(this.state);
  }

  /** Moves the parameters into one buffer, except those that lie in another optimizer's or are seen by other tensors. */
  arrange(): void {
    if (this.isArranged) return;
    const own = (p: Tensor): boolean => !this.#isForeign(p);
    if (!this.parameters.some(own)) return;
    const data = atOnce.gather(this.parameters);
    owners.set(data.storage, this.#owner);
    data.storage.divide();
    this.parameters.forEach((p, i) => {
      if (!own(p)) return;
      const view = viewOf(data, this.offsets[i]!, p.shape);
      repoint(p, view);
      view.dispose();
    });
    this.data?.dispose();
    this.data = data;
  }

  /** Lies in another optimizer's buffer, or shares its own with other tensors, which are to see the updates. */
  #isForeign(p: Tensor): boolean {
    const owner = owners.get(p.storage);
    return owner === undefined ? p.storage.refs > 1 : owner !== this.#owner;
  }

  /** Whether every parameter that may be moved lies at its offset of the flat buffer. */
  get isArranged(): boolean {
    return this.parameters.every(
      (p, i) =>
        (this.data !== null && p.storage === this.data.storage && p.offset === this.offsets[i] && p.desc.isPacked) || this.#isForeign(p),
    );
  }

  /** Whether the parameters still have the device and dtype that the layout was made for. */
  get fits(): boolean {
    return this.parameters.every((p) => p.device === this.device && p.dtype === this.dtype);
  }

  /** How a state differs from its parameter. */
  form(name: string): Partial<StateForm> {
    let form = this.#forms.get(name);
    if (form === undefined) this.#forms.set(name, (form = this.#formOf(name)));
    return form;
  }

  /** A named state; at first all its elements are `initial`. */
  stateOf(name: string, initial = 0): Tensor {
    let t = this.state.get(name);
    if (t === undefined) {
      const { dtype, shape } = this.form(name);
      t = atOnce.full(this.device, dtype ?? this.dtype, shape === undefined ? this.total : sizeOf(shape), initial);
      this.state.set(name, t);
      this.#initial.set(
        name,
        this.parameters.map(() => initial),
      );
    }
    return t;
  }

  /** A parameter without state gets one: fills its part with the first value. Done at once, also while a function is traced. */
  begin(name: string, index: number, initial: number): void {
    this.stateOf(name, initial);
    const known = this.#initial.get(name)!;
    if (Object.is(known[index], initial)) return;
    const target = this.stateView(name, index);
    const value = atOnce.full(this.device, target.dtype, target.size, initial);
    const flat = viewOf(target, 0, [target.size]);
    assignEager(flat, value, false);
    for (const t of [flat, value, target]) t.dispose();
    known[index] = initial;
  }

  /** A parameter has no state from now on. */
  end(index: number): void {
    for (const known of this.#initial.values()) known[index] = null;
  }

  /** The part of a state that belongs to a parameter, in the state's shape. */
  stateView(name: string, index: number): Tensor {
    return viewOf(this.stateOf(name), this.offsets[index]!, this.form(name).shape ?? this.parameters[index]!.shape);
  }

  dispose(): void {
    this.data?.dispose();
    this.data = null;
    for (const t of this.state.values()) t.dispose();
    this.state.clear();
  }
}
