/** Rows of the operators whose tensors all have the same sizes, made from the operator table. */
import { OPERATORS } from "../../dml/operators.generated.ts";
import type { OperatorRow } from "../../dml/schema.ts";

const shapes = ["[2,3,4,5]", "[33]", "[3,1,7]", "[2,1,3,1,2,2,1,3]", "[1]", "[1031]"];

/** Attributes to try; operators that are not named have none, or take 0.5 for each number. */
const attributes: { readonly [name: string]: readonly string[] } = {
  ELEMENT_WISE_CLIP: ["min=-1 max=1.25", "min=1 max=3"],
  ELEMENT_WISE_CLIP_GRAD: ["min=-1 max=1.25"],
  ELEMENT_WISE_CLIP1: ["minMaxDataType=T min=$0 max=$2"],
  ELEMENT_WISE_CLIP_GRAD1: ["minMaxDataType=T min=$0 max=$2"],
  ELEMENT_WISE_THRESHOLD: ["min=0.5"],
  ELEMENT_WISE_CONSTANT_POW: ["exponent=2", "exponent=3", "exponent=0.5", "exponent=-1", "exponent=0"],
  ELEMENT_WISE_ROUND: ["roundingMode=HALVES_TO_NEAREST_EVEN", "roundingMode=TOWARD_ZERO", "roundingMode=TOWARD_INFINITY"],
  ELEMENT_WISE_IS_INFINITY: ["infinityMode=EITHER", "infinityMode=POSITIVE", "infinityMode=NEGATIVE"],
  ELEMENT_WISE_ADD1: ["", "fusedActivation={ACTIVATION_RELU}", "fusedActivation={ACTIVATION_ELU alpha=1.5}"],
  ACTIVATION_ELU: ["alpha=1", "alpha=2"],
  ACTIVATION_CELU: ["alpha=1", "alpha=2"],
  ACTIVATION_HARD_SIGMOID: ["alpha=0.2 beta=0.5"],
  ACTIVATION_HARD_SWISH: ["alpha=0.16666667 beta=0.5"],
  ACTIVATION_LEAKY_RELU: ["alpha=0.25"],
  ACTIVATION_LINEAR: ["alpha=2 beta=0.5"],
  ACTIVATION_PARAMETRIC_SOFTPLUS: ["alpha=1.5 beta=2"],
  ACTIVATION_SCALED_ELU: ["alpha=1.6732632 gamma=1.0507010"],
  ACTIVATION_SCALED_TANH: ["alpha=1.5 beta=0.5"],
  ACTIVATION_SHRINK: ["bias=0.25 threshold=0.5", "bias=0 threshold=1"],
  ACTIVATION_SOFTPLUS: ["steepness=1", "steepness=2"],
  ACTIVATION_SWISH: ["sigmoidInputScale=1", "sigmoidInputScale=1.702"],
  ACTIVATION_THRESHOLDED_RELU: ["alpha=0.5"],
  VALUE_SCALE_2D: [],
};

/** Not elementwise, though their tensors are of one size. */
const others = /SOFTMAX|HARDMAX|CUMULATIVE|NORMALIZATION|QUANTIZE|VALUE_SCALE|CAST/;

function isElementwise(row: OperatorRow): boolean {
  const tensors = row.fields.flatMap((f, i) => (f.kind === "attribute" ? [] : [i]));
  return !others.test(row.name) && (row.same.sizes ?? []).some((group) => tensors.every((i) => group.includes(i)));
}

/** T for the tensors that share a data type, C for a condition, U for an output of its own type. */
function tensors(row: OperatorRow, shape: string): string {
  const group = row.same.dataType?.[0] ?? [row.fields.findIndex((f) => f.kind === "input")];
  return row.fields
    .flatMap((f, i) => (f.kind === "attribute" ? [] : [`${f.name}=${group.includes(i) ? "T" : f.kind === "output" ? "U" : "C"}${shape}`]))
    .join(" ");
}

function rowsOf(row: OperatorRow): string[] {
  const plain = attributes[row.name] ?? [""];
  const textOf = (shape: string, extra: string): string => `${row.name} ${tensors(row, shape)} ${extra}`.trim();
  const rows = [...plain.map((extra) => textOf(shapes[0]!, extra)), ...shapes.slice(1).map((shape) => textOf(shape, plain[0]!))];
  if (row.fields.some((f) => f.type === "scaleBias")) rows.push(textOf("[3,7]", `${plain[0]!} scaleBias=0.5:0.25`));
  return rows;
}

const casts = ["[2,3,4,5]", "[37]", "[2,1,3,1,2,2,1,3]"].map((shape) => `CAST input=T${shape} output=U${shape}`);

export const elementwiseRows: readonly string[] = [
  ...Object.values<OperatorRow>(OPERATORS).filter(isElementwise).flatMap(rowsOf),
  ...casts,
];
