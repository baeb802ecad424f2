/** ai.onnx.ml: classical models and preprocessing. Strings are not supported. */
import { elements } from "../../core/elements.ts";
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant, Texts } from "../format/value.ts";
import { family } from "./operator.ts";
import { evaluate, forestOf, oldForestOf } from "./tree-ensembles.ts";

/** Columns of the last axis. */
function extract(c: Call): Tensor {
  const x = c.x.rank === 1 ? ops.reshape(c.x, [1, c.x.size]) : c.x;
  return ops.indexSelect(x, x.rank - 1, ops.reshape(ops.to(c.tensor(1), "int32"), [-1]));
}

/** x as float32 with one row for each sample. */
const rows = (c: Call): Tensor => {
  const x = ops.to(c.x, "float32");
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

function linearClassifier(c: Call): Tensor[] {
  const labels = c.ints("classlabels_ints");
  if (labels === null) throw c.unsupported("class labels that are texts");
  const count = (c.floats("coefficients") ?? []).length / rows(c).shape[1]!;
  const scores = linearScores(c, count);
  const all = count === 1 && labels.length === 2 ? ops.cat([ops.neg(scores), scores], 1) : scores;
  const best = ops.argmax(all, 1, { dtype: "int32" });
  return [ops.indexSelect(c.make(labels, "int64"), 0, best), transformed(c, all)];
}

function imputer(c: Call): Tensor {
  const x = c.x;
  const isWhole = c.hasAttribute("imputed_value_int64s");
  const values = isWhole ? c.ints("imputed_value_int64s")! : [...(c.floats("imputed_value_floats") ?? [])];
  const replaced = isWhole ? c.int("replaced_value_int64", 0) : c.float("replaced_value_float", 0);
  const isMissing = Number.isNaN(replaced) ? ops.isnan(x) : ops.eq(x, replaced);
  return ops.where(isMissing, c.make(values, x.dtype), x);
}

/** Numbers for numbers: the keys and values as lists or tensors, and what stands for the rest. */
function labels(c: Call): Constant {
  const keys = listOf(c, "keys");
  const found = listOf(c, "values");
  const filler = c.constant("default_tensor");
  const otherwise =
    filler instanceof Constant ? filler.numbers()[0]! : found.dtype === "int64" ? c.int("default_int64", -1) : c.float("default_float", -0);
  const table = new Map(keys.list.map((k, i) => [Object.is(k, -0) ? 0 : k, found.list[i]!]));
  const shape = c.numeric(0).shape;
  return new Constant(
    found.dtype,
    shape,
    elements(
      found.dtype,
      c.numbers(0).map((v) => table.get(v) ?? otherwise),
    ),
  );
}

function listOf(c: Call, name: string): { readonly list: readonly number[]; readonly dtype: Constant["dtype"] } {
  const t = c.constant(`${name}_tensor`);
  if (t instanceof Constant) return { list: t.numbers(), dtype: t.dtype };
  if (t instanceof Texts || c.hasAttribute(`${name}_strings`)) throw c.unsupported("labels that are texts");
  const whole = c.ints(`${name}_int64s`);
  return whole === null ? { list: c.floats(`${name}_floats`) ?? [], dtype: "float32" } : { list: whole, dtype: "int64" };
}

function treeEnsemble(c: Call): Tensor {
  const aggregate = AGGREGATES[c.int("aggregate_function", 1)] ?? "SUM";
  const scores = evaluate(c, rows(c), forestOf(c), c.int("n_targets", 1), aggregate);
  return passed(TRANSFORMS[c.int("post_transform", 0)] ?? "NONE", scores);
}

function treeRegressor(c: Call): Tensor {
  const aggregate = c.oneOf("aggregate_function", "SUM", AGGREGATES);
  const scores = evaluate(c, rows(c), oldForestOf(c), c.int("n_targets", 1), aggregate);
  const base = c.floats("base_values");
  return transformed(c, base === null ? scores : ops.add(scores, c.make(base, "float32")));
}

export const learning = family({
  ArrayFeatureExtractor: extract,
  Binarizer: (c) => ops.to(ops.gt(c.x, c.float("threshold", 0)), c.x.dtype),
  Imputer: imputer,
  LabelEncoder: labels,
  LinearClassifier: linearClassifier,
  LinearRegressor: (c) => transformed(c, linearScores(c, c.int("targets", 1))),
  Normalizer: normalizer,
  Scaler: scaler,
  TreeEnsemble: treeEnsemble,
  TreeEnsembleRegressor: treeRegressor,
});
