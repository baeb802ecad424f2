/** The library's shaders as nodes of a graph, where they are chosen (choice.ts); null: DirectML's operator stands. */
import { hostOf } from "../../dml/fusion.ts";
import { DTYPES, type DType, packedBytes } from "../../core/dtype.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { Expr, isWhole, type AsOperator, type Prologue, type RowNorm } from "../../graph/graph.ts";
import { packedStrides, sizeOf } from "../../core/shape.ts";
import { condensesByShader, foldsByAtomics, shaderMode, writesPartsByShader } from "../choice.ts";
import { fillCall } from "../dxbc/zero-fill.ts";
import { adam8bit, blocksOfCodes, wordsOfCodes, type Book } from "./adam-8bit.ts";
import { addBroadcast, broadcastParams, mergedAxes } from "./broadcast.ts";
import * as elementwise from "./elementwise.ts";
import type { AdamNumbers } from "./elementwise.ts";
import { chosen, elementOf, MAX_BYTES, packs, type Sized } from "./chosen.ts";
import { MAX_ORDERED, MIN_REST, UNSIGNED } from "../operations/scatters.ts";
import { sumsFew, SUM_ATTRIBUTES } from "../operations/summed-rows.ts";
import type { Inputs } from "./epilogue-launch.ts";
import { callOf, type Kernel } from "./kernel.ts";
import { blocksOf, normWeightGradient } from "./columns.ts";
import * as rows from "./rows.ts";
import type { Norm } from "./rows.ts";
import {
  embeddingBackward,
  foldedLongRows,
  foldedRows,
  foldLongRows,
  foldRows,
  scatterRows,
  summedRows,
  type MovedBits,
  type Extreme,
  type FoldElement,
} from "./scatter.ts";

type Params = { readonly [name: string]: number };

interface Launch {
  readonly inputs: Inputs;
  readonly output: Output;
  readonly params?: Params;
  readonly asPrologue?: Prologue;
  readonly asNorm?: RowNorm;
  readonly asOperator?: AsOperator;
  readonly isCast?: boolean;
}

interface Output extends Sized {
  readonly name: string;
}

function launchAll(
  g: GraphBuilder,
  kernel: Kernel,
  inputs: Inputs,
  outputs: readonly Output[],
  params: Params,
  { fills = false, ...more }: { readonly fills?: boolean } & Pick<Launch, "asPrologue" | "asOperator" | "asNorm" | "isCast"> = {},
): Expr[] {
  const shapes = Object.fromEntries([
    ...Object.entries(inputs).map(([name, x]) => [name, x.sizes] as const),
    ...outputs.map(({ name, sizes }) => [name, sizes] as const),
  ]);
  const zeros = fills ? outputs.map(({ dtype, sizes }) => fillCall(g.capabilities, { dtype, shape: sizes })) : [];
  return g.shader(callOf(g.capabilities, kernel, { shapes, params }, { fills: zeros }), Object.values(inputs), outputs, more);
}

const launch = (g: GraphBuilder, kernel: Kernel, { inputs, output, params, ...more }: Launch): Expr =>
  launchAll(g, kernel, inputs, [output], params ?? {}, more)[0]!;

const takesActivation = ({ value: { producer } }: Expr): boolean =>
  producer !== null && (hostOf(producer.operator) !== null || producer.withActivation !== undefined);

/** relu or gelu. */
export function unaryShader(g: GraphBuilder, name: "relu" | "gelu", x: Expr): Expr | null {
  // What made x may take the activation into it, at no cost.
  if (!g.isAlone && shaderMode() === "only-measured" && takesActivation(x)) return null;
  const e = chosen(g, name, [x]);
  if (e === null) return null;
  return launch(g, elementwise[name](e), { inputs: { x }, output: { name: "y", dtype: x.dtype, sizes: x.sizes } });
}

/** x silu(gate), of the same sizes. */
export function swigluShader(g: GraphBuilder, x: Expr, gate: Expr): Expr | null {
  const e = chosen(g, "swiglu", [gate, x]);
  if (e === null) return null;
  return launch(g, elementwise.swiglu(e), {
    inputs: { a: gate, b: x },
    output: { name: "y", dtype: x.dtype, sizes: x.sizes },
    asPrologue: { kind: "activated", activation: { operator: "ACTIVATION_SWISH", attributes: { sigmoidInputScale: 1 } } },
  });
}

/** Its gradients by x and gate. */
export function swigluGradientShader(g: GraphBuilder, x: Expr, gate: Expr, dy: Expr): [Expr, Expr] | null {
  const e = chosen(g, "swiglu", [gate, x, dy]);
  if (e === null) return null;
  const outputs = ["da", "db"].map((name) => ({ name, dtype: x.dtype, sizes: x.sizes }));
  const [ofGate, ofX] = launchAll(g, elementwise.swigluBackward(e), { a: gate, b: x, dy }, outputs, {});
  return [ofX!, ofGate!];
}

/** float32 to float16 or back. */
export function castShader(g: GraphBuilder, x: Expr, dtype: DType): Expr | null {
  const to = elementOf(dtype);
  const from = chosen(g, "cast", [x, { dtype, sizes: x.sizes }]);
  if (from === null || to === null || from === to) return null;
  return launch(g, elementwise.cast(from, to), { inputs: { x }, output: { name: "y", dtype, sizes: x.sizes }, isCast: true });
}

/** The packed tensor that x shows, repeated along axes; null: it is none. */
function beforeExpansion(g: GraphBuilder, x: Expr): Expr | null {
  const sizes = x.sizes.map((d, i) => (x.strides[i] === 0 ? 1 : d));
  return packs(sizes, x) ? g.reinterpret(x, { sizes }) : null;
}

/** a + b of the same sizes, repeated along axes or not. */
export function addShader(g: GraphBuilder, a: Expr, b: Expr): Expr | null {
  if (a.dtype !== b.dtype) return null;
  const [x, y] = [beforeExpansion(g, a), beforeExpansion(g, b)];
  if (x === null || y === null) return null;
  const output = { name: "y", dtype: a.dtype, sizes: a.sizes };
  const size = sizeOf(a.sizes);
  const isPlain = sizeOf(x.sizes) === size && sizeOf(y.sizes) === size;
  const e = chosen(g, isPlain ? "add" : "addBroadcast", [x, y, output]);
  if (e === null) return null;
  if (isPlain) return launch(g, elementwise.add(e), { inputs: { a: x, b: y }, output });
  const merged = mergedAxes(a.sizes, x.sizes, y.sizes);
  if (merged === null) return null;
  return launch(g, addBroadcast(e, merged), { inputs: { a: x, b: y }, output, params: broadcastParams(merged) });
}

/** Of rows: x is [rows, columns]. */
function ofRows(
  g: GraphBuilder,
  kernel: Kernel,
  x: Expr,
  more: { readonly [name: string]: Expr } = {},
  eps = 0,
  of: { readonly asPrologue?: Prologue; readonly asNorm?: RowNorm } = {},
): Expr {
  const output = { name: "y", dtype: x.dtype, sizes: x.sizes };
  return launch(g, kernel, { inputs: { x, ...more }, output, params: { rows: x.sizes[0]!, eps, ignored: 0 }, ...of });
}

/** softmax or logSoftmax along the last axis. */
export function softmaxShader(g: GraphBuilder, name: "softmax" | "logSoftmax", x: Expr): Expr | null {
  const columns = x.sizes.at(-1)!;
  const e = chosen(g, name, [x], columns);
  if (e === null) return null;
  const y = ofRows(g, rows[name](e, columns), g.reshape(x, [sizeOf(x.sizes) / columns, columns]));
  return g.reinterpret(y, { sizes: x.sizes });
}

/** Of x [rows, columns]; weight and bias are [columns], of x's dtype. */
export function layerNormShader(g: GraphBuilder, x: Expr, weight: Expr, bias: Expr, epsilon: number): Expr | null {
  const e = chosen(g, "layerNorm", [x, weight, bias], x.sizes[1]!);
  if (e === null || weight.dtype !== x.dtype || bias.dtype !== x.dtype) return null;
  return ofRows(g, rows.layerNorm(e, x.sizes[1]!), x, { weight, bias }, epsilon, { asNorm: { kind: "layerNorm", epsilon } });
}

/** Of x [rows, columns]; weight: [columns], of x's dtype. */
export function rmsNormShader(g: GraphBuilder, x: Expr, weight: Expr | null, epsilon: number): Expr | null {
  const columns = x.sizes[1]!;
  const e = chosen(g, "rmsNorm", weight === null ? [x] : [x, weight], columns);
  if (e === null) return null;
  const of = { asPrologue: { kind: "rms", epsilon }, asNorm: { kind: "rmsNorm", epsilon } } as const;
  return weight === null
    ? ofRows(g, rows.rmsNormPlain(e, columns), x, {}, epsilon, of)
    : ofRows(g, rows.rmsNorm(e, columns), x, { weight }, epsilon, of);
}

/** Gradients of a normalisation of x [rows, columns]: that of x and, in float32, those of weight and layerNorm's bias, [blocks, columns], to be summed. */
export function normGradientShader(
  g: GraphBuilder,
  norm: Norm,
  { x, dy, weight }: { readonly x: Expr; readonly dy: Expr; readonly weight: Expr | null },
  epsilon: number,
): { readonly dx: Expr; readonly ofShared: readonly Expr[] } | null {
  const [n, columns] = x.sizes as [number, number];
  const inputs: Inputs = { x, dy, ...(weight === null ? {} : { weight }) };
  const e = chosen(g, `${norm}Gradient`, Object.values(inputs), columns);
  if (e === null || Object.values(inputs).some((t) => t.dtype !== x.dtype)) return null;
  const each = { dtype: "float32", sizes: [n] } as const;
  const statistics = (norm === "layerNorm" ? ["scale", "mean"] : ["scale"]).map((name) => ({ name, ...each }));
  const outputs = [{ name: "dx", dtype: x.dtype, sizes: x.sizes }, ...statistics];
  const [dx, ...found] = launchAll(g, rows.normBackward(norm, e, columns, weight !== null), inputs, outputs, { rows: n, eps: epsilon, ignored: 0 }); // prettier-ignore
  if (weight === null) return { dx: dx!, ofShared: [] };
  const more = Object.fromEntries(statistics.map(({ name }, i) => [name, found[i]!]));
  const sums = (norm === "layerNorm" ? ["dweight", "dbias"] : ["dweight"]).map((name) => ({ name, dtype: "float32" as const, sizes: [blocksOf(n), columns] })); // prettier-ignore
  return { dx: dx!, ofShared: launchAll(g, normWeightGradient(norm, e, columns), { x, dy, ...more }, sums, { rows: n }) };
}

/** The gradient of softmax or logSoftmax along the last axis, from that of its result y. */
export function softmaxGradientShader(g: GraphBuilder, name: "softmax" | "logSoftmax", y: Expr, dy: Expr): Expr | null {
  const columns = y.sizes.at(-1)!;
  const e = chosen(g, `${name}Gradient`, [y, dy], columns);
  if (e === null || dy.dtype !== y.dtype) return null;
  const sizes = [sizeOf(y.sizes) / columns, columns];
  const inputs = { y: g.reshape(y, sizes), dy: g.reshape(dy, sizes) };
  const output = { name: "dx", dtype: y.dtype, sizes };
  const params = { rows: sizes[0]!, eps: 0, ignored: 0 };
  return g.reinterpret(launch(g, rows[`${name}Backward`](e, columns), { inputs, output, params }), { sizes: y.sizes });
}

/**
 * Of logits [N, C] and classes [N] as int32: the logarithms of the probabilities, the losses and whether each row counts, [N] in float32.
 * ignored: a class that does not count, as those do that are none.
 */
export function crossEntropyShader(g: GraphBuilder, x: Expr, target: () => Expr, ignored: number): Expr[] | null {
  const [n, columns] = x.sizes as [number, number];
  const e = chosen(g, "crossEntropy", [x], columns);
  if (e === null) return null;
  const each = { dtype: "float32", sizes: [n] } as const;
  const outputs = [{ name: "logs", dtype: x.dtype, sizes: x.sizes }, { name: "loss", ...each }, { name: "counted", ...each }]; // prettier-ignore
  return launchAll(g, rows.crossEntropy(e, columns), { x, target: target() }, outputs, { rows: n, eps: 0, ignored: ignored >>> 0 });
}

/** The gradient of the logits; scale: [N] or one element, of the logarithms' dtype. */
export function crossEntropyGradientShader(g: GraphBuilder, logs: Expr, target: () => Expr, scale: Expr, ignored: number): Expr | null {
  const [n, columns] = logs.sizes as [number, number];
  const e = chosen(g, "crossEntropy", [logs], columns);
  if (e === null) return null;
  const output = { name: "dx", dtype: logs.dtype, sizes: logs.sizes };
  const params = { rows: n, eps: 0, ignored: ignored >>> 0 };
  return launch(g, rows.crossEntropyBackward(e, columns), { inputs: { logs, target: target(), scale }, output, params });
}

/** Parts of values [rows, …] in float32 added by their indices [rows] as int32 to zeros [count, …], in no order. */
export function sumRowsShader(g: GraphBuilder, values: Expr, indices: Expr, count: number, rows: number): Expr | null {
  const columns = sizeOf(values.sizes) / rows;
  const output = { name: "dweight", dtype: values.dtype, sizes: [count, columns] };
  if (values.dtype !== "float32" || indices.dtype !== "int32" || chosen(g, "sumRows", [values, output], columns) === null) return null;
  const inputs = { dy: g.reshape(values, [rows, columns]), index: g.reshape(indices, [rows]) };
  return launchAll(g, embeddingBackward(), inputs, [output], {}, { fills: true })[0]!;
}

/** Whether rows are added by index in their order by one shader, which regions may contain. Dozens of nodes otherwise, or atomics in no order. */
export function choosesSummedRows(g: GraphBuilder, dtype: DType, k: number, n: number, columns: number): boolean {
  if (dtype !== "float32" || !condensesByShader(g.capabilities) || !sumsFew(k, n, columns)) return false;
  return 4 * columns * Math.max(k, n) <= MAX_BYTES;
}

/** Rows [k, columns] added by their indices [k] in uint32 to zeros [n, columns]; indices from n on are left out. */
export function summedRowsShader(g: GraphBuilder, rows: Expr, indices: Expr, n: number): Expr {
  const [k, columns] = rows.sizes as [number, number];
  const output = { dtype: "float32", sizes: [n, columns, 1, 1] } as const;
  const asOperator: AsOperator = {
    operator: "ROI_ALIGN_GRAD",
    attributes: SUM_ATTRIBUTES,
    output,
    inputs: ([dy, at]) => [null, new Expr(dy!.value, dy!.dtype, [k, columns, 1, 1], [columns, 1, 1, 1], dy!.byteOffset), null, at!],
  };
  const sizes = [n, columns];
  return launch(g, summedRows(columns), { inputs: { dy: rows, index: indices }, output: { name: "dweight", dtype: "float32", sizes }, asOperator }); // prettier-ignore
}

/**
 * Packed x with updates at indices along an axis, of which alone is written: of equal indices the last wins, where there are no more than MAX_ORDERED. indices are
 * of the updates' sizes, which along the other axes are x's own. Null where SCATTER stands.
 */
export function scatterShader(g: GraphBuilder, x: Expr, indices: Expr, updates: Expr, axis: number): Expr | null {
  const bytes = DTYPES[x.dtype].sizeInBytes;
  const count = sizeOf(updates.sizes);
  if (!writesPartsByShader(g.capabilities) || count * MIN_REST > sizeOf(x.sizes)) return null;
  // A result of its own is SCATTER's as fast, in one step.
  if (g.isAlone && !g.writesOver && shaderMode() === "only-measured") return null;
  if (!isWhole(x) || x.value.sizeInBytes > MAX_BYTES || updates.sizes.some((d, i) => i !== axis && d !== x.sizes[i])) return null;
  const k = updates.sizes[axis]!;
  const isShared = indices.sizes.every((d, i) => i === axis || d === 1 || indices.strides[i] === 0);
  const inner = sizeOf(x.sizes.slice(axis + 1)) * bytes;
  // Elements that share an index move as words where possible; an element with an index of its own may be several words.
  const bits: MovedBits = (isShared ? inner : bytes) % 4 === 0 ? 32 : bytes === 1 ? 8 : 16;
  const params = {
    count: (8 * count * bytes) / bits,
    n: x.sizes[axis]!,
    k,
    inner: (8 * inner) / bits,
    width: Math.max(1, (8 * bytes) / bits),
  };
  const words = (e: Expr): Expr => {
    const aligned = g.align(g.packed(e));
    return g.reinterpret(aligned, { dtype: "uint32", sizes: [packedBytes(e.dtype, e.sizes) / 4] });
  };
  const flat = isShared ? g.reinterpret(indices, { sizes: [k], strides: [indices.strides[axis]!] }) : indices;
  const index = g.packed(flat.dtype === "int32" ? g.reinterpret(flat, { dtype: "uint32" }) : asUnsigned(g, flat));
  const whole = words(x);
  const output = { name: "y", dtype: "uint32" as const, sizes: whole.sizes };
  const inputs = { x: whole, indices: g.reshape(index, [sizeOf(index.sizes)]), updates: words(updates) };
  // As the elements that they are: a region may have computed them.
  const indexType = index.value === indices.value ? indices.dtype : "uint32";
  const indexStrides = isShared ? updates.sizes.map((_, i) => (i === axis ? 1 : 0)) : packedStrides(updates.sizes);
  const seen = (own: Expr, dtype: DType, sizes: readonly number[], strides = packedStrides(sizes)): Expr =>
    new Expr(own.value, dtype, sizes, strides, own.byteOffset);
  const asOperator: AsOperator = {
    operator: "SCATTER",
    output: { dtype: x.dtype, sizes: x.sizes },
    attributes: { axis, [UNSIGNED]: true },
    inputs: ([own, at, values]) => [
      seen(own!, x.dtype, x.sizes),
      seen(at!, indexType, updates.sizes, indexStrides),
      seen(values!, x.dtype, updates.sizes),
    ],
  };
  const y = launch(g, scatterRows(bits, isShared, k > 1 && k <= MAX_ORDERED), { inputs, output, params, asOperator });
  return g.reinterpret(y, { dtype: x.dtype, sizes: x.sizes });
}

const asUnsigned = (g: GraphBuilder, x: Expr): Expr => (x.dtype === "uint32" ? x : g.cast(x, { output: { dtype: "uint32" } }));

const FOLD_ELEMENTS: { readonly [D in DType]?: FoldElement } = { float32: "f32", int32: "i32", uint32: "u32" };

/** Whether foldRowsShader is to fold so many values into so many indices. */
export function choosesFoldRows(g: GraphBuilder, fold: "sum" | Extreme, dtype: DType, values: number, results: number): boolean {
  const isLong = dtype === "int64" || dtype === "uint64";
  if (!isLong && (FOLD_ELEMENTS[dtype] === undefined || (dtype === "float32" && fold === "sum"))) return false;
  if (Math.max(values, results) * (isLong ? 8 : 4) > MAX_BYTES) return false;
  return foldsByAtomics(g.capabilities, g.isAlone, values);
}

/**
 * Rows [k, width] folded by their indices [k] in uint32 into rows [n, width]: extremes, and sums of integers. Indices from n on are left out; of
 * no value comes what any other one would win against. In no order, which changes nothing.
 */
export function foldRowsShader(g: GraphBuilder, fold: "sum" | Extreme, rows: Expr, indices: Expr, n: number): Expr {
  const { dtype } = rows;
  const [k, width] = rows.sizes as [number, number];
  const element = FOLD_ELEMENTS[dtype];
  const sizes = [n, width];
  const y = { name: "y", dtype: "uint32", sizes } as const;
  if (element !== undefined) {
    const found = launchAll(g, foldRows(element, fold, width), { values: rows, indices }, [y], {}, { fills: true })[0]!;
    const made = fold === "sum" ? found : launch(g, foldedRows(element, fold), { inputs: { keys: found }, output: y });
    return g.reinterpret(made, { dtype });
  }
  const isSigned = dtype === "int64";
  const words = { ...y, sizes: [n, width, 2] };
  const values = g.reinterpret(g.packed(rows), { dtype: "uint32", sizes: [k, width, 2] });
  const part = (which: Extreme, name: "sum" | "high" | "low", more: Inputs, output: typeof y | typeof words): Expr =>
    launchAll(g, foldLongRows(isSigned, which, name, width), { values, indices, ...more }, [output], {}, { fills: true })[0]!;
  if (fold === "sum") return g.reinterpret(part("max", "sum", {}, words), { dtype, sizes });
  const high = part(fold, "high", {}, y);
  const low = part(fold, "low", { high }, y);
  return g.reinterpret(launch(g, foldedLongRows(isSigned, fold), { inputs: { high, low }, output: words }), { dtype, sizes });
}

/** One step of Adam: the parameter and its two moments. single: of one element each, see kernels/elementwise.ts. */
export function adamShader(
  g: GraphBuilder,
  tensors: readonly [Expr, Expr, Expr, Expr],
  single: readonly Expr[],
  numbers: AdamNumbers,
): Expr[] | null {
  const [p, gradient, m, v] = tensors;
  if ([...tensors, ...single].some((x) => x.dtype !== "float32") || chosen(g, "adam", tensors) === null) return null;
  const singles = single.map((x) => g.reshape(x, [1]));
  const scalars = g.join(singles, { output: { sizes: [singles.length] }, axis: 0 });
  const outputs = ["pNext", "mNext", "vNext"].map((name) => ({ name, dtype: "float32" as const, sizes: p.sizes }));
  return launchAll(g, elementwise.adam(), { p, g: gradient, m, v, scalars }, outputs, numbers);
}

/** What 8-bit Adam reads: the averages' codes in uint8, each with its scales by block. */
export interface CodedAverages {
  readonly first: Expr;
  readonly firstScales: Expr;
  readonly second: Expr;
  readonly secondScales: Expr;
}

/** One step of 8-bit Adam: the parameter, codes and scales of the average of gradients, and those of the average of squares. */
export function adam8bitShader(
  g: GraphBuilder,
  p: Expr,
  gradient: Expr,
  { first, firstScales, second, secondScales }: CodedAverages,
  single: readonly Expr[],
  numbers: AdamNumbers,
  books: readonly [signed: Book, unsigned: Book],
): Expr[] | null {
  const floats = [p, gradient, firstScales, secondScales, ...single];
  if (!condensesByShader(g.capabilities) || floats.some((x) => x.dtype !== "float32") || first.dtype !== "uint8") return null;
  const size = sizeOf(p.sizes);
  if (size * 4 > MAX_BYTES) return null;
  const [blocks, words] = [blocksOfCodes(size), wordsOfCodes(size)];
  const small = [firstScales, secondScales].map((x) => g.reshape(x, [blocks])).concat(single.map((x) => g.reshape(x, [1])));
  const codesIn = (x: Expr): Expr =>
    g.reinterpret(g.align(g.packed(x)), { dtype: "uint32", sizes: [packedBytes("uint8", x.sizes) / 4], strides: [1] });
  const inputs = {
    p,
    g: gradient,
    first: codesIn(first),
    second: codesIn(second),
    small: g.join(small, { output: { sizes: [2 * blocks + single.length] }, axis: 0 }),
  };
  const outputs = [
    { name: "pNext", dtype: "float32", sizes: p.sizes },
    { name: "codes", dtype: "uint32", sizes: [2 * words] },
    { name: "scales", dtype: "float32", sizes: [2 * blocks] },
  ] as const;
  const [pNext, codes, scales] = launchAll(g, adam8bit(...books), inputs, outputs, numbers);
  // Each state is a buffer of its own.
  const codesAt = (i: number): Expr =>
    g.elementWiseIdentity(g.reinterpret(codes!, { dtype: "uint8", sizes: first.sizes, byteOffset: 4 * words * i }));
  const scalesAt = (i: number): Expr =>
    g.elementWiseIdentity(g.align(g.reinterpret(scales!, { sizes: [blocks], byteOffset: 4 * blocks * i })));
  return [pNext!, codesAt(0), scalesAt(0), codesAt(1), scalesAt(1)];
}
