// What the public functions of src/ops take, read from their TypeScript: the checks of their arguments are made of it.
import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { parseSync } from "rolldown/utils";
import { at } from "./project.mjs";

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
    classes: new Set(),
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
    if (d?.type === "ClassDeclaration") made.classes.add(d.id.name);
    if (d?.type === "FunctionDeclaration" && d.body !== null) made.functions.set(d.id.name, d);
    if (d?.type === "VariableDeclaration") for (const v of d.declarations) if (v.id.type === "Identifier") made.functions.set(v.id.name, v);
  }
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

/** Fields of several object types as those of one; null where one of them is not known. */
function merged(list) {
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
    case "TSTypeReference":
      return type.typeName.type === "Identifier"
        ? reference(file, type.typeName.name, (type.typeArguments?.params ?? []).map(of), open)
        : any;
    default:
      return any;
  }
}

function reference(file, name, args, open) {
  if (Object.hasOwn(named, name)) return named[name];
  if (parameters.has(name)) return parameters.get(name);
  if (name === "Readonly" || name === "Partial") return args[0];
  if (name === "ReadonlyArray" || name === "Array") return { kind: "array", of: args[0] };
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

function declared(file, d, inner) {
  if (d.type === "TSTypeAliasDeclaration") return schema(file, d.typeAnnotation, inner);
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

function signatureOf(file, fn) {
  const result = fn.returnType?.typeAnnotation;
  return {
    parameters: fn.params.filter((p) => !(p.type === "Identifier" && p.name === "this")).map((p) => parameter(file, p)),
    isAsync: fn.async === true || isPromise(result),
  };
}
