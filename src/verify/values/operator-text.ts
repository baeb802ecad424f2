/**
 * Operators written as text: `GEMM a=f32[3,4] b=f32[4,5] output=f32[3,5] alpha=1 fusedActivation={ACTIVATION_RELU}`.
 *
 * A tensor is type[sizes] or type[sizes]/[strides]; a list is [a,b]; an operator inside stands in braces; scaleBias is
 * scale:bias; a size of two is width x height (2x3); a scalar is type:value; an enum's value is its name. Fields that are left
 * out are null, 0, false or empty; fields that count arrays are filled in.
 */
import { ENUMS, OPERATORS, type OperatorName } from "../../dml/operators.generated.ts";
import type { FieldRow, OperatorRow } from "../../dml/schema.ts";
import type { FieldValue, OperatorDescription, TensorDescription } from "../../native/binding.ts";
import { tensor } from "./layouts.ts";
import { typeNamed, typeOf, writeElement } from "./types.ts";

/** An operator with its row of the table. */
export interface Described {
  readonly row: OperatorRow;
  readonly fields: readonly FieldValue[];
}

export const description = ({ row, fields }: Described): OperatorDescription => ({ type: row.type, fields });

const rowNamed = (name: string): OperatorRow | undefined =>
  Object.hasOwn(OPERATORS, name) ? (OPERATORS as { readonly [K in OperatorName]: OperatorRow })[name as OperatorName] : undefined;

/** The value of a field that is left out. */
function emptyValue(type: string): FieldValue {
  if (type === "tensor" || type === "operator" || type === "scaleBias") return null;
  if (type.endsWith("Array")) return [];
  if (type === "bool") return false;
  if (type === "size2D") return [0, 0];
  return type === "scalarUnion" ? new Uint8Array(8) : 0;
}

/** The fields with each count set to the length of its array. */
export function withCounts(row: OperatorRow, fields: readonly FieldValue[]): FieldValue[] {
  const counted = [...fields];
  row.fields.forEach((f, i) => {
    const list = fields[i];
    if (f.count !== undefined) counted[f.count] = Array.isArray(list) ? list.length : 0;
  });
  return counted;
}

/** Eight bytes of a scalar union: integers fill them, since every integer type reads its low bytes. */
export function scalarBytes(typeName: string, value: number | bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  const type = typeNamed(typeName)!;
  writeElement(new DataView(bytes.buffer), type.kind === "float" ? type : typeNamed("i64")!, 0, value);
  return bytes;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  #fail(what: string): never {
    throw new Error(`${what} at ${this.#at} of: ${this.#text}`);
  }
  #take(c: string): boolean {
    if (this.#text[this.#at] !== c) return false;
    this.#at++;
    return true;
  }
  #expect(c: string): void {
    if (!this.#take(c)) this.#fail(`expected ${c}`);
  }
  #match(pattern: RegExp, what: string): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) this.#fail(`expected ${what}`);
    this.#at = pattern.lastIndex;
    return found[0];
  }
  #word = (): string => this.#match(/\w+/y, "a name");
  #number = (): number => Number(this.#match(/-?(?:Infinity|NaN|\d+(?:\.\d+)?(?:e[-+]?\d+)?)/y, "a number"));
  #list<T>(element: () => T): T[] {
    const list: T[] = [];
    this.#expect("[");
    while (!this.#take("]")) {
      list.push(element());
      this.#take(",");
    }
    return list;
  }
  #tensor = (): TensorDescription => {
    const name = this.#word();
    const type = typeNamed(name) ?? this.#fail(`no data type ${name}`);
    const sizes = this.#list(this.#number);
    return tensor(type, sizes, this.#take("/") ? this.#list(this.#number) : null);
  };
  #inner = (): OperatorDescription => {
    this.#expect("{");
    const inner = this.operator("}");
    this.#expect("}");
    return description(inner);
  };
  #enum(name: string): number {
    const values: { readonly [key: string]: number } = ENUMS[name as keyof typeof ENUMS];
    const word = this.#word();
    const value = values[word] ?? (name === "DML_TENSOR_DATA_TYPE" ? typeNamed(word)?.id : undefined);
    return value ?? this.#fail(`no ${word} in ${name}`);
  }
  #value(type: string): FieldValue {
    if (type.startsWith("enum:")) return this.#enum(type.slice(5));
    switch (type) {
      case "tensor":
        return this.#tensor();
      case "tensorArray":
        return this.#list(this.#tensor);
      case "operator":
        return this.#inner();
      case "operatorArray":
        return this.#list(this.#inner);
      case "uint32Array":
      case "int32Array":
      case "floatArray":
        return this.#list(this.#number);
      case "bool":
        return this.#number() !== 0;
      case "scaleBias": {
        const scale = this.#number();
        this.#expect(":");
        return [scale, this.#number()];
      }
      case "size2D": {
        const width = this.#number();
        this.#expect("x");
        return [width, this.#number()];
      }
      case "scalarUnion": {
        const word = this.#word();
        this.#expect(":");
        return scalarBytes(word, this.#number());
      }
      default:
        return this.#number();
    }
  }

  operator(end: string): Described {
    const name = this.#word();
    const row = rowNamed(name) ?? this.#fail(`no operator ${name}`);
    const fields = row.fields.map((f) => emptyValue(f.type));
    for (;;) {
      while (this.#take(" "));
      if ((this.#text[this.#at] ?? "") === end) break;
      const field = this.#word();
      this.#expect("=");
      const index = row.fields.findIndex((f) => f.name === field);
      if (index < 0) this.#fail(`${name} has no field ${field}`);
      fields[index] = this.#value(row.fields[index]!.type);
    }
    return { row, fields: withCounts(row, fields) };
  }
}

/** Reads an operator; throws for a text that is none. */
export const parse = (text: string): Described => new Reader(text).operator("");

const list = (values: readonly (string | number)[]): string => `[${values.join(",")}]`;

export function tensorText(t: TensorDescription): string {
  const name = typeOf(t.dataType)?.name ?? `type${t.dataType}`;
  const natural = typeOf(t.dataType) === undefined ? -1 : tensor(typeOf(t.dataType)!, t.sizes, t.strides).sizeInBytes;
  return `${name}${list(t.sizes)}${t.strides === null ? "" : `/${list(t.strides)}`}${natural === t.sizeInBytes ? "" : `(${t.sizeInBytes} bytes)`}`;
}

function valueText(f: FieldRow, value: FieldValue): string | null {
  if (value === null) return null;
  if (f.type.startsWith("enum:")) {
    const values: { readonly [key: string]: number } = ENUMS[f.type.slice(5) as keyof typeof ENUMS];
    return Object.keys(values).find((name) => values[name] === value) ?? String(value as number);
  }
  if (f.type === "tensor") return tensorText(value as TensorDescription);
  if (f.type === "tensorArray") return list((value as readonly TensorDescription[]).map(tensorText));
  if (f.type === "operator") return `{${textOf(value as OperatorDescription)}}`;
  if (f.type === "operatorArray") return list((value as readonly OperatorDescription[]).map((o) => `{${textOf(o)}}`));
  if (f.type === "scaleBias") return (value as readonly number[]).join(":");
  if (f.type === "size2D") return (value as readonly number[]).join("x");
  if (value instanceof Uint8Array) return `u64:${new DataView(value.buffer, value.byteOffset).getBigUint64(0, true)}`;
  if (Array.isArray(value)) return list(value as readonly number[]);
  return String(Number(value));
}

const rowsByType = new Map<number, OperatorRow>(Object.values(OPERATORS).map((row) => [row.type, row]));

/** The operator as text, every field that is not null. */
export function textOf({ type, fields }: OperatorDescription): string {
  const row = rowsByType.get(type)!;
  const counts = new Set(row.fields.map((f) => f.count));
  const parts = row.fields.map((f, i) => (counts.has(i) ? null : valueText(f, fields[i]!)));
  return row.fields.reduce((text, f, i) => (parts[i] === null ? text : `${text} ${f.name}=${parts[i]}`), row.name);
}
