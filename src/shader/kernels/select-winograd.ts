/** Winograd's convolution as nodes of a graph: two transforms, which do not wait for each other, 16 or 36 products in one launch, and the transform of these. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import type { ConvolutionSizes } from "./convolution-plan.ts";
import type { EpilogueForm } from "./epilogue.ts";
import type { Kernel } from "./kernel.ts";
import { launched, type Casts, type Inputs, type Result, type Takes } from "./epilogue-launch.ts";
import { gemm, PLAIN } from "./gemm.ts";
import { winogradPlanes, winogradResult, type PlanesForm, type TilesNumbers } from "./winograd.ts";
import { winogradPlan, type WinogradSplit } from "./winograd-plan.ts";
import { winogradWeightGradient, winogradWeights } from "./winograd-weights.ts";

interface Operands {
  /** x, in the data gradient dy. */
  readonly x: Expr;
  /** w, in the weight gradient dy. */
  readonly other: Expr;
  readonly bias: Expr | null;
}

/** The result of a convolution that isWinograd() is true for. */
export function winogradShader(
  g: GraphBuilder,
  c: ConvolutionSizes,
  split: WinogradSplit,
  { x, other, bias }: Operands,
  result: Result,
  takes: Takes,
  takesCasts: boolean,
): Expr {
  const [ofOperands, ofAll]: readonly [Casts, Casts] = takesCasts ? ["operands", "all"] : ["nothing", "nothing"];
  const { product, source, gradient, result: ofResult, hasLanes } = winogradPlan(c, split);
  const { planes: matrices, tile, fit, rows, columns, terms } = product;
  const { size } = split;
  const isSplit = product.split > 1;
  const { element } = c;
  const count = matrices * product.split;
  const part = (sizes: readonly number[]): Result => ({ dtype: "float32", sizes });
  const planes = (from: Expr, { form, params }: { readonly form: PlanesForm; readonly params: TilesNumbers }): Expr =>
    launched(
      g,
      ({ cast = [] }) => winogradPlanes({ ...form, cast }),
      { x: from },
      { name: "u", ...part([matrices * params.total * form.width]) },
      params,
      "nothing",
      ofOperands,
    );
  const multiplied = (a: Expr, b: Expr, transA: boolean): Expr => {
    const form = { ...PLAIN, transA, transB: !transA, isBatched: true };
    const inputs = {
      a: g.reinterpret(a, { sizes: transA ? [count, terms, rows] : [count, rows, terms] }),
      b: g.reinterpret(b, { sizes: transA ? [count, terms, columns] : [count, columns, terms] }),
    };
    const strides = { strideA: terms * rows, strideB: terms * columns };
    return launched(g, () => gemm(tile, fit, form), inputs, { name: "c", ...part([count, rows, columns]) }, strides, "nothing");
  };
  const end = { element, isSplit };
  if (gradient !== null) {
    const m = multiplied(planes(other, gradient), planes(x, source), false);
    const params = { kernels: rows * columns, splits: product.split };
    return launched(g, (epilogue) => winogradWeightGradient({ ...end, size, hasLanes, ...epilogue }), { m }, result, params, takes, ofAll);
  }
  const isRotated = c.kind === "inputGradient";
  const numbers = { filters: c.filters, channels: c.channels };
  const v = launched(g, ({ cast = [] }) => winogradWeights({ size, element, isRotated, cast }), { w: other }, { name: "v", ...part([matrices * terms * product.split * rows]) }, numbers, "nothing", ofOperands); // prettier-ignore
  const m = multiplied(v, planes(x, source), true);
  const inputs: Inputs = bias === null ? { m } : { m, bias };
  const { form, params } = ofResult!;
  const kernelOf = (epilogue: EpilogueForm): Kernel => winogradResult({ ...end, ...form, ...epilogue });
  return launched(g, kernelOf, inputs, result, { ...params, splits: product.split }, takes, ofAll);
}
