// @ts-nocheck: what it reads (a parser's tree, facts in JSON, a test runner's tasks) has no types here.
// The rooms beside the operations, as users see them: src/public/<room>.generated.ts, whose functions, classes and methods check their
// arguments by their declared types.
import { KindRows } from "./public-forms.ts";
import { classOf, docOf, exportsOf, made, signature, typeParametersOf } from "./signatures.ts";

/** [room, its exports, before the names in errors]. Rooms inside rooms are namespaces there. */
const rooms = [
  ["fft", "fft/index.ts", ""],
  ["linalg", "ops/linalg/index.ts", "linalg."],
  ["masked", "ops/masked.ts", "masked."],
  ["foreach", "ops/foreach.ts", "foreach."],
  ["nn", "nn/index.ts", ""],
  ["init", "nn/init.ts", ""],
  ["utils", "nn/utils.ts", ""],
  ["optim", "optim/index.ts", ""],
  ["lr-scheduler", "optim/schedules/index.ts", ""],
  ["data", "data/index.ts", ""],
  ["io", "io/index.ts", ""],
  ["safetensors", "io/safetensors.ts", "safetensors."],
  ["onnx", "onnx/index.ts", "onnx."],
];

/** Rooms whose functions name themselves in errors, or run code of the user's. */
const keepsNames = new Set(["linalg", "data", "safetensors", "onnx"]);

const fileOf = (room) => `src/public/${room}.generated.ts`;
const spaceOf = (file) => `$${file.slice(0, -3).replace(/[-/](\w)/g, (_, c) => c.toUpperCase())}`;
const quoted = (text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** The methods of a class, "forward x:0;at index:1", and those of its bases that are not exported themselves. */
function methodsOf(kinds, exported, found) {
  const own = found.methods.map((m) => `${m.name} ${kinds.signature(m)}`.trim()).join(";");
  const isOwn = found.base !== null && !exported.some((e) => e.name === found.base.name);
  return [own, ...(isOwn ? methodsOf(kinds, exported, found.base) : [])];
}

/** The text of one room. */
function roomText(kinds, header, [room, index, prefix]) {
  const spaces = new Map();
  const spaceIn = (file) => {
    spaces.set(file, spaceOf(file));
    return spaces.get(file);
  };
  const types = new Map();
  const lines = [];
  const exported = exportsOf(index);

  const functionText = (file, local, name) => {
    const found = signature(file, local);
    // A layer's function and its class are checked once, under the class's name.
    const isFactory = exported.some((e) => e.what === "class" && e.name === found.result && made(file, local) === found.result);
    if (isFactory && found.parameters.some((p, i) => p.isOptional !== classOf(file, found.result).parameters[i].isOptional))
      throw new Error(`${file}: ${local} and ${found.result} may not leave out the same`);
    const own = `${spaceIn(file)}.${local}`;
    if (isFactory) return `factory(${found.result}, ${own})`;
    const form = keepsNames.has(room) ? (found.isAsync ? "guardedAsync" : "guarded") : "checked";
    if (form === "checked" && found.isAsync) throw new Error(`${file}: ${local} is asynchronous; add its room to keepsNames`);
    return `${form}(${own}, "${prefix}${name}", "${kinds.signature(found)}")`;
  };

  for (const { name, file, local, what } of exported) {
    const reexported = `export { ${local === name ? name : `${local} as ${name}`} } from "../${file}";`;
    if (what === "type") types.set(file, [...(types.get(file) ?? []), local === name ? name : `${local} as ${name}`]);
    else if (what === "namespace") {
      const inner = rooms.find(([, from]) => from === file);
      lines.push(`export * as ${name} from "${inner === undefined ? `../${file}` : `./${inner[0]}.generated.ts`}";`);
    } else if (what === "value" || file === "errors.ts") lines.push(reexported);
    else if (what === "function") lines.push(`${docOf(file, local)}export const ${name} = ${functionText(file, local, name)};`);
    else {
      const found = classOf(file, local);
      const methods = methodsOf(kinds, exported, found);
      // Models are made by the library itself.
      if (file === "onnx/model.ts" || found.isAbstract) {
        lines.push(reexported, `checkMethods(${spaceIn(file)}.${local}, "${methods[0]}");`);
        continue;
      }
      const levels = methods.slice(0, methods.findLastIndex((m) => m !== "") + 1);
      const args = [`${spaceIn(file)}.${local}`, ...[kinds.signature(found), ...levels].map((t) => `"${t}"`)];
      const { declared, given } = typeParametersOf(file, local, spaceIn);
      lines.push(
        `${docOf(file, local)}export const ${name} = checkedClass(${args.join(", ")});`,
        `export type ${name}${declared} = ${spaceIn(file)}.${local}${given};`,
      );
    }
  }
  // A class comes before the function that makes it.
  lines.sort((a, b) => Number(a.includes("= factory(")) - Number(b.includes("= factory(")));
  const helpers = ["checked", "checkedClass", "checkMethods", "factory", "guarded", "guardedAsync"].filter((w) =>
    lines.some((l) => new RegExp(`(^|= )${w}\\(`, "m").test(l)),
  );
  const head = [
    ...(helpers.length === 0 ? [] : [`import { ${helpers.join(", ")} } from "./kinds.generated.ts";`]),
    ...[...spaces].map(([file, space]) => `import * as ${space} from "../${file}";`),
    ...[...types].map(([file, names]) => `export type { ${names.join(", ")} } from "../${file}";`),
  ];
  return `${header}${[...head, ...lines].join("\n")}\n`;
}

/** [file, text] of each room, and of the kinds that they share. */
export function roomTexts(header) {
  const kinds = new KindRows();
  const texts = rooms.map((room) => [fileOf(room[0]), roomText(kinds, header, room)]);
  const classes = [...kinds.classes];
  const lines = [
    'import { KindTable, forms } from "./table.ts";',
    ...classes.map(([name, file]) => `import { ${name} } from "../${file}";`),
    `const kinds = new KindTable(${quoted(kinds.text)}, { ${classes.map(([name]) => name).join(", ")} });`,
    "export const { checked, checkedClass, checkMethods, factory, guarded, guardedAsync } = forms(kinds);",
  ];
  return [...texts, ["src/public/kinds.generated.ts", `${header}${lines.join("\n")}\n`]];
}
