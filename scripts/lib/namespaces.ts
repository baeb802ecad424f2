// The namespaces other than the operations, as users see them: src/public/<namespace>.generated.ts, whose functions, classes and methods check their
// arguments by their declared types.
import type { Generated } from "./generated.ts";
import { autocastNameOf, type Family } from "./families.ts";
import { KindRows } from "./kind-rows.ts";
import type { Fields } from "./schema.ts";
import { classOf, exportsOf, made, signature, typeParametersOf, type ClassSignature, type Export, type Parameter } from "./signatures.ts";
import { docOf } from "./source.ts";

type Namespace = readonly [name: string, index: string, prefix: string];
/** [name, its exports, before the names in errors]. One inside another is a namespace there too. */
const namespaces: readonly Namespace[] = [
  ["fft", "fft/index.ts", ""],
  ["linalg", "ops/linalg/index.ts", "linalg."],
  ["masked", "ops/reduce/masked.ts", "masked."],
  ["foreach", "ops/elementwise/foreach.ts", "foreach."],
  ["nn", "nn/index.ts", ""],
  ["init", "nn/init.ts", ""],
  ["utils", "nn/utils.ts", ""],
  ["parametrize", "nn/parametrize.ts", ""],
  ["parametrizations", "nn/parametrizations.ts", ""],
  ["optim", "optim/index.ts", ""],
  ["lr-scheduler", "optim/schedules/index.ts", ""],
  ["metrics", "metrics/index.ts", "metrics."],
  ["data", "data/index.ts", ""],
  ["augment", "data/augment/index.ts", "augment."],
  ["io", "io/index.ts", ""],
  ["gguf", "io/gguf/index.ts", "gguf."],
  ["npy", "io/npy/index.ts", "npy."],
  ["npz", "io/npz/index.ts", "npz."],
  ["tfjs", "io/tfjs/index.ts", "tfjs."],
  ["wav", "io/wav/index.ts", "wav."],
  ["peft", "io/peft/index.ts", "peft."],
  ["pytorch", "io/pytorch/index.ts", "pytorch."],
  ["safetensors", "io/safetensors.ts", "safetensors."],
  ["onnx", "onnx/index.ts", "onnx."],
  ["train", "train/index.ts", ""],
  ["models", "models/index.ts", "models."],
  ["distributed", "distributed/index.ts", "distributed."],
];

/** Those whose functions name themselves in errors, or run code of the user's. */
const keepsNames = new Set([
  "linalg",
  "metrics",
  "data",
  "augment",
  "gguf",
  "npy",
  "npz",
  "tfjs",
  "wav",
  "peft",
  "pytorch",
  "safetensors",
  "onnx",
  "train",
  "models",
  "distributed",
]);

const fileOf = (namespace: string): string => `src/public/${namespace}.generated.ts`;
/** The name under which generated files import a file of src whole. */
export const spaceOf = (file: string): string =>
  `$${file
    .slice(0, -3)
    .replace(".generated", "")
    .replace(/[-/](\w)/g, (_, c: string) => c.toUpperCase())}`;

/** The methods of a class, "forward x;at index:number", and those of its bases that are not exported themselves. */
function methodsOf(kinds: KindRows, exported: readonly Export[], { methods, base }: ClassSignature): readonly string[] {
  const own = methods.map((m) => `${m.name} ${kinds.signature(m)}`.trim()).join(";");
  return [own, ...(base === null || exported.some((e) => e.name === base.name) ? [] : methodsOf(kinds, exported, base))];
}

const fieldsOf = ({ schema }: Parameter): Fields | null =>
  (schema.kind === "union" ? schema.of : [schema]).find((s) => s.kind === "object")?.fields ?? null;

/** The type arguments that say which arguments a layer takes by name; null where it requires none, or they cannot be named. */
function namesOf(parameters: readonly Parameter[]): string | null {
  const last = parameters.at(-1);
  const options = last === undefined ? null : fieldsOf(last);
  const named = options === null ? parameters : parameters.slice(0, -1);
  if (last === undefined || parameters.some((p) => p.isRest)) return null;
  const positions = (isOptional: boolean): string[] =>
    named.flatMap((p, i) =>
      p.isOptional === isOptional && (!isOptional || !Object.hasOwn(options ?? {}, p.name)) ? [`${p.name}: ${i}`] : [],
    );
  const [needed, others] = [positions(false), positions(true)];
  // An only object is taken as it is.
  if (needed.length === 0 || (named.length > 0 && !named[0]!.isOptional && fieldsOf(named[0]!) !== null)) return null;
  return `{ ${needed.join("; ")} }${others.length === 0 ? "" : `, { ${others.join("; ")} }`}`;
}

/** Whether an exported function does no more than make instances of a class. */
const isMadeBy = ({ file, local }: Export, name: string): boolean => made(file, local) === name;

/** The text of one namespace. */
function namespaceText(kinds: KindRows, header: string, families: readonly Family[], [namespace, index, prefix]: Namespace): string {
  const spaces = new Map<string, string>();
  const spaceIn = (file: string): string => {
    const space = spaceOf(file);
    spaces.set(file, space);
    return space;
  };
  const types = new Map<string, readonly string[]>();
  const lines: string[] = [];
  const exported = exportsOf(index);
  const classIn = (file: string, name: string): ClassSignature => {
    const found = classOf(file, name);
    if (found === null) throw new Error(`${file}: the class ${name} was not found`);
    return found;
  };

  const functionText = (file: string, local: string, name: string): string => {
    const found = signature(file, local);
    if (found === null) throw new Error(`${file}: ${local} has no types that can be read`);
    const { result, parameters } = found;
    // A layer's function and its class are checked once, under the class's name.
    const isFactory = exported.some((e) => e.what === "class" && e.name === result) && made(file, local) === result;
    const family = families.find((f) => `ops/${f.file}` === file);
    // Functions with an autocast list are called with its casts.
    const own =
      family?.autocast.has(local) === true
        ? `${spaceIn("ops/exports/autocast.generated.ts")}.${autocastNameOf(family, local)}`
        : `${spaceIn(file)}.${local}`;
    if (isFactory && result !== null) {
      const ofClass = classIn(file, result).parameters;
      if (parameters.some((p, i) => p.isOptional !== ofClass[i]?.isOptional))
        throw new Error(`${file}: ${local} and ${result} may not leave out the same`);
      const isGeneric = typeParametersOf(file, result, spaceIn).declared !== "";
      const names = namespace === "nn" && !isGeneric ? namesOf(ofClass) : null;
      return `factory(${result}, ${own})${names === null ? "" : ` as MadeByName<typeof ${own}, ${names}>`}`;
    }
    const form = found.isAsync ? "guardedAsync" : keepsNames.has(namespace) ? "guarded" : "checked";
    return `${form}(${own}, "${prefix}${name}", "${kinds.signature(found)}")`;
  };

  /** What a function makes is what there is to say of it. */
  const docOfMade = (file: string, local: string): string => {
    const result = made(file, local);
    return result !== null && exportsOf(file).some((e) => e.name === result && e.what === "class") ? docOf(file, result) : "";
  };

  for (const { name, file, local, what } of exported) {
    const reexported = `export { ${local === name ? name : `${local} as ${name}`} } from "../${file}";`;
    if (what === "type") types.set(file, [...(types.get(file) ?? []), local === name ? name : `${local} as ${name}`]);
    else if (what === "namespace") {
      const inner = namespaces.find(([, from]) => from === file);
      lines.push(`export * as ${name} from "${inner === undefined ? `../${file}` : `./${inner[0]}.generated.ts`}";`);
    } else if (what === "value" || file === "core/errors.ts") lines.push(reexported);
    else if (what === "function") {
      const doc = docOf(file, local) || docOfMade(file, local);
      // A word of the language is no name of a constant.
      if (name === "export") lines.push(`${doc}const $export = ${functionText(file, local, name)};`, "export { $export as export };");
      else lines.push(`${doc}export const ${name} = ${functionText(file, local, name)};`);
    } else {
      const found = classIn(file, local);
      const methods = methodsOf(kinds, exported, found);
      // Models are made by the library itself.
      if (file === "onnx/model.ts" || found.isAbstract) {
        lines.push(reexported, `checkMethods(${spaceIn(file)}.${local}, "${methods[0]}");`);
        continue;
      }
      const levels = methods.slice(0, methods.findLastIndex((m) => m !== "") + 1);
      const args = [`${spaceIn(file)}.${local}`, ...[kinds.signature(found), ...levels].map((t) => `"${t}"`)];
      const { declared, typeArguments } = typeParametersOf(file, local, spaceIn);
      // The published declaration of a class has its own constructor's overloads.
      const isMade =
        declared === "" && found.constructs && exported.some((e) => e.what === "function" && e.file === file && isMadeBy(e, local));
      const names = namespace === "nn" && isMade ? namesOf(found.parameters) : null;
      lines.push(
        `${docOf(file, local)}export const ${name} = checkedClass(${args.join(", ")})${names === null ? "" : ` as ClassByName<typeof ${args[0]}, ${names}>`};`,
        `export type ${name}${declared} = ${spaceIn(file)}.${local}${typeArguments};`,
      );
    }
  }
  // A class comes before the function that makes it.
  lines.sort((a, b) => Number(a.includes("= factory(")) - Number(b.includes("= factory(")));
  const helpers = ["checked", "checkedClass", "checkMethods", "factory", "guarded", "guardedAsync"].filter((w) =>
    lines.some((l) => new RegExp(`(^|= )${w}\\(`, "m").test(l)),
  );
  const shapes = ["ClassByName", "MadeByName"].filter((w) => lines.some((l) => l.includes(` as ${w}<`)));
  // One name a line, so that another name changes no line.
  const head = [
    ...shapes.map((name) => `import type { ${name} } from "./by-name.ts";`),
    ...helpers.map((name) => `import { ${name} } from "./kinds.generated.ts";`),
    ...[...spaces].map(([file, space]) => `import * as ${space} from "../${file}";`),
    ...[...types].flatMap(([file, names]) => names.map((name) => `export type { ${name} } from "../${file}";`)),
  ];
  return `${header}${[...head, ...lines].join("\n")}\n`;
}

/** The generated file of each namespace, and the one that lists what is in it. */
export const namespaceIndices = (): readonly (readonly [made: string, index: string])[] =>
  namespaces.map(([namespace, index]) => [fileOf(namespace).slice(4), index]);

/** [file, text] of each namespace, and of the kinds that they share. */
export function namespaceTexts(header: string, families: readonly Family[]): readonly Generated[] {
  const kinds = new KindRows();
  const texts = namespaces.map((namespace) => [fileOf(namespace[0]), namespaceText(kinds, header, families, namespace)] as const);
  const { classes } = kinds;
  const lines = [
    'import { KindTable, forms } from "./kind-table.ts";',
    ...classes.map(([name, file]) => `import { ${name} } from "../${file}";`),
    '/** A row a kind: its name, the test, the text after "must be", whether it is about dtypes. */',
    `export const kinds = new KindTable(String.raw\`\n${kinds.text}\n\`, {\n${classes.map(([name]) => `  ${name},`).join("\n")}\n});`,
    "export const { checked, checkedClass, checkMethods, factory, guarded, guardedAsync } = forms(kinds);",
  ];
  return [...texts, ["src/public/kinds.generated.ts", `${header}${lines.join("\n")}\n`]];
}
