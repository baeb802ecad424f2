/** Assigns physical registers to virtual ones: linear scan over the instructions, components of one register after the other. */
import { eachRegisterRead, eachRegisterWritten, type Instruction, type Register } from "./instructions.ts";

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

/** Sets start and end of every register; what a loop uses and was made before it lives until the loop's end. In the order of their starts. */
function setLifetimes(code: readonly Instruction[], variables: ReadonlySet<Register>): Set<Register> {
  const all = new Set<Register>();
  let at = 0;
  const touch = (r: Register): void => {
    if (!all.has(r)) {
      all.add(r);
      r.start = at;
    }
    r.end = at;
  };
  for (; at < code.length; at++) {
    eachRegisterRead(code[at]!, touch);
    eachRegisterWritten(code[at]!, touch);
  }
  for (const [first, last] of loopsOf(code)) {
    const extend = (r: Register): void => {
      if (r.start < first && r.end < last) r.end = last;
    };
    const extendVariable = (r: Register): void => {
      if (variables.has(r)) extend(r);
    };
    for (let i = first; i <= last; i++) {
      eachRegisterRead(code[i]!, extend);
      eachRegisterWritten(code[i]!, extendVariable);
    }
  }
  return all;
}

interface Interval {
  readonly registers: readonly Register[];
  readonly start: number;
  readonly end: number;
}

function intervalsOf(all: ReadonlySet<Register>): Interval[] {
  const seen = new Set<Register>();
  const intervals: Interval[] = [];
  for (const r of all) {
    if (seen.has(r)) continue;
    if (r.group === null) {
      intervals.push({ registers: [r], start: r.start, end: r.end });
      continue;
    }
    let [start, end] = [r.start, r.end];
    for (const each of r.group) {
      seen.add(each);
      start = Math.min(start, each.start);
      end = Math.max(end, each.end);
    }
    // A wide load does not write over its own address.
    intervals.push({ registers: r.group, start: r.group.length > 1 ? start - 0.5 : start, end });
  }
  return intervals.sort((a, b) => a.start - b.start);
}

const COMPONENTS = Array.from({ length: 16 }, (_, bits) => [0, 1, 2, 3].filter((i) => (bits & (1 << i)) !== 0).length);

/** Returns the number of temporary registers. `variables`: registers that are written several times. */
export function allocate(code: readonly Instruction[], variables: ReadonlySet<Register>): number {
  /** Free components of each temporary register, as bits. */
  const free: number[] = [];
  /** Active intervals, by the instruction of their end. */
  const ends: Interval[][] = [];
  /** Those that end before this instruction are free. */
  let freed = 0;
  const release = ({ registers }: Interval): void => {
    for (const r of registers) free[r.temp]! |= 1 << r.component;
  };
  /** An interval that ends where it starts: nobody reads it. */
  let unread: Interval | null = null;
  for (const interval of intervalsOf(setLifetimes(code, variables))) {
    if (unread !== null) release(unread);
    for (; freed <= interval.start; freed++) ends[freed]?.forEach(release);
    const wanted = interval.registers.length;
    let temp = -1;
    let fewest = 5;
    // The fullest one with enough components left.
    for (let i = 0; i < free.length; i++) {
      const available = COMPONENTS[free[i]!]!;
      if (available >= wanted && available < fewest) [temp, fewest] = [i, available];
    }
    if (temp < 0) temp = free.push(15) - 1;
    let next = 0;
    for (const r of interval.registers) {
      while ((free[temp]! & (1 << next)) === 0) next++;
      r.temp = temp;
      r.component = next;
      free[temp]! &= ~(1 << next);
    }
    unread = interval.end < freed ? interval : null;
    if (unread === null) (ends[interval.end] ??= []).push(interval);
  }
  return free.length;
}
