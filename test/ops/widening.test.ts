/** Reductions that widen do so in pieces: their extra memory does not grow with the input. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, modes, numbers } from "../device.ts";
import { isWhole } from "../share.ts";

eachDevice("a reduction that widens", (device) => {
  // More than 128 MiB once widened: minutes where a backend computes in JavaScript.
  const shape = [4, 6, 1 << 20] as const;
  const make = (dtype: dx.DType): dx.Tensor => {
    const row = dx.tensor(
      Array.from({ length: 24 }, (_, i) => (i % 7) + 1),
      { dtype },
    );
    return dx.scope(() => row.reshape([4, 6, 1]).expand(shape).contiguous());
  };
  const value = (i: number): number => (i % 7) + 1;
  const total = (pick: (i: number) => boolean): number =>
    Array.from({ length: 24 }, (_, i) => (pick(i) ? value(i) * (1 << 20) : 0)).reduce((a, b) => a + b);

  for (const mode of modes) {
    it(
      `gives every element its part, ${mode.name}`,
      () =>
        clean(device, () => {
          const x = make("uint8");
          // Compiled, a run makes copies of x, which are freed with it: a device may have 1 GiB.
          const of = (fn: (t: dx.Tensor) => dx.Tensor): dx.Tensor => dx.scope(() => mode.run(fn, x));
          // Compiled, a call is three of them.
          for (let call = 0; call < (mode.name === "compiled" || !isWhole ? 1 : 2); call++) {
            expect(numbers(of((t) => t.sum()))).toEqual([total(() => true)]);
            expect(numbers(of((t) => t.sum(2, { keepDims: true })))).toEqual(Array.from({ length: 24 }, (_, i) => value(i) * (1 << 20)));
            expect(numbers(of((t) => t.sum([0, 2])))).toEqual(Array.from({ length: 6 }, (_, a) => total((i) => i % 6 === a)));
            const columns = of((t) => t.sum([0, 1]));
            expect(columns.shape).toEqual([1 << 20]);
            const each = Array.from({ length: 24 }, (_, i) => value(i)).reduce((a, b) => a + b);
            expect([columns.amin().itemSync(), columns.amax().itemSync()]).toEqual([each, each]);
            const kept = of((t) => t.sum([0], { keepDims: true }));
            expect(kept.shape).toEqual([1, 6, 1 << 20]);
            expect(numbers(kept.select(2, (1 << 20) - 1))).toEqual(
              Array.from({ length: 6 }, (_, a) => [0, 1, 2, 3].reduce((n, b) => n + value(6 * b + a), 0)),
            );
          }
          x.dispose();
        }),
      300_000,
    );
  }

  it(
    "has a gradient",
    () =>
      clean(device, () => {
        const half = dx.full([1 << 26], 0.5, { dtype: "float16", requiresGrad: true });
        half.sum(null, { dtype: "float32" }).mul(3).backward();
        expect(half.grad!.dtype).toBe("float16");
        expect(numbers(half.grad!.amax())).toEqual([3]);
        expect(numbers(half.grad!.amin())).toEqual([3]);
        half.grad!.dispose();
        half.dispose();
      }),
    300_000,
  );
});
