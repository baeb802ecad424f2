// The text of what users call: functions that check their arguments by their declared types, then call the family's.

const join = (words, last) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`);

const texts = {
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
};
const plurals = { tensor: "tensors", number: "numbers", string: "strings", boolean: "booleans", function: "functions" };

function textOf(schema) {
  if (schema.kind === "instance") return `a ${schema.name === "ComplexTensor" ? "complex tensor" : schema.name.toLowerCase()}`;
  if (schema.kind === "literal") return JSON.stringify(schema.value);
  if (schema.kind === "array") {
    const parts = schema.of.kind === "union" ? schema.of.of : [schema.of];
    const words = parts.map((s) => plurals[s.kind]);
    return words.includes(undefined) ? "an array" : `an array of ${join(words, "and")}`;
  }
  if (schema.kind !== "union") return texts[schema.kind];
  const kinds = new Set(schema.of.map((s) => s.kind));
  // Where numbers are taken in every form, "a number" says it.
  const isAnyNumber = kinds.has("number") && kinds.has("bigint") && kinds.has("boolean");
  const told = schema.of.filter((s) => s.kind !== "undefined" && !(isAnyNumber && (s.kind === "bigint" || s.kind === "boolean")));
  return join([...new Set(told.map(textOf))], "or");
}

/** Whether what is wrong is no tensor, or no dtype, rather than a value out of range. */
const isOfDTypes = (s) =>
  s.kind === "tensor" || s.kind === "dtype" || (s.kind === "array" && isOfDTypes(s.of)) || (s.kind === "union" && s.of.some(isOfDTypes));

/** The kinds that were asked for, each once. */
export class Kinds {
  #names = new Map();
  #lines = [];
  #imports = new Set();

  /** The name of the exported kind for a schema. */
  nameOf(schema) {
    const key = JSON.stringify(schema);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const objects = (schema.kind === "union" ? schema.of : [schema]).filter((s) => s.kind === "object");
    const test = this.testOf(schema, "v");
    const fields = objects.length === 1 ? this.#fields(objects[0]) : "null";
    const name = `kind${this.#names.size}`;
    this.#names.set(key, name);
    this.#lines.push(
      `export const ${name}: Kind = { is: (v) => ${test}, text: ${JSON.stringify(textOf(schema))}, isOfDTypes: ${isOfDTypes(schema)}, fields: ${fields} };`,
    );
    return name;
  }

  #fields({ fields }) {
    const known = Object.entries(fields).map(([name, s]) => `${name}: ${s.kind === "any" ? "anything" : this.nameOf(s)}`);
    const key = `fields ${known.join(", ")}`;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = `fields${this.#names.size}`;
      this.#names.set(key, name);
      this.#lines.push(`const ${name}: Fields = { ${known.join(", ")} };`);
    }
    return name;
  }

  /** An expression that tells whether v is of a schema. */
  testOf(schema, v) {
    switch (schema.kind) {
      case "any":
        return "true";
      // True counts as 1, as in PyTorch.
      case "number":
        return `(typeof ${v} === "number" || typeof ${v} === "boolean")`;
      case "tensor":
        return `isTensor(${v})`;
      case "null":
      case "undefined":
        return `${v} === ${schema.kind}`;
      case "instance":
        this.#imports.add(`import { ${schema.name} } from "../${schema.file}";`);
        return `${v} instanceof ${schema.name}`;
      case "literal":
        return `${v} === ${JSON.stringify(schema.value)}`;
      case "dtype":
        return `isDType(${v})`;
      case "data":
        return `ArrayBuffer.isView(${v})`;
      case "array":
        return schema.of.kind === "any" ? `Array.isArray(${v})` : `(Array.isArray(${v}) && ${v}.every(${this.nameOf(schema.of)}.is))`;
      case "object":
        return `hasFields(${v}, ${this.#fields(schema)})`;
      case "union":
        return `(${schema.of.map((s) => this.testOf(s, v)).join(" || ")})`;
      default:
        return `typeof ${v} === "${schema.kind}"`;
    }
  }

  get text() {
    const anything = 'const anything: Kind = { is: () => true, text: "anything", isOfDTypes: false, fields: null };';
    return [...this.#imports, anything, ...this.#lines].join("\n");
  }
}

const optional = (p) => {
  if (!p.isOptional || p.schema.kind === "any") return p.schema;
  const own = p.schema.kind === "union" ? p.schema.of : [p.schema];
  return own.some((s) => s.kind === "undefined") ? p.schema : { kind: "union", of: [...own, { kind: "undefined" }] };
};

/** What is passed most, a tensor or nothing, is told without a call. */
function inlineTest({ name, schema }, test) {
  const among = (kind) => schema.kind === kind || (schema.kind === "union" && schema.of.some((s) => s.kind === kind));
  if (schema.kind === "tensor") return `isTensor(${name})`;
  if (among("tensor")) return `(isTensor(${name}) || ${test})`;
  return among("undefined") ? `(${name} === undefined || ${test})` : test;
}

/**
 * The parts of a function that checks: its parameters, and its body, which gives `call(names)` under the user's name. isMethod: the first
 * parameter is `this`. runsCode: it runs code of the user's, whose errors keep their names.
 */
export function formOf(kinds, name, { parameters, isAsync }, call, { isMethod = false, runsCode = false } = {}) {
  const taken = parameters.map((p, i) => ({
    name: isMethod && i === 0 ? "this" : p.isRest ? "rest" : `$${i}`,
    label: p.name,
    isRest: p.isRest === true,
    hasDefault: p.hasDefault === true,
    schema: p.isRest ? p.schema : optional(p),
  }));
  const checked = taken.filter((p) => p.schema.kind !== "any" && p.name !== "this");
  const test = checked.map((p) => inlineTest(p, `kinds.${kinds.nameOf(p.schema)}.is(${p.name})`)).join(" && ");
  const spec = checked.map((p) => `${JSON.stringify(p.label)}, kinds.${kinds.nameOf(p.schema)}, ${p.name}`).join(", ");
  const refusal = checked.length === 0 ? "" : `if (!(${test})) throw refused("${name}", ${spec}); `;
  const given = taken.map((p) => (p.isRest ? `...${p.name}` : p.name));
  const run = call(given);
  return {
    // A default keeps the function's length, which tells how many arguments it needs.
    parameters: taken
      .filter((p) => p.name !== "this")
      .map((p) => (p.isRest ? `...${p.name}: never[]` : `${p.name}: never${p.hasDefault ? " = undefined as never" : ""}`)),
    isAsync,
    body: runsCode
      ? `${refusal}return ${isAsync ? "await " : ""}${run};`
      : `${refusal}try { return ${isAsync ? "await " : ""}${run}; } catch (error) { throw under("${name}", error); }`,
  };
}
