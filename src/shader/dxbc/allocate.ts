/** Assigns physical registers to virtual ones: linear scan over the instructions, components of one register after the other. */
import { registersRead, registersWritten, type Instruction, type Register } from "./instructions.ts";

/** Loops as [first, last] instruction. */
function loopsOf(code: readonly Instruction[]): [number, number][] {
  const open: number[] = [];
  const loops: [number, number][] = [];
  code.forEach(({ opcode }, i) => {
    if (opcode === "loop") open.push(i);
    if (opcode === "endloop") loops.push([open.pop()!, i]);
  });
  return loops;
}

/** Sets start and end of every register; what a loop uses and was made before it lives until the loop's end. */
function setLifetimes(code: readonly Instruction[], variables: ReadonlySet<Register>): Set<Register> {
  const all = new Set<Register>();
  const touch = (r: Register, at: number): void => {
    if (!all.has(r)) {
      all.add(r);
      r.start = at;
    }
    r.end = at;
  };
  const loops = loopsOf(code);
  const inside: [number, number][][] = code.map(() => []);
  for (const loop of loops) for (let i = loop[0]; i <= loop[1]; i++) inside[i]!.push(loop);
  code.forEach((instruction, at) => {
    for (const r of registersRead(instruction)) touch(r, at);
    for (const r of registersWritten(instruction)) touch(r, at);
  });
  code.forEach((instruction, at) => {
    const extend = (r: Register): void => {
      for (const [first, last] of inside[at]!) if (r.start < first) r.end = Math.max(r.end, last);
    };
    for (const r of registersRead(instruction)) extend(r);
    for (const r of registersWritten(instruction)) if (variables.has(r)) extend(r);
  });
  return all;
}

/** Returns the number of temporary registers. `variables`: registers that are written several times. */
export function allocate(code: readonly Instruction[], variables: ReadonlySet<Register>): number {
  const all = setLifetimes(code, variables);
  const seen = new Set<Register>();
  const intervals: { registers: readonly Register[]; start: number; end: number }[] = [];
  for (const r of all) {
    if (seen.has(r)) continue;
    const registers = r.group ?? [r];
    for (const each of registers) seen.add(each);
    const start = Math.min(...registers.map((each) => each.start));
    // A wide load does not write over its own address.
    intervals.push({ registers, start: registers.length > 1 ? start - 0.5 : start, end: Math.max(...registers.map((each) => each.end)) });
  }
  intervals.sort((a, b) => a.start - b.start);
  /** Free components of each temporary register, as bits. */
  const free: number[] = [];
  let active: typeof intervals = [];
  for (const interval of intervals) {
    active = active.filter((a) => {
      if (a.end > interval.start) return true;
      for (const r of a.registers) free[r.temp]! |= 1 << r.component;
      return false;
    });
    const wanted = interval.registers.length;
    let temp = -1;
    // The fullest one with enough components left.
    free.forEach((bits, i) => {
      const available = countBits(bits);
      if (available >= wanted && (temp < 0 || available < countBits(free[temp]!))) temp = i;
    });
    if (temp < 0) temp = free.push(15) - 1;
    let next = 0;
    for (const r of interval.registers) {
      while ((free[temp]! & (1 << next)) === 0) next++;
      r.temp = temp;
      r.component = next;
      free[temp]! &= ~(1 << next);
    }
    active.push(interval);
  }
  return free.length;
}

const countBits = (bits: number): number => (bits & 1) + ((bits >> 1) & 1) + ((bits >> 2) & 1) + ((bits >> 3) & 1);
