/** inferenceMode(): what is allowed, and what tensors are then, as recorded of PyTorch (recorded/inference-mode.py); promises, compile(), caches. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";

interface Row {
  readonly case: string;
  readonly refused?: string;
  readonly requiresGrad: boolean;
  readonly isInference: boolean;
  readonly isLeaf: boolean;
  readonly values: readonly (number | boolean)[];
}
const rows = JSON.parse(readFileSync(new URL("recorded/inference-mode.json", import.meta.url), "utf8")) as readonly Row[];

const { inferenceMode, noGrad, enableGrad } = dx;
const leaf = (): dx.Tensor => dx.tensor([1, 2], { requiresGrad: true });
const ordinary = (): dx.Tensor => dx.tensor([1, 2]);
const made = (): dx.Tensor => inferenceMode(() => dx.tensor([3, 4]));
const integers = (): dx.Tensor => inferenceMode(() => dx.tensor([1, 2], { dtype: "int32" }));
const part = (t: dx.Tensor): dx.Tensor => t.slice(0, 0, 1);
const modes = (): dx.Tensor => dx.tensor([dx.isGradEnabled(), dx.isInferenceModeEnabled()], { dtype: "bool" });
/** x, after fn in inference mode. */
const after = (x: dx.Tensor, fn: (x: dx.Tensor) => unknown): dx.Tensor => {
  inferenceMode(() => void fn(x));
  return x;
};

const cases: Record<string, () => dx.Tensor> = {
  madeInside: made,
  computedInside: () => inferenceMode(() => leaf().mul(2)),
  enableGradInside: () => {
    const x = leaf();
    return inferenceMode(() => enableGrad(() => x.mul(2)));
  },
  noGradAround: () => {
    const x = leaf();
    return noGrad(() => inferenceMode(() => x.mul(2)));
  },
  noGradInside: () => {
    const x = leaf();
    return inferenceMode(() => noGrad(() => x.mul(2)));
  },
  turnedOffInside: () => {
    const x = leaf();
    return inferenceMode(() => inferenceMode(() => x.mul(2), { enabled: false }));
  },
  viewOfLeafInside: () => {
    const x = leaf();
    return inferenceMode(() => part(x));
  },
  viewOfOrdinaryInside: () => {
    const x = ordinary();
    return inferenceMode(() => part(x));
  },
  viewOfInferenceInside: () => inferenceMode(() => part(ordinary())),
  viewOfInferenceOutside: () => part(made()),
  detachOutside: () => made().detach(),
  computedOutside: () => made().mul(2),
  cloneOutside: () => made().clone(),
  cloneSavedOutside: () => made().clone().mul(leaf()),
  cloneInside: () => {
    const x = ordinary();
    return inferenceMode(() => x.clone());
  },
  sumWithLeafOutside: () => made().add(leaf()),
  productWithLeafOutside: () => made().mul(leaf()),
  productInNoGrad: () => noGrad(() => made().mul(leaf())),
  productWithOrdinary: () => made().mul(ordinary()),
  resultSavedOutside: () => made().exp(),
  inPlaceOutside: () => made().add_(1),
  inPlaceOutsideInNoGrad: () => noGrad(() => made().add_(1)),
  inPlaceOfAViewOutside: () => part(made()).zero_(),
  copyIntoOutside: () => made().copy_(ordinary()),
  resizeOutside: () => made().resize_([3]),
  inPlaceInside: () => after(made(), (t) => t.add_(1)),
  inPlaceOfOrdinaryInside: () => after(ordinary(), (t) => t.add_(1)),
  inPlaceOfLeafInside: () => after(leaf(), (t) => t.add_(1)),
  inPlaceOfOrdinaryFromInference: () => ordinary().add_(made()),
  inPlaceOfInsideViewOutside: () => {
    const x = leaf().mul(1);
    return inferenceMode(() => part(x)).add_(1);
  },
  inPlaceOfInsideViewInNoGrad: () => {
    const x = leaf().mul(1);
    const v = inferenceMode(() => part(x));
    noGrad(() => v.add_(1));
    // PyTorch refuses what asks for the view's history afterwards.
    return v.mul(1);
  },
  inPlaceOfOrdinaryInsideViewOutside: () => {
    const x = ordinary();
    return inferenceMode(() => part(x)).add_(1);
  },
  savedThenChangedInside: () => {
    const y = leaf().mul(1);
    const z = y.mul(y);
    inferenceMode(() => y.add_(1));
    z.sum().backward();
    return z;
  },
  requiresGradOutside: () => made().requiresGrad_(),
  requiresNoGradOutside: () => made().requiresGrad_(false),
  requiresGradInside: () => after(made(), (t) => t.requiresGrad_()),
  optionInside: () => inferenceMode(() => dx.ones([2], { requiresGrad: true })),
  leafComputedInside: () => inferenceMode(() => dx.ones([2], { requiresGrad: true }).mul(2)),
  inferenceLeafOutside: () => inferenceMode(() => dx.ones([2], { requiresGrad: true })).mul(2),
  versionOfInference: () => dx.tensor([made().version]),
  versionInside: () => dx.tensor([after(ordinary(), (t) => t.add_(1).add_(1)).version], { dtype: "int32" }),
  backwardInside: () => {
    const x = leaf();
    const y = x.mul(x).sum();
    inferenceMode(() => y.backward());
    return x.grad!;
  },
  integersInside: integers,
  integersChangedOutside: () => integers().add_(1),
  indicesSavedOutside: () =>
    leaf().indexSelect(
      0,
      inferenceMode(() => dx.tensor([1, 0], { dtype: "int32" })),
    ),
  compiledInside: () => {
    const x = leaf();
    return inferenceMode(() => dx.compile((t: dx.Tensor) => t.mul(2))(x));
  },
  insideCompiled: () => dx.compile((t: dx.Tensor) => inferenceMode(() => t.mul(2)))(leaf()),
  compiledSaves: () => dx.compile((t: dx.Tensor, w: dx.Tensor) => t.mul(w))(made(), leaf()),
  compiledAdds: () => dx.compile((t: dx.Tensor, w: dx.Tensor) => t.add(w))(made(), leaf()),
  compiledWrites: () => dx.compile((t: dx.Tensor) => t.add_(1))(made()),
  gradModeInside: () => inferenceMode(modes),
  parameterOverInference: () => new dx.nn.Parameter(made()),
  fixedParameterOverInference: () => new dx.nn.Parameter(made(), { requiresGrad: false }),
  parameterOverClone: () => new dx.nn.Parameter(made().clone()),
  backwardInsideThenOutside: () => {
    const x = leaf();
    const y = x.mul(x).sum();
    inferenceMode(() => y.backward({ retainGraph: true }));
    y.backward();
    return x.grad!;
  },
  vjpOfInference: () => dx.vjp((t) => t.mul(2).sum(), made())[1],
  leafHistoryTakesInference: () => leaf().mul(1).add_(made()),
  leafHistoryTimesInference: () => leaf().mul(1).mul_(made()),
  turnedOnAgain: () => inferenceMode(() => inferenceMode(() => inferenceMode(() => dx.ones([2])), { enabled: false })),
  detachedLeafChangedInside: () => {
    const x = leaf();
    after(x.detach(), (v) => v.add_(1));
    return x;
  },
  castOutside: () => made().to("float16"),
  sameDtypeOutside: () => made().to("float32"),
  moduleMadeInside: () => inferenceMode(() => new dx.nn.PReLU(2)).requiresGrad_().weight,
  stateFromInside: () => {
    const m = new dx.nn.PReLU(2);
    m.loadStateDict({ weight: made() });
    return m.weight;
  },
  gradModeEnabledInside: () => inferenceMode(() => enableGrad(modes)),
};

test("every recorded case has its call here", () => {
  expect(Object.keys(cases).sort()).toEqual(rows.map((r) => r.case).sort());
});

eachDevice("inferenceMode", (device) => {
  const alone = (fn: () => void | Promise<void>) => (): Promise<void> => clean(device, fn, { collect: true });

  // The default generator keeps its state.
  beforeAll(() => dx.withDevice(device, () => dx.rand([1]).dispose()));

  for (const row of rows)
    test(
      `of ${row.case} is PyTorch's`,
      alone(() => {
        if (row.refused !== undefined) {
          expect(cases[row.case]).toThrow(dx.AutogradError);
          return;
        }
        const t = cases[row.case]!();
        const { requiresGrad, isInference, isLeaf } = t;
        expect({ requiresGrad, isInference, isLeaf }).toEqual({
          requiresGrad: row.requiresGrad,
          isInference: row.isInference,
          isLeaf: row.isLeaf,
        });
        expectClose(t.detach(), row.values.map(Number));
      }),
    );

  test(
    "refusals name the operation, the tensor and the remedy",
    alone(() => {
      const message = (fn: () => unknown): string => {
        try {
          fn();
        } catch (error) {
          expect(error).toBeInstanceOf(dx.AutogradError);
          return (error as Error).message;
        }
        throw new RangeError("not refused");
      };
      expect(message(() => made().mul(leaf()))).toMatch(/float32\[2\]\. Inference tensors cannot be saved for backward.*clone\(\)/s);
      expect(message(() => dx.compile((t: dx.Tensor, w: dx.Tensor) => t.mul(w))(made(), leaf()))).toMatch(/cannot be saved for backward/);
      expect(message(() => dx.compile((t: dx.Tensor) => t.add_(1))(made()))).toMatch(/^add_: .*outside of inferenceMode/s);
      const product = dx.compile((t: dx.Tensor, w: dx.Tensor) => t.mul(w));
      product(dx.tensor([1, 2]), leaf());
      expect(message(() => product(made(), leaf()))).toMatch(/cannot be saved for backward/);
      expect(message(() => made().add_(1))).toMatch(/^add_: .*outside of inferenceMode\(\).*clone\(\)/s);
      expect(message(() => made().requiresGrad_())).toMatch(/^requiresGrad_: /);
      expect(message(() => made().resize_([3]))).toMatch(/^resize_: /);
      expect(message(() => made().version)).toMatch(/not counted/);
      expect(
        message(() =>
          leaf().indexSelect(
            0,
            inferenceMode(() => dx.tensor([1, 0], { dtype: "int32" })),
          ),
        ),
      ).toMatch(/cannot be saved for backward/);
      expect(message(() => new dx.nn.Parameter(made()))).toMatch(/^Parameter: data .*outside of inferenceMode/s);
      expect(message(() => dx.vjp((t) => t.mul(2).sum(), made()))).toMatch(/^vjp: inputs .*outside of inferenceMode/s);
      // All parameters of a call are checked before the first changes.
      const mixed = new dx.nn.Sequential(
        new dx.nn.PReLU(1),
        inferenceMode(() => new dx.nn.PReLU(1)),
      );
      mixed.requiresGrad_(false);
      expect(message(() => mixed.requiresGrad_())).toMatch(/^requiresGrad_: parameter /);
      expect(message(() => dx.nn.utils.unfreeze(mixed, "*.weight"))).toMatch(/^unfreeze: parameter /);
      expect([...mixed.parameters()].map((p) => p.requiresGrad)).toEqual([false, false]);
      const x = leaf().mul(1);
      expect(message(() => inferenceMode(() => part(x)).add_(1))).toMatch(/made in noGrad\(\) or inferenceMode\(\)/);
    }),
  );

  test(
    "nothing is changed or kept by what is refused",
    alone(() => {
      const t = made();
      const w = leaf();
      const y = w.mul(3);
      for (let i = 0; i < 3; i++) {
        expect(() => t.add_(1)).toThrow(dx.AutogradError);
        expect(() => t.mul(y)).toThrow(dx.AutogradError);
        expect(() => y.mul_(t)).toThrow(dx.AutogradError);
      }
      expect(t.toArraySync()).toEqual([3, 4]);
      expect(y.toArraySync()).toEqual([3, 6]);
      y.sum().backward();
      expect(w.grad!.toArraySync()).toEqual([3, 3]);
    }),
  );

  test(
    "holds in a promise until it settles, and for nothing else that runs meanwhile",
    alone(async () => {
      const seen = await Promise.all([
        inferenceMode(async () => {
          await Promise.resolve();
          const t = dx.zeros([1]);
          await Promise.resolve();
          return [t.isInference, dx.zeros([1]).isInference, dx.isInferenceModeEnabled()];
        }),
        (async () => {
          await Promise.resolve();
          return [dx.zeros([1]).isInference, dx.isInferenceModeEnabled()];
        })(),
        noGrad(async () => {
          await Promise.resolve();
          return [dx.zeros([1]).isInference, dx.isGradEnabled()];
        }),
      ]);
      expect(seen).toEqual([
        [true, true, true],
        [false, false],
        [false, false],
      ]);
      await expect(inferenceMode(() => Promise.reject(new RangeError("stop")))).rejects.toThrow(RangeError);
      expect(() =>
        inferenceMode(() => {
          throw new RangeError("stop");
        }),
      ).toThrow(RangeError);
      expect([dx.isInferenceModeEnabled(), dx.isGradEnabled(), dx.zeros([1]).isInference]).toEqual([false, true, false]);
    }),
  );

  test(
    "what the library keeps is ordinary, though made inside",
    alone(() => {
      // Scalars are kept by value.
      inferenceMode(() => dx.tensor([1, 2]).mul(1234.5).add(77.25));
      const x = leaf();
      x.mul(1234.5).pow(2).add(77.25).sum().backward();
      expectClose(x.grad!, [2 * 1234.5 ** 2, 4 * 1234.5 ** 2]);
      const generator = new dx.Generator(5);
      const first = inferenceMode(() => dx.rand([3], { generator }).toArraySync());
      expect(dx.rand([3], { generator }).isInference).toBe(false);
      generator.manualSeed(5);
      expect(dx.rand([3], { generator }).toArraySync()).toEqual(first);
      const w = leaf();
      dx.autocast("float16", () => {
        const inside = inferenceMode(() => dx.matmul(w.reshape([1, 2]), dx.ones([2, 1])));
        expect(inside.isInference).toBe(true);
        dx.matmul(w.reshape([1, 2]), dx.ones([2, 1]))
          .sum()
          .backward();
      });
      expect(w.grad!.toArraySync()).toEqual([1, 1]);
      const p = ordinary();
      inferenceMode(() => p.resize_([4]));
      expect([p.isInference, p.add_(1).shape]).toEqual([false, [4]]);
      const sgd = new dx.optim.SGD([w], { lr: 0.5, momentum: 0.9 });
      inferenceMode(() => sgd.step());
      sgd.step();
      expect(w.isInference).toBe(false);
    }),
  );

  test(
    "an optimizer and its state continue outside after a model ran inside",
    alone(() => {
      const model = new dx.nn.Sequential(new dx.nn.Linear(2, 3), new dx.nn.BatchNorm1d(3), new dx.nn.Linear(3, 1));
      const adam = new dx.optim.Adam(model.parameters(), { lr: 0.1 });
      const data = dx.tensor([[1, 2], [3, -4], [0, 5]]); // prettier-ignore
      for (let i = 0; i < 3; i++) {
        const before = inferenceMode(() => model.forward(data));
        expect(before.isInference).toBe(true);
        const loss = model.forward(data).square().mean();
        adam.zeroGrad();
        loss.backward();
        adam.step();
        // A target from inside is data that the loss saves: a clone is not refused.
        expect(dx.nn.functional.mseLoss(model.forward(data), before.clone()).requiresGrad).toBe(true);
      }
    }),
  );

  test(
    "a compiled function serves inference tensors and ordinary ones, in and out of the mode",
    alone(() => {
      let runs = 0;
      const f = dx.compile((t: dx.Tensor) => {
        runs++;
        return t.mul(2).add(1);
      });
      const write = dx.compile((t: dx.Tensor) => t.mul_(2));
      const inner = dx.compile((t: dx.Tensor, w: dx.Tensor) => {
        const scale = inferenceMode(() => t.exp().mul(0).add(3));
        return scale.mul(w);
      });
      for (const value of [1, -2, 5]) {
        const t = inferenceMode(() => dx.tensor([value]));
        const x = dx.tensor([value]);
        expect([f(t), f(x)].map((y) => [y.isInference, y.itemSync()])).toEqual([
          [false, 2 * value + 1],
          [false, 2 * value + 1],
        ]);
        expect(inferenceMode(() => [f(t), f(x)]).map((y) => [y.isInference, y.itemSync()])).toEqual([
          [true, 2 * value + 1],
          [true, 2 * value + 1],
        ]);
        expect(() => write(t)).toThrow(dx.AutogradError);
        expect(() => noGrad(() => write(t))).toThrow(dx.AutogradError);
        expect(t.itemSync()).toBe(value);
        inferenceMode(() => write(t));
        inferenceMode(() => write(x));
        expect([t.itemSync(), t.isInference, x.itemSync(), x.isInference, x.version]).toEqual([2 * value, true, 2 * value, false, 1]);
        write(x);
        expect([x.itemSync(), x.version]).toEqual([4 * value, 2]);
        const w = dx.tensor([1], { requiresGrad: true });
        const product = inner(x, w);
        product.sum().backward();
        expect([product.isInference, w.grad!.itemSync()]).toEqual([false, 3]);
      }
      expect(runs).toBeLessThanOrEqual(12);
    }),
  );

  test(
    "inference tensors of every dtype, empty ones and complex ones",
    alone(() => {
      for (const dtype of ["float32", "float16", "int32", "int64", "uint8", "bool"] as const) {
        const t = inferenceMode(() => dx.ones([2, 0], { dtype }));
        const full = inferenceMode(() => dx.ones([2, 2], { dtype }));
        expect([t.isInference, full.isInference, full.transpose(0, 1).isInference, full.clone().isInference]).toEqual([
          true,
          true,
          true,
          false,
        ]);
        expect(() => t.zero_()).toThrow(dx.AutogradError);
        expect(() => full.fill_(0)).toThrow(dx.AutogradError);
        expect(() => full.copy_(dx.zeros([2, 2], { dtype }))).toThrow(dx.AutogradError);
      }
      const z = inferenceMode(() => dx.complex(dx.tensor([1]), dx.tensor([2])));
      expect([z.isInference, z.real.isInference, z.clone().isInference]).toEqual([true, true, false]);
      expect(() => z.mul(dx.complex(leaf().slice(0, 0, 1), dx.tensor([1])))).toThrow(dx.AutogradError);
      const nan = inferenceMode(() => dx.tensor([NaN, 1]));
      expect(nan.add(1).toArraySync()).toEqual([NaN, 2]);
    }),
  );

  test(
    "wrong arguments",
    alone(() => {
      expect(() => inferenceMode(true as never)).toThrow(dx.ValueError);
      expect(() => inferenceMode(() => 1, { enabled: 1 as never })).toThrow(dx.ValueError);
      expect(() => inferenceMode(() => 1, { mode: false } as never)).toThrow(dx.ValueError);
    }),
  );
});
