// The text of what users call: functions that check their arguments by their declared types, then call the family's.
import type { Fields, Instance, Like, ObjectSchema, Schema } from "./schema.ts";
import type { Parameter, Signature } from "./signatures.ts";

const join = (words: readonly string[], last: string): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;

const texts: Partial<Record<Schema["kind"], string>> = {
  tensor: "a tensor",
  number: "a number",
  string: "a string",
  boolean: "true or false",
  bigint: "a bigint",
  null: "null",
  dtype: "a dtype's name",
  data: "a typed array",
  function: "a function",
  object: "an object of options",
  iterable: "an iterable",
  record: "an object",
};
const plurals: Partial<Record<Schema["kind"], string>> = {
  tensor: "tensors",
  number: "numbers",
  string: "strings",
  boolean: "booleans",
  function: "functions",
};

/** "numbers and strings"; null where there is no word. */
function pluralOf(schema: Schema): string | null {
  const words = (schema.kind === "union" ? schema.of : [schema]).map((s) =>
    s.kind === "instance" ? `${nameOf(s)}s` : (plurals[s.kind] ?? null),
  );
  return words.every((word) => word !== null) ? join(words, "and") : null;
}

const nameOf = ({ name }: Instance): string =>
  name === "ComplexTensor" ? "complex tensor" : name === "LRScheduler" ? "schedule" : name.toLowerCase();
const article = (noun: string): string => (/^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`);

function wordOf({ kind }: Schema): string {
  const word = texts[kind];
  if (word === undefined) throw new Error(`a value of kind ${kind} has no word`);
  return word;
}

function textOf(schema: Schema): string {
  if (schema.kind === "any") return "anything";
  if (schema.kind === "instance") return article(nameOf(schema));
  if (schema.kind === "literal") return JSON.stringify(schema.value);
  if (schema.kind === "like") return `a ${schema.name.toLowerCase()}: an object with ${join(Object.keys(schema.fields), "and")}`;
  if (schema.kind === "rest") return `one after the other, ${pluralOf(schema.of) ?? textOf(schema.of)}`;
  if (schema.kind === "array" || schema.kind === "iterable" || schema.kind === "record") {
    const many = pluralOf(schema.of);
    const whole = schema.kind === "array" ? "an array" : wordOf(schema);
    return many === null ? whole : `${whole} of ${many}`;
  }
  if (schema.kind !== "union") return wordOf(schema);
  const kinds = new Set(schema.of.map((s) => s.kind));
  // Where numbers are taken in every form, "a number" says it.
  const isAnyNumber = kinds.has("number") && kinds.has("bigint") && kinds.has("boolean");
  const told = schema.of.filter((s) => s.kind !== "undefined" && !(isAnyNumber && (s.kind === "bigint" || s.kind === "boolean")));
  const words = [...new Set(told.map(textOf))];
  // "An iterable of tensors" says more than "an iterable".
  return join(
    words.filter((word) => !words.some((other) => other.startsWith(`${word} of `))),
    "or",
  );
}

/** Whether what is wrong is no tensor, or no dtype, rather than a value out of range. */
const isOfDTypes = (s: Schema): boolean =>
  s.kind === "tensor" ||
  s.kind === "dtype" ||
  ((s.kind === "array" || s.kind === "rest" || s.kind === "iterable" || s.kind === "record") && isOfDTypes(s.of)) ||
  (s.kind === "union" && s.of.some(isOfDTypes));

const takesNothing = (s: Schema): boolean => s.kind === "any" || s.kind === "undefined" || (s.kind === "union" && s.of.some(takesNothing));

/** The fields that have to be there, as a last argument of hasFields(). */
function requiredOf({ fields }: ObjectSchema): string {
  const names = Object.keys(fields).filter((name) => !takesNothing(fields[name]!));
  return names.length === 0 ? "" : `, ${JSON.stringify(names)}`;
}

/** A kind as JSON says it: "tensor", ["array", 3], ["|", "number", "tensor"]. */
type Test = string | readonly (string | number | boolean | bigint | null | Test | Readonly<Record<string, number | string>>)[];

/** The same kinds as rows of a table (src/public/table.ts), by number. */
export class KindRows {
  readonly #numbers = new Map<string, number>();
  readonly #rows: (readonly [Test, string, 0 | 1])[] = [];
  /** The files of the classes that kinds name. */
  readonly classes = new Map<string, string>();

  numberOf(schema: Schema): number {
    const key = JSON.stringify(schema);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const test = this.#test(schema);
    this.#numbers.set(key, this.#rows.length);
    this.#rows.push([test, textOf(schema), isOfDTypes(schema) ? 1 : 0]);
    return this.#rows.length - 1;
  }

  #fields(fields: Fields): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.entries(fields).map(([name, s]) => [name, this.numberOf(s)]));
  }

  #object({ fields, aliases }: ObjectSchema): Test {
    return ["fields", this.#fields(fields), ...(aliases === undefined ? [] : [aliases])];
  }

  #test(schema: Schema): Test {
    switch (schema.kind) {
      case "instance":
        this.classes.set(schema.name, schema.file);
        return ["class", schema.name];
      case "literal":
        return ["=", schema.value];
      case "array":
      case "rest":
        return ["array", this.numberOf(schema.of)];
      case "iterable":
        return ["iterable", this.numberOf(schema.of)];
      case "record":
        return ["record", this.numberOf(schema.of)];
      case "object":
        return this.#object(schema);
      case "like":
        return ["like", this.#fields(schema.fields)];
      case "union":
        return ["|", ...schema.of.map((s) => this.#test(s))];
      default:
        return schema.kind;
    }
  }

  /** "x:0 options:3" */
  signature({ parameters }: Pick<Signature, "parameters">): string {
    return parameters.map((p) => `${p.isRest ? "..." : ""}${p.name}:${this.numberOf(taken(p))}`).join(" ");
  }

  get text(): string {
    return JSON.stringify(this.#rows);
  }
}

/** The kinds that were asked for, each once. */
export class Kinds {
  readonly #names = new Map<string, string>();
  readonly #lines: string[] = [];
  readonly #imports = new Set<string>();
  readonly #listed: string[] = [];

  /** The name of the exported kind for a schema. */
  nameOf(schema: Schema): string {
    if (schema.kind === "any") return "anything";
    const key = JSON.stringify(schema);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const objects = (schema.kind === "union" ? schema.of : [schema]).filter((s) => s.kind === "object");
    const test = this.testOf(schema, "v");
    const [object, ...others] = objects;
    const only = object !== undefined && others.length === 0 ? object : null;
    const fields = only === null ? "null" : this.#fields(only);
    const aliases = only?.aliases === undefined ? "" : `, aliases: ${this.#aliases(only.aliases)}`;
    const name = `kind${this.#names.size}`;
    this.#names.set(key, name);
    this.#lines.push(
      `export const ${name}: Kind = { is: (v) => ${test}, text: ${JSON.stringify(textOf(schema))}, isOfDTypes: ${isOfDTypes(schema)}, fields: ${fields}${aliases} };`,
    );
    return name;
  }

  #fields({ fields }: ObjectSchema | Like): string {
    const known = Object.entries(fields).map(([name, s]) => `${name}: ${this.nameOf(s)}`);
    const key = `fields ${known.join(", ")}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `fields${this.#names.size}`;
      this.#names.set(key, name);
      this.#lines.push(`const ${name}: Fields = { ${known.join(", ")} };`);
    }
    return name;
  }

  #aliases(aliases: Readonly<Record<string, string>>): string {
    const key = `aliases ${JSON.stringify(aliases)}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `aliases${this.#names.size}`;
      this.#names.set(key, name);
      this.#lines.push(`const ${name}: Aliases = ${JSON.stringify(aliases)};`);
    }
    return name;
  }

  /** An expression that tells whether v is of a schema. */
  testOf(schema: Schema, v: string): string {
    switch (schema.kind) {
      case "any":
        return "true";
      case "number":
        return `typeof ${v} === "number"`;
      case "tensor":
        return `isTensor(${v})`;
      case "null":
      case "undefined":
        return `${v} === ${schema.kind}`;
      case "instance":
        this.#imports.add(`import { ${schema.name} } from "../../${schema.file}";`);
        return `${v} instanceof ${schema.name}`;
      case "literal":
        return `${v} === ${JSON.stringify(schema.value)}`;
      case "dtype":
        return `isDType(${v})`;
      case "data":
        return `ArrayBuffer.isView(${v})`;
      case "array":
        return schema.of.kind === "any" ? `Array.isArray(${v})` : `(Array.isArray(${v}) && ${v}.every(${this.nameOf(schema.of)}.is))`;
      case "rest":
        return `(Array.isArray(${v}) && ${v}.every(${this.nameOf(schema.of)}.is))`;
      case "iterable":
        return schema.of.kind === "any"
          ? `isIterable(${v})`
          : `(isIterable(${v}) && (!Array.isArray(${v}) || ${v}.every(${this.nameOf(schema.of)}.is)))`;
      case "record":
        return schema.of.kind === "any" ? `isPlain(${v})` : `(isPlain(${v}) && Object.values(${v}).every(${this.nameOf(schema.of)}.is))`;
      case "like":
        return `isLike(${v}, ${this.#fields(schema)})`;
      case "object":
        return `hasFields(${v}, ${this.#fields(schema)}${requiredOf(schema)})`;
      case "union":
        return `(${schema.of.map((s) => this.testOf(s, v)).join(" || ")})`;
      default:
        return `typeof ${v} === "${schema.kind}"`;
    }
  }

  /** Its place in the list of kinds. */
  numberOf(schema: Schema): number {
    const name = this.nameOf(schema);
    if (!this.#listed.includes(name)) this.#listed.push(name);
    return this.#listed.indexOf(name);
  }

  get text(): string {
    const anything = 'export const anything: Kind = { is: () => true, text: "anything", isOfDTypes: false, fields: null };';
    const list = `/** For refusals, which name kinds by their places here. */\nsetKinds(() => [${this.#listed.join(", ")}]);`;
    return [...this.#imports, anything, ...this.#lines, list].join("\n");
  }
}

/** What a parameter takes: for a rest all of its values, for an optional one nothing too. */
function taken(p: Parameter): Schema {
  if (p.isRest) return p.schema.kind === "array" ? { ...p.schema, kind: "rest" } : p.schema;
  if (!p.isOptional || p.schema.kind === "any") return p.schema;
  const own = p.schema.kind === "union" ? p.schema.of : [p.schema];
  return own.some((s) => s.kind === "undefined") ? p.schema : { kind: "union", of: [...own, { kind: "undefined" }] };
}

/** What is passed most, a tensor or nothing, is told without a call. */
function inlineTest({ name, schema }: { name: string; schema: Schema }, test: string): string {
  const among = (kind: Schema["kind"]): boolean =>
    schema.kind === kind || (schema.kind === "union" && schema.of.some((s) => s.kind === kind));
  if (schema.kind === "tensor") return `isTensor(${name})`;
  if (among("tensor")) return `(isTensor(${name}) || ${test})`;
  return among("undefined") ? `(${name} === undefined || ${test})` : test;
}

/**
 * The parts of a function that checks: its parameters, and its body, which gives `call(names)` under the user's name. isMethod: the first
 * parameter is `this`. runsCode: it runs code of the user's, whose errors keep their names.
 */
export function formOf(
  kinds: Kinds,
  name: string,
  { parameters, isAsync }: Signature,
  call: (args: readonly string[]) => string,
  { isMethod = false, runsCode = false } = {},
): { parameters: readonly string[]; isAsync: boolean; body: string } {
  const all = parameters.map((p, i) => ({
    name: isMethod && i === 0 ? "this" : p.isRest ? "rest" : `$${i}`,
    label: p.name,
    isRest: p.isRest,
    hasDefault: p.hasDefault,
    schema: taken(p),
  }));
  const own = all.filter((p) => p.name !== "this");
  const tests = own
    .filter((p) => p.schema.kind !== "any" && !(p.schema.kind === "rest" && p.schema.of.kind === "any"))
    .map((p) => inlineTest(p, `kinds.${kinds.nameOf(p.schema)}.is(${p.name})`));
  // What comes after the last parameter is refused, not ignored. A parameter more would make importing slower: it needs a default.
  if (!own.some((p) => p.isRest)) tests.push(`(arguments.length <= ${own.length} || isAll(arguments, ${own.length}))`);
  const spec = own.map((p) => `${p.isRest ? "..." : ""}${p.label}:${kinds.numberOf(p.schema)}`).join(" ");
  const targets = own.map((p) => (p.isRest ? `...${p.name}` : p.name)).join(", ");
  // Other names and spellings are looked at here only, so that a call by the own names costs no more.
  const again = `mended("${name}", "${spec}", arguments)`;
  const otherwise = own.length === 0 ? `throw refused("${name}", "", arguments);` : `[${targets}] = ${again};`;
  const refusal = tests.length === 0 ? "" : `if (!(${tests.join(" && ")})) ${otherwise} `;
  const args = all.map((p) => (p.isRest ? `...${p.name}` : p.name));
  const run = call(args);
  return {
    // A default keeps the function's length, which tells how many arguments it needs.
    parameters: own.map((p) => (p.isRest ? `...${p.name}: never[]` : `${p.name}: never${p.hasDefault ? " = undefined as never" : ""}`)),
    isAsync,
    body: runsCode
      ? `${refusal}return ${isAsync ? "await " : ""}${run};`
      : `${refusal}try { return ${isAsync ? "await " : ""}${run}; } catch (error) { throw under("${name}", error); }`,
  };
}
