/**
 * Rows added by their indices as shader code: a thread for elements of the result compares all indices with their row, and adds what is theirs in the
 * order of the indices. DirectML's form is the gradient of reading one region of each image, where images and regions are of one element.
 */
import type { OperatorName } from "../../dml/operators.generated.ts";
import type { Scalar } from "../../graph/emitter.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Scope } from "../language.ts";
import type { Bool, Uint } from "../numbers.ts";
import { NUMBERS, type Attributes, type Reading, type Summed } from "./code.ts";

/**
 * Indices that each thread compares with its row, and of all threads together: of more, sorted indices or a product with one-hot rows cost less, though these
 * are some 30 launches.
 */
const [MAX_INDICES, MAX_COMPARED] = [1024, 2 ** 24];
/** The same where atomics add the rows in two launches. */
export const MAX_BEFORE_ATOMICS = 2 ** 22;
/** Elements of a row that a thread has where rows consist of such. */
export const SUMMED_WIDTH = 4;
/** Indices that are compared together: few of them are of a row. */
const TOGETHER = 8;

/** Whether k rows are few enough to be added so, into n rows of so many columns. */
export function sumsFew(k: number, n: number, columns: number, maxCompared = MAX_COMPARED): boolean {
  const threads = n * (columns % SUMMED_WIDTH === 0 ? columns / SUMMED_WIDTH : columns);
  return k <= MAX_INDICES && k * threads <= maxCompared;
}

/** Attributes of the operator as sums by index. */
export const SUM_ATTRIBUTES = {
  reductionFunction: "AVERAGE",
  interpolationMode: "NEAREST_NEIGHBOR",
  spatialScaleX: 1,
  spatialScaleY: 1,
  inputPixelOffset: 0,
  outputPixelOffset: 0,
  minimumSamplesPerOutput: 1,
  maximumSamplesPerOutput: 1,
  alignRegionsToCorners: false,
} as const;

type S = Pick<Scope<never, never>, "for" | "if" | "u32">;

/** Calls fn for each index that is `row`, in order. block: makes code that is known inside of it alone. */
export function eachOfRow(
  s: S,
  { k, indexAt, row }: { readonly k: Uint | number; readonly indexAt: (i: Uint) => Uint; readonly row: Uint },
  fn: (i: Uint) => void,
  block: (fn: () => void) => void = (inner) => inner(),
): void {
  const last = typeof k === "number" ? s.u32(k - 1) : k.sub(1);
  const isOwn = (i: Uint): Bool => indexAt(i).eq(row);
  const among = (first: Uint): Bool =>
    Array.from({ length: TOGETHER - 1 }, (_, i) => isOwn(first.add(i + 1).min(last))).reduce((a, b) => a.or(b), isOwn(first));
  const one = (i: Uint): void => block(() => s.if(isOwn(i), () => block(() => fn(i))));
  if (typeof k === "number" && k <= TOGETHER) return void s.for(0, k, one, { unroll: k === 1 });
  const some = (first: Uint): void => s.if(among(first), () => s.for(first, last.add(1).min(first.add(TOGETHER)), one, { unroll: false }));
  s.for(0, last.add(1), (first) => block(() => some(first)), { step: TOGETHER, unroll: false });
}

function summed({ inputs, outputs }: Attributes): Summed {
  const [, values, , indices] = inputs as readonly [Expr | null, Expr, Expr | null, Expr];
  return { values, indices, k: values.sizes[0]!, columns: outputs[0]!.sizes[1]! };
}

/** Whether all numbers of a tensor are zero; null stands for such. */
function areZeros(x: Expr | null | undefined): boolean {
  if (x == null) return true;
  const { producer } = x.value;
  return producer?.operator === "FILL_VALUE_CONSTANT" && (producer.attributes["value"] as Scalar).value === 0;
}

function accepts(node: Attributes): boolean {
  const [x, , boxes] = node.inputs as readonly (Expr | null)[];
  const { values, indices, k, columns } = summed(node);
  const [{ sizes }, ofBoxes] = [node.outputs[0]!, node.outputs[1] ?? null];
  const isOne = (list: readonly number[]): boolean => list.length === 4 && list[2] === 1 && list[3] === 1;
  return (
    x === null &&
    ofBoxes === null &&
    areZeros(boxes) &&
    values.dtype === "float32" &&
    (indices.dtype === "int32" || indices.dtype === "uint32") &&
    isOne(values.sizes) &&
    isOne(sizes) &&
    Object.entries(SUM_ATTRIBUTES).every(([name, value]) => node.attributes[name] === value) &&
    sumsFew(k, sizes[0]!, columns)
  );
}

export const SUMMED_ROWS: { readonly [K in OperatorName]?: Reading } = {
  ROI_ALIGN_GRAD: { dtypes: NUMBERS, code: { summed }, reads: () => [0, 1, 0, 1], accepts },
};
