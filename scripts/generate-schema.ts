// Writes native/schema/operator_table.generated.inc from native/schema/directml.json, the table of DirectML operators.
import { writeGenerated } from "./lib/generated.ts";
import { dataTypesOf, functionsOf, levelOf, fieldIndexOf, table, valuesOf, type Operator } from "./lib/operator-table.ts";

const level = (text: string): string => `0x${levelOf(text).toString(16)}`;
const types: Readonly<Record<string, string>> = {
  tensor: "Tensor",
  tensorArray: "TensorArray",
  operator: "Operator",
  operatorArray: "OperatorArray",
  uint32: "UInt32",
  uint32Array: "UInt32Array",
  int32: "Int32",
  int32Array: "Int32Array",
  float32: "Float32",
  floatArray: "Float32Array",
  bool: "Bool",
  scaleBias: "ScaleBias",
  size2D: "Size2D",
  scalarUnion: "ScalarUnion",
};
const kinds: Readonly<Record<string, string>> = { input: "Input", output: "Output", attribute: "Attribute" };
const sameKinds: Readonly<Record<string, string>> = { dataType: "DataType", dimensionCount: "DimensionCount", sizes: "Sizes" };
const bits = (numbers: readonly number[]) => `0x${numbers.reduce((mask, n) => mask + 2 ** n, 0).toString(16)}`;

/** The arrays that describe one operator, and its row. */
function linesOf(op: Operator): { arrays: readonly string[]; row: string } {
  const fieldIndex = fieldIndexOf(op);
  const fields = op.fields.map((f) => {
    const enumName = f.type.startsWith("enum:") ? f.type.slice(5) : null;
    const from = op.optionalByLevel?.[f.name]?.match(/from (\d\.\d)/)?.[1];
    const values = enumName === null ? [] : Object.values(valuesOf(enumName)).filter((v) => v < 32);
    return (
      `    {"${f.name}", FieldKind::${kinds[f.kind]}, FieldType::${enumName === null ? types[f.type] : "UInt32"}, ${f.optional}, ` +
      `${from === undefined ? 0 : level(from)}, ${f.countField ? fieldIndex.of(f.countField) : -1}, ` +
      `${enumName === null ? "nullptr" : `"${enumName}"`}, ${bits([...new Set(values)])}},`
    );
  });
  const support = op.tensorSupport
    .filter((r) => fieldIndex.has(r.tensor))
    .map((r) => {
      const functions = functionsOf(r);
      return (
        `    {${level(r.featureLevel)}, ${fieldIndex.of(r.tensor)}, ${r.dimensionCounts.join(", ")}, ` +
        `${bits(dataTypesOf(r))}, ${functions.length === 0 ? "0" : bits(functions)}},`
      );
    });
  const same = Object.entries(op.same ?? {}).flatMap(([kind, groups]) =>
    groups.map((group) => `    {SameKind::${sameKinds[kind]}, ${bits(group.map(fieldIndex.of))}},`),
  );
  const array = (type: string, name: string, rows: readonly string[]): readonly string[] =>
    rows.length === 0 ? [] : [`static const ${type} k${op.name}_${name}[] = {`, ...rows, "};"];
  const countAndPointer = (name: string, rows: readonly string[]): string =>
    `${rows.length}, ${rows.length === 0 ? "nullptr" : `k${op.name}_${name}`}`;
  return {
    arrays: [...array("FieldSchema", "fields", fields), ...array("SupportRow", "support", support), ...array("SameGroup", "same", same)],
    row:
      `    {"${op.name}", ${op.type}, ${level(op.featureLevel)}, ${op.supportsInPlace === true}, ${op.fusableActivation === true}, ` +
      `${op.acceptsFusedActivation === true}, ${countAndPointer("fields", fields)}, ${countAndPointer("support", support)}, ${countAndPointer("same", same)}},`,
  };
}

export function writeSchema(isCheck: boolean): void {
  const all = table.operators.map(linesOf);
  const lines = [
    "// Made by npm run generate from directml.json.",
    ...all.flatMap(({ arrays }) => arrays),
    "static const OperatorSchema kOperators[] = {",
    ...all.map(({ row }) => row),
    "};",
    "",
  ];
  writeGenerated([["native/schema/operator_table.generated.inc", lines.join("\n")]], { isCheck });
}
