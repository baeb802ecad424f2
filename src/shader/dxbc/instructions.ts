/** Instructions over virtual registers, each one component of a temporary register once they are allocated. */
import type { OpcodeName } from "./opcodes.ts";

export interface Register {
  readonly id: number;
  /** Registers that lie in one temporary register, in the order of their words; null: it stands alone. */
  group: Register[] | null;
  /** Instructions that write it first and use it last. */
  start: number;
  end: number;
  temp: number;
  component: number;
}

export type Operand =
  | { readonly kind: "register"; readonly register: Register; readonly negated?: boolean; readonly absolute?: boolean }
  | { readonly kind: "immediate"; readonly word: number }
  | { readonly kind: "immediates"; readonly words: readonly number[] }
  /** A group of registers, as a vector. */
  | { readonly kind: "vector"; readonly registers: readonly Register[] }
  | { readonly kind: "constant"; readonly index: number; readonly negated?: boolean; readonly absolute?: boolean }
  | { readonly kind: "system"; readonly type: "group" | "local"; readonly component: number }
  | { readonly kind: "memory"; readonly type: "uav" | "shared"; readonly slot: number; readonly words: number };

export interface Instruction {
  readonly opcode: OpcodeName;
  /** Bits of the opcode token. */
  readonly flags: number;
  /** null: the result is not wanted. An array: the words of one access. */
  readonly results: readonly (Register | readonly Register[] | null)[];
  readonly operands: readonly Operand[];
}

/** What an instruction reads. */
export function* registersRead(i: Instruction): Generator<Register> {
  for (const o of i.operands) {
    if (o.kind === "register") yield o.register;
    if (o.kind === "vector") yield* o.registers;
  }
}

export function* registersWritten(i: Instruction): Generator<Register> {
  for (const r of i.results) {
    if (r === null) continue;
    if ("id" in r) yield r;
    else yield* r;
  }
}
