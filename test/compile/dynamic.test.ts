import * as fc from "fast-check";
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";
import { isWhole } from "../share.ts";
import { programOf } from "./dynamic-programs.ts";

/** DXTENSOR_FUZZ_DYNAMIC: how many random functions. */
const PROGRAMS = Number(process.env.DXTENSOR_FUZZ_DYNAMIC ?? (isWhole ? 200 : 5));

const values = (t: dx.Tensor): number[] => [...dx.noGrad(() => t.detach()).dataSync()].map(Number);

/** Fails unless both are alike, up to what another order of sums makes of them. */
function expectAlike(got: readonly dx.Tensor[], want: readonly dx.Tensor[], what: string): void {
  const kinds = (list: readonly dx.Tensor[]): string[] => [what, ...list.map((t) => `${t.dtype} ${t.shape.join()}`)];
  expect(kinds(got)).toEqual(kinds(want));
  want.forEach((t, i) => {
    const [a, b] = [values(got[i]!), values(t)];
    const scale = Math.max(1, ...b.filter(Number.isFinite).map(Math.abs));
    const at = b.findIndex((v, k) => !(Object.is(v, a[k]) || v === a[k] || Math.abs(v - a[k]!) <= 1e-3 * scale));
    if (at >= 0) expect([what, i, at, a]).toEqual([what, i, at, b]);
  });
}

/** What it gives, or says. */
function attempt(fn: () => dx.Tensor[]): dx.Tensor[] | string {
  try {
    return fn();
  } catch (error) {
    if (error instanceof dx.DxError) return error.message;
    throw error;
  }
}

const noise = (n: number, seed: number): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.sin((i + 1) * 12.9898 * (seed + 1)) * 1.7);

eachDevice("compile with dynamic axes", () => {
  const matrix = (n: number, seed: number, requiresGrad = false): dx.Tensor =>
    dx.tensor(noise(3 * n, seed), { shape: [n, 3], requiresGrad });
  const line = (n: number, seed: number): dx.Tensor => dx.tensor(noise(n, seed), { shape: [n] });

  it(
    "does what random functions do eagerly, for every size, after calls full of NaN",
    () => {
      let padded = 0;
      let refused = 0;
      fc.assert(
        fc.property(
          fc.array(fc.nat(1000), { minLength: 8, maxLength: 24 }),
          fc.array(fc.integer({ min: 1, max: 13 }), { minLength: 2, maxLength: 3 }),
          (choices, sizes) => {
            const { run } = programOf(choices);
            const weight = dx.tensor(noise(9, 5), { shape: [3, 3], requiresGrad: true });
            const call = dx.compile(run, { dynamic: [[0], [0]] });
            for (const n of sizes) {
              // The content of the padding afterwards.
              const bucket = n < 2 ? n : 2 ** Math.ceil(Math.log2(n));
              attempt(() => call(dx.full([bucket, 3], NaN), dx.full([bucket], NaN), weight));
              for (let i = 0; i < 3; i++) {
                const [x, y] = [matrix(n, i, i > 0), line(n, i)];
                const [got, want] = [call, run].map((f) => attempt(() => f(x, y, weight)));
                const what = `size ${n}, call ${i}, choices ${choices.join()}`;
                if (typeof got === "string" && got.includes("can leave padding out")) {
                  refused++;
                  return;
                }
                if (typeof got === "string" || typeof want === "string") expect([what, got]).toEqual([what, want]);
                else expectAlike(got!, want!, what);
              }
            }
            padded += call.explain().recordings.filter((r) => r.startsWith("sizes up to")).length;
            call.dispose();
          },
        ),
        { numRuns: PROGRAMS, seed: Number(process.env.DXTENSOR_FUZZ_SEED ?? 7) },
      );
      expect(padded).toBeGreaterThan(PROGRAMS);
      expect(refused).toBeLessThan(PROGRAMS / 10);
    },
    PROGRAMS * 6000,
  );

  /** The same calls on fresh state, eagerly and compiled. */
  function agrees(
    make: () => { readonly call: (...args: dx.Tensor[]) => dx.Tensor[]; readonly state?: readonly dx.Tensor[] },
    sizes: readonly number[],
    input: (n: number, call: number) => dx.Tensor[],
    options: dx.CompileOptions & { readonly programs: number },
  ): void {
    const [eager, other] = [make(), make()];
    const { programs, ...rest } = options;
    const compiled = dx.compile(other.call, rest);
    sizes.forEach((n, i) => {
      const [a, b] = [input(n, i), input(n, i)];
      const [want, got] = [eager.call(...a), compiled(...b)];
      expectAlike(got, want, `size ${n}, call ${i}`);
      expectAlike(b, a, `arguments of size ${n}, call ${i}`);
      expectAlike(other.state ?? [], eager.state ?? [], `state after size ${n}, call ${i}`);
    });
    expect([compiled.programs, compiled.explain().recordings]).toEqual([programs, expect.anything()]);
    compiled.dispose();
    expect(compiled.programs).toBe(0);
  }

  const classes = (n: number): dx.Tensor =>
    dx.tensor(
      Int32Array.from({ length: n }, (_, i) => i % 4),
      { shape: [n] },
    );
  const SIZES = [5, 6, 5, 8, 7, 6, 17, 23, 24, 20, 5];

  it("trains a network of convolutions with the batch's own statistics, by the mean of the true count", () => {
    agrees(
      () => {
        dx.manualSeed(4);
        const model = dx.nn.sequential(
          // What goes into the mean of a batch has a gradient of rounding errors alone.
          dx.nn.conv2d(1, 3, 3, { bias: false }),
          dx.nn.batchNorm2d(3),
          dx.nn.relu(),
          dx.nn.maxPool2d(2),
          dx.nn.flatten(),
          dx.nn.linear(12, 8, { bias: false }),
          dx.nn.batchNorm1d(8),
          dx.nn.gelu(),
          dx.nn.layerNorm([8]),
          dx.nn.linear(8, 4),
        );
        const optimizer = dx.optim.sgd(model.parameters(), { lr: 0.01, momentum: 0.9 });
        const call = (x: dx.Tensor, y: dx.Tensor): dx.Tensor[] => {
          optimizer.zeroGrad();
          const scores = model.forward(x);
          const loss = dx.nn.functional.crossEntropy(scores, y);
          loss.backward();
          optimizer.step();
          return [loss.detach(), scores.detach(), scores.argmax(1).eq(y).to("float32").mean()];
        };
        return { call, state: [...model.parameters(), ...model.buffers()] };
      },
      SIZES,
      (n, i) => [dx.tensor(noise(36 * n, i), { shape: [n, 1, 6, 6] }), classes(n)],
      { dynamic: [0], programs: 3 },
    );
  });

  it.each(["mseLoss", "l1Loss", "smoothL1Loss", "binaryCrossEntropyWithLogits", "nllLoss"] as const)("%s is of the true count", (name) => {
    agrees(
      () => {
        const w = dx.tensor(noise(12, 3), { shape: [3, 4], requiresGrad: true });
        const call = (x: dx.Tensor, y: dx.Tensor): dx.Tensor[] => {
          const scores = x.matmul(w);
          const target = name === "nllLoss" ? y : scores.detach().mul(0.5).sigmoid();
          const loss = dx.nn.functional[name](name === "nllLoss" ? scores.logSoftmax(1) : scores, target);
          const [g] = dx.grad(loss, [w]);
          return [loss.detach(), g!];
        };
        return { call };
      },
      [5, 6, 7, 5],
      (n, i) => [matrix(n, i), classes(n)],
      { dynamic: [0], programs: 2 },
    );
  });

  it("gradients flow out of it, to arguments and to their history", () => {
    const w = dx.tensor(noise(9, 2), { shape: [3, 3], requiresGrad: true });
    const fn = (x: dx.Tensor): dx.Tensor => x.matmul(w).tanh().softmax(0);
    const compiled = dx.compile(fn, { dynamic: [0] });
    for (const n of [5, 6, 5, 7, 1, 8]) {
      const gradients = [fn, compiled].map((f) => {
        w.grad = null;
        const x = matrix(n, n, true);
        f(x.mul(2)).square().mean().backward();
        return [w.grad!, x.grad!] as dx.Tensor[];
      });
      expectAlike(gradients[1]!, gradients[0]!, `size ${n}`);
      const second = [fn, compiled].map((f) => {
        const x = matrix(n, n, true);
        const [g] = dx.grad(f(x).square().sum(), [x], { createGraph: true });
        return dx.grad(g!.square().sum(), [x, w]) as dx.Tensor[];
      });
      expectAlike(second[1]!, second[0]!, `second order, size ${n}`);
    }
    compiled.dispose();
  });

  it("writes in place into its arguments and into outer tensors", () => {
    agrees(
      () => {
        const total = dx.zeros([3]);
        const call = (x: dx.Tensor, y: dx.Tensor): dx.Tensor[] => {
          x.mul_(0.5).add_(1);
          y.copy_(x.sum(1));
          total.add_(x.mean(0));
          return [x.add(1)];
        };
        return { call, state: [total] };
      },
      [5, 6, 5, 7, 1],
      (n, i) => [matrix(n, i), line(n, i)],
      { dynamic: [[0], [0]], programs: 3 },
    );
  });

  it("takes several axes, of one size or of two, and axes that are not the first", () => {
    agrees(
      () => ({
        call: (x, y) => {
          const scores = x.matmul(y.transpose(0, 1));
          return [scores, scores.softmax(1).matmul(y), scores.mean([0, 1]), x.transpose(0, 1).reshape([3, x.shape[0]!]).cumsum(1)];
        },
      }),
      [5, 6, 5, 7, 3, 8, 12],
      (n, i) => [matrix(n, i), matrix(n + (i % 3), i + 1)],
      { dynamic: [[0], [0]], programs: 6 },
    );
    agrees(
      () => ({ call: (x) => [x.mul(2), x.sum(1), x.mean([0, 1]), x.softmax(1), x.to("uint8"), x.gt(0)] }),
      [5, 6, 5, 7, 9],
      (n, i) => [dx.tensor(noise(4 * n, i).map(Math.abs), { shape: [2, n, 2] })],
      { dynamic: [[1]], programs: 3 },
    );
  });

  it("uploads numbers and data that follow the size, and others that change", () => {
    let factor = 1;
    agrees(
      () => ({
        call: (x) => [
          x.sum().div(x.shape[0]!),
          x.mul(factor),
          x.add(dx.tensor(Array.from({ length: x.shape[0]! }, (_, i) => [i]))),
          dx.zeros([x.shape[0]!, 2]).add(x.mean()),
          x.var(0),
        ],
      }),
      [5, 6, 5, 6, 7, 5],
      (n, i) => {
        factor = i + 1;
        return [matrix(n, i)];
      },
      { dynamic: [0], programs: 2 },
    );
  });

  it("takes tensors in objects and lists, by their fields, and dtypes of each width", () => {
    type Batch = { x: dx.Tensor; meta: { ids: dx.Tensor }; scale: dx.Tensor };
    const fn = ({ x, meta, scale }: Batch): dx.Tensor[] => [x.mul(scale).sum(0), meta.ids.sum(), meta.ids.max(0).values, x.to("float16")];
    const compiled = dx.compile(fn, { dynamic: { x: [0], meta: { ids: [0] } }, buckets: "doubling" });
    for (const [i, n] of [5, 6, 3, 7].entries())
      for (const dtype of ["uint8", "int64", "float16", "bfloat16", "bool"] as const) {
        const batch = {
          x: matrix(n, i).to("float16"),
          meta: { ids: dx.arange(n).to(dtype) },
          scale: dx.tensor([1, 2, 3], { dtype: "float16" }),
        };
        expectAlike(compiled(batch), fn(batch), `${dtype}, size ${n}`);
      }
    expect(compiled.programs).toBe(10);
    compiled.dispose();
  });

  it("draws random numbers of the true size, other ones in each call", () => {
    dx.manualSeed(1);
    const f = dx.compile((x: dx.Tensor) => [dx.nn.functional.dropout(x, { p: 0.5 }), dx.randn([x.shape[0]!, 3])], { dynamic: [0] });
    const seen = [50, 60, 50, 33].map((n) => f(dx.ones([n, 3])).map(values));
    for (const [i, [dropped, normal]] of seen.entries()) {
      const n = [50, 60, 50, 33][i]!;
      expect(dropped!.length).toBe(3 * n);
      expect(dropped!.every((v) => v === 0 || v === 2)).toBe(true);
      expect(Math.abs(dropped!.reduce((a, b) => a + b) / (3 * n) - 1)).toBeLessThan(0.4);
      expect(Math.abs(normal!.reduce((a, b) => a + b) / (3 * n))).toBeLessThan(0.5);
    }
    expect(seen[2]![1]).not.toEqual(seen[0]![1]);
    expect(f.programs).toBe(2);
    f.dispose();
  });

  /** What a function says once while it is called. */
  async function toldBy(name: string, run: () => void): Promise<string[]> {
    const told: string[] = [];
    const note = (warning: Error): void =>
      void (warning.name === "CompileWarning" && warning.message.startsWith(name) && told.push(warning.message));
    process.on("warning", note);
    try {
      run();
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("warning", note);
    }
    return told;
  }

  it.each([
    [
      "an operation that cannot leave padding out",
      (x: dx.Tensor): dx.Tensor[] => [dx.maxPool2dWithIndices(x.transpose(0, 1).reshape([1, 1, 3, x.shape[0]!]), 2).indices],
      /^one is recorded for each size: maxPoolIndices at .*dynamic\.test\.ts:\d+ cannot leave padding out\. /,
    ],
    [
      "control flow that follows a size",
      (x: dx.Tensor): dx.Tensor[] => [x.shape[0]! > 5 ? x.exp() : x.mul(3)],
      /^one is recorded for each size: a number, which depends on a size by more than its shape\. /,
    ],
  ])("records %s again for each size, and warns once, with the call site", async (_what, fn, message) => {
    const f = dx.compile(fn, { name: "one", dynamic: [0] });
    const told = await toldBy("one", () => {
      for (const n of [5, 6, 7, 5]) expectAlike(f(matrix(n, 1)), fn(matrix(n, 1)), `size ${n}`);
    });
    expect(told).toEqual([expect.stringMatching(message)]);
    f.dispose();
  });

  it("takes views, empty tensors and one row as they are", () => {
    const fn = (x: dx.Tensor): dx.Tensor[] => [x.mul(2), x.sum(0), x.transpose(0, 1)];
    const f = dx.compile(fn, { dynamic: [0] });
    for (const n of [5, 6]) {
      const wide = dx.tensor(noise(6 * n, n), { shape: [n, 6] });
      for (const x of [
        wide.slice(1, 1, 4),
        wide.transpose(0, 1).slice(0, 0, 3).transpose(0, 1),
        matrix(2 * n, 1).slice(0, n),
        matrix(1, 1),
        dx.zeros([0, 3]),
      ])
        expectAlike(f(x), fn(x), `${x.describe()}, ${n}`);
    }
    f.dispose();
  });

  it("works unchecked, after its function was released and made again, and inside another", () => {
    const fn = (x: dx.Tensor): dx.Tensor[] => [x.mul(3).sum(0), x.mean()];
    const f = dx.compile(fn, { dynamic: [0], check: false });
    for (const n of [5, 6, 7, 5, 6, 7]) expectAlike(f(matrix(n, n)), fn(matrix(n, n)), `size ${n}`);
    expect(f.programs).toBe(2);
    f.dispose();
    expectAlike(f(matrix(5, 1)), fn(matrix(5, 1)), "after dispose");
    const outer = dx.compile((x: dx.Tensor) => f(x).map((t) => t.add(1)), { dynamic: [0] });
    for (const n of [5, 6])
      expectAlike(
        outer(matrix(n, n)),
        fn(matrix(n, n)).map((t) => t.add(1)),
        `inside, size ${n}`,
      );
    outer.dispose();
    f.dispose();
  });

  it("refuses axes and buckets that are none", () => {
    const fn = (x: dx.Tensor): dx.Tensor => x;
    expect(() => dx.compile(fn, { dynamic: [0.5] })).toThrow(dx.ValueError);
    expect(() => dx.compile(fn, { dynamic: [0], buckets: [] })).toThrow(dx.ValueError);
    expect(() => dx.compile(fn, { dynamic: [0], buckets: "tripling" as never })).toThrow(dx.ValueError);
    const f = dx.compile((x: dx.Tensor) => x.mul(2), { dynamic: [0], buckets: [10, 100] });
    for (const n of [3, 9, 10, 50, 101]) expect(f(matrix(n, 1)).shape).toEqual([n, 3]);
    expect(f.programs).toBe(3);
    f.dispose();
  });
});
