/** Complex numbers as pairs of real ones: arithmetic compared with JavaScript's numbers, and tensor operations on both parts. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, liveBuffers, settledBuffers } from "../device.ts";

type C = readonly [number, number];
const mul = ([a, b]: C, [c, d]: C): C => [a * c - b * d, a * d + b * c];
const div = ([a, b]: C, [c, d]: C): C => {
  const q = c * c + d * d;
  return [(a * c + b * d) / q, (b * c - a * d) / q];
};
const exp = ([a, b]: C): C => [Math.exp(a) * Math.cos(b), Math.exp(a) * Math.sin(b)];
const log = ([a, b]: C): C => [Math.log(Math.hypot(a, b)), Math.atan2(b, a)];
const half = ([a, b]: C): C => [a / 2, b / 2];
const add = ([a, b]: C, [c, d]: C): C => [a + c, b + d];
const times = ([a, b]: C): C => [-b, a];
const sinh = (z: C): C => half(add(exp(z), mul([-1, 0], exp(mul([-1, 0], z)))));
const cosh = (z: C): C => half(add(exp(z), exp(mul([-1, 0], z))));

const Z: readonly C[] = [
  [1, 2],
  [-0.5, 0.25],
  [0.75, -1.5],
  [-2, -0.125],
  [0, 1],
  [3, 0],
  [-1, 0],
  [0, -2],
];
const W: readonly C[] = [
  [0.5, -1],
  [2, 0.5],
  [-1, -1],
  [0.25, 3],
  [1, 1],
  [-1, 2],
  [0.5, 0.5],
  [1, -0.25],
];
const made = (list: readonly C[]): dx.ComplexTensor => dx.viewAsComplex(dx.tensor(list));
const close = (got: dx.ComplexTensor, want: readonly C[], bound = 1e-5): void => {
  const found = got.flatten().toArraySync() as C[];
  expect(found.length).toBe(want.length);
  found.forEach(([a, b], i) => {
    const [c, d] = want[i]!;
    expect(Math.hypot(a - c, b - d), `element ${i}: ${a}, ${b} instead of ${c}, ${d}`).toBeLessThanOrEqual(bound * (1 + Math.hypot(c, d)));
  });
};

eachMode("arithmetic", (device, mode) => {
  const cases: readonly [string, (z: dx.ComplexTensor, w: dx.ComplexTensor) => dx.ComplexTensor, (z: C, w: C) => C][] = [
    ["add", (z, w) => z.add(w), add],
    ["sub", (z, w) => z.sub(w), (z, w) => add(z, mul([-1, 0], w))],
    ["mul", (z, w) => z.mul(w), mul],
    ["div", (z, w) => z.div(w), div],
    ["neg", (z) => z.neg(), (z) => mul([-1, 0], z)],
    ["reciprocal", (z) => z.reciprocal(), (z) => div([1, 0], z)],
    ["square", (z) => z.square(), (z) => mul(z, z)],
    ["conj", (z) => z.conj(), ([a, b]) => [a, -b]],
    [
      "numbers",
      (z) => z.mul(2).add([1, -1]).div([0, 2]).rsub(3),
      (z) => add([3, 0], mul([-1, 0], div(add(mul([2, 0], z), [1, -1]), [0, 2]))),
    ],
    [
      "real tensors",
      (z, w) => z.mul(w.real).add(w.imag).sub(w.real).div(w.real),
      (z, [c, d]) => div(add(mul(z, [c, 0]), [d - c, 0]), [c, 0]),
    ],
    ["exp", (z) => z.exp(), exp],
    ["log", (z) => z.log(), log],
    ["sqrt", (z) => z.sqrt(), (z) => exp(half(log(z)))],
    ["pow", (z) => z.pow(3), (z) => mul(z, mul(z, z))],
    ["pow of a fraction", (z) => z.pow(-0.5), (z) => exp(mul([-0.5, 0], log(z)))],
    ["pow of complex numbers", (z, w) => z.pow(w), (z, w) => exp(mul(w, log(z)))],
    ["sin", (z) => z.sin(), (z) => mul([0, -1], sinh(times(z)))],
    ["cos", (z) => z.cos(), (z) => cosh(times(z))],
    ["tan", (z) => z.tan(), (z) => div(mul([0, -1], sinh(times(z))), cosh(times(z)))],
    ["sinh", (z) => z.sinh(), sinh],
    ["cosh", (z) => z.cosh(), cosh],
    ["tanh", (z) => z.tanh(), (z) => div(sinh(z), cosh(z))],
    ["sgn", (z) => z.sgn(), (z) => mul([1 / Math.hypot(...z), 0], z)],
    ["matmul", (z, w) => z.reshape(2, 4).matmul(w.reshape(4, 2)).flatten(), () => [0, 0]],
  ];
  test.each(cases)("%s", async (name, run, want) => {
    await clean(
      device,
      () => {
        const [z, w] = [made(Z), made(W)];
        const [re, im] = mode.run(
          (a, b, c, d) => {
            const { real, imag } = run(dx.complex(a, b), dx.complex(c, d));
            return [real, imag];
          },
          z.real,
          z.imag,
          w.real,
          w.imag,
        );
        const expected =
          name === "matmul"
            ? [0, 1, 2, 3].map((at) =>
                [0, 1, 2, 3].reduce<C>((sum, k) => add(sum, mul(Z[4 * (at >> 1) + k]!, W[2 * k + (at & 1)]!)), [0, 0]),
              )
            : Z.map((v, i) => want(v, W[i]!));
        close(dx.complex(re!, im!), expected, 3e-5);
      },
      { collect: mode.name === "compiled" },
    );
  });
});

eachDevice("complex tensors", (device) => {
  test("lengths, angles and polar forms", async () => {
    await clean(device, () => {
      const z = made(Z);
      expect(
        z
          .abs()
          .sub(dx.tensor(Z.map((v) => Math.hypot(...v))))
          .abs()
          .max()
          .itemSync(),
      ).toBeLessThan(2e-5);
      expect(
        dx
          .angle(z)
          .sub(dx.tensor(Z.map(([a, b]) => Math.atan2(b, a))))
          .abs()
          .max()
          .itemSync(),
      ).toBeLessThan(2e-5);
      close(dx.polar(dx.abs(z), z.angle()), Z, 2e-5);
      expect(
        dx
          .abs(
            made([
              [3e30, 4e30],
              [0, 0],
              [1e-30, 0],
              [Infinity, NaN],
            ]),
          )
          .toArraySync(),
      ).toEqual([Math.fround(5e30), 0, Math.fround(1e-30), Infinity]);
      expect(
        made([[1e30, 1e30]])
          .div(made([[1e30, 1e30]]))
          .toArraySync(),
      ).toEqual([[1, 0]]);
      expect(
        made([[1e-30, 0]])
          .div(made([[0, 1e-30]]))
          .toArraySync(),
      ).toEqual([[0, -1]]);
      expect(
        made([
          [0, 0],
          [-4, 0],
          [-4, -0],
          [0, -Infinity],
        ])
          .sqrt()
          .toArraySync(),
      ).toEqual([
        [0, 0],
        [0, 2],
        [0, -2],
        [Infinity, -Infinity],
      ]);
      const one = made([[1, 2]]);
      expect(
        one
          .div(made([[Infinity, 3]]))
          .abs()
          .toArraySync(),
      ).toEqual([0]);
      expect(one.div(made([[0, 0]])).toArraySync()).toEqual([[Infinity, Infinity]]);
      expect(dx.hypot(dx.tensor([0, NaN]), dx.tensor([NaN, 0])).toArraySync()).toEqual([NaN, NaN]);
      expect(
        made([[0, NaN]])
          .abs()
          .toArraySync(),
      ).toEqual([NaN]);
      expect(
        made([[0, 0]])
          .pow(0)
          .toArraySync(),
      ).toEqual([[1, 0]]);
      expect(
        made([[0, 0]])
          .sgn()
          .toArraySync(),
      ).toEqual([[0, 0]]);
      expect(
        made([[100, 1]])
          .tanh()
          .toArraySync(),
      ).toEqual([[1, 0]]);
    });
  });

  test("made of tensors are a copy of them", async () => {
    await clean(
      device,
      () => {
        for (const run of [(f: () => dx.Tensor[]) => f(), (f: () => dx.Tensor[]) => dx.compile(f)()]) {
          const [a, b] = [dx.tensor([1, 2]), dx.tensor([3, 4])];
          const read = run(() => {
            const [own, packed, expanded] = [dx.complex(a, a), dx.complex(a, b), dx.complex(a, dx.tensor([7]))];
            a.mul_(-1);
            b.zero_();
            return [own.real, own.imag, packed.imag, expanded.real, expanded.imag];
          });
          expect(read.map((t) => t.toArraySync())).toEqual([
            [1, 2],
            [1, 2],
            [3, 4],
            [1, 2],
            [7, 7],
          ]);
          expect(a.toArraySync()).toEqual([-1, -2]);
        }
      },
      { collect: true },
    );
  });

  test("require a gradient in both parts where one argument does", async () => {
    await clean(
      device,
      () => {
        for (const which of [0, 1]) {
          const parts = [dx.tensor([1, 2]), dx.tensor([3, 4])];
          parts[which]!.requiresGrad_();
          const z = dx.complex(parts[0]!, parts[1]!).mul(0.5);
          // What does not depend on the leaf has zeros for its gradient, of the second order too.
          const other = which === 0 ? z.imag : z.real;
          const [first] = dx.grad(other.square().sum(), [parts[which]!], { createGraph: true });
          expect(first!.toArraySync()).toEqual([0, 0]);
          first!.square().sum().backward();
          expect(parts[which]!.grad!.toArraySync()).toEqual([0, 0]);
          const own = which === 0 ? dx.complex(parts[0]!, parts[1]!).real : dx.complex(parts[0]!, parts[1]!).imag;
          expect(dx.grad(own.square().sum(), [parts[which]!])[0]!.toArraySync()).toEqual(which === 0 ? [2, 4] : [6, 8]);
        }
      },
      { collect: true },
    );
  });

  test("parts, pairs and shapes", async () => {
    await clean(device, () => {
      const z = made(Z).reshape(2, 4);
      expect(z.describe()).toBe("complex64[2, 4]");
      expect(z.real.toArraySync()).toEqual([
        [1, -0.5, 0.75, -2],
        [0, 3, -1, 0],
      ]);
      expect(dx.viewAsReal(z).shape).toEqual([2, 4, 2]);
      expect([...z.select(0, 0).slice(0, 0, 2).dataSync()]).toEqual([1, 2, -0.5, 0.25]);
      expect(z.index(1, dx.s(0, 2)).toArraySync()).toEqual([
        [0, 1],
        [3, 0],
      ]);
      expect(z.permute(1, 0).shape).toEqual([4, 2]);
      expect(z.sum().toArraySync()).toEqual([1.25, -0.375]);
      expect(z.sum(0, { keepDims: true }).shape).toEqual([1, 4]);
      expect(z.mean([0, 1]).itemSync()).toEqual([1.25 / 8, -0.375 / 8]);
      expect(dx.cat([z, z.real], 1).shape).toEqual([2, 8]);
      expect(dx.stack([z, z.conj()]).imag.sum().itemSync()).toBe(0);
      expect(dx.where(z.real.gt(0), z, 0).select(1, 1).toArraySync()).toEqual([
        [0, 0],
        [3, 0],
      ]);
      expect(z.split(1).map((p) => p.shape)).toEqual([
        [1, 4],
        [1, 4],
      ]);
      expect(z.add(dx.ones([3, 1, 1])).shape).toEqual([3, 2, 4]);
      expect(z.real.shape).toEqual([2, 4]);
      expect(dx.isComplex(z)).toBe(true);
      expect(dx.isComplex(z.real)).toBe(false);
      expect(dx.real(z.real)).toBe(z.real);
      expect(dx.conj(z.real)).toBe(z.real);
      expect([dx.resolveConj(z), dx.resolveNeg(z)]).toEqual([z, z]);
    });
  });

  test("equality and what is not finite", async () => {
    await clean(device, () => {
      const z = made([
        [1, 2],
        [NaN, 0],
        [0, Infinity],
      ]);
      expect(z.eq(z).toArraySync()).toEqual([true, false, true]);
      expect(z.ne(z).toArraySync()).toEqual([false, true, false]);
      expect(z.isnan().toArraySync()).toEqual([false, true, false]);
      expect(z.isinf().toArraySync()).toEqual([false, false, true]);
      expect(z.isfinite().toArraySync()).toEqual([true, false, false]);
      expect(z.eq(1).toArraySync()).toEqual([false, false, false]);
      expect(z.isclose(z, { equalNan: true }).toArraySync()).toEqual([true, true, true]);
      expect(z.equalSync(z)).toBe(false);
      const [a, b] = [made([[1, 2]]), made([[1, 2 + 1e-6]])];
      expect([a.equalSync(a), a.allcloseSync(b), a.allcloseSync(b, { rtol: 0, atol: 1e-8 })]).toEqual([true, true, false]);
      expect(a.equalSync(z)).toBe(false);
    });
  });

  test("dtypes promote", async () => {
    await clean(device, () => {
      const half = made([[1, 2]]).to("complex32");
      expect(half.add(dx.tensor([1], { dtype: "int64" })).dtype).toBe("complex32");
      expect(half.add(2).dtype).toBe("complex32");
      expect(half.mul(dx.tensor([1.5])).dtype).toBe("complex64");
      expect(half.mul(made([[1, 0]])).dtype).toBe("complex64");
      expect(half.add(dx.tensor(1.5)).dtype).toBe("complex32");
      expect(dx.promoteTypes("complex32", "float32")).toBe("complex64");
      expect(dx.promoteTypes("int8", "complex32")).toBe("complex32");
      expect(dx.resultType(half, dx.tensor([1.5]))).toBe("complex64");
      expect(dx.resultType(dx.tensor([1]), [1, 2])).toBe("complex64");
      expect([dx.canCast("float32", "complex32"), dx.canCast("complex64", "float32"), dx.canCast("complex64", "complex32")]).toEqual([
        true,
        false,
        true,
      ]);
    });
  });

  test("are written as PyTorch writes them", async () => {
    await clean(device, async () => {
      const on = device === "cpu" ? "" : `, device=${device}`;
      expect(
        made([
          [1, 2],
          [3, -4],
        ]).formatSync(),
      ).toBe(`tensor([1.+2.j, 3.-4.j]${on})`);
      expect(await made([[0.5, -1.25]]).format()).toBe(`tensor([0.5000-1.2500j]${on})`);
      expect(dx.complex(dx.tensor(1), dx.tensor(0)).to("complex32").formatSync()).toBe(`tensor(1.+0.j, dtype=complex32${on})`);
      expect(dx.fft.fft(dx.zeros([2000])).formatSync()).toBe(`tensor([0.+0.j, 0.+0.j, 0.+0.j, ..., 0.+0.j, 0.+0.j, 0.+0.j]${on})`);
      expect(String(made(Z))).toBe(`ComplexTensor complex64[8] on ${dx.defaultDevice()}`);
      expect(await made(Z).select(0, 1).item()).toEqual([-0.5, 0.25]);
      expect(await made(Z).narrow(0, 0, 1).toArray()).toEqual([[1, 2]]);
      expect([...(await made(Z).narrow(0, 0, 1).data())]).toEqual([1, 2]);
    });
  });

  test("gradients of first and second order", async () => {
    await clean(device, () => {
      const list: C[] = [
        [0.7, 0.4],
        [-0.9, 0.6],
        [0.5, -1.1],
      ];
      const leaves = [
        made(list).detach().requiresGrad_(),
        made([...list].reverse())
          .mul([0.3, 1])
          .detach()
          .requiresGrad_(),
      ] as const;
      for (const f of [
        (z, w) => z.mul(w),
        (z, w) => z.div(w),
        (z) => z.exp(),
        (z) => z.log(),
        (z) => z.sqrt(),
        (z) => z.abs(),
        (z) => z.angle(),
        (z) => z.sgn(),
        (z) => z.tanh(),
        (z) => z.pow(1.5),
        (z, w) => z.pow(w),
        (z, w) => z.reshape(1, 3).matmul(w.reshape(3, 1)),
        (z, w) => dx.cat([z, w]).sum(),
      ] satisfies ((z: dx.ComplexTensor, w: dx.ComplexTensor) => dx.ComplexTensor | dx.Tensor)[]) {
        dx.gradcheck(f, leaves, { step: 0.01 });
        dx.gradgradcheck(f, leaves, { step: 0.01, absolute: 1e-2, relative: 2e-2 });
      }
      const zero = made([[0, 0]])
        .detach()
        .requiresGrad_();
      for (const f of [(z: dx.ComplexTensor) => z.abs(), (z: dx.ComplexTensor) => z.angle(), (z: dx.ComplexTensor) => z.sgn().real])
        expect(dx.grad(f(zero).sum(), [zero])[0]!.toArraySync()).toEqual([[0, 0]]);
      const slope = (f: (z: dx.ComplexTensor) => dx.ComplexTensor, at: C): dx.ComplexTensor => {
        const z = made([at]).detach().requiresGrad_();
        return dx.grad(f(z), [z], { gradient: made([[1, 0]]) })[0]!;
      };
      // The conjugate of 1 / (2 sqrt(z)), on the axes too.
      close(
        slope((z) => z.sqrt(), [0, 1]),
        [[Math.SQRT1_2 / 2, Math.SQRT1_2 / 2]],
      );
      close(
        slope((z) => z.sqrt(), [-4, 0]),
        [[0, 0.25]],
      );
      close(
        slope((z) => z.tanh(), [1000, 1]),
        [[0, 0]],
      );
    });
  });

  test("as arguments and results of compiled functions, called three times", async () => {
    await clean(
      device,
      () => {
        const f = dx.compile((z: dx.ComplexTensor, more: { w: dx.ComplexTensor }) => ({ y: dx.fft.fft(z.mul(more.w)), same: z }));
        for (const scale of [1, 2, 1]) {
          const [z, w] = [made(Z).mul(scale), made(W)];
          const { y, same } = f(z, { w });
          expect(y).toBeInstanceOf(dx.ComplexTensor);
          expect(same.pairs).toBe(z.pairs);
          expect(y.allcloseSync(dx.fft.fft(z.mul(w)), { rtol: 1e-5, atol: 1e-4 })).toBe(true);
        }
        expect(f.programs).toBe(1);
        const leaf = made(Z).detach().requiresGrad_();
        const loss = dx.compile((z: dx.ComplexTensor) => dx.fft.fft(z).abs().square().sum());
        for (let i = 0; i < 3; i++) {
          const [g] = dx.grad(loss(leaf), [leaf]);
          close(
            g!,
            Z.map(([a, b]) => [16 * a, 16 * b]),
            1e-4,
          );
        }
        const step = dx.compile((z: dx.ComplexTensor) => {
          z.square().backward({ gradient: made(W) });
          return z.real.sum();
        });
        for (let i = 1; i <= 3; i++) {
          step(leaf);
          close(
            leaf.grad!,
            Z.map((v, k) => mul([2 * i, 0], mul([v[0], -v[1]], W[k]!))),
          );
        }
        leaf.grad!.dispose();
        for (const p of [f, loss, step]) p.dispose();
      },
      { collect: true },
    );
  });

  test("samples of a data set become a batch", async () => {
    await clean(device, () => {
      const batch = dx.data.collate([0, 1].map((i) => ({ z: made(Z).select(0, i), label: i })));
      expect(batch.z.toArraySync()).toEqual([Z[0], Z[1]]);
      expect(() => dx.data.collate([made(Z), made(Z).real])).toThrow(/complex tensor/);
    });
  });

  test("scopes keep what is returned, and dispose of the rest", async () => {
    await clean(device, () => {
      const z = dx.scope(() => made(Z).mul(made(W)));
      expect(z.isDisposed).toBe(false);
      const { kept, gone } = dx.scope(() => {
        const gone = made(Z).add(1);
        return { kept: [dx.keep(made(W).add(1))], gone: (): boolean => gone.isDisposed };
      });
      expect(gone()).toBe(true);
      close(
        kept[0]!,
        W.map((w) => add(w, [1, 0])),
      );
      const before = settledBuffers(device);
      kept[0]!.dispose();
      expect(liveBuffers(device)).toBe(before - 1);
      const sum = z.add(1);
      sum.dispose();
      close(
        z,
        Z.map((v, i) => mul(v, W[i]!)),
      );
    });
  });
});

describe("refused", () => {
  const t = dx.zeros([2]);
  const z = dx.complex(t, t);
  test.each([
    ["parts of two dtypes", () => dx.complex(t, t.to("float16")), /imag/],
    ["integers as parts", () => dx.complex(t.to("int32"), t.to("int32")), /float32 or float16/],
    ["parts of two shapes that don't broadcast", () => dx.complex(t, dx.zeros([3])), /broadcast/],
    ["pairs of three", () => dx.viewAsComplex(dx.zeros([2, 3])), /\[\.\.\., 2\]/],
    ["a real tensor's imaginary part", () => dx.imag(t as unknown as dx.ComplexTensor), /complex/],
    ["a real dtype for complex numbers", () => z.to("float32"), /complex32, complex64/],
    ["an operand that is none", () => z.add("1" as unknown as number), /^add: b must be a complex tensor, a tensor, a number/],
    ["three numbers", () => z.add([1, 2, 3] as unknown as [number, number]), /a pair of numbers/],
    ["one element of two", () => z.itemSync(), /one element/],
    ["float64 with complex numbers", () => z.add(dx.zeros([2], { dtype: "float64" })), /float64/],
    ["complex numbers in a real function", () => dx.exp(z as unknown as dx.Tensor), /x must be a tensor; received complex/],
    [
      "complex numbers in a compiled real function",
      () => dx.compile(() => dx.exp(z as unknown as dx.Tensor))(),
      /x must be a tensor; received complex/,
    ],
    ["complex numbers in real arithmetic", () => dx.add(t, z as unknown as dx.Tensor), /a tensor or a number.*docs\/fft.md/],
    ["a complex dtype of float64", () => dx.promoteTypes("float64", "complex64"), /complex32 or complex64/],
  ])("%s", (_, call, message) => {
    expect(call).toThrow(message);
    expect(call).toThrow(dx.DxError);
  });
});

eachDevice("complex numbers in compiled functions", () => {
  test("are recorded once, with a gradient of one part or of both", () => {
    const w = dx.tensor([1, 2], { requiresGrad: true });
    for (const make of [(x: dx.Tensor) => dx.complex(w, x), (x: dx.Tensor) => dx.complex(x, w), () => dx.complex(w, w)]) {
      const run = dx.compile((x: dx.Tensor) => {
        const loss = make(x).mul(make(x)).real.sum();
        loss.backward();
        return loss;
      });
      const wants = [3, 4, 5].map((v) => {
        w.grad = null;
        const x = dx.tensor([v, 2]);
        const loss = make(x).mul(make(x)).real.sum();
        loss.backward();
        return [loss.itemSync(), w.grad!.toArraySync()];
      });
      [3, 4, 5].forEach((v, i) => {
        w.grad = null;
        expect([run(dx.tensor([v, 2])).itemSync(), w.grad!.toArraySync()]).toEqual(wants[i]);
      });
      expect(run.programs).toBe(1);
      run.dispose();
    }
  });
});
