// The parameters of the public functions and classes of src, read from their TypeScript: the source of the checks of arguments.
import { existsSync } from "node:fs";
import type { ESTree } from "rolldown/utils";
import { at } from "../tools/project.ts";
import { any, schema, within, withinAlso, type Schema } from "./schema.ts";
import { relativeTo, commentOf, nameIn, source } from "./source.ts";

export interface Parameter {
  readonly name: string;
  readonly isOptional: boolean;
  readonly hasDefault: boolean;
  readonly isRest: boolean;
  readonly schema: Schema;
}
export interface Signature {
  readonly parameters: readonly Parameter[];
  readonly isAsync: boolean;
  /** The name of the result's type, where it is one. */
  readonly result: string | null;
}
export interface Method extends Signature {
  readonly name: string;
}
export interface ClassSignature {
  readonly file: string;
  readonly name: string;
  readonly isAbstract: boolean;
  /** Of its constructor, or its base's. */
  readonly parameters: readonly Parameter[];
  /** Whether the constructor is its own. */
  readonly constructs: boolean;
  readonly base: ClassSignature | null;
  /** Its own that users call. */
  readonly methods: readonly Method[];
}
export interface Export {
  readonly name: string;
  readonly file: string;
  readonly local: string;
  readonly what: "type" | "function" | "class" | "namespace" | "value";
}

type Callable = ESTree.Function | ESTree.ArrowFunctionExpression | ESTree.TSFunctionType;

function parameter(file: string, pattern: ESTree.ParamPattern): Parameter {
  const plain = { isOptional: false, hasDefault: false, isRest: false };
  const p = pattern.type === "TSParameterProperty" ? pattern.parameter : pattern;
  if (p.type === "RestElement")
    return { ...plain, name: nameOf(p.argument), isRest: true, schema: schema(file, p.typeAnnotation?.typeAnnotation) };
  // The parser's types know of no optional parameter, its tree does.
  if (p.type !== "AssignmentPattern")
    return { ...plain, name: nameOf(p), isOptional: Boolean(p.optional), schema: schema(file, p.typeAnnotation?.typeAnnotation) };
  const type = p.left.typeAnnotation?.typeAnnotation;
  const own = type === undefined ? ofDefault(p.right) : schema(file, type);
  return { ...plain, name: nameOf(p.left), isOptional: true, hasDefault: true, schema: own };
}

/** What is taken apart is an object of options. */
const nameOf = (pattern: ESTree.BindingPattern): string => (pattern.type === "Identifier" ? pattern.name : "options");

/** The type of `axis = -1`. */
function ofDefault(value: ESTree.Expression): Schema {
  const literal = value.type === "UnaryExpression" && value.operator === "-" ? value.argument : value;
  const kind = literal.type === "Literal" ? typeof literal.value : "object";
  return kind === "number" || kind === "boolean" || kind === "string" ? { kind } : any;
}

const isPromise = (type: ESTree.TSType | undefined): boolean =>
  type?.type === "TSTypeReference" && type.typeName.type === "Identifier" && type.typeName.name === "Promise";

/** A function's signature, or null where its declaration does not tell. */
export function signature(file: string, name: string): Signature | null {
  const { functions, imports } = source(file);
  const d = functions.get(name);
  if (d === undefined) {
    const from = imports.get(name);
    return from === undefined ? null : signature(...from);
  }
  return d.type === "VariableDeclarator" ? ofDeclarator(file, d) : signatureOf(file, d);
}

const ofDeclarator = (file: string, { init, id }: ESTree.VariableDeclarator): Signature | null =>
  ofValue(file, init, id.typeAnnotation?.typeAnnotation);

/** The signature of an expression's value, which may be declared to be of a type. */
export function ofValue(file: string, init: ESTree.Expression | null, type?: ESTree.TSType): Signature | null {
  if (type?.type === "TSFunctionType") return signatureOf(file, type);
  switch (init?.type) {
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return signatureOf(file, init);
    case "TSAsExpression":
      return init.typeAnnotation.type === "TSFunctionType" ? signatureOf(file, init.typeAnnotation) : ofValue(file, init.expression);
    case "Identifier":
      return signature(file, init.name);
    case "MemberExpression":
      return ofMember(file, init);
    case "CallExpression":
      return init.callee.type === "Identifier" ? resultOf(file, init.callee.name) : null;
    default:
      return null;
  }
}

/** `space.relu`, of a file that is imported whole or of an object. */
function ofMember(file: string, { object, property }: ESTree.MemberExpression): Signature | null {
  if (object.type !== "Identifier" || property.type !== "Identifier") return null;
  const { namespaces, functions } = source(file);
  const namespace = namespaces.get(object.name);
  if (namespace !== undefined) return signature(namespace, property.name);
  const d = functions.get(object.name);
  if (d?.type !== "VariableDeclarator" || d.init?.type !== "ObjectExpression") return null;
  for (const p of d.init.properties)
    if (p.type === "Property" && p.key.type === "Identifier" && p.key.name === property.name) return ofValue(file, p.value);
  return null;
}

/** The signature of what a function makes: `const polynomial = (…): ((x: Tensor, n: number) => Tensor) => …`. */
function resultOf(file: string, maker: string): Signature | null {
  const { functions, imports } = source(file);
  const d = functions.get(maker);
  if (d === undefined) {
    const from = imports.get(maker);
    return from === undefined ? null : resultOf(...from);
  }
  const fn = d.type === "VariableDeclarator" ? d.init : d;
  let type = fn !== null && "returnType" in fn ? fn.returnType?.typeAnnotation : undefined;
  while (type?.type === "TSParenthesizedType") type = type.typeAnnotation;
  return type?.type === "TSFunctionType" ? signatureOf(file, type) : null;
}

/** The class of `(a, b = {}) => new Class(a, b)`, for a function that does no more than that; else null. */
export function made(file: string, name: string): string | null {
  const { functions, text } = source(file);
  const d = functions.get(name);
  const fn = d?.type === "VariableDeclarator" ? d.init : null;
  if (fn?.type !== "ArrowFunctionExpression" || fn.body.type !== "NewExpression" || fn.body.callee.type !== "Identifier") return null;
  const names = fn.params.map((p) => {
    if (p.type === "RestElement") return `...${nameOf(p.argument)}`;
    const own = p.type === "TSParameterProperty" ? p.parameter : p;
    return nameOf(own.type === "AssignmentPattern" ? own.left : own);
  });
  return names.join() === fn.body.arguments.map((node) => text.slice(node.start, node.end)).join() ? fn.body.callee.name : null;
}

export function exportsOf(file: string): readonly Export[] {
  return source(file).program.body.flatMap((node): readonly Export[] => {
    if (node.type === "ExportAllDeclaration") {
      const from = relativeTo(file, node.source.value);
      return node.exported === null ? exportsOf(from) : [{ name: nameIn(node.exported), file: from, local: "*", what: "namespace" }];
    }
    if (node.type !== "ExportNamedDeclaration") return [];
    return node.declaration === null ? listedBy(file, node) : declaredBy(file, node.declaration);
  });
}

/** `export { a, type B as C } from "./d.ts"` */
function listedBy(file: string, node: ESTree.ExportNamedDeclaration): readonly Export[] {
  const from = node.source === null ? file : relativeTo(file, node.source.value);
  return node.specifiers.map((s) => {
    const local = nameIn(s.local);
    const found = exportsOf(from).find((e) => e.name === local);
    if (found === undefined) throw new Error(`${file}: no export ${local} of ${from} was found`);
    const isType = node.exportKind === "type" || s.exportKind === "type";
    return { ...found, what: isType ? "type" : found.what, name: nameIn(s.exported) };
  });
}

function declaredBy(file: string, d: ESTree.Declaration): readonly Export[] {
  const named = (id: ESTree.BindingPattern | null, what: Export["what"]): readonly Export[] =>
    id?.type === "Identifier" ? [{ name: id.name, file, local: id.name, what }] : [];
  switch (d.type) {
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return named(d.id, "type");
    case "ClassDeclaration":
      return named(d.id, "class");
    case "VariableDeclaration":
      return d.declarations.flatMap((v) => named(v.id, ofDeclarator(file, v) === null ? "value" : "function"));
    case "FunctionDeclaration":
      return named(d.id, "function");
    default:
      // Of an overloaded function the last one has the body.
      return [];
  }
}

export function classOf(file: string, name: string, args: readonly Schema[] = []): ClassSignature | null {
  const { classes, imports } = source(file);
  const d = classes.get(name);
  if (d === undefined) {
    const from = imports.get(name);
    return from === undefined || !existsSync(at("src", from[0])) ? null : classOf(...from, args);
  }
  // What a type parameter extends is what an argument is at least.
  const widest = new Map((d.typeParameters?.params ?? []).map((p) => [p.name.name, schema(file, p.constraint)]));
  const bound = new Map([...widest].map(([name, max], i) => [name, args[i] ?? max]));
  return within(bound, () => {
    const inner = (d.superTypeArguments?.params ?? []).map((t) => schema(file, t));
    const base = d.superClass?.type === "Identifier" ? classOf(file, d.superClass.name, inner) : null;
    const methods = d.body.body.flatMap((m) => (m.type === "MethodDefinition" && m.value.body !== null ? [m] : []));
    const own = methods.find((m) => m.kind === "constructor");
    return {
      file,
      name,
      isAbstract: d.abstract === true,
      parameters: own === undefined ? (base?.parameters ?? []) : signatureOf(file, own.value).parameters,
      constructs: own !== undefined,
      base,
      // All classes that extend this one share them.
      methods: within(widest, () => methods.flatMap((m) => methodOf(file, m) ?? [])),
    };
  });
}

/** A method as users call it; null for one that they do not. */
function methodOf(file: string, m: ESTree.MethodDefinition): Method | null {
  const isCalled = m.kind === "method" && !m.static && !m.computed && !m.value.generator && m.accessibility !== "protected";
  // JSON.stringify() passes the key.
  if (!isCalled || m.key.type !== "Identifier" || m.key.name === "toJSON" || /@internal\b/.test(commentOf(file, m))) return null;
  return { name: m.key.name, ...signatureOf(file, m.value) };
}

/** The text of a class's type parameters, "<T extends $x.Module = $x.Module>", and of its arguments, "<T>". spaceIn: a file's namespace. */
export function typeParametersOf(
  file: string,
  name: string,
  spaceIn: (file: string) => string,
): { declared: string; typeArguments: string } {
  const { classes, text, imports } = source(file);
  const list = classes.get(name)?.typeParameters?.params ?? [];
  if (list.length === 0) return { declared: "", typeArguments: "" };
  const own = list.map((p) => p.name.name);
  const written = list.map((p) =>
    // A type alias takes no `const`.
    text.slice(p.name.start, p.end).replace(/(?<![\w.])[A-Z]\w*/g, (word) => {
      if (own.includes(word)) return word;
      const [from, there] = imports.get(word) ?? [file, word];
      return `${spaceIn(from)}.${there}`;
    }),
  );
  return { declared: `<${written.join(", ")}>`, typeArguments: `<${own.join(", ")}>` };
}

function signatureOf(file: string, fn: Callable): Signature {
  // What a type parameter extends is what an argument is at least.
  const own = (fn.typeParameters?.params ?? []).map((p) => [p.name.name, schema(file, p.constraint)] as const);
  return withinAlso(new Map(own), () => {
    const result = fn.returnType?.typeAnnotation;
    return {
      parameters: fn.params.filter((p) => !(p.type === "Identifier" && p.name === "this")).map((p) => parameter(file, p)),
      isAsync: ("async" in fn && fn.async) || isPromise(result),
      result: result?.type === "TSTypeReference" && result.typeName.type === "Identifier" ? result.typeName.name : null,
    };
  });
}
