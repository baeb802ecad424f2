// Names of kinds of arguments. A name describes the kind, so that a new operation or layer renames no other kind:
// number, numbers, tensorOrNull, mean_sum_none, LinearOptions; alpha_3f09c1 for options without a declared type.
import { createHash } from "node:crypto";
import { ScriptError } from "../tools/project.ts";
import { contentOf, type Literal, type Schema } from "./schema.ts";
import type { Parameter } from "./signatures.ts";

/** Names that the generated files need for themselves. */
const RESERVED = new Set([
  ..."break case catch class const continue debugger default delete do else enum export extends false finally for".split(" "),
  ..."function if import in instanceof new null return super switch this throw true try typeof undefined var void while with".split(" "),
  ..."isDType isIterable isPlain isTensor kind like options setKinds".split(" "),
]);
const MAX_LENGTH = 40;

const upper = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const lower = (word: string): string => word.replace(/^[A-Z]+(?![a-z])|^[A-Z]/, (start) => start.toLowerCase());

/** Kinds that are named by another word. */
const singular: Partial<Record<Schema["kind"], string>> = { any: "anything", function: "callback" };

/** "numbers", "modules", "listOfNumbers". */
function pluralOf(schema: Schema): string {
  const word = wordsOf(schema);
  const isPlain = !["union", "array", "any"].includes(schema.kind) && !word.includes("_");
  return isPlain ? `${word}s` : `listOf${upper(word)}`;
}

/** "mean"; "n2" and "m1" for 2 and -1. */
function literalWord(schema: Literal): string {
  const { value } = schema;
  if (typeof value === "number" && Number.isInteger(value)) return value < 0 ? `m${-value}` : `n${value}`;
  return typeof value === "string" && /^[a-z]\w*$/i.test(value) ? value : `value_${hashOf(schema)}`;
}

/**
 * Literals are listed with their own letters, "mean_sum_none"; the other parts are joined by "Or". A number of every form is a scalar, and
 * a tensor or a scalar an operand.
 */
function unionOf(parts: readonly Schema[]): string {
  const has = (kind: Schema["kind"]): boolean => parts.some((p) => p.kind === kind);
  const isScalar = has("number") && has("bigint") && has("boolean");
  const isOperand = isScalar && has("tensor");
  const literals = parts.flatMap((p) => (p.kind === "literal" ? [literalWord(p)] : []));
  const others = parts.flatMap((p) => {
    if (p.kind === "literal" || p.kind === "undefined") return [];
    if (isScalar && ["number", "bigint", "boolean"].includes(p.kind)) return p.kind === "number" && !isOperand ? ["scalar"] : [];
    return [isOperand && p.kind === "tensor" ? "operand" : wordsOf(p)];
  });
  const words = [...(literals.length === 0 ? [] : [literals.join("_")]), ...others];
  const all = words.map((word, i) => (i === 0 ? word : upper(word))).join("Or");
  return has("undefined") ? `opt${upper(all)}` : all;
}

/** A kind in words, of any length. */
function wordsOf(schema: Schema): string {
  switch (schema.kind) {
    case "instance":
      return lower(schema.name);
    case "literal":
      return literalWord(schema);
    case "like":
      return `${lower(schema.name)}_${hashOf(schema)}`;
    case "object":
      return schema.typeName ?? `${Object.keys(schema.fields)[0] ?? "nothing"}_${hashOf(schema)}`;
    case "array":
      return pluralOf(schema.of);
    case "rest":
      return `each${upper(wordsOf(schema.of))}`;
    case "iterable":
      return `iterableOf${upper(wordsOf(schema.of))}`;
    case "record":
      return `recordOf${upper(wordsOf(schema.of))}`;
    case "union":
      return unionOf(schema.of);
    default:
      return singular[schema.kind] ?? schema.kind;
  }
}

const hashOf = (schema: Schema): string => createHash("sha256").update(contentOf(schema)).digest("hex").slice(0, 6);

/** The name of a kind, which is an identifier. */
export function kindName(schema: Schema): string {
  const words = wordsOf(schema);
  if (words.length <= MAX_LENGTH && !RESERVED.has(words)) return words;
  return `${words.slice(0, MAX_LENGTH - 16).replace(/_+$/, "")}_${hashOf(schema)}`;
}

/** The names that a generated file has given, each for one content. */
export class KindNames {
  readonly #contents = new Map<string, string>();

  /** The name of a kind, and whether it is new here. Throws if another kind has it. */
  take(schema: Schema): readonly [name: string, isNew: boolean] {
    const name = kindName(schema);
    const content = contentOf(schema);
    const known = this.#contents.get(name);
    if (known !== undefined && known !== content)
      throw new ScriptError(
        "KIND_NAME",
        `Two kinds of arguments are named ${name}:\n${known}\n${content}`,
        "Give the type of one of them another name, or its words another spelling (scripts/lib/kind-names.ts).",
      );
    this.#contents.set(name, content);
    return [name, known === undefined];
  }
}

/** What a parameter takes: for a rest all of its values, for an optional one nothing too. */
export function taken(p: Parameter): Schema {
  if (p.isRest) return p.schema.kind === "array" ? { ...p.schema, kind: "rest" } : p.schema;
  if (!p.isOptional || p.schema.kind === "any") return p.schema;
  const own = p.schema.kind === "union" ? p.schema.of : [p.schema];
  return own.some((s) => s.kind === "undefined") ? p.schema : { kind: "union", of: [...own, { kind: "undefined" }] };
}

/** A kind without "or nothing", and the mark that its name has for it. */
export function split(schema: Schema): readonly [own: Schema, mark: "" | "?"] {
  if (schema.kind !== "union") return [schema, ""];
  const own = schema.of.filter((s) => s.kind !== "undefined");
  const [first] = own;
  if (own.length === schema.of.length || first === undefined) return [schema, ""];
  return [own.length === 1 ? first : { kind: "union", of: own }, "?"];
}

/** A parameter in a form's text: "x" takes a tensor, "p:number?" and "...axes:number" what is named. */
export const parameterText = (name: string, isRest: boolean, kind: string): string =>
  `${isRest ? "..." : ""}${name}${kind === "tensor" ? "" : `:${kind}`}`;
