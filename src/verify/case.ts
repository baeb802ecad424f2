/** A case and its result. */
import type { Differing } from "./differences.ts";
import type { Side } from "./side.ts";

/** One thing that differs. label tells several of one case apart; "" for the case as a whole. */
export interface Finding {
  readonly label: string;
  readonly text: string;
  /** Where values differ: the elements, and where known the inputs that they were computed from. */
  readonly elements?: readonly Element[];
}

export interface Element extends Differing {
  readonly inputs?: readonly (number | bigint)[];
}

export type Result =
  | { readonly kind: "agrees" }
  | { readonly kind: "differs"; readonly findings: readonly Finding[] }
  /** Neither device is judged: the reference does not execute it. */
  | { readonly kind: "skipped"; readonly reason: string };

export interface Context {
  readonly device: Side;
  readonly reference: Side;
  /** The software adapter at the device's feature level: what it refuses, the device must refuse. */
  readonly peer: Side;
  readonly seed: number;
  readonly quick: boolean;
  /** The device runs the library's shaders wherever there is one. */
  readonly byShaders?: boolean;
  /** Told of what is tried next: the last line says what ended the process, should a library crash. */
  readonly trace?: ((text: string) => void) | undefined;
}

export interface Case {
  /** "operator/GEMM/1/f32/packed": family first. */
  readonly id: string;
  readonly run: (context: Context) => Result | Promise<Result>;
}

export const agrees: Result = { kind: "agrees" };
export const differs = (text: string): Result => ({ kind: "differs", findings: [{ label: "", text }] });
