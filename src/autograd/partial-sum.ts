/**
 * The sum of a tensor's gradients, some of which (those of slices) are zero outside a box. Parts are collected and written once, so the backward pass
 * of T slices costs as much as that of the whole tensor, not T times as much.
 */
import type { Box, PartialGradient, TensorSpec } from "../core/definition.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { isGradEnabled } from "./grad-mode.ts";

interface Piece extends PartialGradient {
  readonly box: Box;
}

const keyOf = ({ starts, sizes, steps }: Box): string => `${starts.join()}/${sizes.join()}/${steps.join()}`;

/** Pieces that are added in place to a copy of the whole: no more than so many, of no more than this share of its elements. */
const FEW_PIECES = 8;
const SMALL = 8;

export class PartialSum {
  readonly #spec: TensorSpec;
  readonly #size: number;
  #whole: Tensor | null = null;
  #pieces = new Map<string, Piece>();
  /** Elements of the pieces. */
  #held = 0;
  /** Whether a piece was added: the sum is memory of its own then, as PyTorch's, also where one piece covers all of it. */
  hasPieces = false;

  constructor(spec: TensorSpec) {
    this.#spec = spec;
    this.#size = spec.shape.reduce((n, d) => n * d, 1);
  }

  add(part: PartialGradient): void {
    if (part.box === null) {
      this.#whole = this.#whole === null ? part.grad : arithmetic.add(this.#whole, part.grad);
      return;
    }
    this.hasPieces = true;
    const piece = part as Piece;
    const key = keyOf(piece.box);
    const before = this.#pieces.get(key);
    this.#pieces.set(key, before === undefined ? piece : { grad: arithmetic.add(before.grad, piece.grad), box: piece.box });
    if (before === undefined) this.#held += piece.grad.size;
    // Pieces that overlap take no more memory than the whole, and each element is added to the whole at most twice.
    if (this.#held > this.#size && this.#pieces.size > 1) this.#write();
  }

  /** The sum, still without the zeros around it where it has one box. */
  get part(): PartialGradient {
    if (this.#whole === null && this.#pieces.size === 1) return [...this.#pieces.values()][0]!;
    return { grad: this.sum, box: null };
  }

  get sum(): Tensor {
    if (this.#pieces.size > 0) this.#write();
    return this.#whole!;
  }

  #write(): void {
    const pieces = [...this.#pieces.values()];
    this.#pieces = new Map();
    const isSmall = pieces.length <= FEW_PIECES && this.#held * SMALL <= this.#size;
    this.#held = 0;
    if (this.#whole !== null && isSmall && !isGradEnabled() && tracer() === null) this.#whole = arithmetic.addParts(this.#whole, pieces);
    else this.add({ grad: arithmetic.gather(pieces, this.#spec), box: null });
  }
}
