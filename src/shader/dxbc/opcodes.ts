/** Numbers of shader model 5.0's tokens, as d3d11TokenizedProgramFormat.hpp has them. */
import type { AtomicName } from "../ir.ts";
import type { OperationName } from "../operations.ts";

export const OPCODE = {
  add: 0, and: 1, break: 2, breakc: 3, continue: 7, div: 14, else: 18, endif: 21, endloop: 22, eq: 24, exp: 25, ftoi: 27, ftou: 28,
  ge: 29, iadd: 30, if: 31, ieq: 32, ige: 33, ilt: 34, imax: 36, imin: 37, imul: 38, ine: 39, ineg: 40, ishl: 41, ishr: 42, itof: 43,
  log: 47, loop: 48, lt: 49, mad: 50, min: 51, max: 52, mov: 54, movc: 55, mul: 56, ne: 57, not: 59, or: 60, ret: 62, round_ne: 64,
  round_ni: 65, round_pi: 66, round_z: 67, rsq: 68, sqrt: 75, udiv: 78, ult: 79, uge: 80, umax: 83, umin: 84, ushr: 85, utof: 86, xor: 87,
  dcl_constantbuffer: 89, dcl_input: 95, dcl_temps: 104, f32tof16: 130, f16tof32: 131, countbits: 134, bfrev: 141, dcl_thread_group: 155,
  dcl_uav_typed: 156, dcl_uav_raw: 157, dcl_uav_structured: 158, dcl_tgsm_raw: 159, dcl_tgsm_structured: 160, ld_uav_typed: 163,
  store_uav_typed: 164, ld_raw: 165, store_raw: 166,
  ld_structured: 167, store_structured: 168, atomic_and: 169, atomic_or: 170, atomic_xor: 171, atomic_iadd: 173,
  atomic_imax: 174, atomic_imin: 175, atomic_umax: 176, atomic_umin: 177, imm_atomic_iadd: 180, imm_atomic_and: 181, imm_atomic_or: 182,
  imm_atomic_xor: 183, imm_atomic_exch: 184, imm_atomic_cmp_exch: 185, imm_atomic_imax: 186, imm_atomic_imin: 187, imm_atomic_umax: 188,
  imm_atomic_umin: 189, sync: 190,
} as const; // prettier-ignore
export type OpcodeName = keyof typeof OPCODE;

/** Of an instruction that tests a register: it acts where that is not zero. */
export const NONZERO = 1 << 18;
/** On all components of the result: the instruction is computed as it is written. */
const PRECISE = 0xf << 19;
const ARITHMETIC: ReadonlySet<OpcodeName> = new Set([
  "add",
  "mul",
  "mad",
  "div",
  "exp",
  "log",
  "sqrt",
  "rsq",
  "min",
  "max",
  "lt",
  "ge",
  "eq",
  "ne",
]);
export const preciseFlags = (opcode: OpcodeName): number => (ARITHMETIC.has(opcode) ? PRECISE : 0);
export const SYNC = { threads: 1 << 11, shared: 1 << 12, buffers: 1 << 14 };

/** Types of operands. */
export const OPERAND = { temp: 0, immediate: 4, constantBuffer: 8, null: 13, uav: 30, shared: 31, group: 33, local: 34 } as const;

/** Operations that are one instruction with the same operands. */
export const PLAIN: { readonly [K in OperationName]?: OpcodeName } = {
  "add.f32": "add", "mul.f32": "mul", "div.f32": "div", "fma.f32": "mad", "min.f32": "min", "max.f32": "max", "sqrt.f32": "sqrt",
  "rsqrt.f32": "rsq", "exp2.f32": "exp", "log2.f32": "log", "floor.f32": "round_ni", "ceil.f32": "round_pi", "trunc.f32": "round_z",
  "round.f32": "round_ne", "lt.f32": "lt", "ge.f32": "ge", "eq.f32": "eq", "ne.f32": "ne",
  "add.i32": "iadd", "min.i32": "imin", "max.i32": "imax", "and.i32": "and", "or.i32": "or", "xor.i32": "xor", "shl.i32": "ishl",
  "shr.i32": "ishr", "neg.i32": "ineg", "not.i32": "not", "lt.i32": "ilt", "ge.i32": "ige", "eq.i32": "ieq", "ne.i32": "ine",
  "add.u32": "iadd", "min.u32": "umin", "max.u32": "umax", "and.u32": "and", "or.u32": "or", "xor.u32": "xor", "shl.u32": "ishl",
  "shr.u32": "ushr", "not.u32": "not", "count.u32": "countbits", "reverse.u32": "bfrev", "lt.u32": "ult", "ge.u32": "uge",
  "eq.u32": "ieq", "ne.u32": "ine", "and.bool": "and", "or.bool": "or", "xor.bool": "xor", "not.bool": "not",
  "select.f32": "movc", "select.i32": "movc", "select.u32": "movc", "select.bool": "movc", "f32.to.i32": "ftoi", "f32.to.u32": "ftou",
  "i32.to.f32": "itof", "u32.to.f32": "utof", "f32.to.half": "f32tof16", "half.to.f32": "f16tof32",
}; // prettier-ignore

export function atomicOpcode(name: AtomicName, isSigned: boolean, returns: boolean): OpcodeName {
  if (name === "exchange") return "imm_atomic_exch";
  if (name === "compareExchange") return "imm_atomic_cmp_exch";
  const what = name === "add" ? "iadd" : name === "min" || name === "max" ? (`${isSigned ? "i" : "u"}${name}` as const) : name;
  return `${returns ? "imm_" : ""}atomic_${what}`;
}
