/** The update of an optimizer as one operation over flat tensors: from a formula of its quantities. */
import { define, type Definition } from "../core/definition.ts";
import type { DType } from "../core/dtype.ts";
import { roundToBfloat16 } from "../graph/bfloat16.ts";
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
  /** The dtype that the parameter has, or its float32 copy. */
  readonly dtype: DType;
  wide(x: Expr): Expr;
}

/** What is kept of parameters in half precision: nothing, a float32 copy, or what rounding lost. */
export type Kept = "none" | "master_weight" | "kahan_compensation";

export interface UpdateAttributes {
  readonly kept: Kept;
  /** The parameter's dtype. */
  readonly low: DType;
  readonly rates: number;
  readonly counters: number;
  readonly fixed: object;
}

/** How an optimizer counts and moves, under those of its options that programs hold fixed. */
export interface Rule {
  readonly clock: ClockRule;
  /** Inputs p, gradient, rates, counters, state, and what is kept of half precision; outputs p, state, and the same. */
  readonly update: Definition<UpdateAttributes>;
}

/** What a shader makes of the same, from the inputs as they are; null: none is chosen. */
export type Launch<F> = (g: GraphBuilder, q: Pick<Quantities, "p" | "gradient" | "rates" | "counters" | "state">, fixed: F) => readonly Expr[] | null; // prettier-ignore

/** Numbers as the lower dtype holds them, in float32. */
const rounded = (g: GraphBuilder, x: Expr, low: DType): Expr =>
  low === "bfloat16" ? roundToBfloat16(g, x) : cast(g, cast(g, x, low), "float32");

type Numbers = Pick<Quantities, "p" | "gradient" | "rates" | "counters" | "state">;
type Next = (q: Numbers) => readonly Expr[];

/** The step of a float32 copy, which is the parameter itself where that is no longer the copy's rounded value. */
function withMaster(g: GraphBuilder, f: Formula, q: Numbers, low: DType, next: Next): readonly Expr[] {
  const master = q.state.at(-1)!;
  const p = f.where(f.eq(rounded(g, master, low), q.p), master, q.p);
  const [moved, ...state] = next({ ...q, p, state: q.state.slice(0, -1) });
  return [moved!, ...state, moved!];
}

/** Kahan summation: what rounding lost is added by the next step. */
function compensated(g: GraphBuilder, f: Formula, q: Numbers, low: DType, next: Next): readonly Expr[] {
  const [moved, ...state] = next({ ...q, state: q.state.slice(0, -1) });
  const change = f.add(f.sub(moved!, q.p), q.state.at(-1)!);
  const p = rounded(g, f.add(q.p, change), low);
  return [p, ...state, f.sub(change, f.sub(p, q.p))];
}

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
      lower: (g, inputs, { rates, counters: n, fixed, kept, low }, outputs) => {
        const { sizes } = inputs[0]!;
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
        const launched = kept === "none" ? launch?.(g, quantities(inputs), fixed as F) : undefined;
        if (launched) return launched;
        const more = {
          f: new Formula(g, "float32", sizes),
          one: new Formula(g, "float32", [1]),
          wide: (x: Expr) => g.expand(x, sizes),
          dtype: kept === "master_weight" ? ("float32" as const) : low,
        };
        const wide = quantities(inputs.map((x) => cast(g, x, "float32")));
        const next = (q: typeof wide): readonly Expr[] =>
          (kept === "master_weight" ? launch?.(g, q, fixed as F) : null) ?? move({ ...q, ...more }, fixed as F);
        const moved = kept === "none" ? next(wide) : (kept === "master_weight" ? withMaster : compensated)(g, more.f, wide, low, next);
        return moved.map((x, i) => cast(g, x, outputs[i]!.dtype));
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
