/** masterWeights and kahan: parameters in half precision that lose nothing to rounding. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectRounded } from "./rounded.ts";

type Low = "float16" | "bfloat16";
interface Recorded {
  readonly runs: {
    readonly [dtype in Low]: { first: number[]; gradients: number[][]; masters: { readonly [optimizer: string]: number[] } };
  };
}
const { runs } = JSON.parse(readFileSync(new URL("../golden/autocast/master.json", import.meta.url), "utf8")) as Recorded;

interface Options {
  readonly masterWeights?: boolean;
  readonly kahan?: boolean;
}
const makers: { readonly [name: string]: (p: dx.Tensor[], o: Options) => dx.optim.Optimizer } = {
  sgd: (p, o) => dx.optim.sgd(p, { lr: 1e-3, momentum: 0.9, weightDecay: 0.01, ...o }),
  adam: (p, o) => dx.optim.adam(p, { lr: 1e-4, ...o }),
  adamW: (p, o) => dx.optim.adamW(p, { lr: 1e-4, weightDecay: 0.1, ...o }),
  adagrad: (p, o) => dx.optim.adagrad(p, { lr: 1e-4, ...o }),
  rmsprop: (p, o) => dx.optim.rmsprop(p, { lr: 1e-4, ...o }),
  nadam: (p, o) => dx.optim.nadam(p, { lr: 1e-4, ...o }),
  radam: (p, o) => dx.optim.radam(p, { lr: 1e-4, ...o }),
  adamax: (p, o) => dx.optim.adamax(p, { lr: 1e-4, ...o }),
  adadelta: (p, o) => dx.optim.adadelta(p, { lr: 1e-2, ...o }),
};
const lows = ["float16", "bfloat16"] as const;
const parameter = (values: readonly number[], dtype: Low): dx.nn.Parameter => new dx.nn.Parameter(dx.tensor(values).to(dtype));

/** Takes a step for each gradient; compiled, in one compiled function. */
function steps(
  optimizer: dx.optim.Optimizer,
  p: dx.Tensor,
  gradients: readonly (readonly number[])[],
  options: dx.CompileOptions | null,
): void {
  const body = (g: dx.Tensor): void => {
    optimizer.zeroGrad();
    p.mul(g).sum().backward();
    optimizer.step();
  };
  const run = options === null ? null : dx.compile(body, options);
  for (const g of gradients) (run ?? body)(dx.tensor(g).to(p.dtype));
  if (run !== null) expect(run.programs).toBe(1);
  run?.dispose();
}

const finish = (optimizer: dx.optim.Optimizer, ...params: dx.Tensor[]): void => {
  optimizer.dispose();
  for (const p of params) {
    p.grad?.dispose();
    p.dispose();
  }
};
const ulp = (dtype: Low): number => (dtype === "float16" ? 2 ** -10 : 2 ** -7);

eachDevice("half precision", (device) => {
  describe.each(lows)("%s", (dtype) => {
    describe.each([
      ["eager", null],
      ["compiled", {}],
      ["compiled, unchecked", { check: false }],
    ] as const)("%s", (_, how) => {
      test.each(Object.keys(makers))("masterWeights: %s on float32 copies, as PyTorch recorded", (name) =>
        clean(
          device,
          () => {
            const { first, gradients, masters } = runs[dtype];
            const p = parameter(first, dtype);
            const optimizer = makers[name]!([p], { masterWeights: true });
            steps(optimizer, p, gradients, how);
            const own = optimizer.stateDict().state[0]!;
            for (const [key, t] of Object.entries(own)) expect(`${key} ${t.dtype}`).toBe(`${key} float32`);
            const master = numbers(own["master_weight"]!);
            master.forEach((v, i) => expect(Math.abs(v - masters[name]![i]!)).toBeLessThan(2e-6 * (1 + Math.abs(v))));
            expect(p.dtype).toBe(dtype);
            expectRounded(p, own["master_weight"]!);
            finish(optimizer, p);
          },
          { collect: true },
        ),
      );

      test("kahan follows the float32 run where plain rounding stands still", () =>
        clean(
          device,
          () => {
            // A step of 1e-4 is less than half a unit of the last place of 1.
            const first = [1, -1.5, 3, 0.25];
            const gradients = Array.from({ length: 200 }, (_, i) => first.map((_, k) => (i % 2 === 0 ? 1 : 0.5) * (k % 2 === 0 ? 1 : -1)));
            const wanted = first.map((v, k) => v - 1e-4 * 150 * (k % 2 === 0 ? 1 : -1));
            const errors = (options: Options): number => {
              const p = parameter(first, dtype);
              const optimizer = dx.optim.sgd([p], { lr: 1e-4, ...options });
              steps(optimizer, p, gradients, how);
              const found = numbers(p);
              if (options.kahan === true) expect(optimizer.stateDict().state[0]!["kahan_compensation"]!.dtype).toBe(dtype);
              finish(optimizer, p);
              return Math.max(...found.map((v, k) => Math.abs(v - wanted[k]!) / Math.abs(wanted[k]!)));
            };
            expect(errors({ kahan: true })).toBeLessThan(ulp(dtype));
            expect(errors({})).toBeGreaterThan(2 ** -8);
          },
          { collect: true },
        ));
    });

    test("a parameter that is written otherwise is the copy's new start", () =>
      clean(
        device,
        () => {
          const p = parameter([1, 0, -0, 2], dtype);
          const optimizer = dx.optim.sgd([p], { lr: 2 ** -12, masterWeights: true });
          const one = [[1, 1, 1, -1]];
          steps(optimizer, p, one, null);
          dx.noGrad(() => p.copy_(dx.tensor([4, 0, 1, 2])));
          steps(optimizer, p, one, null);
          const step = 2 ** -12;
          // The last was 2 + 2^-12 before, which is 2 in half precision, rounded or truncated: its copy keeps it.
          expect(numbers(optimizer.stateDict().state[0]!["master_weight"]!)).toEqual([4 - step, -step, 1 - step, 2 + 2 * step]);
          finish(optimizer, p);
        },
        { collect: true },
      ));

    test("state dicts have what is kept: a loaded run continues with the same bits", () =>
      clean(
        device,
        () => {
          const { first, gradients } = runs[dtype];
          for (const options of [{ masterWeights: true }, { kahan: true }]) {
            const [p, q] = [parameter(first, dtype), parameter(first, dtype)];
            const whole = dx.optim.adam([p], { lr: 1e-3, ...options });
            steps(whole, p, gradients, null);
            const half = dx.optim.adam([q], { lr: 1e-3, ...options });
            steps(half, q, gradients.slice(0, 11), null);
            const r = new dx.nn.Parameter(q.detach().clone());
            const resumed = dx.optim.adam([r], { lr: 1e-3, ...options });
            resumed.loadStateDict(half.stateDict());
            steps(resumed, r, gradients.slice(11), null);
            expect(numbers(r)).toEqual(numbers(p));
            for (const [key, t] of Object.entries(whole.stateDict().state[0]!))
              expect(numbers(resumed.stateDict().state[0]![key]!)).toEqual(numbers(t));
            const plain = dx.optim.adam([q], { lr: 1e-3 });
            expect(() => plain.loadStateDict(whole.stateDict())).toThrow(/loadStateDict: .* must be false/);
            expect(() => resumed.loadStateDict({ ...plain.stateDict(), state: { 0: {} } })).toThrow(dx.ValueError);
            plain.dispose();
            for (const [o, t] of [
              [whole, p],
              [half, q],
              [resumed, r],
            ] as const)
              finish(o, t);
          }
        },
        { collect: true },
      ));

    test("steps that GradScaler skips keep the copies, with autocast around a half-precision model", () =>
      clean(
        device,
        () => {
          const p = parameter([1, 2, 3], dtype);
          const optimizer = dx.optim.adam([p], { lr: 1e-3, masterWeights: true });
          const scaler = dx.optim.gradScaler({ initScale: 8 });
          const run = dx.compile((x: dx.Tensor) => {
            optimizer.zeroGrad();
            scaler.scale(dx.autocast(dtype, () => dx.dot(p, x).square())).backward();
            scaler.stepOnDevice(optimizer);
            scaler.update();
          });
          const seen: number[][] = [];
          for (const x of [1, Infinity, 1, NaN]) {
            run(dx.tensor([x, 1, 1]));
            seen.push(numbers(optimizer.stateDict().state[0]!["master_weight"]!));
          }
          expect(seen[1]).toEqual(seen[0]);
          expect(seen[3]).toEqual(seen[2]);
          expect(seen[2]).not.toEqual(seen[1]);
          expect(run.programs).toBe(1);
          run.dispose();
          scaler.dispose();
          finish(optimizer, p);
        },
        { collect: true },
      ));
  });

  test("float32 parameters are as without, mixed groups too; what is refused", () =>
    clean(
      device,
      () => {
        const make = (): [dx.nn.Parameter, dx.nn.Parameter] => [
          new dx.nn.Parameter(dx.tensor([1, 2])),
          new dx.nn.Parameter(dx.tensor([3, 4]).to("float16")),
        ];
        const [a, b] = make();
        const optimizer = dx.optim.adamW([{ params: [a, b], masterWeights: true }]);
        a.grad = dx.tensor([1, 1]);
        b.grad = dx.tensor([1, 1]).to("float16");
        optimizer.step();
        const { state } = optimizer.stateDict();
        expect(Object.keys(state[0]!)).not.toContain("master_weight");
        expect(state[1]!["master_weight"]!.dtype).toBe("float32");
        const optim = dx.optim as unknown as { sgd: (p: unknown, o: unknown) => unknown };
        expect(() => dx.optim.sgd([a], { masterWeights: true, kahan: true })).toThrow(/kahan/);
        expect(() => optim.sgd([a], { masterWeights: 1 })).toThrow(/masterWeights/);
        expect(() => optim.sgd([{ params: [a], kahan: "yes" }], {})).toThrow(/kahan/);
        finish(optimizer, a, b);
      },
      { collect: true },
    ));
});
