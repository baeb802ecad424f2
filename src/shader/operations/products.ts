/** Matrix products as shader code: an element is a sum over a row of one operand and a column of the other, both read from memory. */
import type { OperatorName } from "../../dml/operators.generated.ts";
import { Expr, type Activation } from "../../graph/graph.ts";
import type { DType } from "../../core/dtype.ts";
import { activationCode } from "./activations.ts";
import type { Attributes, Reading, Terms } from "./code.ts";

const FLOAT32: ReadonlySet<DType> = new Set(["float32"]);

const activationOf = ({ attributes }: Attributes): Activation | null => (attributes["fusedActivation"] ?? null) as Activation | null;

/** An operand's first terms, as a tensor of the product's sizes. isLeft: its rows are those of the product, else its columns. */
function firstOf(x: Expr, sizes: readonly number[], isLeft: boolean, isTransposed: boolean): Terms["operands"][number] {
  const [rows, columns] = x.strides.slice(-2) as [number, number];
  const [outer, inner] = isTransposed ? [columns, rows] : [rows, columns];
  const own = isLeft ? [outer, 0] : [0, inner];
  return { first: new Expr(x.value, x.dtype, sizes, [...x.strides.slice(0, -2), ...own], x.byteOffset), stride: isLeft ? inner : outer };
}

function termsOf(node: Attributes): Terms {
  const [a, b, c = null] = node.inputs as readonly [Expr, Expr, (Expr | null)?];
  const [{ sizes }, isTransposed] = [node.outputs[0]!, (name: string): boolean => node.attributes[name] === "TRANSPOSE"];
  const [alpha, beta] = [node.attributes["alpha"] as number, node.attributes["beta"] as number];
  const activation = activationOf(node);
  return {
    count: a.sizes.at(isTransposed("transA") ? -2 : -1)!,
    operands: [firstOf(a, sizes, true, isTransposed("transA")), firstOf(b, sizes, false, isTransposed("transB"))],
    addend: beta === 0 ? null : c,
    finish: (s, sum, addend) => {
      const scaled = alpha === 1 ? sum : sum.mul(alpha);
      const total = addend === null ? scaled : scaled.add(beta === 1 ? addend : addend.mul(beta));
      return activation === null ? total : activationCode(activation)!(total, s);
    },
  };
}

function accepts(node: Attributes): boolean {
  const [activation, rank] = [activationOf(node), node.outputs[0]!.sizes.length];
  if (node.attributes["alpha"] === 0 || !node.inputs.every((x) => x === null || x.sizes.length === rank)) return false;
  return activation === null || activationCode(activation) !== null;
}

export const PRODUCTS: { readonly [K in OperatorName]?: Reading } = {
  GEMM: {
    dtypes: FLOAT32,
    code: { terms: termsOf },
    reads: (node) => [termsOf(node).count, termsOf(node).count, 0],
    accepts,
  },
};
