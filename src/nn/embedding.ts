/** Embedding and EmbeddingBag: a learned table of vectors. */
import { noGrad } from "../autograd/grad-mode.ts";
import { ValueError } from "../core/errors.ts";
import { copyInto } from "../ops/data/copy.ts";
import { zeros } from "../ops/creation/creation.ts";
import { embedding as embeddingOp, type EmbeddingOptions as TableOptions } from "../ops/index/embedding.ts";
import { embeddingBag as embeddingBagOp, type EmbeddingBagOptions as BagOptions } from "../ops/index/embedding-bag.ts";
import { select } from "../ops/shape/movement.ts";
import { oneByPosition } from "../ops/declare/positional.ts";
import { scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { normal } from "./init.ts";
import { INNER } from "./inner.ts";
import { Module } from "./module.ts";
import { requireCount, parameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";

/** paddingIdx names a row that starts at zero and never learns. */
export interface EmbeddingOptions extends LayerOptions, TableOptions {}

/** Rows of a learned table by their numbers: [...] to [..., width]. Starts normal. Reference: torch.nn.Embedding. */
export class Embedding extends Module {
  /** Number of rows: indices are below it. */
  readonly rows: number;
  /** Length of each row. */
  readonly width: number;
  /** The row that gets no gradient; null for none. */
  readonly paddingIndex: number | null;
  /** The options passed to the constructor. */
  readonly options: EmbeddingOptions;
  /** [rows, width] */
  weight: Parameter;

  constructor(numEmbeddings: number, embeddingDim: number, paddingIdx?: number | null | EmbeddingOptions, options?: EmbeddingOptions) {
    super();
    const settings = oneByPosition<EmbeddingOptions>("Embedding", "paddingIdx", paddingIdx, options);
    requireCount("Embedding", "numEmbeddings", numEmbeddings);
    requireCount("Embedding", "embeddingDim", embeddingDim);
    this.rows = numEmbeddings;
    this.width = embeddingDim;
    this.options = settings;
    const padding = settings.paddingIdx ?? null;
    if (padding !== null && (!Number.isInteger(padding) || padding < -numEmbeddings || padding >= numEmbeddings))
      throw new ValueError("Embedding", "paddingIdx", `an integer in [${-numEmbeddings}, ${numEmbeddings - 1}]`, padding);
    this.paddingIndex = padding !== null && padding < 0 ? padding + numEmbeddings : padding;
    this.weight = parameter([numEmbeddings, embeddingDim], settings, (p) => {
      normal(p, 0, 1, settings);
    });
    const row = this.paddingIndex;
    if (row !== null)
      noGrad(() =>
        scope(() => {
          copyInto("Embedding", select(this.weight, 0, row), zeros([embeddingDim], { device: settings.device }));
        }),
      );
  }

  forward(indices: Tensor): Tensor {
    const { maxNorm, normType, scaleGradByFreq } = this.options;
    return embeddingOp(indices, this.weight, { paddingIdx: this.paddingIndex, maxNorm, normType, scaleGradByFreq });
  }

  protected override describeOptions(): string {
    return `${this.rows}, ${this.width}${this.paddingIndex === null ? "" : `, paddingIdx=${this.paddingIndex}`}`;
  }
}

/** Options of embeddingBag(). Reference: torch.nn.EmbeddingBag. */
export interface EmbeddingBagOptions extends EmbeddingOptions, Pick<BagOptions, "mode" | "includeLastOffset"> {}

/** Sums, means or maxima of bags of a learned table's rows. Reference: torch.nn.EmbeddingBag. */
export class EmbeddingBag extends Embedding {
  /** @internal */ readonly [INNER]: Pick<BagOptions, "mode" | "includeLastOffset">;

  constructor(numEmbeddings: number, embeddingDim: number, options: EmbeddingBagOptions = {}) {
    super(numEmbeddings, embeddingDim, options);
    this[INNER] = { mode: options.mode, includeLastOffset: options.includeLastOffset };
  }

  override forward(indices: Tensor, call: Pick<BagOptions, "offsets" | "perSampleWeights"> = {}): Tensor {
    const { maxNorm, normType, scaleGradByFreq } = this.options;
    return embeddingBagOp(indices, this.weight, {
      ...this[INNER],
      ...call,
      paddingIdx: this.paddingIndex,
      maxNorm,
      normType,
      scaleGradByFreq,
    });
  }
}

export const embeddingBag = (numEmbeddings: number, embeddingDim: number, options: EmbeddingBagOptions = {}): EmbeddingBag =>
  new EmbeddingBag(numEmbeddings, embeddingDim, options);
export const embedding = (
  numEmbeddings: number,
  embeddingDim: number,
  paddingIdx?: number | null | EmbeddingOptions,
  options?: EmbeddingOptions,
): Embedding => new Embedding(numEmbeddings, embeddingDim, paddingIdx, options);
