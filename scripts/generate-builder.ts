// Writes src/dml/operators.generated.ts (the operator table as data) and src/graph/builder.generated.ts (one typed method for each
// DirectML operator) from native/schema/directml.json.
import { writeGenerated } from "./lib/generated.ts";
import { fieldText } from "./lib/field-texts.ts";
import { dataTypesOf, functionsOf, levelOf, fieldIndexOf, table, valuesOf, type Field, type Operator } from "./lib/operator-table.ts";
import type { OperatorRow } from "../src/dml/schema.ts";

const mask = (numbers: readonly number[]): number => numbers.reduce((m, n) => m | (1 << n), 0);
const camel = (name: string): string => name.toLowerCase().replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());
const lowerFirst = (name: string): string =>
  /^[A-Z]+$/.test(name) ? name.toLowerCase() : name.replace(/^[A-Z]+(?=[A-Z][a-z])|^[A-Z]/, (m) => m.toLowerCase());
// "ATensor" → "a", "InputTensor" → "input", "OutputTensors" → "outputs"
const tensorName = (name: string): string => lowerFirst(name.replace(/Tensor(s?)$/, "$1") || name);
const nameOf = (f: Field): string => (f.kind === "attribute" ? lowerFirst(f.name) : tensorName(f.name));

const types = new Map([
  ["tensor", "Expr"],
  ["tensorArray", "readonly Expr[]"],
  ["operator", "Activation"],
  ["operatorArray", "readonly Activation[]"],
  ["uint32", "number"],
  ["int32", "number"],
  ["float32", "number"],
  ["bool", "boolean"],
  ["uint32Array", "readonly number[]"],
  ["int32Array", "readonly number[]"],
  ["floatArray", "readonly number[]"],
  ["scaleBias", "readonly [scale: number, bias: number]"],
  ["size2D", "readonly [width: number, height: number]"],
  ["scalarUnion", "Scalar"],
]);

const enumOf = ({ type }: Field): string | null => (type.startsWith("enum:") ? type.slice("enum:".length) : null);

function typeOf(f: Field): string {
  const type = enumOf(f) ?? types.get(f.type);
  if (type === undefined) throw new Error(`directml.json: ${f.name} has the type ${f.type}`);
  return type;
}

function rowOf(op: Operator): OperatorRow {
  const fields = fieldIndexOf(op);
  return {
    name: op.name,
    type: op.value,
    featureLevel: levelOf(op.featureLevel),
    supportsInPlace: op.supportsInPlace === true,
    fusable: op.fusableActivation === true,
    fields: op.fields.map((f) => ({
      name: nameOf(f),
      kind: f.kind,
      type: f.type,
      optional: f.optional,
      ...(f.countField ? { count: fields.of(f.countField) } : {}),
    })),
    support: op.tensorSupport
      .filter((r) => fields.has(r.tensor))
      .map((r) => [levelOf(r.featureLevel), fields.of(r.tensor), ...r.dimensionCounts, mask(dataTypesOf(r)), mask(functionsOf(r))]),
    same: Object.fromEntries(Object.entries(op.same ?? {}).map(([k, groups]) => [k, groups.map((g) => g.map((n) => fields.of(n)))])),
  };
}

/** The type of what names an output: sizes or dtype may follow from the inputs. */
function outputSpec(f: Field, isSized: boolean, isTyped: boolean): string {
  if (f.type === "tensorArray") return "readonly OutputSpec[]";
  if (isSized) return "Partial<OutputSpec>";
  return isTyped ? "OutputSizes" : "OutputSpec";
}

/** Required tensors come first; all else is an option. */
const isPositional = (f: Field): boolean => f.kind === "input" && !f.optional;

function optionsOf(op: Operator): readonly string[] {
  const counts = new Set(op.fields.map((f) => f.countField));
  const first = op.fields.filter(isPositional);
  /** Fields that agree with one of the required tensors. */
  const following = (groups: readonly (readonly string[])[] = [], those = first): ReadonlySet<string> =>
    new Set(groups.filter((g) => g.some((n) => those.some((p) => p.name === n))).flat());
  const sized = following(
    op.same?.sizes,
    first.filter((p) => p.type === "tensor"),
  );
  const typed = following(op.same?.dataType);
  return op.fields
    .filter((f) => !counts.has(f.name) && !isPositional(f))
    .map((f) => {
      const [isSized, isTyped] = [sized.has(f.name), typed.has(f.name)];
      const doc = `\n    /** ${fieldText(op, f)} */\n    `;
      if (f.kind === "output")
        return `${doc}${nameOf(f)}${f.optional || (isSized && isTyped) ? "?" : ""}: ${outputSpec(f, isSized, isTyped)}`;
      const isOptional = f.optional || op.optionalByLevel?.[f.name] !== undefined;
      return `${doc}${nameOf(f)}${isOptional ? "?" : ""}: ${typeOf(f)}${f.kind === "input" || isOptional ? " | null" : ""}`;
    });
}

function methodOf(op: Operator): string {
  const required = op.fields.filter(isPositional);
  const options = optionsOf(op);
  const parameters = required.map((f) => `${nameOf(f)}: ${typeOf(f)}`);
  if (options.length > 0)
    parameters.push(`options: {${options.join(";")}\n  }${options.some((o) => !/\n *\w+\?:/.test(o)) ? "" : " = {}"}`);
  const fields = [...required.map(nameOf), ...(options.length > 0 ? ["...options"] : [])];
  const call = `this.emit("${op.name}", { ${fields.join(", ")} })`;
  const outputs = op.fields.filter((f) => f.kind === "output");
  const [output, ...others] = outputs;
  const isOne = output !== undefined && others.length === 0;
  const result = isOne
    ? output.type === "tensorArray"
      ? "Expr[]"
      : "Expr"
    : `{ ${outputs.map((f) => `${nameOf(f)}: Expr${f.optional ? " | null" : ""}`).join("; ")} }`;
  const about = (op.semantics ?? "").replace(/\*\//g, "* /").replace(/\s+/g, " ").trim();
  return [
    `  /** ${op.name} (feature level ${op.featureLevel}). ${about} */`,
    `  ${camel(op.name)}(${parameters.join(", ")}): ${result} {`,
    `    return ${isOne ? `${call}.${nameOf(output)}` : call} as ${result};`,
    "  }",
  ].join("\n");
}

/** An enum's values by what is their own in their names. */
function shortNames(name: string): Readonly<Record<string, number>> {
  const prefix = name === "DML_PADDING_MODE" ? "DML_PADDING_MODE_" : `${name}_`;
  return Object.fromEntries(Object.entries(valuesOf(name)).map(([k, v]) => [k.replace(prefix, "").replace(/^DML_[A-Z]+_/, ""), v]));
}

const header = "// Made by npm run generate from native/schema/directml.json.\n";
const lines = (list: readonly string[]): string => list.join("\n");

export function writeBuilder(isCheck: boolean): void {
  const { operators } = table;
  const methods = operators.map(methodOf);
  // Those of options and of the fields that count.
  const used = operators.flatMap((op) => {
    const counts = new Set(op.fields.map((f) => f.countField));
    return op.fields.filter((f) => !counts.has(f.name) && f.kind !== "output").flatMap((f) => enumOf(f) ?? []);
  });
  const enums = [...new Set(used)].toSorted();
  const operatorsText = [
    `${header}import type { OperatorTable } from "./schema.ts";`,
    `export const ENUMS = {\n${lines(enums.map((k) => `  ${k}: ${JSON.stringify(shortNames(k))},`))}\n} as const satisfies Record<string, Record<string, number>>;`,
    lines(enums.map((k) => `export type ${k} = keyof typeof ENUMS.${k};`)),
    `/** DirectML's operators, by the names of DML_OPERATOR_TYPE without their prefix. */\nexport type OperatorName =\n${lines(operators.map((op) => `  | "${op.name}"`))};`,
    `/** The operator table: type, feature level, fields and dtypes of each of DirectML's operators. */\nexport const OPERATORS: OperatorTable<OperatorName> = {\n${lines(operators.map((op) => `  ${op.name}: ${JSON.stringify(rowOf(op))},`))}\n};\n`,
  ];
  const named = enums.filter((k) => methods.some((m) => m.includes(k)));
  const builderText = [
    `${header}import type { ${named.join(", ")} } from "../dml/operators.generated.ts";\n` +
      `import { Emitter, type Activation, type Expr, type OutputSizes, type OutputSpec, type Scalar } from "./emitter.ts";`,
    `/** A graph of DirectML operators under construction: one method for each operator. Required tensors come first, the rest by name. */\n` +
      `export class GraphBuilder extends Emitter {\n${methods.join("\n\n")}\n}\n`,
  ];
  const files = [
    ["src/dml/operators.generated.ts", operatorsText.join("\n\n")],
    ["src/graph/builder.generated.ts", builderText.join("\n\n")],
  ] as const;
  writeGenerated(files, { isCheck });
}
