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

/** null: the result is not wanted. An array: the words of one access. */
export type Result = Register | readonly Register[] | null;

export interface Instruction {
  readonly opcode: OpcodeName;
  /** Bits of the opcode token. */
  readonly flags: number;
  readonly results: readonly Result[];
  readonly operands: readonly Operand[];
}

export const isRegister = (r: Register | readonly Register[]): r is Register => !Array.isArray(r);

export function eachOf(r: Register | readonly Register[], visit: (r: Register) => void): void {
  if (isRegister(r)) visit(r);
  else for (const each of r) visit(each);
}

/** What an instruction reads. */
export function eachRegisterRead({ operands }: Instruction, visit: (r: Register) => void): void {
  for (const o of operands) {
    if (o.kind === "register") visit(o.register);
    else if (o.kind === "vector") for (const r of o.registers) visit(r);
  }
}

export function eachRegisterWritten({ results }: Instruction, visit: (r: Register) => void): void {
  for (const r of results) if (r !== null) eachOf(r, visit);
}
