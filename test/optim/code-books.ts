/** bitsandbytes' dynamic code books and blocks of 256 elements, in float64. */
import { expect } from "vitest";

export const BLOCK = 256;

/** bitsandbytes.functional.create_dynamic_map, with 7 bits of exponents. */
export function dynamicMap(isSigned: boolean): number[] {
  const data = [0, 1];
  for (let i = 0; i < 7; i++) {
    const count = 2 ** (isSigned ? i : i + 1);
    const bound = (k: number): number => 0.1 + (0.9 * k) / count;
    for (let k = 0; k < count; k++) {
      const mean = 10 ** (i - 6) * ((bound(k) + bound(k + 1)) / 2);
      data.push(mean, ...(isSigned ? [-mean] : []));
    }
  }
  expect(data.length).toBe(256);
  return data.toSorted((a, b) => a - b);
}

const nearest = (map: readonly number[], v: number): number =>
  map.reduce((best, each, i) => (Math.abs(each - v) < Math.abs(map[best]! - v) ? i : best), 0);
export interface Coded {
  readonly codes: readonly number[];
  readonly scales: readonly number[];
}
export function encode(map: readonly number[], values: readonly number[]): Coded {
  const scales: number[] = [];
  for (let at = 0; at < values.length; at += BLOCK) scales.push(Math.max(...values.slice(at, at + BLOCK).map(Math.abs)));
  return {
    codes: values.map((v, i) => nearest(map, scales[Math.floor(i / BLOCK)]! === 0 ? 0 : v / scales[Math.floor(i / BLOCK)]!)),
    scales,
  };
}
export const decode = (map: readonly number[], { codes, scales }: Coded): number[] =>
  codes.map((c, i) => map[c]! * scales[Math.floor(i / BLOCK)]!);
