/** SparseAdam: Adam that leaves rows without a gradient alone, for embeddings. */
import { ValueError } from "../core/errors.ts";
import { byPosition } from "../ops/declare/positional.ts";
import { Formula } from "../ops/elementwise/formula.ts";
import { correction, cycledCorrection, steps } from "./clock.ts";
import { checkBetas, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { movedBy, rule, type Rule } from "./rule.ts";

/** Options of sparseAdam(). Reference: torch.optim.SparseAdam. */
export interface SparseAdamOptions extends BaseOptions {
  /** Decay of the averages of the gradient and of its square. The first may change from step to step, as schedules cycle it. */
  betas: readonly [number, number];
  /** Added to the root of the average of squares; above 0. */
  eps: number;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed {
  readonly beta2: number;
  readonly eps: number;
  readonly maximize: boolean;
}

const sparseAdamRule = rule<Fixed>(
  "sparseAdam",
  ({ beta2 }) => [steps, cycledCorrection, correction(beta2)],
  (q, { beta2, eps, maximize }) => {
    const { f, one, wide, rates, counters, state, gradient } = q;
    const { g } = f;
    const { sizes } = gradient;
    // A row counts if one of its elements is not 0, so also if one is NaN.
    const marks = f.where(f.eq(gradient, 0), 0, 1);
    const rows = sizes.map((n, i) => (i === 0 ? n : 1));
    const axes = sizes.map((_, i) => i).slice(1);
    const found = axes.length === 0 ? marks : g.reduce(marks, { function: "MAX", output: { sizes: rows, dtype: marks.dtype }, axes });
    const isFound = g.expand(new Formula(g, "float32", rows).gt(found, 0.5), sizes);
    const d = maximize ? f.neg(gradient) : gradient;
    const m = f.add(f.mul(state[0]!, wide(rates[1]!)), f.mul(d, wide(rates[2]!)));
    const v = f.add(f.mul(state[1]!, beta2), f.mul(f.mul(d, d), 1 - beta2));
    const step = one.div(one.mul(rates[0]!, one.sqrt(counters[2]!)), counters[1]!);
    const moved = movedBy(q, q.p, f.div(m, f.add(f.sqrt(v), eps)), step);
    return [f.where(isFound, moved, q.p), f.where(isFound, m, state[0]!), f.where(isFound, v, state[1]!)];
  },
);

/**
 * Adam's step of those rows (of the first axis) whose gradient is not entirely 0: m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g²;
 * p <- p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps). Parameter and averages of the other rows keep their values to the bit. t counts all steps. The
 * device finds the rows, so that nothing is read back, and a compiled function needs one program whatever rows there are.
 *
 * Gradients are dense, as those of nn.embedding are. PyTorch's sparse gradient has the rows that were looked up: one whose values are all 0 decays its averages there and moves
 * the row, while it is left alone here.
 * Defaults: lr 1e-3, betas [0.9, 0.999], eps 1e-8. Reference: torch.optim.SparseAdam.
 */
export class SparseAdam extends Optimizer<SparseAdamOptions> {
  protected get rule(): Rule {
    return sparseAdamRule;
  }

  protected override get isPerParameter(): boolean {
    return true;
  }

  constructor(params: ParametersInput<SparseAdamOptions>, lr?: number | Partial<SparseAdamOptions>, options?: Partial<SparseAdamOptions>) {
    super(
      "SparseAdam",
      params,
      withDefaults({ lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, maximize: false }, byPosition("SparseAdam", ["lr"], [lr, options])),
    );
  }

  protected stateNames(): readonly string[] {
    return ["exp_avg", "exp_avg_sq"];
  }

  protected checkOptions(o: SparseAdamOptions): void {
    checkBetas("SparseAdam", o.betas);
    if (!(typeof o.eps === "number" && o.eps > 0)) throw new ValueError("SparseAdam", "eps", "above 0", o.eps);
  }

  protected override rates({ lr, betas }: SparseAdamOptions): readonly number[] {
    return [lr, betas[0], 1 - betas[0]];
  }

  protected fixed({ betas, eps, maximize }: SparseAdamOptions): Fixed {
    return { beta2: betas[1], eps, maximize };
  }
}

export const sparseAdam = (
  params: ParametersInput<SparseAdamOptions>,
  lr?: number | Partial<SparseAdamOptions>,
  options?: Partial<SparseAdamOptions>,
): SparseAdam => new SparseAdam(params, lr, options);
