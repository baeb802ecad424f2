/** A pass over tokens whose earlier keys and values are given, as a model in a file has them. */
import type { DType } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { arange } from "../ops/creation/ranges.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { additiveMask, causalMask, groupedAttention, groupedMask, type DecoderPass } from "./decoder-pass.ts";
import { ropeTables, rotationsAt, type RopeFrequencies, type RopeTables } from "./rope.ts";

export class PastPass implements DecoderPass {
  readonly positions: Tensor;
  /** Keys and values of each layer that attend() has seen, those before included. */
  readonly present: Tensor[] = [];
  readonly #past: readonly Tensor[];
  readonly #maxLength: number;
  #rotations: RopeTables | null = null;
  #mask: Tensor | null = null;

  /** past: [B, G, P, D], keys and values of each layer. maxLength: above all positions. */
  constructor(tokens: Tensor, past: readonly Tensor[], maxLength: number) {
    const [before, length] = [past[0]!.shape[2]!, tokens.shape[1]!];
    const all = arange(before + length, { dtype: "int32", device: tokens.device });
    this.positions = reshape(narrow(all, 0, before, length), [1, length]);
    this.#past = past;
    this.#maxLength = maxLength;
  }

  rotations(frequencies: RopeFrequencies, dtype: DType): RopeTables {
    const { positions } = this;
    return (this.#rotations ??= rotationsAt(ropeTables(frequencies, this.#maxLength, positions.device), positions, dtype));
  }

  attend(layer: number, q: Tensor, k: Tensor, v: Tensor): Tensor {
    const keys = cat([this.#past[2 * layer]!, k], 2);
    const values = cat([this.#past[2 * layer + 1]!, v], 2);
    this.present[2 * layer] = keys;
    this.present[2 * layer + 1] = values;
    this.#mask ??= groupedMask(additiveMask(causalMask(this.positions, keys.shape[2]!), q), q.shape[1]! / k.shape[1]!);
    return groupedAttention(q, keys, values, this.#mask);
  }
}
