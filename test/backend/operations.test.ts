/** Kernels of a backend for whole operations of the library's, eagerly and compiled: openreg's, and those of a backend that records its calls. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { backend as openreg, faults } from "../../packages/openreg/src/backend.ts";
import { threeCalls } from "../three-calls.ts";
import { expectClose } from "../tolerance.ts";

const device = "openreg:0";
const { softmax, logSoftmax } = dx;
const { linear, layerNorm } = dx.nn.functional;

beforeAll(() => dx.backend.register(openreg));
afterEach(() => {
  dx.setStrict(null);
  dx.resetFallbackStats();
  for (const name of ["openreg:0", "openreg:1"]) dx.closeDevice(name);
});

const on = (data: number[] | number[][]): dx.Tensor => dx.tensor(data as number[], { device });
const x = (): dx.Tensor =>
  on([
    [0.5, -1.25, 2, 0],
    [3, 1.5, -0.75, 100],
  ]);
const weight = (): dx.Tensor =>
  on([
    [0.1, 0.2, -0.3, 0.4],
    [1, -1, 0.5, 0.25],
    [0, 2, -2, 1],
  ]);

/** With PyTorch's results. */
const cases: readonly [string, (x: dx.Tensor) => dx.Tensor, readonly number[]][] = [
  ["softmax", (a) => softmax(a, -1), [0.1596936, 0.0277506, 0.7156968, 0.096859, 0, 0, 0, 1]],
  ["logSoftmax", (a) => logSoftmax(a, 0), [-2.5788898, -2.8119676, -0.0619676, -100, -0.0788897, -0.0619676, -2.8119676, 0]],
  ["linear", (a) => linear(a, weight(), on([0.5, -0.5, 0.25])), [-0.3, 2.25, -6.25, 41.325, 25.625, 104.75]],
  [
    "layerNorm",
    (a) => layerNorm(a, [4], on([1, 2, -1, 0.5]), on([0.1, 0.2, 0.3, 0.4])),
    [0.2610478, -2.4841309, -1.1494308, 0.2657934, -0.4361631, -0.9424511, 0.9238192, 1.2656039],
  ],
  ["layerNorm", (a) => layerNorm(a, [2, 4]), [-0.3841776, -0.43743, -0.3385327, -0.3993926, -0.3081028, -0.3537477, -0.422215, 2.6435986]],
];

/** Whether a compiled function has a node of that name. */
const hasNode = (fn: (x: dx.Tensor) => dx.Tensor, name: string): boolean => {
  const compiled = dx.compile(fn);
  compiled(x());
  return new RegExp(`= ${name} `).test(String(dx.explain(compiled)));
};

describe.each(cases)("%s", (name, fn, want) => {
  it("is one dispatch, eager and compiled, with PyTorch's result and without a fallback", () => {
    dx.setStrict(true);
    const input = x();
    fn(input).dispose();
    const before = dx.counters(device).dispatchesRecorded;
    const y = fn(input);
    expect(dx.counters(device).dispatchesRecorded - before).toBe(1);
    expectClose(y, want);
    expectClose(threeCalls(fn, [input]), want);
    expect(hasNode(fn, name)).toBe(true);
  });

  it("of views: transposed, expanded, at odd offsets; in the middle of a program", () => {
    const input = x();
    const wide = dx.cat([on([[7], [8]]), input], 1);
    for (const view of [input.transpose(0, 1).contiguous().transpose(0, 1), wide.narrow(1, 1, 4)]) {
      expectClose(fn(view), want);
      expectClose(threeCalls(fn, [view]), want);
    }
    const row = input.narrow(0, 1, 1).expand([2, 4]);
    expectClose(fn(row), fn(row.contiguous()).toArraySync());
    expectClose(
      threeCalls((a) => fn(a.mul(2)).add(1), [input]),
      fn(input.mul(2)).add(1).toArraySync(),
    );
  });

  it("has the library's gradients, of both orders", () => {
    const input = dx.tensor([0.3, -0.2, 0.7, 0.1, -0.5, 0.4, 0.2, -0.6], { device }).reshape([2, 4]).requiresGrad_();
    expect(dx.gradcheck(fn, [input])).toBe(true);
    expect(dx.gradgradcheck(fn, [input])).toBe(true);
    const gradient = (a: dx.Tensor): dx.Tensor => {
      const leaf = a.detach().requiresGrad_();
      fn(leaf).square().sum().backward();
      return leaf.grad!;
    };
    const there = gradient(input.to("cpu").to(device));
    expectClose(threeCalls(gradient, [input.detach()]), there.toArraySync());
  });

  it("what the kernel refuses is composed of operators, which fall back and are counted", () => {
    if (name.endsWith("oftmax")) {
      expect(fn(x().to("float16")).dtype).toBe("float16");
      const records = dx.fallbackStats().filter((r) => r.operation === name);
      expect(records).toMatchObject([{ kind: "fallback", device, calls: 1 }]);
      expect(records[0]!.reason).toContain("SOFTMAX1");
    }
    const input = x();
    faults(0).missing(name);
    dx.resetFallbackStats();
    expectClose(fn(input), want);
    expect(hasNode(fn, name)).toBe(false);
  });
});

it("empty, one row, rank 0 and rank 1, NaN and infinities", () => {
  expect(softmax(dx.zeros([0, 3], { device }), -1).shape).toEqual([0, 3]);
  expect(linear(dx.zeros([0, 4], { device }), weight()).shape).toEqual([0, 3]);
  expect(softmax(dx.tensor(5, { device }), 0).itemSync()).toBe(1);
  expectClose(linear(on([1, 2, 3, 4]), weight()), [1.2, 1.5, 2]);
  expectClose(softmax(on([NaN, 1]), 0), [NaN, NaN]);
  expectClose(softmax(on([-Infinity, 1]), 0), [0, 1]);
});

it("a compiled function of several sizes computes with padding: not by the device's kernel where that may matter", () => {
  const fn = dx.compile((a: dx.Tensor) => softmax(a, 0), { dynamic: [[0]] });
  for (const rows of [3, 5, 6, 4, 7]) {
    const a = dx
      .arange(0, rows * 2, { device })
      .reshape([rows, 2])
      .mul(0.1);
    expectClose(fn(a), softmax(a.to("cpu"), 0).toArraySync());
  }
});

it("shows its name in profileSync()", () => {
  const fn = dx.compile((a: dx.Tensor) => softmax(a.add(1), -1));
  for (let i = 0; i < 3; i++) fn(x());
  expect(fn.profileSync().dispatches.map((d) => d.operator)).toContain("softmax");
});

describe("what a backend is asked", () => {
  const asked: dx.backend.BackendOperation[] = [];
  /** openreg with other operations. */
  const made = (name: string, change: Partial<dx.backend.BackendDevice>): string => {
    dx.backend.register({
      ...openreg,
      name,
      open: (index, options) => {
        const opened = openreg.open(index, options);
        return new Proxy(opened, {
          get: (target, key) => {
            if (Object.hasOwn(change, key)) return change[key as keyof typeof change];
            const value: unknown = target[key as keyof typeof target];
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
      },
    });
    return name;
  };

  it("tensors as they are, then packed; once for each program", () => {
    const name = made("e1", {
      operations: ["softmax"],
      prepareOperation: (call) => {
        asked.push(call);
        return null;
      },
    });
    const a = dx.tensor([1, 2, 3, 4, 5, 6], { device: name }).reshape([2, 3]).transpose(0, 1);
    for (let i = 0; i < 3; i++) expectClose(softmax(a, 1), softmax(a.to("cpu"), 1).toArraySync());
    const tensor = { dtype: "float32", sizes: [3, 2], strides: [2, 1] };
    expect(asked).toEqual([
      { operation: "softmax", attributes: { axis: 1 }, inputs: [{ ...tensor, strides: [1, 3] }], outputs: [tensor] },
      { operation: "softmax", attributes: { axis: 1 }, inputs: [tensor], outputs: [tensor] },
    ]);
  });

  it("dtypes by their names: bfloat16 and bool", () => {
    asked.length = 0;
    const name = made("e2", { operations: ["softmax", "logicalNot"], prepareOperation: (call) => (asked.push(call), null) }); // prettier-ignore
    softmax(dx.tensor([1, 2], { device: name, dtype: "bfloat16" }), 0);
    dx.logicalNot(dx.tensor([true], { device: name }));
    expect(asked.map(({ inputs, outputs }) => [inputs[0]!.dtype, outputs[0]!.dtype])).toEqual([
      ["bfloat16", "bfloat16"],
      ["bool", "bool"],
    ]);
  });

  it.each([
    ["f1", { operations: ["softMax"], prepareOperation: () => null }, dx.BackendError, /operations must be .*received softMax/],
    ["f2", { operations: "softmax", prepareOperation: () => null }, dx.BackendError, /operations/],
    ["f3", { operations: ["softmax"], prepareOperation: undefined }, dx.BackendError, /prepareOperation must be a function/],
    ["f4", { operations: ["softmax"], prepareOperation: () => ({}) }, dx.NativeError, /prepareOperation gave no kernel/],
    ["f5", { operations: ["softmax"], prepareOperation: () => { throw new Error("no unit"); } }, dx.NativeError, /f5: no unit/], // prettier-ignore
    ["f6", { operations: ["softmax"], prepareOperation: () => ({ run: () => { throw new Error("lost"); } }) }, dx.NativeError, /f6: lost/], // prettier-ignore
  ] as unknown as [string, Partial<dx.backend.BackendDevice>, typeof dx.DxError, RegExp][])("%s", (name, change, type, message) => {
    made(name, change);
    const run = (): unknown => softmax(dx.tensor([1, 2], { device: name }), 0).toArraySync();
    expect(run).toThrow(type);
    expect(run).toThrow(message);
    expect(softmax(dx.tensor([1, 1], { device: "cpu" }), 0).toArraySync()).toEqual([0.5, 0.5]);
  });
});
