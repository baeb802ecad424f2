// The exports of the families of src/ops, read from their sources: see docs/internals/operations.md, "To add an operation".
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parseSync, type ESTree } from "rolldown/utils";
import { ScriptError, at } from "../tools/project.ts";
import { namesOf } from "./source.ts";

/** Parts that make up the methods; they are no exports of the package. */
const parts = ["methods", "inPlaceMethods", "overloaded"] as const;
export type Part = (typeof parts)[number];

export interface FamilyExport {
  readonly name: string;
  /** The name under which the package has it. */
  readonly as: string;
  readonly isType: boolean;
  /** Its names in nn.functional. */
  readonly functional: readonly string[];
}
export interface Family {
  readonly file: string;
  readonly name: string;
  readonly namespace: string | null;
  readonly exports: FamilyExport[];
  /** Names of methods. */
  readonly parts: Partial<Record<Part, readonly string[]>>;
  /** The autocast lists of functions, by name, also of those that are no exports of the package: the tag @autocast. */
  readonly autocast: Map<string, string>;
  /** Comments by the exports' names. */
  readonly docs: Record<string, string>;
  readonly classes: string[];
  /** The expressions behind the methods' names. */
  readonly methods: Map<string, ESTree.Expression>;
  /** Comments of the methods' names, if any. */
  readonly methodDocs: Map<string, string>;
  hasSamples: boolean;
}

const isPart = (name: string): name is Part => parts.some((part) => part === name);
const isFamily = (name: string): boolean =>
  name.endsWith(".ts") && !name.endsWith(".generated.ts") && !["index.ts", "methods.ts", "wiring.ts", "sample.ts"].includes(name);

const refuse = (file: string, what: string): never => {
  throw new ScriptError("FAMILY", `src/ops/${file}: ${what}`, "docs/internals/operations.md says what a family states.");
};

/** "@name var" → "var"; "@functional" → ""; null without the tag. */
const tag = (comment: string, name: string): string | null => new RegExp(`@${name}\\b((?: +\\w+)*)`).exec(comment)?.[1]?.trim() ?? null;

const autocastLists = ["lower", "float32", "widest", "refused"];
const autocastList = (file: string, list: string): string =>
  autocastLists.includes(list) ? list : refuse(file, `@autocast is one of ${autocastLists.join(", ")}.`);

/** The keys of `export const methods = { … }`, each with the expression behind it. */
function entriesOf(
  file: string,
  declaration: ESTree.Declaration,
  part: Part,
): readonly (readonly [name: string, value: ESTree.Expression, start: number])[] {
  const init = declaration.type === "VariableDeclaration" ? declaration.declarations[0]?.init : null;
  if (init?.type !== "ObjectExpression") return refuse(file, `${part} is an object with the methods' names.`);
  return init.properties.map((p) =>
    p.type === "Property" && p.key.type === "Identifier" ? [p.key.name, p.value, p.start] : refuse(file, `${part} spreads.`),
  );
}

const isTypeOnly = ({ type }: ESTree.Declaration): boolean => type === "TSInterfaceDeclaration" || type === "TSTypeAliasDeclaration";

/** What one file says of itself. */
export function readFamily(file: string, text: string): Family {
  const { program, comments, errors } = parseSync(file, text, { lang: "ts" });
  const [error] = errors;
  if (error !== undefined) refuse(file, error.message);
  const docs = comments.filter((c) => c.type === "Block" && c.value.startsWith("*"));
  const head = docs[0]?.start === 0 ? docs[0] : undefined;
  const ofAll = (name: string): string | null => (head === undefined ? null : tag(head.value, name));
  const family: Family = {
    file,
    name: file.slice(0, -3).replace(/[-/]([a-z0-9])/g, (_, c: string) => c.toUpperCase()),
    namespace: ofAll("namespace"),
    exports: [],
    parts: {},
    autocast: new Map(),
    docs: {},
    classes: [],
    methods: new Map(),
    methodDocs: new Map(),
    hasSamples: false,
  };
  const isInner = family.namespace !== null || ofAll("package") !== null || ofAll("internal") !== null;
  for (const node of program.body) {
    if (node.type === "ExportAllDeclaration" || node.type === "ExportDefaultDeclaration")
      refuse(file, "a family exports declarations only.");
    if (node.type !== "ExportNamedDeclaration") continue;
    const { declaration } = node;
    if (declaration === null) return refuse(file, "a family exports declarations, no lists of names.");
    const doc = docs.findLast((c) => c !== head && c.end <= node.start && text.slice(c.end, node.start).trim() === "")?.value ?? "";
    const isType = isTypeOnly(declaration);
    const list = tag(doc, "autocast");
    if (list !== null) for (const name of namesOf(declaration)) family.autocast.set(name, autocastList(file, list));
    for (const name of namesOf(declaration)) {
      if (name === "samples") family.hasSamples = true;
      else if (isPart(name)) {
        const entries = entriesOf(file, declaration, name);
        family.parts[name] = entries.map(([method]) => method);
        for (const [method, value, start] of entries) {
          family.methods.set(method, value);
          const before = (at: number): string => docs.findLast((c) => c.end <= at && text.slice(c.end, at).trim() === "")?.value ?? "";
          // What is no export has its comment where it is declared.
          const local =
            value.type === "Identifier"
              ? program.body.find((n) => n.type === "VariableDeclaration" && namesOf(n)[0] === value.name)
              : undefined;
          const own = before(start) || (local === undefined ? "" : before(local.start));
          if (own !== "") family.methodDocs.set(method, `/*${own}*/`);
        }
      } else if (!isInner && tag(doc, "package") === null && tag(doc, "internal") === null) {
        // The signatures of an overloaded function; the first has the tags.
        if (family.exports.some((e) => e.name === name)) continue;
        const as = tag(doc, "name") ?? name;
        const functional = isType ? null : (tag(doc, "functional") ?? ofAll("functional"));
        if (doc !== "") family.docs[name] = `/*${doc}*/`;
        if (declaration.type === "ClassDeclaration") family.classes.push(name);
        family.exports.push({ name, as, isType, functional: functional === null ? [] : functional === "" ? [as] : functional.split(/ +/) });
      }
    }
  }
  return family;
}

/** The name of a function with an autocast list in src/ops/exports/autocast.generated.ts. */
export const autocastNameOf = ({ namespace, file }: Family, name: string): string =>
  namespace === null && !file.startsWith("linalg/") ? name : `${namespace ?? "linalg"}${name[0]!.toUpperCase()}${name.slice(1)}`;

/** All families, by file. Two that claim one name are refused. */
export function readFamilies(): readonly Family[] {
  const folder = at("src", "ops");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/"));
  const families = files
    .filter((name) => isFamily(basename(name)))
    .toSorted()
    .map((file) => readFamily(file, readFileSync(join(folder, file), "utf8")));
  const claims: readonly (readonly [string, (f: Family) => readonly string[]])[] = [
    ["export", (f) => (f.namespace === null ? f.exports.map((e) => e.as) : [f.namespace])],
    ["function of nn.functional", (f) => f.exports.flatMap((e) => e.functional)],
    ["method", (f) => Object.values(f.parts).flat()],
  ];
  for (const [what, namesOf] of claims) {
    const owners = new Map<string, string>();
    for (const family of families)
      for (const name of namesOf(family)) {
        if (owners.has(name)) refuse(family.file, `the ${what} ${name} is src/ops/${owners.get(name)}'s already.`);
        owners.set(name, family.file);
      }
  }
  return families;
}
