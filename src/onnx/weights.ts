/** The weights of a model as parameters and buffers, and how to see that a program still has them. */
import { isFloat } from "../core/dtype.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { Parameter } from "../nn/parameter.ts";
import { UPLOADED } from "./format/attribute-constants.ts";
import type { Constant } from "./format/value.ts";
import type { Role } from "./learned.ts";

/** A tensor of a module's state. */
interface Held {
  readonly tensor: Tensor;
  readonly persistent: boolean;
}

interface Seen {
  readonly constant: Constant;
  tensor: Tensor | null;
  storage: Storage | null;
  version: number;
  requiresGrad: boolean;
}

export class Weights {
  readonly parameters = new Map<string, Constant>();
  /** Running statistics, which are part of the state, and constants on the device, which are not. */
  readonly buffers = new Map<string, Held>();
  /** Running statistics. */
  readonly statistics: Constant[] = [];
  readonly #seen: Seen[] = [];
  readonly #changed: () => void;
  #storages: Set<Storage> | null = null;
  #generation = 0;
  #key = "";

  /** changed: called when programs that have been made are of other weights. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Puts a constant of the model on its device, if it is a weight or a large one. */
  add(name: string, constant: Constant, role: Role, device: Parameters<Constant["on"]>[0], isTrainable: boolean): void {
    const isWeight = role !== "constant" && isFloat(constant.dtype) && constant.shape.length > 0 && constant.size > 0;
    if (!isWeight && constant.size < UPLOADED) return;
    constant.isOwned = true;
    const data = constant.on(device);
    let own = name;
    for (let i = 2; this.buffers.has(own) || this.parameters.has(own); i++) own = `${name}#${i}`;
    if (isWeight && role === "parameter") {
      constant.show(new Parameter(data, { requiresGrad: isTrainable }));
      data.dispose();
      constant.isParameter = true;
      this.parameters.set(own, constant);
    } else {
      this.buffers.set(own, { tensor: data, persistent: isWeight });
      if (isWeight) this.statistics.push(constant);
    }
    this.#seen.push({ constant, tensor: null, storage: null, version: 0, requiresGrad: false });
  }

  /** Takes those away that nothing reads any more, and frees them. */
  keep(isUsed: (constant: Constant) => boolean): void {
    const isLost = ({ constant }: Seen): boolean => !isUsed(constant);
    const lost = this.#seen.filter(isLost);
    const kept = this.#seen.filter((s) => !isLost(s));
    this.#seen.length = 0;
    this.#seen.push(...kept);
    for (const { constant } of lost) {
      for (const [name, c] of this.parameters) if (c === constant) this.parameters.delete(name);
      for (const [name, { tensor }] of this.buffers) if (tensor === constant.tensor) this.buffers.delete(name);
      if (this.statistics.includes(constant)) this.statistics.splice(this.statistics.indexOf(constant), 1);
      constant.dispose();
    }
  }

  /** Whether a tensor shares its memory with a weight. */
  isWeight(t: Tensor): boolean {
    if (this.#storages === null) {
      void this.key;
      this.#storages = new Set(this.#seen.flatMap(({ storage }) => (storage === null ? [] : [storage])));
    }
    return this.#storages.has(t.storage);
  }

  /** Equal for calls that one program serves: it has the same weights, of which the same require gradients. */
  get key(): string {
    let isSame = true;
    let isRequired = true;
    for (let i = 0; i < this.#seen.length; i++) {
      const seen = this.#seen[i]!;
      const t = seen.constant.tensor!;
      if (t !== seen.tensor || t.storage !== seen.storage || (seen.constant.isRead && t.storage.version !== seen.version)) {
        seen.tensor = t;
        seen.storage = t.storage;
        seen.version = t.storage.version;
        isSame = false;
      }
      if (t.requiresGrad !== seen.requiresGrad) {
        seen.requiresGrad = t.requiresGrad;
        isRequired = false;
      }
    }
    if (!isSame) {
      this.#storages = null;
      this.#generation++;
      this.#changed();
    }
    if (!isSame || !isRequired) this.#key = `${this.#generation}:${this.#seen.map((s) => (s.requiresGrad ? "1" : "0")).join("")}`;
    return this.#key;
  }

  /** Whether all parameters are the model's own, not tensors that functionalCall() has put there. */
  get areOwn(): boolean {
    for (const c of this.parameters.values()) if (!(c.tensor instanceof Parameter)) return false;
    return true;
  }

  dispose(): void {
    for (const { constant } of this.#seen) constant.dispose();
  }
}
