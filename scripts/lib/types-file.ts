// One file of declarations as rolldown bundles it: its top-level names, their declarations, and references to them in comments.
import { parseSync } from "rolldown/utils";

/** A node of the parser's tree, of which only some fields are asked for. */
export interface TypeNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** The declarations of one name: a class with its interfaces, a function with its overloads. */
export interface Item {
  readonly name: string;
  readonly nodes: TypeNode[];
}

/** A reference to a top-level name or to a global one. */
export interface Reference {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly isValue: boolean;
}

/** A part of the text, replaced. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export const isNode = (value: unknown): value is TypeNode =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
export const nodesOf = (value: unknown): readonly TypeNode[] =>
  Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [];
export const nodeOf = (value: unknown): TypeNode | null => (isNode(value) ? value : null);
/** The name of an identifier, or "" for another node. */
export const nameOf = (value: unknown): string =>
  isNode(value) && (value.type === "Identifier" || value.type === "Literal") ? String(value.name ?? value.value) : "";

/** The names that type parameters of a node declare for what is inside. */
function declaredBy(node: TypeNode): readonly string[] {
  if (node.type === "TSMappedType") return [nameOf(node.key)];
  if (node.type === "TSConditionalType") return inferredIn(node.extendsType);
  const list = nodeOf(node.typeParameters);
  return list === null ? [] : nodesOf(list.params).map((p) => nameOf(p.name));
}

function inferredIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(inferredIn);
  if (!isNode(value)) return [];
  if (value.type === "TSInferType") return [nameOf(nodeOf(value.typeParameter)?.name)];
  return Object.values(value).flatMap(inferredIn);
}

const leftmost = (node: TypeNode): TypeNode => {
  const inner = nodeOf(node.left) ?? nodeOf(node.object);
  return inner === null ? node : leftmost(inner);
};

/** Calls found for each name that a node refers to, and pattern for each parameter that is taken apart. */
export function visit(root: TypeNode, found: (reference: Reference) => void, pattern: (node: TypeNode) => void = () => {}): void {
  const refer = (value: unknown, isValue: boolean, bound: readonly string[]): void => {
    const node = nodeOf(value);
    if (node === null) return;
    const first = leftmost(node);
    if (first.type !== "Identifier" || (!isValue && bound.includes(nameOf(first)))) return;
    found({ name: nameOf(first), start: first.start, end: first.end, isValue: isValue || first !== node });
  };
  const traverse = (value: unknown, outer: readonly string[]): void => {
    if (Array.isArray(value)) for (const each of value) traverse(each, outer);
    if (!isNode(value)) return;
    const bound = [...outer, ...declaredBy(value)];
    switch (value.type) {
      case "TSTypeReference":
        refer(value.typeName, false, bound);
        break;
      case "TSTypeQuery":
        refer(value.exprName, true, bound);
        break;
      case "TSInterfaceHeritage":
      case "TSClassImplements":
        refer(value.expression, false, bound);
        break;
      case "ClassDeclaration":
        refer(value.superClass, true, bound);
        break;
      case "ObjectPattern":
        pattern(value);
        traverse(value.typeAnnotation, bound);
        return;
      default:
    }
    if (value.computed === true) refer(value.key, true, bound);
    for (const [field, inner] of Object.entries(value))
      if (field !== "superClass" && field !== "expression" && field !== "key") traverse(inner, bound);
  };
  traverse(root, []);
}

export class TypesFile {
  readonly text: string;
  readonly items = new Map<string, Item>();
  /** Top-level statements that are no declarations of a name, as they stand. */
  readonly others: TypeNode[] = [];
  /** What the file exports: [public name, name here]. */
  readonly exported: readonly (readonly [name: string, local: string])[];
  /** Names that are declared elsewhere, as Promise is. */
  readonly globals: ReadonlySet<string>;
  readonly #comments: readonly { readonly value: string; readonly start: number; readonly end: number }[];

  constructor(text: string) {
    this.text = text;
    const { program, comments, errors } = parseSync("types.d.ts", text, { lang: "dts" });
    const [error] = errors;
    if (error !== undefined) throw new Error(`The bundled types cannot be read: ${error.message}`);
    this.#comments = comments.filter((c) => c.type === "Block" && c.value.startsWith("*"));
    let exported: readonly (readonly [string, string])[] = [];
    for (const statement of program.body as unknown as readonly TypeNode[]) {
      if (statement.type === "ExportNamedDeclaration") exported = listOf(statement);
      else this.#add(statement);
    }
    this.exported = exported;
    const globals = new Set<string>();
    for (const { nodes } of this.items.values())
      for (const node of nodes)
        visit(node, ({ name }) => {
          if (!this.items.has(name)) globals.add(name);
        });
    this.globals = globals;
  }

  #add(statement: TypeNode): void {
    const id = nodeOf(statement.id) ?? nodeOf(nodesOf(statement.declarations)[0]?.id);
    const name = nameOf(id);
    if (name === "" || statement.global === true || statement.kind === "global") {
      this.others.push(statement);
      return;
    }
    const known = this.items.get(name);
    if (known === undefined) this.items.set(name, { name, nodes: [statement] });
    else known.nodes.push(statement);
  }

  slice(node: TypeNode): string {
    return this.text.slice(node.start, node.end);
  }

  /** The documentation before a node, or "". */
  docOf(node: TypeNode): string {
    const doc = this.#comments.findLast((c) => c.end <= node.start);
    return doc !== undefined && this.text.slice(doc.end, node.start).trim() === "" ? this.text.slice(doc.start, doc.end) : "";
  }

  /** The first comment of an item's declarations. */
  docOfItem({ nodes }: Item): string {
    return nodes.map((n) => this.docOf(n)).find((doc) => doc !== "") ?? "";
  }

  /** The text between two offsets, with the edits inside. */
  edited(start: number, end: number, edits: readonly Edit[]): string {
    let at = start;
    let out = "";
    for (const e of edits.toSorted((a, b) => a.start - b.start)) {
      if (e.start < at || e.end > end) continue;
      out += this.text.slice(at, e.start) + e.text;
      at = e.end;
    }
    return out + this.text.slice(at, end);
  }
}

/** [public name, name here] of `export { a as b }`. */
export const listOf = (statement: TypeNode): readonly (readonly [string, string])[] =>
  nodesOf(statement.specifiers).map((s) => [nameOf(s.exported), nameOf(s.local)] as const);

/** The type of `declare const x: T`. */
export function typeOfConst(node: TypeNode): TypeNode | null {
  const [declarator] = nodesOf(node.declarations);
  return nodeOf(nodeOf(nodeOf(declarator?.id)?.typeAnnotation)?.typeAnnotation);
}

/** A namespace, or the file itself. */
export interface Space {
  /** "", "nn", "nn.functional". */
  readonly path: string;
  readonly outer: Space | null;
  /** Public names with the flat file's. */
  readonly entries: readonly (readonly [name: string, local: string])[];
  readonly inner: Map<string, Space>;
  /** Types and classes that are declared here: by public name, the flat file's. */
  readonly types: Map<string, string>;
}

/** A method: its comment, and its signatures where it stands. */
export interface Member {
  readonly name: string;
  readonly doc: string;
  readonly texts: (from: Space) => readonly string[];
}
export type Members = readonly Member[];

/** The members of a class, each signature with its comment. */
export const membersText = (members: Members, from: Space): string =>
  members
    .flatMap(({ name, doc, texts }) =>
      texts(from).map((text) => `${doc === "" ? "" : `  ${doc.replaceAll("\n", "\n  ")}\n`}  ${name}${text};\n`),
    )
    .join("");

/** The text of a comment. */
const bodyOf = (doc: string): string =>
  doc
    .replace(/^\/\*\*\s*/, "")
    .replace(/\s*\*\/$/, "")
    .replaceAll(/\n\s*\* ?/g, "\n")
    .trim();
/** A comment that begins with a sentence of its own. */
export const begun = (sentence: string, doc: string): string =>
  `/**\n * ${[sentence, ...bodyOf(doc).split("\n")].join("\n * ")}\n */`.replaceAll(/ +\n/g, "\n");
