/** ai.onnx.ml: classical models and preprocessing. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import type { Texts } from "../format/value.ts";
import { labelled, labelsOf } from "./labels-of-classes.ts";
import { family } from "./operator.ts";
import { supportVectors } from "./support-vectors.ts";
import { baseOf, evaluate, forestOf, oldForestOf } from "./tree-ensembles.ts";

/** Columns of the last axis. */
function extract(c: Call): Tensor {
  const x = c.x.rank === 1 ? ops.reshape(c.x, [1, c.x.size]) : c.x;
  return ops.indexSelect(x, x.rank - 1, ops.reshape(ops.to(c.tensor(1), "int32"), [-1]));
}

/** x as float32 with one row for each sample. */
const rows = (c: Call): Tensor => {
  const x = ops.to(c.ranked(0, "[C] or [N, C]", 1, 2), "float32");
  return x.rank === 1 ? ops.reshape(x, [1, x.size]) : x;
};

function scaler(c: Call): Tensor {
  const [offset, scale] = [c.floats("offset") ?? [0], c.floats("scale") ?? [1]];
  return ops.mul(ops.sub(ops.to(c.x, "float32"), c.make(offset, "float32")), c.make(scale, "float32"));
}

function normalizer(c: Call): Tensor {
  const x = rows(c);
  const kind = c.oneOf("norm", "MAX", ["MAX", "L1", "L2"]);
  const divisor = kind === "MAX" ? ops.amax(x, -1, { keepDims: true }) : ops.norm(x, kind === "L1" ? 1 : 2, -1, { keepDims: true });
  return ops.where(ops.eq(divisor, 0), x, ops.div(x, divisor));
}

const AGGREGATES = ["AVERAGE", "SUM", "MIN", "MAX"] as const;
const TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"] as const;

/** What the scores of a model pass through. */
const transformed = (c: Call, scores: Tensor): Tensor => passed(c.oneOf("post_transform", "NONE", TRANSFORMS), scores);

function passed(transform: (typeof TRANSFORMS)[number], scores: Tensor): Tensor {
  switch (transform) {
    case "SOFTMAX":
      return ops.softmax(scores, -1);
    case "LOGISTIC":
      return ops.sigmoid(scores);
    case "SOFTMAX_ZERO": {
      // Scores of zero stay zero.
      const exponents = ops.where(
        ops.eq(scores, 0),
        ops.zerosLike(scores),
        ops.exp(ops.sub(scores, ops.amax(scores, -1, { keepDims: true }))),
      );
      return ops.div(exponents, ops.sum(exponents, -1, { keepDims: true }));
    }
    case "PROBIT":
      return ops.ndtri(scores);
    default:
      return scores;
  }
}

function linearScores(c: Call, targets: number): Tensor {
  const x = rows(c);
  const weights = c.make(c.floats("coefficients") ?? [], "float32", [targets, x.shape[1]!]);
  const scores = ops.matmul(x, ops.t(weights));
  const bias = c.floats("intercepts");
  return bias === null || bias.length === 0 ? scores : ops.add(scores, c.make(bias, "float32"));
}

function linearClassifier(c: Call): (Tensor | Texts)[] {
  const labels = labelsOf(c, "classlabels_ints");
  if (labels === null) throw c.invalid("attribute classlabels_ints", "given", "nothing");
  const count = (c.floats("coefficients") ?? []).length / rows(c).shape[1]!;
  const scores = linearScores(c, count);
  if (count > 1 || labels.length !== 2) return [labelled(c, labels, ops.argmax(scores, 1, { dtype: "int32" })), transformed(c, scores)];
  return [labelled(c, labels, ops.reshape(ops.to(ops.gt(scores, 0), "int32"), [-1])), single(c, scores, true)];
}

function imputer(c: Call): Tensor {
  const x = c.x;
  const isWhole = c.hasAttribute("imputed_value_int64s");
  const values = isWhole ? c.ints("imputed_value_int64s")! : [...(c.floats("imputed_value_floats") ?? [])];
  const replaced = isWhole ? c.int("replaced_value_int64", 0) : c.float("replaced_value_float", 0);
  const isMissing = Number.isNaN(replaced) ? ops.isnan(x) : ops.eq(x, replaced);
  return ops.where(isMissing, c.make(values, x.dtype), x);
}

function treeEnsemble(c: Call): Tensor {
  const aggregate = AGGREGATES[c.int("aggregate_function", 1)] ?? "SUM";
  const { scores } = evaluate(c, rows(c), forestOf(c), c.int("n_targets", 1), aggregate);
  const y = passed(TRANSFORMS[c.int("post_transform", 0)] ?? "NONE", scores);
  return c.numeric(0).dtype === "float64" ? ops.to(y, "float64") : y;
}

function treeRegressor(c: Call): Tensor {
  const aggregate = c.oneOf("aggregate_function", "SUM", AGGREGATES);
  const { scores } = evaluate(c, rows(c), oldForestOf(c, "target"), c.int("n_targets", 1), aggregate);
  const base = baseOf(c);
  return transformed(c, base.length === 0 ? scores : ops.add(scores, c.make(base, "float32")));
}

/** The class of most votes, and the votes. Of two classes one may have all weights: the other's score follows from its own. */
function treeClassifier(c: Call): (Tensor | Texts)[] {
  const labels = labelsOf(c, "classlabels_int64s");
  if (labels === null) throw c.invalid("attribute classlabels_int64s", "given", "nothing");
  const forest = oldForestOf(c, "class");
  const count = labels.length;
  const { scores, isReached } = evaluate(c, rows(c), forest, Math.max(2, count), "SUM");
  const base = baseOf(c);
  const weights = forest.leaves.flat();
  const only = weights.every((w) => w.target === weights[0]!.target) ? (weights[0]?.target ?? 0) : null;
  if (count > 2) {
    const moved = base.length === count ? ops.add(scores, c.make(base, "float32")) : scores;
    const seen = base.length === count ? moved : ops.where(isReached(), moved, ops.fullLike(moved, -Infinity));
    return [labelled(c, labels, ops.argmax(seen, 1, { dtype: "int32" })), transformed(c, moved)];
  }
  const isPositive = weights.every((w) => w.weight >= 0);
  const column = (i: number): Tensor => ops.narrow(scores, 1, i, 1);
  const limit = only !== null && isPositive ? 0.5 : 0;
  const choose = (score: Tensor): Tensor => ops.reshape(ops.to(ops.gt(score, limit), "int32"), [-1]);
  const own = (count === 1 ? [labels[0]!, labels[0]!] : labels) as typeof labels;
  const named = (score: Tensor): Tensor | Texts => labelled(c, own, choose(score));
  if (only === 0) {
    const score = base.length > 0 ? ops.add(column(0), base[0]!) : column(0);
    const both = base.length === 2 ? transformed(c, ops.cat([score, ops.zerosLike(score)], 1)) : single(c, score, isPositive);
    return [named(score), both];
  }
  let [first, second] = [column(0), column(1)];
  if (base.length === 2) {
    // Where leaves speak of the second class, ONNX Runtime adds its base value to the first class's score.
    const sum = ops.add(first, base[1]!);
    const isSaid = ops.narrow(isReached(), 1, 1, 1);
    [first, second] = [ops.where(isSaid, ops.neg(sum), ops.add(first, base[0]!)), ops.where(isSaid, sum, ops.add(second, base[1]!))];
  } else if (base.length === 1) first = ops.add(first, base[0]!);
  return [named(second), transformed(c, ops.cat([first, second], 1))];
}

/** Both classes' scores of the one: they sum to 1, where weights are shares. */
function single(c: Call, score: Tensor, isPositive: boolean): Tensor {
  const transform = c.oneOf("post_transform", "NONE", TRANSFORMS);
  if (transform === "PROBIT") return ops.ndtri(score);
  if (transform === "LOGISTIC") return ops.sigmoid(ops.cat([ops.neg(score), score], 1));
  return ops.cat([isPositive ? ops.sub(1, score) : ops.neg(score), score], 1);
}

/** Inputs concatenated along the last axis, each with as many columns as it says. */
function featureVectorizer(c: Call): Tensor {
  const widths = c.ints("inputdimensions");
  const parts = c.inputs.map((_, i) => {
    const t = c.ranked(i, "[C] or [N, ...]", 1, 2, 3, 4);
    const wide = ops.to(t.rank === 1 ? ops.reshape(t, [1, t.size]) : ops.reshape(t, [t.shape[0]!, -1]), "float32");
    const width = widths?.[i] ?? wide.shape[1]!;
    return wide.shape[1]! >= width ? ops.narrow(wide, 1, 0, width) : ops.pad(wide, [0, width - wide.shape[1]!]);
  });
  return ops.cat(parts, 1);
}

const numeric = family({
  ArrayFeatureExtractor: extract,
  Binarizer: (c) => ops.to(ops.gt(c.x, c.float("threshold", 0)), c.x.dtype),
  FeatureVectorizer: featureVectorizer,
  Imputer: imputer,
  LinearClassifier: linearClassifier,
  LinearRegressor: (c) => transformed(c, linearScores(c, c.int("targets", 1))),
  Normalizer: normalizer,
  Scaler: scaler,
  TreeEnsemble: treeEnsemble,
  TreeEnsembleClassifier: treeClassifier,
  TreeEnsembleRegressor: treeRegressor,
});

export const learning = { ...numeric, ...supportVectors };
