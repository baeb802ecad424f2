// Kinds of the operations' arguments: code, since operations are called in hot loops (src/ops/exports/kinds.generated.ts).
import { isOfDTypes, takesNothing, textOf } from "./kind-texts.ts";
import { KindNames, split } from "./kind-names.ts";
import type { Like, ObjectSchema, Schema } from "./schema.ts";

/** The fields that have to be there. */
const requiredOf = ({ fields }: ObjectSchema): readonly string[] => Object.keys(fields).filter((name) => !takesNothing(fields[name]!));

const isNamed = (schema: Schema): schema is ObjectSchema | Like => schema.kind === "object" || schema.kind === "like";

/** Kinds that refer to others come after them: how many kinds deep a kind refers. It depends on nothing else in the file. */
function depthOf(schema: Schema): number {
  switch (schema.kind) {
    case "array":
    case "rest":
    case "iterable":
    case "record":
      return 1 + depthOf(schema.of);
    case "object":
    case "like":
      return 1 + Math.max(0, ...Object.values(schema.fields).map(depthOf));
    case "union":
      return Math.max(...schema.of.map((s) => depthOf(s) + (isNamed(s) ? 1 : 0)));
    default:
      return 0;
  }
}

/** The kinds that were asked for, each once. */
export class Kinds {
  readonly #names = new KindNames();
  readonly #statements: { readonly depth: number; readonly name: string; readonly text: string }[] = [];
  readonly #imports = new Set<string>();
  /** The kinds that forms' texts name. */
  readonly #listed = new Set<string>();

  /** The name of the exported kind for a schema. */
  nameOf(schema: Schema): string {
    if (schema.kind === "any") return "anything";
    const [name, isNew] = this.#names.take(schema);
    if (isNew) this.#statements.push({ depth: depthOf(schema), name, text: `export const ${name} = ${this.#madeBy(schema)};` });
    return name;
  }

  /** The call that makes a kind. */
  #madeBy(schema: Schema): string {
    if (isNamed(schema)) {
      const known = Object.entries(schema.fields).map(([field, s]) => `${field}: ${this.nameOf(s)}`);
      const fields = `{ ${known.join(", ")} }`;
      if (schema.kind === "like") return `like(${fields}, ${JSON.stringify(textOf(schema))})`;
      const required = requiredOf(schema);
      const args = [
        ...(required.length === 0 && schema.aliases === undefined ? [] : [JSON.stringify(required)]),
        ...(schema.aliases === undefined ? [] : [JSON.stringify(schema.aliases)]),
      ];
      return `options(${[fields, ...args].join(", ")})`;
    }
    // Of several objects no one's fields are meant.
    const [only, ...others] = schema.kind === "union" ? schema.of.filter((s) => s.kind === "object") : [];
    const object = only !== undefined && others.length === 0 ? this.nameOf(only) : null;
    const rest = object !== null ? `, ${isOfDTypes(schema)}, ${object}` : isOfDTypes(schema) ? ", true" : "";
    return `kind((v) => ${this.testOf(schema, "v")}, ${JSON.stringify(textOf(schema))}${rest})`;
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
      case "object":
        return `${this.nameOf(schema)}.is(${v})`;
      case "union":
        return `(${schema.of.map((s) => this.testOf(s, v)).join(" || ")})`;
      default:
        return `typeof ${v} === "${schema.kind}"`;
    }
  }

  /** The name of a kind that a form's text has. */
  listedName(schema: Schema): string {
    const [own, mark] = split(schema);
    const name = this.nameOf(own);
    this.#listed.add(name);
    return `${name}${mark}`;
  }

  get text(): string {
    const anything = 'export const anything = kind(() => true, "anything");';
    const statements = this.#statements.toSorted((a, b) => a.depth - b.depth || (a.name < b.name ? -1 : 1));
    const listed = [...this.#listed].toSorted().map((name) => `  ${name},`);
    const list = `/** For refusals, which name kinds. */\nsetKinds(() => ({\n${listed.join("\n")}\n}));`;
    return [...[...this.#imports].toSorted(), anything, ...statements.map(({ text }) => text), list].join("\n");
  }
}
