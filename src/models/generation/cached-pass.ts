/** A pass whose keys and values are written into a cache of fixed size, and which attends to all that the cache holds. */
import type { DType } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import { assign } from "../../dispatch/dispatch.ts";
import { arange } from "../../ops/creation/ranges.ts";
import { zeros } from "../../ops/creation/creation.ts";
import { toDType } from "../../ops/data/conversion.ts";
import { add, mul } from "../../ops/elementwise/binary.ts";
import { indexCopy } from "../../ops/index/index-rows.ts";
import { narrow, reshape, unsqueeze } from "../../ops/shape/movement.ts";
import type { Device } from "../../core/device.ts";
import { keep, outsideScopes } from "../../core/scope.ts";
import type { CausalShape } from "../causal-model.ts";
import { additiveMask, causalMask, groupedAttention, groupedMask, type DecoderPass } from "../decoder-pass.ts";
import { ropeTables, rotationsAt, type RopeFrequencies, type RopeTables } from "../rope.ts";

/** Keys and values of all layers: of each a row for each text, head and position, [B * G * S, D]. */
export class KeyValueCache {
  readonly batch: number;
  /** Positions, S. The last one is nobody's: padding is written there. */
  readonly length: number;
  readonly shape: CausalShape;
  readonly layers: readonly { readonly keys: Tensor; readonly values: Tensor }[];

  constructor(shape: CausalShape, batch: number, length: number, device: Device, dtype: DType) {
    this.batch = batch;
    this.length = length;
    this.shape = shape;
    const made = (): Tensor => keep(zeros([batch * shape.keyHeads * length, shape.headWidth], { device, dtype }));
    this.layers = outsideScopes(() => Array.from({ length: shape.layers }, () => ({ keys: made(), values: made() })));
  }

  dispose(): void {
    for (const { keys, values } of this.layers) {
      keys.dispose();
      values.dispose();
    }
  }
}

export class CachedPass implements DecoderPass {
  readonly positions: Tensor;
  readonly #cache: KeyValueCache;
  /** Positions from the first on that are attended to. */
  readonly #seen: number;
  #rows: Tensor | null = null;
  #rotations: RopeTables | null = null;
  #mask: Tensor | null = null;

  constructor(cache: KeyValueCache, positions: Tensor, seen: number) {
    this.positions = positions;
    this.#cache = cache;
    this.#seen = seen;
  }

  rotations(frequencies: RopeFrequencies, dtype: DType): RopeTables {
    const { positions } = this;
    return (this.#rotations ??= rotationsAt(ropeTables(frequencies, this.#cache.length, positions.device), positions, dtype));
  }

  attend(layer: number, q: Tensor, k: Tensor, v: Tensor): Tensor {
    const { batch, length, layers, shape } = this.#cache;
    const { keyHeads, headWidth } = shape;
    const { keys, values } = layers[layer]!;
    const rows = (this.#rows ??= this.#rowsOf());
    const put = (cache: Tensor, x: Tensor): Tensor => {
      assign("generate", cache, () => indexCopy(cache, 0, rows, toDType(reshape(x, [x.size / headWidth, headWidth]), cache.dtype)));
      return toDType(narrow(reshape(cache, [batch, keyHeads, length, headWidth]), 2, 0, this.#seen), q.dtype);
    };
    const [seenKeys, seenValues] = [put(keys, k), put(values, v)];
    const groups = q.shape[1]! / keyHeads;
    this.#mask ??= groupedMask(additiveMask(causalMask(this.positions, this.#seen), q), groups);
    return groupedAttention(q, seenKeys, seenValues, this.#mask);
  }

  /** The row of the cache of each text, head and token, [B * G * L]. */
  #rowsOf(): Tensor {
    const { batch, length, shape } = this.#cache;
    const heads = batch * shape.keyHeads;
    const first = mul(reshape(arange(heads, { dtype: "int32", device: this.positions.device }), [batch, shape.keyHeads, 1]), length);
    return reshape(add(first, unsqueeze(this.positions, 1)), [heads * this.positions.shape[1]!]);
  }
}
