/** Instructions as tokens of shader model 5.0. */
import { eachOf, isRegister, type Instruction, type Operand, type Result } from "./instructions.ts";
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

function operandTokens(o: Exclude<Operand, { readonly kind: "register" | "memory" }>): number[] {
  switch (o.kind) {
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
    default:
      return o satisfies never;
  }
}

/** Memory as a destination: words, or as a whole where an atomic changes it. */
const memoryResult = (o: Extract<Operand, { kind: "memory" }>): number[] => [
  (o.words === 0 ? 0 : FOUR_COMPONENTS | (((1 << o.words) - 1) << 4)) | typeBits(OPERAND[o.type]) | ONE_INDEX,
  o.slot,
];

function addResult(to: number[], r: Result): void {
  if (r === null) {
    to.push(typeBits(OPERAND.null));
    return;
  }
  let mask = 0;
  eachOf(r, (each) => {
    mask |= 1 << each.component;
  });
  to.push(FOUR_COMPONENTS | (mask << 4) | ONE_INDEX, (isRegister(r) ? r : r[0]!).temp);
}

/** Memory that is read: each written component gets its word. */
function addLoaded(to: number[], { type, slot }: Extract<Operand, { kind: "memory" }>, written: Result | undefined): void {
  const words: number[] = [];
  let word = 0;
  if (written !== undefined && written !== null)
    eachOf(written, ({ component }) => {
      words[component] = word++;
    });
  const components = Array.from({ length: 4 }, (_, i) => words[i] ?? 0);
  to.push(FOUR_COMPONENTS | SWIZZLE | swizzle(components) | typeBits(OPERAND[type]) | ONE_INDEX, slot);
}

function addRegister(to: number[], { register, negated, absolute }: Extract<Operand, { kind: "register" }>): void {
  const token = FOUR_COMPONENTS | SELECT | (register.component << 4) | ONE_INDEX;
  const modifier = (negated === true ? 1 : 0) | (absolute === true ? 2 : 0);
  if (modifier === 0) to.push(token, register.temp);
  else to.push((token | EXTENDED) >>> 0, 1 | (modifier << 6), register.temp);
}

const LOADS: ReadonlySet<OpcodeName> = new Set<OpcodeName>(["ld_raw", "ld_structured", "ld_uav_typed"]);

/** Appends an instruction's tokens. */
export function addInstruction(to: number[], i: Instruction): void {
  const start = to.push(0) - 1;
  for (const r of i.results) addResult(to, r);
  for (const o of i.operands) {
    if (o.kind === "register") addRegister(to, o);
    else if (o.kind !== "memory") to.push(...operandTokens(o));
    else if (LOADS.has(i.opcode)) addLoaded(to, o, i.results[0]);
    else to.push(...memoryResult(o));
  }
  to[start] = (OPCODE[i.opcode] | i.flags | ((to.length - start) << 24)) >>> 0;
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
