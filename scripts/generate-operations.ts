// Generates the lists of the families of src/ops: src/ops/exports/index.generated.ts (the package's exports),
// src/ops/exports/families.generated.ts (the sources of the tensor's methods), src/nn/functional.generated.ts and
// src/verify/cases/samples.generated.ts (the calls of verify). `npm run build` runs it too, so that nobody edits them.
import { writeGenerated, type Generated } from "./lib/generated.ts";
import { autocastNameOf, readFamilies, type Family, type FamilyExport, type Part } from "./lib/families.ts";
import { ScriptError } from "./tools/project.ts";
import { Kinds } from "./lib/kind-code.ts";
import { formOf } from "./lib/public-forms.ts";
import { namespaceTexts, spaceOf } from "./lib/namespaces.ts";
import { ofValue, signature, type Signature } from "./lib/signatures.ts";
import { docOf } from "./lib/source.ts";

const header = "// Made by npm run generate from the families in src/ops.\n";

type Families = readonly Family[];

const isFunction = (family: Family, { name, isType }: FamilyExport): boolean => !isType && !family.classes.includes(name);

/** Words that name no constant. */
const reserved = new Set(["var", "with", "in", "new", "delete", "default", "switch", "case"]);

/** A signature that has to be there. */
function readable(file: string, name: string, found: Signature | null): Signature {
  if (found === null) throw new ScriptError("FAMILY", `src/${file}: ${name} has no types that can be read.`, "Name its parameters' types.");
  return found;
}

const callOf =
  (name: string) =>
  (args: readonly string[]): string =>
    `${name}(${args.join(", ")})`;

/** The call of a function with an autocast list: while a region is open, with its casts. */
const castCallOf = (name: string, list: string | undefined, as: string): ((args: readonly string[]) => string) =>
  callOf(list === undefined ? name : `(openRegions === 0 ? ${name} : listed("${list}", "${as}", ${name}))`);

/** `export const sum = …`: the function that checks its arguments and calls the family's. */
function publicText(kinds: Kinds, { file, name: family, docs, autocast }: Family, { name }: FamilyExport, as: string): string {
  const doc = docs[name] === undefined ? "" : `${docs[name]}\n`;
  const found = readable(`ops/${file}`, name, signature(`ops/${file}`, name));
  const { parameters, isAsync, body } = formOf(kinds, as, found, castCallOf(`$${family}.${name}`, autocast.get(name), name));
  const own = reserved.has(as) ? `${as}$` : as;
  const exported = own === as ? "" : `\nexport { ${own} as ${as} };`;
  return `${doc}${own === as ? "export " : ""}const ${own} = ${isAsync ? "async " : ""}function (${parameters.join(", ")}) { ${body} } as unknown as typeof $${family}.${name};${exported}`;
}

const importsOf = (families: Families, folder: string): readonly string[] =>
  families.map(({ name, file }) => `import * as $${name} from "${folder}${file}";`);
/** ops: the way to src/ops. */
const checks = (ops: string): readonly string[] => [
  `import { bind, isAll, isTensor, refused, under } from "${ops}declare/checked.ts";`,
  `import * as kinds from "${ops}exports/kinds.generated.ts";`,
];

/** What forms of functions with an autocast list need. */
const castImports = (ops: string, lines: readonly string[]): readonly string[] =>
  lines.some((line) => line.includes("openRegions"))
    ? [`import { openRegions } from "${ops}../core/autocast.ts";`, `import { listed } from "${ops}declare/autocast.ts";`]
    : [];

function exportsText(families: Families, kinds: Kinds): string {
  const plain = families.filter((f) => f.namespace === null && f.exports.some((e) => isFunction(f, e)));
  const lines = families.flatMap((f) => {
    // Has its own folder: src/public.
    if (f.namespace !== null) return [];
    const others = f.exports.filter((e) => !isFunction(f, e));
    return [
      // One name a line, so that another name changes no line.
      ...others.map(
        ({ name, as, isType }) => `export ${isType ? "type " : ""}{ ${name}${as === name ? "" : ` as ${as}`} } from "../${f.file}";`,
      ),
      ...f.exports.filter((e) => isFunction(f, e)).map((e) => publicText(kinds, f, e, e.as)),
    ];
  });
  return `${header}${[...checks("../"), ...castImports("../", lines), ...importsOf(plain, "../"), ...lines].join("\n")}\n`;
}

/** The functions with an autocast list, without checks: what layers and other namespaces call. */
function autocastText(families: Families): string {
  const tagged = families.filter((f) => f.autocast.size > 0);
  const lines = tagged.flatMap((f) =>
    [...f.autocast].map(([name, list]) => {
      const { parameters } = readable(`ops/${f.file}`, name, signature(`ops/${f.file}`, name));
      const names = parameters.map((p, i) => (p.isRest ? "...rest" : `$${i}`));
      const declared = parameters.map((p, i) =>
        p.isRest ? "...rest: never[]" : `$${i}: never${p.hasDefault ? " = undefined as never" : ""}`,
      );
      const form = castCallOf(`$${f.name}.${name}`, list, name)(names);
      return `export const ${autocastNameOf(f, name)} = ((${declared.join(", ")}) => ${form}) as unknown as typeof $${f.name}.${name};`;
    }),
  );
  return `${header}/** Functions with an autocast list, without checks of their arguments. */\n${[...castImports("../", lines), ...importsOf(tagged, "../"), ...lines].join("\n")}\n`;
}

function functionalText(families: Families, kinds: Kinds): string {
  const plain = families
    .map((f): Family => ({ ...f, exports: f.exports.filter((e) => e.functional.length > 0) }))
    .filter((f) => f.exports.length > 0);
  const same = plain.flatMap((f) => f.exports.flatMap((e) => e.functional.filter((as) => as === e.as)));
  const others = plain.flatMap((f) =>
    f.exports.flatMap((e) => e.functional.filter((as) => as !== e.as).map((as) => publicText(kinds, f, e, as))),
  );
  const used = plain.filter((f) => f.exports.some((e) => e.functional.some((as) => as !== e.as)));
  const lines = [
    ...checks("../ops/"),
    ...castImports("../ops/", others),
    ...importsOf(used, "../ops/"),
    `export {\n${same.map((name) => `  ${name},`).join("\n")}\n} from "../ops/exports/index.generated.ts";`,
    ...others,
  ];
  return `${header}/** The functions behind the layers, under PyTorch's names of torch.nn.functional in camelCase. */\n${lines.join("\n")}\n`;
}

/** Functions that become methods, `x as y` under another name; whether they run code of the user's. */
type Methods = readonly (readonly [file: string, names: readonly string[], runsCode: boolean])[];

/** Methods of the tensor that no family defines. */
const tensorMethods: Methods = [
  ["autograd/backward.ts", ["backward"], true],
  ["core/print.ts", ["format", "formatSync", "print"], false],
];
/** The complex tensor's. */
const ofComplex: Methods = [
  [
    "complex/arithmetic.ts",
    ["add", "sub", "rsub", "mul", "div", "neg", "positive", "reciprocal", "square", "sum", "mean", "cumsum", "matmul"],
    false,
  ],
  ["complex/elementary.ts", ["abs", "angle", "sgn", "exp", "log", "sqrt", "sin", "cos", "sinh", "cosh", "tanh", "tan", "pow"], false],
  [
    "complex/data.ts",
    [
      "data",
      "dataSync",
      "toArray",
      "toArraySync",
      "item",
      "itemSync",
      "to",
      "eq",
      "ne",
      "isnan",
      "isinf",
      "isfinite",
      "isclose",
      "allclose",
      "allcloseSync",
      "equal",
      "equalSync",
    ],
    false,
  ],
  ["complex/make.ts", ["viewAsReal"], false],
  ["complex/autograd.ts", ["requiresGrad_", "backward"], true],
  ["core/print.ts", ["formatComplex as format", "formatComplexSync as formatSync", "printComplex as print"], false],
];

const methodRows = (kinds: Kinds, methods: Methods): readonly string[] =>
  methods.flatMap(([file, names, runsCode]) =>
    names.map((told) => {
      const [name = told, as = name] = told.split(" as ");
      const form = formOf(kinds, as, readable(file, name, signature(file, name)), callOf(`${spaceOf(file)}.${name}`), {
        isMethod: true,
        runsCode,
      });
      return `  ${form.isAsync ? "async " : ""}${as}(${["this: never", ...form.parameters].join(", ")}) { ${form.body} },`;
    }),
  );
const methodImports = (methods: Methods, src = "../"): readonly string[] =>
  methods.map(([file]) => `import * as ${spaceOf(file)} from "${src}${file}";`);

function complexText(kinds: Kinds): string {
  const head = [...checks("../ops/"), ...methodImports(ofComplex)];
  return `${header}${head.join("\n")}\n\nexport const forms = {\n${methodRows(kinds, ofComplex).join("\n")}\n};\n`;
}

/** The function that a method is. */
function functionOf(f: Family, method: string): string {
  const value = f.methods.get(method);
  return value?.type === "Identifier" ? value.name : method;
}

/** The names of the functions with an autocast list, which backends may state another list of. */
function autocastNamesText(families: Families): string {
  const names = [...new Set(families.flatMap((f) => [...f.autocast.keys()]))].toSorted();
  return `${header}/** Operations with an autocast list. */\nexport const AUTOCAST_OPERATIONS: ReadonlySet<string> = new Set([\n${names.map((name) => `  "${name}",`).join("\n")}\n]);\n`;
}

/** What the prototype gets: methods that check, of the same names and types as those that the families list. */
function methodsText(families: Families, kinds: Kinds): string {
  const withMethods = families.filter((f) => Object.keys(f.parts).length > 0);
  const rows = withMethods.flatMap((f) =>
    Object.entries(f.parts).flatMap(([part, list]) =>
      list.map((name) => {
        const found = readable(`ops/${f.file}`, `the method ${name}`, ofValue(`ops/${f.file}`, f.methods.get(name) ?? null));
        // In-place forms cast nothing, as in PyTorch.
        const of = functionOf(f, name);
        const run = castCallOf(`$${f.name}.${part}.${name}`, part === "inPlaceMethods" ? undefined : f.autocast.get(of), of);
        const assigned = (args: readonly string[]): string => `assign("${name}", this, () => ${run(args)})`;
        const form = formOf(kinds, name, found, part === "inPlaceMethods" ? assigned : run, { isMethod: true });
        return `  ${form.isAsync ? "async " : ""}${name}(${["this: never", ...form.parameters].join(", ")}) { ${form.body} },`;
      }),
    ),
  );
  const head = [
    `import { assign } from "../../dispatch/dispatch.ts";`,
    ...checks("../"),
    ...castImports("../", rows),
    ...methodImports(tensorMethods, "../../"),
    ...importsOf(withMethods, "../"),
  ];
  return `${header}${head.join("\n")}\n\nexport const forms = {\n${[...rows, ...methodRows(kinds, tensorMethods)].join("\n")}\n};\n`;
}

/** Functions that are no operations; whether they run code of the user's. */
const others: readonly (readonly [file: string, names: readonly string[], runsCode: boolean])[] = [
  ["autograd/grad-mode.ts", ["noGrad", "inferenceMode", "enableGrad", "setGradEnabled"], true],
  ["autograd/anomaly.ts", ["detectAnomaly", "setDetectAnomaly"], true],
  ["autograd/checkpoint.ts", ["checkpoint"], true],
  ["autograd/function.ts", ["defineFunction"], true],
  ["autograd/functional.ts", ["jvp", "vjp", "jacobian", "hessian", "hvp", "vhp"], true],
  ["func/grad-of.ts", ["gradOf", "gradAndValue"], true],
  ["func/vmap.ts", ["vmap"], true],
  ["autograd/saved-hooks.ts", ["savedTensorsHooks", "saveOnHost"], true],
  ["compile/compile.ts", ["compile"], true],
  ["control/cond.ts", ["cond"], true],
  ["control/scan.ts", ["scan"], true],
  ["control/while-loop.ts", ["whileLoop"], true],
  ["core/autocast.ts", ["autocast"], true],
  ["complex/autograd.ts", ["backward", "grad", "gradcheck", "gradgradcheck"], true],
  ["complex/make.ts", ["complex", "imag", "polar", "real", "viewAsComplex", "viewAsReal"], false],
  ["complex/promotion.ts", ["canCast", "promoteTypes"], false],
  ["complex/several.ts", ["abs", "angle", "cat", "stack", "where"], false],
  ["fft/stft.ts", ["istft", "stft"], false],
  ["core/device.ts", ["setDefaultDevice", "withDevice"], true],
  ["core/scope.ts", ["scope"], true],
  ["core/print.ts", ["setPrintOptions"], false],
  ["io/checkpoint/load.ts", ["latest", "load"], true],
  ["io/checkpoint/save.ts", ["save"], true],
  ["profile/profile.ts", ["profile", "startProfile"], true],
  ["runtime/devices.ts", ["closeDevice", "deviceInfo", "setDeviceTimeout", "setMemoryLimit"], false],
  ["runtime/fallback.ts", ["setStrict"], false],
  ["runtime/device-statistics.ts", ["counters", "memoryStatistics", "synchronize"], false],
];

function othersText(kinds: Kinds): string {
  const imports = others.map(([file]) => `import * as ${spaceOf(file)} from "../${file}";`);
  const lines = others.flatMap(([file, names, runsCode]) =>
    names.map((name) => {
      const found = readable(file, name, signature(file, name));
      const { parameters, isAsync, body } = formOf(kinds, name, found, callOf(`${spaceOf(file)}.${name}`), { runsCode });
      const doc = docOf(file, name);
      return `${doc}export const ${name} = ${isAsync ? "async " : ""}function (${parameters.join(", ")}) { ${body} } as unknown as typeof ${spaceOf(file)}.${name};`;
    }),
  );
  return `${header}${[...checks("../ops/"), ...imports, ...lines].join("\n")}\n`;
}

const kindsText = (kinds: Kinds): string =>
  `${header}import { isDType } from "../../core/dtype.ts";\nimport { isIterable, isTensor, kind, like, options, setKinds } from "../declare/checked.ts";\nimport { isPlain } from "../declare/other-names.ts";\n${kinds.text}\n`;

function familiesText(families: Families): string {
  const withMethods = families.filter((f) => Object.keys(f.parts).length > 0);
  const imports = withMethods.map(({ name, file }) => `import * as ${name} from "../${file}";`);
  const part = (key: Part): string => {
    const rows = withMethods.filter((f) => key in f.parts).map((f) => `  ...${f.name}.${key},`);
    return `export const ${key} = {\n${rows.join("\n")}\n};`;
  };
  return `${header}${imports.join("\n")}\n\n${[part("methods"), part("inPlaceMethods"), part("overloaded")].join("\n")}\n`;
}

/** What `dxtensor verify` is told of the families' own samples. */
function samplesText(families: Families): string {
  const own = families.filter((f) => f.hasSamples);
  const imports = own.map(({ name, file }) => `import { samples as $${name} } from "../../ops/${file}";`);
  const rows = own.map(({ name }) => `  ...$${name}(),`);
  return `${header}import type { Sample } from "../../ops/declare/sample.ts";\n${imports.join("\n")}\n\nexport const samples = (): readonly Sample[] => [\n${rows.join("\n")}\n];\n`;
}

/** Writes the files that differ; with isCheck it writes nothing, and throws. */
export function generateOperations({ isCheck = false } = {}): void {
  const families = readFamilies();
  const kinds = new Kinds();
  const files: readonly Generated[] = [
    ["src/ops/exports/index.generated.ts", exportsText(families, kinds)],
    ["src/ops/exports/families.generated.ts", familiesText(families)],
    ["src/ops/exports/methods.generated.ts", methodsText(families, kinds)],
    ["src/complex/methods.generated.ts", complexText(kinds)],
    ["src/public/functions.generated.ts", othersText(kinds)],
    ["src/nn/functional.generated.ts", functionalText(families, kinds)],
    ["src/ops/exports/kinds.generated.ts", kindsText(kinds)],
    ["src/backend/autocast-operations.generated.ts", autocastNamesText(families)],
    ["src/ops/exports/autocast.generated.ts", autocastText(families)],
    ...namespaceTexts(header, families),
    ["src/verify/cases/samples.generated.ts", samplesText(families)],
  ];
  writeGenerated(files, { isCheck });
}
