/** Adam with 8-bit averages: codes and steps against bitsandbytes' code books in float64, training against float32 Adam, bytes of state, files, errors. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { BLOCK, decode, dynamicMap, encode, expectCodes, train, type Coded } from "./code-books.ts";

const maps = { exp_avg: dynamicMap(true), exp_avg_sq: dynamicMap(false) };

const SIZE = 600;
const shape = [20, 30] as const;
/** Of very different sizes, so that all decades are there; every seventh is 0. */
const gradient = (t: number): number[] =>
  Array.from({ length: SIZE }, (_, i) => (i % 7 === 3 ? 0 : Math.sin(1.7 * t + 0.9 * i * i) * 10 ** -((i * 5) % 8)));
const start = Array.from({ length: SIZE }, (_, i) => Math.sin(i));

const copies = (o: dx.optim.OptimizerState): dx.optim.OptimizerState => ({
  ...o,
  state: Object.fromEntries(
    Object.entries(o.state).map(([i, own]) => [i, Object.fromEntries(Object.entries(own).map(([k, t]) => [k, t.clone()]))]),
  ),
});
const bytes = (state: dx.optim.OptimizerState): number =>
  Object.values(state.state)
    .flatMap((own) => Object.values(own))
    .reduce((n, t) => n + t.size * (t.dtype === "uint8" ? 1 : 4), 0);

eachDevice("8-bit Adam", (device) => {
  const parameter = (values: readonly number[] = start): dx.nn.Parameter => new dx.nn.Parameter(dx.tensor(values, { shape }));
  const stepper = (p: dx.Tensor, optimizer: dx.optim.Optimizer) => (g: dx.Tensor) => {
    p.mul(g).sum().backward();
    optimizer.step();
    optimizer.zeroGrad();
  };

  test.each([
    ["adam8bit, eager", "adam8bit", null, { weightDecay: 0.1 }],
    ["adamW8bit, compiled", "adamW8bit", {}, {}],
    ["adamW8bit, compiled, unchecked", "adamW8bit", { check: false }, { maximize: true, betas: [0.8, 0.95], eps: 1e-4 }],
  ] as const)("%s: each step decodes, moves and codes as bitsandbytes does", (_, kind, how, options) =>
    clean(
      device,
      () => {
        const p = parameter();
        const optimizer = dx.optim[kind]([p], { lr: 0.01, min8bitSize: 0, ...options });
        const { betas: [b1, b2], eps, weightDecay, maximize } = optimizer.defaults; // prettier-ignore
        const body = stepper(p, optimizer);
        const compiled = how === null ? null : dx.compile(body, how);
        let own: Record<"exp_avg" | "exp_avg_sq", Coded> = {
          exp_avg: encode(maps.exp_avg, new Array<number>(SIZE).fill(0)),
          exp_avg_sq: encode(maps.exp_avg_sq, new Array<number>(SIZE).fill(0)),
        };
        let values = numbers(p);
        for (let t = 1; t <= 5; t++) {
          (compiled ?? body)(dx.tensor(gradient(t), { shape }));
          // Each step from the state that the device has, so that a code on a border does not spread.
          const isAdamW = kind === "adamW8bit";
          const d = gradient(t).map((g, i) => (maximize ? -Math.fround(g) : Math.fround(g)) + (isAdamW ? 0 : weightDecay * values[i]!));
          const m = decode(maps.exp_avg, own.exp_avg).map((v, i) => b1 * v + (1 - b1) * d[i]!);
          const v = decode(maps.exp_avg_sq, own.exp_avg_sq).map((each, i) => b2 * each + (1 - b2) * d[i]! ** 2);
          const wanted = values.map((each, i) => {
            const step = m[i]! / (1 - b1 ** t) / (Math.sqrt(v[i]! / (1 - b2 ** t)) + eps);
            return each * (isAdamW ? 1 - 0.01 * weightDecay : 1) - 0.01 * step;
          });
          values = numbers(p);
          values.forEach((each, i) => expect(Math.abs(each - wanted[i]!)).toBeLessThan(1e-5 * (1 + Math.abs(wanted[i]!))));
          const { state } = optimizer.stateDict();
          const read = (name: "exp_avg" | "exp_avg_sq"): Coded => ({
            codes: numbers(state[0]![name]!),
            scales: numbers(state[0]![`${name}_absmax`]!),
          });
          const next = { exp_avg: encode(maps.exp_avg, m), exp_avg_sq: encode(maps.exp_avg_sq, v) };
          own = { exp_avg: read("exp_avg"), exp_avg_sq: read("exp_avg_sq") };
          for (const name of ["exp_avg", "exp_avg_sq"] as const) {
            expectCodes(own[name], next[name]);
          }
        }
        if (compiled !== null) expect(compiled.programs).toBe(1);
        compiled?.dispose();
        optimizer.dispose();
        p.dispose();
      },
      { collect: true },
    ),
  );

  test("a network learns as with float32 Adam: losses within 10 % of it; its large weight has a quarter of the state", () => {
    for (const [kind, eight] of [
      ["adam", "adam8bit"],
      ["adamW", "adamW8bit"],
    ] as const) {
      // prettier-ignore
      const full = train((p) => dx.optim[kind](p, 3e-3), 60, bytes);
      const coded = train((p) => dx.optim[eight](p, 3e-3), 60, bytes);
      expect(full.losses.at(-1)!).toBeLessThan(0.2 * full.losses[0]!);
      coded.losses.forEach((l, i) => expect(Math.abs(l / full.losses[i]! - 1)).toBeLessThan(0.1));
      const [large, small, counters] = [64 * 96, 96 + 96 + 1, 4 * 3 * 4];
      expect(full.seen).toBe(8 * (large + small) + counters);
      expect(coded.seen).toBe(2 * large + 2 * 4 * (large / BLOCK) + 8 * small + counters);
    }
  });

  test("a run that is saved to a file continues with the same bits", async () => {
    const [p, other] = [parameter(), parameter()];
    const make = (q: dx.Tensor): dx.optim.Optimizer => dx.optim.adam8bit([q], { lr: 0.01, min8bitSize: 600 });
    const [whole, half] = [make(p), make(other)];
    const g = Array.from({ length: 6 }, (_, t) => dx.tensor(gradient(t), { shape }));
    for (const each of g) stepper(p, whole)(each);
    for (const each of g.slice(0, 3)) stepper(other, half)(each);
    const saved = half.stateDict();
    const tensors = { ...saved.state[0]!, p: other.detach() };
    const { tensors: read } = dx.io.safetensors.deserialize(await dx.io.safetensors.serialize(tensors), { device });
    const { p: values, ...own } = read as Record<string, dx.Tensor>;
    const q = new dx.nn.Parameter(values!);
    const resumed = make(q);
    resumed.loadStateDict({ state: { 0: own }, paramGroups: JSON.parse(JSON.stringify(saved.paramGroups)) as typeof saved.paramGroups });
    // Fused programs round otherwise than eager calls.
    const compiled = dx.compile(stepper(q, resumed), { fuse: "off" });
    for (const each of g.slice(3)) compiled(each);
    expect(numbers(q)).toEqual(numbers(p));
    for (const [key, t] of Object.entries(whole.stateDict().state[0]!))
      expect(numbers(resumed.stateDict().state[0]![key]!)).toEqual(numbers(t));
    expect(() => dx.optim.adam8bit([q], { min8bitSize: 601 }).loadStateDict(saved)).toThrow(/loadStateDict: min8bitSize must be 601/);
    const float = dx.optim.adam([p]);
    stepper(p, float)(g[0]!);
    expect(() => resumed.loadStateDict(float.stateDict())).toThrow(/with exp_avg_absmax for each parameter/);
  });

  test("small parameters, half precision, groups, zeros, NaN, skipped steps", () =>
    clean(
      device,
      () => {
        const small = new dx.nn.Parameter(dx.tensor([1, 2]).to("float16"));
        const large = new dx.nn.Parameter(dx.ones([16, 17]).to("bfloat16"));
        const still = parameter();
        const optimizer = dx.optim.adamW8bit([
          { params: [small, still], min8bitSize: 64 },
          { params: [large], lr: 0.1, min8bitSize: 64, masterWeights: true },
        ]);
        for (const p of [small, large]) p.grad = dx.ones(p.shape, { dtype: p.dtype });
        optimizer.step();
        const { state } = optimizer.stateDict();
        expect(Object.keys(state)).toEqual(["0", "2"]);
        expect(state[0]!["exp_avg"]!.dtype).toBe("float32");
        const kinds = Object.fromEntries(Object.entries(state[2]!).map(([k, t]) => [k, `${t.dtype} ${t.shape.join()}`]));
        expect(kinds).toMatchObject({
          exp_avg: "uint8 16,17",
          exp_avg_absmax: "float32 2",
          exp_avg_sq: "uint8 16,17",
          exp_avg_sq_absmax: "float32 2",
          master_weight: "float32 16,17",
        });
        numbers(state[2]!["master_weight"]!).forEach((v) => expect(v).toBeCloseTo(0.999 - 0.1, 5));
        // A gradient of zeros from the start: codes of 0, and nothing but decay.
        still.grad = dx.zeros(shape);
        optimizer.step();
        const own = optimizer.stateDict().state[1]!;
        expect(new Set(numbers(own["exp_avg"]!))).toEqual(new Set([127]));
        expect(new Set([...numbers(own["exp_avg_sq"]!), ...numbers(own["exp_avg_absmax"]!)])).toEqual(new Set([0]));
        numbers(still).forEach((v, i) => expect(Math.abs(v - start[i]! * (1 - 1e-5))).toBeLessThan(1e-6));
        optimizer.dispose();
        for (const p of [small, large, still]) {
          p.grad?.dispose();
          p.dispose();
        }
      },
      { collect: true },
    ));

  test("steps that GradScaler skips keep codes and scales", () => {
    const p = parameter();
    const optimizer = dx.optim.adam8bit([p], { lr: 0.1, min8bitSize: 0 });
    const scaler = dx.optim.gradScaler({ initScale: 8 });
    const run = dx.compile((g: dx.Tensor) => {
      scaler.scale(p.mul(g).sum()).backward();
      scaler.stepOnDevice(optimizer);
      scaler.update();
      optimizer.zeroGrad();
    });
    const seen = [1, Infinity, 2].map((x) => {
      run(dx.tensor(gradient(1).map((v, i) => (i === 5 ? x : v)), { shape })); // prettier-ignore
      return [...numbers(p), ...Object.values(copies(optimizer.stateDict()).state[0]!).flatMap(numbers)];
    });
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).not.toEqual(seen[1]);
    expect(seen.flat().some(Number.isNaN)).toBe(false);
    run.dispose();
    scaler.dispose();
    optimizer.dispose();
  });

  describe("errors", () => {
    test("name the option", () => {
      const p = parameter();
      expect(() => dx.optim.adam8bit([p], { min8bitSize: -1 })).toThrow(/min8bitSize/);
      expect(() => dx.optim.adamW8bit([p], { betas: [1, 0.9] })).toThrow(dx.ValueError);
      expect(() => dx.optim.adam8bit([p], { eps: -1 })).toThrow(/eps/);
      expect(() => dx.optim.adam8bit([p], { amsgrad: true } as never)).toThrow(/amsgrad/);
      const optimizer = dx.optim.adam8bit([p], { min8bitSize: 0 });
      (optimizer.paramGroups[0]!.options as { min8bitSize: number }).min8bitSize = 4096;
      p.grad = dx.ones(shape);
      expect(() => optimizer.step()).toThrow(/min8bitSize|options/);
      optimizer.dispose();
    });
  });
});
