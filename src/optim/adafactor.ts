/** Adafactor: second moments kept as a row and a column of averages. */
import { ValueError } from "../core/errors.ts";
import type { Shape } from "../core/shape.ts";
import type { Expr } from "../graph/graph.ts";
import { Formula } from "../ops/elementwise/formula.ts";
import { byPosition } from "../ops/declare/positional.ts";
import { steps } from "./clock.ts";
import type { StateForm } from "./flat.ts";
import { checkAtLeast0, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { decayed, movedBy, rule, type Quantities, type Rule } from "./rule.ts";

/** Options of adafactor(). Reference: torch.optim.Adafactor. */
export interface AdafactorOptions extends BaseOptions {
  /** The averages of squares keep 1 - t^beta2Decay of the step before; at most 0. */
  beta2Decay: number;
  /** The least root of an average that gradients are divided by (null: the difference between 1 and the next number of the dtype), and the least length of a parameter. */
  eps: readonly [number | null, number];
  /** The root mean square of a step, before the rate, is at most this; at least 1. */
  d: number;
  /** The parameter shrinks by lr times it. */
  weightDecay: number;
  /** Climb instead of descending. */
  maximize: boolean;
}

interface Fixed extends Omit<AdafactorOptions, "lr" | "eps"> {
  readonly eps1: number | null;
  readonly eps2: number;
}

/** Between 1 and the next number. */
const epsilon = { float32: 2 ** -23, float16: 2 ** -10, bfloat16: 2 ** -7 } as const;

/** Means along axes, which stay with size 1. */
function mean(q: Quantities, x: Expr, ...axes: number[]): Expr {
  const sizes = x.sizes.map((n, i) => (axes.includes(i) ? 1 : n));
  return q.f.g.reduce(x, { function: "AVERAGE", output: { sizes, dtype: x.dtype }, axes });
}

/** The root of the mean of all squares: one element. */
const rms = (q: Quantities, x: Expr): Expr => q.one.sqrt(q.f.g.reshape(mean(q, q.f.mul(x, x), ...x.sizes.map((_, i) => i)), [1]));

/** average + share * (now - average), of the average's sizes. */
function follow({ f: { g } }: Quantities, average: Expr, now: Expr, share: Expr): Expr {
  const f = new Formula(g, "float32", average.sizes);
  return f.add(average, f.mul(f.sub(now, average), g.expand(share, average.sizes)));
}

const adafactorRule = rule<Fixed>(
  "adafactor",
  () => [steps],
  (q, { beta2Decay, eps1: chosen, eps2, d, weightDecay, maximize }) => {
    const { f, one, wide } = q;
    const { g } = f;
    const eps1 = chosen ?? epsilon[q.dtype as keyof typeof epsilon];
    const gradient = maximize ? f.neg(q.gradient) : q.gradient;
    const [step] = q.counters;
    // Not by POW, which no fused region has; steps are at least 1.
    const share = one.exp(one.mul(one.log(step!), beta2Decay));
    const rate = one.min(q.rates[0]!, one.div(1, one.sqrt(step!)));
    const length = one.mul(one.max(rms(q, q.p), eps2), rate);
    const squares = f.mul(gradient, gradient);
    const rank = q.p.sizes.length;
    let variance: Expr;
    let state: Expr[];
    if (q.state.length === 1) {
      variance = follow(q, q.state[0]!, squares, share);
      state = [variance];
    } else {
      const rows = follow(q, q.state[0]!, mean(q, squares, rank - 1), share);
      const columns = follow(q, q.state[1]!, mean(q, squares, rank - 2), share);
      const all = mean(q, rows, rank - 2);
      const scaled = new Formula(g, "float32", all.sizes).max(all, eps1);
      const ratio = new Formula(g, "float32", rows.sizes).div(rows, g.expand(scaled, rows.sizes));
      variance = f.mul(wide(ratio), wide(columns));
      state = [rows, columns];
    }
    const update = f.div(gradient, f.max(f.sqrt(variance), eps1));
    const clip = one.max(one.mul(rms(q, update), 1 / d), 1);
    return [movedBy(q, decayed(q, weightDecay), update, one.div(length, clip)), ...state];
  },
);

/**
 * p <- p (1 - lr weightDecay) - max(eps2, rms(p)) min(lr, 1 / sqrt(t)) u / max(1, rms(u) / d), with u = g / max(sqrt(v), eps1) and v <- v + t^beta2Decay (g² - v). Of a parameter with two
 * axes or more v is R C / max(mean(R), eps1), where R and C are averages of the means of g² along the last and the second to last axis: state of A + B
 * elements for a matrix [A, B].
 * Defaults: lr 0.01, beta2Decay -0.8, eps [null, 1e-3], d 1, weightDecay 0. Reference: torch.optim.Adafactor.
 */
export class Adafactor extends Optimizer<AdafactorOptions> {
  protected get rule(): Rule {
    return adafactorRule;
  }

  protected override get isPerParameter(): boolean {
    return true;
  }

  constructor(params: ParametersInput<AdafactorOptions>, lr?: number | Partial<AdafactorOptions>, options?: Partial<AdafactorOptions>) {
    super(
      "Adafactor",
      params,
      withDefaults(
        { lr: 0.01, beta2Decay: -0.8, eps: [null, 1e-3], d: 1, weightDecay: 0, maximize: false },
        byPosition("Adafactor", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(_: AdafactorOptions, shape: Shape): readonly string[] {
    return shape.length > 1 ? ["row_var", "col_var"] : ["variance"];
  }

  protected override stateForm(name: string, _: AdafactorOptions, shape: Shape): Partial<StateForm> {
    if (name === "variance") return {};
    const axis = name === "row_var" ? shape.length - 1 : shape.length - 2;
    return { shape: shape.map((n, i) => (i === axis ? 1 : n)) };
  }

  protected checkOptions(o: AdafactorOptions): void {
    checkAtLeast0("Adafactor", o, "weightDecay");
    const { beta2Decay, eps, d } = o;
    if (!(beta2Decay <= 0)) throw new ValueError("Adafactor", "beta2Decay", "at most 0", beta2Decay);
    if (!(eps.length === 2 && (eps[0] === null || eps[0] >= 0) && typeof eps[1] === "number" && eps[1] >= 0))
      throw new ValueError("Adafactor", "eps", "two numbers of at least 0, the first may be null", eps);
    if (!(d >= 1)) throw new ValueError("Adafactor", "d", "at least 1", d);
  }

  protected fixed({ beta2Decay, eps: [eps1, eps2], d, weightDecay, maximize }: AdafactorOptions): Fixed {
    return { beta2Decay, eps1, eps2, d, weightDecay, maximize };
  }
}

export const adafactor = (
  params: ParametersInput<AdafactorOptions>,
  lr?: number | Partial<AdafactorOptions>,
  options?: Partial<AdafactorOptions>,
): Adafactor => new Adafactor(params, lr, options);
