/** Attention, caches and parts of an axis in compiled functions of any length: one program for each bucket, the values of eager calls. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { choosesShader } from "../../src/shader/choice.ts";
import { eachDevice } from "../device.ts";

const values = (t: dx.Tensor): number[] => [...dx.noGrad(() => t.detach()).dataSync()].map(Number);

function expectAlike(got: dx.Tensor, want: dx.Tensor, what: string): void {
  expect([what, got.dtype, got.shape]).toEqual([what, want.dtype, want.shape]);
  const [a, b] = [values(got), values(want)];
  const scale = Math.max(1, ...b.filter(Number.isFinite).map(Math.abs));
  const at = b.findIndex((v, i) => !(Object.is(v, a[i]) || v === a[i] || Math.abs(v - a[i]!) <= 1e-4 * scale));
  if (at >= 0) expect([what, at, a[at]]).toEqual([what, at, b[at]]);
}

const noise = (shape: readonly number[], seed: number, requiresGrad = false): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => Math.sin((i + 1) * 12.9898 * (seed + 1))),
    { shape, requiresGrad },
  );

type Fn = (...args: dx.Tensor[]) => dx.Tensor | dx.Tensor[];

/** The same calls eagerly and compiled; programs: how many serve them. */
function agrees(
  make: () => { readonly call: Fn; readonly state?: readonly dx.Tensor[] },
  calls: readonly (readonly number[])[],
  inputs: (sizes: readonly number[], call: number) => dx.Tensor[],
  options: dx.CompileOptions & { readonly programs: number },
): void {
  const { programs, ...rest } = options;
  const [eager, other] = [make(), make()];
  const compiled = dx.compile(other.call, rest);
  calls.forEach((sizes, i) => {
    const what = `sizes ${sizes.join()}, call ${i}`;
    const [want, got] = [eager.call(...inputs(sizes, i)), compiled(...inputs(sizes, i))].map((r) => [r].flat());
    expect(got!.length).toBe(want!.length);
    want!.forEach((t, k) => {
      expectAlike(got![k]!, t, `${what}, result ${k}`);
    });
    (eager.state ?? []).forEach((t, k) => {
      expectAlike(other.state![k]!, t, `state ${k} after ${what}`);
    });
  });
  expect([compiled.programs, compiled.explain().recordings]).toEqual([programs, expect.anything()]);
  compiled.dispose();
}

const LENGTHS = [17, 24, 18, 23, 20, 17, 5, 6, 1, 2].map((l) => [l]);
/** For 17 to 24, 5 and 6, 1, 2. */
const PROGRAMS = 4;

/** Whether few queries are attended by a shader of their own: up to eight, so that 5 and 6 have a program each. */
const attendsByFew = (device: string): boolean =>
  choosesShader(nativeDevice(dx.device(device)).capabilities, false, "fewQueryAttention", { dtype: "float32", extent: 64, isPacked: true });

const heads = (x: dx.Tensor, f: (q: dx.Tensor) => dx.Tensor): dx.Tensor => {
  const [n, l, e] = x.shape as [number, number, number];
  return f(x.reshape([n, l, 4, e / 4]).transpose(1, 2))
    .transpose(1, 2)
    .reshape([n, l, e]);
};

const additive = (m: dx.Tensor): dx.Tensor => m.sub(1).mul(1e9);
const table = noise([512, 16], 3);

const split: Record<string, (x: dx.Tensor, m: dx.Tensor) => dx.Tensor> = {
  "split heads": (x) => heads(x, (q) => q),
  "split heads and attention": (x) => heads(x, (q) => dx.scaledDotProductAttention(q, q, q)),
  "split heads and attention by a mask": (x, m) =>
    heads(x, (q) => dx.scaledDotProductAttention(q, q, q, { mask: additive(m.reshape([m.shape[0]!, 1, 1, m.shape[1]!])) })),
  "positions up to the length": (x) => x.add(table.slice(0, 0, x.shape[1]!)),
  "a mean by a mask": (x, m) => x.mul(m.unsqueeze(-1)).sum(1).div(m.unsqueeze(-1).sum(1)),
};

const attend: Record<string, (q: dx.Tensor, m: dx.Tensor) => dx.Tensor> = {
  "no mask": (q) => dx.scaledDotProductAttention(q, q, q),
  "a mask [n, 1, 1, l]": (q, m) => dx.scaledDotProductAttention(q, q, q, { mask: additive(m.reshape([m.shape[0]!, 1, 1, m.shape[1]!])) }),
  "a mask by unsqueeze": (q, m) => dx.scaledDotProductAttention(q, q, q, { mask: additive(m.unsqueeze(1).unsqueeze(1)) }),
  "a mask of bool": (q, m) => dx.scaledDotProductAttention(q, q, q, { mask: m.gt(0.5).unsqueeze(1).unsqueeze(1) }),
  "products and softmax": (q, m) =>
    q
      .matmul(q.transpose(2, 3))
      .add(additive(m.unsqueeze(1).unsqueeze(1)))
      .softmax(-1)
      .matmul(q),
  causal: (q) => dx.scaledDotProductAttention(q, q, q, { causal: true }),
};

/** 1 for all but the first `i` keys. */
const maskOf = (n: number, l: number, i: number): dx.Tensor =>
  dx.tensor(
    Array.from({ length: n * l }, (_, k) => (k % l < Math.min(i, l - 1) ? 0 : 1)),
    { shape: [n, l] },
  );

eachDevice("attention of any length", (device) => {
  it.each(Object.keys(split))("%s", (name) => {
    agrees(
      () => ({ call: (x, m) => dx.noGrad(() => split[name]!(x!, m!)) }),
      LENGTHS,
      ([l], i) => [noise([8, l!, 16], i), maskOf(8, l!, i)],
      { dynamic: [[1], [1]], programs: PROGRAMS },
    );
  });

  it.each(Object.keys(attend))("%s, and its gradients, where the length or the batch too is dynamic", (name) => {
    const call: Fn = (q, m) => {
      const y = attend[name]!(q!, m!);
      return [y.detach(), dx.grad(y.mul(y).sum(), [q!])[0]!];
    };
    agrees(
      () => ({ call }),
      LENGTHS,
      ([l], i) => [noise([2, 4, l!, 8], i, true), maskOf(2, l!, i)],
      { dynamic: [[2], [1]], programs: PROGRAMS },
    );
    agrees(
      () => ({ call }),
      [
        [17, 5],
        [24, 6],
        [18, 5],
        [6, 6],
        [5, 6],
        [6, 5],
        [1, 5],
        [7, 1],
      ],
      // Where both are 6 first, they are taken for one size.
      ([l, n], i) => [noise([n!, 4, l!, 8], i, true), maskOf(n!, l!, i)],
      {
        dynamic: [
          [0, 2],
          [0, 1],
        ],
        programs: 5,
      },
    );
  });

  it("the batch of causal attention: 20-compiled-dynamic-attention of issue 38", () => {
    const f = dx.compile((q: dx.Tensor) => dx.scaledDotProductAttention(q, q, q, { causal: true }).sum(), { dynamic: [0] });
    expect([5, 7, 8].map((n) => f(dx.ones([n, 3, 4, 2])).itemSync())).toEqual([120, 168, 192]);
    f.dispose();
  });

  it("drops out weights of the true length, and takes keys of another length than queries", () => {
    agrees(
      () => ({ call: (q, k) => dx.scaledDotProductAttention(q!, k!, k!, { dropout: 0 }) }),
      [
        [17, 9],
        [24, 12],
        [20, 9],
        [18, 12],
        [17, 17],
        [24, 24],
      ],
      ([l, s], i) => [noise([2, l!, 8], i), noise([2, s!, 8], i + 1)],
      { dynamic: [[1], [1]], programs: 2 },
    );
    dx.manualSeed(3);
    const f = dx.compile((q: dx.Tensor) => dx.scaledDotProductAttention(q, q.mul(0), dx.onesLike(q), { dropout: 0.5 }), { dynamic: [[1]] });
    for (const l of [150, 190, 160]) {
      const mean = values(f(noise([1, l, 4], 1)).mean())[0]!;
      expect([l, Math.abs(mean - 1) < 0.15]).toEqual([l, true]);
    }
    expect(f.programs).toBe(1);
    f.dispose();
  });

  const [H, D, T, V] = [2, 8, 64, 50];
  const embeddings = noise([V, H * D], 1);
  const [wq, wk] = [noise([H * D, H * D], 2).mul(0.3), noise([H * D, H * D], 4).mul(0.3)];
  const frequencies = dx
    .arange(D / 2)
    .mul(-0.5)
    .exp();

  it.each(["slice", "index", "attention by hand, slice", "attention by hand, index"])(
    "one program fills a cache with prompts of several lengths: last row by %s",
    (way) => {
      const make = (): { call: Fn; state: dx.Tensor[] } => {
        const cache = dx.zeros([1, H, T, D]);
        const call: Fn = (ids, positions, at) => {
          const x = dx.nn.functional.embedding(ids!, embeddings);
          const [n, l] = ids!.shape as [number, number];
          const angle = positions!.to("float32").unsqueeze(-1).mul(frequencies);
          const rotated = (t: dx.Tensor): dx.Tensor =>
            dx.rotaryEmbedding(t.reshape([n, l, H, D]).transpose(1, 2), angle.cos(), angle.sin());
          const [q, k] = [rotated(x.matmul(wq)), rotated(x.matmul(wk))];
          cache.indexCopy_(2, positions!, k);
          const mask = dx.arange(T, { dtype: "int32" }).unsqueeze(0).le(positions!.to("int32").unsqueeze(-1));
          const seen = way.includes("by hand")
            ? dx
                .where(mask, q.matmul(cache.transpose(2, 3)), -Infinity)
                .softmax(-1)
                .matmul(cache)
            : dx.scaledDotProductAttention(q, cache, cache, { mask });
          const y = seen.transpose(1, 2).reshape([n, l, H * D]);
          return way.endsWith("slice") ? y.slice(1, -1).reshape([-1]) : y.indexSelect(1, at!).reshape([-1]);
        };
        return { call: (...args) => dx.noGrad(() => call(...args)), state: [cache] };
      };
      agrees(
        make,
        LENGTHS,
        ([l], i) => [
          dx.tensor(
            Array.from({ length: l! }, (_, k) => (7 * k + i) % V),
            { shape: [1, l!], dtype: "int64" },
          ),
          // From the second index on, so that the cache beyond the prompt stays.
          dx.arange(l!, { dtype: "int64" }).add(i % 3),
          dx.tensor([l! - 1], { dtype: "int64" }),
        ],
        { dynamic: [[1], [0], null], programs: PROGRAMS + Number(!way.includes("by hand") && attendsByFew(device)) },
      );
    },
  );

  /** A decoder of one block with rotary positions. */
  class Decoder extends dx.nn.Module {
    embed = dx.nn.embedding(V, H * D);
    norm = dx.nn.layerNorm([H * D]);
    qkv = dx.nn.linear(H * D, 3 * H * D);
    out = dx.nn.linear(H * D, H * D);
    up = dx.nn.linear(H * D, 4 * H * D);
    down = dx.nn.linear(4 * H * D, H * D);
    head = dx.nn.linear(H * D, V);

    forward(ids: dx.Tensor): dx.Tensor {
      return this.run(ids, null)[0];
    }

    /** keys and values before; gives scores, keys and values with those of ids behind. */
    run(ids: dx.Tensor, past: readonly dx.Tensor[] | null): [dx.Tensor, dx.Tensor, dx.Tensor] {
      const [n, l] = ids.shape as [number, number];
      const before = past === null ? 0 : past[0]!.shape[2]!;
      const x = this.embed.forward(ids);
      const [q, k, v] = this.qkv
        .forward(this.norm.forward(x))
        .chunk(3, -1)
        .map((t) => t.view(n, l, H, D).transpose(1, 2)) as [dx.Tensor, dx.Tensor, dx.Tensor];
      const angle = dx
        .arange(before + l, { start: before })
        .unsqueeze(-1)
        .mul(frequencies);
      const turn = (t: dx.Tensor): dx.Tensor => dx.rotaryEmbedding(t, angle.cos(), angle.sin());
      const all = (old: dx.Tensor | undefined, t: dx.Tensor): dx.Tensor => (old === undefined ? t : dx.cat([old, t], 2));
      const [keys, stored] = [all(past?.[0], turn(k)), all(past?.[1], v)];
      const seen = dx.scaledDotProductAttention(turn(q), keys, stored, { causal: past === null });
      const y = x.add(this.out.forward(seen.transpose(1, 2).reshape([n, l, H * D])));
      const z = y.add(this.down.forward(dx.gelu(this.up.forward(y))));
      return [this.head.forward(z), keys, stored];
    }
  }

  const ids = (n: number, l: number, i: number): dx.Tensor =>
    dx.tensor(
      Array.from({ length: n * l }, (_, k) => (5 * k + 3 * i) % V),
      { shape: [n, l], dtype: "int64" },
    );

  it("a decoder reads prompts, and appends tokens to caches that grow", () => {
    dx.manualSeed(5);
    const model = new Decoder();
    const prefill: Fn = (x) => dx.noGrad(() => model.run(x!, null).map((t, i) => (i === 0 ? t.slice(1, -1) : t)));
    const step: Fn = (x, k, v) => dx.noGrad(() => model.run(x!, [k!, v!]));
    const [reads, appends] = [dx.compile(prefill, { dynamic: [[0, 1]] }), dx.compile(step, { dynamic: [[0], [0, 2], [0, 2]] })];
    for (const [n, l] of [
      [3, 17],
      [3, 19],
      [3, 24],
    ] as const) {
      let [want, got] = [prefill(ids(n, l, 1)), reads(ids(n, l, 1))] as [dx.Tensor[], dx.Tensor[]];
      for (let i = 0; i < 4; i++) {
        want.forEach((t, k) => {
          expectAlike(got[k]!, t, `prompt ${n}, ${l}, token ${i}, result ${k}`);
        });
        const token = ids(n, 1, i);
        [want, got] = [step(token, want[1]!, want[2]!), appends(token, got[1]!, got[2]!)] as [dx.Tensor[], dx.Tensor[]];
      }
    }
    expect([reads.programs, reads.explain().recordings]).toEqual([1, expect.anything()]);
    // Caches of 17 to 24 positions, and of 25 to 27; those of prompts have their values transposed.
    expect([appends.programs, appends.explain().recordings]).toEqual([3, expect.anything()]);
    reads.dispose();
    appends.dispose();
  });

  it("a decoder learns from batches of any number and length", () => {
    agrees(
      () => {
        dx.manualSeed(7);
        const model = new Decoder();
        const optimizer = dx.optim.adam(model.parameters(), { lr: 0.01 });
        const call: Fn = (x) => {
          const [n, l] = x!.shape as [number, number];
          const scores = model.forward(x!.slice(1, 0, -1));
          const labels = x!.slice(1, 1).reshape([n * (l - 1)]);
          const loss = dx.nn.functional.crossEntropy(scores.reshape([n * (l - 1), V]), labels);
          optimizer.zeroGrad();
          loss.backward();
          optimizer.step();
          return loss.detach();
        };
        return { call, state: model.parameters() };
      },
      [
        [5, 9],
        [6, 12],
        [5, 10],
        [6, 9],
        [5, 12],
        [4, 11],
        [4, 9],
      ],
      ([n, l], i) => [ids(n!, l!, i)],
      // Fused programs round otherwise than eager calls, which Adam's steps enlarge.
      { dynamic: [[0, 1]], fuse: "off", programs: 2 },
    );
  });

  it("gradients flow out through the results of a program of another size", () => {
    const w = noise([8, 8], 2, true);
    const fn = (x: dx.Tensor): dx.Tensor[] => {
      const q = x.matmul(w);
      const y = dx.scaledDotProductAttention(q, q, q, { causal: true });
      return [y.slice(1, -1), y.reshape([-1, 8])];
    };
    const f = dx.compile(fn, { dynamic: [[0, 1]] });
    for (const [n, l] of [
      [5, 9],
      [6, 12],
      [5, 10],
      [6, 11],
    ] as const) {
      const results = [fn, f].map((call) => {
        w.grad = null;
        const x = noise([n, l, 8], n + l, true);
        const [a, b] = call(x) as [dx.Tensor, dx.Tensor];
        a.square().sum().add(b.mul(0.5).sum()).backward();
        return [x.grad!, w.grad!] as dx.Tensor[];
      });
      results[0]!.forEach((t, i) => {
        expectAlike(results[1]![i]!, t, `gradient ${i} of ${n}, ${l}`);
      });
    }
    expect(f.programs).toBe(1);
    f.dispose();
  });
});
