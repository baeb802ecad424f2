/** The language of the recorded programs, and how a corpus is read. README.md of this folder explains it. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { DType } from "../../src/index.ts";

export type Short = "f32" | "f16" | "i64" | "i32" | "bool";

export const dtypes: Readonly<Record<Short, DType>> = { f32: "float32", f16: "float16", i64: "int64", i32: "int32", bool: "bool" };
export const shortOf = (dtype: DType): string => Object.entries(dtypes).find(([, name]) => name === dtype)?.[0] ?? dtype;

/** A tensor that a program starts with. */
export interface Leaf {
  readonly n: string;
  readonly d: Short;
  readonly s: readonly number[];
  readonly v: readonly number[];
  /** 1: it requires a gradient. */
  readonly g?: 0 | 1;
  /** How a compiled run brings it: as an argument, or from outside the function. */
  readonly p: "arg" | "state";
}

/** "$x" is a tensor, "$x.grad" its gradient; anything else stands for itself. */
export type Argument = string | number | boolean | null | readonly Argument[];

export interface Statement {
  readonly o: string;
  readonly a?: readonly Argument[];
  readonly k?: Readonly<Record<string, Argument>>;
  readonly r?: string | readonly string[];
  readonly body?: readonly Statement[];
}

/** What PyTorch gave for one entry of `out`; null for a gradient that is not there. */
export interface Expected {
  readonly d: Short;
  readonly s: readonly number[];
  readonly v: readonly (number | "nan" | "inf" | "-inf")[];
  readonly g?: 0 | 1;
}

export interface Refusal {
  readonly at: number;
  readonly class: string;
  readonly kind: string;
}

export interface Program {
  readonly id: string;
  readonly tags: readonly string[];
  readonly leaves: readonly Leaf[];
  readonly body: readonly Statement[];
  readonly out: readonly string[];
  readonly expect: { readonly ok: Readonly<Record<string, Expected | null>>; readonly refused?: undefined } | { readonly refused: Refusal };
}

export const optimizers: readonly string[] = ["sgd", "adam", "adamW"];

/** "$x.grad" is asked for by "x". */
export const nameIn = (out: string): string => out.slice(1).replace(/\.grad$/, "");
export const isGradient = (out: string): boolean => out.endsWith(".grad");

export const readCorpus = (file: string | URL): Program[] =>
  gunzipSync(readFileSync(file))
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Program);
