/** A shader as DXBC: simplified, lowered to words, its values in temporary registers, its uniforms in cb0. */
import type { ShaderTraits } from "../../dml/capabilities.ts";
import { ShaderError } from "../../core/errors.ts";
import {
  allStatements,
  constantOf,
  type Assign,
  type Atomic,
  type Block,
  type For,
  type If,
  type Load,
  type Memory,
  type Operate,
  type Shader,
  type Statement,
  type Store,
  type Uniform,
  type Value,
  type Variable,
  type While,
} from "../ir.ts";
import { lower } from "../lower-memory.ts";
import { bitsOfFloat, isCast, type Scalar } from "../operations.ts";
import { simplify } from "../simplify.ts";
import { structured, type Structured } from "../structured.ts";
import { allocate } from "./allocate.ts";
import { makeContainer } from "./container.ts";
import type { Instruction, Operand, Register } from "./instructions.ts";
import { atomicOpcode, NONZERO, PLAIN, preciseFlags, SYNC, type OpcodeName } from "./opcodes.ts";
import { addInstruction, declaration, declareBuffer, declareConstants, declareInput, declareShared, declareTexels } from "./tokens.ts";
import { Uses } from "./uses.ts";

/** What a launch needs to know of a compiled shader. */
export interface CompiledShader {
  readonly bytes: Uint8Array;
  /** What u0, u1, … are: see ShaderCall. */
  readonly views: Uint8Array;
  /** The words of cb0, in order. */
  readonly uniforms: readonly Uniform[];
  /** Instructions, and temporary registers of four words. */
  readonly instructions: number;
  readonly registers: number;
}

/** Root constants that a launch may have. */
export const MAX_UNIFORMS = 32;
/** Buffers: u0 to u7 are there on every device. */
export const MAX_BUFFERS = 8;
/** Views of buffers, where Direct3D runs over Vulkan and shaders see texels. */
export const MAX_VIEWS = 16;
/** The form of a texel view. Other forms: a structure's bytes, 0 for raw. */
const TEXELS = 255;

/** Slots of the texel views: the buffer's own slot if all its accesses are to texels, else a slot behind all buffers. */
function slotsOfTexels({ buffers, body }: Shader, texels: ReadonlySet<Memory>): Map<Memory, number> {
  const others = new Set<Memory>();
  for (const s of allStatements(body)) if ("memory" in s && !("texel" in s)) others.add(s.memory);
  let next = buffers.length;
  return new Map(buffers.filter((m) => texels.has(m)).map((m) => [m, others.has(m) ? next++ : m.slot]));
}

/** The form of a shader that becomes instructions. */
export const lowered = (source: Shader, { seesTexels, roundsHalf }: ShaderTraits): Structured =>
  structured(simplify(lower(simplify(source), roundsHalf)), seesTexels);

export function emitShader(source: Shader, traits: ShaderTraits): CompiledShader {
  const { shader, strides, texels } = lowered(source, traits);
  const slots = slotsOfTexels(shader, texels);
  if (shader.uniforms.length > MAX_UNIFORMS)
    throw new ShaderError(shader.name, `it uses ${shader.uniforms.length} sizes and numbers; a launch carries ${MAX_UNIFORMS}`, "");
  const emitter = new Emission(shader, slots);
  emitter.block(shader.body);
  emitter.add("ret");
  const { code } = emitter;
  const behind = [...slots].filter(([m, slot]) => slot !== m.slot);
  const registers = allocate(code, emitter.variables);
  const declarations = [
    ...declaration("dcl_thread_group", shader.threads, 1, 1),
    ...(shader.uniforms.length === 0 ? [] : declareConstants(Math.ceil(shader.uniforms.length / 4))),
    ...shader.buffers.flatMap((b) => (slots.get(b) === b.slot ? declareTexels(b.slot) : declareBuffer(b.slot, strides.get(b) ?? 0))),
    ...behind.flatMap(([, slot]) => declareTexels(slot)),
    ...shader.shared.flatMap((m) => declareShared(m.slot, 4 * m.length, strides.get(m) ?? 0)),
    ...(emitter.groups === 0 ? [] : declareInput("group", emitter.groups)),
    ...(emitter.usesLocal ? declareInput("local", 1) : []),
    ...(registers === 0 ? [] : declaration("dcl_temps", registers)),
  ];
  const words = [0x50050, 0, ...declarations];
  for (const i of code) addInstruction(words, i);
  words[1] = words.length;
  const bytes = makeContainer([
    { name: "ISGN", words: [0, 8] },
    { name: "OSGN", words: [0, 8] },
    { name: "SHEX", words },
  ]);
  const views = Uint8Array.from([
    ...shader.buffers.flatMap((b) => [b.slot, slots.get(b) === b.slot ? TEXELS : (strides.get(b) ?? 0)]),
    ...behind.flatMap(([m]) => [m.slot, TEXELS]),
  ]);
  return { bytes, views, uniforms: shader.uniforms, instructions: code.length, registers };
}

function wordOf(type: Scalar, n: number): number {
  if (type === "f32") return bitsOfFloat(n);
  return type === "bool" ? (n === 0 ? 0 : 0xffffffff) : n >>> 0;
}

class Emission {
  readonly code: Instruction[] = [];
  readonly variables = new Set<Register>();
  /** Components of the group's id that are read, as bits. */
  groups = 0;
  usesLocal = false;
  readonly #shader: Shader;
  readonly #uses: Uses;
  /** By the value's id; leaves have none. */
  readonly #operands: (Operand | undefined)[] = [];
  /** By the variable's id. */
  readonly #registers: (Register | undefined)[] = [];
  readonly #uniforms: ReadonlyMap<string, number>;
  readonly #texels: ReadonlyMap<Memory, number>;
  #ids = 0;

  /** texels: where memory is seen as such. */
  constructor(shader: Shader, texels: ReadonlyMap<Memory, number>) {
    this.#shader = shader;
    this.#texels = texels;
    this.#uses = new Uses(shader.body);
    this.#uniforms = new Map(shader.uniforms.map((u, i) => [u.name, i]));
  }

  add(opcode: OpcodeName, results: Instruction["results"] = [], operands: readonly Operand[] = [], flags = 0): void {
    const precise = this.#shader.isPrecise === true ? preciseFlags(opcode) : 0;
    this.code.push({ opcode, results, operands, flags: flags | precise });
  }

  #register(): Register {
    return { id: this.#ids++, group: null, start: 0, end: 0, temp: -1, component: -1 };
  }

  #resultRegister(v: Value): Register {
    const register = this.#register();
    this.#operands[v.id] = { kind: "register", register };
    return register;
  }

  #variable(v: Variable): Register {
    let r = this.#registers[v.id];
    if (r === undefined) {
      this.#registers[v.id] = r = this.#register();
      this.variables.add(r);
    }
    return r;
  }

  #of(v: Value): Operand {
    const { leaf } = v;
    const known = leaf === null ? this.#operands[v.id] : undefined;
    if (known !== undefined) return known;
    const n = constantOf(v);
    if (n !== null) return { kind: "immediate", word: wordOf(v.type, n) };
    if (leaf?.kind === "local") {
      this.usesLocal = true;
      return { kind: "system", type: "local", component: 0 };
    }
    if (leaf?.kind === "groupX" || leaf?.kind === "groupY") {
      const component = leaf.kind === "groupX" ? 0 : 1;
      this.groups |= 1 << component;
      return { kind: "system", type: "group", component };
    }
    if (leaf?.kind === "uniform") return { kind: "constant", index: this.#uniforms.get(leaf.uniform.name)! };
    throw new TypeError(`${this.#shader.name}: a value is read before it is made`);
  }

  /** In a register, for instructions that test one. */
  #tested(v: Value): Operand {
    const o = this.#of(v);
    if (o.kind === "register") return o;
    const register = this.#register();
    this.add("mov", [register], [o]);
    return { kind: "register", register };
  }

  block(block: Block): void {
    for (let i = 0; i < block.length; i++) {
      const s = block[i]!;
      const next = block[i + 1];
      // What is assigned at once is computed where the variable lies.
      const target = s.kind === "operate" && next?.kind === "assign" && this.#fuses(s, next) ? this.#variable(next.variable) : null;
      if (s.kind === "operate") this.#operate(s, target);
      else if (!(s.kind === "assign" && i > 0 && this.#fuses(block[i - 1]!, s))) this.#statement(s);
    }
  }

  #fuses(made: Statement, s: Assign): boolean {
    return made.kind === "operate" && made.result === s.value && !isCast(made.name) && this.#uses.count(made.result) === 1;
  }

  #operate(s: Operate, target: Register | null): void {
    if (isCast(s.name)) {
      this.#operands[s.result.id] = this.#of(s.args[0]!);
      return;
    }
    const args = s.args.map((v) => this.#of(v));
    const [a, b] = args as [Operand, Operand];
    const result = target ?? this.#resultRegister(s.result);
    const plain = PLAIN[s.name];
    if (plain !== undefined) {
      this.add(plain, [result], args);
      return;
    }
    switch (s.name) {
      case "sub.f32":
        this.add("add", [result], [a, this.#negated(b)]);
        return;
      case "neg.f32":
        this.add("mov", [result], [this.#negated(a)]);
        return;
      case "abs.f32":
        this.add("mov", [result], [a.kind === "register" || a.kind === "constant" ? { ...a, absolute: true } : a]);
        return;
      case "sub.i32":
      case "sub.u32": {
        if (b.kind === "immediate") {
          this.add("iadd", [result], [a, { kind: "immediate", word: -b.word >>> 0 }]);
          return;
        }
        const register = this.#register();
        this.add("ineg", [register], [b]);
        this.add("iadd", [result], [a, { kind: "register", register }]);
        return;
      }
      case "mul.i32":
      case "mul.u32":
        this.add("imul", [null, result], args);
        return;
      case "div.u32":
        this.add("udiv", [result, null], args);
        return;
      case "mod.u32":
        this.add("udiv", [null, result], args);
        return;
      case "bool.to.u32":
        this.add("and", [result], [a, { kind: "immediate", word: 1 }]);
        return;
      default:
        throw new TypeError(`${this.#shader.name}: no instruction for ${s.name}`);
    }
  }

  #negated(o: Operand): Operand {
    if (o.kind === "immediate") return { kind: "immediate", word: (o.word ^ 0x80000000) >>> 0 };
    if (o.kind === "register" || o.kind === "constant") return { ...o, negated: o.negated !== true };
    return o;
  }

  #statement(s: Exclude<Statement, Operate>): void {
    switch (s.kind) {
      case "load":
        this.#load(s);
        return;
      case "store":
        this.#store(s);
        return;
      case "atomic":
        this.#atomic(s);
        return;
      case "declare":
      case "assign":
        this.add("mov", [this.#variable(s.variable)], [this.#of(s.value)]);
        return;
      case "get": {
        const register = this.#variable(s.variable);
        if (this.#uses.mayAlias(s)) this.#operands[s.result.id] = { kind: "register", register };
        else this.add("mov", [this.#resultRegister(s.result)], [{ kind: "register", register }]);
        return;
      }
      case "if":
        this.#if(s);
        return;
      case "for":
        this.#for(s);
        return;
      case "while":
        this.#while(s);
        return;
      case "barrier":
        this.add("sync", [], [], SYNC.threads | SYNC.shared | (s.scope === "all" ? SYNC.buffers : 0));
        return;
      case "break":
      case "continue":
        this.add(s.kind);
        return;
      case "print":
        return;
      default:
        s satisfies never;
    }
  }

  #if(s: If): void {
    this.add("if", [], [this.#tested(s.condition)], NONZERO);
    this.block(s.body);
    if (s.otherwise.length > 0) {
      this.add("else");
      this.block(s.otherwise);
    }
    this.add("endif");
  }

  /** The index is stepped at the top, so that `continue` steps it too. */
  #for(s: For): void {
    const index = this.#resultRegister(s.index);
    this.variables.add(index);
    const [start, end, step] = [this.#of(s.start), this.#of(s.end), this.#of(s.step)];
    const here: Operand = { kind: "register", register: index };
    if (start.kind === "immediate" && step.kind === "immediate")
      this.add("mov", [index], [{ kind: "immediate", word: (start.word - step.word) >>> 0 }]);
    else if (step.kind === "immediate") this.add("iadd", [index], [start, { kind: "immediate", word: -step.word >>> 0 }]);
    else {
      const register = this.#register();
      this.add("ineg", [register], [step]);
      this.add("iadd", [index], [start, { kind: "register", register }]);
    }
    this.add("loop");
    this.add("iadd", [index], [here, step]);
    const done = this.#register();
    this.add("uge", [done], [here, end]);
    this.add("breakc", [], [{ kind: "register", register: done }], NONZERO);
    this.block(s.body);
    this.add("endloop");
  }

  #while(s: While): void {
    this.add("loop");
    this.block(s.head);
    this.add("breakc", [], [this.#tested(s.condition)]);
    this.block(s.body);
    this.add("endloop");
  }

  #memory(m: Memory, words: number): Extract<Operand, { kind: "memory" }> {
    return { kind: "memory", type: m.kind === "buffer" ? "uav" : "shared", slot: m.slot, words };
  }

  #load(s: Load): void {
    const registers = s.results.map((v) => this.#resultRegister(v));
    if (registers.length > 1) for (const r of registers) r.group = registers;
    const memory = this.#memory(s.memory, registers.length);
    if (s.texel === true) this.add("ld_uav_typed", [registers], [this.#of(s.at), { ...memory, slot: this.#texels.get(s.memory)! }]);
    else if (s.offset === undefined) this.add("ld_raw", [registers], [this.#of(s.at), memory]);
    else this.add("ld_structured", [registers], [this.#of(s.at), this.#of(s.offset), memory]);
  }

  #store(s: Store): void {
    const value = s.values.length === 1 ? this.#of(s.values[0]!) : this.#vector(s.values);
    const memory = this.#memory(s.memory, s.values.length);
    if (s.texel === true) this.add("store_uav_typed", [], [{ ...memory, slot: this.#texels.get(s.memory)! }, this.#of(s.at), value]);
    else if (s.offset === undefined) this.add("store_raw", [], [memory, this.#of(s.at), value]);
    else this.add("store_structured", [], [memory, this.#of(s.at), this.#of(s.offset), value]);
  }

  /** Several values in one register: where they lie already, or where they will be made, if nobody else needs them. */
  #vector(values: readonly Value[]): Operand {
    const operands = values.map((v) => this.#of(v));
    if (operands.every((o) => o.kind === "immediate")) return { kind: "immediates", words: operands.map((o) => o.word) };
    const sources = operands.map((o) => (o.kind === "register" && o.negated !== true && o.absolute !== true ? o.register : null));
    const group = sources[0]?.group;
    if (group !== null && group !== undefined && group.length === sources.length && sources.every((r, i) => r === group[i]))
      return { kind: "vector", registers: group };
    const taken = new Set<Register>();
    const registers = sources.map((r, i) => {
      if (
        r !== null &&
        r.group === null &&
        !taken.has(r) &&
        !this.variables.has(r) &&
        this.#uses.count(values[i]!) === 1 &&
        this.#uses.isNear(values[i]!)
      ) {
        taken.add(r);
        return r;
      }
      const register = this.#register();
      this.add("mov", [register], [operands[i]!]);
      return register;
    });
    for (const r of registers) r.group = registers;
    return { kind: "vector", registers };
  }

  #atomic(s: Atomic): void {
    const returns = s.result !== null && this.#uses.count(s.result) > 0;
    const opcode = atomicOpcode(s.name, s.value.type === "i32", returns);
    const memory = this.#memory(s.memory, 0);
    const value = this.#of(s.value);
    const operands = [memory, this.#of(s.at), ...(s.expected === null ? [] : [this.#of(s.expected)]), value];
    const needsResult = opcode.startsWith("imm_");
    this.add(opcode, needsResult ? [s.result === null ? this.#register() : this.#resultRegister(s.result)] : [], operands);
  }
}
