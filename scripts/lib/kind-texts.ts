// The text of an error for a kind of argument: "must be a tensor or null".
import type { Instance, Schema } from "./schema.ts";

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

export function textOf(schema: Schema): string {
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
export const isOfDTypes = (s: Schema): boolean =>
  s.kind === "tensor" ||
  s.kind === "dtype" ||
  ((s.kind === "array" || s.kind === "rest" || s.kind === "iterable" || s.kind === "record") && isOfDTypes(s.of)) ||
  (s.kind === "union" && s.of.some(isOfDTypes));

export const takesNothing = (s: Schema): boolean =>
  s.kind === "any" || s.kind === "undefined" || (s.kind === "union" && s.of.some(takesNothing));
