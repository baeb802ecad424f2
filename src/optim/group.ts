/** Parameters with the options that they share. */
import { ValueError } from "../core/errors.ts";
import { changing } from "../core/journal.ts";
import type { Tensor } from "../core/tensor.ts";
import { effect } from "../core/tracer.ts";

/** What every optimizer's options contain. */
export interface BaseOptions {
  /** Learning rate. */
  lr: number;
  /**
   * Whether parameters in float16 or bfloat16 have float32 copies that steps change, and their state is float32: the parameter is the copy's
   * rounded value. The copy is taken again where the parameter was changed otherwise. For float32 parameters nothing changes. Default: false.
   */
  masterWeights?: boolean | undefined;
  /**
   * Whether each step adds what rounding the parameters in float16 or bfloat16 lost in the steps before (Kahan summation), which costs as much memory
   * as the parameters. For float32 parameters nothing changes. Not with masterWeights. Default: false.
   */
  kahan?: boolean | undefined;
}

/** Parameters with options of their own. */
export type GroupInput<O extends BaseOptions> = {
  /** The group's parameters. */
  readonly params: Iterable<Tensor>;
} & { readonly [K in keyof O]?: O[K] | undefined };

/** Parameters, or groups of them. */
export type ParametersInput<O extends BaseOptions> = Iterable<Tensor> | Iterable<GroupInput<O>>;

/** State by number of the parameter and name, and the groups' options. */
export interface OptimizerState {
  /** State of each parameter that has taken a step, by its number among all groups. */
  readonly state: Readonly<Record<string, Readonly<Record<string, Tensor>>>>;
  /** Options of each group, and the numbers of its parameters. */
  readonly paramGroups: readonly {
    readonly params: readonly number[];
    readonly options: Readonly<object>;
    /** The rate that a schedule started with. */
    readonly initialLr?: number | undefined;
  }[];
}

/** Parameters that share options. lr may be set at any time, also between the steps of a compiled function. */
export class ParamGroup<O extends BaseOptions> {
  /** The group's parameters. */
  readonly params: readonly Tensor[];
  /** May be changed; a compiled step is then recorded again, but for what schedules change: lr, momentum and the first of betas. */
  readonly options: O;
  /** The rate that a schedule started with; undefined before there was one. */
  initialLr: number | undefined;

  constructor(params: readonly Tensor[], options: O) {
    this.params = params;
    this.options = options;
  }

  /** The learning rate. Throws ValueError below 0. */
  get lr(): number {
    return this.options.lr;
  }

  /** The learning rate. Throws ValueError below 0. */
  set lr(value: number) {
    if (!(typeof value === "number" && value >= 0)) throw new ValueError("optimizer", "lr", "at least 0", value);
    effect(() => {
      this.changing();
      this.options.lr = value;
    });
  }

  /** @internal To be called before the options change. */
  changing(): void {
    changing(this, () => {
      const [options, initialLr] = [{ ...this.options }, this.initialLr];
      return () => {
        Object.assign(this.options, options);
        this.initialLr = initialLr;
      };
    });
  }
}
