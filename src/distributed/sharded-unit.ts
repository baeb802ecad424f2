/** The parameters of a module that the ranks of a group hold in parts: gathered before use, and their gradients scattered after. */
import { currentPass } from "../autograd/backward-pass.ts";
import { isGradEnabled, noGrad } from "../autograd/grad-mode.ts";
import { attach } from "../autograd/record.ts";
import type { SavedHooks } from "../autograd/saved-hooks.ts";
import { TapeNode, type Gradients } from "../autograd/tape.ts";
import { AutogradError } from "../core/errors.ts";
import { keep, outsideScopes, scope } from "../core/scope.ts";
import type { Shape } from "../core/shape.ts";
import { internDesc, type Desc, type Storage } from "../core/storage.ts";
import { partOf, setPart } from "../core/tensor-part.ts";
import { Tensor } from "../core/tensor.ts";
import { cutPart } from "../nn/cut-part.ts";
import type { Parameter } from "../nn/parameter.ts";
import { replace } from "../nn/replace.ts";
import { setAgreement } from "../optim/found-agreement.ts";
import { zeros } from "../ops/creation/creation.ts";
import { clone } from "../ops/data/state.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { agreementOf } from "./agreed-found.ts";
import { EngineMemory } from "./engine-memory.ts";
import { described, type ProcessGroup } from "./process-group.ts";

const OPERATION = "fullyShard";

/** A parameter of which each rank has `length` elements, the last one padded by zeros. */
interface Sharded {
  readonly parameter: Parameter;
  /** Of the whole parameter. */
  readonly shape: Shape;
  readonly size: number;
  readonly length: number;
}

/** Whose whole parameter a storage is. */
const wholes = new WeakMap<Storage, { readonly unit: ShardedUnit; readonly parameter: Parameter }>();
const units = new WeakMap<Tensor, ShardedUnit>();

/** @internal The unit that holds a parameter in parts; undefined for others. */
export const unitOf = (t: Tensor): ShardedUnit | undefined => units.get(t);

/** @internal The parameters of one call of fullyShard(). */
export class ShardedUnit {
  readonly group: ProcessGroup;
  readonly #all: readonly Sharded[];
  /** Lists of one dtype and one device: a message each. */
  readonly #kinds: readonly (readonly Sharded[])[];
  #whole: Map<Tensor, Tensor> | null = null;
  #running = 0;

  /** The parameters become this rank's parts. */
  constructor(group: ProcessGroup, parameters: readonly Parameter[]) {
    this.group = group;
    this.#all = parameters.map((parameter) => {
      const { shape, size } = parameter;
      return { parameter, shape, size, length: Math.ceil(size / group.size) };
    });
    const kinds = new Map<string, Sharded[]>();
    for (const one of this.#all) {
      const key = `${one.parameter.dtype} ${one.parameter.device}`;
      kinds.set(key, [...(kinds.get(key) ?? []), one]);
    }
    this.#kinds = [...kinds.values()];
    for (const one of this.#all) {
      const { parameter, shape, length } = one;
      units.set(parameter, this);
      setPart(parameter, { shape, start: group.rank * length, length });
      setAgreement(parameter, agreementOf(group));
      this.take(parameter, parameter);
    }
  }

  #shardedOf(parameter: Tensor): Sharded {
    return this.#all.find((one) => one.parameter === parameter)!;
  }

  /** The shape of the whole parameter. */
  shapeOf(parameter: Tensor): Shape {
    return this.#shardedOf(parameter).shape;
  }

  /** This rank's part of a whole tensor: [length]. */
  partOf(parameter: Tensor, whole: Tensor): Tensor {
    return cutPart(whole, partOf(parameter)!);
  }

  /** The parameter becomes this rank's part of a whole tensor. */
  take(parameter: Parameter, whole: Tensor): void {
    outsideScopes(() => {
      const part = this.partOf(parameter, whole);
      replace(parameter, part);
    });
  }

  /** Whole tensors of the parts that all ranks give, in the order of the parameters. Blocks. */
  gathered(parts: readonly Tensor[], of: readonly Sharded[]): Tensor[] {
    const { size: ranks } = this.group;
    const { dtype, device } = parts[0]!;
    const total = of.reduce((sum, { length }) => sum + length, 0);
    if (total === 0) return of.map(({ shape }) => noGrad(() => zeros(shape, { dtype, device })));
    const isOne = parts.length === 1;
    const input = isOne ? EngineMemory.toRead(OPERATION, parts[0]!) : EngineMemory.joined(OPERATION, parts);
    const output = EngineMemory.empty(OPERATION, { dtype, device, shape: [ranks, total] });
    const what = described("allGather", OPERATION, dtype, [total]);
    this.group.reduceNow(OPERATION, { kind: "allGather", what, input: input.bytesNow(true), output: output.bytesNow(false) })();
    input.read();
    const rows = output.written();
    let start = 0;
    const wholes = of.map(({ shape, length }) => {
      // The parts of a single parameter are contiguous already.
      const packed = isOne ? rows : outsideScopes(() => scope(() => noGrad(() => clone(narrow(rows, 1, start, length)))));
      start += length;
      const whole = new Tensor(packed.storage, internDesc(device, dtype, shape));
      packed.dispose();
      return whole;
    });
    if (!isOne) rows.dispose();
    return wholes;
  }

  /** Whole tensors of something that each rank has a part of, such as an optimizer's state of this parameter. */
  gatherLike(parameter: Tensor, part: Tensor): Tensor {
    return this.gathered([part], [this.#shardedOf(parameter)])[0]!;
  }

  /** The whole parameters, which stay until release(). */
  #gather(): ReadonlyMap<Tensor, Tensor> {
    if (this.#whole !== null) return this.#whole;
    const made = new Map<Tensor, Tensor>();
    outsideScopes(() => {
      for (const list of this.#kinds)
        this.gathered(
          list.map(({ parameter }) => parameter),
          list,
        ).forEach((whole, i) => {
          const { parameter } = list[i]!;
          wholes.set(whole.storage, { unit: this, parameter });
          made.set(parameter, whole);
        });
    });
    this.#whole = made;
    return made;
  }

  /** The whole parameter, in a tensor of its own. All ranks call it. */
  wholeOf(parameter: Tensor): Tensor {
    return this.gatherLike(parameter, parameter);
  }

  /** Frees the whole parameters. What else shows their memory keeps it. */
  release(): void {
    for (const whole of this.#whole?.values() ?? []) whole.dispose();
    this.#whole = null;
  }

  /** Runs fn with the whole parameters, by the parts, through which gradients flow. */
  use<T>(isKept: boolean, fn: (whole: ReadonlyMap<Tensor, Tensor>) => T): T {
    // What an earlier pass has left may be old.
    if (this.#running === 0) this.release();
    const own = outsideScopes(() => {
      const made = new Map<Tensor, Tensor>();
      for (const [parameter, { storage, desc, offset }] of this.#gather()) made.set(parameter, new Tensor(storage, desc, offset));
      return made;
    });
    this.#record(own);
    this.#running++;
    try {
      return fn(own);
    } finally {
      for (const t of own.values()) t.dispose();
      if (--this.#running === 0 && !(isKept && isGradEnabled())) this.release();
    }
  }

  #record(own: ReadonlyMap<Tensor, Tensor>): void {
    const wanted = this.#all.filter(({ parameter }) => parameter.requiresGrad);
    if (!isGradEnabled() || wanted.length === 0) return;
    const outputs = wanted.map(({ parameter }) => own.get(parameter)!);
    const run = (dys: Gradients): Gradients => {
      if (isGradEnabled())
        throw new AutogradError({ operation: OPERATION, received: "backward with createGraph", expected: "first derivatives" });
      // All that the whole parameters were needed for is computed.
      this.release();
      return this.#scatter(wanted, dys);
    };
    const inputs = wanted.map(({ parameter }) => parameter);
    attach(
      new TapeNode(
        OPERATION,
        inputs,
        outputs.map((t) => t.desc),
        [],
        run,
      ),
      outputs,
    );
  }

  /** The mean of all ranks' gradients, of which each gets its part. Null where no rank has one. */
  #scatter(wanted: readonly Sharded[], dys: Gradients): Gradients {
    const { group } = this;
    const used = Uint8Array.from(dys, (dy) => Number(dy !== null));
    const what = described("allReduce", "max", "uint8", [used.length]);
    group.reduceNow(OPERATION, { kind: "allReduce", what, dtype: "uint8", reduction: "max", input: used, output: used })();
    const results: (Tensor | null)[] = wanted.map(() => null);
    for (const kind of this.#kinds) {
      const list = wanted
        .map((one, i) => ({ ...one, i }))
        .filter(({ parameter, i }) => used[i] === 1 && kind.some((k) => k.parameter === parameter));
      const total = list.reduce((sum, { length }) => sum + length, 0);
      if (total === 0) continue;
      const { dtype, device } = list[0]!.parameter;
      const rows = outsideScopes(() =>
        scope(() =>
          noGrad(() =>
            cat(
              list.map(({ i, size, length }) => {
                const gap = length * group.size - size;
                const dy = dys[i] ?? zeros([size], { dtype, device });
                const flat = reshape(dy.detach(), [-1]);
                return reshape(gap === 0 ? flat : cat([flat, zeros([gap], { dtype, device })]), [group.size, length]);
              }),
              1,
            ),
          ),
        ),
      );
      const input = EngineMemory.inPlace(OPERATION, rows);
      const output = EngineMemory.empty(OPERATION, { dtype, device, shape: [total] });
      const call = described("reduceScatter", "mean", dtype, [total]);
      group.reduceNow(OPERATION, {
        kind: "reduceScatter",
        what: call,
        dtype,
        reduction: "mean",
        input: input.bytesNow(true),
        output: output.bytesNow(false),
      })();
      input.read();
      const flat = output.written();
      noGrad(() => {
        let start = 0;
        for (const { i, length } of list) {
          results[i] = clone(narrow(flat, 0, start, length));
          start += length;
        }
      });
      flat.dispose();
    }
    return results;
  }

  /** Its whole parameter again, for a gradient that needs it. Gathered once for all of the unit, until the pass is over. */
  again(parameter: Parameter): Tensor {
    currentPass()?.ends.push(() => this.release());
    return this.#gather().get(parameter)!;
  }
}

/** What a node saves while a sharded module runs. */
type Packed =
  | { readonly unit: ShardedUnit; readonly parameter: Parameter; readonly desc: Desc; readonly offset: number }
  | { readonly t: Tensor; readonly version: number }
  | { readonly outer: unknown };

/** @internal Hooks that save a whole parameter as its name. What else is saved goes to the hooks around, or stays as it is. */
export function shardHooks(outer: SavedHooks | null): SavedHooks {
  return {
    pack: (t): Packed => {
      const whole = wholes.get(t.storage);
      if (whole === undefined) return outer === null ? { t: keep(t), version: t.storage.version } : { outer: outer.pack(t) };
      const { desc, offset } = t;
      t.dispose();
      return { ...whole, desc, offset };
    },
    unpack: (value) => {
      const packed = value as Packed;
      if ("outer" in packed) return outer!.unpack(packed.outer);
      if ("unit" in packed) {
        const { storage } = packed.unit.again(packed.parameter);
        return { tensor: outsideScopes(() => new Tensor(storage, packed.desc, packed.offset)), isOwn: true };
      }
      const { t, version } = packed;
      if (t.storage.version !== version && t.storage.isChanged(version, t.offset, t.offset + t.desc.extent))
        throw new AutogradError({
          operation: "backward",
          argument: t.describe(),
          expected: "unchanged since it was saved",
          received: "an in-place operation changed it",
        });
      return { tensor: t, isOwn: false };
    },
    drop: (value) => {
      const packed = value as Packed;
      if ("outer" in packed) outer!.drop(packed.outer);
      else if ("t" in packed) packed.t.dispose();
    },
  };
}
