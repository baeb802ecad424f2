/** Attention by shaders against float64, with its gradients, and against the composed form. */
import { afterEach, beforeEach, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { expectClose } from "../shader/kernels/support.ts";
import { eachDevice, eachMode, numbers } from "../device.ts";

/** A CPU adapter compiles some of these shaders for half a minute. */
const SLOW = { timeout: 300_000 };

let before: string | undefined;
beforeEach(() => {
  before = process.env.DXTENSOR_SHADERS;
  process.env.DXTENSOR_SHADERS = "on";
});
afterEach(() => {
  if (before === undefined) delete process.env.DXTENSOR_SHADERS;
  else process.env.DXTENSOR_SHADERS = before;
});

interface Sizes {
  readonly batch: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly queries: number;
  readonly keys: number;
  readonly width: number;
  readonly valueWidth: number;
  readonly isCausal?: boolean;
  /** [batch or 1, heads or 1, queries or 1, keys or 1]. */
  readonly mask?: readonly number[];
}

interface Reference {
  readonly y: number[];
  readonly dq: number[];
  readonly dk: number[];
  readonly dv: number[];
}

/** Attention and its gradients for the gradient dy, in float64. */
function reference(s: Sizes, q: number[], k: number[], v: number[], dy: number[], mask: number[] | null): Reference {
  const scale = 1 / Math.sqrt(s.width);
  const made = { y: new Array<number>(dy.length).fill(0), dq: q.map(() => 0), dk: k.map(() => 0), dv: v.map(() => 0) };
  for (let b = 0; b < s.batch; b++)
    for (let h = 0; h < s.heads; h++)
      for (let i = 0; i < s.queries; i++) {
        const row = (b * s.heads + h) * s.queries + i;
        const head = b * s.keyHeads + Math.floor(h / (s.heads / s.keyHeads));
        const scores = Array.from({ length: s.keys }, (_, j) => {
          if (s.isCausal === true && j > i) return -Infinity;
          let dot = 0;
          for (let e = 0; e < s.width; e++) dot += q[row * s.width + e]! * k[(head * s.keys + j) * s.width + e]!;
          const at = (s.mask ?? []).reduce((sum, size, axis) => sum * size + (size === 1 ? 0 : [b, h, i, j][axis]!), 0);
          return dot * scale + (mask === null ? 0 : mask[at]!);
        });
        const max = Math.max(...scores);
        if (max === -Infinity) continue;
        const exps = scores.map((x) => Math.exp(x - max));
        const total = exps.reduce((a, x) => a + x, 0);
        const p = exps.map((x) => x / total);
        const gradients = p.map((x, j) => {
          let dot = 0;
          for (let e = 0; e < s.valueWidth; e++) {
            const [own, at] = [row * s.valueWidth + e, (head * s.keys + j) * s.valueWidth + e];
            made.y[own]! += x * v[at]!;
            made.dv[at]! += x * dy[own]!;
            dot += dy[own]! * v[at]!;
          }
          return dot;
        });
        const mean = p.reduce((sum, x, j) => sum + x * gradients[j]!, 0);
        p.forEach((x, j) => {
          for (let e = 0; e < s.width; e++) {
            const [own, at] = [row * s.width + e, (head * s.keys + j) * s.width + e];
            made.dq[own]! += x * (gradients[j]! - mean) * scale * k[at]!;
            made.dk[at]! += x * (gradients[j]! - mean) * scale * q[own]!;
          }
        });
      }
  return made;
}

const CASES: readonly (readonly [name: string, sizes: Sizes])[] = [
  ["of one key", { batch: 1, heads: 1, keyHeads: 1, queries: 1, keys: 1, width: 4, valueWidth: 4 }],
  ["of part of a block", { batch: 2, heads: 3, keyHeads: 3, queries: 5, keys: 7, width: 8, valueWidth: 12 }],
  ["of several blocks", { batch: 1, heads: 2, keyHeads: 2, queries: 70, keys: 131, width: 20, valueWidth: 68 }],
  ["causal", { batch: 1, heads: 2, keyHeads: 2, queries: 130, keys: 130, width: 16, valueWidth: 16, isCausal: true }],
  ["causal, fewer keys", { batch: 1, heads: 1, keyHeads: 1, queries: 130, keys: 66, width: 16, valueWidth: 16, isCausal: true }],
  ["causal, more keys", { batch: 1, heads: 1, keyHeads: 1, queries: 66, keys: 130, width: 16, valueWidth: 16, isCausal: true }],
  ["with heads that share keys", { batch: 2, heads: 6, keyHeads: 2, queries: 9, keys: 65, width: 32, valueWidth: 64 }],
  ["of the greatest widths", { batch: 1, heads: 1, keyHeads: 1, queries: 65, keys: 65, width: 128, valueWidth: 128 }],
  ["with a mask of each element", { batch: 2, heads: 2, keyHeads: 2, queries: 5, keys: 70, width: 8, valueWidth: 8, mask: [2, 2, 5, 70] }],
  ["with a mask of keys", { batch: 2, heads: 2, keyHeads: 1, queries: 5, keys: 70, width: 8, valueWidth: 8, mask: [2, 1, 1, 70] }],
  [
    "of few queries and many keys",
    { batch: 2, heads: 6, keyHeads: 2, queries: 3, keys: 300, width: 64, valueWidth: 64, mask: [2, 1, 1, 300] },
  ],
  ["of few queries with odd widths", { batch: 1, heads: 2, keyHeads: 2, queries: 2, keys: 129, width: 18, valueWidth: 68 }],
  ["with a mask of queries", { batch: 2, heads: 2, keyHeads: 2, queries: 5, keys: 70, width: 8, valueWidth: 8, mask: [1, 2, 5, 1] }],
];

const random = (shape: readonly number[], seed: number): dx.Tensor => dx.randn([...shape], { generator: new dx.Generator(seed) });

eachMode("attention by shaders", (device, mode) => {
  it.each(CASES)("%s", SLOW, (_, sizes) => {
    const { batch, heads, keyHeads, queries, keys, width, valueWidth, isCausal = false } = sizes;
    const q = random([batch, heads, queries, width], 1);
    const k = random([batch, keyHeads, keys, width], 2);
    const v = random([batch, keyHeads, keys, valueWidth], 3);
    const dy = random([batch, heads, queries, valueWidth], 4);
    // A third of the keys does not count, for some queries none does.
    const mask = sizes.mask === undefined ? null : dx.tensor(numbers(random(sizes.mask, 5)).map((x, i) => (i % 3 === 0 ? -Infinity : x)), { dtype: "float32", shape: [...sizes.mask] }); // prettier-ignore
    const compiled = dx.counters(device).shadersCompiled;
    const results = mode.run(
      (a, b, c, d, ...m) => {
        const leaves = [a, b, c].map((t) => t!.detach().requiresGrad_());
        const y = dx.scaledDotProductAttention(leaves[0]!, leaves[1]!, leaves[2]!, { isCausal, attnMask: m[0] ?? null, enableGqa: true });
        return [y.detach(), ...dx.grad(y.mul(d!).sum(), leaves)] as dx.Tensor[];
      },
      q,
      k,
      v,
      dy,
      ...(mask === null ? [] : [mask]),
    );
    expect(dx.counters(device).shadersCompiled).toBeGreaterThanOrEqual(compiled);
    const want = reference(sizes, numbers(q), numbers(k), numbers(v), numbers(dy), mask === null ? null : numbers(mask));
    [want.y, want.dq, want.dk, want.dv].forEach((expected, i) => expectClose(numbers(results[i]!), expected, "f32", 64));
  });
});

/** The lowest float32, as masks of PyTorch's models have it, and another number by which scores are rounded away. */
const LOW = [-(2 - 2 ** -23) * 2 ** 127, -1e9];

eachMode("attention by shaders under a mask of finite numbers", (device, mode) => {
  it.each(LOW.flatMap((low) => [3, 9].map((queries) => [low, queries] as const)))("%s, %i queries", SLOW, (low, queries) => {
    const [q, k, v, dy] = [[queries, 8], [70, 8], [70, 8], [queries, 8]].map((size, i) => random([1, 1, ...size], i + 1)) as [dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor]; // prettier-ignore
    const mask = dx.full([1, 1, queries, 70], low, { device });
    const [y, dq, dk, dv] = mode
      .run(
        (a, b, c, d, m) => {
          const leaves = [a, b, c].map((t) => t!.detach().requiresGrad_());
          const made = dx.scaledDotProductAttention(leaves[0]!, leaves[1]!, leaves[2]!, { attnMask: m! });
          return [made.detach(), ...dx.grad(made.mul(d!).sum(), leaves)] as dx.Tensor[];
        },
        q,
        k,
        v,
        dy,
        mask,
      )
      .map((t) => numbers(t));
    // All scores are one number: each key has the same weight.
    const [keys, values, gradients, queryRows] = [k, v, dy, q].map((t) => numbers(t)) as [number[], number[], number[], number[]];
    const at = (list: readonly number[], row: number, e: number): number => list[8 * row + e]!;
    const rows = Array.from({ length: queries }, (_, i) => i);
    const columns = Array.from({ length: 70 }, (_, j) => j);
    const sumOf = (list: readonly number[], fn: (i: number) => number): number => list.reduce((sum, i) => sum + fn(i), 0);
    const features = [0, 1, 2, 3, 4, 5, 6, 7];
    const mean = features.map((e) => sumOf(columns, (j) => at(values, j, e)) / 70);
    const ofScore = (i: number, j: number): number => sumOf(features, (e) => at(gradients, i, e) * (at(values, j, e) - mean[e]!)) / 70 / Math.sqrt(8); // prettier-ignore
    expectClose(y!, rows.flatMap(() => mean), "f32", 64); // prettier-ignore
    expectClose(dq!, rows.flatMap((i) => features.map((e) => sumOf(columns, (j) => ofScore(i, j) * at(keys, j, e)))), "f32", 64); // prettier-ignore
    expectClose(dk!, columns.flatMap((j) => features.map((e) => sumOf(rows, (i) => ofScore(i, j) * at(queryRows, i, e)))), "f32", 64); // prettier-ignore
    expectClose(dv!, columns.flatMap(() => features.map((e) => sumOf(rows, (i) => at(gradients, i, e) / 70))), "f32", 64); // prettier-ignore
  });
});

const PROBABILITY = 0.3;

/** Attention with its gradients by shaders and composed, from the same random numbers, and the generator's next numbers. */
function byBoth(
  operands: readonly dx.Tensor[],
  options: dx.AttentionOptions,
  runs: (fn: (...x: dx.Tensor[]) => dx.Tensor[], ...x: dx.Tensor[]) => dx.Tensor[],
): readonly (readonly number[][])[] {
  return ["on", "off"].map((shaders) => {
    process.env.DXTENSOR_SHADERS = shaders;
    const generator = new dx.Generator(11);
    const results = runs((q, k, v, dy, ...mask) => {
      const leaves = [q, k, v].map((t) => t!.detach().requiresGrad_());
      const y = dx.scaledDotProductAttention(leaves[0]!, leaves[1]!, leaves[2]!, { ...options, generator, attnMask: mask[0] ?? null, enableGqa: true }); // prettier-ignore
      return [y.detach(), ...dx.grad(y.mul(dy!).sum(), leaves)] as dx.Tensor[];
    }, ...operands); // prettier-ignore
    return [...results, dx.rand([3], { generator })].map(numbers);
  });
}

/** Of width 5, so that all of these tests have the same few shaders: pipelines take seconds on a driver for the processor. */
const shapes = (queries: number, keys: number, width: number): number[][] => [
  [2, 4, queries, width],
  [2, 2, keys, width],
  [2, 2, keys, width + 3],
  [2, 4, queries, width + 3],
];
const randomOf = (list: readonly number[][]): dx.Tensor[] => list.map((shape, i) => random(shape, i + 1));
const composedCalls = (): number => dx.fallbackStats().reduce((n, r) => n + (r.kind === "composed" ? r.calls : 0), 0);

eachDevice("attention by shaders and composed", () => {
  it.each([false, true])("drops the same weights, causal: %s", SLOW, (isCausal) => {
    const [got, want] = byBoth(randomOf(shapes(9, 68, 5)), { dropoutP: PROBABILITY, isCausal }, (fn, ...x) => fn(...x));
    got!.forEach((x, i) => expectClose(x, want![i]!, "f32", 64));
    // Other numbers drop others.
    expect(got![0]).not.toEqual(byBoth(randomOf(shapes(9, 68, 5)), { isCausal }, (fn, ...x) => fn(...x))[0]![0]);
  });

  it("drops the same weights in compiled functions, and others in the next call", () => {
    const compiled = (fn: (...x: dx.Tensor[]) => dx.Tensor[], ...x: dx.Tensor[]): dx.Tensor[] => {
      const made = dx.compile(fn);
      return [...made(...x), ...made(...x)];
    };
    const [got, want] = byBoth(randomOf(shapes(5, 8, 5)), { dropoutP: PROBABILITY }, compiled);
    got!.forEach((x, i) => expectClose(x, want![i]!, "f32", 64));
    expect(got![4]).not.toEqual(got![0]);
  });

  it("has gradients of gradients, with the weights dropped that were", () => {
    const second = (shaders: string): number[] => {
      process.env.DXTENSOR_SHADERS = shaders;
      const [q, k, v] = randomOf(shapes(3, 4, 5)).map((t) => t.requiresGrad_()) as [dx.Tensor, dx.Tensor, dx.Tensor];
      const y = dx.scaledDotProductAttention(q, k, v, { dropoutP: PROBABILITY, generator: new dx.Generator(3), enableGqa: true });
      const [dq] = dx.grad(y.square().sum(), [q], { createGraph: true });
      return dx.grad(dq!.square().sum(), [q, k, v]).flatMap((t) => numbers(t!));
    };
    expectClose(second("on"), second("off"), "f32", 256);
  });

  it("takes float16", SLOW, () => {
    const operands = randomOf(shapes(9, 70, 5)).map((t) => t.to("float16"));
    const [got, want] = byBoth(operands, {}, (fn, ...x) => fn(...x));
    got!.forEach((x, i) => expectClose(x, want![i]!, "f16", 256));
    const [y] = operands.map((t) => t.to("float32"));
    expect(y!.dtype).toBe("float32");
    const wide = byBoth(operands.map((t) => t.to("float32")), {}, (fn, ...x) => fn(...x))[1]!; // prettier-ignore
    got!.slice(0, 4).forEach((x, i) => expectClose(x, wide[i]!, "f16", 64));
  });

  it("is NaN where a score is, masked or not, and 0 where no key counts", () => {
    const [q, k, v, dy] = randomOf(shapes(3, 4, 5)) as [dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor];
    const values = numbers(q).map((x, i) => (i === 6 ? NaN : x));
    const odd = dx.tensor(values, { dtype: "float32", shape: [...q.shape] });
    // The first query attends to no key. The second one's scores are NaN.
    const mask = dx.tensor([...new Array<boolean>(4).fill(false), true, false, true, true, true, true, true, false], { shape: [3, 4] });
    for (const [y] of byBoth([odd, k, v, dy, mask], {}, (fn, ...x) => fn(...x))) {
      expect(y!.slice(0, 8)).toEqual(new Array(8).fill(0));
      expect(y!.slice(8, 16).every(Number.isNaN)).toBe(true);
      expect(y!.slice(16).some(Number.isNaN)).toBe(false);
    }
  });

  it("counts what shaders do not compute", () => {
    const wide = randomOf([[1, 1, 2, 132], [1, 1, 3, 132], [1, 1, 3, 4]]) as [dx.Tensor, dx.Tensor, dx.Tensor]; // prettier-ignore
    const before = composedCalls();
    dx.scaledDotProductAttention(...wide);
    expect(composedCalls()).toBe(before + 1);
    const few = randomOf([[2, 4], [3, 4], [3, 4]]) as [dx.Tensor, dx.Tensor, dx.Tensor]; // prettier-ignore
    dx.scaledDotProductAttention(...few);
    expect(composedCalls()).toBe(before + 1);
    dx.scaledDotProductAttention(...few, { dropoutP: 0.5 });
    expect(dx.fallbackStats().find((r) => r.kind === "composed")).toMatchObject({ operation: "scaledDotProductAttention", calls: before + 2 }); // prettier-ignore
  });
});
