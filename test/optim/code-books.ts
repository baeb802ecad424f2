/** bitsandbytes' dynamic code books and blocks of 256 elements, in float64. */
import { expect } from "vitest";
import * as dx from "../../src/index.ts";

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

/** Codes and scales of a state are those of the reference, but for numbers on a border between two codes. */
export function expectCodes(own: Coded, wanted: Coded): void {
  expect(own.scales.length).toBe(wanted.scales.length);
  own.scales.forEach((s, i) => expect(Math.abs(s / wanted.scales[i]! - 1)).toBeLessThan(1e-5));
  const others = own.codes.flatMap((c, i) => (c === wanted.codes[i] ? [] : [Math.abs(c - wanted.codes[i]!)]));
  expect(others.length).toBeLessThanOrEqual(3);
  expect(Math.max(0, ...others)).toBeLessThanOrEqual(1);
}

/** Losses of a small network, whose first weight has 6144 elements. see: reads the optimizer's state after the last step. */
export function train<T>(
  make: (parameters: dx.Tensor[]) => dx.optim.Optimizer,
  steps: number,
  see: (state: dx.optim.OptimizerState) => T,
): { readonly losses: number[]; readonly seen: T } {
  const generator = new dx.Generator(7);
  const [x, w] = [dx.randn([64, 64], { generator }), dx.randn([64, 1], { generator })];
  const y = dx.sin(x.matmul(w).mul(0.3));
  const model = dx.nn.sequential(dx.nn.linear(64, 96, { generator }), dx.nn.tanh(), dx.nn.linear(96, 1, { generator }));
  const optimizer = make([...model.parameters()]);
  const run = dx.compile(() => {
    const loss = dx.mseLoss(model(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  });
  const losses = Array.from({ length: steps }, () => run().itemSync());
  const seen = see(optimizer.stateDict());
  run.dispose();
  optimizer.dispose();
  return { losses, seen };
}
