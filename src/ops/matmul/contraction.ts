/** Tensor contractions: einsum, tensordot, inner. */
import { asResult, requireSameDevice } from "../../dispatch/dispatch.ts";
import { resultType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { normalizeAxis, showShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { mul } from "../elementwise/binary.ts";
import { toDType } from "../data/conversion.ts";
import { cheapestOrder } from "./contraction-order.ts";
import { matmul } from "./matmul.ts";
import { broadcastTo, diagonal, movedim, permute, reshape } from "../shape/movement.ts";
import { sum } from "../reduce/reduce.ts";

/** A tensor with a label for each axis. */
interface Labelled {
  readonly t: Tensor;
  readonly labels: readonly string[];
}

/** Axes in the order of their strides, outermost first: what lies densely may be merged without a copy. */
const byStride = ({ t, labels }: Labelled, some: readonly string[]): string[] =>
  some.toSorted((a, b) => t.strides[labels.indexOf(b)]! - t.strides[labels.indexOf(a)]!);

const lengthOf = ({ t, labels }: Labelled, label: string): number => t.shape[labels.indexOf(label)]!;

/** x with its axes grouped in this order, each group as one axis unless `open`. */
function grouped(x: Labelled, open: readonly string[], groups: readonly (readonly string[])[]): Tensor {
  const order = [...open, ...groups.flat()].map((l) => x.labels.indexOf(l));
  const lengths = groups.map((g) => g.reduce((n, l) => n * lengthOf(x, l), 1));
  return reshape(permute(x.t, order), [...open.map((l) => lengthOf(x, l)), ...lengths]);
}

/** Sums over the labels that nobody else needs. */
function summed({ t, labels }: Labelled, kept: ReadonlySet<string>): Labelled {
  const axes = labels.flatMap((l, i) => (kept.has(l) ? [] : [i]));
  return axes.length === 0 ? { t, labels } : { t: toDType(sum(t, axes), t.dtype), labels: labels.filter((l) => kept.has(l)) };
}

/** The contraction of two operands: a GEMM over the labels that are in both and not kept. */
function contract(a: Labelled, b: Labelled, kept: ReadonlySet<string>): Labelled {
  const left = summed(a, new Set([...kept, ...b.labels]));
  const right = summed(b, new Set([...kept, ...a.labels]));
  const shared = left.labels.filter((l) => right.labels.includes(l));
  const inner = byStride(
    left,
    shared.filter((l) => !kept.has(l)),
  );
  // Axes of length 1 on one side broadcast: they are no inner axes of a matrix product.
  const batch = byStride(
    left,
    shared.filter((l) => kept.has(l)),
  );
  const rows = byStride(
    left,
    left.labels.filter((l) => !shared.includes(l)),
  );
  const columns = byStride(
    right,
    right.labels.filter((l) => !shared.includes(l)),
  );
  const labels = [...batch, ...rows, ...columns];
  if (inner.length === 0) {
    const show = (x: Labelled): Tensor =>
      reshape(
        permute(
          x.t,
          labels.filter((l) => x.labels.includes(l)).map((l) => x.labels.indexOf(l)),
        ),
        labels.map((l) => (x.labels.includes(l) ? lengthOf(x, l) : 1)),
      );
    return { t: mul(show(left), show(right)), labels };
  }
  const contracted = matmul(grouped(left, batch, [rows, inner]), grouped(right, batch, [inner, columns]));
  const lengths = [
    ...batch.map((l) => lengthOf(left, l)),
    ...rows.map((l) => lengthOf(left, l)),
    ...columns.map((l) => lengthOf(right, l)),
  ];
  return { t: reshape(contracted, lengths), labels };
}

/** One label for each axis; equal ones are a diagonal. */
function withoutRepeats({ t, labels }: Labelled): Labelled {
  const again = labels.findIndex((l, i) => labels.indexOf(l) !== i);
  if (again < 0) return { t, labels };
  const first = labels.indexOf(labels[again]!);
  const rest = labels.filter((_, i) => i !== again);
  return withoutRepeats({ t: movedim(diagonal(t, { axis0: first, axis1: again }), -1, first), labels: rest });
}

interface Equation {
  readonly operands: readonly (readonly string[])[];
  readonly output: readonly string[];
}

/** "b...ij,jk->b...ik" as labels; an ellipsis gives labels of its own, aligned at its end. */
function parse(equation: string, operands: readonly Tensor[]): Equation {
  const refuse = (expected: string): never => {
    throw new ValueError("einsum", "equation", expected, equation);
  };
  const [left, right, ...more] = equation.replaceAll(/\s/g, "").split("->");
  if (more.length > 0 || !/^[a-zA-Z.,]*$/.test(left!) || !/^[a-zA-Z.]*$/.test(right ?? "")) refuse("letters, commas, ... and one ->");
  const terms = left!.split(",");
  if (terms.length !== operands.length) refuse(`one of ${operands.length} operands`);
  let widest = 0;
  const split = (term: string): string[] => {
    const parts = term.split("...");
    if (parts.length > 2 || parts.some((p) => p.includes("."))) refuse("at most one ... for each operand");
    return parts;
  };
  const all = terms.map((term, i) => {
    const parts = split(term);
    const named = parts.reduce((n, p) => n + p.length, 0);
    const free = operands[i]!.rank - named;
    if (parts.length === 1 ? free !== 0 : free < 0)
      throw new ShapeError(
        "einsum",
        `operand ${i}`,
        `of ${named}${parts.length === 1 ? "" : " or more"} axes, for ${term}`,
        operands[i]!.describe(),
      );
    if (parts.length === 2) widest = Math.max(widest, free);
    return { parts, free };
  });
  const dots = (count: number): string[] => Array.from({ length: count }, (_, i) => `.${widest - count + i}`);
  const labelled = all.map(({ parts, free }) => [
    ...parts[0]!.split(""),
    ...(parts.length === 2 ? [...dots(free), ...parts[1]!.split("")] : []),
  ]);
  if (right === undefined) {
    const letters = labelled.flat().filter((l) => !l.startsWith("."));
    const once = letters.filter((l) => letters.indexOf(l) === letters.lastIndexOf(l)).toSorted((a, b) => (a < b ? -1 : 1));
    return { operands: labelled, output: [...dots(widest), ...once] };
  }
  const parts = split(right);
  const output = [...parts[0]!.split(""), ...(parts.length === 2 ? [...dots(widest), ...parts[1]!.split("")] : [])];
  if (new Set(output).size !== output.length) refuse("each letter at most once in the output");
  for (const l of output)
    if (!l.startsWith(".") && !labelled.some((o) => o.includes(l))) refuse(`output letters that an operand has (${l} is none)`);
  return { operands: labelled, output };
}

/** The length of each label; 1 broadcasts. */
function lengthsOf(parts: readonly Labelled[]): Map<string, number> {
  const lengths = new Map<string, number>();
  parts.forEach(({ t, labels }, k) =>
    labels.forEach((l, i) => {
      const [known, here] = [lengths.get(l) ?? 1, t.shape[i]!];
      if (known !== here && known !== 1 && here !== 1)
        throw new ShapeError("einsum", `operand ${k}`, `of length ${known} along ${l.startsWith(".") ? "..." : l}`, t.describe());
      lengths.set(l, known === 1 ? here : known);
    }),
  );
  return lengths;
}

/**
 * The sum of the operands' products over the letters that the output leaves out: einsum("bij,bjk->bik", a, b). Without -> the output has
 * the letters that occur once, in alphabetical order; ... stands for further axes, which broadcast. Operands are multiplied two at a time,
 * in the order that costs least, as matrix products that read transposed and strided operands in place. DirectML: GEMM, REDUCE.
 * Reference: torch.einsum. @autocast lower
 */
export function einsum(equation: string, ...operands: readonly Tensor[]): Tensor {
  if (operands.length === 0) throw new ValueError("einsum", "operands", "at least one tensor", "none");
  requireSameDevice("einsum", operands);
  const dtype = resultType(operands);
  const { operands: labels, output } = parse(equation, operands);
  const repeated = operands.map((t, i): Labelled => ({ t: toDType(t, dtype), labels: labels[i]! }));
  const lengths = lengthsOf(repeated);
  // A label of length 1 that another operand has longer is broadcast only where it must be: where it is repeated, or is no letter to sum.
  let parts = repeated.map((p) => withoutRepeats(broadcastRepeats(p, lengths))).map((p) => spreadInner(p, lengths));
  const order = cheapestOrder(
    parts.map((p) => p.labels),
    output,
    lengths,
  );
  for (const [i, j] of order) {
    const others = parts.filter((_, k) => k !== i && k !== j);
    const kept = new Set([...output, ...others.flatMap((p) => p.labels)]);
    parts = [...others, contract(parts[i]!, parts[j]!, kept)];
  }
  const result = summed(parts[0]!, new Set(output));
  const ordered = permute(
    result.t,
    output.map((l) => result.labels.indexOf(l)),
  );
  // Of one operand it may be a view.
  return operands.length === 1 ? ordered : asResult(ordered);
}

function broadcastRepeats({ t, labels }: Labelled, lengths: ReadonlyMap<string, number>): Labelled {
  if (new Set(labels).size === labels.length) return { t, labels };
  return {
    t: broadcastTo(
      t,
      labels.map((l, i) => (labels.indexOf(l) !== labels.lastIndexOf(l) ? lengths.get(l)! : t.shape[i]!)),
    ),
    labels,
  };
}

/** Every axis at its label's full length, by strides of 0. */
const spreadInner = ({ t, labels }: Labelled, lengths: ReadonlyMap<string, number>): Labelled => ({
  t: broadcastTo(
    t,
    labels.map((l) => lengths.get(l)!),
  ),
  labels,
});

/**
 * The contraction of a and b over axes: the last n of a with the first n of b, or lists of axes of each. DirectML: GEMM.
 * Reference: torch.tensordot. @autocast widest
 */
export function tensordot(a: Tensor, b: Tensor, axes: number | readonly [readonly number[], readonly number[]] = 2): Tensor {
  requireSameDevice("tensordot", [a, b]);
  if (a.dtype !== b.dtype) throw new DTypeError("tensordot", "b", `of a's dtype ${a.dtype}`, b.describe());
  if (typeof axes === "number" && (!Number.isInteger(axes) || axes < 0 || axes > a.rank || axes > b.rank))
    throw new ValueError("tensordot", "axes", `an integer in [0, ${Math.min(a.rank, b.rank)}], or two lists`, axes);
  if (typeof axes !== "number" && axes.length !== 2) throw new ValueError("tensordot", "axes", "an integer, or two lists", axes);
  const count = (n: number, from: number): number[] => Array.from({ length: n }, (_, i) => from + i);
  const [of, to] = typeof axes === "number" ? [count(axes, a.rank - axes), count(axes, 0)] : axes;
  const mine = of.map((i) => normalizeAxis("tensordot", i, a.rank, "axes"));
  const yours = to.map((i) => normalizeAxis("tensordot", i, b.rank, "axes"));
  if (mine.length !== yours.length || new Set(mine).size !== mine.length || new Set(yours).size !== yours.length)
    throw new ValueError("tensordot", "axes", "as many of a as of b, without repeats", [mine, yours]);
  mine.forEach((i, k) => {
    if (a.shape[i] !== b.shape[yours[k]!] && a.shape[i] !== 1 && b.shape[yours[k]!] !== 1)
      throw new ShapeError(
        "tensordot",
        "b",
        `of length ${a.shape[i]} along axis ${yours[k]}, like axis ${i} of a`,
        `${showShape(a.shape)}, ${showShape(b.shape)}`,
      );
  });
  const name = (prefix: string, i: number, list: readonly number[]): string => (list.includes(i) ? `=${list.indexOf(i)}` : `${prefix}${i}`);
  const dtype = resultType([a, b]);
  const both = [
    { t: toDType(a, dtype), labels: a.shape.map((_, i) => name("a", i, mine)) },
    { t: toDType(b, dtype), labels: b.shape.map((_, i) => name("b", i, yours)) },
  ];
  const lengths = lengthsOf(both);
  const [left, right] = both.map((p) => spreadInner(p, lengths)) as [Labelled, Labelled];
  const output = [...left.labels, ...right.labels].filter((l) => !l.startsWith("="));
  const result = contract(left, right, new Set(output));
  return asResult(
    permute(
      result.t,
      output.map((l) => result.labels.indexOf(l)),
    ),
  );
}

/** The dot products of a's and b's rows (last axes); with a scalar the elementwise product. Reference: torch.inner. */
export function inner(a: Tensor, b: Tensor): Tensor {
  if (a.rank === 0 || b.rank === 0) return mul(a, b);
  if (a.shape.at(-1) !== b.shape.at(-1)) throw new ShapeError("inner", "b", `of a's last length ${a.shape.at(-1)}`, b.describe());
  if (a.dtype !== b.dtype) throw new DTypeError("inner", "b", `of a's dtype ${a.dtype}`, b.describe());
  return tensordot(a, b, [[-1], [-1]]);
}

export const methods = { tensordot, inner };
