// @ts-nocheck: what it reads (a parser's tree, facts in JSON, a test runner's tasks) has no types here.
// What the public functions of src/ops take, read from their TypeScript: the checks of their arguments are made of it.
import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { parseSync } from "rolldown/utils";
import { at } from "../tools/project.ts";

const sources = new Map();

/** A file of src as { file, program, types, imports, functions }. */
export function source(file) {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(at("src", file), "utf8");
  const { program, comments } = parseSync(file, text, { lang: "ts" });
  const made = {
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
    if (node.type === "ImportDeclaration" && node.source.value.startsWith("."))
      for (const s of node.specifiers)
        if (s.type === "ImportNamespaceSpecifier") made.namespaces.set(s.local.name, posix.join(posix.dirname(file), node.source.value));
        else if (s.type === "ImportSpecifier")
          made.imports.set(s.local.name, [posix.join(posix.dirname(file), node.source.value), s.imported.name]);
    const d = node.type === "ExportNamedDeclaration" ? node.declaration : node;
    if (d?.type === "TSInterfaceDeclaration" || d?.type === "TSTypeAliasDeclaration") made.types.set(d.id.name, d);
    if (d?.type === "ClassDeclaration") made.classes.set(d.id.name, d);
    if (d?.type === "FunctionDeclaration" && d.body !== null) made.functions.set(d.id.name, d);
    if (d?.type === "VariableDeclaration") for (const v of d.declarations) if (v.id.type === "Identifier") made.functions.set(v.id.name, v);
  }
  // An interface of a class's name says more of the class.
  for (const name of made.classes.keys()) made.types.delete(name);
  return made;
}

/** The comment of an exported declaration, with a line's end, or "". */
export function docOf(file, name) {
  const { program, comments, text } = source(file);
  const node = program.body.find(
    (n) => n.type === "ExportNamedDeclaration" && (n.declaration?.id?.name ?? n.declaration?.declarations?.[0].id.name) === name,
  );
  const doc = comments.findLast((c) => c.value.startsWith("*") && c.end <= node.start && text.slice(c.end, node.start).trim() === "");
  return doc === undefined ? "" : `/*${doc.value}*/\n`;
}

const any = { kind: "any" };
const simple = {
  TSNumberKeyword: "number",
  TSStringKeyword: "string",
  TSBooleanKeyword: "boolean",
  TSBigIntKeyword: "bigint",
  TSNullKeyword: "null",
  TSUndefinedKeyword: "undefined",
  TSFunctionType: "function",
};

/** Names that mean one thing wherever they stand. */
const named = {
  Tensor: { kind: "tensor" },
  DType: { kind: "dtype" },
  TypedArray: { kind: "data" },
  ArrayBufferView: { kind: "data" },
};

function union(list) {
  const flat = list.flatMap((s) => (s.kind === "union" ? s.of : [s]));
  if (flat.some((s) => s.kind === "any")) return any;
  const seen = new Map(flat.map((s) => [JSON.stringify(s), s]));
  return seen.size === 1 ? flat[0] : { kind: "union", of: [...seen.values()] };
}

/** Fields of several object types as those of one; those of a class are the class. */
function merged(list) {
  const classes = list.filter((s) => s.kind === "instance");
  if (classes.length === 1 && list.every((s) => ["object", "instance", "function"].includes(s.kind))) return classes[0];
  if (list.some((s) => s.kind !== "object")) return any;
  return { kind: "object", fields: Object.assign({}, ...list.map((s) => s.fields)) };
}

const members = (file, list, open) => {
  const fields = {};
  if (list.some((m) => m.type === "TSCallSignatureDeclaration")) return { kind: "function" };
  for (const m of list) {
    if (m.type === "TSMethodSignature" && m.key.type === "Identifier") {
      fields[m.key.name] = { kind: "function" };
      continue;
    }
    if (m.type !== "TSPropertySignature" || m.key.type !== "Identifier") return any;
    fields[m.key.name] = schema(file, m.typeAnnotation?.typeAnnotation, open);
  }
  return { kind: "object", fields };
};

/** What a type says of a value. open: the types that are being read, so that those made of themselves end. */
function schema(file, type, open = []) {
  if (type === undefined || type === null) return any;
  const of = (t) => schema(file, t, open);
  if (type.type in simple) return { kind: simple[type.type] };
  switch (type.type) {
    case "TSParenthesizedType":
    case "TSTypeOperator":
      return of(type.typeAnnotation);
    case "TSArrayType":
      return { kind: "array", of: of(type.elementType) };
    case "TSTupleType":
      return {
        kind: "array",
        of: union(
          type.elementTypes.map((t) =>
            of(t.type === "TSNamedTupleMember" ? t.elementType : t.type === "TSRestType" ? { ...t.typeAnnotation.elementType } : t),
          ),
        ),
      };
    case "TSUnionType":
      return union(type.types.map(of));
    case "TSIntersectionType":
      return merged(type.types.map(of));
    case "TSLiteralType":
      if (type.literal.type === "UnaryExpression") return { kind: "literal", value: -type.literal.argument.value };
      return "value" in type.literal ? { kind: "literal", value: type.literal.value } : any;
    case "TSTypeLiteral":
      return members(file, type.members, open);
    case "TSTypeQuery":
      return type.exprName.name === "Infinity" ? { kind: "number" } : any;
    case "TSTypeReference": {
      const args = (type.typeArguments?.params ?? []).map(of);
      if (type.typeName.type === "Identifier") return reference(file, type.typeName.name, args, open);
      const namespace = type.typeName.left.type === "Identifier" ? source(file).namespaces.get(type.typeName.left.name) : undefined;
      return namespace === undefined ? any : reference(namespace, type.typeName.right.name, args, open);
    }
    default:
      return any;
  }
}

function reference(file, name, args, open) {
  if (Object.hasOwn(named, name)) return named[name];
  if (parameters.has(name)) return parameters.get(name);
  if (name === "Readonly" || name === "Partial") return args[0];
  if (name === "ReadonlyArray" || name === "Array") return { kind: "array", of: args[0] };
  if (name === "Iterable") return { kind: "iterable", of: args[0] };
  if (name === "Record" && args[0].kind === "string") return { kind: "record", of: args[1] };
  if (name === "Omit" || name === "Pick") {
    const [whole, keys] = args;
    const names = (keys.kind === "union" ? keys.of : [keys]).map((k) => k.value);
    if (whole.kind !== "object" || names.includes(undefined)) return any;
    const kept = Object.entries(whole.fields).filter(([k]) => names.includes(k) === (name === "Pick"));
    return { kind: "object", fields: Object.fromEntries(kept) };
  }
  const { types, classes, imports } = source(file);
  if (classes.has(name)) return { kind: "instance", file, name };
  const d = types.get(name);
  if (d === undefined) {
    const from = imports.get(name);
    return from === undefined || !existsSync(at("src", from[0])) ? any : reference(from[0], from[1], args, open);
  }
  const key = `${file}:${name}`;
  if (open.includes(key)) return any;
  const inner = [...open, key];
  const bound = new Map((d.typeParameters?.params ?? []).map((p, i) => [p.name.name ?? p.name, i < args.length ? args[i] : any]));
  return within(bound, () => declared(file, d, inner));
}

/** What the parameters of the type that is being read stand for. */
let parameters = new Map();

function within(bound, read) {
  const outer = parameters;
  parameters = bound;
  try {
    return read();
  } finally {
    parameters = outer;
  }
}

/** What the comment before a declaration says. */
function commentOf(file, d) {
  const { comments, text } = source(file);
  const start = text.slice(0, d.start).endsWith("export ") ? d.start - "export ".length : d.start;
  return comments.findLast((c) => c.end <= start && text.slice(c.end, start).trim() === "")?.value ?? "";
}

function withOptional(file, list, inner) {
  const { fields } = members(file, list, inner);
  for (const m of list) if (m.optional) fields[m.key.name] = union([fields[m.key.name], { kind: "undefined" }]);
  return fields;
}

function declared(file, d, inner) {
  if (d.type === "TSTypeAliasDeclaration") return schema(file, d.typeAnnotation, inner);
  // What users implement has whatever else they like.
  if (/@open\b/.test(commentOf(file, d))) return { kind: "like", name: d.id.name, fields: withOptional(file, d.body.body, inner) };
  const own = members(file, d.body.body, inner);
  const bases = (d.extends ?? []).map((e) =>
    e.expression.type === "Identifier"
      ? reference(
          file,
          e.expression.name,
          (e.typeArguments?.params ?? []).map((t) => schema(file, t, inner)),
          inner,
        )
      : any,
  );
  return merged([...bases, own]);
}

/** One parameter: { name, isOptional, isRest, schema }. */
function parameter(file, p) {
  if (p.type === "RestElement") return { name: p.argument.name, isRest: true, schema: schema(file, p.typeAnnotation?.typeAnnotation) };
  const target = p.type === "AssignmentPattern" ? p.left : p;
  const type = target.typeAnnotation?.typeAnnotation;
  if (type === undefined && p.type === "AssignmentPattern")
    return { name: target.name, isOptional: true, hasDefault: true, schema: ofDefault(p.right) };
  return {
    name: target.type === "Identifier" ? target.name : "options",
    isOptional: p.type === "AssignmentPattern" || target.optional === true,
    hasDefault: p.type === "AssignmentPattern",
    schema: schema(file, type),
  };
}

/** The type of `axis = -1`. */
function ofDefault(value) {
  const literal = value.type === "UnaryExpression" && value.operator === "-" ? value.argument : value;
  return literal.type === "Literal" && ["number", "boolean", "string"].includes(typeof literal.value)
    ? { kind: typeof literal.value }
    : any;
}

const isPromise = (type) => type?.type === "TSTypeReference" && type.typeName.name === "Promise";

/** A function's { parameters, isAsync }, or null where its declaration does not tell. */
export function signature(file, name) {
  const { functions, imports } = source(file);
  const d = functions.get(name);
  if (d === undefined) {
    const from = imports.get(name);
    return from === undefined ? null : signature(...from);
  }
  return d.type === "FunctionDeclaration" ? signatureOf(file, d) : ofValue(file, d.init, d.id.typeAnnotation?.typeAnnotation);
}

export function ofValue(file, init, type) {
  if (type?.type === "TSFunctionType") return signatureOf(file, type);
  switch (init?.type) {
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return signatureOf(file, init);
    case "TSAsExpression":
      return init.typeAnnotation.type === "TSFunctionType" ? signatureOf(file, init.typeAnnotation) : ofValue(file, init.expression);
    case "Identifier":
      return signature(file, init.name);
    case "MemberExpression": {
      const namespace = source(file).namespaces.get(init.object.name);
      if (namespace !== undefined) return signature(namespace, init.property.name);
      const object = source(file).functions.get(init.object.name)?.init;
      const property = object?.type === "ObjectExpression" ? object.properties.find((p) => p.key?.name === init.property.name) : undefined;
      return property === undefined ? null : ofValue(file, property.value);
    }
    case "CallExpression":
      return init.callee.type === "Identifier" ? resultOf(file, init.callee.name) : null;
    default:
      return null;
  }
}

/** The signature of what a function makes: `const polynomial = (…): ((x: Tensor, n: number) => Tensor) => …`. */
function resultOf(file, maker) {
  const { functions, imports } = source(file);
  const d = functions.get(maker);
  if (d === undefined) return imports.has(maker) ? resultOf(...imports.get(maker)) : null;
  const fn = d.type === "FunctionDeclaration" ? d : d.init;
  let type = fn.returnType?.typeAnnotation;
  while (type?.type === "TSParenthesizedType") type = type.typeAnnotation;
  return type?.type === "TSFunctionType" ? signatureOf(file, type) : null;
}

/** The class of `(a, b = {}) => new Class(a, b)`, for a function that does no more than that; else null. */
export function made(file, name) {
  const d = source(file).functions.get(name);
  const fn = d?.type === "FunctionDeclaration" ? d : d?.init;
  const body = fn?.body;
  if (body?.type !== "NewExpression" || body.callee.type !== "Identifier") return null;
  const textOf = (node) => source(file).text.slice(node.start, node.end);
  const names = fn.params.map((p) => (p.type === "RestElement" ? `...${p.argument.name}` : (p.left ?? p).name));
  return names.join() === body.arguments.map(textOf).join() ? body.callee.name : null;
}

/** The exports of a file: { name, file, local, what }, where `what` is "type", "function", "class", "namespace" or "value". */
export function exportsOf(file) {
  const { program } = source(file);
  const beside = (node) => posix.join(posix.dirname(file), node.source.value);
  return program.body.flatMap((node) => {
    if (node.type === "ExportAllDeclaration")
      return node.exported === null
        ? exportsOf(beside(node))
        : [{ name: node.exported.name, file: beside(node), local: "*", what: "namespace" }];
    if (node.type !== "ExportNamedDeclaration") return [];
    if (node.declaration === null)
      return node.specifiers.flatMap((s) => {
        const from = node.source === null ? file : beside(node);
        const found = exportsOf(from).find((e) => e.name === s.local.name);
        if (found === undefined) throw new Error(`${file}: no export ${s.local.name} of ${from} was found`);
        const what = node.exportKind === "type" || s.exportKind === "type" ? "type" : found.what;
        return [{ ...found, what, name: s.exported.name }];
      });
    const d = node.declaration;
    const named = (name, what) => ({ name, file, local: name, what });
    if (d.type === "TSInterfaceDeclaration" || d.type === "TSTypeAliasDeclaration") return [named(d.id.name, "type")];
    if (d.type === "ClassDeclaration") return [named(d.id.name, "class")];
    if (d.type === "VariableDeclaration")
      return d.declarations.map((v) =>
        named(v.id.name, ofValue(file, v.init, v.id.typeAnnotation?.typeAnnotation) === null ? "value" : "function"),
      );
    // Of an overloaded function the last one has the body.
    return d.body === null ? [] : [named(d.id.name, "function")];
  });
}

function isInternal(file, node) {
  return /@internal\b/.test(commentOf(file, node));
}

/**
 * A class: { isAbstract, parameters of its constructor or its base's, base: [file, name] or null, methods: [{ name, parameters }], which are
 * its own that users call }.
 */
export function classOf(file, name, args = []) {
  const { classes, imports } = source(file);
  const d = classes.get(name);
  if (d === undefined) {
    const from = imports.get(name);
    return from === undefined || !existsSync(at("src", from[0])) ? null : classOf(...from, args);
  }
  const bound = new Map((d.typeParameters?.params ?? []).map((p, i) => [p.name.name ?? p.name, args[i] ?? any]));
  return within(bound, () => {
    const inner = (d.superTypeArguments?.params ?? []).map((t) => schema(file, t));
    const base = d.superClass?.type === "Identifier" ? classOf(file, d.superClass.name, inner) : null;
    const own = d.body.body.find((m) => m.type === "MethodDefinition" && m.kind === "constructor" && m.value.body !== null);
    return {
      file,
      name,
      isAbstract: d.abstract === true,
      parameters: own === undefined ? (base?.parameters ?? []) : signatureOf(file, own.value).parameters,
      typeParameters: d.typeParameters ?? null,
      base,
      methods: d.body.body.flatMap((m) => {
        const isCalled =
          m.type === "MethodDefinition" &&
          m.kind === "method" &&
          !m.static &&
          m.key.type === "Identifier" &&
          !m.computed &&
          !m.value.generator &&
          m.value.body !== null &&
          m.accessibility !== "protected" &&
          // JSON.stringify() passes the key.
          m.key.name !== "toJSON" &&
          !isInternal(file, m);
        return isCalled ? [{ name: m.key.name, ...signatureOf(file, m.value) }] : [];
      }),
    };
  });
}

/** The text of a class's type parameters, "<T extends $x.Module = $x.Module>", and of its arguments, "<T>". spaceIn: a file's namespace. */
export function typeParametersOf(file, name, spaceIn) {
  const { classes, text, imports } = source(file);
  const list = classes.get(name).typeParameters?.params ?? [];
  if (list.length === 0) return { declared: "", given: "" };
  const own = list.map((p) => p.name.name ?? p.name);
  const written = list.map((p) =>
    text.slice(p.start, p.end).replace(/(?<![\w.])[A-Z]\w*/g, (word) => {
      if (own.includes(word)) return word;
      const [from, there] = imports.get(word) ?? [file, word];
      return `${spaceIn(from)}.${there}`;
    }),
  );
  return { declared: `<${written.join(", ")}>`, given: `<${own.join(", ")}>` };
}

function signatureOf(file, fn) {
  // What a type parameter extends is what an argument is at least.
  const own = (fn.typeParameters?.params ?? []).map((p) => [p.name.name ?? p.name, schema(file, p.constraint)]);
  return own.length === 0 ? signatureIn(file, fn) : within(new Map([...parameters, ...own]), () => signatureIn(file, fn));
}

function signatureIn(file, fn) {
  const result = fn.returnType?.typeAnnotation;
  return {
    parameters: fn.params.filter((p) => !(p.type === "Identifier" && p.name === "this")).map((p) => parameter(file, p)),
    isAsync: fn.async === true || isPromise(result),
    /** The name of the result's type, where it is one. */
    result: result?.type === "TSTypeReference" && result.typeName.type === "Identifier" ? result.typeName.name : null,
  };
}
