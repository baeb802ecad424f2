/** Lazy layers: what their first input, or a state, makes of them. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const { nn } = dx;
type AnyLayer = dx.nn.Module & { forward(x: dx.Tensor): dx.Tensor };
type Options = { readonly generator: dx.Generator };

/** A lazy layer, the one that it becomes, and an input. */
const pairs: readonly [name: string, lazy: (o: Options) => AnyLayer, eager: (o: Options) => AnyLayer, shape: readonly number[]][] = [
  ["Linear", (o) => nn.lazyLinear(3, o), (o) => nn.linear(4, 3, o), [2, 5, 4]],
  ["Conv1d", (o) => nn.lazyConv1d(6, 3, 2, 1, { groups: 2, ...o }), (o) => nn.conv1d(4, 6, 3, 2, 1, { groups: 2, ...o }), [2, 4, 9]],
  ["Conv2d", (o) => nn.lazyConv2d(3, 2, o), (o) => nn.conv2d(5, 3, 2, o), [5, 4, 4]],
  ["Conv3d", (o) => nn.lazyConv3d(3, 2, o), (o) => nn.conv3d(2, 3, 2, o), [1, 2, 3, 3, 3]],
  ["ConvTranspose1d", (o) => nn.lazyConvTranspose1d(4, 2, { groups: 2, ...o }), (o) => nn.convTranspose1d(6, 4, 2, { groups: 2, ...o }), [2, 6, 3]], // prettier-ignore
  ["ConvTranspose2d", (o) => nn.lazyConvTranspose2d(4, 2, 2, o), (o) => nn.convTranspose2d(3, 4, 2, 2, o), [1, 3, 3, 3]],
  ["ConvTranspose3d", (o) => nn.lazyConvTranspose3d(2, 2, o), (o) => nn.convTranspose3d(3, 2, 2, o), [1, 3, 2, 2, 2]],
  ["BatchNorm1d", () => nn.lazyBatchNorm1d(), () => nn.batchNorm1d(3), [4, 3]],
  ["BatchNorm2d", () => nn.lazyBatchNorm2d(1e-3, null), () => nn.batchNorm2d(3, 1e-3, null), [2, 3, 2, 2]],
  ["BatchNorm3d", () => nn.lazyBatchNorm3d({ affine: false }), () => nn.batchNorm3d(2, { affine: false }), [2, 2, 2, 2, 2]],
  ["InstanceNorm1d", () => nn.lazyInstanceNorm1d({ affine: true }), () => nn.instanceNorm1d(3, { affine: true }), [3, 5]],
  ["InstanceNorm2d", () => nn.lazyInstanceNorm2d({ affine: true, trackRunningStats: true }), () => nn.instanceNorm2d(3, { affine: true, trackRunningStats: true }), [2, 3, 2, 2]], // prettier-ignore
  ["InstanceNorm3d", () => nn.lazyInstanceNorm3d(), () => nn.instanceNorm3d(2), [1, 2, 2, 2, 2]],
];

const input = (shape: readonly number[]): dx.Tensor => dx.rand(shape, { generator: new dx.Generator(3) });
const values = (m: dx.nn.Module): object => Object.fromEntries(Object.entries(m.stateDict()).map(([k, t]) => [k, [t.shape, numbers(t)]]));

eachDevice("lazy layers", () => {
  test.each(pairs)("%s becomes the layer that it would have been", (name, makeLazy, makeEager, shape) => {
    const lazy = makeLazy({ generator: new dx.Generator(7) });
    const eager = makeEager({ generator: new dx.Generator(7) });
    expect(lazy.constructor.name).toBe(`Lazy${name}`);
    const held = [...lazy.parameters(), ...lazy.buffers()];
    const x = input(shape);
    for (let call = 0; call < 3; call++) expect(numbers(lazy(x) as dx.Tensor)).toEqual(numbers(eager(x) as dx.Tensor));
    expect(lazy.constructor).toBe(eager.constructor);
    expect(String(lazy)).toBe(String(eager));
    expect(values(lazy)).toEqual(values(eager));
    [...lazy.parameters(), ...lazy.buffers()].forEach((t, i) => {
      expect(t).toBe(held[i]);
    });
    for (const p of lazy.parameters()) expect(p instanceof nn.Parameter && p.requiresGrad && !p.isDisposed).toBe(true);
  });

  test.each(pairs)("%s takes its shape of a state", (_, makeLazy, makeEager, shape) => {
    const from = makeEager({ generator: new dx.Generator(1) });
    const x = input(shape);
    from(x);
    const state = from.stateDict();
    if (Object.keys(state).length === 0) return;
    for (const assign of [false, true]) {
      const lazy = makeLazy({ generator: new dx.Generator(2) });
      expect(lazy.loadStateDict(state, { assign })).toEqual({ missing: [], unexpected: [] });
      expect(values(lazy)).toEqual(values(from));
      expect(String(lazy)).toBe(String(from));
      expect(numbers(lazy.eval()(x) as dx.Tensor)).toEqual(numbers(from.eval()(x) as dx.Tensor));
      from.train();
    }
  });

  test("before the first call every use is a typed error that says what to do", () => {
    const net = nn.sequential(nn.lazyLinear(3), nn.relu(), nn.lazyLinear(2));
    const uses: readonly (() => unknown)[] = [
      () => dx.optim.sgd(net.parameters(), { lr: 0.1 }),
      () => net.stateDict(),
      () => net.clone(),
      () => net.parameters()[0]!.add(1),
      () => net.parameters()[0]!.dataSync(),
      () => nn.init.zeros(net.parameters()[0]!),
      () => nn.functionalCall(net, { "0.weight": dx.ones([3, 4]) }, dx.ones([1, 4])),
      () => nn.utils.parametersToVector(net.parameters()),
    ];
    for (const use of uses) expect(use).toThrow(/initialized; received float32\[uninitialized\]\. Call its lazy layer once/);
    for (const use of uses) expect(use).toThrow(dx.ValueError);
    expect(JSON.stringify(net)).toContain("uninitialized");
    expect(String(net)).toContain("LazyLinear(inFeatures=0, outFeatures=3");
    nn.utils.freeze(net, "0.bias");
    net(dx.ones([1, 4]));
    expect(net.parameters().map((p) => p.shape)).toEqual([[3, 4], [3], [2, 3], [2]]);
    expect(net.parameters().map((p) => p.requiresGrad)).toEqual([true, false, true, true]);
    expect(dx.optim.sgd(net.parameters().slice(2), { lr: 0.1 }).paramGroups).toHaveLength(1);
  });

  test("dtypes and devices: to() before the first call, meta, toEmpty()", () => {
    const half = nn.lazyLinear(3).to("float16");
    expect((half(dx.ones([2, 4], { dtype: "float16" })) as dx.Tensor).dtype).toBe("float16");
    const device = dx.defaultDevice();
    const meta = nn.sequential(nn.lazyConv2d(3, 2), nn.lazyBatchNorm2d()).to("meta");
    expect((meta(dx.empty([1, 2, 4, 4], { device: "meta" })) as dx.Tensor).shape).toEqual([1, 3, 3, 3]);
    expect(meta.parameters().every((p) => p.device.toString() === "meta")).toBe(true);
    expect(numbers(meta.toEmpty(device).parameters()[1]!)).toEqual([0, 0, 0]);
    const back = nn.lazyBatchNorm1d({ device: "meta" }).toEmpty(device).to(device);
    expect(numbers(back(dx.tensor([[1, 2], [3, 4]])) as dx.Tensor)).toHaveLength(4); // prettier-ignore
    expect([...back.namedBuffers()].map(([n]) => n)).toEqual(["running_mean", "running_var", "num_batches_tracked"]);
  });

  test("summary() shows what layers become, and leaves them lazy", () => {
    const generator = new dx.Generator(3);
    const net = nn.sequential(
      nn.lazyConv2d(6, 3, { groups: 2, generator }),
      nn.lazyBatchNorm2d(),
      nn.flatten(),
      nn.lazyLinear(5, { generator }),
    );
    const before = String(net);
    const shown = nn.summary(net, [2, 4, 8, 8]);
    expect(String(net)).toBe(before);
    expect(net.parameters().every((p) => String(p.describe()).includes("uninitialized"))).toBe(true);
    expect(() => nn.summary(net, [2, 3, 8, 8])).toThrow(dx.DxError);
    expect(String(net)).toBe(before);
    // Nothing was drawn, and another input is another table.
    expect(generator.hostState).toBe(new dx.Generator(3).hostState);
    expect(nn.summary(net, [2, 8, 4, 4]).parameters).toBe(6 * 4 * 9 + 6 + 12 + 5 * 6 * 4 + 5);
    net(dx.ones([2, 4, 8, 8]));
    const after = nn.summary(net, [2, 4, 8, 8]);
    expect(JSON.stringify(shown)).toBe(JSON.stringify(after));
    expect(shown.multiplyAdds).toBeGreaterThan(0);
    expect(shown.bufferBytes).toBe(after.bufferBytes);
  });

  test("the first call is a compiled one", () => {
    const make = () => {
      const generator = new dx.Generator(5);
      return nn.sequential(
        nn.lazyConv1d(4, 2, { generator }),
        nn.lazyBatchNorm1d(),
        nn.tanh(),
        nn.lazyConvTranspose1d(3, 2, { generator }),
        nn.lazyInstanceNorm1d({ affine: true }),
        nn.flatten(),
        nn.lazyLinear(2, { generator }),
      );
    };
    const [net, eager] = [make(), make()];
    const x = (call: number): dx.Tensor => dx.arange(2 * 3 * 5, { dtype: "float32" }).mul(0.1 + call).sin().reshape([2, 3, 5]); // prettier-ignore
    const step = dx.compile((t: dx.Tensor) => net(t));
    for (let call = 0; call < 3; call++)
      expectClose(step(x(call)) as dx.Tensor, numbers(eager(x(call)) as dx.Tensor), { rtol: 1e-4, atol: 1e-5 });
    expect(String(net)).toBe(String(eager));
    expect(step.programs).toBe(1);
    // Gradients reach the new parameters, in the function and outside of it.
    (step(x(0)) as dx.Tensor).square().sum().backward();
    expect(net.parameters().every((p) => p.grad !== null && numbers(p.grad).every(Number.isFinite))).toBe(true);
    const again = make();
    const learn = dx.compile((t: dx.Tensor) => {
      const loss = (again(t) as dx.Tensor).square().sum();
      loss.backward();
      return loss;
    });
    for (let call = 0; call < 3; call++) learn(x(0));
    expect(again.parameters().every((p) => p.grad !== null)).toBe(true);
    // An input that does not fit leaves the layer lazy.
    const one = nn.lazyLinear(2);
    const wrong = dx.compile((t: dx.Tensor) => one(t));
    expect(() => wrong(dx.tensor(1))).toThrow(dx.ShapeError);
    expect((wrong(dx.ones([2, 3])) as dx.Tensor).shape).toEqual([2, 2]);
    for (const f of [step, learn, wrong]) f.dispose();
  });

  test("compiled after the first call, hooks, training", () => {
    const net = nn.sequential(nn.lazyLinear(4), nn.tanh(), nn.lazyLinear(1));
    const shapes: unknown[] = [];
    net.at(0).registerForwardHook((_, [x], y) => void shapes.push([x.shape, y.shape]));
    const step = dx.compile((x: dx.Tensor) => net(x));
    net(dx.ones([3, 2]));
    expect(shapes).toEqual([[[3, 2], [3, 4]]]); // prettier-ignore
    for (let call = 0; call < 3; call++) {
      const x = dx.tensor([[1, call], [2, -call]]); // prettier-ignore
      numbers(step(x)).forEach((v, i) => {
        expect(v).toBeCloseTo(numbers(net(x))[i]!, 5);
      });
    }
    const optimizer = dx.optim.sgd(net.parameters(), { lr: 0.1 });
    const before = numbers(net.parameters()[0]!);
    net(dx.ones([3, 2]))
      .sum()
      .backward();
    optimizer.step();
    expect(numbers(net.parameters()[0]!)).not.toEqual(before);
    step.dispose();
  });

  test("inputs and states that do not fit are refused, and leave the layer lazy", () => {
    const conv = nn.lazyConv2d(4, 3, { groups: 2 });
    expect(() => conv(dx.ones([2, 2]))).toThrow(dx.ShapeError);
    expect(() => conv(dx.ones([1, 3, 4, 4]))).toThrow(dx.ValueError);
    expect(() => conv.loadStateDict({ weight: dx.ones([5, 1, 3, 3]), bias: dx.ones([4]) })).toThrow(dx.ShapeError);
    expect(() => conv.loadStateDict({ weight: dx.ones([4, 1, 3, 3]) })).toThrow(dx.ValueError);
    expect(conv.constructor.name).toBe("LazyConv2d");
    conv.loadStateDict({ bias: dx.ones([4]) }, { strict: false });
    expect(conv.constructor.name).toBe("LazyConv2d");
    expect(conv(dx.ones([1, 2, 4, 4])).shape).toEqual([1, 4, 2, 2]);
    expect(numbers(conv.bias!)).toEqual([1, 1, 1, 1]);
    expect(() => nn.lazyLinear(-1)).toThrow(dx.ValueError);
    expect(() => nn.lazyLinear(3)(dx.tensor(1))).toThrow(dx.ShapeError);
    expect(() => nn.lazyLinear(3)(5 as never)).toThrow(dx.DxError);
    class Own extends nn.LazyLinear {
      twice(x: dx.Tensor): dx.Tensor {
        return this.forward(x).mul(2);
      }
    }
    const own = new Own(2);
    own(dx.ones([1, 3]));
    expect(own.twice(dx.ones([1, 3])).shape).toEqual([1, 2]);
    expect(own.inputs).toBe(3);
  });
});
