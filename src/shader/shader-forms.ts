/** The forms that an operation may take on a device: DirectML's operators, the library's shader, and its tiles. `tune` measures them. */
import type { Tensor } from "../core/tensor.ts";

/** What an operation is lowered to. */
export interface Form {
  readonly isShader: boolean;
  /** Of the tiles that the shader has, by name; null: the one that the sizes choose. */
  readonly variant: string | null;
}

export const DIRECTML: Form = { isShader: false, variant: null };
export const SHADER: Form = { isShader: true, variant: null };

/** As measurements name it. */
export const nameOfForm = ({ isShader, variant }: Form): string =>
  !isShader ? "DirectML" : variant === null ? "shader" : `shader ${variant}`;

export function formOfName(name: string): Form {
  if (name === "DirectML") return DIRECTML;
  return name === "shader" ? SHADER : { isShader: true, variant: name.slice("shader ".length) };
}

/** What is lowered in a form, and what was asked for on the way. */
interface Lowered<T> {
  readonly result: T;
  /** Whether it has a shader at all. */
  readonly hasShader: boolean;
  /** Names of the tiles that it could have taken. */
  readonly variants: readonly string[];
}

interface Current {
  readonly form: Form;
  hasShader: boolean;
  readonly variants: Set<string>;
}

let current: Current | null = null;

/** Runs fn, which lowers one operation, in a form. */
export function inForm<T>(form: Form, fn: () => T): Lowered<T> {
  const before = current;
  const own: Current = { form, hasShader: false, variants: new Set() };
  current = own;
  try {
    const result = fn();
    return { result, hasShader: own.hasShader, variants: [...own.variants] };
  } finally {
    current = before;
  }
}

/** Whether a form says that a shader stands here; null: none is given. */
export function formChoosesShader(): boolean | null {
  if (current === null) return null;
  current.hasShader = true;
  return current.form.isShader;
}

/** The variant to take, of those that there are; null: as the sizes say. */
export function variantOf<K extends string>(names: readonly K[]): K | null {
  if (current === null) return null;
  for (const name of names) current.variants.add(name);
  return names.find((name) => name === current!.form.variant) ?? null;
}

/** A choice between a shader and a composition of operations, which is made while a function is traced. */
export interface TracedChoice {
  /** The shader. */
  readonly name: string;
  readonly tensors: readonly Tensor[];
  /** What else the code depends on. */
  readonly settings: unknown;
  /** The operation over other tensors of these dtypes and shapes, in the form that the chooser says. */
  run(tensors: readonly Tensor[]): Tensor;
}

/** Says whether the shader stands; null: what is known of the device decides. */
export type TraceChooser = (choice: TracedChoice) => boolean | null;

let chooser: TraceChooser | null = null;

/** Runs fn, whose choices a chooser makes. */
export function choosingBy<T>(own: TraceChooser | null, fn: () => T): T {
  const before = chooser;
  chooser = own;
  try {
    return fn();
  } finally {
    chooser = before;
  }
}

/** What the function's chooser says; null: it has none. */
export const tracedChoice = (choice: TracedChoice): boolean | null => chooser?.(choice) ?? null;
