/** How a value gets into a part of a storage: decided here alone, for writes that are run and for those that are compiled. */
import { DTYPES } from "../core/dtype.ts";
import { define } from "../core/definition.ts";
import { scatterShader } from "../shader/kernels/select.ts";
import { internDesc, type Desc, type Storage } from "../core/storage.ts";

/** What is written to. */
export interface Target {
  readonly storage: Storage;
  readonly desc: Desc;
  readonly offset: number;
}

export type Way =
  /** The value fills the storage. */
  | { readonly kind: "whole" }
  /** A dense range of elements, from `start` on. */
  | { readonly kind: "range"; readonly start: number }
  /** Elements at flat positions: the storage is computed again, since an operator may write every byte of its output's range. */
  | { readonly kind: "positions"; readonly positions: Int32Array };

export function wayOf({ storage, desc, offset }: Target): Way {
  if (!desc.isPacked) return { kind: "positions", positions: positionsOf(desc, offset) };
  return offset === 0 && desc.sizeInBytes === storage.contentInBytes ? { kind: "whole" } : { kind: "range", start: offset };
}

/** Positions of a description's elements in its storage, in row-major order. */
function positionsOf({ size, shape, strides }: Desc, offset: number): Int32Array {
  const out = new Int32Array(size);
  const at = new Array<number>(shape.length).fill(0);
  let position = offset;
  for (let i = 0; i < size; i++) {
    out[i] = position;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      position += strides[axis]!;
      if (++at[axis]! < shape[axis]!) break;
      position -= strides[axis]! * shape[axis]!;
      at[axis] = 0;
    }
  }
  return out;
}

/** Elements in dense runs of one length: where each starts, in row-major order. */
export interface Runs {
  readonly starts: readonly number[];
  readonly length: number;
}

/** The runs of a description's elements, if there are at most so many; null otherwise. */
export function runsOf({ size, shape, strides }: Desc, offset: number, maxRuns: number): Runs | null {
  let length = 1;
  let axis = shape.length;
  for (; axis > 0 && (strides[axis - 1] === length || shape[axis - 1] === 1); axis--) length *= shape[axis - 1]!;
  if (size === 0 || size > maxRuns * length) return null;
  let starts = [offset];
  for (let i = 0; i < axis; i++) starts = starts.flatMap((at) => Array.from({ length: shape[i]! }, (_, k) => at + k * strides[i]!));
  return { starts, length };
}

/** `source` without the axes along which the target's elements share a position: they get the same value. */
export function alone(target: Desc, source: Desc): Desc {
  if (target.isPacked || !target.strides.includes(0)) return source;
  const shape = source.shape.map((d, i) => (target.strides[i] === 0 ? 1 : d));
  return internDesc(source.device, source.dtype, shape, source.strides);
}

/** All elements of a storage, as one flat axis. */
export const flatDesc = ({ storage, desc }: Target): Desc =>
  internDesc(desc.device, desc.dtype, [storage.contentInBytes / DTYPES[desc.dtype].sizeInBytes]);

/** base (flat) with the elements at flat positions `indices` replaced by updates. DirectML: SCATTER_ELEMENTS. */
export const scatterFlatOp = define({
  name: "assign",
  traits: { carries: true },
  infer: ([base]) => [base!],
  lower: (g, [base, indices, updates]) => [
    scatterShader(g, base!, indices!, updates!, 0) ?? g.scatter(base!, indices!, updates!, { axis: 0, output: { sizes: base!.sizes } }),
  ],
  grad: null,
});
