// Writes native/schema/operator_table.generated.inc from native/schema/directml.json, the table of DirectML operators.
// With --check it writes nothing and fails when the file is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ScriptError } from "./tools/project.ts";

interface Field {
  readonly name: string;
  readonly kind: string;
  readonly type: string;
  readonly optional: boolean;
  readonly countField?: string;
}

interface Support {
  readonly tensor: string;
  readonly featureLevel: string;
  readonly dimensionCounts: readonly [number, number];
  readonly dataTypes: readonly string[];
  readonly condition?: string;
}

interface Operator {
  readonly name: string;
  readonly type: string;
  readonly featureLevel: string;
  readonly fields: readonly Field[];
  readonly tensorSupport: readonly Support[];
  readonly optionalByLevel?: Readonly<Record<string, string>>;
  readonly same?: Readonly<Record<string, readonly (readonly string[])[]>>;
  readonly supportsInPlace?: boolean;
  readonly fusableActivation?: boolean;
  readonly acceptsFusedActivation?: boolean;
}

interface Table {
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly operators: readonly Operator[];
}

const at = (path: string) => fileURLToPath(new URL(`../native/schema/${path}`, import.meta.url));
const table = JSON.parse(readFileSync(at("directml.json"), "utf8")) as Table;
const level = (text: string) => `0x${((Number(text.split(".")[0]) << 12) | (Number(text.split(".")[1]) << 8)).toString(16)}`;
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
const dataTypes = (names: readonly string[]) => bits(names.map((n) => table.enums["DML_TENSOR_DATA_TYPE"]![`DML_TENSOR_DATA_TYPE_${n}`]!));

function reduceFunctions(condition: string | undefined) {
  if (!condition) return "0";
  const names = condition.replace("Function in ", "").split(", ");
  return bits(names.map((n) => table.enums["DML_REDUCE_FUNCTION"]![`DML_REDUCE_FUNCTION_${n}`]!));
}

const lines = ["// Made by npm run generate from directml.json."];
const rows: string[] = [];
for (const op of table.operators) {
  const index = new Map(op.fields.map((f, i) => [f.name, i]));
  lines.push(`static const FieldSchema k${op.name}_fields[] = {`);
  for (const f of op.fields) {
    const enumName = f.type.startsWith("enum:") ? f.type.slice(5) : null;
    const from = op.optionalByLevel?.[f.name]?.match(/from (\d\.\d)/)?.[1];
    const values = enumName ? Object.values(table.enums[enumName]!).filter((v) => v < 32) : [];
    lines.push(
      `    {"${f.name}", FieldKind::${kinds[f.kind]}, FieldType::${enumName ? "UInt32" : types[f.type]}, ${f.optional}, ` +
        `${from ? level(from) : 0}, ${f.countField ? index.get(f.countField) : -1}, ` +
        `${enumName ? `"${enumName}"` : "nullptr"}, ${bits([...new Set(values)])}},`,
    );
  }
  lines.push("};");
  const support = op.tensorSupport.filter((r) => index.has(r.tensor));
  if (support.length) {
    lines.push(`static const SupportRow k${op.name}_support[] = {`);
    for (const r of support)
      lines.push(
        `    {${level(r.featureLevel)}, ${index.get(r.tensor)}, ${r.dimensionCounts[0]}, ${r.dimensionCounts[1]}, ` +
          `${dataTypes(r.dataTypes)}, ${reduceFunctions(r.condition)}},`,
      );
    lines.push("};");
  }
  const same = Object.entries(op.same ?? {}).flatMap(([kind, groups]) =>
    groups.map((group) => `    {SameKind::${sameKinds[kind]}, ${bits(group.map((name) => index.get(name)!))}},`),
  );
  if (same.length) lines.push(`static const SameGroup k${op.name}_same[] = {`, ...same, "};");
  rows.push(
    `    {"${op.name}", ${op.type}, ${level(op.featureLevel)}, ${op.supportsInPlace === true}, ${op.fusableActivation === true}, ` +
      `${op.acceptsFusedActivation === true}, ${op.fields.length}, k${op.name}_fields, ${support.length}, ` +
      `${support.length ? `k${op.name}_support` : "nullptr"}, ${same.length}, ${same.length ? `k${op.name}_same` : "nullptr"}},`,
  );
}
lines.push("static const OperatorSchema kOperators[] = {", ...rows, "};", "");
const text = lines.join("\n");
const file = at("operator_table.generated.inc");
if (process.argv.includes("--check")) {
  if (readFileSync(file, "utf8") !== text) throw new ScriptError("OUT_OF_DATE", `${file} is out of date.`, "Run: npm run generate");
} else {
  writeFileSync(file, text);
}
