/** Types of the operator table (operators.generated.ts), and functions that look it up. */

export interface FieldRow {
  readonly name: string;
  readonly kind: "input" | "output" | "attribute";
  /** "tensor", "tensorArray", "uint32", "enum:DML_REDUCE_FUNCTION", … */
  readonly type: string;
  readonly optional: boolean;
  /** Index of the field that counts this array. */
  readonly count?: number;
}

/** [feature level, field, least rank, highest rank, data types as bits, reduce functions as bits (0: any)] */
export type SupportRow = readonly [level: number, field: number, minRank: number, maxRank: number, dataTypes: number, functions: number];

export interface OperatorRow {
  readonly name: string;
  /** DML_OPERATOR_TYPE. */
  readonly type: number;
  readonly featureLevel: number;
  readonly supportsInPlace: boolean;
  /** Usable as a fused activation. */
  readonly fusable: boolean;
  readonly fields: readonly FieldRow[];
  readonly support: readonly SupportRow[];
  /** Groups of fields that agree in dataType, dimensionCount or sizes. */
  readonly same: {
    readonly dataType?: readonly (readonly number[])[];
    readonly dimensionCount?: readonly (readonly number[])[];
    readonly sizes?: readonly (readonly number[])[];
  };
}

export type OperatorTable<Name extends string> = { readonly [K in Name]: OperatorRow };

/**
 * The data types (bits) and ranks that a tensor of an operator may have on a feature level: the rows of the highest level that
 * is not above it. Null when the level has no such operator or the table lists nothing.
 */
export function supportOf(
  row: OperatorRow,
  field: number,
  featureLevel: number,
  reduceFunction = -1,
): { minRank: number; maxRank: number; dataTypes: number } | null {
  let best: SupportRow | null = null;
  for (const r of row.support) {
    if (r[1] !== field || r[0] > featureLevel) continue;
    if (r[5] !== 0 && (reduceFunction < 0 || ((r[5] >> reduceFunction) & 1) === 0)) continue;
    if (best === null || r[0] > best[0]) best = r;
  }
  return best === null ? null : { minRank: best[2], maxRank: best[3], dataTypes: best[4] };
}
