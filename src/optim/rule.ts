/** The update of an optimizer as one operation over flat tensors: from a formula of its quantities. */
import { define, type Definition } from "../core/definition.ts";
import type { GraphBuilder } from "../graph/builder.generated.ts";
import type { Expr } from "../graph/graph.ts";
import { Formula } from "../ops/elementwise/formula.ts";
import { cast } from "../ops/declare/support.ts";
import { clockRule, type ClockRule, type Counter } from "./clock.ts";

/** What a formula reads, in float32. Rates and counters have one element; wide() gives them the parameter's size. */
export interface Quantities {
  readonly f: Formula;
  /** Arithmetic of one-element values. */
  readonly one: Formula;
  readonly p: Expr;
  readonly gradient: Expr;
  /** rates[0] is the learning rate. */
  readonly rates: readonly Expr[];
  /** counters[0] is the number of steps, with this one. */
  readonly counters: readonly Expr[];
  readonly state: readonly Expr[];
  wide(x: Expr): Expr;
}

export interface UpdateAttributes {
  readonly rates: number;
  readonly counters: number;
  readonly fixed: object;
}

/** How an optimizer counts and moves, under those of its options that programs hold fixed. */
export interface Rule {
  readonly clock: ClockRule;
  /** Inputs p, gradient, rates, counters, state; outputs p and state. */
  readonly update: Definition<UpdateAttributes>;
}

/** What a shader makes of the same, from the inputs as they are; null: none is chosen. */
export type Launch<F> = (g: GraphBuilder, q: Pick<Quantities, "p" | "gradient" | "rates" | "counters" | "state">, fixed: F) => readonly Expr[] | null; // prettier-ignore

/** `move` gives the parameter and its state after the step. */
export function rule<F extends object>(
  name: string,
  counters: (fixed: F) => readonly Counter[],
  move: (q: Quantities, fixed: F) => readonly Expr[],
  launch?: Launch<F>,
): Rule {
  return {
    clock: clockRule(name, counters),
    update: define<UpdateAttributes>({
      name,
      infer: ([p, , ...more], { rates, counters: n }) => [p!, ...more.slice(rates + n)],
      lower: (g, inputs, { rates, counters: n, fixed }) => {
        const { dtype, sizes } = inputs[0]!;
        const quantities = ([p, gradient, ...more]: readonly Expr[]): Pick<
          Quantities,
          "p" | "gradient" | "rates" | "counters" | "state"
        > => ({
          p: p!,
          gradient: gradient!,
          rates: more.slice(0, rates),
          counters: more.slice(rates, rates + n),
          state: more.slice(rates + n),
        });
        const launched = launch?.(g, quantities(inputs), fixed as F);
        if (launched) return launched;
        const more = { f: new Formula(g, "float32", sizes), one: new Formula(g, "float32", [1]), wide: (x: Expr) => g.expand(x, sizes) };
        const moved = move({ ...quantities(inputs.map((x) => cast(g, x, "float32"))), ...more }, fixed as F);
        return moved.map((x) => cast(g, x, dtype));
      },
      grad: null,
    }),
  };
}

/** The gradient of what is to become smaller: negated to climb, with the decay that is added to it. */
export function descent(
  { f, p, gradient }: Quantities,
  { maximize, weightDecay }: { readonly maximize: boolean; readonly weightDecay: number },
): Expr {
  const d = maximize ? f.neg(gradient) : gradient;
  return weightDecay === 0 ? d : f.add(d, f.mul(p, weightDecay));
}

/** The parameter shrunk by rate * weightDecay. */
export const decayed = ({ f, one, p, rates, wide }: Quantities, weightDecay: number): Expr =>
  weightDecay === 0 ? p : f.mul(p, wide(one.affine(rates[0]!, -weightDecay, 1)));

/** p - x times a value of one element. */
export const movedBy = ({ f, wide }: Quantities, p: Expr, x: Expr, by: Expr): Expr => f.sub(p, f.mul(x, wide(by)));
