/** Instructions as tokens of shader model 5.0. */
import type { Instruction, Operand, Register } from "./instructions.ts";
import { OPCODE, OPERAND, type OpcodeName } from "./opcodes.ts";

const FOUR_COMPONENTS = 2;
const SELECT = 2 << 2;
const SWIZZLE = 1 << 2;
const ONE_INDEX = 1 << 20;
const TWO_INDICES = 2 << 20;
const EXTENDED = 0x80000000;

/** A swizzle that gives each component of a register the word that belongs there; unused ones repeat the first. */
function swizzle(components: readonly number[]): number {
  let bits = 0;
  for (let i = 0; i < 4; i++) bits |= (components[i] ?? components[0] ?? 0) << (4 + 2 * i);
  return bits;
}

function modified(token: number, o: { readonly negated?: boolean; readonly absolute?: boolean }): number[] {
  const modifier = (o.negated === true ? 1 : 0) | (o.absolute === true ? 2 : 0);
  return modifier === 0 ? [token] : [(token | EXTENDED) >>> 0, 1 | (modifier << 6)];
}

const typeBits = (type: number): number => type << 12;

export function operandTokens(o: Operand, written: readonly number[] | null): number[] {
  switch (o.kind) {
    case "register":
      return [...modified(FOUR_COMPONENTS | SELECT | (o.register.component << 4) | ONE_INDEX, o), o.register.temp];
    case "immediate":
      return [1 | typeBits(OPERAND.immediate), o.word];
    case "immediates":
      return [FOUR_COMPONENTS | typeBits(OPERAND.immediate), ...Array.from({ length: 4 }, (_, i) => o.words[i] ?? 0)];
    case "vector":
      return [FOUR_COMPONENTS | SWIZZLE | swizzle(o.registers.map((r) => r.component)) | ONE_INDEX, o.registers[0]!.temp];
    case "constant":
      return [
        ...modified(FOUR_COMPONENTS | SELECT | ((o.index & 3) << 4) | typeBits(OPERAND.constantBuffer) | TWO_INDICES, o),
        0,
        o.index >> 2,
      ];
    case "system":
      return [FOUR_COMPONENTS | SELECT | (o.component << 4) | typeBits(OPERAND[o.type])];
    case "memory": {
      // Read: each written component gets its word.
      const words: number[] = [];
      written?.forEach((component, word) => {
        words[component] = word;
      });
      return [
        FOUR_COMPONENTS | SWIZZLE | swizzle(Array.from({ length: 4 }, (_, i) => words[i] ?? 0)) | typeBits(OPERAND[o.type]) | ONE_INDEX,
        o.slot,
      ];
    }
    default:
      return o satisfies never;
  }
}

/** Memory as a destination: words, or as a whole where an atomic changes it. */
const memoryResult = (o: Extract<Operand, { kind: "memory" }>): number[] => [
  (o.words === 0 ? 0 : FOUR_COMPONENTS | (((1 << o.words) - 1) << 4)) | typeBits(OPERAND[o.type]) | ONE_INDEX,
  o.slot,
];

function resultTokens(r: Register | readonly Register[] | null): number[] {
  if (r === null) return [typeBits(OPERAND.null)];
  const registers = "id" in r ? [r] : r;
  const mask = registers.reduce((bits, each) => bits | (1 << each.component), 0);
  return [FOUR_COMPONENTS | (mask << 4) | ONE_INDEX, registers[0]!.temp];
}

const LOADS: ReadonlySet<OpcodeName> = new Set<OpcodeName>(["ld_raw", "ld_structured", "ld_uav_typed"]);

export function instructionTokens(i: Instruction): number[] {
  const tokens = i.results.flatMap(resultTokens);
  const first = i.results[0];
  const components = first === undefined || first === null ? null : ("id" in first ? [first] : first).map((r) => r.component);
  i.operands.forEach((o) => {
    const isTarget = o.kind === "memory" && !LOADS.has(i.opcode);
    tokens.push(...(isTarget ? memoryResult(o) : operandTokens(o, components)));
  });
  return [(OPCODE[i.opcode] | i.flags | ((tokens.length + 1) << 24)) >>> 0, ...tokens];
}

/** A declaration: an instruction without registers. */
export const declaration = (opcode: keyof typeof OPCODE, ...tokens: readonly number[]): number[] => [
  (OPCODE[opcode] | ((tokens.length + 1) << 24)) >>> 0,
  ...tokens,
];

const mask = (components: number): number => FOUR_COMPONENTS | (components << 4);
export const declareInput = (type: "group" | "local", components: number): number[] =>
  declaration("dcl_input", mask(components) | typeBits(OPERAND[type]));
export const declareConstants = (registers: number): number[] =>
  declaration(
    "dcl_constantbuffer",
    FOUR_COMPONENTS | SWIZZLE | swizzle([0, 1, 2, 3]) | typeBits(OPERAND.constantBuffer) | TWO_INDICES,
    0,
    registers,
  );
/** stride: bytes of a structure; 0: raw. */
export const declareBuffer = (slot: number, stride: number): number[] =>
  stride === 0
    ? declaration("dcl_uav_raw", typeBits(OPERAND.uav) | ONE_INDEX, slot)
    : declaration("dcl_uav_structured", typeBits(OPERAND.uav) | ONE_INDEX, slot, stride);
const BUFFER = 1 << 11;
/** A buffer of texels of four unsigned words; the view says how large they are. */
export const declareTexels = (slot: number): number[] => {
  const [token, ...rest] = declaration("dcl_uav_typed", typeBits(OPERAND.uav) | ONE_INDEX, slot, 0x4444);
  return [(token! | BUFFER) >>> 0, ...rest];
};
export const declareShared = (slot: number, bytes: number, stride: number): number[] =>
  stride === 0
    ? declaration("dcl_tgsm_raw", typeBits(OPERAND.shared) | ONE_INDEX, slot, bytes)
    : declaration("dcl_tgsm_structured", typeBits(OPERAND.shared) | ONE_INDEX, slot, stride, bytes / stride);
