/** Sums of unsigned values: what an address is, as far as it is one. All of it counts mod 2^32, as a shader does. */
import type { Value } from "./ir.ts";

/** constant + factors[i] * atoms[i], mod 2^32; the atoms in the order of their ids. Numbers are signed, of 32 bits. */
export interface Linear {
  readonly constant: number;
  readonly atoms: readonly Value[];
  readonly factors: readonly number[];
}

export const numberAsLinear = (n: number): Linear => ({ constant: n | 0, atoms: [], factors: [] });
export const atomAsLinear = (v: Value): Linear => ({ constant: 0, atoms: [v], factors: [1] });

/** x + times * y. */
export function addLinear(x: Linear, y: Linear, times = 1): Linear {
  const atoms: Value[] = [];
  const factors: number[] = [];
  const push = (v: Value, factor: number): void => {
    if (factor === 0) return;
    atoms.push(v);
    factors.push(factor);
  };
  let j = 0;
  for (let i = 0; i < x.atoms.length; i++) {
    const v = x.atoms[i]!;
    for (; j < y.atoms.length && y.atoms[j]!.id < v.id; j++) push(y.atoms[j]!, Math.imul(times, y.factors[j]!));
    const isSame = j < y.atoms.length && y.atoms[j] === v;
    push(v, isSame ? (x.factors[i]! + Math.imul(times, y.factors[j]!)) | 0 : x.factors[i]!);
    if (isSame) j++;
  }
  for (; j < y.atoms.length; j++) push(y.atoms[j]!, Math.imul(times, y.factors[j]!));
  return { constant: (x.constant + Math.imul(times, y.constant)) | 0, atoms, factors };
}

const ZERO = numberAsLinear(0);
export const scaleLinear = (x: Linear, times: number): Linear => addLinear(ZERO, x, times);

export const isPower = (n: number): boolean => (n & (n - 1)) === 0 && n !== 0;

/** What an operation by a number n divides by, for a quotient or a remainder; 0: it does not divide. */
export function divisorOf(name: string, n: number): number {
  if (name === "div.u32" || name === "mod.u32") return Math.max(0, n);
  if (name === "shr.u32") return Math.max(0, 1 << (n & 31));
  return name === "and.u32" && n >= 0 && isPower(n + 1) ? n + 1 : 0;
}
