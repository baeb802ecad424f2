import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";

/** A leaf whose gradient is disposed of with it when `free` runs. */
function leaves(...values: dx.TensorData[]): { readonly tensors: dx.Tensor[]; free(): void } {
  const tensors = values.map((v) => dx.tensor(v, { requiresGrad: true }));
  return {
    tensors,
    free: () => {
      for (const t of tensors) {
        t.grad?.dispose();
        t.grad = null;
      }
    },
  };
}

eachDevice("backward", (device) => {
  test("adds up over paths, calls and broadcasting", () =>
    clean(device, () => {
      const {
        tensors: [x, w],
        free,
      } = leaves(
        [
          [1, 2],
          [3, 4],
        ],
        [10, 20],
      );
      dx.add(dx.mul(x!, w!), x!).sum().backward();
      expectClose(x!.grad!, [
        [11, 21],
        [11, 21],
      ]);
      expectClose(w!.grad!, [4, 6]);
      dx.mul(w!, 2).sum().backward();
      expectClose(w!.grad!, [6, 8]);
      free();
    }));

  test("a result of several elements needs a gradient of its shape", () =>
    clean(device, () => {
      const {
        tensors: [x],
        free,
      } = leaves([1, 2]);
      const y = x!.mul(3);
      expect(() => y.backward()).toThrow(/a scalar when no gradient is given/);
      expect(() => y.backward({ gradient: dx.ones([3]) })).toThrow(dx.ShapeError);
      y.backward({ gradient: dx.tensor([1, 10]) });
      expectClose(x!.grad!, [3, 30]);
      free();
    }));

  test.each(["eagerly", "compiled"])("a gradient argument that is only viewed on its way is the leaf's gradient itself, %s", (way) =>
    clean(
      device,
      () => {
        const pass = (x: dx.Tensor, g: dx.Tensor): void => x.unsqueeze(0).backward({ gradient: g });
        const run = way === "compiled" ? dx.compile(pass) : pass;
        for (const by of [2, 3, 2]) {
          const x = dx.tensor([1, 2], { requiresGrad: true });
          const g = dx.tensor([[10, 20]]);
          run(x, g);
          g.mul_(by);
          expect(x.grad!.toArraySync()).toEqual([10 * by, 20 * by]);
          run(x, g);
          expect(g.toArraySync()).toEqual([[20 * by, 40 * by]]);
          x.grad!.dispose();
          x.grad = null;
        }
        if ("dispose" in run) (run as { dispose(): void }).dispose();
      },
      { collect: true },
    ),
  );

  test("a gradient argument stays its owner's where it reaches a leaf as it is, spread, cast or twice, or with a recorded history", () =>
    clean(device, () => {
      const g = dx.tensor([10, 20]);
      const {
        tensors: [x, half, spread, a, b],
        free,
      } = leaves([1, 2], [1, 2], [1, 2], [1, 2], [1, 2]);
      x!.add(1).backward({ gradient: g });
      half!
        .view(2)
        .to("float16")
        .backward({ gradient: g.to("float16") });
      const one = dx.tensor([5]);
      spread!.sum(0, { keepDims: true }).backward({ gradient: one });
      a!.view(2).add(b!.view(2)).backward({ gradient: g, createGraph: true });
      const { tensors: whole, free: freeWhole } = leaves([1, 2], [1, 2], [1, 2]);
      whole[0]!.index(":").backward({ gradient: g });
      whole[1]!.squeeze().backward({ gradient: g });
      whole[2]!.expand(2).backward({ gradient: g });
      g.zero_();
      one.zero_();
      expect(whole.map((t) => t.grad!.toArraySync())).toEqual(whole.map(() => [10, 20]));
      freeWhole();
      for (const t of [x, half, a, b]) expect(t!.grad!.toArraySync()).toEqual([10, 20]);
      expect(spread!.grad!.toArraySync()).toEqual([5, 5]);
      const h = dx.tensor([1, 1]);
      const { tensors: two, free: freeTwo } = leaves([1, 2], [1, 2]);
      for (let i = 0; i < 2; i++) two[0]!.view(2).add(two[1]!.view(2)).backward({ gradient: h });
      expect(two[1]!.grad!.toArraySync()).toEqual([2, 2]);
      freeTwo();
      free();
    }));

  test("frees what it saved, unless told to retain", () =>
    clean(device, () => {
      const {
        tensors: [x],
        free,
      } = leaves([1, 2]);
      const y = x!.square().sum();
      y.backward({ retainGraph: true });
      y.backward();
      expectClose(x!.grad!, [4, 8]);
      expect(() => y.backward()).toThrow(
        /^backward: received a second pass through \w+, whose saved tensors have been freed\. Pass retainGraph: true/,
      );
      free();
    }));

  test("sees that a saved tensor was changed in place", () =>
    clean(
      device,
      () => {
        const {
          tensors: [x],
          free,
        } = leaves([1, 2]);
        const middle = x!.mul(2);
        const y = middle.square().sum();
        dx.noGrad(() => middle.add_(1));
        expect(() => y.backward()).toThrow(
          /must be unchanged since square saved it \(version \d+\); received version \d+: an in-place operation changed it/,
        );
        expect(() => x!.add_(1)).toThrow(/no leaf that requires a gradient/);
        dx.noGrad(() => x!.add_(1));
        expectClose(x!, [2, 3]);
        free();
      },
      { collect: true },
    ));

  test("in-place operations on results are differentiated", () =>
    clean(
      device,
      () => {
        const {
          tensors: [x, y],
          free,
        } = leaves([1, 2], [3, 4]);
        const z = x!.mul(2);
        z.add_(y!);
        z.mul_(5);
        z.sum().backward();
        expectClose(x!.grad!, [10, 10]);
        expectClose(y!.grad!, [5, 5]);
        const cut = x!.mul(2);
        cut.zero_();
        expect(cut.requiresGrad).toBe(true);
        free();
      },
      { collect: true },
    ));

  test("nothing is recorded inside noGrad, nor for integers", () =>
    clean(
      device,
      () => {
        const {
          tensors: [x],
        } = leaves([1, 2]);
        expect(dx.noGrad(() => x!.mul(2)).requiresGrad).toBe(false);
        expect(dx.noGrad(() => dx.enableGrad(() => x!.mul(2))).requiresGrad).toBe(true);
        expect(dx.argmax(x!).requiresGrad).toBe(false);
        expect(dx.gt(x!, 1).requiresGrad).toBe(false);
        expect(x!.detach().requiresGrad).toBe(false);
        expect(() => dx.tensor([1], { dtype: "int32" }).requiresGrad_()).toThrow(dx.DTypeError);
        expect(() => x!.mul(2).requiresGrad_(false)).toThrow(dx.AutogradError);
        expect(() => dx.tensor([1]).backward()).toThrow(/made from a tensor that requires a gradient/);
      },
      { collect: true },
    ));

  test("through views of one storage", () =>
    clean(device, () => {
      const {
        tensors: [x],
        free,
      } = leaves([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      const parts = [
        x!.t().slice(0, 0, 2),
        x!.select(0, 1).unsqueeze(1).expand(3, 2),
        x!.reshape(3, 2).permute(1, 0).diagonal().unsqueeze(0),
      ];
      dx.add(dx.add(parts[0]!.mul(10).sum(), parts[1]!.mul(100).sum()), parts[2]!.mul(1000).sum()).backward();
      expectClose(x!.grad!, [
        [1010, 10, 0],
        [1210, 210, 200],
      ]);
      free();
    }));

  test("hooks see and change gradients, and can be taken away", () =>
    clean(device, () => {
      const {
        tensors: [x],
        free,
      } = leaves([1, 2]);
      const seen: unknown[] = [];
      const onLeaf = x!.registerHook((g) => g.mul(10));
      const y = x!.mul(3);
      const onMiddle = y.registerHook((g) => {
        seen.push(g.toArraySync());
      });
      y.retainGrad();
      y.sum().backward();
      expect(seen).toEqual([[1, 1]]);
      expectClose(y.grad!, [1, 1]);
      expectClose(x!.grad!, [30, 30]);
      onLeaf.remove();
      onMiddle.remove();
      x!.mul(3).sum().backward();
      expectClose(x!.grad!, [33, 33]);
      expect(seen).toHaveLength(1);
      expect(() => dx.ones([1]).registerHook(() => {})).toThrow(dx.AutogradError);
      y.grad!.dispose();
      free();
    }));

  test("grad() leaves grad alone, and tells of tensors that play no part", () =>
    clean(device, () => {
      const {
        tensors: [x, y],
      } = leaves([1, 2], [3, 4]);
      const middle = x!.mul(x!);
      const loss = middle.sum();
      const [dMiddle, dx_] = dx.grad(loss, [middle, x!], { retainGraph: true });
      expectClose(dMiddle!, [1, 1]);
      expectClose(dx_!, [2, 4]);
      expect(x!.grad).toBeNull();
      expect(() => dx.grad(loss, [y!], { retainGraph: true })).toThrow(/a tensor that the results depend on/);
      expect(dx.grad(loss, [y!], { allowUnused: true })).toEqual([null]);
    }));

  test("gradients of gradients", () =>
    clean(
      device,
      () => {
        const {
          tensors: [x],
        } = leaves([0.5, -1.5]);
        const third = (f: (t: dx.Tensor) => dx.Tensor): dx.Tensor => {
          const [first] = dx.grad(f(x!).sum(), [x!], { createGraph: true });
          const [second] = dx.grad(first!.sum(), [x!], { createGraph: true });
          return dx.grad(second!.sum(), [x!])[0]!;
        };
        expectClose(
          third((t) => t.pow(4)),
          [12, -36],
        );
        expectClose(
          third((t) => t.exp()),
          [0.5, -1.5].map(Math.exp),
        );
        expectClose(
          third((t) => t.sin()),
          [0.5, -1.5].map((v) => -Math.cos(v)),
          { rtol: 1e-4, atol: 1e-5 },
        );
        const sigmoid = (v: number): number => 1 / (1 + Math.exp(-v));
        expectClose(
          third((t) => t.sigmoid()),
          [0.5, -1.5].map((v) => {
            const s = sigmoid(v);
            return s * (1 - s) * (1 - 6 * s + 6 * s * s);
          }),
          { rtol: 1e-4, atol: 1e-5 },
        );
      },
      { collect: true },
    ));

  test("a long chain needs no deep stack", () =>
    clean(device, () => {
      const {
        tensors: [x],
        free,
      } = leaves([1]);
      let y = x!;
      for (let i = 0; i < 3000; i++) y = y.add(1);
      y.sum().backward();
      expectClose(x!.grad!, [1]);
      free();
    }));

  test("to() another dtype lets gradients through", () =>
    clean(device, () => {
      const {
        tensors: [x],
        free,
      } = leaves([1, 2]);
      x!.to("float16").mul(3).to("float32").sum().backward();
      expect(x!.grad!.dtype).toBe("float32");
      expectClose(x!.grad!, [3, 3]);
      free();
    }));
});
