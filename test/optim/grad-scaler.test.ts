/** The scale of losses: growth, backoff and skipped steps; and training in half precision with it. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

eachDevice("GradScaler", (device) => {
  const parameter = (values: readonly number[]): dx.nn.Parameter => new dx.nn.Parameter(dx.tensor(values));

  test("unscale tells of infinite and NaN elements in any dtype, and divides in place", () => {
    const lists = () => [dx.tensor([2, 4]), dx.tensor([[8, -16]], { dtype: "float16" })];
    const factor = dx.tensor(0.5);
    for (const [bad, expected] of [
      [1, 0],
      [Infinity, 1],
      [-Infinity, 1],
      [NaN, 1],
    ] as const) {
      const list = [...lists(), dx.tensor([3, bad, 5])];
      expect(dx.optim.unscale(list, factor).itemSync()).toBe(expected);
      expect(numbers(list[0]!)).toEqual([1, 2]);
      expect(numbers(list[1]!)).toEqual([4, -8]);
      expect(numbers(list[2]!)[0]).toBe(1.5);
      expect(list[1]!.dtype).toBe("float16");
    }
    expect(dx.optim.unscale([], factor).itemSync()).toBe(0);
  });

  test("a step with an infinite gradient is left out and the scale shrinks; it grows after an interval", async () => {
    await clean(device, async () => {
      const p = parameter([1, 2]);
      const optimizer = dx.optim.sgd([p], { lr: 0.5 });
      const scaler = dx.optim.gradScaler({ initScale: 8, growthInterval: 2 });
      const seen: number[] = [];
      for (const [i, factor] of [1, Infinity, 1, 1, 1].entries()) {
        optimizer.zeroGrad();
        scaler.scale(dx.sum(dx.mul(p, factor))).backward();
        const stepped = i % 2 === 0 ? scaler.stepSync(optimizer) : await scaler.step(optimizer);
        expect(stepped).toBe(factor === 1);
        scaler.update();
        seen.push(await scaler.getScale());
      }
      expect(seen).toEqual([8, 4, 4, 8, 8]);
      expect(numbers(p)).toEqual([-1, 0]);
      scaler.dispose();
      optimizer.dispose();
      optimizer.zeroGrad();
      p.dispose();
    });
  });

  test("unscaled gradients can be clipped; a second unscale, step or update is refused", () => {
    const p = parameter([3, 4]);
    const optimizer = dx.optim.sgd([p], { lr: 1 });
    const scaler = dx.optim.gradScaler({ initScale: 1024 });
    scaler.scale(dx.sum(dx.mul(p, dx.tensor([3, 4])))).backward();
    scaler.unscale(optimizer);
    expect(numbers(p.grad!)).toEqual([3, 4]);
    expect(() => scaler.unscale(optimizer)).toThrow("GradScaler.unscale");
    dx.nn.utils.clipGradNorm_([p], 1);
    scaler.stepSync(optimizer);
    expect(numbers(p)[0]).toBeCloseTo(2.4, 5);
    expect(() => scaler.stepSync(optimizer)).toThrow("GradScaler.stepSync");
    scaler.update();
    expect(() => scaler.update()).toThrow("GradScaler.update");
    optimizer.zeroGrad();
    expect(() => scaler.unscale(optimizer)).toThrow("have gradients");
    scaler.update(16);
    expect(scaler.getScaleSync()).toBe(16);
    expect(() => dx.optim.gradScaler({ growthFactor: 1 })).toThrow(dx.ValueError);
    expect(() => dx.optim.gradScaler({ backoffFactor: 1 })).toThrow(dx.ValueError);
    scaler.dispose();
    optimizer.dispose();
  });

  test("one that is not enabled scales nothing; a state is taken over", () => {
    const p = parameter([1]);
    const optimizer = dx.optim.sgd([p], { lr: 1 });
    const off = dx.optim.gradScaler({ enabled: false });
    const loss = dx.sum(p);
    expect(off.scale(loss)).toBe(loss);
    loss.backward();
    expect(off.stepSync(optimizer)).toBe(true);
    off.update();
    expect(off.getScaleSync()).toBe(1);
    const [a, b] = [dx.optim.gradScaler({ initScale: 32, growthInterval: 3 }), dx.optim.gradScaler()];
    optimizer.zeroGrad();
    a.scale(dx.sum(p)).backward();
    a.stepSync(optimizer);
    a.update();
    b.loadStateDict(a.stateDict());
    expect(b.stateDict()).toEqual({ scale: 32, growthFactor: 2, backoffFactor: 0.5, growthInterval: 3, growthTracker: 1 });
    for (const s of [a, b]) s.dispose();
    optimizer.dispose();
  });

  test("float16 gradients that vanish unscaled train a layer when scaled", () => {
    const train = (scaler: dx.optim.GradScaler): number => {
      const w = parameter([0.5]);
      const optimizer = dx.optim.sgd([w], { lr: 1e6 });
      for (let i = 0; i < 3; i++) {
        optimizer.zeroGrad();
        const half = w.to("float16");
        scaler.scale(dx.sum(dx.mul(dx.mul(dx.mul(half, half), 1e-3), 1e-5))).backward();
        scaler.stepSync(optimizer);
        scaler.update();
      }
      optimizer.dispose();
      scaler.dispose();
      return numbers(w)[0]!;
    };
    expect(train(dx.optim.gradScaler({ enabled: false }))).toBe(0.5);
    expect(train(dx.optim.gradScaler({ initScale: 4096 }))).toBeLessThan(0.49);
  });

  test("a compiled function unscales, and is told by the result what it found", () => {
    const p = parameter([1, 2]);
    const run = dx.compile((x: dx.Tensor) => {
      const g = dx.grad(dx.sum(dx.mul(dx.mul(p, x), 64)), [p])[0]!;
      return [dx.optim.unscale([g], dx.tensor(1 / 64)), g] as const;
    });
    for (const [values, expected] of [
      [[3, 4], 0],
      [[Infinity, 4], 1],
      [[5, 6], 0],
    ] as const) {
      const [found, g] = run(dx.tensor(values));
      expect(found.itemSync()).toBe(expected);
      expect(numbers(g)).toEqual(values);
    }
    run.dispose();
  });

  test.each([
    ["unscales", false],
    ["unscales and updates", true],
  ] as const)(
    "a compiled function that %s does what it does eagerly, checked or not, with options that are loaded in between",
    (_, updates) => {
      const train = (how: "eager" | dx.CompileOptions): unknown[] => {
        const p = parameter([0.5, -0.25]);
        const optimizer = dx.optim.sgd([p], { lr: 0.125 });
        const scaler = dx.optim.gradScaler({ initScale: 8, growthInterval: 2 });
        const body = (x: dx.Tensor): void => {
          optimizer.zeroGrad();
          scaler.scale(p.mul(x).square().sum()).backward();
          scaler.unscale(optimizer);
          if (updates) scaler.update();
        };
        const run = how === "eager" ? body : dx.compile(body, how);
        const seen: unknown[] = [];
        for (let i = 0; i < 7; i++) {
          if (i === 4) scaler.loadStateDict({ ...scaler.stateDict(), growthFactor: 4, backoffFactor: 0.25 });
          run(dx.tensor([i === 2 || i === 5 ? Infinity : 1 + i / 8, 2]));
          seen.push(numbers(p.grad!));
          if (!updates) {
            seen.push(scaler.stepSync(optimizer));
            scaler.update();
          }
          seen.push(scaler.stateDict(), numbers(p));
        }
        scaler.dispose();
        if (how !== "eager") (run as dx.Compiled<[dx.Tensor], void>).dispose();
        return seen;
      };
      const want = train("eager");
      expect((want.filter((s) => typeof s === "object" && "scale" in s!) as { scale: number }[]).map((s) => s.scale)).toEqual([
        8, 16, 8, 8, 32, 8, 8,
      ]);
      expect(train({})).toEqual(want);
      expect(train({ check: false })).toEqual(want);
    },
  );

  test("a call that throws leaves the scaler as it was", () => {
    const p = parameter([1, 2]);
    const optimizer = dx.optim.sgd([p], { lr: 0.5 });
    for (const isUsed of [false, true]) {
      const scaler = dx.optim.gradScaler({ initScale: 8 });
      if (isUsed) scaler.scale(p.sum()).backward();
      const before = scaler.stateDict();
      let fails = true;
      const run = dx.compile((x: dx.Tensor) => {
        optimizer.zeroGrad();
        scaler.update(4);
        scaler.scale(p.mul(x).sum()).backward();
        scaler.unscale(optimizer);
        scaler.loadStateDict({ ...before, scale: 2, growthFactor: 3 });
        if (fails) throw new RangeError("halfway");
      });
      for (let i = 0; i < 2; i++) expect(() => run(dx.tensor([1, 1]))).toThrow("halfway");
      expect(scaler.stateDict()).toEqual(before);
      // Nothing is left of the unscaling either.
      expect(() => scaler.update()).toThrow("unscaled or stepped");
      fails = false;
      run(dx.tensor([1, 1]));
      expect(numbers(p.grad!)).toEqual([1, 1]);
      expect(scaler.stateDict()).toEqual({ ...before, scale: 2, growthFactor: 3 });
      expect(scaler.stepSync(optimizer)).toBe(true);
      scaler.dispose();
      run.dispose();
    }
  });

  interface Recorded {
    readonly first: number[];
    readonly inputs: (number | string | null)[][];
    readonly runs: { readonly [name in "adam" | "sgd"]: { parameter: number[]; scale: number; growthTracker: number }[] };
  }
  const recorded = JSON.parse(readFileSync(new URL("../golden/autocast/scaler.json", import.meta.url), "utf8")) as Recorded;

  describe.each(["adam", "sgd"] as const)("%s with overflows, as PyTorch's recorded run", (name) => {
    test.each([
      ["stepSync, eager", "sync", null],
      ["stepOnDevice, eager", "device", null],
      ["stepOnDevice, compiled", "device", {}],
      ["stepOnDevice, compiled, unchecked", "device", { check: false }],
    ] as const)("%s", (_, how, options) =>
      clean(
        device,
        () => {
          let w = new dx.nn.Parameter(dx.tensor(recorded.first, { shape: [3, 2] }));
          const make = (): dx.optim.Optimizer<never> =>
            (name === "adam" ? dx.optim.adam([w], 0.1) : dx.optim.sgd([w], 0.1, { momentum: 0.9 })) as unknown as dx.optim.Optimizer<never>;
          let optimizer = make();
          let scaler = dx.optim.gradScaler({ initScale: 1024, growthInterval: 3 });
          const body = (x: dx.Tensor): void => {
            optimizer.zeroGrad();
            scaler.scale(dx.nn.functional.mseLoss(x.matmul(w), dx.ones([4, 2]))).backward();
            if (how === "sync") scaler.stepSync(optimizer as never);
            else scaler.stepOnDevice(optimizer as never);
            scaler.update();
          };
          let run = options === null ? null : dx.compile(body, options);
          recorded.inputs.forEach((input, i) => {
            // Between two steps everything is saved, and loaded into new objects.
            if (i === 10) {
              const [state, scale, before] = [optimizer.stateDict(), scaler.stateDict(), w];
              w = new dx.nn.Parameter(before.detach().clone());
              const [oldOptimizer, oldScaler] = [optimizer, scaler];
              optimizer = make();
              optimizer.loadStateDict(state);
              scaler = dx.optim.gradScaler();
              scaler.loadStateDict(scale);
              oldOptimizer.dispose();
              oldScaler.dispose();
              run?.dispose();
              run = options === null ? null : dx.compile(body, options);
            }
            (run ?? body)(
              dx.tensor(
                input.map((v) => (v === null ? NaN : Number(v))),
                { shape: [4, 3] },
              ),
            );
            const expected = recorded.runs[name][i]!;
            const { scale, growthTracker } = scaler.stateDict();
            expect({ i, scale, growthTracker }).toEqual({ i, scale: expected.scale, growthTracker: expected.growthTracker });
            numbers(w).forEach((v, k) => expect(v, `step ${i}`).toBeCloseTo(expected.parameter[k]!, 5));
          });
          // Steps that are skipped are the same program.
          if (run !== null) expect(run.programs).toBeLessThanOrEqual(1);
          run?.dispose();
          optimizer.dispose();
          scaler.dispose();
        },
        { collect: true },
      ),
    );
  });

  test("stepOnDevice: once until update(), after unscale() too, and every step where it is not enabled", () => {
    const p = parameter([3, 4]);
    const optimizer = dx.optim.sgd([p], { lr: 1 });
    const scaler = dx.optim.gradScaler({ initScale: 16 });
    scaler.scale(p.square().sum()).backward();
    scaler.unscale(optimizer);
    expect(numbers(p.grad!)).toEqual([6, 8]);
    scaler.stepOnDevice(optimizer);
    expect(numbers(p)).toEqual([-3, -4]);
    expect(() => scaler.stepOnDevice(optimizer)).toThrow("GradScaler.stepOnDevice");
    scaler.update();
    const off = dx.optim.gradScaler({ enabled: false });
    off.stepOnDevice(optimizer);
    expect(numbers(p)).toEqual([-9, -12]);
    for (const s of [scaler, off]) s.dispose();
    optimizer.dispose();
  });
});
