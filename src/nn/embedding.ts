/** A learned table of vectors. */
import { noGrad } from "../autograd/grad-mode.ts";
import { ValueError } from "../errors.ts";
import { copyInto } from "../ops/copy.ts";
import { zeros } from "../ops/creation.ts";
import { embedding as embeddingOp } from "../ops/embedding.ts";
import { select } from "../ops/movement.ts";
import { scope } from "../scope.ts";
import type { Tensor } from "../tensor.ts";
import { normal } from "./init.ts";
import { Module } from "./module.ts";
import { demandCount, parameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";

export interface EmbeddingOptions extends LayerOptions {
  /** A row that starts at zero and never learns; counted from the end if negative. */
  readonly paddingIndex?: number | null | undefined;
}

/** Rows of a learned table by their numbers: [...] to [..., width]. Starts normal. Reference: torch.nn.Embedding. */
export class Embedding extends Module {
  readonly rows: number;
  readonly width: number;
  readonly paddingIndex: number | null;
  /** [rows, width] */
  weight: Parameter;

  constructor(rows: number, width: number, options: EmbeddingOptions = {}) {
    super();
    demandCount("Embedding", "rows", rows);
    demandCount("Embedding", "width", width);
    this.rows = rows;
    this.width = width;
    const padding = options.paddingIndex ?? null;
    if (padding !== null && (!Number.isInteger(padding) || padding < -rows || padding >= rows))
      throw new ValueError("Embedding", "paddingIndex", `a whole number in [${-rows}, ${rows - 1}]`, padding);
    this.paddingIndex = padding !== null && padding < 0 ? padding + rows : padding;
    this.weight = parameter([rows, width], options, (p) => {
      normal(p, 0, 1, options);
    });
    const row = this.paddingIndex;
    if (row !== null)
      noGrad(() =>
        scope(() => {
          copyInto("Embedding", select(this.weight, 0, row), zeros([width], { device: options.device }));
        }),
      );
  }

  forward(indices: Tensor): Tensor {
    return embeddingOp(indices, this.weight, { paddingIndex: this.paddingIndex });
  }

  protected override describeOptions(): string {
    return `${this.rows}, ${this.width}${this.paddingIndex === null ? "" : `, paddingIndex=${this.paddingIndex}`}`;
  }
}

export const embedding = (rows: number, width: number, options: EmbeddingOptions = {}): Embedding => new Embedding(rows, width, options);
