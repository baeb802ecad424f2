// @ts-nocheck: what it reads (a parser's tree, facts in JSON, a test runner's tasks) has no types here.
// What the families of src/ops export and for whom, read from their sources: see docs/architecture.md, "To add an operation".
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parseSync } from "rolldown/utils";
import { ScriptError, at } from "../tools/project.ts";

/** Parts that make up the methods; they are no exports of the package. */
const parts = ["methods", "inPlaceMethods", "overloaded"];
const isFamily = (name) =>
  name.endsWith(".ts") && !name.endsWith(".generated.ts") && !["index.ts", "methods.ts", "wiring.ts"].includes(name);

const refuse = (file, what) => {
  throw new ScriptError("FAMILY", `src/ops/${file}: ${what}`, "docs/architecture.md says what a family states.");
};

/** "@name var" → "var"; "@functional" → ""; null without the tag. */
const tag = (comment, name) => new RegExp(`@${name}\\b((?: +\\w+)*)`).exec(comment)?.[1].trim() ?? null;

function declared(file, node) {
  const d = node.declaration;
  if (d === null) refuse(file, "a family exports declarations, no lists of names.");
  const isType = d.type === "TSInterfaceDeclaration" || d.type === "TSTypeAliasDeclaration";
  const names = d.type === "VariableDeclaration" ? d.declarations.map((v) => v.id.name) : [d.id.name];
  return names.map((name) => ({ name, isType, declaration: d }));
}

/** The keys of `export const methods = { … }`, each with the expression behind it. */
function entriesOf(file, declaration, part) {
  const [{ init }] = declaration.declarations;
  if (init.type !== "ObjectExpression") refuse(file, `${part} is an object with the methods' names.`);
  return init.properties.map((p) =>
    p.type === "Property" && p.key.type === "Identifier" ? { name: p.key.name, value: p.value } : refuse(file, `${part} spreads.`),
  );
}

/** One file: { file, name, namespace, exports: [{ name, as, isType, functional }], parts: { methods: [names], … }, docs: { name: comment }, classes: [names], methods: { name: expression }, hasSamples }. */
export function readFamily(file, text) {
  const { program, comments, errors } = parseSync(file, text, { lang: "ts" });
  if (errors.length > 0) refuse(file, errors[0].message);
  const docs = comments.filter((c) => c.type === "Block" && c.value.startsWith("*"));
  const head = docs[0]?.start === 0 ? docs[0] : undefined;
  const ofAll = (name) => (head === undefined ? null : tag(head.value, name));
  const family = {
    file,
    name: file.slice(0, -3).replace(/[-/]([a-z0-9])/g, (_, c) => c.toUpperCase()),
    namespace: ofAll("namespace"),
    exports: [],
    parts: {},
    docs: {},
    classes: [],
    methods: {},
    hasSamples: false,
  };
  for (const node of program.body) {
    if (node.type === "ExportAllDeclaration" || node.type === "ExportDefaultDeclaration")
      refuse(file, "a family exports declarations only.");
    if (node.type !== "ExportNamedDeclaration") continue;
    const doc = docs.findLast((c) => c !== head && c.end <= node.start && text.slice(c.end, node.start).trim() === "")?.value ?? "";
    for (const { name, isType, declaration } of declared(file, node)) {
      if (name === "samples") {
        family.hasSamples = true;
        continue;
      }
      if (parts.includes(name)) {
        const entries = entriesOf(file, declaration, name);
        family.parts[name] = entries.map((m) => m.name);
        Object.assign(family.methods, Object.fromEntries(entries.map((m) => [m.name, m.value])));
        continue;
      }
      if (
        family.namespace !== null ||
        [ofAll("package"), ofAll("internal"), tag(doc, "package"), tag(doc, "internal")].some((t) => t !== null)
      )
        continue;
      // The signatures of an overloaded function; the first has the tags.
      if (family.exports.some((e) => e.name === name)) continue;
      const as = tag(doc, "name") ?? name;
      const functional = isType ? null : (tag(doc, "functional") ?? ofAll("functional"));
      if (doc !== "") family.docs[name] = `/*${doc}*/`;
      if (declaration.type === "ClassDeclaration") family.classes.push(name);
      family.exports.push({ name, as, isType, functional: functional === null ? [] : functional === "" ? [as] : functional.split(/ +/) });
    }
  }
  return family;
}

/** All families, by file. Two that claim one name are refused. */
export function readFamilies() {
  const folder = at("src", "ops");
  const files = readdirSync(folder, { recursive: true }).map((name) => name.replaceAll("\\", "/"));
  const families = files
    .filter((name) => isFamily(basename(name)))
    .toSorted()
    .map((file) => readFamily(file, readFileSync(join(folder, file), "utf8")));
  const claims = [
    ["export", (f) => (f.namespace === null ? f.exports.map((e) => e.as) : [f.namespace])],
    ["function of nn.functional", (f) => f.exports.flatMap((e) => e.functional)],
    ["method", (f) => Object.values(f.parts).flat()],
  ];
  for (const [what, namesOf] of claims) {
    const owners = new Map();
    for (const family of families)
      for (const name of namesOf(family)) {
        if (owners.has(name)) refuse(family.file, `the ${what} ${name} is src/ops/${owners.get(name)}'s already.`);
        owners.set(name, family.file);
      }
  }
  return families;
}
