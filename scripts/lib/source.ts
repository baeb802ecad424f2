// A file of src as its syntax tree, with its declarations by name.
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { parseSync, type ESTree, type ParseResult } from "rolldown/utils";
import { at } from "../tools/project.ts";

export type TypeDeclaration = ESTree.TSInterfaceDeclaration | ESTree.TSTypeAliasDeclaration;
/** A file of src, from there, and a name in it. */
export type Origin = readonly [file: string, name: string];

export interface Source {
  readonly file: string;
  readonly text: string;
  readonly program: ESTree.Program;
  readonly comments: ParseResult["comments"];
  readonly types: Map<string, TypeDeclaration>;
  readonly classes: Map<string, ESTree.Class>;
  /** Files that are imported whole, by the name they have here. */
  readonly namespaces: Map<string, string>;
  readonly imports: Map<string, Origin>;
  readonly functions: Map<string, ESTree.Function | ESTree.VariableDeclarator>;
}

const sources = new Map<string, Source>();

export const nameIn = (name: ESTree.ModuleExportName): string => (name.type === "Literal" ? name.value : name.name);
export const relativeTo = (file: string, path: string): string => posix.join(posix.dirname(file), path);

/** The names that a declaration gives. */
export function namesOf(declaration: ESTree.Declaration): readonly string[] {
  if (declaration.type === "VariableDeclaration")
    return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : [];
}

export function source(file: string): Source {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(at("src", file), "utf8");
  const { program, comments } = parseSync(file, text, { lang: "ts" });
  const made: Source = {
    file,
    text,
    program,
    comments,
    types: new Map(),
    classes: new Map(),
    namespaces: new Map(),
    imports: new Map(),
    functions: new Map(),
  };
  sources.set(file, made);
  for (const node of program.body) {
    if (node.type === "ImportDeclaration" && node.source.value.startsWith(".")) readImports(made, node);
    const d = node.type === "ExportNamedDeclaration" ? node.declaration : node;
    if (d?.type === "TSInterfaceDeclaration" || d?.type === "TSTypeAliasDeclaration") made.types.set(d.id.name, d);
    if (d?.type === "ClassDeclaration" && d.id !== null) made.classes.set(d.id.name, d);
    if (d?.type === "FunctionDeclaration" && d.body !== null && d.id !== null) made.functions.set(d.id.name, d);
    if (d?.type === "VariableDeclaration") for (const v of d.declarations) if (v.id.type === "Identifier") made.functions.set(v.id.name, v);
  }
  // An interface of a class's name says more of the class.
  for (const name of made.classes.keys()) made.types.delete(name);
  return made;
}

function readImports(made: Source, node: ESTree.ImportDeclaration): void {
  const from = relativeTo(made.file, node.source.value);
  for (const s of node.specifiers)
    if (s.type === "ImportNamespaceSpecifier") made.namespaces.set(s.local.name, from);
    else if (s.type === "ImportSpecifier") made.imports.set(s.local.name, [from, nameIn(s.imported)]);
}

/** The comment of an exported declaration, with a line's end, or "". */
export function docOf(file: string, name: string): string {
  const { program, comments, text } = source(file);
  const node = program.body.find(
    (n) => n.type === "ExportNamedDeclaration" && n.declaration !== null && namesOf(n.declaration)[0] === name,
  );
  if (node === undefined) throw new Error(`${file}: ${name} is not declared there`);
  const doc = comments.findLast((c) => c.value.startsWith("*") && c.end <= node.start && text.slice(c.end, node.start).trim() === "");
  return doc === undefined ? "" : `/*${doc.value}*/\n`;
}

/** What the comment before a declaration says. */
export function commentOf(file: string, d: ESTree.Span): string {
  const { comments, text } = source(file);
  const start = text.slice(0, d.start).endsWith("export ") ? d.start - "export ".length : d.start;
  return comments.findLast((c) => c.end <= start && text.slice(c.end, start).trim() === "")?.value ?? "";
}

/** The first comment of a file, which says what is in it, or "". */
export function docOfFile(file: string): string {
  const { comments, text } = source(file);
  const [first] = comments.filter((c) => c.type === "Block" && c.value.startsWith("*"));
  return first === undefined || /\bimport\b|\bexport\b/.test(text.slice(0, first.start)) ? "" : `/*${first.value}*/`;
}
