/** Shaders of the user's own, on every device, eagerly and compiled. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, eachMode, numbers } from "../../device.ts";

const silu = (x: number): number => x / (1 + Math.exp(-x));

const swiglu = dx.shader(
  {
    name: "swiglu",
    inputs: { x: "float32", g: "float32" },
    outputs: { y: "float32" },
    threads: 256,
    grad: ({ y: dy }, { inputs: { x, g } }) => {
      const sigmoid = dx.sigmoid(g);
      return { x: dy.mul(g.mul(sigmoid)), g: dy.mul(x).mul(sigmoid.mul(g.mul(sigmoid.neg().add(1)).add(1))) };
    },
  },
  (s) => {
    const { x, g, y } = s.buffers;
    const i = s.thread;
    s.if(i.lt(y.size), () => {
      const gate = g.load(i);
      y.store(i, x.load(i).mul(gate.mul(gate.sigmoid())));
    });
  },
);

/** Moves what it can: it writes and reads far outside of its tensors, everywhere. */
const careless = dx.shader(
  { name: "careless", inputs: { x: "float32" }, outputs: { y: "float32" }, params: { shift: "u32" }, threads: 64, groups: () => 7 },
  (s) => {
    const { x, y } = s.buffers;
    y.store(s.thread, x.load(s.thread.add(s.params.shift)));
    y.stores(s.thread.mul(4).add(1000), [1, 2, 3, 4]);
    y.store(s.thread.or(0x80000000), 5);
    y.store(s.u32(0xffffffff), 6);
  },
);

const histogram = dx.shader(
  {
    name: "histogram",
    inputs: { x: "int32" },
    outputs: { counts: { dtype: "uint32", shape: (_, { bins }) => [bins!], initial: "zeros" } },
    params: { bins: "u32" },
    threads: 128,
    groups: ({ x }) => Math.ceil(x!.reduce((a, b) => a * b, 1) / 128),
  },
  (s) => {
    const { x, counts } = s.buffers;
    s.if(s.thread.lt(x.size), () => {
      counts.atomicAdd(x.load(s.thread).bits(), 1);
    });
  },
);

/** Row sums by a tree in shared memory. */
const rowSums = dx.shader(
  {
    name: "rowSums",
    inputs: { x: "float32" },
    outputs: { y: { dtype: "float32", shape: ({ x }) => [x![0]!] } },
    threads: 64,
    groups: ({ x }) => x![0]!,
  },
  (s) => {
    const { x, y } = s.buffers;
    const columns = x.dim(-1);
    const tile = s.shared("f32", s.threads);
    const sum = s.variable(s.f32(0));
    s.for(s.local, columns, (i) => (sum.value = sum.value.add(x.load(s.group.mul(columns).add(i)))), { step: s.threads });
    tile.store(s.local, sum.value);
    s.barrier();
    for (let half = s.threads / 2; half >= 1; half /= 2) {
      s.if(s.local.lt(half), () => tile.store(s.local, tile.load(s.local).add(tile.load(s.local.add(half)))));
      s.barrier();
    }
    s.if(s.local.eq(0), () => y.store(s.group, tile.load(0)));
  },
);

eachMode("a shader", (device, mode) => {
  it("computes what its function says, for every size", () => {
    for (const size of [1, 255, 256, 257, 5000]) {
      const [x, g] = [dx.linspace(-4, 4, size), dx.linspace(3, -3, size)];
      const y = mode.run((a, b) => swiglu({ x: a, g: b }).y, x, g);
      const [xs, gs] = [numbers(x), numbers(g)];
      numbers(y).forEach((v, i) => expect(v).toBeCloseTo(xs[i]! * silu(gs[i]!), 4));
    }
  });

  it("sees views as packed tensors, wherever they begin", () => {
    const whole = dx.arange(60, { dtype: "float32" }).reshape([6, 10]);
    const ones = dx.full([4, 6], 20);
    const y = mode.run((a, g) => swiglu({ x: a.transpose(0, 1).narrow(0, 3, 4), g }).y, whole, ones);
    const expected = [3, 4, 5, 6].flatMap((c) => [0, 1, 2, 3, 4, 5].map((r) => (r * 10 + c) * 20));
    numbers(y).forEach((v, i) => expect(Math.abs(v - expected[i]!)).toBeLessThan(1e-2));
    expect(y.shape).toEqual([4, 6]);
  });

  it("reads 0 outside of a tensor and writes nothing there", () => {
    const size = 100;
    const x = dx.arange(1, size + 1, { dtype: "float32" });
    // The result lies among other tensors; whatever is written outside would hit one of them.
    const others = [dx.full([size], 7), dx.full([size], 8)];
    const y = mode.run((a) => careless({ x: a }, { shift: 3 }).y, x);
    const more = [dx.full([size], 9), dx.full([size], 10)];
    expect(numbers(y)).toEqual(Array.from({ length: size }, (_, i) => (i + 4 <= size ? i + 4 : 0)));
    [...others, ...more].forEach((t, i) => expect(new Set(numbers(t))).toEqual(new Set([7 + i])));
    expect(numbers(x)).toEqual(Array.from({ length: size }, (_, i) => i + 1));
  });

  it("counts with atomics into what begins as zeros", () => {
    const x = dx.tensor(
      Array.from({ length: 1000 }, (_, i) => ((i * 7) % 13) - 1),
      { dtype: "int32" },
    );
    const expected = Array.from({ length: 10 }, (_, bin) => numbers(x).filter((v) => v === bin).length);
    for (let n = 0; n < 3; n++) expect(numbers(mode.run((t) => histogram({ x: t }, { bins: 10 }).counts, x))).toEqual(expected);
  });

  it("shares memory across barriers", () => {
    for (const [rows, columns] of [
      [3, 5],
      [7, 300],
    ] as const) {
      const x = dx.arange(rows * columns, { dtype: "float32" }).reshape([rows, columns]);
      const y = mode.run((t) => rowSums({ x: t }).y, x);
      expect(numbers(y)).toEqual(numbers(x.sum(1)));
    }
  });

  it("works between other operations, with other numbers and data in later calls", () => {
    const x = dx.linspace(-2, 2, 300);
    const y = mode.run((t) => swiglu({ x: t.mul(2).add(1), g: t.exp() }).y.sub(t), x);
    const xs = numbers(x);
    numbers(y).forEach((v, i) => expect(v).toBeCloseTo((xs[i]! * 2 + 1) * silu(Math.exp(xs[i]!)) - xs[i]!, 3));
  });

  it("has the gradient that was attached", () => {
    const [x, g] = [dx.linspace(-2, 2, 50), dx.linspace(1, -3, 50)];
    const [dxs, dgs] = [0, 1].map((which) =>
      mode.run(
        (a, b) => {
          const [p, q] = [a.detach().requiresGrad_(), b.detach().requiresGrad_()];
          return dx.grad(swiglu({ x: p, g: q }).y.sum(), [p, q])[which]!;
        },
        x,
        g,
      ),
    );
    const [xs, gs] = [numbers(x), numbers(g)];
    const slope = (v: number): number => (silu(v + 1e-5) - silu(v - 1e-5)) / 2e-5;
    numbers(dxs!).forEach((v, i) => expect(v).toBeCloseTo(silu(gs[i]!), 4));
    numbers(dgs!).forEach((v, i) => expect(v).toBeCloseTo(xs[i]! * slope(gs[i]!), 4));
  });
});

eachDevice("a shader's values", () => {
  it("are float16 and integers too", () => {
    const mixed = dx.shader(
      {
        name: "mixed",
        inputs: { h: "float16", i: "int32", u: "uint32" },
        outputs: { half: "float16", int: "int32", uint: "uint32" },
        params: { k: "i32", f: "f32" },
        threads: 32,
      },
      (s) => {
        const { h, i, u, half, int, uint } = s.buffers;
        half.store(s.thread, h.load(s.thread).mul(s.params.f));
        int.store(s.thread, i.load(s.thread).sub(s.params.k));
        uint.store(s.thread, u.load(s.thread).shiftRight(1).xor(1));
      },
    );
    const h = dx.tensor([1, -2.5, 1000, 0.1, 65000], { dtype: "float16" });
    const i = dx.tensor([1, -2, 3, -(2 ** 31), 5], { dtype: "int32" });
    const u = dx.tensor([0, 1, 2 ** 32 - 1, 7, 8], { dtype: "uint32" });
    const { half, int, uint } = mixed({ h, i, u }, { k: 2, f: -2 });
    expect(numbers(int)).toEqual([-1, -4, 1, 2 ** 31 - 2, 3]);
    expect(numbers(uint)).toEqual([1, 1, 2 ** 31 - 2, 2, 5]);
    expect(half.toArraySync()).toEqual(h.mul(-2).toArraySync());
    expect([half.dtype, int.dtype, uint.dtype]).toEqual(["float16", "int32", "uint32"]);
  });

  it("may be empty, or one number", () => {
    expect(swiglu({ x: dx.zeros([0, 3]), g: dx.zeros([0, 3]) }).y.shape).toEqual([0, 3]);
    const { y } = swiglu({ x: dx.tensor(2), g: dx.tensor(3) });
    expect(y.shape).toEqual([]);
    expect(numbers(y)[0]).toBeCloseTo(2 * silu(3), 4);
  });

  it("of nothing count nothing", () => {
    const counted = dx.shader(
      {
        name: "counted",
        inputs: { x: "int32" },
        outputs: { n: { dtype: "uint32", shape: () => [3], initial: "zeros" } },
        threads: 64,
        groups: ({ x }) => Math.ceil(x![0]! / 64),
      },
      (s) => s.if(s.thread.lt(s.buffers.x.size), () => void s.buffers.n.atomicAdd(s.buffers.x.load(s.thread).bits(), 1)),
    );
    const { n } = counted({ x: dx.zeros([0], { dtype: "int32" }) });
    expect([n.dtype, n.toArraySync()]).toEqual(["uint32", [0, 0, 0]]);
    expect(numbers(counted({ x: dx.tensor([1, 1, 2, 9], { dtype: "int32" }) }).n)).toEqual([0, 2, 1]);
  });

  it("are refused where they are made for what would be ignored", () => {
    const of = (more: object, body: (s: never) => unknown = () => {}) =>
      dx.shader({ name: "of", inputs: { x: "float32" }, outputs: { y: "float32" }, threads: 64, ...more }, body as () => void);
    expect(() => of({ outputs: { y: { dtype: "float32", initial: "ones" } } })).toThrow(/^shader: y must be initial "zeros"/);
    expect(() => of({ params: { k: "f64" } })).toThrow(/^shader: k must be "f32", "i32" or "u32"; received "?f64/);
    expect(() => of({}, () => Promise.resolve())).toThrow(/^shader: body must be a function that is not async/);
    let late: () => void = () => {};
    of({}, (s: dx.Scope<{ y: "f32" }, { k: "f32" }>) => {
      late = () => s.buffers.y.store(s.thread, 1);
    });
    expect(() => late()).toThrow(/^of: the shader is complete.*shader\.test\.ts/);
    const wrong = of({ grad: () => undefined });
    const leaf = dx.ones([2]).requiresGrad_();
    expect(() => (wrong({ x: leaf }) as { y: dx.Tensor }).y.sum().backward()).toThrow(/^of: grad's result must be an object of x/);
  });

  it("are checked", () => {
    const x = dx.ones([4]);
    expect(() => swiglu({ x, g: dx.ones([4], { dtype: "int32" }) })).toThrow(/swiglu: g must be float32; received "?int32/);
    expect(() => swiglu({ x } as never)).toThrow(/swiglu: g must be a tensor/);
    expect(() => swiglu({ x, g: x, gg: x } as never)).toThrow(/swiglu: inputs must be an object of x, g/);
    expect(() => careless({ x }, { shift: -1 })).toThrow(/careless: shift must be an unsigned 32-bit integer/);
    expect(() => careless({ x }, {} as never)).toThrow(/careless: shift must be/);
    expect(() => rowSums({ x: dx.ones([2, 3]).sum() })).toThrow(dx.DxError);
  });

  it("are computed alike by debug(), which tells what goes wrong", async () => {
    const x = dx.linspace(-4, 4, 70);
    const { outputs, faults } = await swiglu.debug({ x, g: x });
    const y = numbers(swiglu({ x, g: x }).y);
    outputs["y"]!.forEach((v, i) => expect(v).toBeCloseTo(y[i]!, 4));
    expect(faults).toEqual([]);
    const debugged = await careless.debug({ x }, { shift: 3 });
    expect(debugged.faults.every((f) => f.kind === "outside" && f.place.includes("shader.test.ts"))).toBe(true);
    expect(debugged.faults.length).toBeGreaterThan(3);
  });
});

describe("what a shader is made of", () => {
  const spec = { inputs: { x: "float32" }, outputs: { y: "float32" }, threads: 64 } as const;
  it("is refused where there is no such thing", () => {
    expect(() => dx.shader({ ...spec, inputs: { x: "float64" as "float32" } }, () => undefined)).toThrow(
      /x must be float32, float16, int32 or uint32/,
    );
    expect(() => dx.shader({ ...spec, outputs: { x: "float32" } }, () => undefined)).toThrow(/named otherwise/);
    expect(() => dx.shader({ ...spec, threads: 1025 }, () => undefined)).toThrow(/threads is 1025/);
    expect(() => dx.shader({ ...spec, each: 0 }, () => undefined)).toThrow(/each must be/);
    const many = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`x${i}`, "float32" as const]));
    expect(() => dx.shader({ ...spec, inputs: many }, () => undefined)).toThrow(/9 inputs and outputs/);
  });

  it("is shown as text", () => {
    expect(swiglu.toString()).toContain("shader swiglu, 256 threads\nin x: f32\nin g: f32\nout y: f32");
  });
});
