// @ts-nocheck: what it reads (a parser's tree, facts in JSON, a test runner's tasks) has no types here.
// Writes what the families of src/ops are known by: src/ops/index.generated.ts (the package's exports), src/ops/families.generated.ts
// (what the tensor's methods are made of), src/nn/functional.generated.ts and src/verify/cases/samples.generated.ts (what verify calls). `npm run build` runs it too, so that nobody edits them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { readFamilies } from "./lib/families.ts";
import { ScriptError, at } from "./tools/project.ts";
import { Kinds, formOf } from "./lib/public-forms.ts";
import { roomTexts } from "./lib/rooms.ts";
import { docOf, ofValue, signature } from "./lib/signatures.ts";

const header = "// Made by npm run generate from the families in src/ops.\n";

const isFunction = (family, { name, isType }) => !isType && !family.classes.includes(name);

/** Words that name no constant. */
const reserved = new Set(["var", "with", "in", "new", "delete", "default", "switch", "case"]);

/** `export const sum = …`: the function that checks its arguments and calls the family's. */
function publicText(kinds, { file, name: family, docs }, { name }, as) {
  const doc = name in docs ? `${docs[name]}\n` : "";
  const found = signature(`ops/${file}`, name);
  if (found === null)
    throw new ScriptError("FAMILY", `src/ops/${file}: ${name} has no types that can be read.`, "Name its parameters' types.");
  const { parameters, isAsync, body } = formOf(kinds, as, found, (given) => `$${family}.${name}(${given.join(", ")})`);
  const own = reserved.has(as) ? `${as}$` : as;
  const exported = own === as ? "" : `\nexport { ${own} as ${as} };`;
  return `${doc}${own === as ? "export " : ""}const ${own} = ${isAsync ? "async " : ""}function (${parameters.join(", ")}) { ${body} } as unknown as typeof $${family}.${name};${exported}`;
}

const importsOf = (families, folder) => families.map(({ name, file }) => `import * as $${name} from "${folder}${file}";`);
const checks = (folder) => [
  `import { isAll, isTensor, refused, under } from "${folder}checked.ts";`,
  `import * as kinds from "${folder}kinds.generated.ts";`,
];

function exportsText(families, kinds) {
  const plain = families.filter((f) => f.namespace === null && f.exports.some((e) => isFunction(f, e)));
  const lines = families.flatMap((f) => {
    // A room of its own: src/public.
    if (f.namespace !== null) return [];
    const others = f.exports.filter((e) => !isFunction(f, e));
    const names = others.map(({ name, as, isType }) => `${isType ? "type " : ""}${name}${as === name ? "" : ` as ${as}`}`);
    return [
      ...(names.length === 0 ? [] : [`export { ${names.join(", ")} } from "./${f.file}";`]),
      ...f.exports.filter((e) => isFunction(f, e)).map((e) => publicText(kinds, f, e, e.as)),
    ];
  });
  return `${header}${[...checks("./"), ...importsOf(plain, "./"), ...lines].join("\n")}\n`;
}

function functionalText(families, kinds) {
  const plain = families
    .map((f) => ({ ...f, exports: f.exports.filter((e) => e.functional.length > 0) }))
    .filter((f) => f.exports.length > 0);
  const same = plain.flatMap((f) => f.exports.flatMap((e) => e.functional.filter((as) => as === e.as)));
  const others = plain.flatMap((f) =>
    f.exports.flatMap((e) => e.functional.filter((as) => as !== e.as).map((as) => publicText(kinds, f, e, as))),
  );
  const used = plain.filter((f) => f.exports.some((e) => e.functional.some((as) => as !== e.as)));
  const lines = [
    ...checks("../ops/"),
    ...importsOf(used, "../ops/"),
    `export { ${same.join(", ")} } from "../ops/index.generated.ts";`,
    ...others,
  ];
  return `${header}/** The functions behind the layers, under PyTorch's names of torch.nn.functional in camelCase. */\n${lines.join("\n")}\n`;
}

/** What the prototype gets: methods that check, of the same names and types as those that the families list. */
function methodsText(families, kinds) {
  const withMethods = families.filter((f) => Object.keys(f.parts).length > 0);
  const rows = withMethods.flatMap((f) =>
    Object.entries(f.parts).flatMap(([part, list]) =>
      list.map((name) => {
        const found = ofValue(`ops/${f.file}`, f.methods[name]);
        if (found === null)
          throw new ScriptError("FAMILY", `src/ops/${f.file}: the method ${name} has no types that can be read.`, "Name them.");
        const run = (given) => `$${f.name}.${part}.${name}(${given.join(", ")})`;
        const call = part === "inPlaceMethods" ? (given) => `assign("${name}", this, () => ${run(given)})` : run;
        const { parameters, isAsync, body } = formOf(kinds, name, found, call, { isMethod: true });
        return `  ${isAsync ? "async " : ""}${name}(${["this: never", ...parameters].join(", ")}) { ${body} },`;
      }),
    ),
  );
  const head = [`import { assign } from "../dispatch.ts";`, ...checks("./"), ...importsOf(withMethods, "./")];
  return `${header}${head.join("\n")}\n\nexport const forms = {\n${rows.join("\n")}\n};\n`;
}

/** Functions beside the operations; whether they run code of the user's. */
const others = [
  ["autograd/grad-mode.ts", ["noGrad", "enableGrad", "setGradEnabled"], true],
  ["autograd/function.ts", ["defineFunction"], true],
  ["compile/compile.ts", ["compile"], true],
  ["complex/autograd.ts", ["backward", "grad", "gradcheck", "gradgradcheck"], true],
  ["complex/make.ts", ["complex", "imag", "polar", "real", "viewAsComplex", "viewAsReal"], false],
  ["complex/promotion.ts", ["canCast", "promoteTypes"], false],
  ["complex/several.ts", ["abs", "angle", "cat", "stack", "where"], false],
  ["fft/stft.ts", ["istft", "stft"], false],
  ["device.ts", ["setDefaultDevice", "withDevice"], true],
  ["scope.ts", ["scope"], true],
  ["print.ts", ["setPrintOptions"], false],
  ["runtime/devices.ts", ["closeDevice", "deviceInfo", "setDeviceTimeout", "setMemoryLimit"], false],
  ["runtime/fallback.ts", ["setStrict"], false],
  ["runtime/statistics.ts", ["counters", "memoryStatistics", "synchronize"], false],
];

function othersText(kinds) {
  const imports = [];
  const lines = others.flatMap(([file, names, runsCode], i) => {
    imports.push(`import * as from${i} from "./${file}";`);
    return names.map((name) => {
      const { parameters, isAsync, body } = formOf(kinds, name, signature(file, name), (given) => `from${i}.${name}(${given.join(", ")})`, {
        runsCode,
      });
      const doc = docOf(file, name);
      return `${doc}export const ${name} = ${isAsync ? "async " : ""}function (${parameters.join(", ")}) { ${body} } as unknown as typeof from${i}.${name};`;
    });
  });
  return `${header}${[...checks("./ops/"), ...imports, ...lines].join("\n")}\n`;
}

const kindsText = (kinds) =>
  `${header}import { isDType } from "../dtype.ts";\nimport { hasFields, isIterable, isLike, isPlain, isTensor, setKinds, type Fields, type Kind } from "./checked.ts";\n${kinds.text}\n`;

function familiesText(families) {
  const withMethods = families.filter((f) => Object.keys(f.parts).length > 0);
  const imports = withMethods.map(({ name, file }) => `import * as ${name} from "./${file}";`);
  const part = (key) => {
    const rows = withMethods.filter((f) => key in f.parts).map((f) => `  ...${f.name}.${key},`);
    return `export const ${key} = {\n${rows.join("\n")}\n};`;
  };
  return `${header}${imports.join("\n")}\n\n${["methods", "inPlaceMethods", "overloaded"].map(part).join("\n")}\n`;
}

/** What `dxtensor verify` is told of the families' own samples. */
function samplesText(families) {
  const own = families.filter((f) => f.hasSamples);
  const imports = own.map(({ name, file }) => `import { samples as $${name} } from "../../ops/${file}";`);
  const rows = own.map(({ name }) => `  ...$${name}(),`);
  return `${header}import type { Sample } from "../../sample.ts";\n${imports.join("\n")}\n\nexport const samples = (): readonly Sample[] => [\n${rows.join("\n")}\n];\n`;
}

/** Writes the files that differ; with isCheck it writes nothing, and throws. */
export function generateOperations({ isCheck = false } = {}) {
  const families = readFamilies();
  const kinds = new Kinds();
  for (const [file, text] of [
    ["src/ops/index.generated.ts", exportsText(families, kinds)],
    ["src/ops/families.generated.ts", familiesText(families)],
    ["src/ops/methods.generated.ts", methodsText(families, kinds)],
    ["src/public.generated.ts", othersText(kinds)],
    ["src/nn/functional.generated.ts", functionalText(families, kinds)],
    ["src/ops/kinds.generated.ts", kindsText(kinds)],
    ...roomTexts(header),
    ["src/verify/cases/samples.generated.ts", samplesText(families)],
  ]) {
    let known = null;
    try {
      known = readFileSync(at(file), "utf8");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
    if (known === text) continue;
    if (isCheck) throw new ScriptError("OUT_OF_DATE", `${file} is out of date.`, "Run: npm run generate");
    mkdirSync(dirname(at(file)), { recursive: true });
    writeFileSync(at(file), text);
  }
}
