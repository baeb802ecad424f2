/** Views of complex tensors: all show the same memory, so that a write through one is seen by all, with its gradient. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../device.ts";

type View = (z: dx.ComplexTensor) => dx.ComplexTensor;

/** Of z [2, 3]: the view, and which of z's elements it shows, in order. */
const VIEWS: readonly [string, View, readonly number[]][] = [
  ["positive", (z) => z.positive(), [0, 1, 2, 3, 4, 5]],
  ["reshape", (z) => z.reshape(3, -1), [0, 1, 2, 3, 4, 5]],
  ["view", (z) => z.view([6]), [0, 1, 2, 3, 4, 5]],
  ["flatten", (z) => z.flatten(), [0, 1, 2, 3, 4, 5]],
  ["unflatten", (z) => z.unflatten(-1, [3, 1]), [0, 1, 2, 3, 4, 5]],
  ["permute", (z) => z.permute(-1, 0), [0, 3, 1, 4, 2, 5]],
  ["transpose", (z) => z.transpose(-2, -1), [0, 3, 1, 4, 2, 5]],
  ["t", (z) => z.t(), [0, 3, 1, 4, 2, 5]],
  ["movedim", (z) => z.movedim(-1, 0), [0, 3, 1, 4, 2, 5]],
  ["expand, to its own lengths", (z) => z.expand(2, -1), [0, 1, 2, 3, 4, 5]],
  ["broadcastTo, with an axis in front", (z) => z.broadcastTo([1, 2, 3]), [0, 1, 2, 3, 4, 5]],
  ["squeeze", (z) => z.reshape(1, 2, 1, 3).squeeze(), [0, 1, 2, 3, 4, 5]],
  ["squeeze of an axis", (z) => z.reshape(2, 3, 1).squeeze(-1), [0, 1, 2, 3, 4, 5]],
  ["unsqueeze", (z) => z.unsqueeze(-1), [0, 1, 2, 3, 4, 5]],
  ["slice", (z) => z.slice(-1, 0, 3, 2), [0, 2, 3, 5]],
  ["narrow", (z) => z.narrow(-1, 1, 2), [1, 2, 4, 5]],
  ["select", (z) => z.select(-1, -1), [2, 5]],
  ["diagonal", (z) => z.diagonal({ offset: 1 }), [1, 5]],
  ["diagonal of axes in the other order", (z) => z.diagonal({ dim1: -1, dim2: 0 }), [0, 4]],
  ["index", (z) => z.index(":", dx.s(1, 3)), [1, 2, 4, 5]],
  ["index by what comes last", (z) => z.index("...", 1), [1, 4]],
  ["detach", (z) => z.detach(), [0, 1, 2, 3, 4, 5]],
  ["contiguous, which it is", (z) => z.contiguous(), [0, 1, 2, 3, 4, 5]],
  ["views of views", (z) => z.t().select(0, 1).unsqueeze(0).slice(1, 1), [4]],
];
const X = [0.5, -1, 2, 0.25, -0.75, 1.5, 1, 1, -2, 0.5, 0.125, -1.25];
const ramp = (shape: readonly number[]): dx.Tensor =>
  dx
    .arange(1, shape.reduce((n, d) => n * d, 1) + 1)
    .to("float32")
    .reshape(...shape);
const near = (t: dx.Tensor, want: readonly number[]): void => {
  const found = numbers(t);
  expect(found.length).toBe(want.length);
  found.forEach((v, i) => expect(v, `element ${i}`).toBeCloseTo(want[i]!, 5));
};

eachMode("a write through a view of a complex tensor", (device, mode) => {
  test.each(VIEWS)("%s", async (_, show, elements) => {
    await clean(
      device,
      () => {
        const written = (x: dx.Tensor, which: "real" | "imag" | "pairs" | "conj"): dx.Tensor[] => {
          const z = dx.viewAsComplex(x.mul(1));
          const before = [z.conj(), dx.viewAsReal(z), z.imag] as const;
          const v = show(z);
          if (which === "real") v.real.mul_(ramp(v.shape));
          else if (which === "imag") v.imag.mul_(ramp(v.shape));
          else if (which === "conj") v.conj().real.mul_(ramp(v.shape));
          else dx.viewAsReal(v).mul_(ramp(v.shape).unsqueeze(-1));
          return [dx.viewAsReal(z), dx.viewAsReal(before[0].resolveConj()), before[1], before[2]].map((t) => t.clone());
        };
        for (const which of ["real", "imag", "pairs", "conj"] as const) {
          const list = mode.run((x) => written(x, which), dx.tensor(X, { shape: [2, 3, 2] }));
          const want = [...X];
          elements.forEach((k, i) => {
            if (which !== "imag") want[2 * k]! *= i + 1;
            if (which === "imag" || which === "pairs") want[2 * k + 1]! *= i + 1;
          });
          near(list[0]!, want);
          near(
            list[1]!,
            want.map((v, i) => (i % 2 === 0 ? v : -v)),
          );
          near(list[2]!, want);
          near(
            list[3]!,
            want.filter((__, i) => i % 2 === 1),
          );
        }
      },
      { collect: mode.name === "compiled" },
    );
  });

  test("has its gradient", async () => {
    await clean(
      device,
      () => {
        for (const [name, show, elements] of VIEWS) {
          if (name === "detach") continue;
          const run = (x: dx.Tensor): dx.Tensor[] => {
            const leaf = x.detach().requiresGrad_();
            const z = dx.viewAsComplex(leaf.mul(1));
            const conjugate = z.conj();
            const v = show(z);
            v.real.mul_(ramp(v.shape));
            dx.viewAsReal(v).mul_(0.5);
            const loss = conjugate.real.square().sum().add(conjugate.imag.mul(z.imag).sum());
            return dx.grad(loss, [leaf]);
          };
          const want = X.map((v, i) => {
            const index = elements.indexOf(i >> 1);
            const factor = index < 0 ? 1 : i % 2 === 0 ? (index + 1) / 2 : 0.5;
            return (i % 2 === 0 ? 2 : -2) * v * factor * factor;
          });
          near(mode.run(run, dx.tensor(X, { shape: [2, 3, 2] }))[0]!, want);
        }
      },
      { collect: mode.name === "compiled" },
    );
  });
});

eachDevice("complex tensors and their memory", (device) => {
  test("what operations compute is shared by its views, also where it is an argument of a compiled function", async () => {
    await clean(
      device,
      () => {
        const results: readonly [string, () => dx.ComplexTensor][] = [
          ["complex", () => dx.complex(dx.tensor([1, 2]), dx.tensor([3, 4]))],
          ["polar", () => dx.polar(dx.tensor([1, 2]), dx.tensor([3, 4]))],
          ["fft", () => dx.fft.fft(dx.tensor([1, 2]))],
          ["sum", () => dx.complex(dx.ones([2, 2]), dx.ones([2, 2])).sum(0)],
          ["product", () => dx.complex(dx.tensor([1, 2]), dx.tensor([3, 4])).mul([1, 2])],
          ["cat", () => dx.cat([dx.complex(dx.ones([1]), dx.ones([1])), dx.ones([1])])],
          [
            "resolved",
            () =>
              dx
                .complex(dx.ones([2]), dx.ones([2]))
                .conj()
                .resolveConj(),
          ],
        ];
        const clear = dx.compile((z: dx.ComplexTensor) => {
          dx.viewAsReal(z).select(-1, 0).zero_();
          return z.imag.sum();
        });
        for (const [name, make] of results) {
          const z = make();
          z.imag.fill_(5);
          dx.viewAsReal(z).select(0, 1).add_(1);
          expect([name, z.select(0, 1).imag.itemSync()]).toEqual([name, 6]);
          expect([name, clear(z).itemSync()]).toEqual([name, 11]);
          expect([name, z.toArraySync()]).toEqual([
            name,
            [
              [0, 5],
              [0, 6],
            ],
          ]);
        }
        // A conjugate of the same shape is another argument than what it shows.
        const imag = dx.compile((z: dx.ComplexTensor) => z.imag.mul(1));
        const z = dx.complex(dx.tensor([1]), dx.tensor([2]));
        expect([z, z.conj(), z, z.conj()].map((v) => imag(v).itemSync())).toEqual([2, -2, 2, -2]);
        for (const f of [clear, imag]) f.dispose();
      },
      { collect: true },
    );
  });

  test("pairs and complex numbers of the same memory, both ways", async () => {
    await clean(device, () => {
      const x = dx.tensor([
        [1, 2],
        [3, 4],
      ]);
      const z = dx.viewAsComplex(x);
      x.mul_(2);
      z.real.add_(1);
      expect(x.toArraySync()).toEqual([
        [3, 4],
        [7, 8],
      ]);
      expect(z.conj().toArraySync()).toEqual([
        [3, -4],
        [7, -8],
      ]);
      expect([z.isConj, z.conj().isConj, z.conj().conj().isConj, z.conjPhysical().isConj, z.conj().t().isConj]).toEqual([
        false,
        true,
        false,
        false,
        true,
      ]);
      const copies = [z.clone(), z.conjPhysical(), z.conj().resolveConj(), z.add(0), z.flip([0])];
      const held = copies.map((c) => c.toArraySync());
      x.zero_();
      expect(copies.map((c) => c.toArraySync())).toEqual(held);
      expect(() => dx.viewAsReal(z.conj())).toThrow(/resolveConj/);
    });
  });

  test("a leaf is written outside of the tape only, and has one gradient", async () => {
    await clean(device, () => {
      const z = dx.complex(dx.tensor([1, 2]), dx.tensor([3, 4])).requiresGrad_();
      expect(() => z.real.mul_(2)).toThrow(dx.AutogradError);
      dx.noGrad(() => z.real.mul_(2));
      z.conj()
        .imag.mul(dx.tensor([1, 10]))
        .sum()
        .backward();
      expect(z.grad!.toArraySync()).toEqual([
        [0, -1],
        [0, -10],
      ]);
      expect(z.real.toArraySync()).toEqual([2, 4]);
      const w = dx
        .complex(dx.tensor([1, 2]), dx.tensor([3, 4]))
        .conj()
        .requiresGrad_();
      w.square().backward({ gradient: dx.complex(dx.ones([2]), dx.zeros([2])).conj() });
      // The conjugate of 2 w.
      expect(w.grad!.toArraySync()).toEqual([
        [2, 6],
        [4, 8],
      ]);
      z.grad!.dispose();
      w.grad!.dispose();
    });
  });

  test("the gradient of polar reads neither the length nor the angle", async () => {
    await clean(device, () => {
      const [length, angle] = [dx.tensor([2, 3], { requiresGrad: true }), dx.tensor([0.5, -1], { requiresGrad: true })];
      const [a, b] = [length.mul(1), angle.mul(1)];
      const z = dx.polar(a, b);
      a.zero_();
      b.zero_();
      const [da, db] = dx.grad(z.real.sum().add(z.imag.mul(2).sum()), [length, angle], { createGraph: true });
      near(da!, [Math.cos(0.5) + 2 * Math.sin(0.5), Math.cos(-1) + 2 * Math.sin(-1)]);
      near(db!, [2 * (2 * Math.cos(0.5) - Math.sin(0.5)), 3 * (2 * Math.cos(-1) - Math.sin(-1))]);
      const [dab] = dx.grad(da!.sum(), [angle]);
      near(dab!, [-Math.sin(0.5) + 2 * Math.cos(0.5), -Math.sin(-1) + 2 * Math.cos(-1)]);
    });
  });
});
