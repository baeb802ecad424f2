/** CTC loss: connectionist temporal classification. @functional */
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { isInteger } from "../../core/dtype.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { eq, ge, gt, logicalAnd, lt, ne } from "../elementwise/compare.ts";
import { full, tensor } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { gather } from "../index/gather.ts";
import { cat } from "../shape/join.ts";
import { requireReduction, type LossOptions } from "./regression.ts";
import { expand, narrow, reshape, select, unsqueeze } from "../shape/movement.ts";
import { logaddexp } from "../elementwise/arithmetic.ts";
import { arange } from "../creation/ranges.ts";
import { mean, sum } from "../reduce/reduce.ts";
import { cumsum } from "../scan/cumulative.ts";
import { detach } from "../data/state.ts";
import { logsumexp } from "../reduce/statistics.ts";
import { requireFloat } from "../declare/support.ts";
import { exp, neg } from "../elementwise/unary.ts";
import { clamp, clampMin, where } from "../elementwise/where.ts";

/** ln 0 that can be added to itself without becoming NaN. */
const NEVER = -1e30;

/** Options of ctcLoss(). Reference: torch.nn.functional.ctc_loss. */
export interface CtcOptions extends LossOptions {
  /** The class that stands for no label. Default: 0. */
  readonly blank?: number | undefined;
  /** Whether samples without any alignment cost nothing, instead of Infinity. Default: false. */
  readonly zeroInfinity?: boolean | undefined;
}

/** Lengths as a tensor and, where JavaScript knows them, their largest. */
function lengths(
  argument: string,
  counts: Tensor | readonly number[],
  count: number,
  like: Tensor,
): { values: Tensor; max: number | null } {
  if (counts instanceof Tensor) {
    if (!isInteger(counts.dtype)) throw new DTypeError("ctcLoss", argument, "of an integer dtype", counts.describe());
    if (counts.size !== count) throw new ShapeError("ctcLoss", argument, `[${count}]`, counts.describe());
    return { values: reshape(toDType(counts, "int32"), [count]), max: null };
  }
  if (counts.length !== count) throw new ShapeError("ctcLoss", argument, `[${count}]`, counts);
  return { values: tensor(Int32Array.from(counts), { device: like.device }), max: Math.max(0, ...counts) };
}

/** Labels as [N, most], whether they came padded or one sample after the other. */
function padded(targets: Tensor, counts: Tensor, max: number | null, batch: number): Tensor {
  if (targets.rank === 2 || (targets.rank === 1 && batch === 1)) return reshape(toDType(targets, "int32"), [batch, targets.size / batch]);
  const width = Math.min(max ?? targets.size, targets.size);
  const starts = sub(cumsum(counts, 0, { dtype: "int32" }), counts);
  const at = add(unsqueeze(starts, 1), arange(width, { dtype: "int32", device: targets.device }));
  const index = clamp(at, 0, Math.max(0, targets.size - 1));
  return reshape(gather(toDType(targets, "int32"), 0, reshape(index, [batch * width])), [batch, width]);
}

/**
 * -ln of the probability that logarithms of probabilities x [T, N, C] (or [T, C]) give to the labels.
 *
 * targets: [N, S] or all one after the other; inputLengths and targetLengths: numbers or tensors [N]. "mean" divides each sample's
 * loss by its number of labels first. The gradient is that of PyTorch, which takes x to come from logSoftmax.
 * DirectML: GATHER_ELEMENTS, EXP, LOG, step by step. Reference: torch.nn.functional.ctc_loss.
 */
export function ctcLoss(
  x: Tensor,
  targets: Tensor,
  inputLengths: Tensor | readonly number[],
  targetLengths: Tensor | readonly number[],
  options: CtcOptions = {},
): Tensor {
  requireFloat("ctcLoss", x);
  requireSameDevice("ctcLoss", [x, targets]);
  const { blank = 0, reduction = "mean", zeroInfinity = false } = options;
  requireReduction("ctcLoss", reduction);
  if (!isInteger(targets.dtype)) throw new DTypeError("ctcLoss", "targets", "of an integer dtype", targets.describe());
  if (x.rank !== 3 && x.rank !== 2) throw new ShapeError("ctcLoss", "x", "[T, N, C] or [T, C]", x.describe());
  const logits = x.rank === 3 ? x : unsqueeze(x, 1);
  const [steps, batch, classes] = logits.shape as [number, number, number];
  if (!Number.isInteger(blank) || blank < 0 || blank >= classes)
    throw new ValueError("ctcLoss", "blank", `a class in [0, ${classes - 1}]`, blank);
  if (targets.rank > 2 || (targets.rank === 2 && targets.shape[0] !== batch))
    throw new ShapeError("ctcLoss", "targets", `[${batch}, S] or one axis`, targets.describe());
  const times = lengths("inputLengths", inputLengths, batch, x).values;
  const counted = lengths("targetLengths", targetLengths, batch, x);
  if (Array.isArray(inputLengths) && (inputLengths as number[]).some((t) => t > steps))
    throw new ValueError("ctcLoss", "inputLengths", `at most ${steps}`, inputLengths);
  const loss = alignments(logits, padded(targets, counted.values, counted.max, batch), times, counted.values, blank);
  const impossible = gt(loss, -NEVER / 2);
  const each = where(impossible, zeroInfinity ? 0 : Infinity, loss);
  const all = x.rank === 3 ? each : reshape(each, []);
  if (reduction === "none") return all;
  return reduction === "sum"
    ? sum(all)
    : mean(div(all, clampMin(toDType(x.rank === 3 ? counted.values : reshape(counted.values, []), x.dtype), 1)));
}

/** The loss of each sample, [N]. */
function alignments(x: Tensor, labels: Tensor, times: Tensor, counts: Tensor, blank: number): Tensor {
  const [steps, batch] = x.shape as [number, number, number];
  const width = labels.shape[1]!;
  const states = 2 * width + 1;
  const at = arange(states, { dtype: "int32", device: x.device });
  const labelIndices = expand(toDType(clamp(sub(mul(at, 0.5), 0.25), 0, Math.max(0, width - 1)), "int32"), batch, states);
  const isLabel = eq(sub(at, mul(toDType(mul(at, 0.5), "int32"), 2)), 1);
  const extended =
    width === 0
      ? full([batch, 1], blank, { dtype: "int32", device: x.device })
      : where(isLabel, clampMin(gather(labels, 1, labelIndices), 0), blank);
  // A state may be entered from two before it unless that holds the same label: blanks hold the same, too.
  const before =
    states < 3 ? null : cat([expand(full([1], -1, { dtype: "int32", device: x.device }), batch, 2), narrow(extended, 1, 0, states - 2)], 1);
  const skips = before === null ? null : logicalAnd(logicalAnd(isLabel, ge(at, 3)), ne(extended, before));
  const scores = gather(x, 2, expand(unsqueeze(toDType(extended, "int32"), 0), steps, batch, states));
  const never = (n: number): Tensor => full([batch, n], NEVER, { dtype: x.dtype, device: x.device });
  const behind = (alpha: Tensor, by: number): Tensor => cat([never(by), narrow(alpha, 1, 0, states - by)], 1);
  const ends = unsqueeze(mul(counts, 2), 1);
  const isEnd = logicalAnd(ge(at, sub(ends, 1)), lt(at, add(ends, 1)));
  let alpha = where(lt(at, 2), select(scores, 0, 0), NEVER);
  let last = alpha;
  for (let t = 1; t < steps; t++) {
    let total = states > 1 ? logaddexp(alpha, behind(alpha, 1)) : alpha;
    if (skips !== null) total = logaddexp(total, where(skips, behind(alpha, 2), NEVER));
    alpha = add(total, select(scores, 0, t));
    last = where(unsqueeze(gt(times, t), 1), alpha, last);
  }
  const loss = neg(logsumexp(where(isEnd, last, NEVER), 1));
  // PyTorch's gradient is that of the logits below: each step's probabilities are added to it.
  const seen = unsqueeze(lt(unsqueeze(arange(steps, { dtype: "int32", device: x.device }), 1), times), 2);
  const mass = sum(where(seen, exp(x), 0), [0, 2]);
  const empty = noGrad(() => eq(times, 0));
  return where(empty, where(eq(counts, 0), 0, -NEVER), add(loss, sub(mass, detach(mass))));
}
