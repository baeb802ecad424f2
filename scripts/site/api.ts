// The API reference: TypeDoc over the package's declarations, a page for each family of functions and each file of a namespace.
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";
import { readFamilies } from "../lib/families.ts";
import { firstSentence } from "../lib/first-comment.ts";
import { ScriptError, at } from "../tools/project.ts";

/** A page that TypeDoc makes: what its module exports. */
interface Entry {
  readonly name: string;
  readonly title: string;
  readonly code: string;
}
interface Group {
  readonly text: string;
  readonly entries: readonly Entry[];
}
/** A group of the site's sidebar. */
export interface Sidebar {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** What is used of TypeDoc, which is installed for the site alone. */
interface TypeDoc {
  readonly LogLevel: { readonly Error: number };
  readonly Application: { bootstrapWithPlugins(options: Readonly<Record<string, unknown>>): Promise<Application> };
}
interface Application {
  readonly logger: { hasErrors(): boolean };
  convert(): Promise<object | undefined>;
  generateOutputs(project: object): Promise<void>;
}

/** A title that is short enough for a sidebar. */
const brief = (title: string): string => {
  const name = title.replace(/[:;] .*$/s, "");
  return name.length > 48 ? name.replace(/, .*$/s, "") : name;
};
const firstComment = (file: string): string => firstSentence(readFileSync(at("src", file), "utf8"), basename(file, ".ts"));

/**
 * Declarations with what users call in place of its checked form: `export declare const relu: typeof $activation.relu` has neither
 * parameters nor a comment of its own.
 */
function plainDeclarations(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !path.includes("bundle") && (path.endsWith(".d.ts") || !/\.\w+$/.test(path)) });
  for (const name of readdirSync(to, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".generated.d.ts")) continue;
    const file = join(to, name);
    const text = readFileSync(file, "utf8");
    const homes = new Map([...text.matchAll(/^import \* as (\$?\w+) from "([^"]+)";$/gm)].map(([, local, path]) => [local, path]));
    const plain = text.replaceAll(
      /^(?:\/\*\*(?:(?!\*\/)[\s\S])*?\*\/\n)?export declare const (\w+): typeof (\$?\w+)\.(\w+);$/gm,
      (line, as: string, local: string, own: string) =>
        homes.has(local) ? `export { ${own}${own === as ? "" : ` as ${as}`} } from "${homes.get(local)}";` : line,
    );
    writeFileSync(file, plain);
  }
  for (const name of readdirSync(to, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".d.ts")) continue;
    const text = readFileSync(join(to, name), "utf8");
    const functions = text.replaceAll(
      /^export declare const (\w+): ((?:<[^\n]*?>)?\([^\n]*\)) => ([^\n]+);$/gm,
      (line, as: string, parameters: string, result: string, at: number) => {
        if (!isBalanced(parameters) || !isBalanced(result)) return line;
        const doc = text.slice(0, at).trimEnd().endsWith("*/") ? "" : docOfClass(text, result);
        return `${doc}export declare function ${as}${parameters}: ${result};`;
      },
    );
    // A model is callable, and tensors have each function as a method: said once, not of every class.
    const plain = functions
      .replace(/^export interface Module \{[\s\S]*?^\}$/m, "")
      .replace("interface Tensor extends Methods, InPlaceMethods {", "interface Tensor {");
    if (plain !== text) writeFileSync(join(to, name), plain);
  }
}

/** The comment of a class, for the function that makes it and has none; "" for what is no class of the file. */
const docOfClass = (text: string, name: string): string =>
  new RegExp(`(/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)export declare (?:abstract )?class ${/^\w+/.exec(name)?.[0] ?? "_"}\\b`).exec(
    text,
  )?.[1] ?? "";

/** Whether every parenthesis that is opened is closed, so that the arrow behind is not one of a parameter. */
function isBalanced(text: string): boolean {
  let depth = 0;
  for (const c of text) {
    if (c === "(") depth++;
    else if (c === ")" && --depth < 0) return false;
  }
  return depth === 0;
}

function groups(): readonly Group[] {
  /** What the entries import declarations from. */
  const from = (path: string): string => `../types/${path}`;
  const ops = readFamilies()
    .map(({ file, exports }) => {
      const list = exports.map((e) => `${e.isType ? "type " : ""}${e.name}${e.as === e.name ? "" : ` as ${e.as}`}`);
      return {
        name: basename(file, ".ts"),
        title: firstComment(`ops/${file}`),
        functions: exports.filter((e) => !e.isType).length,
        code: `export { ${list.join(", ")} } from "${from(`ops/${file}`)}";`,
      };
    })
    .filter((e) => e.functions > 0)
    .toSorted((a, b) => a.title.localeCompare(b.title, "en"));
  const folderEntries = (folder: string): readonly Entry[] =>
    [...readFileSync(at("src", folder, "index.ts"), "utf8").matchAll(/^export .*? from "\.\/([\w/-]+)\.ts";$/gm)]
      .map(([line, path = ""]) => ({ line, path }))
      .filter(({ line, path }) => !line.includes("export type") && !path.endsWith(".generated"))
      .flatMap(({ line, path }) => {
        const entry = {
          name: `${folder}-${path.replace("/index", "").replaceAll("/", "-")}`,
          title: firstComment(`${folder}/${path}.ts`),
          code: line.replace(`"./${path}.ts"`, `"${from(`${folder}/${path}.ts`)}"`).replace(/export \* as \w+/, "export *"),
        };
        return line.startsWith("export * as") ? withNested(entry, `${folder}/${path}.ts`) : [entry];
      });
  /** TypeDoc makes a folder of a module with namespaces: each of them is an entry of its own. */
  const withNested = (entry: Entry, file: string): readonly Entry[] => {
    const text = readFileSync(at("src", file), "utf8").replaceAll('"./', `"${from(`${dirname(file)}/`)}`);
    const nested = [...text.matchAll(/^export \* as (\w+) (from "(.*?\/([\w-]+\.ts))";)$/gm)];
    if (nested.length === 0) return [entry];
    const own = [...text.matchAll(/^export (?:type )?(?:\{[^}]*\}|\*) from "[^"]+";$/gm)].map(([statement]) => statement);
    return [
      { ...entry, code: own.join("\n") },
      ...nested.map(([, name, source, , home]) => ({
        name: `${entry.name}-${name}`,
        title: firstComment(`${dirname(file)}/${home}`),
        code: `export * ${source}`,
      })),
    ];
  };
  const index = readFileSync(at("dist", "index.d.ts"), "utf8");
  const core = index
    .split("\n")
    .filter((line) => line.startsWith("export ") && !/ \* as |ops\/index|errors\.ts|from "\.\/tensor/.test(line))
    .map((line) => line.replaceAll('"./', `"${from("")}`))
    .join("\n");
  return [
    {
      text: "Core",
      entries: [
        { name: "tensor", title: "Tensor", code: `export { Tensor } from "${from("core/tensor.ts")}";` },
        { name: "core", title: "Core functions: devices, gradients, compile, scopes", code: core },
        { name: "errors", title: "Errors", code: `export * from "${from("core/errors.ts")}";` },
        { name: "dml", title: "dx.dml", code: `export * from "${from("dml.ts")}";` },
      ],
    },
    { text: "dx.nn", entries: folderEntries("nn") },
    { text: "dx.optim", entries: folderEntries("optim") },
    { text: "dx.metrics", entries: folderEntries("metrics") },
    { text: "dx.data", entries: folderEntries("data") },
    {
      text: "dx.io",
      entries: [
        { name: "io-safetensors", title: "safetensors", code: `export * from "${from("io/safetensors.ts")}";` },
        { name: "io-onnx", title: "ONNX", code: `export * from "${from("public/onnx.generated.ts")}";` },
      ],
    },
    {
      text: "dx.fft",
      entries: [{ name: "fft", title: "Fourier transforms", code: `export * from "${from("public/fft.generated.ts")}";` }],
    },
    {
      text: "dx.linalg",
      entries: [{ name: "linalg", title: "Decompositions and solvers", code: `export * from "${from("public/linalg.generated.ts")}";` }],
    },
    { text: "Operations", entries: ops },
  ];
}

/** The titles of the pages, by the pages' names. */
export const apiTitles = (): Record<string, string> => Object.fromEntries(groups().flatMap((g) => g.entries.map((e) => [e.name, e.title])));

/** Writes pages into `out`; the sidebar's groups. `work`: a folder with node_modules that has TypeDoc. */
export async function apiPages(work: string, out: string): Promise<readonly Sidebar[]> {
  if (!existsSync(at("dist", "index.d.ts")))
    throw new ScriptError("NOT_BUILT", "There are no declarations in dist.", "Run: npm run build:ts");
  const types = join(work, "types");
  const entries = join(work, "entries");
  for (const folder of [types, entries, out]) rmSync(folder, { recursive: true, force: true });
  plainDeclarations(at("dist"), types);
  mkdirSync(entries, { recursive: true });
  const all = groups();
  for (const { entries: list } of all)
    for (const { name, title, code } of list)
      writeFileSync(join(entries, `${name}.ts`), `/**\n * ${title}.\n * @module ${name}\n */\n${code}\n`);
  writeFileSync(
    join(work, "tsconfig.api.json"),
    JSON.stringify({
      compilerOptions: {
        target: "es2023",
        lib: ["es2024", "esnext.disposable", "dom"],
        module: "nodenext",
        strict: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        types: ["node"],
        typeRoots: [at("node_modules", "@types")],
        noEmit: true,
      },
      include: ["entries/*.ts"],
    }),
  );
  const { resolve } = createRequire(join(work, "package.json"));
  const typedoc: TypeDoc = await import(pathToFileURL(resolve("typedoc")).href);
  const app = await typedoc.Application.bootstrapWithPlugins({
    plugin: [resolve("typedoc-plugin-markdown")],
    entryPoints: all.flatMap((g) => g.entries.map((e) => join(entries, `${e.name}.ts`))),
    tsconfig: join(work, "tsconfig.api.json"),
    out,
    router: "module",
    readme: "none",
    disableSources: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeProtected: true,
    skipErrorChecking: true,
    disableGit: true,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    hidePageTitle: true,
    useHTMLEncodedBrackets: true,
    sanitizeComments: true,
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    expandParameters: true,
    fileExtension: ".md",
    logLevel: typedoc.LogLevel.Error,
    validation: false,
  });
  const project = await app.convert();
  if (project === undefined) throw new ScriptError("API", "TypeDoc could not read the declarations.");
  await app.generateOutputs(project);
  if (app.logger.hasErrors()) throw new ScriptError("API", "TypeDoc failed; see above.");

  const methods = [...readFileSync(at("src", "ops", "exports", "methods.generated.ts"), "utf8").matchAll(/^ {2}(\w+)\(this/gm)].map(
    ([, name]) => `\`${name}\``,
  );
  if (methods.length < 300)
    throw new ScriptError("API", `Only ${methods.length} methods were found in src/ops/exports/methods.generated.ts.`);
  const tensor = join(out, "tensor.md");
  appendFileSync(
    tensor,
    `\n## Methods that are functions\n\n\`x.relu()\` is \`dx.relu(x)\`, and a name that ends with \`_\` writes into the tensor. ${methods.join(", ")}\n`,
  );

  const titles = apiTitles();
  const pages = readdirSync(out).filter((name) => name.endsWith(".md") && name !== "README.md");
  for (const page of pages) {
    const name = basename(page, ".md");
    const text = readFileSync(join(out, page), "utf8");
    writeFileSync(join(out, page), `---\noutline: [2, 3]\n---\n\n# ${titles[name]}\n\n${text.replace(`${titles[name]}.\n`, "")}`);
  }
  rmSync(join(out, "README.md"), { force: true });
  const there = all
    .map((g) => ({
      text: g.text,
      items: g.entries.filter((e) => pages.includes(`${e.name}.md`)).map((e) => ({ text: brief(e.title), link: `/api/${e.name}` })),
    }))
    .filter((g) => g.items.length > 0);
  const missing = all.flatMap((g) => g.entries.filter((e) => !pages.includes(`${e.name}.md`)).map((e) => e.name));
  if (missing.length > 0) throw new ScriptError("API", `TypeDoc made no page of ${missing.join(", ")}.`);
  writeFileSync(
    join(out, "index.md"),
    `# API\n\nMade of the declarations that the package ships. Functions whose first argument is a tensor are its methods too: \`dx.relu(x)\` is \`x.relu()\`.\n\n${there
      .map((g) => `## ${g.text}\n\n${g.items.map((i) => `- [${i.text}](.${i.link.slice(4)}.md)`).join("\n")}\n`)
      .join("\n")}`,
  );
  return there;
}
