// native/schema/directml.json: DirectML's operators as data.
import { readFileSync } from "node:fs";
import { at } from "../tools/project.ts";

export interface Field {
  readonly name: string;
  readonly kind: "input" | "output" | "attribute";
  readonly type: string;
  readonly optional: boolean;
  /** The field that counts this array. */
  readonly countField?: string | null;
}

export interface Support {
  readonly tensor: string;
  readonly featureLevel: string;
  readonly dimensionCounts: readonly [number, number];
  readonly dataTypes: readonly string[];
  readonly condition?: string;
}

export interface Operator {
  readonly name: string;
  readonly type: string;
  /** Its number. */
  readonly value: number;
  readonly featureLevel: string;
  readonly fields: readonly Field[];
  readonly tensorSupport: readonly Support[];
  readonly optionalByLevel?: Readonly<Record<string, string>>;
  /** Groups of fields that agree. */
  readonly same?: Partial<Readonly<Record<"dataType" | "dimensionCount" | "sizes", readonly (readonly string[])[]>>>;
  readonly semantics?: string;
  readonly supportsInPlace?: boolean | null;
  readonly fusableActivation?: boolean;
  readonly acceptsFusedActivation?: boolean;
}

export interface Table {
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly operators: readonly Operator[];
}

export const table: Table = JSON.parse(readFileSync(at("native", "schema", "directml.json"), "utf8"));

/** "6.2" → 0x6200 */
export function levelOf(text: string): number {
  const [major, minor] = text.split(".").map(Number);
  return ((major ?? 0) << 12) | ((minor ?? 0) << 8);
}

export function valuesOf(enumName: string): Readonly<Record<string, number>> {
  const values = table.enums[enumName];
  if (values === undefined) throw new Error(`directml.json: no enum ${enumName}`);
  return values;
}

/** The number of an enum's value, by its name without the enum's. */
export function valueOf(enumName: string, name: string): number {
  const value = valuesOf(enumName)[`${enumName}_${name}`];
  if (value === undefined) throw new Error(`directml.json: no value ${name} of ${enumName}`);
  return value;
}

/** Indices of an operator's fields by their names. */
export function fieldIndexOf(op: Operator): { readonly has: (name: string) => boolean; readonly of: (name: string) => number } {
  const names = op.fields.map((f) => f.name);
  return {
    has: (name) => names.includes(name),
    of: (name) => {
      const index = names.indexOf(name);
      if (index < 0) throw new Error(`directml.json: ${op.name} has no field ${name}`);
      return index;
    },
  };
}

/** "Function in SUM, MEAN" → [SUM's number, MEAN's]; for any function none. */
export const functionsOf = ({ condition }: Support): readonly number[] =>
  !condition
    ? []
    : condition
        .replace("Function in ", "")
        .split(", ")
        .map((name) => valueOf("DML_REDUCE_FUNCTION", name));

export const dataTypesOf = ({ dataTypes }: Support): readonly number[] => dataTypes.map((name) => valueOf("DML_TENSOR_DATA_TYPE", name));
