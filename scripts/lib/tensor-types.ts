// The methods of tensors as members with comments: the sources declare them as mapped types over objects of functions.
import type { PublicTypes } from "./public-types.ts";
import { begun, nameOf, nodeOf, nodesOf, typeOfConst, type Member, type Members, type Space, type TypeNode } from "./types-file.ts";

/** A signature without its first parameter, and with another result: "(other: Tensor): Tensor". */
function methodText(
  types: PublicTypes,
  fn: TypeNode,
  from: Space,
  { drops, result }: { readonly drops: number; readonly result?: string },
): string {
  const { file } = types;
  const params = nodesOf(fn.params).slice(drops);
  const generics = nodeOf(fn.typeParameters);
  const written = params.map((p) => types.write(p, from)).join(", ");
  const own = nodeOf(nodeOf(fn.returnType)?.typeAnnotation);
  const returned = result ?? (own === null ? "void" : types.write(own, from));
  return `${generics === null ? "" : file.edited(generics.start, generics.end, types.edits(generics, from))}(${written}): ${returned}`;
}

const isFunction = ({ type }: TypeNode): boolean =>
  type === "TSFunctionType" || type === "TSDeclareFunction" || type === "TSMethodSignature";

/** The functions behind `name: typeof f`, `name: (x: T) => R` or `name(x: T): R`, and their comment. */
function functionsOf(types: PublicTypes, member: TypeNode): { readonly doc: string; readonly nodes: readonly TypeNode[] } {
  const doc = types.file.docOf(member);
  if (member.type === "TSMethodSignature") return { doc, nodes: [member] };
  const type = nodeOf(nodeOf(member.typeAnnotation)?.typeAnnotation);
  if (type?.type === "TSFunctionType") return { doc, nodes: [type] };
  const target = type?.type === "TSTypeQuery" ? nameOf(type.exprName) : "";
  if (target === "") throw new Error(`The method ${nameOf(member.key)} is no function`);
  const { nodes } = types.item(types.resolve(target));
  const found = nodes.map((n) => typeOfConst(n) ?? n).filter(isFunction);
  return { doc: doc || types.doc(target), nodes: found };
}

/** The members of `typeof methods & { … }`. */
function literalMembers(types: PublicTypes, type: TypeNode): readonly TypeNode[] {
  switch (type.type) {
    case "TSIntersectionType":
      return nodesOf(type.types).flatMap((t) => literalMembers(types, t));
    case "TSTypeLiteral":
      return nodesOf(type.members);
    case "TSTypeReference":
      return literalMembers(types, nodeOf(types.item(nameOf(type.typeName)).nodes[0]!.typeAnnotation)!);
    case "TSTypeQuery":
      return literalMembers(types, typeOfConst(types.item(nameOf(type.exprName)).nodes[0]!)!);
    default:
      throw new Error(`Methods are listed by an object's type, not ${type.type}`);
  }
}

/** The names in a union of literals, or in `(typeof LIST)[number]`. */
function listed(types: PublicTypes, type: TypeNode): readonly string[] {
  if (type.type === "TSTypeReference") return listed(types, nodeOf(types.item(nameOf(type.typeName)).nodes[0]!.typeAnnotation)!);
  if (type.type === "TSUnionType") return nodesOf(type.types).map((t) => nameOf(t.literal));
  let query = nodeOf(type.objectType);
  while (query?.type === "TSParenthesizedType") query = nodeOf(query.typeAnnotation);
  const tuple = typeOfConst(types.item(nameOf(query?.exprName)).nodes[0]!);
  const inner = tuple?.type === "TSTypeOperator" ? nodeOf(tuple.typeAnnotation) : tuple;
  return nodesOf(inner?.elementTypes).map((t) => nameOf(t.literal));
}

/** The members that an interface takes over from what it extends. */
function inherited(types: PublicTypes, node: TypeNode, docs: ReadonlyMap<string, string>, of: Members): Members {
  return nodesOf(node.extends).flatMap((base): Members => {
    const alias = nameOf(base.expression);
    const type = nodeOf(types.item(alias).nodes[0]!.typeAnnotation)!;
    return (type.type === "TSIntersectionType" ? nodesOf(type.types) : [type]).flatMap((mapped) =>
      membersOf(types, alias, mapped, docs, of),
    );
  });
}

/** The members of a mapped type. */
function membersOf(types: PublicTypes, alias: string, mapped: TypeNode, docs: ReadonlyMap<string, string>, of: Members): Members {
  const constraint = nodeOf(mapped.constraint)!;
  if (constraint.type === "TSTypeOperator")
    return literalMembers(types, nodeOf(constraint.typeAnnotation)!).map((member) => {
      const name = nameOf(member.key);
      const { doc: there, nodes } = functionsOf(types, member);
      const real = of.find((m) => m.name === name)?.doc ?? "";
      const known =
        docs.get(name) ||
        there ||
        docs.get(name.replace(/_$/, "")) ||
        types.docOfExport(name.replace(/_$/, "")) ||
        (real && begun("Of complex numbers:", real));
      const doc = alias.startsWith("InPlace")
        ? begun(
            `${name.slice(0, -1)}() in place: the tensor takes its value, which must have the tensor's shape and dtype. Returns the tensor.`,
            known,
          )
        : known;
      return { name, doc, texts: (from) => nodes.map((fn) => methodText(types, fn, from, { drops: 1 })) };
    });
  const result = nodeOf(nodeOf(nodeOf(mapped.typeAnnotation)?.returnType)?.typeAnnotation)!;
  return listed(types, constraint).map((name) => {
    const same = of.find((m) => m.name === name);
    if (same === undefined) throw new Error(`Tensors have no method ${name}`);
    return {
      name,
      doc: begun("Of both parts alike:", same.doc),
      texts: (from) => same.texts(from).map((text) => `${text.slice(0, resultAt(text))}: ${types.write(result, from)}`),
    };
  });
}

/** Where the result of "(a: (x: T) => U): R" begins: behind the parenthesis that closes the first one. */
function resultAt(text: string): number {
  let depth = 0;
  for (let i = text.indexOf("("); i < text.length; i++) {
    if ("([{".includes(text[i]!)) depth++;
    else if (")]}".includes(text[i]!) && --depth === 0) return i + 1;
  }
  throw new Error(`${text} has no result`);
}

/** Methods that the interface itself declares. */
function declared(types: PublicTypes, node: TypeNode): Members {
  const names = new Map<string, TypeNode[]>();
  for (const m of nodesOf(nodeOf(node.body)?.body))
    if (m.type === "TSMethodSignature" && nameOf(m.key) !== "") names.set(nameOf(m.key), [...(names.get(nameOf(m.key)) ?? []), m]);
  return [...names].map(([name, nodes]) => ({
    name,
    doc: nodes.map((n) => types.file.docOf(n)).find((d) => d !== "") ?? "",
    texts: (from) => nodes.map((n) => methodText(types, n, from, { drops: 0 })),
  }));
}

/** The members of tensors and complex tensors, by the classes' names. docs: comments of methods in the sources, by class and method. */
export function tensorMembers(types: PublicTypes, docs: ReadonlyMap<string, ReadonlyMap<string, string>>): ReadonlyMap<string, Members> {
  const members = new Map<string, Members>();
  const own: Member[] = [];
  for (const name of ["Tensor", "ComplexTensor"]) {
    const interfaces = types.item(name).nodes.filter((n) => n.type === "TSInterfaceDeclaration");
    const there = interfaces.flatMap((n) => declared(types, n));
    const taken = interfaces
      .flatMap((n) => inherited(types, n, docs.get(name) ?? new Map(), own))
      .filter((m) => !there.some((t) => t.name === m.name));
    own.push(...taken, ...there);
    members.set(name, taken);
  }
  return members;
}
