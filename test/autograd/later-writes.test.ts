/** Writes after an operation and its gradient, and the tensors that a second backward pass may read: as in PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../device.ts";

const A = [0.3, 0.9, 0.5, 0.2, 0.7, 0.4];
const leaf = (): dx.Tensor => dx.tensor(A, { shape: [2, 3], requiresGrad: true });

/** Operand that requires a gradient, operand that is written, whether the gradient is there afterwards. */
const WRITES: readonly [string, (a: dx.Tensor, b: dx.Tensor) => dx.Tensor, readonly (readonly ["a" | "b" | "ab", "a" | "b", boolean])[]][] =
  [
    [
      "copysign",
      (a, b) => dx.copysign(a, b),
      [
        ["a", "a", false],
        ["a", "b", true],
        ["b", "a", true],
        ["b", "b", true],
        ["ab", "b", true],
        ["ab", "a", false],
      ],
    ],
    [
      "hypot",
      (a, b) => dx.hypot(a, b),
      [
        ["a", "a", false],
        ["a", "b", true],
        ["b", "a", true],
        ["b", "b", false],
      ],
    ],
    [
      "floatPower",
      (a, b) => dx.floatPower(a, b),
      [
        ["a", "a", true],
        ["b", "a", true],
        ["ab", "b", true],
      ],
    ],
    [
      "kron, whose gradient reads what was written",
      (a, b) => dx.kron(a, b),
      [
        ["a", "b", true],
        ["ab", "a", true],
      ],
    ],
  ];

eachDevice("a write after an operation", (device) => {
  test.each(WRITES)("%s", async (name, f, cases) => {
    await clean(device, () => {
      for (const [who, written, isThere] of cases) {
        const [x, y] = [dx.tensor(A, { requiresGrad: who.includes("a") }), dx.tensor(A.toReversed(), { requiresGrad: who.includes("b") })];
        const [a, b] = [x.mul(1), y.mul(1)];
        const result = f(a, b).sum();
        const wanted = [x, y].filter((t) => t.requiresGrad);
        const before = name.startsWith("kron") ? null : dx.grad(f(x.mul(1), y.mul(1)).sum(), wanted);
        (written === "a" ? a : b).mul_(0.5);
        if (!isThere) {
          expect(() => dx.grad(result, wanted), `${who}, ${written} written`).toThrow(/unchanged/);
          continue;
        }
        const found = dx.grad(result, wanted);
        found.forEach((g, i) => {
          const half = A.reduce((sum, v) => sum + v, 0) / 2;
          const isOther = (wanted[i] === x) === (written === "b");
          const want = before === null ? A.map(() => (isOther ? half : 2 * half)) : numbers(before[i]!);
          numbers(g).forEach((v, k) => expect(v, `${who}, ${written} written`).toBeCloseTo(want[k]!, 4));
        });
      }
    });
  });
});

/** Functions that compute with numbers of their own, and whether a second pass needs retainGraph. */
const AGAIN: readonly [string, (x: dx.Tensor) => dx.Tensor, boolean][] = [
  ["trapezoid", (x) => dx.trapezoid(x), true],
  ["trapezoid of a width", (x) => dx.trapezoid(x, { dx: 0.5, axis: 0 }), true],
  ["trapezoid of coordinates", (x) => dx.trapezoid(x, { x: dx.tensor([0, 1, 3]) }), false],
  ["cumulativeTrapezoid", (x) => dx.cumulativeTrapezoid(x, { dx: 0.5 }), true],
  ["gradient", (x) => dx.gradient(x)[1]!, true],
  ["gradient of a spacing and second order", (x) => dx.gradient(x, { axis: 1, spacing: 2, edgeOrder: 2 })[0]!, true],
  ["matrixPower 0", (x) => dx.matrixPower(x.index(":", dx.s(0, 2)), 0), true],
  ["interpolate, bicubic", (x) => dx.interpolate(x.reshape(1, 1, 2, 3), { size: [4, 5], mode: "bicubic", alignCorners: true }), true],
  ["mul by the user's number", (x) => x.mul(2), false],
];

eachMode("a second pass without retainGraph", (device, mode) => {
  test.each(AGAIN)("%s", async (_, f, isAllowed) => {
    await clean(
      device,
      () => {
        const run = (x: dx.Tensor): dx.Tensor[] => {
          const y = f(x);
          y.sum().backward();
          y.sum().backward();
          return [y.detach()];
        };
        const x = leaf();
        if (isAllowed) {
          mode.run(run, x);
          const [once] = dx.grad(f(x).sum(), [x]);
          const calls = mode.name === "compiled" ? 3 : 1;
          const want = numbers(once!).map((v) => 2 * calls * v);
          const got = numbers(x.grad!);
          // Compiled, the function has run several times, on other data too: all of them have the same slopes.
          const factor = mode.name === "eager" || want.every((v) => v === 0) ? 1 : got.find((v) => v !== 0)! / want.find((v) => v !== 0)!;
          got.forEach((v, i) => expect(v).toBeCloseTo(factor * want[i]!, 4));
          x.grad!.dispose();
        } else expect(() => mode.run(run, x)).toThrow(/second pass/);
      },
      { collect: true },
    );
  });
});

eachDevice("gradients and whose memory they are", (device) => {
  test("a hook that sees the gradient of a view keeps it the gradient argument's; slices copy it", async () => {
    await clean(device, () => {
      const cases: readonly [string, (x: dx.Tensor) => dx.Tensor, boolean][] = [
        ["unsqueeze", (x) => x.unsqueeze(0), true],
        ["select of the only row", (x) => x.reshape(1, 2).select(0, 0), false],
        ["select, then a view", (x) => x.reshape(1, 2).select(0, -1).reshape(2, 1), false],
        ["slice of all", (x) => x.slice(0, 0, 2), false],
      ];
      for (const [name, view, isShared] of cases)
        for (const hooks of [false, true]) {
          const x = dx.tensor([1, 2], { requiresGrad: true });
          const v = view(x);
          if (hooks) v.registerHook(() => undefined);
          const g = dx.full(v.shape, 3);
          v.backward({ gradient: g });
          g.mul_(2);
          expect([name, x.grad!.toArraySync()]).toEqual([name, isShared ? [6, 6] : [3, 3]]);
          x.grad!.dispose();
        }
    });
  });

  test("what grad() gives may be changed in place with a history", async () => {
    await clean(device, () => {
      const [x, w] = [dx.tensor([[1, 2]], { requiresGrad: true }), dx.tensor([3, 4], { requiresGrad: true })];
      const [g] = dx.grad(x.reshape(2).mul(2).sum(), [x]);
      g!.copy_(w.mul(5).reshape(1, 2));
      g!.sum().backward();
      expect(w.grad!.toArraySync()).toEqual([5, 5]);
      w.grad!.dispose();
    });
  });

  test("what has no elements depends on its tensor all the same", async () => {
    await clean(device, () => {
      for (const x of [dx.tensor([1], { requiresGrad: true }), dx.zeros([0], { requiresGrad: true })]) {
        const rows = dx.combinations(x);
        expect([rows.requiresGrad, rows.shape]).toEqual([true, [0, 2]]);
        expect(dx.grad(rows.sum(), [x])[0]!.toArraySync()).toEqual(x.size === 0 ? [] : [0]);
      }
      const x = leaf().index(":", dx.s(0, 2));
      const power = dx.matrixPower(x, 0);
      const [g] = dx.grad(power.square().sum(), [x], { createGraph: true });
      expect([power.requiresGrad, g!.requiresGrad]).toEqual([true, false]);
    });
  });

  test("what is written nowhere has a gradient of no elements, and what nothing is taken of one of zeros", async () => {
    const at = dx.zeros([0], { dtype: "int64" });
    const writes: { readonly [name: string]: (x: dx.Tensor, none: dx.Tensor) => dx.Tensor } = {
      scatter: (x, none) => dx.scatter(x, 0, at, none),
      scatterAdd: (x, none) => dx.scatterAdd(x, 0, at, none),
      scatterReduce: (x, none) => dx.scatterReduce(x, 0, at, none, "amax"),
      indexAdd: (x, none) => dx.indexAdd(x, 0, at, none),
      "indexAdd by alpha": (x, none) => dx.indexAdd(x, 0, at, none, { alpha: 2 }),
      indexCopy: (x, none) => dx.indexCopy(x, 0, at, none),
      indexFill: (x, none) => dx.indexFill(x, 0, at, none.sum()),
      indexReduce: (x, none) => dx.indexReduce(x, 0, at, none, "mean"),
      indexPut: (x, none) => dx.indexPut(x, [at], none),
      put: (x, none) => dx.put(x, at, none),
      "put, added": (x, none) => dx.put(x, at, none, { accumulate: true }),
      sliceScatter: (x, none) => dx.sliceScatter(x, none, 0, 1, 1),
      indexCopy_: (x, none) => x.clone().indexCopy_(0, at, none),
      put_: (x, none) => x.clone().put_(at, none),
    };
    await clean(
      device,
      () => {
        for (const [name, write] of Object.entries(writes)) {
          const [x, none] = [dx.tensor([1, 2], { requiresGrad: true }), dx.zeros([0], { requiresGrad: true })];
          for (let i = 1; i <= 3; i++) {
            write(x, none).sum().backward();
            expect([x.grad!.toArraySync(), none.grad?.shape], `by ${name}`).toEqual([[i, i], [0]]);
          }
        }
        const x = dx.tensor([1, 2], { requiresGrad: true });
        dx.take(x, at).sum().backward();
        expect(x.grad!.toArraySync()).toEqual([0, 0]);
      },
      { collect: true },
    );
  });
});
