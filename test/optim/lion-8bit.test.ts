/** Lion with an 8-bit average: codes and steps against bitsandbytes' code book in float64, training against float32 Lion, files, errors. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { decode, dynamicMap, encode, expectCodes, train, type Coded } from "./code-books.ts";

const SIZE = 600;
const shape = [20, 30] as const;
const gradient = (t: number): number[] =>
  Array.from({ length: SIZE }, (_, i) => (i % 7 === 3 ? 0 : Math.sin(1.7 * t + 0.9 * i * i) * 10 ** -((i * 5) % 8)));
const start = Array.from({ length: SIZE }, (_, i) => Math.sin(i));
const map = dynamicMap(true);

eachDevice("8-bit Lion", (device) => {
  test.each([
    ["eager", null, { weightDecay: 0.1 }],
    ["compiled", {}, {}],
    ["compiled, unchecked", { check: false }, { maximize: true, betas: [0.8, 0.95] as const }],
  ] as const)("%s: each step decodes, moves and codes as bitsandbytes does", (_, how, options) =>
    clean(
      device,
      () => {
        const p = new dx.nn.Parameter(dx.tensor(start, { shape }));
        const optimizer = dx.optim.lion8bit([p], { lr: 0.01, min8bitSize: 0, ...options });
        const { betas: [b1, b2], weightDecay, maximize } = optimizer.defaults; // prettier-ignore
        const body = (g: dx.Tensor): void => {
          p.mul(g).sum().backward();
          optimizer.step();
          optimizer.zeroGrad();
        };
        const compiled = how === null ? null : dx.compile(body, how);
        let own: Coded = encode(map, new Array<number>(SIZE).fill(0));
        let values = numbers(p);
        for (let t = 1; t <= 5; t++) {
          (compiled ?? body)(dx.tensor(gradient(t), { shape }));
          const d = gradient(t).map((g) => (maximize ? -1 : 1) * Math.fround(g));
          const m = decode(map, own);
          const mixed = m.map((v, i) => b1 * v + (1 - b1) * d[i]!);
          // Where the two parts cancel, the sign is that of a rounding.
          const isClear = mixed.map((v, i) => v === 0 || Math.abs(v) > 1e-5 * Math.abs((1 - b1) * d[i]!));
          const wanted = values.map((v, i) => v * (1 - 0.01 * weightDecay) - 0.01 * Math.sign(mixed[i]!));
          values = numbers(p);
          values.forEach((v, i) => isClear[i] === true && expect(Math.abs(v - wanted[i]!)).toBeLessThan(1e-5));
          const next = encode(map, m.map((v, i) => b2 * v + (1 - b2) * d[i]!)); // prettier-ignore
          const state = optimizer.stateDict().state[0]!;
          own = { codes: numbers(state["exp_avg"]!), scales: numbers(state["exp_avg_absmax"]!) };
          expectCodes(own, next);
        }
        if (compiled !== null) expect(compiled.programs).toBe(1);
        compiled?.dispose();
        optimizer.dispose();
        p.dispose();
      },
      { collect: true },
    ),
  );

  test("a network learns as with float32 Lion", () => {
    const losses = (make: (p: dx.Tensor[]) => dx.optim.Optimizer): number[] => train(make, 40, () => null).losses;
    const full = losses((p) => dx.optim.lion(p, 1e-3));
    const coded = losses((p) => dx.optim.lion8bit(p, 1e-3));
    expect(full.at(-1)!).toBeLessThan(0.5 * full[0]!);
    expect(coded.at(-1)!).toBeLessThan(1.3 * full.at(-1)!);
  });

  test("small parameters, half precision with master weights, zeros, errors", () => {
    const small = new dx.nn.Parameter(dx.tensor([1, 2]).to("float16"));
    const large = new dx.nn.Parameter(dx.ones([16, 17]).to("bfloat16"));
    const optimizer = dx.optim.lion8bit([
      { params: [small], min8bitSize: 64 },
      { params: [large], lr: 0.1, min8bitSize: 64, masterWeights: true },
    ]);
    small.grad = dx.ones([2], { dtype: "float16" });
    large.grad = dx.zeros([16, 17], { dtype: "bfloat16" });
    optimizer.step();
    const { state } = optimizer.stateDict();
    expect([state[0]!["exp_avg"]!.dtype, state[1]!["exp_avg"]!.dtype, state[1]!["exp_avg_absmax"]!.shape]).toEqual([
      "float32",
      "uint8",
      [2],
    ]);
    expect(new Set(numbers(state[1]!["exp_avg"]!))).toEqual(new Set([127]));
    expect(new Set(numbers(state[1]!["master_weight"]!))).toEqual(new Set([1]));
    expect(() => dx.optim.lion8bit([large], { min8bitSize: -1 })).toThrow(/min8bitSize/);
    expect(() => dx.optim.lion8bit([large], { betas: [1, 0.9] })).toThrow(dx.ValueError);
    optimizer.dispose();
  });
});
