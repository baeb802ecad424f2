import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { holdQueue } from "../../src/runtime/device-statistics.ts";

const numbers = (n: number, seed: number): Float32Array => Float32Array.from({ length: n }, (_, i) => Math.sin(i * 12.9898 + seed) * 0.5);

describe.each(devices)("compile on %s", (device) => {
  it("gives what the function gives, call after call", async () => {
    const w = dx.tensor(numbers(12, 1), { shape: [3, 4], device });
    const step = dx.compile((x: dx.Tensor) => dx.tanh(dx.matmul(x, w)).add(1));
    for (let i = 0; i < 5; i++) {
      const x = dx.tensor(numbers(6, i), { shape: [2, 3], device });
      const expected = await dx.tanh(dx.matmul(x, w)).add(1).data();
      expect(Array.from((await step(x).data()) as Float32Array)).toEqual(
        Array.from(expected as Float32Array, (v) => expect.closeTo(v, 5) as unknown as number),
      );
    }
    expect(step.programs).toBe(1);
    step.dispose();
  });

  it("gives equal results a buffer each", async () => {
    const both = dx.compile((x: dx.Tensor) => [x.exp(), x.exp(), x.exp().mul(1)] as const);
    for (const v of [0, 0, 1]) {
      const results = both(dx.full([2], v, { device }));
      for (const r of results) expect(await r.toArray()).toEqual([expect.closeTo(Math.exp(v), 5), expect.closeTo(Math.exp(v), 5)]);
      dx.noGrad(() => results[0].mul_(0));
      expect(await results[1].toArray()).toEqual([expect.closeTo(Math.exp(v), 5), expect.closeTo(Math.exp(v), 5)]);
    }
    both.dispose();
  });

  it("keeps an earlier call's result right after later calls", async () => {
    const double = dx.compile((x: dx.Tensor) => x.mul(2));
    const results = [1, 2, 3, 4, 5, 6, 7].map((v) => double(dx.full([8], v, { device })));
    for (const [i, r] of results.entries()) expect(Array.from((await r.data()) as Float32Array)).toEqual(new Array(8).fill(2 * (i + 1)));
    double.dispose();
  });

  it("updates state in its buffer, also through views", async () => {
    const state = dx.zeros([4], { device });
    const view = state.slice(0, 1, 3);
    const step = dx.compile((x: dx.Tensor) => {
      state.add_(x);
      return state.mul(10);
    });
    const one = dx.ones([4], { device });
    for (let i = 1; i <= 4; i++) expect(await step(one).toArray()).toEqual([i * 10, i * 10, i * 10, i * 10]);
    expect(await view.toArray()).toEqual([4, 4]);
    expect(await state.toArray()).toEqual([4, 4, 4, 4]);
    step.dispose();
  });

  it("writes a part of a state buffer, packed or strided", async () => {
    const state = dx.zeros([2, 3], { device });
    const step = dx.compile((x: dx.Tensor) => {
      state.select(0, 1).add_(x);
      state
        .t()
        .select(0, 0)
        .add_(dx.ones([2], { device: x.device }));
      return state.mul(1);
    });
    const x = dx.tensor([1, 2, 3], { device });
    expect(await step(x).toArray()).toEqual([
      [1, 0, 0],
      [2, 2, 3],
    ]);
    expect(await step(x).toArray()).toEqual([
      [2, 0, 0],
      [4, 4, 6],
    ]);
    expect(await state.toArray()).toEqual([
      [2, 0, 0],
      [4, 4, 6],
    ]);
    step.dispose();
  });

  it("swaps two state buffers", async () => {
    const a = dx.full([3], 1, { device, dtype: "float32" });
    const b = dx.full([3], 2, { device, dtype: "float32" });
    const swap = dx.compile(() => {
      const kept = a.mul(1);
      a.copy_(b);
      b.copy_(kept);
    });
    dx.withDevice(device, () => swap());
    expect([await a.toArray(), await b.toArray()]).toEqual([
      [2, 2, 2],
      [1, 1, 1],
    ]);
    dx.withDevice(device, () => swap());
    expect([await a.toArray(), await b.toArray()]).toEqual([
      [1, 1, 1],
      [2, 2, 2],
    ]);
    swap.dispose();
  });

  it("records again when a state buffer was repointed from outside", async () => {
    const state = dx.ones([4], { device });
    const step = dx.compile((x: dx.Tensor) => x.add(state));
    const x = dx.ones([4], { device });
    expect(await step(x).toArray()).toEqual([2, 2, 2, 2]);
    state.mul_(5);
    expect(await step(x).toArray()).toEqual([6, 6, 6, 6]);
    expect(step.programs).toBe(1);
    step.dispose();
  });

  it("never goes stale when a JavaScript value changes", async () => {
    let factor = 1;
    let negate = false;
    const step = dx.compile((x: dx.Tensor) => {
      const y = x.mul(factor);
      return negate ? y.neg() : y;
    });
    const x = dx.ones([2], { device });
    expect(await step(x).toArray()).toEqual([1, 1]);
    factor = 3;
    expect(await step(x).toArray()).toEqual([3, 3]);
    const programs = step.programs;
    for (factor of [4, 5.5, -1]) expect(await step(x).toArray()).toEqual([factor, factor]);
    expect(step.programs).toBe(programs);
    negate = true;
    expect(await step(x).toArray()).toEqual([1, 1]);
    negate = false;
    expect(await step(x).toArray()).toEqual([-1, -1]);
    step.dispose();
  });

  it("makes a program for each signature and takes nested arguments and results", async () => {
    const step = dx.compile((input: { x: dx.Tensor; scale: number }) => ({
      y: input.x.mul(input.scale),
      list: [input.x.add(1)],
      label: `by ${input.scale}`,
    }));
    const a = step({ x: dx.ones([2], { device }), scale: 2 });
    const b = step({ x: dx.ones([3], { device }), scale: 2 });
    const c = step({ x: dx.ones([3], { device }), scale: 4 });
    expect([await a.y.toArray(), await b.y.toArray(), await c.y.toArray()]).toEqual([
      [2, 2],
      [2, 2, 2],
      [4, 4, 4],
    ]);
    expect([await a.list[0]!.toArray(), c.label]).toEqual([[2, 2], "by 4"]);
    // Another number is no other signature: it is an input.
    expect(step.programs).toBe(2);
    expect(step.explain().recordings).toEqual([
      "arguments of a new kind",
      "arguments of a new kind: a tensor has the shape [3] instead of [2]",
      "a number changed: it is an input from now on",
    ]);
    step.dispose();
  });

  it("names the line of a read inside", () => {
    const step = dx.compile((x: dx.Tensor) => (x.itemSync() > 0 ? x : x.neg()), { name: "reader" });
    expect(() => step(dx.ones([], { device }))).toThrow(dx.TraceError);
    expect(() => step(dx.ones([], { device }))).toThrow(/itemSync: .*reader.*compile\.test\.ts:\d+/);
  });

  it("leaves gradients where backward() in an eager call leaves them", async () => {
    const make = (): dx.Tensor => dx.tensor([1, 2, 3], { device, requiresGrad: true });
    const eager = make();
    const compiled = make();
    const loss =
      (w: dx.Tensor) =>
      (x: dx.Tensor): dx.Tensor => {
        const l = w.mul(x).mul(w).sum();
        l.backward();
        return l;
      };
    const step = dx.compile(loss(compiled));
    const x = dx.tensor([1, 10, 100], { device });
    for (let i = 0; i < 3; i++) {
      loss(eager)(x);
      step(x);
      expect(await compiled.grad!.toArray()).toEqual(await eager.grad!.toArray());
    }
    compiled.grad = null;
    eager.grad = null;
    loss(eager)(x);
    step(x);
    expect(await compiled.grad!.toArray()).toEqual(await eager.grad!.toArray());
    step.dispose();
  });

  /** Also programs of few dispatches are recorded. */
  const recorded = { lists: 3 };

  it("replays closed lists: nothing is bound or recorded any more", async () => {
    const w = dx.tensor(numbers(256, 3), { shape: [16, 16], device });
    const step = dx.compile((x: dx.Tensor) => {
      const y = dx.matmul(x, w).sigmoid();
      w.mul_(0.99);
      return y.sum();
    }, recorded);
    const x = dx.tensor(numbers(64, 4), { shape: [4, 16], device });
    for (let i = 0; i < 6; i++) await step(x).item();
    const before = dx.counters(device);
    for (let i = 0; i < 10; i++) step(x);
    await dx.synchronize(device);
    const after = dx.counters(device);
    expect(after.replays - before.replays).toBe(10);
    expect(after.dispatchesRecorded).toBe(before.dispatchesRecorded);
    expect(after.tablesBound).toBe(before.tablesBound);
    expect(after.operatorsCompiled).toBe(before.operatorsCompiled);
    expect(after.graphsCompiled).toBe(before.graphsCompiled);
    // The results; the argument is as it was.
    expect(after.replayCopies - before.replayCopies).toBe(10);
    step.dispose();
  });

  it("copies an argument when it is not the one of the call before, or was written to", async () => {
    const step = dx.compile((x: dx.Tensor) => x.sum(), recorded);
    const x = dx.tensor([1, 2, 3, 4, 5, 6], { device });
    const first = x.slice(0, 0, 3);
    const steps: [x: dx.Tensor, sum: number, copies: number][] = [];
    const call = async (t: dx.Tensor): Promise<void> => {
      const before = dx.counters(device).replayCopies;
      const sum = await step(t).item();
      steps.push([t, Number(sum), dx.counters(device).replayCopies - before]);
    };
    await call(first);
    await call(first);
    await call(x.slice(0, 0, 3));
    await call(x.slice(0, 3, 6));
    x.add_(1);
    await call(first);
    await call(first);
    first.mul_(2);
    await call(first);
    const other = dx.tensor([7, 8, 9], { device });
    await call(other);
    other.dispose();
    await call(dx.tensor([1, 1, 1], { device }));
    expect(steps.map(([, sum]) => sum)).toEqual([6, 6, 6, 15, 9, 9, 18, 24, 3]);
    expect(steps.map(([, , copies]) => copies)).toEqual([2, 1, 1, 2, 2, 1, 2, 2, 2]);
    step.dispose();
  });

  it("runs on its state's device, also under another default device and with another exit than before", async () => {
    const model = dx.nn.linear(3, 2, { device });
    const optimizer = dx.optim.adam(model.parameters(), { lr: 0.1 });
    const x = dx.ones([4, 3], { device });
    const step = dx.compile((scale: number) => {
      optimizer.zeroGrad();
      const loss = model.forward(x).mul(scale).square().mean();
      loss.backward();
      optimizer.step();
      return loss;
    });
    const losses: number[] = [];
    for (let i = 0; i < 4; i++) losses.push(Number(await dx.withDevice("meta", () => step(1 + i / 4)).item()));
    expect(losses.every(Number.isFinite)).toBe(true);
    expect(new Set(losses).size).toBe(4);
    step.dispose();
  });

  it("runs a program of few dispatches over the arguments' own buffers and into fresh ones", async () => {
    const w = dx.tensor([1, 2, 3, 4], { device });
    const step = dx.compile((x: dx.Tensor) => {
      w.mul_(2);
      return [x.add(w), x.sum()] as const;
    });
    const base = dx.tensor(numbers(24, 5), { device });
    const data = (await base.toArray()) as number[];
    const results: dx.Tensor[] = [];
    // At the start of its buffer, at 16 bytes, and at an unaligned offset: that is copied first.
    const starts = [0, 4, 1, 0, 8, 3, 20];
    const before = dx.counters(device).replays;
    for (const at of starts) results.push(...step(base.slice(0, at, at + 4)));
    await dx.synchronize(device);
    expect(dx.counters(device).replays - before).toBe(2);
    for (const [i, at] of starts.entries()) {
      const scale = 2 ** (i + 1);
      const part = data.slice(at, at + 4);
      expect(await results[2 * i]!.toArray()).toEqual(part.map((v, k) => Math.fround(v + scale * (k + 1))));
      expect(await results[2 * i + 1]!.item()).toBeCloseTo(
        part.reduce((a, b) => a + b, 0),
        5,
      );
    }
    expect(await w.toArray()).toEqual([1, 2, 3, 4].map((v) => v * 2 ** starts.length));
    step.dispose();
  });

  it("copies an argument again that the step itself writes to", async () => {
    const w = dx.tensor([1, 2], { device });
    const step = dx.compile((x: dx.Tensor) => {
      const y = x.sum();
      w.mul_(2);
      return y;
    });
    const sums: number[] = [];
    for (let i = 0; i < 4; i++) sums.push(Number(await step(w).item()));
    expect(sums).toEqual([3, 6, 12, 24]);
    step.dispose();
  });

  it("does not block JavaScript: with the queue held, data() stays pending", async () => {
    const step = dx.compile((x: dx.Tensor) => x.add(1));
    const x = dx.zeros([4], { device });
    await step(x).data();
    holdQueue(device, true);
    let done = false;
    const reading = step(x)
      .data()
      .then((v) => {
        done = true;
        return v;
      });
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    holdQueue(device, false);
    expect(Array.from((await reading) as Float32Array)).toEqual([1, 1, 1, 1]);
    step.dispose();
  });

  it("names the user's line, not Node's, for what backward() asks for", () => {
    const w = dx.tensor([1, 2], { requiresGrad: true });
    const gradient = (x: dx.Tensor): dx.Tensor => {
      w.grad = null;
      w.mul(x).exp().sum().backward();
      return w.grad!;
    };
    const step = dx.compile(gradient, { name: "callSites" });
    step(dx.ones([2]));
    const origins = step.explain().nodes.map((n) => n.origin);
    expect(origins.length).toBeGreaterThan(0);
    for (const origin of origins) expect(origin).toMatch(/compile\.test\.(ts|mjs):\d+$/);
    step.dispose();
  });
  it("explains its program", () => {
    const step = dx.compile((x: dx.Tensor) => x.exp().add(x), { name: "explained", fuse: "off" });
    step(dx.ones([3], { device }));
    const e = dx.explain(step);
    expect(e.nodes.map((n) => n.operator)).toEqual(["ELEMENT_WISE_EXP", "ELEMENT_WISE_ADD"]);
    expect(e.nodes[0]!.origin).toMatch(/^exp at .*compile\.test\.ts:\d+$/);
    expect(e.dispatches).toBeGreaterThan(0);
    expect(String(e)).toContain("explained on ");
    step.dispose();
  });

  it("works on empty tensors and merges equal subexpressions", async () => {
    const step = dx.compile((x: dx.Tensor, y: dx.Tensor) => [x.add(1), y.exp().add(y.exp())] as const, { fuse: "off" });
    const [empty, doubled] = step(dx.zeros([0, 3], { device }), dx.zeros([2], { device }));
    expect(empty.shape).toEqual([0, 3]);
    expect(await doubled.toArray()).toEqual([2, 2]);
    expect(dx.explain(step).nodes.map((n) => n.operator)).toEqual(["ELEMENT_WISE_EXP", "ELEMENT_WISE_ADD"]);
    step.dispose();
  });

  it("refuses asynchronous functions and tensors of other calls", () => {
    const later = dx.compile(async (x: dx.Tensor) => x.add(1));
    expect(() => later(dx.ones([1], { device }))).toThrow(/synchronous/);
    let leaked: dx.Tensor | null = null;
    const leak = dx.compile((x: dx.Tensor) => {
      leaked ??= x.add(1);
      return leaked.add(1);
    });
    leak(dx.ones([1], { device }));
    expect(() => leak(dx.ones([2], { device }))).toThrow(dx.TraceError);
  });
});
