// TypeScript types of src as data: the source of the checks of arguments.
import { existsSync } from "node:fs";
import type { ESTree } from "rolldown/utils";
import { at } from "../tools/project.ts";
import { camelCase } from "../../src/core/did-you-mean.ts";
import { commentOf, source, type TypeDeclaration } from "./source.ts";

export type Fields = Readonly<Record<string, Schema>>;
export interface Instance {
  readonly kind: "instance";
  readonly file: string;
  readonly name: string;
}
export interface Literal {
  readonly kind: "literal";
  readonly value: string | number | boolean | bigint | null;
}
export interface ObjectSchema {
  readonly kind: "object";
  /** The type that declares it, where one does. */
  readonly typeName?: string;
  readonly fields: Fields;
  /** Other names of fields, with the names that they stand for. */
  readonly aliases?: Readonly<Record<string, string>>;
}
/** What users implement: these fields, whatever else it has. */
export interface Like {
  readonly kind: "like";
  readonly name: string;
  readonly fields: Fields;
}
export interface Listed {
  readonly kind: "array" | "rest" | "iterable" | "record";
  readonly of: Schema;
}
export interface Union {
  readonly kind: "union";
  readonly of: readonly Schema[];
}
export type PlainKind =
  "any" | "tensor" | "dtype" | "data" | "number" | "string" | "boolean" | "bigint" | "null" | "undefined" | "function";
export type Schema = { readonly kind: PlainKind } | Literal | Instance | ObjectSchema | Like | Listed | Union;

export const any: Schema = { kind: "any" };

/** What a schema says of a value, as text: two with the same text are one kind, whatever type declares them. */
export const contentOf = (schema: Schema): string =>
  JSON.stringify(schema, (key, value: unknown) =>
    (key === "typeName" || key === "file") && typeof value === "string" ? undefined : value,
  );
const simple = new Map<ESTree.TSType["type"], PlainKind>([
  ["TSNumberKeyword", "number"],
  ["TSStringKeyword", "string"],
  ["TSBooleanKeyword", "boolean"],
  ["TSBigIntKeyword", "bigint"],
  ["TSNullKeyword", "null"],
  ["TSUndefinedKeyword", "undefined"],
  ["TSFunctionType", "function"],
]);

/** Names that mean one thing wherever they stand. */
const named = new Map<string, Schema>([
  ["Tensor", { kind: "tensor" }],
  ["DType", { kind: "dtype" }],
  ["TypedArray", { kind: "data" }],
  ["ArrayBufferView", { kind: "data" }],
  ["Uint8Array", { kind: "data" }],
  ["AbortSignal", { kind: "like", name: "Signal", fields: { aborted: { kind: "boolean" }, throwIfAborted: { kind: "function" } } }],
]);

type Bound = ReadonlyMap<string, Schema>;
/** What the parameters of the type that is being read stand for. */
let parameters: Bound = new Map();

/** Reads while the parameters of a type stand for these. */
export function within<T>(bound: Bound, read: () => T): T {
  const outer = parameters;
  parameters = bound;
  try {
    return read();
  } finally {
    parameters = outer;
  }
}

/** As within(), in addition to the type parameters that are known already. */
export const withinAlso = <T>(bound: Bound, read: () => T): T => within(new Map([...parameters, ...bound]), read);

/** Whether a word is another one's in PyTorch's spelling: "exp_range" for "expRange". */
const isSpelling = (s: Schema, others: readonly Schema[]): boolean => {
  if (s.kind !== "literal" || typeof s.value !== "string" || !/[_-]/.test(s.value)) return false;
  const word = camelCase(s.value);
  return others.some((other) => other.kind === "literal" && other.value === word);
};

function union(list: readonly Schema[]): Schema {
  const flat = list.flatMap((s) => (s.kind === "union" ? s.of : [s]));
  if (flat.some((s) => s.kind === "any")) return any;
  const all = [...new Map(flat.map((s) => [contentOf(s), s])).values()].filter((s) => !isSpelling(s, flat));
  // An object with more fields is one with fewer, too.
  const isNarrower = (a: Schema, b: Schema): boolean =>
    a !== b &&
    a.kind === "like" &&
    b.kind === "like" &&
    Object.entries(b.fields).every(([k, s]) => a.fields[k] !== undefined && contentOf(a.fields[k]) === contentOf(s));
  const each = all.filter((a) => !all.some((b) => isNarrower(a, b)));
  const [first] = each;
  return each.length === 1 && first !== undefined ? first : { kind: "union", of: each };
}

/** Fields of several object types as those of one; those of a class are the class. */
function merged(list: readonly Schema[]): Schema {
  const [instance, ...others] = list.filter((s) => s.kind === "instance");
  if (instance !== undefined && others.length === 0 && list.every((s) => ["object", "instance", "function"].includes(s.kind)))
    return instance;
  const fields: Record<string, Schema> = {};
  const aliases: Record<string, string> = {};
  for (const s of list) {
    if (s.kind !== "object") return any;
    Object.assign(fields, s.fields);
    Object.assign(aliases, s.aliases);
  }
  return objectOf(fields, aliases);
}

/** An object's schema; of aliases those whose fields are there. */
function objectOf(fields: Fields, aliases: Readonly<Record<string, string>>): ObjectSchema {
  const kept = Object.entries(aliases).filter(([name, of]) => !Object.hasOwn(fields, name) && Object.hasOwn(fields, of));
  return kept.length === 0 ? { kind: "object", fields } : { kind: "object", fields, aliases: Object.fromEntries(kept) };
}

/** The field of which another one is a second name: "@deprecated Use eps." or "@alias axis" in its comment. */
const aliasOf = (comment: string): string | undefined => /@(?:deprecated Use|alias) (\w+)/.exec(comment)?.[1];

function members(file: string, list: readonly ESTree.TSSignature[], open: readonly string[]): Schema {
  if (list.some((m) => m.type === "TSCallSignatureDeclaration")) return { kind: "function" };
  const fields: Record<string, Schema> = {};
  const aliases: Record<string, string> = {};
  for (const m of list) {
    if ((m.type !== "TSMethodSignature" && m.type !== "TSPropertySignature") || m.key.type !== "Identifier") return any;
    const of = aliasOf(commentOf(file, m));
    if (of !== undefined) {
      aliases[m.key.name] = of;
      continue;
    }
    const type: Schema = m.type === "TSMethodSignature" ? { kind: "function" } : schema(file, m.typeAnnotation?.typeAnnotation, open);
    fields[m.key.name] = m.optional ? orNothing(type) : type;
  }
  return objectOf(fields, aliases);
}

/** What an element of a tuple holds: of a rest, the elements of its array. */
function elementOf(t: ESTree.TSTupleElement): ESTree.TSType | null {
  if (t.type === "TSNamedTupleMember") return elementOf(t.elementType);
  if (t.type === "TSRestType") return t.typeAnnotation.type === "TSArrayType" ? t.typeAnnotation.elementType : null;
  return t.type === "TSOptionalType" ? null : t;
}

function ofLiteral(literal: ESTree.TSLiteral): Schema {
  if (literal.type === "Literal") return { kind: "literal", value: literal.value };
  if (literal.type !== "UnaryExpression" || literal.argument.type !== "Literal") return any;
  const { value } = literal.argument;
  return typeof value === "number" ? { kind: "literal", value: -value } : any;
}

/** What a type says of a value. open: the types that are being read, so that those made of themselves end. */
export function schema(file: string, type: ESTree.TSType | null | undefined, open: readonly string[] = []): Schema {
  if (type === undefined || type === null) return any;
  const of = (t: ESTree.TSType | null): Schema => schema(file, t, open);
  const plain = simple.get(type.type);
  if (plain !== undefined) return { kind: plain };
  switch (type.type) {
    case "TSParenthesizedType":
    case "TSTypeOperator":
      return of(type.typeAnnotation);
    case "TSArrayType":
      return { kind: "array", of: of(type.elementType) };
    case "TSTupleType":
      return { kind: "array", of: union(type.elementTypes.map((t) => of(elementOf(t)))) };
    case "TSUnionType":
      return union(type.types.map(of));
    case "TSIntersectionType":
      return merged(type.types.map(of));
    case "TSLiteralType":
      return ofLiteral(type.literal);
    case "TSTypeLiteral":
      return members(file, type.members, open);
    case "TSTypeQuery":
      return type.exprName.type === "Identifier" && type.exprName.name === "Infinity" ? { kind: "number" } : any;
    case "TSTypeReference": {
      const args = (type.typeArguments?.params ?? []).map(of);
      const { typeName } = type;
      if (typeName.type === "Identifier") return reference(file, typeName.name, args, open);
      if (typeName.type !== "TSQualifiedName" || typeName.left.type !== "Identifier") return any;
      const namespace = source(file).namespaces.get(typeName.left.name);
      return namespace === undefined ? any : reference(namespace, typeName.right.name, args, open);
    }
    default:
      return any;
  }
}

/** Pick and Omit of fields by their names. */
function chosen(whole: Schema, keys: Schema, isKept: boolean): Schema {
  const names = (keys.kind === "union" ? keys.of : [keys]).map((k) => (k.kind === "literal" ? k.value : undefined));
  if (whole.kind !== "object" || names.includes(undefined)) return any;
  const kept = Object.entries(whole.fields).filter(([k]) => names.includes(k) === isKept);
  return objectOf(Object.fromEntries(kept), whole.aliases ?? {});
}

const orNothing = (s: Schema): Schema => union([s, { kind: "undefined" }]);
/** Where every field is optional already, the type itself. */
function partial(whole: Schema): Schema {
  if (whole.kind !== "object") return whole;
  const { typeName, fields, aliases = {} } = whole;
  const made = objectOf(optional(fields), aliases);
  if (typeName === undefined || contentOf(made) === contentOf(whole)) return typeName === undefined ? made : whole;
  return { ...made, typeName: `Partial${typeName}` };
}
const optional = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).map(([name, s]) => [name, orNothing(s)]));

function reference(file: string, name: string, args: readonly Schema[], open: readonly string[]): Schema {
  const known = named.get(name) ?? parameters.get(name);
  if (known !== undefined) return known;
  const [first = any, second = any] = args;
  if (name === "Readonly") return first;
  if (name === "Partial") return partial(first);
  if (name === "ReadonlyArray" || name === "Array") return { kind: "array", of: first };
  if (name === "Iterable") return { kind: "iterable", of: first };
  if (name === "Record" && first.kind === "string") return { kind: "record", of: second };
  if (name === "Omit" || name === "Pick") return chosen(first, second, name === "Pick");
  const { types, classes, imports } = source(file);
  if (classes.has(name)) return { kind: "instance", file, name };
  const d = types.get(name);
  if (d === undefined) {
    const from = imports.get(name);
    return from === undefined || !existsSync(at("src", from[0])) ? any : reference(from[0], from[1], args, open);
  }
  const key = `${file}:${name}`;
  if (open.includes(key)) return any;
  const bound = new Map((d.typeParameters?.params ?? []).map((p, i) => [p.name.name, args[i] ?? schema(file, p.default, open)]));
  const made = within(bound, () => declared(file, d, [...open, key]));
  // What a type parameter stands for is no part of the type's name.
  return made.kind === "object" && bound.size === 0 ? { ...made, typeName: name } : made;
}

function like(file: string, d: ESTree.TSInterfaceDeclaration, open: readonly string[]): Like {
  const whole = merged([
    ...basesOf(file, d, open).map((b): Schema => (b.kind === "like" ? { kind: "object", fields: b.fields } : b)),
    members(file, d.body.body, open),
  ]);
  if (whole.kind !== "object") throw new Error(`${file}: ${d.id.name} is @open, and has more than properties and methods`);
  const fields: Record<string, Schema> = { ...whole.fields };
  for (const m of d.body.body)
    if ((m.type === "TSPropertySignature" || m.type === "TSMethodSignature") && m.optional && m.key.type === "Identifier")
      fields[m.key.name] = union([fields[m.key.name] ?? any, { kind: "undefined" }]);
  return { kind: "like", name: d.id.name, fields };
}

function declared(file: string, d: TypeDeclaration, open: readonly string[]): Schema {
  if (d.type === "TSTypeAliasDeclaration") return schema(file, d.typeAnnotation, open);
  // What users implement has whatever else they like.
  if (/@open\b/.test(commentOf(file, d))) return like(file, d, open);
  return merged([...basesOf(file, d, open), members(file, d.body.body, open)]);
}

const basesOf = (file: string, d: ESTree.TSInterfaceDeclaration, open: readonly string[]): readonly Schema[] =>
  d.extends.map(({ expression, typeArguments }) => {
    const args = (typeArguments?.params ?? []).map((t) => schema(file, t, open));
    return expression.type === "Identifier" ? reference(file, expression.name, args, open) : any;
  });
