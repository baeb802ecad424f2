// The published declarations, which a user's editor shows. Rolldown's one flat file has names such as `Linear$1` and
// `nn_generated_d_exports`, and methods whose comments are lost; here namespaces hold their own declarations under their public names.
import {
  begun,
  listOf,
  membersText,
  nameOf,
  nodeOf,
  nodesOf,
  typeOfConst,
  visit,
  type Edit,
  type Item,
  type Members,
  type Space,
  type TypeNode,
  type TypesFile,
} from "./types-file.ts";

/** Words that name no function. */
const reserved = new Set(["export", "var", "with", "in", "new", "delete", "default", "switch", "case"]);
const plain = (name: string): string => name.replace(/\$\d*$/, "");

/** Positions of a layer's arguments by their names: those that it requires, and others that are no option. */
type Positions = Readonly<Record<"needed" | "others", readonly (readonly [name: string, position: number])[]>>;

/** `MadeByName<typeof linear, { inFeatures: 0 }, …>`: what is named first, and where its arguments lie; null for other types. */
function byName(type: TypeNode | null): { readonly of: TypeNode; readonly positions: Positions } | null {
  if (type?.type !== "TSTypeReference" || !/^(Made|Class)ByName\b/.test(nameOf(type.typeName))) return null;
  const [of, needed, others] = nodesOf(nodeOf(type.typeArguments)?.params);
  const positionsIn = (literal: TypeNode | undefined): (readonly [string, number])[] =>
    nodesOf(literal?.members).map((m) => {
      const position = nodeOf(nodeOf(m.typeAnnotation)?.typeAnnotation);
      return [nameOf(m.key), Number(nodeOf(position?.literal)?.value)] as const;
    });
  return { of: of!, positions: { needed: positionsIn(needed), others: positionsIn(others) } };
}

export class PublicTypes {
  /** Layers that take their arguments by name too: by the flat file's names of their functions and classes. */
  readonly #positions = new Map<string, Positions>();
  readonly file: TypesFile;
  readonly root: Space;
  readonly #docs: ReadonlyMap<string, string>;
  /** Where a class, interface or type is declared: its space, and its name there. */
  readonly #homes = new Map<string, { readonly space: Space; readonly name: string }>();
  /** Names of the flat file that are not exported, in the order in which they were met. */
  readonly #internal: string[] = [];
  /** Namespaces of classes that have a global class's name. */
  readonly #apart: Space[] = [];
  readonly #aliases = new Map<string, { readonly path: string; readonly isType: boolean }>();
  readonly #members: ReadonlyMap<string, Members>;

  /** docs: comments of namespaces, by the flat file's name. members: those that classes get instead of what they extend. */
  constructor(file: TypesFile, docs: ReadonlyMap<string, string>, members: (types: PublicTypes) => ReadonlyMap<string, Members>) {
    this.file = file;
    this.#docs = docs;
    this.root = this.#space("", null, file.exported);
    this.#settle(this.root);
    this.#members = members(this);
  }

  item(name: string): Item {
    const found = this.file.items.get(name);
    if (found === undefined) throw new Error(`The bundled types have no ${name}`);
    return found;
  }

  /** The name that a name stands for: `declare const add: typeof add$1` is add$1. */
  resolve(name: string): string {
    const item = this.file.items.get(name);
    const [first] = item?.nodes ?? [];
    const type = first === undefined ? null : typeOfConst(first);
    const named = byName(type);
    const query = named?.of ?? type;
    const target = query?.type === "TSTypeQuery" ? nodeOf(query.exprName) : null;
    if (target?.type !== "Identifier" || !this.file.items.has(nameOf(target))) return name;
    const resolved = this.resolve(nameOf(target));
    if (named !== null) this.#positions.set(resolved, named.positions);
    return resolved;
  }

  #space(path: string, outer: Space | null, entries: Space["entries"]): Space {
    const space: Space = { path, outer, entries, inner: new Map(), types: new Map() };
    for (const [name, local] of entries) {
      const list = this.#listOf(local);
      if (list !== null) space.inner.set(name, this.#space(path === "" ? name : `${path}.${name}`, space, list));
    }
    return space;
  }

  /** What a namespace of the flat file exports; null for another name. */
  #listOf(local: string): Space["entries"] | null {
    const node = this.file.items.get(local)?.nodes[0];
    if (node?.type !== "TSModuleDeclaration") return null;
    return nodesOf(nodeOf(node.body)?.body).flatMap(listOf);
  }

  /** Every type is declared in the first space that exports it, the outermost before those inside. */
  #settle(root: Space): void {
    const waiting = [root];
    for (let space = waiting.shift(); space !== undefined; space = waiting.shift()) {
      for (const [name, local] of space.entries) {
        const target = this.resolve(local);
        if (space.inner.has(name) || (!this.#isType(target) && this.#homes.has(target))) continue;
        if (space === root && this.file.globals.has(name)) {
          // Declared here it would hide the global one.
          const apart: Space = {
            path: "random",
            outer: root,
            entries: [[name, local]],
            inner: new Map(),
            types: new Map([[name, target]]),
          };
          this.#apart.push(apart);
          this.#homes.set(target, { space: apart, name });
        } else if (!this.#homes.has(target)) {
          this.#homes.set(target, { space, name: reserved.has(name) ? plain(target) : name });
          space.types.set(name, target);
        } else if (this.#homes.get(target)!.space !== space) space.types.set(name, target);
      }
      waiting.push(...space.inner.values());
    }
  }

  #isType(name: string): boolean {
    return this.item(name).nodes.some((n) => ["ClassDeclaration", "TSInterfaceDeclaration", "TSTypeAliasDeclaration"].includes(n.type));
  }

  /** How a name of the flat file is written inside a space. */
  textOf(name: string, from: Space): string {
    const target = this.resolve(name);
    if (!this.#homes.has(target)) this.#admit(target);
    const home = this.#homes.get(target)!;
    for (let space: Space | null = from; space !== null; space = space.outer)
      if (space === home.space && !this.#isShadowed(home.name, from, space, target)) return home.name;
    const path = home.space.path === "" ? home.name : `${home.space.path}.${home.name}`;
    const [first = ""] = path.split(".");
    return this.#isShadowed(first, from, this.root, target) ? this.#aliasOf(path, target) : path;
  }

  /** Another name of a type, for where something else has its own. */
  #aliasOf(path: string, target: string): string {
    if (this.item(target).nodes.some((n) => n.type === "ClassDeclaration" || nodeOf(n.typeParameters) !== null))
      throw new Error(`${path} cannot be named where something else has the same name`);
    const name = path
      .replace(/^(.*\.)?(\w)/, (_, __, c: string) => `outer${c.toUpperCase()}`)
      .replace(/^o/, this.#isType(target) ? "O" : "o");
    this.#aliases.set(name, { path, isType: this.#isType(target) });
    return name;
  }

  #isShadowed(name: string, from: Space, home: Space, target: string): boolean {
    for (let space: Space | null = from; space !== null && space !== home; space = space.outer)
      if (space.entries.some(([n, local]) => n === name && this.resolve(local) !== target)) return true;
    return false;
  }

  /** A name that is not exported is declared at the top, where nobody outside sees it. */
  #admit(target: string): void {
    const taken = new Set([
      ...this.root.entries.map(([name]) => name),
      ...[...this.#homes.values()].filter((h) => h.space === this.root).map((h) => h.name),
    ]);
    const base = plain(target);
    let name = base;
    for (let i = 2; taken.has(name) || this.file.globals.has(name); i++) name = `${base}${i}`;
    this.#homes.set(target, { space: this.root, name });
    this.#internal.push(target);
  }

  /** The edits of a node for a space: names, and parameters that are taken apart. */
  edits(node: TypeNode, from: Space): readonly Edit[] {
    const edits: Edit[] = [];
    visit(
      node,
      ({ name, start, end }) => {
        if (this.file.items.has(name)) edits.push({ start, end, text: this.textOf(name, from) });
      },
      (pattern) => {
        const last = nodesOf(pattern.properties).at(-1);
        const end = this.file.text.indexOf("}", last?.end ?? pattern.start) + 1;
        edits.push({ start: pattern.start, end, text: "options" });
      },
    );
    return edits;
  }

  write(node: TypeNode, from: Space, start = node.start, more: readonly Edit[] = []): string {
    return this.file.edited(start, node.end, [...this.edits(node, from), ...more]);
  }

  /** The signatures of a function, from its type parameters on: "<T>(x: T): T", each with its own comment. */
  signatures(name: string, from: Space): readonly { readonly doc: string; readonly text: string; readonly node: TypeNode }[] {
    const target = this.resolve(name);
    const positions = this.#positions.get(target);
    const own = this.#ownSignatures(target, from);
    const [first] = own;
    if (positions === undefined || first === undefined) return own;
    const params = nodesOf(first.node.params);
    const result = this.write(nodeOf(nodeOf(first.node.returnType)!.typeAnnotation)!, from);
    return [...own, { ...first, text: `(${this.#named(params, positions, from)}): ${result}` }];
  }

  /** A parameter that has all arguments by name. */
  #named(params: readonly TypeNode[], { needed, others }: Positions, from: Space): string {
    const typeOf = (position: number): string => this.write(nodeOf(nodeOf(params[position]!.typeAnnotation)!.typeAnnotation)!, from);
    const fields = [...needed.map((p) => [...p, ""] as const), ...others.map((p) => [...p, "?"] as const)].map(
      ([name, position, mark]) => `\n/** As the argument of that name. */\nreadonly ${name}${mark}: ${typeOf(position)};`,
    );
    const last = params.length - 1;
    const options = [...needed, ...others].some(([, position]) => position === last) ? "" : ` & ${typeOf(last)}`;
    return `args: {${fields.join("")}\n}${options}`;
  }

  #ownSignatures(target: string, from: Space): readonly { readonly doc: string; readonly text: string; readonly node: TypeNode }[] {
    return this.item(target).nodes.flatMap((node) => {
      const doc = this.file.docOf(node);
      if (node.type === "TSDeclareFunction") {
        const { end } = nodeOf(node.id)!;
        return [{ doc, text: this.write(node, from, end).replace(/;$/, ""), node }];
      }
      const type = typeOfConst(node);
      return type?.type === "TSFunctionType" ? [{ doc, text: this.functionType(type, from), node: type }] : [];
    });
  }

  /** `(x: T) => R` as "(x: T): R". */
  functionType(type: TypeNode, from: Space): string {
    const result = nodeOf(type.returnType)!;
    const arrow = this.file.text.lastIndexOf("=>", nodeOf(result.typeAnnotation)!.start);
    return this.write(type, from, type.start, [{ start: arrow, end: arrow + 2, text: ":" }])
      .replace(/ : /, ": ")
      .replace(/\) :/, "):");
  }

  /** The comment of what a name stands for, or its own. */
  doc(local: string): string {
    const own = this.file.docOfItem(this.item(local));
    if (own !== "") return this.#expanded(own);
    const target = this.item(this.resolve(local));
    const there = this.file.docOfItem(target);
    if (there !== "") return this.#expanded(there);
    // What a function makes is what there is to say of it.
    const type = typeOfConst(target.nodes[0]!);
    const result = nodeOf(nodeOf(type?.returnType)?.typeAnnotation);
    const made = result?.type === "TSTypeReference" ? nameOf(result.typeName) : "";
    return this.file.items.has(made) && this.item(made).nodes[0]!.type === "ClassDeclaration" ? this.doc(made) : "";
  }

  /** The comment of what the package exports under a name, or "". */
  docOfExport(name: string): string {
    const local = this.#exportNamed(this.root, name);
    return local === undefined ? "" : this.doc(local);
  }

  /** "relu. Reference: torch.nn.ReLU." with what relu() says: a comment that names a function alone says too little. */
  #expanded(doc: string): string {
    const [, name = "", reference = ""] = /^\/\*\*\s*(?:\*\s*)?(?:linalg\.)?(\w+)(?:\(\))?\. (Reference: [^*]*?)\s*\*\/$/.exec(doc) ?? [];
    const local = this.#exportNamed(this.root, name) ?? this.#exportNamed(this.root.inner.get("linalg"), name);
    const said = local === undefined ? "" : this.file.docOfItem(this.item(this.resolve(local)));
    return said === "" || said === doc ? doc : begun(`${name}(), ${reference.replace("Reference: ", "as ")}`, said);
  }

  #exportNamed(space: Space | undefined, name: string): string | undefined {
    return space?.entries.find(([n]) => n === name)?.[1];
  }

  #functionText(name: string, local: string, space: Space): string {
    const doc = this.doc(local);
    const own = reserved.has(name) ? plain(this.resolve(local)) : name;
    const lines = this.signatures(local, space).map((s, i) => {
      const comment = i === 0 || s.doc === "" ? doc : s.doc;
      return `${comment === "" ? "" : `${comment}\n`}${own === name ? "export " : ""}declare function ${own}${s.text};`;
    });
    return `${lines.join("\n")}${own === name ? "" : `\nexport { ${own} as ${name} };`}`;
  }

  #typeText(name: string, target: string, space: Space, isExported: boolean): string {
    const { nodes } = this.item(target);
    const members = this.#members.get(target);
    return nodes
      .map((node, i) => {
        const id = nodeOf(node.id)!;
        const edits: Edit[] = [{ start: id.start, end: id.end, text: name }, ...this.#memberDocs(node)];
        const positions = this.#positions.get(target);
        const constructor = nodesOf(nodeOf(node.body)?.body).find((m) => m.kind === "constructor");
        if (positions !== undefined && constructor !== undefined) {
          const params = nodesOf(nodeOf(constructor.value)?.params);
          const said = this.#expanded(this.file.docOf(node));
          edits.push({ start: constructor.start, end: constructor.start, text: `${said}\n  ` });
          edits.push({
            start: constructor.end,
            end: constructor.end,
            text: `\n  ${said}\n  constructor(${this.#named(params, positions, space)});`,
          });
        }
        const isOfClass = members !== undefined && node.type === "TSInterfaceDeclaration" && nodesOf(node.extends).length > 0;
        if (isOfClass) {
          const [first] = nodesOf(node.extends);
          const body = nodeOf(node.body)!;
          const end = nodesOf(node.extends).at(-1)!.end;
          edits.push({ start: this.file.text.lastIndexOf("extends", first!.start), end, text: "" });
          edits.push({ start: body.start + 1, end: body.start + 1, text: `\n${membersText(members, space)}` });
        }
        const doc = this.#expanded(this.file.docOf(node) || (i === 0 ? this.file.docOfItem(this.item(target)) : ""));
        // What is taken over is written out: it is named nowhere.
        const own = isOfClass ? this.edits(nodeOf(node.body)!, space) : this.edits(node, space);
        const text = this.file.edited(node.start, node.end, [...own, ...edits]).replace(/^declare /, "");
        return `${doc === "" ? "" : `${doc}\n`}${isExported ? "export " : ""}declare ${text}`;
      })
      .join("\n");
  }

  /** Comments for members that have none: an overload has the first one's, a layer's forward() the class's. */
  #memberDocs(node: TypeNode): readonly Edit[] {
    const edits: Edit[] = [];
    const docs = new Map<string, string>(node.type === "ClassDeclaration" ? [["forward", this.#expanded(this.file.docOf(node))]] : []);
    for (const member of nodesOf(nodeOf(node.body)?.body)) {
      const name = nameOf(member.key);
      if (name === "" || (member.type !== "TSMethodSignature" && member.type !== "MethodDefinition")) continue;
      const own = this.file.docOf(member);
      const first = docs.get(name);
      if (own !== "") docs.set(name, own);
      else if (first) edits.push({ start: member.start, end: member.start, text: `${first}\n  ` });
    }
    return edits;
  }

  #spaceText(space: Space): string {
    const lines: string[] = [];
    for (const [name, local] of space.entries) {
      const target = this.resolve(local);
      const inner = space.inner.get(name);
      if (inner !== undefined)
        lines.push(`${this.#docs.get(local) ?? ""}\nexport declare namespace ${name} {\n${this.#spaceText(inner)}\n}`);
      else if (this.#isType(target)) {
        const home = this.#homes.get(target)!;
        if (this.#apart.includes(home.space))
          lines.push(`import Own${name} = ${home.space.path}.${name};\nexport { Own${name} as ${name} };`);
        else if (home.space === space && home.name === name) lines.push(this.#typeText(name, target, space, true));
        else lines.push(`export { ${home.name}${home.name === name ? "" : ` as ${name}`} };`);
      } else if (this.signatures(local, space).length > 0) lines.push(this.#functionText(name, local, space));
      else lines.push(this.#constText(name, local, target, space));
    }
    return space === this.root ? lines.join("\n") : lines.join("\n").replaceAll(/^(export )?declare /gm, "$1");
  }

  #constText(name: string, local: string, target: string, space: Space): string {
    const [node] = this.item(target).nodes;
    const type = typeOfConst(node!);
    if (type === null) throw new Error(`${local} is nothing that can be exported`);
    const doc = this.doc(local);
    return `${doc === "" ? "" : `${doc}\n`}export declare const ${name}: ${this.write(type, space)};`;
  }

  /** The whole file. */
  print(): string {
    const exported = this.#spaceText(this.root);
    const hidden: string[] = [];
    // Each may need more of them.
    for (let i = 0; i < this.#internal.length; i++) {
      const target = this.#internal[i]!;
      const { name } = this.#homes.get(target)!;
      if (this.#isType(target)) hidden.push(this.#typeText(name, target, this.root, false));
      else if (this.signatures(target, this.root).length > 0)
        for (const s of this.signatures(target, this.root)) hidden.push(`declare function ${name}${s.text};`);
      else hidden.push(`declare const ${name}: ${this.write(typeOfConst(this.item(target).nodes[0]!)!, this.root)};`);
    }
    for (const space of this.#apart)
      for (const [name, target] of space.types)
        hidden.push(
          `declare namespace ${space.path} {\n${this.#typeText(name, target, space, true).replaceAll(/^export declare /gm, "export ")}\n}`,
        );
    for (const [name, { path, isType }] of this.#aliases)
      hidden.push(isType ? `type ${name} = ${path};` : `declare const ${name}: typeof ${path};`);
    const others = this.file.others.map((n) => this.file.slice(n));
    return `${clean([...others, ...hidden, exported].join("\n"))}\nexport {};\n`;
  }
}

/** What comments say to the generators. */
const clean = (text: string): string =>
  text
    .replaceAll(/[ \t]*@(?:alias|functional|package|open|name|namespace)\b(?: +\w+)*(?=\s*(?:\n|\*\/))/g, "")
    .replaceAll(/\n \*[ \t]*\n(?= \*\/)/g, "\n");
