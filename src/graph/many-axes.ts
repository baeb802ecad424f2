/** Legalizes operators on tensors with more axes than DirectML allows: neighbouring axes that an operator treats alike are merged. */
import { DTYPES } from "../core/dtype.ts";
import type { OperatorName } from "../dml/operators.generated.ts";
import { packedStrides, sizeOf } from "../core/shape.ts";
import type { Emitter, OutputSpec } from "./emitter.ts";
import type { Expr } from "./graph.ts";

/** DirectML's most. */
export const MAX_AXES = 8;

/** Attributes with one number for each axis, and the number that leaves an axis as it is. */
const PER_AXIS: { readonly [attribute: string]: number } = {
  inputWindowOffsets: 0,
  inputWindowStrides: 1,
  startPadding: 0,
  endPadding: 0,
  repeats: 1,
};
/** Operators whose tensors have one number of axes, and whose attributes are those above, an axis, or axes. */
const LEGALIZED =
  /^(ELEMENT_WISE_|CAST$|ACTIVATION_|REDUCE$|ARGMIN$|ARGMAX$|CUMULATIVE_|JOIN$|SPLIT$|SLICE1$|PADDING1?$|TILE$|GATHER(_ELEMENTS)?$|SCATTER$|TOP_K1?$|GEMM$|FILL_VALUE_CONSTANT$|ONE_HOT$)/;
/** What these do to one axis does not depend on the others. */
const BY_AXIS = /^(SLICE1|PADDING1?|TILE)$/;
/** Neighbouring axes among `axes` are one axis to these. */
const JOINS_AXES = /^(REDUCE|ACTIVATION_SOFTMAX1|ACTIVATION_LOG_SOFTMAX1)$/;

type Named = { readonly [name: string]: unknown };
type Spec = Partial<OutputSpec>;
type Results = { readonly [output: string]: Expr | Expr[] | null };

const isExpr = (v: unknown): v is Expr => typeof v === "object" && v !== null && "byteOffset" in v;
const isSpec = (v: unknown): v is Spec & { readonly sizes: readonly number[] } =>
  typeof v === "object" && v !== null && "sizes" in v && !isExpr(v);
const listed = <T>(v: unknown, is: (e: unknown) => e is T): T[] => (Array.isArray(v) ? v : [v]).filter(is);

/** The same elements with the axes grouped; a packed copy where the axes of a group are not dense. */
function grouped(g: Emitter, x: Expr, groups: readonly (readonly number[])[]): Expr {
  const sizes = groups.map((group) => sizeOf(group.map((i) => x.sizes[i]!)));
  const strides = groups.map((group) => strideOf(x, group));
  return strides.includes(null)
    ? g.reinterpret(packedCopy(g, x), { sizes, strides: packedStrides(sizes) })
    : g.reinterpret(x, { sizes, strides: strides as number[] });
}

/** The stride of neighbouring axes as one, or null. */
function strideOf({ sizes, strides }: Pick<Expr, "sizes" | "strides">, group: readonly number[]): number | null {
  let stride: number | null = null;
  let length = 1;
  for (const i of group.toReversed()) {
    if (sizes[i] === 1) continue;
    if (stride !== null && strides[i] !== stride * length) return null;
    stride ??= strides[i]!;
    length *= sizes[i]!;
  }
  return stride ?? 1;
}

/** Without axes of one element; dense neighbours are merged. */
function merged(x: Expr): { readonly sizes: number[]; readonly strides: number[] } {
  const sizes: number[] = [];
  const strides: number[] = [];
  x.sizes.forEach((d, i) => {
    if (d === 1) return;
    if (sizes.length > 0 && strides.at(-1) === x.strides[i]! * d) {
      sizes[sizes.length - 1]! *= d;
      strides[strides.length - 1] = x.strides[i]!;
    } else {
      sizes.push(d);
      strides.push(x.strides[i]!);
    }
  });
  return sizes.length === 0 ? { sizes: [1], strides: [1] } : { sizes, strides };
}

/**
 * A packed copy of a tensor of any number of axes. Where more than 8 are left once neighbours are merged, one copy is made for each index of the
 * shortest axis (at most 11, or there would be more than 2^32 elements), and the copies are joined.
 */
export function packedCopy(g: Emitter, x: Expr): Expr {
  const { sizes, strides } = merged(x);
  const whole = { sizes: x.sizes, strides: packedStrides(x.sizes) };
  if (sizes.length <= MAX_AXES) {
    const copy = g.emit("ELEMENT_WISE_IDENTITY", { input: g.reinterpret(x, { sizes, strides }) }).output as Expr;
    return g.reinterpret(copy, whole);
  }
  const axis = sizes.indexOf(Math.min(...sizes));
  const without = (list: readonly number[]): number[] => list.filter((_, i) => i !== axis);
  const [before, after] = [sizeOf(sizes.slice(0, axis)), sizeOf(sizes.slice(axis + 1))];
  const parts = Array.from({ length: sizes[axis]! }, (_, k) => {
    const byteOffset = x.byteOffset + k * strides[axis]! * DTYPES[x.dtype].sizeInBytes;
    const part = packedCopy(g, g.reinterpret(x, { sizes: without(sizes), strides: without(strides), byteOffset }));
    return g.reinterpret(part, { sizes: [before, 1, after], strides: [after, after, 1] });
  });
  const output = { sizes: [before, parts.length, after], dtype: x.dtype };
  return g.reinterpret(g.emit("JOIN", { inputs: parts, output, axis: 1 }).output as Expr, whole);
}

const isLong = (v: unknown): boolean =>
  typeof v === "object" && v !== null && (Array.isArray(v) ? v.some(isLong) : "sizes" in v && (v as Expr).sizes.length > MAX_AXES);

/** Runs an operator with its axes grouped: its results, or null where nothing has too many axes, or that does not help. */
export function withFewerAxes(g: Emitter, operator: OperatorName, named: Named): Results | null {
  let hasMany = false;
  for (const name in named) hasMany ||= isLong(named[name]);
  if (!hasMany || !LEGALIZED.test(operator)) return null;
  const inputs = Object.values(named).flatMap((v) => listed(v, isExpr));
  const specs = Object.values(named).flatMap((v) => listed(v, isSpec));
  const rank = Math.max(...[...inputs, ...specs].map((t) => t.sizes.length));
  if (specs.some((s) => "order" in s)) return null;
  if (operator === "ELEMENT_WISE_IDENTITY" && inputs.length === 1 && named.scaleBias === undefined && specs.length === 0)
    return { output: packedCopy(g, inputs[0]!) };
  // Indices of GATHER have one axis, after leading axes of one element.
  const tensors = [...inputs, ...specs].filter((t) => operator !== "GATHER" || t !== named.indices);
  if (tensors.some((t) => t.sizes.length !== rank)) return null;
  const axes = new Set<number>(typeof named.axis === "number" ? [named.axis] : Array.isArray(named.axes) ? (named.axes as number[]) : []);
  if (operator === "GEMM") for (const i of [rank - 1, rank - 2]) axes.add(i);
  const isAlike = (i: number): boolean =>
    !axes.has(i) &&
    tensors.every((t) => t.sizes[i] === tensors[0]!.sizes[i]) &&
    Object.entries(PER_AXIS).every(([name, neutral]) => !Array.isArray(named[name]) || (named[name] as number[])[i] === neutral);
  const joins = (i: number, j: number): boolean => (isAlike(i) && isAlike(j)) || (JOINS_AXES.test(operator) && axes.has(i) && axes.has(j));
  const groups: number[][] = [];
  for (let i = 0; i < rank; i++)
    if (i > 0 && joins(i - 1, i)) groups.at(-1)!.push(i);
    else groups.push([i]);
  // Axes of one element, of which nothing is left in a smaller number.
  for (let i = groups.length - 1; i > 0 && groups.length > MAX_AXES; i--)
    if (groups[i]!.every((a) => isAlike(a) && tensors[0]!.sizes[a] === 1)) groups[i - 1]!.push(...groups.splice(i, 1)[0]!);
  if (groups.length > MAX_AXES) {
    if (operator === "REDUCE") return reducedLast(g, named, inputs[0]!, specs[0]!);
    return BY_AXIS.test(operator) && specs.length === 1 ? axisByAxis(g, operator, named, inputs[0]!, specs[0]!) : null;
  }
  const short = (sizes: readonly number[]): number[] => groups.map((group) => sizeOf(group.map((i) => sizes[i]!)));
  const change = (name: string, v: unknown): unknown => {
    if (operator === "GATHER" && name === "indices") return lastAxes(g, v as Expr, groups.length);
    if (Array.isArray(v) && v.length > 0 && (isExpr(v[0]) || isSpec(v[0]))) return v.map((e) => change(name, e));
    if (isExpr(v)) return grouped(g, v, groups);
    if (isSpec(v)) return { ...v, sizes: short(v.sizes) };
    if (name === "axis") return groups.findIndex((group) => group.includes(v as number));
    if (name === "axes") return groups.flatMap((group, k) => (group.some((i) => axes.has(i)) ? [k] : []));
    if (name === "inputWindowSizes") return short(v as number[]);
    if (Object.hasOwn(PER_AXIS, name)) return groups.map((group) => (v as number[])[group[0]!]!);
    return v;
  };
  const results = g.emit(operator, Object.fromEntries(Object.entries(named).map(([name, v]) => [name, change(name, v)])));
  // Where no sizes were given, an output has those of the inputs.
  const sizesOf = (name: string, k: number): readonly number[] => listed(named[name], isSpec)[k]?.sizes ?? inputs[0]!.sizes;
  const restored = (x: Expr, sizes: readonly number[]): Expr => g.reinterpret(x, { sizes, strides: packedStrides(sizes) });
  return Object.fromEntries(
    Object.entries(results).map(([name, v]) => [
      name,
      v === null ? null : Array.isArray(v) ? v.map((x, k) => restored(x, sizesOf(name, k))) : restored(v, sizesOf(name, 0)),
    ]),
  );
}

/** REDUCE of a packed copy of two axes: all that are kept, then all that are reduced. */
function reducedLast(g: Emitter, named: Named, x: Expr, spec: Spec & { readonly sizes: readonly number[] }): Results {
  const reduced = [...(named.axes as readonly number[])];
  const parts = [x.sizes.map((_, i) => i).filter((i) => !reduced.includes(i)), reduced];
  const [kept, total] = parts.map((part) => sizeOf(part.map((i) => x.sizes[i]!))) as [number, number];
  const order = parts.flat();
  const moved = packedCopy(g, g.reinterpret(x, { sizes: order.map((i) => x.sizes[i]!), strides: order.map((i) => x.strides[i]!) }));
  const input = g.reinterpret(moved, { sizes: [kept, total], strides: [total, 1] });
  const { output } = g.emit("REDUCE", { ...named, input, output: { ...spec, sizes: [kept, 1] }, axes: [1] });
  return { output: g.reinterpret(output as Expr, { sizes: spec.sizes, strides: packedStrides(spec.sizes) }) };
}

/** An operator of attributes for each axis, one axis after the other: the axes before and behind it are two groups. */
function axisByAxis(
  g: Emitter,
  operator: OperatorName,
  named: Named,
  x: Expr,
  spec: Spec & { readonly sizes: readonly number[] },
): Results {
  const lists = Object.entries(PER_AXIS).filter(([name]) => Array.isArray(named[name]));
  const isChanged = (i: number): boolean =>
    x.sizes[i] !== spec.sizes[i] || lists.some(([name, neutral]) => (named[name] as number[])[i] !== neutral);
  let input = x;
  for (const axis of x.sizes.keys()) {
    if (!isChanged(axis)) continue;
    const at = (own: readonly number[], others: readonly number[]): number[] => others.map((d, i) => (i === axis ? own[i]! : d));
    const attributes = Object.fromEntries(
      lists.map(([name, neutral]) => [
        name,
        at(
          named[name] as number[],
          input.sizes.map(() => neutral),
        ),
      ]),
    );
    const window = named.inputWindowSizes;
    const step: Named = {
      ...named,
      ...attributes,
      ...(Array.isArray(window) ? { inputWindowSizes: at(window as number[], input.sizes) } : {}),
      input,
      output: { ...spec, sizes: at(spec.sizes, input.sizes) },
    };
    input = g.emit(operator, step).output as Expr;
  }
  return { output: input };
}

/** An index of one axis behind fewer axes of one element. */
function lastAxes(g: Emitter, index: Expr, rank: number): Expr {
  const kept = index.sizes.length - rank;
  return g.reinterpret(index, { sizes: index.sizes.slice(kept), strides: index.strides.slice(kept) });
}
