/**
 * From rows to cases: a row is an operator's text with the variables T, U, V, C and I for data types and $n for the scalar n of T.
 * T, U, V and C go through every data type that the operator table lists for their tensors, I through the index types.
 */
import { ENUMS, OPERATORS, type OperatorName } from "../../dml/operators.generated.ts";
import { supportOf, type OperatorRow } from "../../dml/schema.ts";
import type { FieldValue, TensorDescription } from "../../native/binding.ts";
import { elementwiseRows } from "./elementwise.ts";
import { matrixRows } from "./matrix.ts";
import { movementRows } from "./movement.ts";
import { normalizationRows } from "./normalization.ts";
import { quantizedRows } from "./quantized.ts";
import { reductionRows } from "./reduction.ts";
import { samplingRows } from "./sampling.ts";
import { sequenceRows } from "./sequence.ts";
import { layOut, type Layout } from "../values/layouts.ts";
import { parse, type Described } from "../values/operator-text.ts";
import { DATA_TYPES, typeOf } from "../values/types.ts";

export const rows: readonly string[] = [
  ...elementwiseRows,
  ...matrixRows,
  ...quantizedRows,
  ...reductionRows,
  ...movementRows,
  ...samplingRows,
  ...normalizationRows,
  ...sequenceRows,
];

/** Tensors of a field; none for attributes and absent ones. */
export function tensorsOf({ row, fields }: Described, index: number): readonly TensorDescription[] {
  const f = row.fields[index]!;
  const value = fields[index];
  if (f.kind === "attribute" || value === null) return [];
  return f.type === "tensorArray" ? (value as readonly TensorDescription[]) : [value as TensorDescription];
}

const attribute = (d: Described, name: string): unknown => d.fields[d.row.fields.findIndex((f) => f.name === name)];

/** The feature level that an operator inside needs. */
function innerLevel(value: FieldValue): number {
  const isOperator = typeof value === "object" && value !== null && "fields" in value;
  return isOperator ? (Object.values<OperatorRow>(OPERATORS).find((row) => row.type === value.type)?.featureLevel ?? 0) : 0;
}

/** True when the table lists operator, data types and ranks on that feature level. */
export function tableAllows(d: Described, level: number): boolean {
  if (d.row.featureLevel > level || (attribute(d, "paddingMode") === ENUMS.DML_PADDING_MODE.WRAP && level < 0x6400)) return false;
  const reduceFunction = d.row.name === "REDUCE" ? (attribute(d, "function") as number) : -1;
  const allowed = d.row.fields.every((_, i) => {
    const support = supportOf(d.row, i, level, reduceFunction);
    return tensorsOf(d, i).every(
      (t) =>
        support === null ||
        (((support.dataTypes >> t.dataType) & 1) === 1 && t.sizes.length >= support.minRank && t.sizes.length <= support.maxRank),
    );
  });
  const agree = (d.row.same.dataType ?? []).every(
    (group) => new Set(group.flatMap((i) => tensorsOf(d, i).map((t) => t.dataType))).size <= 1,
  );
  return allowed && agree && d.fields.every((value) => innerLevel(value) <= level);
}

/** Combinations that the table lists but whose meaning is written nowhere: integers that are scaled or go through an activation. */
export function isDefined(d: Described): boolean {
  const types = d.row.fields.flatMap((_, i) => tensorsOf(d, i).map((t) => typeOf(t.dataType)!));
  const isPlain = (attribute(d, "scaleBias") ?? null) === null && (attribute(d, "fusedActivation") ?? null) === null;
  return isPlain || types.every((t) => t.kind === "float" && t.bits < 64);
}

const letters = ["T", "U", "V", "C", "I"] as const;
export type Types = { readonly [letter: string]: string };

const indexTypes = ["u32", "i32", "i64", "u64"];

/** The text with data types for its letters. */
export function instantiate(row: string, types: Types): string {
  return row
    .replace(/(?<=[=[,])([TUVCI])(?=\[)/g, (_, letter: string) => types[letter]!)
    .replace(/=T(?= |$)/g, `=${types["T"]}`)
    .replace(/\$(\d+)/g, (_, n: string) => `${types["T"]}:${n}`);
}

/** Names of the types that the table lists, on any level, for the first tensor field that a letter stands in; all if it lists none. */
function typesFor(row: string, letter: string): readonly string[] {
  if (letter === "I") return indexTypes;
  const operator = OPERATORS[row.slice(0, row.indexOf(" ")) as OperatorName] as OperatorRow;
  const field = new RegExp(` (\\w+)=${letter}\\[`).exec(row)?.[1];
  const index = operator.fields.findIndex((f) => f.name === field);
  const listed = operator.support.reduce((bits, r) => (r[1] === index ? bits | r[4] : bits), 0);
  return DATA_TYPES.filter((t) => listed === 0 || ((listed >> t.id) & 1) === 1).map((t) => t.name);
}

/** Every choice of types for the letters in a row; the table may not allow all of them on a level. */
export function choices(row: string): Types[] {
  let list: Types[] = [{}];
  for (const letter of letters) {
    if (!new RegExp(`[=[,]${letter}\\[`).test(row)) continue;
    const names = typesFor(row, letter);
    list = list.flatMap((types) => names.map((name) => ({ ...types, [letter]: name })));
  }
  return list;
}

const layouts: readonly { readonly name: string; readonly input: Layout; readonly output: Layout }[] = [
  { name: "packed", input: "packed", output: "packed" },
  { name: "padded", input: "padded", output: "transposed" },
  { name: "transposed", input: "transposed", output: "padded" },
  { name: "broadcast", input: "broadcast", output: "packed" },
];

function withLayout(d: Described, { input, output }: (typeof layouts)[number]): Described {
  const fields = d.fields.map((value, i) => {
    const f = d.row.fields[i]!;
    if (f.kind === "attribute" || value === null) return value;
    const change = (t: TensorDescription): TensorDescription =>
      typeOf(t.dataType)!.bits < 8 ? t : layOut(t, f.kind === "input" ? input : output);
    return f.type === "tensorArray" ? (value as readonly TensorDescription[]).map(change) : change(value as TensorDescription);
  });
  return { row: d.row, fields };
}

export interface OperatorCase {
  readonly id: string;
  readonly describe: () => Described;
}

/** Inputs whose values must differ from each other, or that are state, have no strides of 0. */
const unshared = /SCATTER|RANDOM|FILL|DIAGONAL|UNPOOLING|RESAMPLE_GRAD/;

/** All operator cases for a feature level, in a fixed order. quick: one layout for each row and choice of types, in turn. */
export function* operatorCases(level: number, quick: boolean): Generator<OperatorCase> {
  const numbers = new Map<string, number>();
  let count = 0;
  for (const row of rows) {
    const name = row.slice(0, row.indexOf(" "));
    const number = (numbers.get(name) ?? 0) + 1;
    numbers.set(name, number);
    const perFirst = new Map<string, number>();
    for (const types of choices(row)) {
      const described = parse(instantiate(row, types));
      if (!tableAllows(described, level) || !isDefined(described)) continue;
      const first = types["T"] ?? "";
      const later = perFirst.get(first) ?? 0;
      perFirst.set(first, later + 1);
      if (quick && later > 0 && name !== "CAST") continue;
      const possible = layouts.filter((l) => l.name !== "broadcast" || !unshared.test(name));
      const chosen = later > 0 ? [layouts[0]!] : quick ? [possible[count++ % possible.length]!] : possible;
      const typeText = Object.values(types).join("-") || "fixed";
      for (const layout of chosen)
        yield { id: `operator/${name}/${number}/${typeText}/${layout.name}`, describe: () => withLayout(described, layout) };
    }
  }
}
