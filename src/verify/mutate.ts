/** Operators with one changed field: both devices must refuse or accept each. */
import { ENUMS, OPERATORS } from "../dml/operators.generated.ts";
import type { OperatorRow } from "../dml/schema.ts";
import type { FieldValue, OperatorDescription, TensorDescription } from "../native/binding.ts";
import { tensorsOf } from "./operators/operators.ts";
import { packedStrides, tensor } from "./values/layouts.ts";
import { description, parse, withCounts, type Described } from "./values/operator-text.ts";
import { DATA_TYPES, typeOf } from "./values/types.ts";

export interface Mutant {
  /** "input.sizes[1]=0" */
  readonly label: string;
  readonly operator: OperatorDescription;
}

type Changed<T> = readonly [label: string, value: T];

const retyped = (t: TensorDescription, dataType: number): TensorDescription => {
  const type = typeOf(dataType);
  return type === undefined ? { ...t, dataType } : tensor(type, t.sizes, t.strides);
};
const resized = (t: TensorDescription, sizes: readonly number[]): TensorDescription => tensor(typeOf(t.dataType)!, sizes);
const strided = (t: TensorDescription, strides: readonly number[]): TensorDescription => tensor(typeOf(t.dataType)!, t.sizes, strides);
const replaced = <T>(list: readonly T[], index: number, value: T): T[] => list.map((old, i) => (i === index ? value : old));
const ones = (n: number): number[] => Array.from({ length: Math.max(0, n) }, () => 1);

function* tensorChanges(t: TensorDescription): Generator<Changed<TensorDescription>> {
  for (const id of [...DATA_TYPES.map((type) => type.id), 0, 99])
    if (id !== t.dataType) yield [`.type=${typeOf(id)?.name ?? id}`, retyped(t, id)];
  const natural = t.strides ?? packedStrides(t.sizes);
  for (const [d, size] of t.sizes.entries()) {
    for (const n of new Set([0, 1, 2, size + 1, size - 1, size * 2]))
      if (n !== size) yield [`.sizes[${d}]=${n}`, resized(t, replaced(t.sizes, d, n))];
    const stride = natural[d]!;
    for (const n of new Set([0, 1, stride * 2, stride + 1, 64])) yield [`.strides[${d}]=${n}`, strided(t, replaced(natural, d, n))];
  }
  const rank = t.sizes.length;
  yield [" explicit strides", strided(t, natural)];
  if (rank < 8) yield [" one rank more", resized(t, [1, ...t.sizes])];
  if (rank < 5) yield [" rank 5", resized(t, [...ones(5 - rank), ...t.sizes])];
  if (rank < 8) yield [" rank 8", resized(t, [...ones(8 - rank), ...t.sizes])];
  if (rank > 1) yield [" one rank less", resized(t, t.sizes.slice(1))];
  if (rank > 2) yield [" rank 1", resized(t, t.sizes.slice(-1))];
  yield [" bytes too few", { ...t, sizeInBytes: Math.max(0, t.sizeInBytes - 4) }];
  yield [" no bytes", { ...t, sizeInBytes: 0 }];
  yield [" bytes odd", { ...t, sizeInBytes: t.sizeInBytes + 3 }];
  yield [" bytes many", { ...t, sizeInBytes: t.sizeInBytes + 2 ** 33 }];
  yield [" huge", { ...resized(t, replaced(t.sizes, rank - 1, 0x80000000)), sizeInBytes: 2 ** 40 }];
}

function* numberChanges(type: string, value: number): Generator<Changed<number>> {
  const values =
    type === "float32" || type === "floatArray"
      ? [0, -1, 0.5, 2, NaN, Infinity, 1e30]
      : [0, 1, 2, 3, 4, 7, 100, value + 1, value - 1, 0x7fffffff];
  if (type.startsWith("int32")) values.push(-1, -7, -0x80000000);
  if (type.startsWith("uint32")) values.push(0xffffffff);
  for (const n of new Set(values))
    if (!Object.is(n, value) && (n >= 0 || !type.startsWith("uint32") || Number.isNaN(n))) yield [`=${n}`, n];
}

/** Activations and what is none, as a fused operator. */
function activations(): OperatorDescription[] {
  return Object.values<OperatorRow>(OPERATORS)
    .filter(
      (row) => row.fusable || row.name.startsWith("ACTIVATION_") || ["GEMM", "ELEMENT_WISE_ABS", "ELEMENT_WISE_CLIP1"].includes(row.name),
    )
    .map((row) => {
      const axes = row.fields.some((f) => f.name === "axes") ? " axes=[1]" : "";
      const numbers = row.fields.filter((f) => f.type === "float32").map((f) => ` ${f.name}=1`);
      return description(parse(`${row.name}${axes}${numbers.join("")}`));
    });
}

function* listChanges(type: string, list: readonly number[]): Generator<Changed<readonly number[]>> {
  for (const [i, value] of list.entries())
    for (const [label, n] of numberChanges(type, value)) yield [`[${i}]${label}`, replaced(list, i, n)];
}

function* fieldChanges(type: string, value: FieldValue): Generator<Changed<FieldValue>> {
  if (type === "tensor") {
    if (value === null) return;
    yield ["=null", null];
    yield* tensorChanges(value as TensorDescription);
  } else if (type === "tensorArray") {
    const list = value as readonly TensorDescription[];
    yield ["=[]", []];
    yield [" one more", [...list, list.at(-1)!]];
    yield [" one less", list.slice(0, -1)];
    for (const [i, t] of list.entries())
      for (const [label, changed] of tensorChanges(t)) yield [`[${i}]${label}`, replaced(list, i, changed)];
  } else if (type === "operator") {
    if (value !== null) yield ["=null", null];
    for (const inner of activations()) yield [`=${nameOf(inner)}`, inner];
  } else if (type === "operatorArray") {
    const list = value as readonly OperatorDescription[];
    yield ["=[]", []];
    yield [" one more", [...list, list.at(-1)!]];
    yield [" one less", list.slice(0, -1)];
    for (const inner of activations()) yield [`[0]=${nameOf(inner)}`, replaced(list, 0, inner)];
  } else if (type.endsWith("Array")) yield* listChanges(type, value as readonly number[]);
  else if (type === "bool") yield [`=${!(value as boolean)}`, !(value as boolean)];
  else if (type === "scaleBias") yield value === null ? ["=2:1", [2, 1]] : ["=null", null];
  else if (type === "size2D") {
    for (const [i, n] of [0, 1, 100].flatMap((n) => [[0, n] as const, [1, n] as const]))
      yield [`[${i}]=${n}`, replaced(value as readonly number[], i, n)];
  } else if (type.startsWith("enum:")) {
    const largest = Math.max(...Object.values(ENUMS[type.slice(5) as keyof typeof ENUMS]));
    for (let n = 0; n <= largest + 1; n++) if (n !== value) yield [`=${n > largest ? "unknown" : n}`, n];
  } else if (type !== "scalarUnion") yield* numberChanges(type, value as number);
}

const nameOf = ({ type }: OperatorDescription): string => Object.values<OperatorRow>(OPERATORS).find((row) => row.type === type)!.name;

/** The same change of every tensor at once. */
function* commonChanges(d: Described): Generator<Changed<Described>> {
  const all = (change: (t: TensorDescription) => TensorDescription): Described => ({
    row: d.row,
    fields: d.fields.map((value, i) => {
      const f = d.row.fields[i]!;
      if (f.kind === "attribute" || value === null) return value;
      return f.type === "tensorArray" ? (value as readonly TensorDescription[]).map(change) : change(value as TensorDescription);
    }),
  });
  const present = new Set(d.row.fields.flatMap((_, i) => tensorsOf(d, i).map((t) => t.dataType)));
  for (const from of present)
    for (const to of DATA_TYPES)
      if (to.id !== from) yield [`all ${typeOf(from)!.name} become ${to.name}`, all((t) => (t.dataType === from ? retyped(t, to.id) : t))];
  for (const n of [1, 2, 4])
    yield [`all of ${n} ranks more`, all((t) => (t.sizes.length + n > 8 ? t : resized(t, [...ones(n), ...t.sizes])))];
  for (const n of [1, 2]) yield [`all of ${n} ranks less`, all((t) => (t.sizes.length <= n ? t : resized(t, t.sizes.slice(n))))];
  for (const axis of [0, 1, 2, 3])
    for (const size of [1, 3, 7])
      yield [`all sizes[${axis}]=${size}`, all((t) => (axis < t.sizes.length ? resized(t, replaced(t.sizes, axis, size)) : t))];
}

/** Arrays of one count are lengthened and shortened together. */
function* countChanges(d: Described): Generator<Changed<Described>> {
  const counts = new Set(d.row.fields.flatMap((f) => (f.count !== undefined && /^(u?int32|float)Array$/.test(f.type) ? [f.count] : [])));
  for (const count of counts)
    for (const change of [1, -1]) {
      const fields = d.fields.map((value, i) => {
        if (d.row.fields[i]!.count !== count || !Array.isArray(value)) return value;
        const list = value as readonly number[];
        return change > 0 ? [...list, /padding|offset/i.test(d.row.fields[i]!.name) ? 0 : 1] : list.slice(0, -1);
      });
      yield [`${d.row.fields[count]!.name}${change > 0 ? "+1" : "-1"}`, { row: d.row, fields }];
    }
}

export function* mutants(good: Described): Generator<Mutant> {
  const { row, fields } = good;
  const counts = new Set(row.fields.map((f) => f.count));
  for (const [i, f] of row.fields.entries()) {
    if (counts.has(i)) continue;
    for (const [label, value] of fieldChanges(f.type, fields[i]!))
      yield { label: `${f.name}${label}`, operator: { type: row.type, fields: withCounts(row, replaced(fields, i, value)) } };
  }
  for (const changes of [commonChanges, countChanges])
    for (const [label, changed] of changes(good)) yield { label, operator: { type: row.type, fields: withCounts(row, changed.fields) } };
}
