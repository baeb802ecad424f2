/** AdaptiveLogSoftmaxWithLoss: a softmax over very many classes. */
import { logSoftmax } from "../ops/exports/autocast.generated.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { add } from "../ops/elementwise/binary.ts";
import { ge } from "../ops/elementwise/compare.ts";
import { argmax } from "../ops/reduce/extrema.ts";
import { gather } from "../ops/index/gather.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape, squeeze, unsqueeze } from "../ops/shape/movement.ts";
import { mean } from "../ops/reduce/reduce.ts";
import { neg } from "../ops/elementwise/unary.ts";
import { clamp, where } from "../ops/elementwise/where.ts";
import { requireIndices } from "../runtime/index-check.ts";
import type { Tensor } from "../core/tensor.ts";
import { sequential, type Sequential } from "./containers.ts";
import { linear, type Linear } from "./linear.ts";
import { moduleList, type ModuleList } from "./lists.ts";
import { Module } from "./module.ts";
import { requireCount, type LayerOptions } from "./options.ts";

const NAME = "AdaptiveLogSoftmaxWithLoss";

/** Options of adaptiveLogSoftmaxWithLoss(). Reference: torch.nn.AdaptiveLogSoftmaxWithLoss. */
export interface AdaptiveOptions extends LayerOptions {
  /** Cluster i is computed through inputs / divisor^(i + 1) numbers. Default: 4. */
  readonly divValue?: number | undefined;
  /** @deprecated Use divValue. */
  readonly divisor?: number | undefined;

  /** Whether the head has a bias. Default: false. */
  readonly headBias?: boolean | undefined;
}

/**
 * log p(target | x) and its negative mean, where classes are sorted by frequency: those below cutoffs[0] are classes of the head, each
 * later range has one for all together and its own softmax within. x is [N, inputs] and target [N], or [inputs] and []. All rows go
 * through all clusters, since shapes do not depend on data. Reference: torch.nn.AdaptiveLogSoftmaxWithLoss.
 */
export class AdaptiveLogSoftmaxWithLoss extends Module {
  /** Features of each input row. */
  readonly inputs: number;
  /** Number of classes. */
  readonly classes: number;
  /** The first class of each cluster, ascending. */
  readonly cutoffs: readonly number[];
  /** By how much each cluster's projection is narrower than the one before. */
  readonly divisor: number;
  /** To cutoffs[0] classes and one output for each cluster. */
  head: Linear;
  /** For each cluster a layer that narrows and one that widens, without bias. */
  tail: ModuleList<Sequential>;

  constructor(inFeatures: number, nClasses: number, cutoffs: readonly number[], options: AdaptiveOptions = {}) {
    super();
    requireCount(NAME, "inFeatures", inFeatures);
    requireCount(NAME, "nClasses", nClasses, 2);
    const { divValue: divisor = 4, headBias = false } = options;
    const isRising = cutoffs.every((c, i) => Number.isInteger(c) && c > (cutoffs[i - 1] ?? 0));
    if (cutoffs.length === 0 || !isRising || cutoffs.at(-1)! >= nClasses)
      throw new ValueError(NAME, "cutoffs", `integers that rise from above 0 to below ${nClasses}`, cutoffs);
    if (!(divisor > 0)) throw new ValueError(NAME, "divValue", "above 0", divisor);
    this.inputs = inFeatures;
    this.classes = nClasses;
    this.cutoffs = [...cutoffs, nClasses];
    this.divisor = divisor;
    this.head = linear(inFeatures, cutoffs[0]! + cutoffs.length, { ...options, bias: headBias });
    this.tail = moduleList(
      cutoffs.map((from, i) => {
        const width = Math.floor(inFeatures / divisor ** (i + 1));
        return sequential(
          linear(inFeatures, width, { ...options, bias: false }),
          linear(width, this.cutoffs[i + 1]! - from, { ...options, bias: false }),
        );
      }),
    );
  }

  forward(x: Tensor, target: Tensor): { readonly output: Tensor; readonly loss: Tensor } {
    const rows = this.rowsOf("forward", x);
    if (target.rank !== x.rank - 1 || (target.rank === 1 && target.shape[0] !== x.shape[0]))
      throw new ShapeError(NAME, "target", `of the shape [${x.shape.slice(0, -1).join(", ")}]`, target.describe());
    requireIndices(NAME, target, { length: this.classes, argument: "target" });
    const column = reshape(target, [rows.shape[0]!, 1]);
    const head = logSoftmax(this.head.forward(rows), 1);
    const first = this.cutoffs[0]!;
    let output = gather(head, 1, clamp(column, null, first - 1));
    for (const [i, cluster] of [...this.tail].entries()) {
      const from = this.cutoffs[i]!;
      const within = clamp(add(column, -from), 0, this.cutoffs[i + 1]! - from - 1);
      const own = add(narrow(head, 1, first + i, 1), gather(logSoftmax(cluster.forward(rows), 1), 1, within));
      output = where(ge(column, from), own, output);
    }
    output = reshape(output, target.shape);
    return { output, loss: neg(mean(output)) };
  }

  /** log p of every class, [N, classes]. */
  logProb(x: Tensor): Tensor {
    const rows = this.rowsOf("logProb", x);
    const head = logSoftmax(this.head.forward(rows), 1);
    const first = this.cutoffs[0]!;
    const clusters = [...this.tail].map((cluster, i) => add(logSoftmax(cluster.forward(rows), 1), narrow(head, 1, first + i, 1)));
    const all = cat([narrow(head, 1, 0, first), ...clusters], 1);
    return x.rank === 1 ? squeeze(all, 0) : all;
  }

  /** The most probable class of each row, int32[N]. */
  predict(x: Tensor): Tensor {
    return argmax(this.logProb(x), -1);
  }

  /** No private method: a copy of a layer has none. */
  protected rowsOf(method: string, x: Tensor): Tensor {
    if ((x.rank !== 1 && x.rank !== 2) || x.shape.at(-1) !== this.inputs)
      throw new ShapeError(`${NAME}.${method}`, "x", `[N, ${this.inputs}] or [${this.inputs}]`, x.describe());
    return x.rank === 1 ? unsqueeze(x, 0) : x;
  }

  protected override describeOptions(): string {
    return `inFeatures=${this.inputs}, nClasses=${this.classes}, cutoffs=[${this.cutoffs.slice(0, -1).join(", ")}], divValue=${this.divisor}`;
  }
}

export const adaptiveLogSoftmaxWithLoss = (
  inFeatures: number,
  nClasses: number,
  cutoffs: readonly number[],
  options: AdaptiveOptions = {},
): AdaptiveLogSoftmaxWithLoss => new AdaptiveLogSoftmaxWithLoss(inFeatures, nClasses, cutoffs, options);
