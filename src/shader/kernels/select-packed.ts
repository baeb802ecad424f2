/** Shaders over packed weights as nodes of a graph, where they are chosen; null: DirectML's operators stand. */
import { packedBytes, type DType } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import {
  Expr,
  isWhole,
  type EpilogueOp,
  type GraphNode,
  type Joins,
  type Prologue,
  type ShaderCall,
  type Value,
} from "../../graph/graph.ts";
import { keyOf } from "../../graph/key.ts";
import { choosesShader } from "../choice.ts";
import { MAX_BUFFERS, MAX_VIEWS } from "../dxbc/emit.ts";
import { activationCode } from "../operations/activations.ts";
import { variantOf } from "../shader-forms.ts";
import { callOf, type Kernel } from "./kernel.ts";
import {
  codesAtOnce,
  fitsPrologue,
  fitsTile,
  holdsRows,
  nameOf,
  packedBuffers,
  packedInputs,
  packedProduct,
  rowsOfGroup,
  sharedInputs,
  takesPacked,
  type PackedHalf,
  type PackedProductForm,
  type PackedProductTile,
} from "./packed-product.ts";
import { EACH, packedToValues } from "./packed-values.ts";
import { castShader } from "./select.ts";

/** What a buffer of a shader may hold, as GraphBuilder.shader has it. */
const MAX_BYTES = 2 ** 29;
/** Rows of x that a group computes, at most; more rows are more groups. */
const MAX_COUNT = 8;

/** Weights [N, K] as expressions: see ops/quantized/packed-weights.ts. */
export interface PackedExpr {
  readonly codes: Expr;
  readonly scales: Expr;
  readonly minima: Expr | null;
  readonly bits: 4 | 8;
}

const elementOf = (dtype: DType): "f32" | "f16" | null => (dtype === "float32" ? "f32" : dtype === "float16" ? "f16" : null);

const widthOf = ({ codes, bits }: PackedExpr): number => codes.sizes[1]! * (8 / bits);

/** Codes as words of four bytes. */
function wordsOf(g: GraphBuilder, codes: Expr, sizes: readonly number[]): Expr {
  return g.reinterpret(g.align(g.packed(codes)), { dtype: "uint32", sizes });
}

/** By the names of the kernel's buffers, in its order. */
type Inputs = { readonly [name: string]: Expr };

function launch(
  g: GraphBuilder,
  kernel: Kernel,
  inputs: Inputs,
  y: { readonly dtype: DType; readonly sizes: readonly number[] },
  more: Pick<GraphNode, "joins" | "withEpilogue" | "withPrologue"> = {},
): Expr {
  return g.shader(callFor(g, kernel, inputs, y.sizes), Object.values(inputs), [y], more)[0]!;
}

function callFor(g: GraphBuilder, kernel: Kernel, inputs: Inputs, y: readonly number[]): ShaderCall {
  const shapes = { ...Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, x.sizes])), y };
  return callOf(g.capabilities, kernel, { shapes, params: {} });
}

/** Scales and minima of one dtype that a shader reads; null: others. */
function scalesOf({ scales, minima }: PackedExpr): "f32" | "f16" | null {
  return minima === null || minima.dtype === scales.dtype ? elementOf(scales.dtype) : null;
}

const isLarge = (tensors: readonly { readonly sizes: readonly number[] }[]): boolean =>
  tensors.some(({ sizes }) => sizeOf(sizes) * 4 > MAX_BYTES);

/** Tiles that `tune` compares, by name. */
const TILES: Readonly<Record<string, PackedProductTile>> = Object.fromEntries(
  (["shared", "ahead", "direct", "runs"] as const).flatMap((way) =>
    [64, 256].flatMap((threads) =>
      [8, 16, 32, 64].map((lanes) => [`${threads}/${lanes}x4 ${way}`, { threads, lanes, rows: 4, way }] as const),
    ),
  ),
);

/** The tile that `tune` says. */
function fixedTile(form: PackedProductForm): PackedProductTile | null {
  const name = variantOf(Object.keys(TILES).filter((tile) => fitsTile(form, TILES[tile]!)));
  return name === null ? null : TILES[name]!;
}

/** The tile for weights of so many rows. */
export function packedTile(form: PackedProductForm, n: number): PackedProductTile {
  const fixed = fixedTile(form);
  if (fixed !== null) return fixed;
  const texels = form.width / codesAtOnce(form.bits);
  const idle = (lanes: number): number => (Math.ceil(texels / lanes) * lanes) / texels;
  const candidates = [64, 32, 16, 8, 4].filter((lanes) => lanes === 4 || idle(lanes) <= 1.25);
  const rows = form.count <= 4 ? 4 : 2;
  for (const lanes of candidates) {
    // Measured on an H200 (docs/gpu/h200.md): a row of x and many rows of W, each thread eight.
    const ahead = { threads: 256, lanes: Math.min(lanes, 32), rows: 8, way: "ahead" } as const;
    if (form.count === 1 && lanes >= 16 && holdsRows(form, ahead)) return smallerFor(ahead, n);
    const tile = { threads: 256, lanes, rows };
    if (fitsTile(form, tile)) return smallerFor(tile, n);
  }
  return { threads: 64, lanes: 4, rows: 1 };
}

/** A weight of few rows is spread over more groups. */
function smallerFor(tile: PackedProductTile, n: number): PackedProductTile {
  let { threads, rows } = tile;
  const groups = (): number => Math.ceil(n / rowsOfGroup({ ...tile, threads, rows }));
  while (groups() < MIN_GROUPS && rows > 1) rows /= 2;
  while (groups() < MIN_GROUPS && threads > Math.max(64, tile.lanes)) threads /= 2;
  return { ...tile, threads, rows };
}

const MIN_GROUPS = 128;
/** Weights of a launch: each has code of its own. */
const MAX_WEIGHTS = 4;

/** Of the buffers of a launch for several products, whose nodes have the inputs of one. */
function packedShapes(form: PackedProductForm, nodes: readonly GraphNode[]): { readonly [buffer: string]: readonly number[] } {
  const names = packedInputs(form);
  return Object.fromEntries(
    nodes.flatMap(({ inputs, outputs }, w) => [
      ...names.map((name, i) => [i < sharedInputs(form) ? name : nameOf(name, w), inputs[i]!.sizes] as const),
      [nameOf("y", w), outputs[0]!.sizes] as const,
    ]),
  );
}

/** How products of the same x share a launch: with weights of one form. tile: the one that `tune` says. */
function joinsOf({ capabilities }: GraphBuilder, form: PackedProductForm, tile: PackedProductTile | null): Joins {
  return {
    key: keyOf(["packed product", form, tile]),
    shared: sharedInputs(form),
    launch: (nodes) => {
      const max = capabilities.seesTexels ? MAX_VIEWS : MAX_BUFFERS;
      if (nodes.length > MAX_WEIGHTS || packedBuffers(form, nodes.length) > max) return null;
      const rows = nodes.reduce((sum, { outputs }) => sum + outputs[0]!.sizes[1]!, 0);
      const chosen = tile ?? packedTile(form, rows);
      if (!fitsPrologue(form, chosen)) return null;
      const kernel = packedProduct(form, chosen, nodes.length);
      const shapes = packedShapes(form, nodes);
      return callOf(capabilities, kernel, { shapes, params: {} });
    },
  };
}

/** A skinny GEMM with packed weights, and the nodes that it can fuse: a prologue on x, an addend as epilogue, casts of x, the bias and the result. */
class PackedLaunch {
  readonly #g: GraphBuilder;
  readonly #n: number;
  readonly #casts: boolean;

  constructor(g: GraphBuilder, n: number, casts: boolean) {
    this.#g = g;
    this.#n = n;
    this.#casts = casts;
  }

  /** What a node of that form reads, and what it can still take. */
  node(form: PackedProductForm, inputs: Inputs): PackedNode {
    const node = { shader: this.call(form, inputs), inputs: Object.values(inputs), ...this.takes(form, inputs) };
    // A launch with an addend is not joined with others.
    return form.hasAddend === true ? node : { ...node, joins: joinsOf(this.#g, form, fixedTile(form)) };
  }

  call(form: PackedProductForm, inputs: Inputs): ShaderCall {
    const [m, n] = [inputs["x"]!.sizes[0]!, this.#n];
    return callFor(this.#g, packedProduct(form, packedTile(form, n)), inputs, [m, n]);
  }

  /** The fusions that the node can still have. */
  takes(form: PackedProductForm, inputs: Inputs): Pick<GraphNode, "withEpilogue" | "withPrologue" | "withCast"> {
    const withPrologue = (prologue: Prologue, x: Expr, factor: Expr | null): ReturnType<NonNullable<GraphNode["withPrologue"]>> =>
      this.#withPrologue(form, inputs, prologue, x, factor);
    const { halves = [], cast = [] } = form;
    const withCast = (result: Value, x: Expr): PackedNode | null => this.#withCast(form, inputs, result, x);
    const casting = this.#casts ? { withCast } : {};
    if (form.hasAddend === true || cast.includes("y")) return { withPrologue, ...casting };
    const withEpilogue = (op: EpilogueOp): ReturnType<NonNullable<GraphNode["withEpilogue"]>> => {
      const isHalf = halves.includes("y");
      if (op.kind === "cast" && this.#casts)
        return this.node({ ...form, ...(isHalf ? { cast: [...cast, "y"] } : { halves: [...halves, "y"] }) }, inputs);
      if (isHalf) return null;
      if (op.kind !== "add" || op.addend.dtype !== "float32" || !isWhole(op.addend)) return null;
      if (sizeOf(op.addend.sizes) !== inputs["x"]!.sizes[0]! * this.#n) return null;
      const [next, all] = [
        { ...form, hasAddend: true },
        { ...inputs, addend: op.addend },
      ];
      return { shader: this.call(next, all), inputs: Object.values(all), ...this.takes(next, all) };
    };
    return { withEpilogue, withPrologue, ...casting };
  }

  /** x or a bias from before a cast: float16 is read as it is, float32 is rounded. */
  #withCast(form: PackedProductForm, inputs: Inputs, result: Value, x: Expr): PackedNode | null {
    const { halves = [], cast = [] } = form;
    const names = Object.keys(inputs).filter((name) => inputs[name]!.value === result);
    const name = names[0] as PackedHalf | undefined;
    if (names.length !== 1 || (name !== "x" && name !== "bias") || form.prologue != null || cast.includes(name)) return null;
    const own = inputs[name]!;
    if (!isWhole(own) || x.dtype === "bfloat16" || halves.includes(name) !== (x.dtype === "float32")) return null;
    const next = halves.includes(name) ? { cast: [...cast, name] } : { halves: [...halves, name] };
    return this.node({ ...form, ...next }, { ...inputs, [name]: new Expr(x.value, x.dtype, own.sizes, own.strides, x.byteOffset) });
  }

  #withPrologue(form: PackedProductForm, inputs: Inputs, prologue: Prologue, x: Expr, factor: Expr | null): ReturnType<NonNullable<GraphNode["withPrologue"]>> {
    const isRms = prologue.kind === "rms";
    if (!isRms && activationCode(prologue.activation) === null) return null;
    const next: PackedProductForm = { ...form, prologue: isRms ? { ...prologue, hasGain: factor !== null } : { ...prologue, hasFactor: factor !== null } };
    const tile = packedTile(next, this.#n);
    const size = isRms ? form.width : sizeOf(x.sizes);
    if (!fitsPrologue(next, tile) || x.dtype !== "float32" || (factor !== null && (factor.dtype !== "float32" || sizeOf(factor.sizes) !== size))) return null;
    const { x: _, ...rest } = inputs;
    const all: Inputs = { x, ...(factor === null ? {} : { [isRms ? "gain" : "factor"]: factor }), ...rest };
    const shader = this.call(next, all);
    // A launch with an addend is not joined with others.
    const joins = form.hasAddend === true ? {} : { joins: joinsOf(this.#g, next, fixedTile(next)) };
    return { shader, inputs: Object.values(all), ...joins };
  } // prettier-ignore
}

const wide = (g: GraphBuilder, x: Expr): Expr => (x.dtype === "float32" ? x : g.cast(x, { output: { dtype: "float32" } }));

/** A node of a product, but for what every node has. */
type PackedNode = Omit<GraphNode, "id" | "operator" | "attributes" | "outputs" | "origin"> & { readonly shader: ShaderCall };

/** x [M, K] in float32 or float16 times the transpose of W [N, K], with a bias [N] or none. Sums are float32. */
export function packedProductShader(g: GraphBuilder, x: Expr, weight: PackedExpr, bias: Expr | null): Expr | null {
  const { codes, scales, minima, bits } = weight;
  const [m, n, width] = [x.sizes[0]!, codes.sizes[0]!, widthOf(weight)];
  const element = scalesOf(weight);
  const block = width / scales.sizes[1]!;
  if (elementOf(x.dtype) === null || (bias !== null && elementOf(bias.dtype) === null) || element === null) return null;
  if (isLarge([x, { sizes: [m, n] }, scales])) return null;
  if (!takesPacked({ bits, width, block }) || packedBytes(codes.dtype, codes.sizes) > MAX_BYTES) return null;
  if (!choosesShader(g.capabilities, g.isAlone, "packedLinear", { dtype: x.dtype, extent: m, isPacked: true })) return null;
  // Casts in the launch are in no device's table yet: `tune` compares them.
  const casts = choosesShader(g.capabilities, g.isAlone, "packedCasts", { dtype: x.dtype, extent: m, isPacked: true });
  const seen = (tensor: Expr): Expr => (casts ? tensor : wide(g, tensor));
  const isHalf = casts && x.dtype === "float16";
  const halves: readonly PackedHalf[] = [
    ...(isHalf ? (["x", "y"] as const) : []),
    ...(casts && bias?.dtype === "float16" ? (["bias"] as const) : []),
  ];
  const y = { dtype: isHalf ? x.dtype : ("float32" as const), sizes: [m, n] };
  const form: PackedProductForm = {
    ...(halves.length === 0 ? {} : { halves }),
    bits,
    isSigned: codes.dtype === "int8",
    width,
    block,
    scales: element,
    hasMinima: minima !== null,
    hasBias: bias !== null,
    count: Math.ceil(m / Math.ceil(m / MAX_COUNT)),
  };
  const inputs = {
    x: seen(x),
    codes: wordsOf(g, codes, [n, (width * bits) / 32]),
    scales,
    ...(minima === null ? {} : { minima }),
    ...(bias === null ? {} : { bias: seen(bias) }),
  };
  // The prologue and the epilogue read the inputs as they are after the builder has packed them.
  const own = Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, g.align(g.packed(tensor))]));
  const of = new PackedLaunch(g, n, casts);
  const { shader, inputs: read, ...more } = of.node(form, own);
  const made = g.shader(shader, read as readonly Expr[], [y], more)[0]!;
  return x.dtype === made.dtype ? made : (castShader(g, made, x.dtype) ?? g.cast(made, { output: { dtype: x.dtype } }));
}

/** The weight's values [N, K] in float32 or float16. */
export function packedValuesShader(g: GraphBuilder, weight: PackedExpr, dtype: DType): Expr | null {
  const { codes, scales, minima, bits } = weight;
  const [n, width] = [codes.sizes[0]!, widthOf(weight)];
  const [element, ofScales] = [elementOf(dtype), scalesOf(weight)];
  const y = { dtype, sizes: [n, width] };
  if (element === null || ofScales === null || (n * width) % EACH !== 0 || isLarge([y, scales])) return null;
  if (!choosesShader(g.capabilities, g.isAlone, "packedValues", { dtype, extent: n * width, isPacked: true })) return null;
  const form = {
    bits,
    isSigned: codes.dtype === "int8",
    block: width / scales.sizes[1]!,
    scales: ofScales,
    hasMinima: minima !== null,
    element,
  };
  const inputs = { codes: wordsOf(g, codes, [packedBytes(codes.dtype, codes.sizes) / 4]), scales, ...(minima === null ? {} : { minima }) };
  return launch(g, packedToValues(form), inputs, y);
}
