// @ts-nocheck: what it reads (a parser's tree, facts in JSON, a test runner's tasks) has no types here.
// Writes src/dml/operators.generated.ts (the operator table as data) and src/graph/builder.generated.ts (one typed method for each
// DirectML operator) from native/schema/directml.json. With --check it writes nothing and fails when a file is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ScriptError } from "./tools/project.ts";

const root = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const table = JSON.parse(readFileSync(root("native/schema/directml.json"), "utf8"));
const level = (text) => (Number(text.split(".")[0]) << 12) | (Number(text.split(".")[1]) << 8);
const mask = (names) => names.reduce((m, n) => m | (1 << table.enums.DML_TENSOR_DATA_TYPE[`DML_TENSOR_DATA_TYPE_${n}`]), 0);
const camel = (name) => name.toLowerCase().replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());
const lowerFirst = (name) =>
  /^[A-Z]+$/.test(name) ? name.toLowerCase() : name.replace(/^[A-Z]+(?=[A-Z][a-z])|^[A-Z]/, (m) => m.toLowerCase());
// "ATensor" → "a", "InputTensor" → "input", "OutputTensors" → "outputs"
const tensorName = (name) => lowerFirst(name.replace(/Tensor(s?)$/, "$1") || name);

const enums = new Set();
const operators = {};
const methods = [];
for (const op of table.operators) {
  const index = new Map(op.fields.map((f, i) => [f.name, i]));
  operators[op.name] = {
    name: op.name,
    type: op.value,
    featureLevel: level(op.featureLevel),
    supportsInPlace: op.supportsInPlace === true,
    fusable: op.fusableActivation === true,
    fields: op.fields.map((f) => ({
      name: f.kind === "attribute" ? lowerFirst(f.name) : tensorName(f.name),
      kind: f.kind,
      type: f.type,
      optional: f.optional,
      ...(f.countField ? { count: index.get(f.countField) } : {}),
    })),
    // [feature level, field, least rank, highest rank, data types, reduce functions]
    support: op.tensorSupport
      .filter((r) => index.has(r.tensor))
      .map((r) => [
        level(r.featureLevel),
        index.get(r.tensor),
        r.dimensionCounts[0],
        r.dimensionCounts[1],
        mask(r.dataTypes),
        r.condition
          ? r.condition
              .replace("Function in ", "")
              .split(", ")
              .reduce((m, n) => m | (1 << table.enums.DML_REDUCE_FUNCTION[`DML_REDUCE_FUNCTION_${n}`]), 0)
          : 0,
      ]),
    same: Object.fromEntries(Object.entries(op.same ?? {}).map(([k, groups]) => [k, groups.map((g) => g.map((n) => index.get(n)))])),
  };
  const counts = new Set(op.fields.map((f) => f.countField).filter(Boolean));
  const positional = op.fields.filter((f) => f.kind === "input" && !f.optional);
  const outputs = op.fields.filter((f) => f.kind === "output");
  const sized = new Set(
    (op.same?.sizes ?? []).flatMap((g) => (g.some((n) => positional.some((p) => p.name === n && p.type === "tensor")) ? g : [])),
  );
  const typed = new Set((op.same?.dataType ?? []).flatMap((g) => (g.some((n) => positional.some((p) => p.name === n)) ? g : [])));
  const type = (f) => {
    if (f.type.startsWith("enum:")) {
      enums.add(f.type.slice(5));
      return f.type.slice(5);
    }
    return {
      tensor: "Expr",
      tensorArray: "readonly Expr[]",
      operator: "Activation",
      operatorArray: "readonly Activation[]",
      uint32: "number",
      int32: "number",
      float32: "number",
      bool: "boolean",
      uint32Array: "readonly number[]",
      int32Array: "readonly number[]",
      floatArray: "readonly number[]",
      scaleBias: "readonly [scale: number, bias: number]",
      size2D: "readonly [width: number, height: number]",
      scalarUnion: "Scalar",
    }[f.type];
  };
  const options = [];
  for (const f of op.fields) {
    if (counts.has(f.name) || positional.includes(f)) continue;
    if (f.kind === "output") {
      const free = sized.has(f.name) && typed.has(f.name);
      const need = f.optional || free ? "?" : "";
      const spec =
        f.type === "tensorArray"
          ? "readonly OutputSpec[]"
          : sized.has(f.name)
            ? "Partial<OutputSpec>"
            : typed.has(f.name)
              ? "OutputSizes"
              : "OutputSpec";
      options.push(`${tensorName(f.name)}${need}: ${spec}`);
    } else {
      const optional = f.optional || op.optionalByLevel?.[f.name];
      options.push(
        `${operators[op.name].fields[index.get(f.name)].name}${optional ? "?" : ""}: ${type(f)}${f.kind === "input" ? " | null" : optional ? " | null" : ""}`,
      );
    }
  }
  const result =
    outputs.length === 1
      ? outputs[0].type === "tensorArray"
        ? "Expr[]"
        : "Expr"
      : `{ ${outputs.map((f) => `${tensorName(f.name)}: Expr${f.optional ? " | null" : ""}`).join("; ")} }`;
  const parameters = positional.map((f) => `${tensorName(f.name)}: ${type(f)}`);
  const required = options.some((o) => !/^\w+\?:/.test(o));
  if (options.length) parameters.push(`options: { ${options.join("; ")} }${required ? "" : " = {}"}`);
  const named = positional.map((f) => tensorName(f.name));
  const call = `this.emit("${op.name}", { ${[...named, ...(options.length ? ["...options"] : [])].join(", ")} })`;
  const unpack =
    outputs.length === 1
      ? outputs[0].type === "tensorArray"
        ? `${call}.${tensorName(outputs[0].name)} as Expr[]`
        : `${call}.${tensorName(outputs[0].name)} as Expr`
      : `${call} as ${result}`;
  const about = (op.semantics ?? "").replace(/\*\//g, "* /").replace(/\s+/g, " ").trim();
  methods.push(
    `  /** ${op.name} (feature level ${op.featureLevel}). ${about} */\n  ${camel(op.name)}(${parameters.join(", ")}): ${result} {\n    return ${unpack};\n  }`,
  );
}

const header = "// Made by npm run generate from native/schema/directml.json.\n";
const enumTable = Object.fromEntries(
  [...enums].sort().map((name) => {
    const prefix = name === "DML_PADDING_MODE" ? "DML_PADDING_MODE_" : `${name}_`;
    return [
      name,
      Object.fromEntries(Object.entries(table.enums[name]).map(([k, v]) => [k.replace(prefix, "").replace(/^DML_[A-Z]+_/, ""), v])),
    ];
  }),
);
const operatorsText =
  header +
  `import type { OperatorTable } from "./schema.ts";\n\n` +
  `export const ENUMS = {\n${Object.entries(enumTable)
    .map(([k, v]) => `  ${k}: ${JSON.stringify(v)},`)
    .join("\n")}\n} as const satisfies Record<string, Record<string, number>>;\n\n` +
  Object.keys(enumTable)
    .map((k) => `export type ${k} = keyof typeof ENUMS.${k};`)
    .join("\n") +
  `\n\nexport type OperatorName =\n${Object.keys(operators)
    .map((k) => `  | "${k}"`)
    .join("\n")};\n\n` +
  `export const OPERATORS: OperatorTable<OperatorName> = {\n${Object.entries(operators)
    .map(([k, v]) => `  ${k}: ${JSON.stringify(v)},`)
    .join("\n")}\n};\n`;
const builderText =
  header +
  `import type { ${Object.keys(enumTable)
    .filter((k) => methods.some((m) => m.includes(k)))
    .join(", ")} } from "../dml/operators.generated.ts";\n` +
  `import { Emitter, type Activation, type Expr, type OutputSizes, type OutputSpec, type Scalar } from "./emitter.ts";\n\n` +
  `/** A graph of DirectML operators under construction: one method for each operator. Required tensors come first, the rest by name. */\n` +
  `export class GraphBuilder extends Emitter {\n${methods.join("\n\n")}\n}\n`;
for (const [file, text] of [
  ["src/dml/operators.generated.ts", operatorsText],
  ["src/graph/builder.generated.ts", builderText],
]) {
  if (process.argv.includes("--check")) {
    if (readFileSync(root(file), "utf8") !== text) throw new ScriptError("OUT_OF_DATE", `${file} is out of date.`, "Run: npm run generate");
  } else writeFileSync(root(file), text);
}
