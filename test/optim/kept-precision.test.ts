/** masterWeights and kahan with the optimizers of papers, and with those whose rules take each parameter by itself: compared with the same optimizer on float32 parameters. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectRounded } from "./rounded.ts";

interface Options {
  readonly masterWeights?: boolean;
  readonly kahan?: boolean;
}
const betas = [0.9, 0.9] as const;
const makers: { readonly [name: string]: (p: dx.Tensor[], o: Options) => dx.optim.Optimizer } = {
  lion: (p, o) => dx.optim.lion(p, { lr: 1e-4, weightDecay: 0.01, ...o }),
  lamb: (p, o) => dx.optim.lamb(p, { lr: 1e-4, weightDecay: 0.01, betas, ...o }),
  muon: (p, o) => dx.optim.muon(p, { lr: 1e-4, weightDecay: 0.01, ...o }),
  adafactor: (p, o) => dx.optim.adafactor(p, { lr: 1e-4, weightDecay: 0.01, ...o }),
  sparseAdam: (p, o) => dx.optim.sparseAdam(p, { lr: 1e-4, betas, ...o }),
};
const first = [1, -1.5, 3, 0.75];
/** Of gradients: parameters move away from zero, where a device that truncates float16 stands still as one that rounds to nearest. */
const signs = [-1, 1, -1, -1];
/** A matrix in float32; its elements are numbers of every dtype. */
const matrix = (values: readonly number[]): dx.Tensor => dx.tensor(values, { shape: [2, 2] });

function follow(
  p: dx.Tensor,
  optimizer: dx.optim.Optimizer,
  gradients: readonly (readonly number[])[],
  how: dx.CompileOptions | null,
): void {
  const body = (g: dx.Tensor): void => {
    optimizer.zeroGrad();
    p.mul(g).sum().backward();
    optimizer.step();
  };
  const run = how === null ? null : dx.compile(body, how);
  for (const g of gradients) (run ?? body)(matrix(g).to(p.dtype));
  if (run !== null) expect(run.programs).toBe(1);
  run?.dispose();
}
const steady = (steps: number): number[][] => Array.from({ length: steps }, (_, t) => signs.map((s) => (t % 2 === 0 ? s : s / 2)));
/** Numbers of 7 bits, so that both dtypes have them. */
const changing = (steps: number): number[][] =>
  Array.from({ length: steps }, (_, t) => signs.map((s, i) => (s * (1 + ((t * 5 + i * 3) % 17))) / 16));

const finish = (optimizer: dx.optim.Optimizer, p: dx.Tensor): void => {
  optimizer.dispose();
  p.grad?.dispose();
  p.dispose();
};

eachDevice("what is kept of half precision", (device) => {
  describe.each(["float16", "bfloat16"] as const)("%s", (dtype) => {
    const make = (name: string, options: Options): [dx.Tensor, dx.optim.Optimizer] => {
      const p = matrix(first).to(dtype).requiresGrad_();
      return [p, makers[name]!([p], options)];
    };
    const reference = (name: string, gradients: readonly (readonly number[])[]): number[] => {
      const p = matrix(first).requiresGrad_();
      const optimizer = makers[name]!([p], {});
      follow(p, optimizer, gradients, null);
      const found = numbers(p);
      finish(optimizer, p);
      return found;
    };

    describe.each([
      ["eager", null],
      ["compiled", {}],
      ["compiled, unchecked", { check: false }],
    ] as const)("%s", (_, how) => {
      test.each(Object.keys(makers))("masterWeights: %s moves float32 copies as it moves float32 parameters", (name) =>
        clean(
          device,
          () => {
            const gradients = changing(12);
            const wanted = reference(name, gradients);
            const [p, optimizer] = make(name, { masterWeights: true });
            follow(p, optimizer, gradients, how);
            const own = optimizer.stateDict().state[0]!;
            for (const [key, t] of Object.entries(own)) expect(`${key} ${t.dtype}`).toBe(`${key} float32`);
            const master = own["master_weight"]!;
            numbers(master).forEach((v, i) => expect(Math.abs(v - wanted[i]!)).toBeLessThan(2e-6 * (1 + Math.abs(v))));
            expect(p.dtype).toBe(dtype);
            expectRounded(p, master);
            finish(optimizer, p);
          },
          { collect: true },
        ),
      );

      test.each(Object.keys(makers))("kahan: %s follows the float32 run, where plain rounding stands still", (name) =>
        clean(
          device,
          () => {
            // Steps are smaller than half a unit of the last place.
            const gradients = steady(40);
            const wanted = reference(name, gradients);
            const [p, optimizer] = make(name, { kahan: true });
            follow(p, optimizer, gradients, how);
            const lost = optimizer.stateDict().state[0]!["kahan_compensation"]!;
            expect(lost.dtype).toBe(dtype);
            const kept = numbers(p).map((v, i) => v + numbers(lost)[i]!);
            kept.forEach((v, i) => {
              const way = wanted[i]! - first[i]!;
              expect(Math.abs(way)).toBeGreaterThan(1e-3);
              // The state is in half precision, so that steps differ somewhat.
              expect(Math.abs(v - wanted[i]!)).toBeLessThan(0.15 * Math.abs(way) + 1e-4);
            });
            finish(optimizer, p);
            const [q, plain] = make(name, {});
            follow(q, plain, gradients, how);
            expect(numbers(q)).toEqual(first);
            finish(plain, q);
          },
          { collect: true },
        ),
      );
    });

    test.each(Object.keys(makers))("%s: a run that is loaded continues with the same bits", (name) =>
      clean(
        device,
        () => {
          const gradients = changing(8);
          for (const options of [{ masterWeights: true }, { kahan: true }]) {
            const [p, whole] = make(name, options);
            follow(p, whole, gradients, null);
            const [q, half] = make(name, options);
            follow(q, half, gradients.slice(0, 5), null);
            const r = q.detach().clone().requiresGrad_();
            const resumed = makers[name]!([r], options);
            resumed.loadStateDict(half.stateDict());
            // Fused programs round otherwise than eager calls.
            follow(r, resumed, gradients.slice(5), { fuse: "off" });
            expect(numbers(r)).toEqual(numbers(p));
            const { state } = resumed.stateDict();
            for (const [key, t] of Object.entries(whole.stateDict().state[0]!)) expect(numbers(state[0]![key]!)).toEqual(numbers(t));
            const other = makers[name]!([r], {});
            expect(() => other.loadStateDict(whole.stateDict())).toThrow(/must be false/);
            other.dispose();
            finish(whole, p);
            finish(half, q);
            finish(resumed, r);
          }
        },
        { collect: true },
      ),
    );
  });
});
