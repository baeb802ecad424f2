/** Matrix products by shaders as nodes of a graph, where they are chosen (choice.ts); null: DirectML's operator stands. */
import { packedStrides, sizeOf, viewStrides } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { Expr, isWhole, type AsGemm, type GraphNode, type ShaderCall, type Value } from "../../graph/graph.ts";
import { choosesShader } from "../choice.ts";
import { MAX_BUFFERS } from "../dxbc/emit.ts";
import { variantOf } from "../shader-forms.ts";
import { chosen, packs, type Sized } from "./chosen.ts";
import { EpilogueLaunch, type Inputs } from "./epilogue-launch.ts";
import { NO_EPILOGUE, type EpilogueForm } from "./epilogue.ts";
import { gemmDot } from "./gemm-dot.ts";
import * as elementwise from "./elementwise.ts";
import { gemmSum, SPLIT_TILES, splitOf, SUMMED_ROWS, type Split } from "./gemm-sum.ts";
import { fitOf, gemm, groupsOfTile, PLAIN, TILES, type GemmForm, type Tile } from "./gemm.ts";
import { callOf, type Kernel } from "./kernel.ts";
import { notesRows, type NormInput } from "./row-statistics.ts";

type Params = { readonly [name: string]: number };

type Output = Sized & { readonly name: string; readonly dtype: "float32" | "float16" };

const TILE_NAMES = Object.keys(TILES) as (keyof typeof TILES)[];
/** The kernel of contiguous rows, as a variant. */
const DOT = "dot";
/** Tiles whose groups share K, as variants. */
const SPLITS = SPLIT_TILES.map((name) => [`${name} split`, TILES[name]] as const);

/** Groups of a small tile that leave most of a GPU idle, and the length of rows from which on their own kernel is faster than a tile. */
const [FEW_GROUPS, MIN_ROW] = [32, 192];

/** K from which on it is split among groups, and the groups of a small tile up to which it is. */
const [MIN_SPLIT, MAX_SPLIT_GROUPS] = [1024, 64];

/** A tile or the kernel of rows; split: K is shared by groups. */
type Choice = { readonly tile: Tile; readonly split: Split | null } | typeof DOT;

/**
 * The largest tile that gives a device enough groups; of few tiles, one whose groups split K or share it, or the kernel of contiguous rows. count: products. hasRows: of
 * both operands, four elements at a time. isWide: of all three matrices.
 */
function choiceFor(g: GraphBuilder, sizes: readonly [number, number, number], count: number, hasRows: boolean, isWide: boolean): Choice {
  const [m, n, k] = sizes;
  const splits = SPLITS.flatMap(([name, tile]) => {
    const split = splitOf(tile, sizes, count);
    return split === null ? [] : [[name, { tile, split }] as const];
  });
  const fixed = variantOf<string>([...TILE_NAMES, ...(hasRows ? [DOT] : []), ...splits.map(([name]) => name)]);
  if (fixed === DOT) return DOT;
  if (fixed !== null) return splits.find(([name]) => name === fixed)?.[1] ?? { tile: TILES[fixed as keyof typeof TILES], split: null };
  const groups = (tile: Tile): number => groupsOfTile(tile, [count, m, n]);
  const whole = (name: keyof typeof TILES): Choice => ({ tile: TILES[name], split: null });
  if (groups(TILES.large) >= 192) return whole("large");
  if (groups(TILES.wide) >= 256) return whole("wide");
  if (groups(TILES.medium) >= (count > 1 ? 64 : 192)) return whole("medium");
  const shared = !isWide || groups(TILES.smallInTwo) > MAX_SPLIT_GROUPS || k < MIN_SPLIT ? undefined : splits[0]?.[1];
  if (shared !== undefined && choosesShader(g.capabilities, g.isAlone, "splitGemm", { dtype: "float32", extent: k, isPacked: true })) return shared; // prettier-ignore
  if (groups(TILES.smallInTwo) > FEW_GROUPS) return whole("smallInTwo");
  return hasRows && k >= MIN_ROW ? DOT : whole("tinyInEight");
}

/** Beyond so many columns of A, a group of the smallest tile takes longer than DirectML's GEMM. */
const MAX_DEPTH = 512;

interface Product {
  readonly form: GemmForm;
  /** Of the launch that writes the product. */
  readonly kernel: (epilogue: EpilogueForm) => Kernel;
  /** The same of another form; null: it has none with statistics, or a norm. */
  readonly inForm: ((form: GemmForm) => (epilogue: EpilogueForm) => Kernel) | null;
  /** Whether rows are such that its operands and its result may be of the other float type: threads write words. */
  readonly casts: boolean;
  /** Whether its operands may be bfloat16 in memory. */
  readonly readsBfloat16: boolean;
  /** Of the launch that writes the product, which can write sums of columns and cast its operands; null: it cannot. */
  readonly summing: { readonly tileRows: number; readonly inForm: (form: GemmForm) => (epilogue: EpilogueForm) => Kernel } | null;
  /** K. */
  readonly depth: number;
  /** Columns of a tile; null: its launch writes no statistics. */
  readonly tileColumns: number | null;
  /** The launch before it that writes the parts of its sums, of which it is told. */
  readonly partial: { readonly kernel: (form: GemmForm) => Kernel; readonly split: Split } | null;
  /** The least size, or the depth of the kernel of rows; 0: slower than DirectML's where it was measured. */
  readonly extent: number;
}

/** The kernels of a product, or of `count`. */
function productFor(g: GraphBuilder, form: GemmForm, sizes: readonly [m: number, n: number, k: number], count = 1): Product {
  const [m, n, k] = sizes;
  const hasRows = !form.isBatched && !form.transA && form.transB && k % 4 === 0 && form.element === "f32";
  const choice = choiceFor(g, sizes, count, hasRows, fitOf(TILES.smallInTwo, sizes, form) !== "each");
  const readsBfloat16 = choosesShader(g.capabilities, g.isAlone, "bfloat16Operands", { dtype: "float32", extent: Math.min(m, n, k), isPacked: true }); // prettier-ignore
  const plain = { form, readsBfloat16, inForm: null, summing: null, depth: k, tileColumns: null, partial: null, casts: false };
  if (choice === DOT) return { ...plain, kernel: (epilogue) => gemmDot({ ...form, epilogue }), extent: k };
  const { tile, split } = choice;
  const fit = fitOf(tile, sizes, form);
  const isSlow = fit === "each" || (tile === TILES.tinyInEight && k > MAX_DEPTH);
  const extent = isSlow ? 0 : Math.min(m, n, k);
  if (split === null) {
    const inForm = (own: GemmForm) => (epilogue: EpilogueForm) => gemm(tile, fit, { ...own, epilogue });
    const isRead = !form.isBatched && fit !== "each";
    return {
      ...plain,
      kernel: inForm(form),
      casts: fit !== "each",
      inForm: isRead ? inForm : null,
      summing: { tileRows: tile.bm, inForm },
      tileColumns: notesRows(tile) ? tile.bn : null,
      extent,
    };
  }
  const kernel = ({ transA, transB, isBatched, element, cast, bfloat16 = [] }: GemmForm): Kernel =>
    gemm(tile, fit, { ...PLAIN, transA, transB, isBatched, element, cast, bfloat16, isSplit: true });
  const c = form.isBatched ? [count, m, n] : [m, n];
  const inForm = (own: GemmForm) => (epilogue: EpilogueForm) => gemmSum({ ...own, epilogue }, c);
  return {
    ...plain,
    kernel: inForm(form),
    inForm,
    summing: { tileRows: SUMMED_ROWS, inForm },
    casts: fit !== "each",
    partial: { kernel, split },
    extent,
  };
}

/** Whether strides are those of the transpose of a packed matrix. */
const packsTransposed = ({ sizes: [rows, columns], strides }: Expr): boolean =>
  packs([columns!, rows!], { sizes: [columns!, rows!], strides: strides.toReversed() });

/** The addend of a product [M, N] as the shader reads it; null: it does not. */
function addendOf(
  g: GraphBuilder,
  c: Expr,
  [m, n]: readonly [number, number],
): { readonly x: Expr; readonly kind: "row" | "matrix" } | null {
  const last = c.strides.at(-1)!;
  const isRow = c.sizes.at(-1) === n && (c.sizes.length === 1 || c.sizes.slice(0, -1).every((d, i) => d === 1 || c.strides[i] === 0));
  if (isRow && (last === 1 || n === 1)) return { x: g.reinterpret(c, { sizes: [n], strides: [1] }), kind: "row" };
  return c.sizes.length === 2 && c.sizes[0] === m && c.sizes[1] === n && packs(c.sizes, c) ? { x: c, kind: "matrix" } : null;
}

/** alpha a b + beta c of a [M, K] and b [K, N] in float32, each packed or the transpose of what is packed. */
export function matmulShader(
  g: GraphBuilder,
  a: Expr,
  b: Expr,
  c: Expr | null,
  { alpha, beta }: { readonly alpha: number; readonly beta: number },
): Expr | null {
  const { dtype } = a;
  if ((dtype !== "float32" && dtype !== "float16") || b.dtype !== dtype || a.sizes.length !== 2 || b.sizes.length !== 2) return null;
  const [m, k, n] = [a.sizes[0]!, a.sizes[1]!, b.sizes[1]!];
  const [transA, transB] = [a, b].map((x) => !packs(x.sizes, x)) as [boolean, boolean];
  if ((transA && !packsTransposed(a)) || (transB && !packsTransposed(b))) return null;
  const added = c === null || beta === 0 ? null : addendOf(g, c, [m, n]);
  if (added === null && c !== null && beta !== 0) return null;
  if (added !== null && added.x.dtype !== dtype) return null;
  const output = { name: "c", dtype, sizes: [m, n] };
  const scales = alpha !== 1 || (added !== null && beta !== 1);
  const isPlain = !transA && !transB && added === null && !scales;
  const [left, right] = [transA ? g.transpose(a, [1, 0]) : a, transB ? g.transpose(b, [1, 0]) : b];
  const inputs: Inputs = { a: left, b: right, ...(added === null ? {} : { bias: added.x }) };
  const product = productFor(
    g,
    { ...PLAIN, element: dtype === "float32" ? "f32" : "f16", transA, transB, bias: added?.kind ?? null, scales },
    [m, n, k],
  );
  if (dtype === "float16" && !product.casts) return null;
  if (chosen(g, isPlain ? "matmul" : "linear", [...Object.values(inputs), output], product.extent) === null) return null;
  return gemmLaunch(g, product, inputs, output, { alpha, beta });
}

/** A GEMM's operands and addend, of as many axes as its result. */
function operandsOf(own: readonly Expr[], { bias }: GemmForm, sizes: readonly number[]): Expr[] {
  const [m, n] = sizes.slice(-2) as [number, number];
  return own.map((x, i) => {
    if (i === 2) return bias === "row" ? new Expr(x.value, x.dtype, [m, n], [0, 1], x.byteOffset) : x;
    return x.sizes.length === sizes.length ? x : new Expr(x.value, x.dtype, [sizes[0]!, ...x.sizes], [0, ...x.strides], x.byteOffset);
  });
}

/** Tiles of a row whose statistics each thread merges again: more take longer than a launch. */
const MAX_TILES = 16;

/** Of a GEMM's node: its launch with statistics of its rows, and with a norm of its first operand by such. */
function normsOf(
  g: GraphBuilder,
  { form, inForm, tileColumns, partial }: Product,
  output: Output,
  params: Params,
): (inputs: Inputs, epilogue: EpilogueForm) => Pick<GraphNode, "withStatistics" | "withNorm"> {
  const [rows, columns] = output.sizes.slice(-2) as [number, number];
  const use = { dtype: "float32", extent: columns, isPacked: true } as const;
  if (
    inForm === null ||
    partial !== null ||
    form.element !== "f32" ||
    !castsNothing(form) ||
    !choosesShader(g.capabilities, g.isAlone, "rowStatistics", use)
  )
    return () => ({});
  return (inputs, epilogue) => {
    const withNorm: NonNullable<GraphNode["withNorm"]> = ({ kind, epsilon }, x, statistics, { gain, shift }) => {
      if (form.transA || statistics.x.sizes[1]! > MAX_TILES) return null;
      const { a: _, b, bias, ...rest } = inputs as { readonly [name: string]: Expr };
      const factors = { ...(gain === null ? {} : { gain }), ...(shift === null ? {} : { shift }) };
      const next: Inputs = { a: x, b: b!, ...(bias === undefined ? {} : { bias }), statistics: statistics.x, ...factors, ...rest };
      if (Object.keys(next).length + 1 > MAX_BUFFERS) return null;
      const own: GemmForm = { ...form, norm: { kind, inputs: Object.keys(factors) as NormInput[] } };
      const numbers = { ...params, epsilon, tileColumns: statistics.tileColumns };
      const launch = new EpilogueLaunch(g, inForm(own), output, numbers, "elements");
      const { withActivation } = launch.epilogues(next, epilogue);
      return {
        shader: launch.call(next, epilogue),
        inputs: Object.values(next),
        ...(withActivation === undefined ? {} : { withActivation }),
      };
    };
    if (tileColumns === null || Object.keys(inputs).length + 2 > MAX_BUFFERS) return { withNorm };
    const sizes = [rows, Math.ceil(columns / tileColumns), 2];
    const shader = (): ShaderCall => {
      const shapes = Object.fromEntries([...Object.entries(inputs).map(([name, x]) => [name, x.sizes] as const), ["c", output.sizes], ["rowStatistics", sizes]]); // prettier-ignore
      return callOf(g.capabilities, inForm({ ...form, hasStatistics: true })(epilogue), { shapes, params });
    };
    return { withNorm, withStatistics: { sizes, tileColumns, columns, shader } };
  };
}

/** Of a GEMM's node: its launch with sums of its columns. */
function columnSumsOf(
  g: GraphBuilder,
  { form, summing, depth }: Product,
  output: Output,
  params: Params,
): (inputs: Inputs, epilogue: EpilogueForm) => Pick<GraphNode, "withColumnSums"> {
  const [rows, columns] = output.sizes.slice(-2) as [number, number];
  const use = { dtype: output.dtype, extent: rows, isPacked: true } as const;
  if (summing === null || !choosesShader(g.capabilities, g.isAlone, "columnSums", use)) return () => ({});
  const { tileRows, inForm } = summing;
  const count = sizeOf(output.sizes.slice(0, -2));
  const sizes = [count * Math.ceil(rows / tileRows), columns];
  const rounded: NonNullable<GraphNode["withColumnSums"]>["rounded"] = (own) => ({
    shader: callOf(g.capabilities, elementwise.cast("f32", "f16"), { shapes: { x: own, y: own }, params: {} }),
    isCast: true,
    asOperator: { operator: "CAST", attributes: {}, inputs: (list) => list, output: { dtype: "float16", sizes: own } },
  });
  return (inputs, epilogue) => {
    if (Object.keys(inputs).length + 2 > MAX_BUFFERS) return {};
    const shader = (): ShaderCall => {
      const shapes = {
        ...Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, x.sizes])),
        c: output.sizes,
        columnSums: sizes,
      };
      return callOf(g.capabilities, inForm({ ...form, hasColumnSums: true })(epilogue), { shapes, params });
    };
    return { withColumnSums: { sizes, count, rows, columns, products: count * rows * columns * depth, shader, rounded } };
  };
}

/** A form with an operand that is cast when it is loaded; null: it is none of these. */
function withCastIn(
  form: GemmForm,
  inputs: Inputs,
  cast: Value,
  x: Expr,
  readsBfloat16: boolean,
): { readonly form: GemmForm; readonly inputs: Inputs } | null {
  const found = (["a", "b", "bias"] as const).filter((name) => inputs[name]?.value === cast);
  const isBfloat16 = x.dtype === "bfloat16";
  if (isBfloat16 && (form.element !== "f32" || !readsBfloat16 || found.length === 0)) return null;
  const dtype = isBfloat16 ? "bfloat16" : form.element === "f32" ? "float16" : "float32";
  // A product of a tensor with itself reads the cast's result.
  if (found.length > 1) return null;
  if (
    x.dtype !== dtype ||
    found.some((name) => form.cast.includes(name) || form.bfloat16?.includes(name) === true || !isWhole(inputs[name]!))
  )
    return null;
  const read = (name: string, own: Expr): Expr =>
    (found as string[]).includes(name) ? new Expr(x.value, dtype, own.sizes, own.strides, x.byteOffset) : own;
  const next = Object.fromEntries(Object.entries(inputs).map(([name, own]) => [name, read(name, own)]));
  const { cast: before, bfloat16 = [] } = form;
  return { form: { ...form, ...(isBfloat16 ? { bfloat16: [...bfloat16, ...found] } : { cast: [...before, ...found] }) }, inputs: next };
}

/** Whether operands of a form are in memory as it multiplies them. */
const castsNothing = ({ cast, bfloat16 = [] }: GemmForm): boolean => cast.length + bfloat16.length === 0;

type Launched = Omit<GraphNode, "id" | "operator" | "attributes" | "outputs" | "origin"> & { readonly shader: ShaderCall };

/** The launch that writes a product, or the sum of its parts, with what it can take. */
function productLaunch(g: GraphBuilder, product: Product, inputs: Inputs, output: Output, params: Params): Launched {
  const { form, kernel, summing, casts } = product;
  const [norms, sums] = [normsOf(g, product, output, params), columnSumsOf(g, product, output, params)];
  const more: typeof norms = (own, epilogue) => ({ ...norms(own, epilogue), ...sums(own, epilogue) });
  const launch = new EpilogueLaunch(g, kernel, output, params, "elements", { more, casts });
  const shader = launch.call(inputs, NO_EPILOGUE);
  const withCast = (cast: Value, x: Expr): Launched | null => {
    const made = withCastIn(form, inputs, cast, x, product.readsBfloat16);
    if (made === null || summing === null || !casts) return null;
    return productLaunch(g, { ...product, form: made.form, kernel: summing.inForm(made.form) }, made.inputs, output, params);
  };
  const common = { shader, inputs: Object.values(inputs), ...launch.epilogues(inputs, NO_EPILOGUE), ...(casts ? { withCast } : {}) };
  if (product.partial !== null || form.element !== "f32" || !castsNothing(form)) return common;
  const [transA, transB] = [form.transA, form.transB].map((isTransposed) => (isTransposed ? "TRANSPOSE" : "NONE"));
  const attributes = { transA, transB, alpha: params["alpha"], beta: form.bias === null ? 0 : params["beta"], fusedActivation: null };
  const asGemm: AsGemm = { shader, attributes, inputs: (list) => operandsOf(list, form, output.sizes) };
  return { ...common, asGemm };
}

/** The launch that writes parts of a product's sums. */
function partialLaunch(g: GraphBuilder, kernelOf: (form: GemmForm) => Kernel, form: GemmForm, readsBfloat16: boolean, inputs: Inputs, c: readonly number[], params: Params): Launched {
  const shapes = { a: inputs["a"]!.sizes, b: inputs["b"]!.sizes, c };
  const withCast = (cast: Value, x: Expr): Launched | null => {
    const made = withCastIn(form, inputs, cast, x, readsBfloat16);
    return made === null ? null : partialLaunch(g, kernelOf, made.form, readsBfloat16, made.inputs, c, params);
  };
  const shader = callOf(g.capabilities, kernelOf(form), { shapes, params });
  return { shader, inputs: Object.values(inputs), withCast };
} // prettier-ignore

/** A GEMM by a shader, whose launch can take an epilogue. */
function gemmLaunch(g: GraphBuilder, product: Product, inputs: Inputs, output: Output, params: Params): Expr {
  // The epilogue reads the operands as they are after the builder has packed them.
  const own = Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, g.align(g.packed(x))]));
  const made = (launch: Launched, result: Sized): Expr => {
    const { shader, inputs: read, ...more } = launch;
    return g.shader(shader, read as readonly Expr[], [result], more)[0]!;
  };
  if (product.partial === null) return made(productLaunch(g, product, own, output, params), output);
  const { split, kernel } = product.partial;
  const { a, b, ...bias } = own as { readonly a: Expr; readonly b: Expr };
  const c = [split.parts * sizeOf(output.sizes.slice(0, -2)), ...output.sizes.slice(-2)];
  const partial = made(
    partialLaunch(g, kernel, product.form, product.readsBfloat16 && product.casts, { a, b }, c, { ...params, ...split }),
    {
      dtype: "float32",
      sizes: c,
    },
  );
  return made(productLaunch(g, product, { partial, ...bias }, output, { ...params, parts: split.parts }), output);
}

/** An operand [..., R, C] of several products as a shader reads it: one matrix for all, or one behind the other, each packed or the transpose of it. */
function matricesOf(g: GraphBuilder, x: Expr, batch: readonly number[]): { readonly x: Expr; readonly isTransposed: boolean; readonly stride: number } | null {
  const whole = g.expand(x, [...batch, ...x.sizes.slice(-2)]);
  const [rows, columns] = x.sizes.slice(-2) as [number, number];
  const count = sizeOf(batch);
  const lead = viewStrides(batch, whole.strides.slice(0, -2), [count]);
  if (lead === null || x.dtype !== "float32") return null;
  const matrix = { sizes: [rows, columns], strides: whole.strides.slice(-2) };
  const isTransposed = !packs(matrix.sizes, matrix);
  const sizes = isTransposed ? [columns, rows] : [rows, columns];
  if (isTransposed && !packs(sizes, { sizes, strides: matrix.strides.toReversed() })) return null;
  const stride = count === 1 ? 0 : lead[0]!;
  if (stride === 0) return { x: g.reinterpret(x, { sizes, strides: packedStrides(sizes) }), isTransposed, stride };
  if (stride !== rows * columns) return null;
  return { x: g.reinterpret(x, { sizes: [count, ...sizes], strides: packedStrides([count, ...sizes]) }), isTransposed, stride };
} // prettier-ignore

/** alpha a b of several a [..., M, K] and b [..., K, N] in float32, which broadcast over `batch`. Result: [...batch, M, N]. */
export function batchedMatmulShader(g: GraphBuilder, a: Expr, b: Expr, batch: readonly number[], alpha: number): Expr | null {
  const [m, k] = a.sizes.slice(-2) as [number, number];
  const n = b.sizes.at(-1)!;
  const count = sizeOf(batch);
  const [left, right] = [matricesOf(g, a, batch), matricesOf(g, b, batch)];
  if (left === null || right === null) return null;
  const output = { name: "c", dtype: "float32" as const, sizes: [count, m, n] };
  const form = { ...PLAIN, transA: left.isTransposed, transB: right.isTransposed, scales: alpha !== 1, isBatched: true };
  const product = productFor(g, form, [m, n, k], count);
  if (chosen(g, "batchedMatmul", [left.x, right.x, output], product.extent) === null) return null;
  const params = { alpha, beta: 0, strideA: left.stride, strideB: right.stride };
  const y = gemmLaunch(g, product, { a: left.x, b: right.x }, output, params);
  return g.reinterpret(y, { sizes: [...batch, m, n] });
}
