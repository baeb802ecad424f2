/** The shaders of transforms and attention in the evaluator: races, guards around every buffer, numbers that are none. */
import { describe, expect, it } from "vitest";
import { emitShaders, type PairTransform } from "../../../src/fft/shader-lower.ts";
import { radicesOf, shaderPlanOf, shaderTables, type ShaderPlan } from "../../../src/fft/shader-plan.ts";
import type { GraphBuilder } from "../../../src/graph/builder.generated.ts";
import type { Expr, ShaderCall } from "../../../src/graph/graph.ts";
import { attention, attentionKeyGradient, attentionQueryGradient } from "../../../src/shader/kernels/attention.ts";
import { fewQueryAttention } from "../../../src/shader/kernels/few-query-attention.ts";
import { ATTENTION_TILES } from "../../../src/shader/kernels/attention-tiles.ts";
import { fft } from "../../../src/shader/kernels/fft.ts";
import { expectClose, launch, numbers } from "./support.ts";

describe("plans of shaders", () => {
  it("have radices whose product is the length, and none where a prime factor is too large", () => {
    for (let n = 1; n <= 4096; n++) {
      const radices = radicesOf(n);
      if (radices === null) continue;
      expect(radices.reduce((a, b) => a * b)).toBe(n);
      expect(Math.max(...radices)).toBeLessThanOrEqual(16);
    }
    expect([17, 34, 289].map(radicesOf)).toEqual([null, null, null]);
    expect([1024, 4096, 65536].map(radicesOf)).toEqual([[16, 8, 8], [16, 16, 16], [16, 16, 16, 16]]); // prettier-ignore
  });
  it("take one launch, two, or a convolution", () => {
    const kinds = [7, 4096, 65536, 1 << 24, 61, 2048, 2039, 4099, 1 << 25].map((n) => shaderPlanOf(n)?.kind ?? null);
    expect(kinds).toEqual(["once", "once", "twice", "twice", "chirp", "once", "chirp", null, null]);
  });
});

/** sum of x_j exp(sign 2πi jk / n) of pairs, in float64. */
function reference(x: readonly number[], n: number, sign: number): number[] {
  return Array.from({ length: n }, (_, k) => {
    let [re, im] = [0, 0];
    for (let j = 0; 2 * j < x.length; j++) {
      const angle = (sign * 2 * Math.PI * ((j * k) % n)) / n;
      re += x[2 * j]! * Math.cos(angle) - x[2 * j + 1]! * Math.sin(angle);
      im += x[2 * j]! * Math.sin(angle) + x[2 * j + 1]! * Math.cos(angle);
    }
    return [re, im];
  }).flat();
}

describe("transforms", () => {
  const whole = { inner: 1, neighbours: 1, inputStep: 0, inputStride: 1, outputStride: 1, spacing: 1 };
  it.each([1, 6, 13, 24, 64, 105])("of %i elements, of five rows", (n) => {
    const x = numbers(5 * 2 * n, n, 1);
    const form = { length: n, radices: radicesOf(n)!, rows: 4, readsAcross: false, writesAcross: false, from: "complex", to: "complex", hasFactors: false, isChirp: false, half: "none" } as const; // prettier-ignore
    const [twiddle] = shaderTables(shaderPlanOf(n)!, 1).map((t) => ({ shape: t.shape, values: [...t.make()[0]!] }));
    for (const across of [false, true])
      for (const sign of [-1, 1]) {
        const params = { ...whole, rowCount: 5, inputBlock: n, inputEnd: n, outputBlock: n, outputEnd: n, n, scale: 1, sign };
        const kernel = fft({ ...form, readsAcross: across, writesAcross: sign === 1 });
        const { y } = launch(kernel, { x: { shape: [5, n, 1, 2], values: x }, twiddle: twiddle!, y: { shape: [5, n, 1, 2] } }, params);
        const want = Array.from({ length: 5 }, (_, r) => reference(x.slice(2 * n * r, 2 * n * (r + 1)), n, sign)).flat();
        expectClose(y!, want, "f32", n);
      }
  });

  it("by a chirp, and a row with a number that is none", () => {
    const n = 17;
    const x = numbers(2 * 2 * n, 3, 1);
    x[2 * n + 4] = NaN;
    const tables = shaderTables(shaderPlanOf(n)!, 1).map((t) => ({ shape: t.shape, values: [...t.make()[0]!] }));
    const length = 64;
    const form = { length, radices: radicesOf(length)!, rows: 2, readsAcross: false, writesAcross: false, from: "complex", to: "complex", hasFactors: false, isChirp: true, half: "none" } as const; // prettier-ignore
    const params = { ...whole, rowCount: 2, inputBlock: n, inputEnd: n, outputBlock: n, outputEnd: n, n, scale: 1 / length, sign: -1 };
    const buffers = {
      x: { shape: [2, n, 1, 2], values: x },
      twiddle: tables[0]!,
      chirp: tables[1]!,
      filter: tables[2]!,
      y: { shape: [2, n, 1, 2] },
    };
    const { y } = launch(fft(form), buffers, params);
    expectClose(y!.slice(0, 2 * n), reference(x.slice(0, 2 * n), n, -1), "f32", n);
    expect(y!.slice(2 * n).every(Number.isNaN)).toBe(true);
  });

  it("in two launches: factors between them", () => {
    const plan: ShaderPlan = { kind: "twice", n: 35, first: 5, second: 7 };
    const asked: PairTransform = { n: 35, inputs: 35, outputs: 35, sign: -1, scale: 1, from: "complex", to: "complex", half: "none" };
    const expr = (sizes: readonly number[]): Expr => ({ dtype: "float32", sizes, strides: [] }) as unknown as Expr;
    const launched: ShaderCall[] = [];
    const g = {
      capabilities: { seesTexels: false, roundsHalf: false },
      shader: (call: ShaderCall, _: unknown, outputs: readonly { sizes: readonly number[] }[]) => {
        launched.push(call);
        return outputs.map(({ sizes }) => expr(sizes));
      },
    } as unknown as GraphBuilder;
    const tables = shaderTables(plan, 2).map((t) => expr(t.shape));
    expect(emitShaders(g, plan, expr([3, 35, 2, 2]), tables, asked).sizes).toEqual([3, 35, 2, 2]);
    expect(launched.length).toBe(2);
  });
});

describe("attention", () => {
  const form = { element: "f32", width: 4, valueWidth: 8, isCausal: false, hasMask: true, drops: false, isUnrolled: false } as const;
  const params = {
    queries: 3,
    keys: 5,
    heads: 1,
    sharing: 1,
    scale: 0.5,
    maskBatch: 0,
    maskHead: 0,
    maskQuery: 5,
    maskKey: 1,
    threshold: 0,
    factor: 1,
  };
  const [q, k, v, dy] = [12, 20, 40, 24].map((count, i) => numbers(count, i + 1, 1)) as [number[], number[], number[], number[]];
  const mask = Array.from({ length: 15 }, (_, i) => (i < 5 || i % 4 === 0 ? -Infinity : 0.25));
  const buffers = { q: { shape: [1, 3, 4], values: q }, k: { shape: [1, 5, 4], values: k }, v: { shape: [1, 5, 8], values: v }, mask: { shape: [1, 1, 3, 5], values: mask } }; // prettier-ignore

  const forms = Object.entries(ATTENTION_TILES).flatMap(([name, tile]) => [false, true].map((isUnrolled) => ({ name, tile, isUnrolled })));
  it.each(forms)(
    "forward and backward by the $name tile, unrolled: $isUnrolled, where a query attends to no key",
    ({ tile, isUnrolled }) => {
      const own = { ...form, isUnrolled };
      const { y, softmax } = launch(attention(own, tile), { ...buffers, y: { shape: [1, 3, 8] }, softmax: { shape: [2, 1, 3] } }, params);
      const weights = [0, 1, 2].map((i) => {
        const scores = [0, 1, 2, 3, 4].map((j) => 0.5 * [0, 1, 2, 3].reduce((sum, e) => sum + q[4 * i + e]! * k[4 * j + e]!, 0) + mask[5 * i + j]!); // prettier-ignore
        const total = scores.reduce((sum, x) => sum + Math.exp(x), 0);
        return scores.map((x) => (total === 0 ? 0 : Math.exp(x) / total));
      });
      const want = weights.flatMap((row) => Array.from({ length: 8 }, (_, e) => row.reduce((sum, w, j) => sum + w * v[8 * j + e]!, 0)));
      expectClose(y!, want);
      expect(softmax![0]).toBe(Infinity);
      const dots = [0, 1, 2].map((i) => Array.from({ length: 8 }, (_, e) => dy[8 * i + e]! * want[8 * i + e]!).reduce((a, b) => a + b));
      const withGradient = {
        ...buffers,
        dy: { shape: [1, 3, 8], values: dy },
        statistics: { shape: [3, 1, 3], values: [...softmax!, ...dots] },
      };
      const { dq } = launch(attentionQueryGradient(own, tile), { ...withGradient, dq: { shape: [1, 3, 4] } }, params);
      const ofScores = weights.map((row, i) =>
        row.map(
          (w, j) => w * (Array.from({ length: 8 }, (_, e) => dy[8 * i + e]! * v[8 * j + e]!).reduce((a, b) => a + b) - dots[i]!) * 0.5,
        ),
      );
      expectClose(dq!, ofScores.flatMap((row) => [0, 1, 2, 3].map((e) => row.reduce((sum, x, j) => sum + x * k[4 * j + e]!, 0)))); // prettier-ignore
      const { dk, dv } = launch(
        attentionKeyGradient(own, tile),
        { ...withGradient, dk: { shape: [1, 5, 4] }, dv: { shape: [1, 5, 8] } },
        params,
      );
      expectClose(dk!, [0, 1, 2, 3, 4].flatMap((j) => [0, 1, 2, 3].map((e) => ofScores.reduce((sum, row, i) => sum + row[j]! * q[4 * i + e]!, 0)))); // prettier-ignore
      expectClose(dv!, [0, 1, 2, 3, 4].flatMap((j) => Array.from({ length: 8 }, (_, e) => weights.reduce((sum, row, i) => sum + row[j]! * dy[8 * i + e]!, 0)))); // prettier-ignore
    },
  );

  it.each([5, 140])("of few queries, each by a group, over %i keys", (count) => {
    const [many, values] = [numbers(count * 4, 5, 1), numbers(count * 8, 6, 1)];
    const own = Array.from({ length: 3 * count }, (_, i) => (i < count || i % 4 === 0 ? -Infinity : 0.25));
    const { y, softmax } = launch(
      fewQueryAttention(form),
      {
        q: buffers.q,
        k: { shape: [1, count, 4], values: many },
        v: { shape: [1, count, 8], values },
        mask: { shape: [1, 1, 3, count], values: own },
        y: { shape: [1, 3, 8] },
        softmax: { shape: [2, 1, 3] },
      },
      { ...params, keys: count, maskQuery: count },
    );
    const exps = [0, 1, 2].map((i) => Array.from({ length: count }, (_, j) => Math.exp(0.5 * [0, 1, 2, 3].reduce((sum, e) => sum + q[4 * i + e]! * many[4 * j + e]!, 0) + own[count * i + j]!))); // prettier-ignore
    const totals = exps.map((row) => row.reduce((a, b) => a + b));
    const want = exps.flatMap((row, i) => Array.from({ length: 8 }, (_, e) => (totals[i] === 0 ? 0 : row.reduce((sum, w, j) => sum + w * values[8 * j + e]!, 0) / totals[i]!))); // prettier-ignore
    expectClose(y!, want, "f32", 16);
    expectClose(
      [1, 2].map((i) => softmax![i]! + Math.log(softmax![3 + i]!)),
      totals.slice(1).map(Math.log),
      "f32",
      16,
    );
    expect(softmax![0]).toBe(Infinity);
  });

  it("of a number that is none", () => {
    const odd = { ...buffers.q, values: q.map((x, i) => (i === 5 ? NaN : x)) };
    const { y } = launch(attention(form), { ...buffers, q: odd, y: { shape: [1, 3, 8] }, softmax: { shape: [2, 1, 3] } }, params);
    expect([0, 1, 2].map((i) => y!.slice(8 * i, 8 * i + 8).every(Number.isNaN))).toEqual([false, true, false]);
  });
});
