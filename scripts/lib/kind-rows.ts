// Kinds of the arguments of layers, optimizers and the other folders of src/public: rows of a text table (src/public/kind-table.ts) that is parsed at
// first use. One row a line, by name.
import { isOfDTypes, textOf } from "./kind-texts.ts";
import { KindNames, parameterText, split, taken } from "./kind-names.ts";
import type { Fields, ObjectSchema, Schema } from "./schema.ts";
import type { Signature } from "./signatures.ts";

/** A kind as JSON says it: "tensor", ["array", "number"], ["|", "number", "tensor"]. */
type Test = string | number | boolean | bigint | null | Readonly<Record<string, string>> | readonly Test[];

export class KindRows {
  readonly #names = new KindNames();
  readonly #rows = new Map<string, string>();
  /** The files of the classes that kinds name. */
  readonly #classes = new Map<string, string>();

  /** The name of a kind: "number", "number?" where nothing is taken too. */
  nameOf(schema: Schema): string {
    const [own, mark] = split(schema);
    const [name, isNew] = this.#names.take(own);
    if (isNew) this.#rows.set(name, JSON.stringify(this.#row(own)));
    return `${name}${mark}`;
  }

  /** The test, the text after "must be", whether it is about dtypes; an object of options has its fields alone. */
  #row(schema: Schema): readonly Test[] {
    const test = this.#test(schema);
    return schema.kind === "object" ? (test as readonly Test[]) : [test, textOf(schema), ...(isOfDTypes(schema) ? [1] : [])];
  }

  /** A part of a union: a word that needs no row, the name of a kind, or a literal. */
  #part(schema: Schema): Test {
    const isNamed = schema.kind === "instance" || "of" in schema || "fields" in schema;
    return isNamed ? this.nameOf(schema) : this.#test(schema);
  }

  #fields(fields: Fields): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(fields).map(([name, s]) => [name, this.nameOf(s)]));
  }

  #object({ fields, aliases }: ObjectSchema): Test {
    return ["fields", this.#fields(fields), ...(aliases === undefined ? [] : [aliases])];
  }

  #test(schema: Schema): Test {
    switch (schema.kind) {
      case "instance": {
        const file = this.#classes.get(schema.name) ?? schema.file;
        if (file !== schema.file) throw new Error(`Two classes are named ${schema.name}: in ${file} and ${schema.file}`);
        this.#classes.set(schema.name, file);
        return ["class", schema.name];
      }
      case "literal":
        return ["=", schema.value];
      case "array":
      case "rest":
        return ["array", this.nameOf(schema.of)];
      case "iterable":
        return ["iterable", this.nameOf(schema.of)];
      case "record":
        return ["record", this.nameOf(schema.of)];
      case "object":
        return this.#object(schema);
      case "like":
        return ["like", this.#fields(schema.fields)];
      case "union":
        return ["|", ...schema.of.map((s) => this.#part(s))];
      default:
        return schema.kind;
    }
  }

  /** "x options:LinearOptions?". */
  signature({ parameters }: Pick<Signature, "parameters">): string {
    return parameters.map((p) => parameterText(p.name, p.isRest, this.nameOf(taken(p)))).join(" ");
  }

  /** The classes that kinds name, with their files, by name. */
  get classes(): readonly (readonly [name: string, file: string])[] {
    return [...this.#classes].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  /** The rows, as the text between the backquotes of String.raw. */
  get text(): string {
    const lines = [...this.#rows].map(([name, row]) => `${name} ${row}`).toSorted();
    const text = lines.join("\n");
    if (/`|\$\{/.test(text)) throw new Error("a kind's row has a backquote, or an expression of a template");
    return text;
  }
}
