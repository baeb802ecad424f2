/** The parametrizations of one tensor, and what it is computed of. @package */
import { ValueError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { INNER } from "./inner.ts";
import { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";

/**
 * A module that computes a tensor of one original or several. With rightInverse(), which gives originals for a value, the tensor keeps its value
 * when the parametrization is registered, and can be assigned.
 */
export interface Parametrization extends Module {
  /** The tensor, of its originals or of what the parametrization before gives. */
  forward(...originals: never[]): Tensor;
  /** One original for a value, or a list of several. */
  rightInverse?(value: Tensor): Tensor | readonly Tensor[];
}

/** The tensor becomes a parameter or buffer of the module. @package */
export function hold(module: Module, name: string, t: Tensor, persistent: boolean): void {
  if (t instanceof Parameter) (module as unknown as Record<string, unknown>)[name] = t;
  else module.registerBuffer(name, t, { persistent });
}

/** What a tensor is computed of, and the parametrizations that compute it, in their order. Reference: torch.nn.utils.parametrize.ParametrizationList. */
export class ParametrizationList extends Module {
  /** The one original; null where there are several. */
  readonly original: Tensor | null = null;
  /** @internal */ readonly [INNER]: Parametrization[];
  /** Number of originals: `original`, or `original0` and so on. */
  readonly count: number;
  /** @internal */ unsafe: boolean;

  /** @internal */
  constructor(first: Parametrization, originals: readonly Tensor[], isOne: boolean, persistent: boolean, unsafe: boolean) {
    super();
    this[INNER] = [first];
    this.count = originals.length;
    this.unsafe = unsafe;
    originals.forEach((t, i) => {
      hold(this, isOne ? "original" : `original${i}`, t, persistent);
    });
  }

  /** The originals, and the parametrizations by number. */
  override *members(): Generator<[string, Parameter | Module]> {
    yield* super.members();
    for (const [i, p] of this[INNER].entries()) yield [`${i}`, p];
  }

  /** Number of parametrizations. */
  override get length(): number {
    return this[INNER].length;
  }

  /** The parametrization at an index; from the end if negative. */
  at(index: number): Parametrization {
    const found = this[INNER].at(index);
    if (found === undefined) throw new ValueError("ParametrizationList.at", "index", `in [${-this.length}, ${this.length - 1}]`, index);
    return found;
  }

  /** What the tensor is computed of. */
  get originals(): readonly Tensor[] {
    if (this.original !== null) return [this.original];
    return Array.from({ length: this.count }, (_, i) => (this as unknown as Record<string, Tensor>)[`original${i}`]!);
  }

  /** The tensor. */
  forward(): Tensor {
    const [first, ...others] = this[INNER];
    let value = called(first!, this.originals);
    for (const each of others) value = called(each, [value]);
    return value;
  }

  /** @internal The originals of a value. Throws ValueError where a parametrization has no right inverse. */
  inverse(operation: string, value: Tensor): readonly Tensor[] {
    let values: Tensor | readonly Tensor[] = value;
    for (const each of this[INNER].toReversed()) {
      if (typeof each.rightInverse !== "function")
        throw new ValueError(operation, "value", "assigned where each parametrization has a rightInverse()", each.constructor.name);
      values = each.rightInverse(values as Tensor);
    }
    return values instanceof Tensor ? [values] : values;
  }
}

/** Runs a parametrization with its hooks. @package */
export const called = (module: Module, inputs: readonly Tensor[]): Tensor =>
  (module as unknown as (...inputs: readonly Tensor[]) => Tensor)(...inputs);
