/** Forms of elementwise operations by what they are made of: each of DirectML's operators is one of ONNX, or a few. */
import { isFloat, packedBytes, type DType } from "../../core/dtype.ts";
import { broadcastShapes, sameShape, type Shape } from "../../core/shape.ts";
import { Capabilities } from "../../dml/capabilities.ts";
import { GraphBuilder } from "../../graph/builder.generated.ts";
import { Graph, packedExpr, type Expr, type GraphNode, type Value as GraphValue } from "../../graph/graph.ts";
import { ELEMENT_TYPES } from "./element-types.ts";
import type { FormCall } from "./form.ts";
import { Refusal, type ExportGraph, type Name } from "./onnx-graph.ts";

/** Names of the definitions whose form is their lowering. */
export const LOWERED: readonly string[] = [
  "angle",
  "besselJ0",
  "besselJ1",
  "besselY0",
  "besselY1",
  "binaryCrossEntropy",
  "chebyshevPolynomialT",
  "chebyshevPolynomialU",
  "chebyshevPolynomialV",
  "chebyshevPolynomialW",
  "deg2rad",
  "digamma",
  "entr",
  "erfcx",
  "erfinv",
  "fakeQuantize",
  "gcd",
  "hermitePolynomialH",
  "hermitePolynomialHe",
  "hypot",
  "i0",
  "i0e",
  "i1",
  "i1e",
  "igamma",
  "igammac",
  "kneeLoss",
  "laguerrePolynomialL",
  "lcm",
  "legendrePolynomialP",
  "lgamma",
  "linearActivation",
  "logNdtr",
  "logaddexp",
  "logaddexp2",
  "logit",
  "mean2",
  "modifiedBesselI0",
  "modifiedBesselI1",
  "modifiedBesselK0",
  "modifiedBesselK1",
  "ndtr",
  "ndtri",
  "polygamma",
  "quantize",
  "rad2deg",
  "scaledModifiedBesselK0",
  "scaledModifiedBesselK1",
  "scaledTanh",
  "shiftedChebyshevPolynomialT",
  "shiftedChebyshevPolynomialU",
  "shiftedChebyshevPolynomialV",
  "shiftedChebyshevPolynomialW",
  "sinc",
  "sphericalBesselJ0",
  "thresholdedRelu",
  "withoutNan",
  "xlog1py",
  "xlogy",
  "zeta",
];

/** A device that has every operator and no kernel of its own. */
const plain = (): Capabilities =>
  new Capabilities({ name: "ONNX", featureLevel: 0x6400, dataTypes: 0xffff, fusesGraphs: false, waveLanes: 0 });

/** A value of the lowering, whose shape broadcasts to its sizes there. */
interface Made {
  readonly name: Name;
  readonly dtype: DType;
  readonly shape: Shape;
}

/** DirectML's operators that one of ONNX computes. */
const SAME: Readonly<Record<string, string>> = {
  ABS: "Abs",
  ACOS: "Acos",
  ACOSH: "Acosh",
  ADD: "Add",
  ASIN: "Asin",
  ASINH: "Asinh",
  ATAN: "Atan",
  ATANH: "Atanh",
  CEIL: "Ceil",
  COS: "Cos",
  COSH: "Cosh",
  DIVIDE: "Div",
  ERF: "Erf",
  EXP: "Exp",
  FLOOR: "Floor",
  IS_NAN: "IsNaN",
  LOG: "Log",
  LOGICAL_AND: "And",
  LOGICAL_EQUALS: "Equal",
  LOGICAL_GREATER_THAN: "Greater",
  LOGICAL_GREATER_THAN_OR_EQUAL: "GreaterOrEqual",
  LOGICAL_LESS_THAN: "Less",
  LOGICAL_LESS_THAN_OR_EQUAL: "LessOrEqual",
  LOGICAL_NOT: "Not",
  LOGICAL_OR: "Or",
  LOGICAL_XOR: "Xor",
  MAX: "Max",
  MIN: "Min",
  MULTIPLY: "Mul",
  NEGATE: "Neg",
  POW: "Pow",
  RECIP: "Reciprocal",
  SIGN: "Sign",
  SIN: "Sin",
  SINH: "Sinh",
  SQRT: "Sqrt",
  SUBTRACT: "Sub",
  TAN: "Tan",
  TANH: "Tanh",
};
const LOGIC: Readonly<Record<string, string>> = { Max: "Or", Min: "And" };

interface Attributes {
  readonly scaleBias?: readonly [number, number] | null;
  readonly roundingMode?: string;
  readonly infinityMode?: string;
  readonly min?: number;
  readonly max?: number;
  readonly alpha?: number;
  readonly beta?: number;
  readonly exponent?: number;
  readonly value?: { readonly value: number | bigint | boolean };
}

class Lowering {
  readonly #graph: ExportGraph;
  readonly #made = new Map<GraphValue, Made>();
  readonly #sizes = new Map<GraphValue, Shape>();

  constructor(graph: ExportGraph) {
    this.#graph = graph;
  }

  input(value: GraphValue, made: Made): void {
    this.#made.set(value, made);
    this.#sizes.set(value, made.shape);
  }

  /** What an expression shows: a whole value, broadcast. */
  of(x: Expr): Made {
    let made = this.#made.get(x.value);
    if (made === undefined) this.#made.set(x.value, (made = this.#run(x.value.producer!)));
    if (x.byteOffset !== 0 || !isBroadcast(this.#sizes.get(x.value)!, x)) throw new Refusal("its lowering shows a part of a tensor");
    if (x.dtype === made.dtype) return made;
    if (x.dtype !== "uint8" || made.dtype !== "bool") throw new Refusal("its lowering reads the bits of numbers");
    return { ...made, name: this.#node("Cast", [made], { to: ELEMENT_TYPES.uint8 }), dtype: "uint8" };
  }

  #node(type: string, inputs: readonly { readonly name: Name }[], attributes: Parameters<ExportGraph["node"]>[2] = {}): Name {
    return this.#graph.node(
      type,
      inputs.map((x) => x.name),
      attributes,
    );
  }

  #run(node: GraphNode): Made {
    const attributes = node.attributes as Attributes;
    const out = node.outputs[0]!;
    this.#sizes.set(out.value, out.sizes);
    const operator = node.operator.replace("ELEMENT_WISE_", "");
    if (operator === "FILL_VALUE_CONSTANT")
      return { name: this.#graph.scalar(out.dtype, attributes.value!.value), dtype: out.dtype, shape: [] };
    const inputs = node.inputs.filter((x) => x !== null).map((x) => this.of(x));
    const shape = inputs.reduce<Shape>((all, x) => broadcastShapes("onnx.export", all, x.shape), []);
    const operands = attributes.scaleBias == null ? inputs : [this.#affine(inputs[0]!, ...attributes.scaleBias), ...inputs.slice(1)];
    return { name: this.#operator(operator, operands, attributes, out.dtype), dtype: out.dtype, shape };
  }

  #number(like: Made, value: number): Made {
    return { name: this.#graph.scalar(like.dtype, value), dtype: like.dtype, shape: [] };
  }

  #affine(x: Made, scale: number, bias: number): Made {
    let { name } = x;
    if (scale !== 1) name = this.#node("Mul", [{ name }, this.#number(x, scale)]);
    if (bias !== 0) name = this.#node("Add", [{ name }, this.#number(x, bias)]);
    return { ...x, name };
  }

  #operator(operator: string, inputs: readonly Made[], a: Attributes, dtype: DType): Name {
    const [x, y, z] = inputs as [Made, Made, Made];
    const same = SAME[operator];
    if (same !== undefined) return this.#node(x.dtype === "bool" ? (LOGIC[same] ?? same) : same, inputs);
    switch (operator) {
      case "IDENTITY":
        return x.name;
      case "CAST":
        return this.#node("Cast", [x], { to: ELEMENT_TYPES[dtype] });
      case "IF":
        return where(this.#graph, x.name, y.name, z.name, dtype);
      case "IS_INFINITY":
        return this.#node("IsInf", [x], {
          detect_positive: a.infinityMode === "NEGATIVE" ? 0 : 1,
          detect_negative: a.infinityMode === "POSITIVE" ? 0 : 1,
        });
      case "ROUND":
        if (a.roundingMode === "HALVES_TO_NEAREST_EVEN") return this.#node("Round", [x]);
        if (a.roundingMode === "TOWARD_ZERO")
          return this.#node("Mul", [{ name: this.#node("Sign", [x]) }, { name: this.#node("Floor", [{ name: this.#node("Abs", [x]) }]) }]);
        break;
      case "CLIP":
        return this.#node("Clip", [x, this.#number(x, a.min!), this.#number(x, a.max!)]);
      case "CONSTANT_POW":
        return this.#node("Pow", [x, this.#number(x, a.exponent!)]);
      case "MODULUS_TRUNCATE":
        return this.#node("Mod", [x, y], { fmod: 1 });
      case "MODULUS_FLOOR": {
        if (!isFloat(dtype)) return this.#node("Mod", [x, y]);
        const down = { name: this.#node("Floor", [{ name: this.#node("Div", [x, y]) }]) };
        return this.#node("Sub", [x, { name: this.#node("Mul", [y, down]) }]);
      }
      case "MEAN":
        return this.#node("Mul", [{ name: this.#node("Add", [x, y]) }, this.#number(x, 0.5)]);
      case "ACTIVATION_SIGMOID":
        return this.#node("Sigmoid", [x]);
      case "ACTIVATION_TANH":
        return this.#node("Tanh", [x]);
      case "ACTIVATION_LINEAR":
        return this.#affine(x, a.alpha!, a.beta!).name;
      case "ACTIVATION_SCALED_TANH":
        return this.#affine({ ...x, name: this.#node("Tanh", [this.#affine(x, a.beta!, 0)]) }, a.alpha!, 0).name;
      case "ACTIVATION_THRESHOLDED_RELU":
        return this.#node("ThresholdedRelu", [x], { alpha: { float: a.alpha! } });
    }
    throw new Refusal(`its lowering needs ${operator}`);
  }
}

/** Where; of bool, which ONNX Runtime has none for, by logic. */
export function where(graph: ExportGraph, condition: Name, yes: Name, no: Name, dtype: DType): Name {
  if (dtype !== "bool") return graph.node("Where", [condition, yes, no]);
  return graph.node("Or", [graph.node("And", [condition, yes]), graph.node("And", [graph.node("Not", [condition]), no])]);
}

/** Whether an expression is a packed tensor of this shape, broadcast. */
function isBroadcast(shape: Shape, { sizes, strides }: Expr): boolean {
  let step = 1;
  for (let i = sizes.length - 1; i >= 0; i--) {
    const n = shape[i - (sizes.length - shape.length)] ?? 1;
    if (n !== 1 && (sizes[i] !== n || strides[i] !== step)) return false;
    if (n === 1 && sizes[i] !== 1 && strides[i] !== 0) return false;
    step *= n;
  }
  return true;
}

/** The results of a call by its definition's lowering. */
export function lowered(c: FormCall<never>): Name[] {
  const { definition } = c;
  const graph = new Graph();
  const builder = new GraphBuilder(graph, plain());
  builder.origin = definition.name;
  const lowering = new Lowering(c.graph);
  const inputs = c.inputs.map((v) => {
    const x = packedExpr(graph.addInput(packedBytes(v.dtype, v.shape)), v.dtype, v.shape);
    lowering.input(x.value, v);
    return x;
  });
  if ([...c.inputs, ...c.outputs].some(({ dtype }) => dtype === "bfloat16")) c.refuse("bfloat16");
  return definition.lower(builder, inputs, c.attrs, c.outputs).map((x, i) => {
    const made = lowering.of(x);
    const { shape } = c.outputs[i]!;
    return sameShape(made.shape, shape) ? made.name : c.node("Expand", [made.name, c.graph.lengths(shape, c.otherOutputs[i]!.shape)]);
  });
}
