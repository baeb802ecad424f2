/** Muon: steps by an orthogonalized momentum, for matrices. */
import { ShapeError, ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Expr } from "../graph/graph.ts";
import { emitGemm } from "../ops/matmul/matmul.ts";
import { byPosition } from "../ops/declare/positional.ts";
import { checkAtLeast0, withDefaults } from "./options.ts";
import { Optimizer, type BaseOptions, type ParametersInput } from "./optimizer.ts";
import { decayed, movedBy, rule, type Quantities, type Rule } from "./rule.ts";

/** How muon() scales the rate by the sizes of a parameter [A, B]. Reference: adjust_lr_fn of torch.optim.Muon. */
export type AdjustLrFn = "original" | "match_rms_adamw" | "spectral_unclamped";

/** Options of muon(). Reference: torch.optim.Muon. */
export interface MuonOptions extends BaseOptions {
  /** The parameter shrinks by lr times it, before the rate is scaled. */
  weightDecay: number;
  /** Share of the average that is kept. May change from step to step, as schedules cycle it. */
  momentum: number;
  /** Steps along the gradient, moved towards the average by momentum. */
  nesterov: boolean;
  /** a, b and c of the polynomial aX + b(XXᵀ)X + c(XXᵀ)²X that is applied in each of the steps of the orthogonalization. */
  nsCoefficients: readonly [number, number, number];
  /** Least norm that the average is divided by before. */
  eps: number;
  /** How often the polynomial is applied: an integer from 0 to 99. */
  nsSteps: number;
  /** Factor of the rate for a parameter [A, B]: original sqrt(max(1, A / B)), match_rms_adamw 0.2 sqrt(max(A, B)), spectral_unclamped sqrt(A / B). */
  adjustLrFn: AdjustLrFn;
}

interface Fixed {
  readonly weightDecay: number;
  readonly nesterov: boolean;
  readonly eps: number;
  readonly nsSteps: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly adjustLrFn: AdjustLrFn;
}

const factors: Readonly<Record<AdjustLrFn, (a: number, b: number) => number>> = {
  original: (a, b) => Math.sqrt(Math.max(1, a / b)),
  match_rms_adamw: (a, b) => 0.2 * Math.sqrt(Math.max(a, b)),
  spectral_unclamped: (a, b) => Math.sqrt(a / b),
};

/** The matrix divided by its norm, then the polynomial: its singular values come near 1. */
function orthogonalized({ f, one, wide }: Quantities, x: Expr, { a, b, c, eps, nsSteps }: Fixed): Expr {
  const { g } = f;
  const isTall = x.sizes[0]! > x.sizes[1]!;
  const squares = g.reduce(f.mul(x, x), { function: "SUM", output: { sizes: [1, 1], dtype: x.dtype }, axes: [0, 1] });
  const norm = one.max(one.sqrt(g.reshape(squares, [1])), eps);
  const unit = f.div(x, wide(norm));
  // Of both products of the matrix with its transpose, that of fewer elements.
  let wideUnit = isTall ? g.packed(g.transpose(unit, [1, 0])) : unit;
  const flat = (y: Expr): Expr => g.reinterpret(y, { sizes: y.sizes.slice(-2), strides: y.strides.slice(-2) });
  for (let i = 0; i < nsSteps; i++) {
    const gram = flat(emitGemm(g, wideUnit, g.transpose(wideUnit, [1, 0]), null, [], { alpha: 1, beta: 0 }));
    const update = flat(emitGemm(g, gram, gram, gram, [], { alpha: c, beta: b }));
    wideUnit = flat(emitGemm(g, update, wideUnit, wideUnit, [], { alpha: 1, beta: a }));
  }
  return isTall ? g.transpose(wideUnit, [1, 0]) : wideUnit;
}

const muonRule = rule<Fixed>(
  "muon",
  () => [],
  (q, fixed) => {
    const { f, one, wide, rates, gradient } = q;
    const [rows, columns] = q.p.sizes as [number, number];
    const [kept, added] = [wide(rates[1]!), wide(rates[2]!)];
    const average = f.add(f.mul(q.state[0]!, kept), f.mul(gradient, added));
    const step = fixed.nesterov ? f.add(f.mul(gradient, added), f.mul(average, kept)) : average;
    const rate = one.mul(rates[0]!, factors[fixed.adjustLrFn](rows, columns));
    return [movedBy(q, decayed(q, fixed.weightDecay), orthogonalized(q, step, fixed), rate), average];
  },
);

/**
 * B <- momentum B + (1 - momentum) g; p <- p (1 - lr weightDecay) - lr adjust(A, B) NS(momentum B + (1 - momentum) g), or NS(B) without nesterov. NS divides by the
 * Euclidean norm and applies aX + b(XXᵀ)X + c(XXᵀ)²X nsSteps times, which brings the singular values near 1.
 *
 * Parameters have two axes: ShapeError otherwise. Give embeddings, biases and the last layer to adamW. NS is computed in float32, for every dtype of the parameters;
 * PyTorch's runs in bfloat16, so that its steps differ by that dtype's roundings (about 1 %).
 * Defaults: lr 1e-3, weightDecay 0.1, momentum 0.95, nesterov, nsCoefficients [3.4445, -4.775, 2.0315], eps 1e-7, nsSteps 5, adjustLrFn "original". Reference: torch.optim.Muon.
 */
export class Muon extends Optimizer<MuonOptions> {
  protected get rule(): Rule {
    return muonRule;
  }

  protected override get isPerParameter(): boolean {
    return true;
  }

  constructor(params: ParametersInput<MuonOptions>, lr?: number | Partial<MuonOptions>, options?: Partial<MuonOptions>) {
    super(
      "Muon",
      params,
      withDefaults(
        {
          lr: 1e-3,
          weightDecay: 0.1,
          momentum: 0.95,
          nesterov: true,
          nsCoefficients: [3.4445, -4.775, 2.0315],
          eps: 1e-7,
          nsSteps: 5,
          adjustLrFn: "original",
        },
        byPosition("Muon", ["lr"], [lr, options]),
      ),
    );
  }

  protected stateNames(): readonly string[] {
    return ["momentum_buffer"];
  }

  protected override checkParameter(argument: string, p: Tensor): void {
    if (p.rank !== 2)
      throw new ShapeError("Muon", argument, "a tensor of two axes", p.describe(), "Give the other parameters to optim.adamW.");
  }

  protected checkOptions(o: MuonOptions): void {
    checkAtLeast0("Muon", o, "weightDecay", "momentum", "eps");
    const { nsCoefficients, nsSteps, adjustLrFn } = o;
    if (nsCoefficients.length !== 3) throw new ValueError("Muon", "nsCoefficients", "three numbers", nsCoefficients);
    if (!(Number.isInteger(nsSteps) && nsSteps >= 0 && nsSteps < 100))
      throw new ValueError("Muon", "nsSteps", "an integer from 0 to 99", nsSteps);
    if (!Object.hasOwn(factors, adjustLrFn)) throw new ValueError("Muon", "adjustLrFn", Object.keys(factors).join(" or "), adjustLrFn);
  }

  protected override rates({ lr, momentum }: MuonOptions): readonly number[] {
    return [lr, momentum, 1 - momentum];
  }

  protected fixed({ weightDecay, nesterov, eps, nsSteps, nsCoefficients: [a, b, c], adjustLrFn }: MuonOptions): Fixed {
    return { weightDecay, nesterov, eps, nsSteps, a, b, c, adjustLrFn };
  }
}

export const muon = (params: ParametersInput<MuonOptions>, lr?: number | Partial<MuonOptions>, options?: Partial<MuonOptions>): Muon =>
  new Muon(params, lr, options);
