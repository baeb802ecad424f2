/**
 * Disjoint packed ranges of a storage that a compiled function writes. They are joined with the rest of the storage only when a read crosses ranges,
 * once for all of them. An optimizer writes its flat state so, one parameter after the other.
 */
import { DTYPES, type DType } from "../core/dtype.ts";
import type { GraphBuilder } from "../graph/builder.generated.ts";
import { joinFlat } from "../graph/flat-join.ts";
import { Expr, packedExpr, type Value } from "../graph/graph.ts";
import type { Desc } from "../core/storage.ts";

interface Patch {
  readonly start: number;
  readonly size: number;
  /** Flat and packed. */
  readonly value: Expr;
}

export class Patches {
  readonly dtype: DType;
  #all: Patch[] = [];

  constructor(dtype: DType) {
    this.dtype = dtype;
  }

  /** start: in elements. False where the range overlaps another one without being equal to it. */
  add(start: number, value: Expr): boolean {
    const size = value.sizes[0]!;
    const met = this.#all.filter((p) => p.start < start + size && start < p.start + p.size);
    if (met.some((p) => p.start !== start || p.size !== size)) return false;
    this.#all = [...this.#all.filter((p) => !met.includes(p)), { start, size, value }];
    return true;
  }

  /** What shows one of the ranges or a part of it; "untouched" where none is met; null where they have to be joined first. */
  read({ dtype, shape, strides, extent }: Desc, offset: number): Expr | "untouched" | null {
    const met = this.#all.filter((p) => p.start < offset + extent && offset < p.start + p.size);
    if (met.length === 0) return "untouched";
    const [only] = met;
    if (met.length > 1 || dtype !== this.dtype || offset < only!.start || offset + extent > only!.start + only!.size) return null;
    const bytes = only!.value.byteOffset + (offset - only!.start) * DTYPES[dtype].sizeInBytes;
    return new Expr(only!.value.value, dtype, shape, strides, bytes);
  }

  /** The storage's `count` elements, of which `base` has those that no range covers. */
  join(g: GraphBuilder, base: Value, count: number): Value {
    const rest = packedExpr(base, this.dtype, [count]);
    const parts: Expr[] = [];
    let at = 0;
    const fill = (end: number): void => {
      if (end > at)
        parts.push(
          g.emit("SLICE1", {
            input: rest,
            output: { sizes: [end - at] },
            inputWindowOffsets: [at],
            inputWindowSizes: [end - at],
            inputWindowStrides: [1],
          }).output as Expr,
        );
    };
    for (const { start, size, value } of this.#all.toSorted((a, b) => a.start - b.start)) {
      fill(start);
      parts.push(value);
      at = start + size;
    }
    fill(count);
    return joinFlat(g, parts, this.dtype).value;
  }
}
