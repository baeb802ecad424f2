/** ai.onnx.ml: support vector machines. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import type { Texts } from "../format/value.ts";
import { labelled, labelsOf } from "./labels-of-classes.ts";
import { family } from "./operator.ts";

const KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"] as const;

const rows = (c: Call): Tensor => {
  const x = ops.to(c.ranked(0, "[C] or [N, C]", 1, 2), "float32");
  return x.rank === 1 ? ops.reshape(x, [1, x.size]) : x;
};

/** [N, V]: the kernel of each sample with each vector. */
function kernels(c: Call, x: Tensor, vectors: Tensor): Tensor {
  const [gamma = 0, offset = 0, degree = 0] = c.floats("kernel_params") ?? [];
  const products = (): Tensor => ops.matmul(x, ops.t(vectors));
  switch (c.oneOf("kernel_type", "LINEAR", KERNELS)) {
    case "LINEAR":
      return products();
    case "POLY":
      return ops.pow(ops.add(ops.mul(products(), gamma), offset), degree);
    case "SIGMOID":
      return ops.tanh(ops.add(ops.mul(products(), gamma), offset));
    case "RBF": {
      const d = ops.sub(ops.unsqueeze(x, 1), ops.unsqueeze(vectors, 0));
      return ops.exp(ops.mul(ops.sum(ops.mul(d, d), 2), -gamma));
    }
  }
}

function regressor(c: Call): Tensor {
  const x = rows(c);
  const count = c.int("n_supports", 0);
  const coefficients = c.make(c.floats("coefficients") ?? [], "float32");
  const width = x.shape[1]!;
  const vectors = count > 0 ? c.make(c.floats("support_vectors") ?? [], "float32", [count, width]) : ops.reshape(coefficients, [1, width]);
  const all = kernels(c, x, vectors);
  const sums = count > 0 ? ops.matmul(all, ops.reshape(coefficients, [count, 1])) : all;
  const y = ops.add(sums, c.floats("rho")?.[0] ?? 0);
  if (!c.flag("one_class")) return y;
  return ops.where(ops.gt(y, 0), ops.onesLike(y), ops.fullLike(y, -1));
}

interface Pair {
  readonly i: number;
  readonly j: number;
}

/** Decision values of each pair of classes [N, pairs], and the votes [N, classes]. */
function decisions(
  c: Call,
  x: Tensor,
  counts: readonly number[],
): { readonly values: Tensor; readonly votes: Tensor; readonly pairs: readonly Pair[] } {
  const classes = counts.length;
  const vectors = counts.reduce((a, b) => a + b, 0);
  const all = kernels(c, x, c.make(c.floats("support_vectors") ?? [], "float32", [vectors, x.shape[1]!]));
  const [coefficients, rho] = [c.floats("coefficients") ?? [], c.floats("rho") ?? []];
  const starts = counts.map((_, k) => counts.slice(0, k).reduce((a, b) => a + b, 0));
  const pairs: Pair[] = [];
  const columns: number[][] = [];
  for (let i = 0; i < classes; i++)
    for (let j = i + 1; j < classes; j++) {
      const column = new Array<number>(vectors).fill(0);
      for (let k = 0; k < counts[i]!; k++) column[starts[i]! + k] = coefficients[(j - 1) * vectors + starts[i]! + k]!;
      for (let k = 0; k < counts[j]!; k++) column[starts[j]! + k] = coefficients[i * vectors + starts[j]! + k]!;
      pairs.push({ i, j });
      columns.push(column);
    }
  const weights = c.make(columns.flat(), "float32", [pairs.length, vectors]);
  const values = ops.add(ops.matmul(all, ops.t(weights)), c.make(rho.slice(0, pairs.length), "float32"));
  // A pair votes for its first class above zero, for its second otherwise.
  const wins = ops.to(ops.gt(values, 0), "float32");
  const forClass = (of: (p: Pair) => number): Tensor =>
    c.make(
      pairs.flatMap((p) => Array.from({ length: classes }, (_, k) => (of(p) === k ? 1 : 0))),
      "float32",
      [pairs.length, classes],
    );
  const votes = ops.add(ops.matmul(wins, forClass((p) => p.i)), ops.matmul(ops.sub(1, wins), forClass((p) => p.j))); // prettier-ignore
  return { values, votes, pairs };
}

/** Steps of the iteration by Wu, Lin and Weng, which libsvm ends after as many or sooner. */
const STEPS = 100;

/** Probabilities of classes [N, classes] by those of pairs, on the host: the iteration ends for each sample by itself. */
function coupled(c: Call, values: Tensor, pairs: readonly Pair[], classes: number): Tensor {
  const [a, b] = [c.floats("prob_a") ?? [], c.floats("prob_b") ?? []];
  const list = values.dataSync() as Float32Array;
  const n = values.shape[0]!;
  const result: number[] = [];
  for (let row = 0; row < n; row++) {
    const p = Array.from({ length: classes }, () => new Array<number>(classes).fill(0));
    pairs.forEach(({ i, j }, k) => {
      const f = list[row * pairs.length + k]! * a[k]! + b[k]!;
      const probability = f >= 0 ? Math.exp(-f) / (1 + Math.exp(-f)) : 1 / (1 + Math.exp(f));
      const clipped = Math.min(Math.max(probability, 1e-7), 1 - 1e-7);
      p[i]![j] = clipped;
      p[j]![i] = 1 - clipped;
    });
    result.push(...estimated(p));
  }
  return c.make(result, "float32", [n, classes]);
}

/** The second method of "Probability estimates for multi-class classification by pairwise coupling". */
function estimated(pairwise: readonly (readonly number[])[]): number[] {
  const k = pairwise.length;
  const q = Array.from({ length: k }, () => new Array<number>(k).fill(0));
  const p = new Array<number>(k).fill(1 / k);
  for (let t = 0; t < k; t++)
    for (let j = 0; j < k; j++) {
      if (j === t) continue;
      q[t]![t]! += pairwise[j]![t]! ** 2;
      q[t]![j] = -pairwise[j]![t]! * pairwise[t]![j]!;
    }
  const limit = 0.005 / k;
  const qp = new Array<number>(k).fill(0);
  for (let step = 0; step < Math.max(STEPS, k); step++) {
    let total = 0;
    for (let t = 0; t < k; t++) {
      qp[t] = q[t]!.reduce((s, v, j) => s + v * p[j]!, 0);
      total += p[t]! * qp[t]!;
    }
    if (Math.max(...qp.map((v) => Math.abs(v - total))) < limit) break;
    for (let t = 0; t < k; t++) {
      const change = (total - qp[t]!) / q[t]![t]!;
      p[t]! += change;
      total = (total + change * (change * q[t]![t]! + 2 * qp[t]!)) / (1 + change) / (1 + change);
      for (let j = 0; j < k; j++) {
        qp[j] = (qp[j]! + change * q[t]![j]!) / (1 + change);
        p[j]! /= 1 + change;
      }
    }
  }
  return p;
}

function transformed(c: Call, scores: Tensor): Tensor {
  switch (c.oneOf("post_transform", "NONE", ["NONE", "SOFTMAX", "LOGISTIC"])) {
    case "SOFTMAX":
      return ops.softmax(scores, -1);
    case "LOGISTIC":
      return ops.sigmoid(scores);
    case "NONE":
      return scores;
  }
}

function classifier(c: Call): (Tensor | Texts)[] {
  const labels = labelsOf(c, "classlabels_ints");
  if (labels === null) throw c.invalid("attribute classlabels_ints", "given", "nothing");
  const x = rows(c);
  const counts = c.ints("vectors_per_class") ?? [];
  if (counts.length === 0) {
    const vectors = c.make(c.floats("coefficients") ?? [], "float32", [labels.length, x.shape[1]!]);
    const scores = ops.add(kernels(c, x, vectors), c.floats("rho")?.[0] ?? 0);
    return [labelled(c, labels, ops.argmax(scores, 1, { dtype: "int32" })), transformed(c, scores)];
  }
  const { values, votes, pairs } = decisions(c, x, counts);
  const isProbable = (c.floats("prob_a") ?? []).length > 0;
  if (isProbable) {
    const estimates = coupled(c, values, pairs, counts.length);
    return [labelled(c, labels, ops.argmax(votes, 1, { dtype: "int32" })), transformed(c, estimates)];
  }
  const best = ops.argmax(votes, 1, { dtype: "int32" });
  const shown = counts.length === 2 ? ops.cat([ops.neg(values), values], 1) : values;
  return [labelled(c, labels, best), transformed(c, shown)];
}

export const supportVectors = family({ SVMClassifier: classifier, SVMRegressor: regressor });
