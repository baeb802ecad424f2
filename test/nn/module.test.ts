import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const { nn } = dx;

class Block extends nn.Module {
  fc = nn.linear(2, 3);
  norms = [nn.layerNorm(3), nn.layerNorm(3)];
  scale = new nn.Parameter(dx.ones([1]));
  readonly #teacher = nn.linear(1, 1);

  constructor() {
    super();
    this.registerBuffer("count", dx.zeros([2], { dtype: "int32" }));
    this.registerBuffer("cache", dx.zeros([1]), { persistent: false });
  }

  forward(x: dx.Tensor): dx.Tensor {
    return this.norms[1]!.forward(this.norms[0]!.forward(this.fc.forward(x)).mul(this.scale));
  }

  disposeTeacher(): void {
    this.#teacher.dispose();
  }
}

/** What PyTorch registers too: names that begin with "_", in fields and inside of what fields hold. */
class Underscores extends nn.Module {
  _drop = nn.dropout(0.5);
  __fc = nn.linear(2, 2);
  _lists = [nn.linear(2, 2, { bias: false })];
  _maps = { _a: nn.linear(2, 2, { bias: false }) };
  _scale = new nn.Parameter(dx.ones([1]));

  constructor() {
    super();
    this.registerBuffer("_count", dx.zeros([1]));
  }

  forward(x: dx.Tensor): dx.Tensor {
    return this._drop(this._maps._a(this._lists[0]!(this.__fc(x)))).mul(this._scale);
  }
}

class Node extends nn.Module {
  parent: dx.nn.Module | null = null;
  child: Node | null = null;
  readonly weight = new nn.Parameter(dx.ones([1]));

  forward(x: dx.Tensor): dx.Tensor {
    return x.mul(this.weight);
  }
}

eachDevice("nn.Module", (device) => {
  const seeded = async (fn: () => void): Promise<void> => {
    dx.withDevice(device, () => {
      dx.rand([1]).dispose();
    });
    await clean(device, fn, { collect: true });
  };

  test("finds parameters, buffers and modules in fields and arrays", () =>
    seeded(() => {
      const m = new Block();
      const names = ["scale", "fc.weight", "fc.bias", "norms.0.weight", "norms.0.bias", "norms.1.weight", "norms.1.bias"];
      expect([...m.namedParameters()].map(([n]) => n)).toEqual(names);
      expect([...m.namedBuffers()].map(([n]) => n)).toEqual(["count", "cache"]);
      expect([...m.namedModules()].map(([n]) => n)).toEqual(["", "fc", "norms.0", "norms.1"]);
      expect(Object.keys(m.stateDict()).sort()).toEqual([...names, "count"].sort());
      expect(m.parameters().every((p) => p.requiresGrad && p.isLeaf)).toBe(true);
      m.disposeTeacher();
      m.dispose();
    }));

  test("fields whose names begin with _ are part of it", () =>
    seeded(() => {
      const m = new Underscores();
      const names = ["_scale", "__fc.weight", "__fc.bias", "_lists.0.weight", "_maps._a.weight"];
      expect([...m.namedParameters()].map(([n]) => n)).toEqual(names);
      expect(Object.keys(m.stateDict()).toSorted()).toEqual([...names, "_count"].toSorted());
      m.eval();
      expect(m.modules().map((x) => x.training)).toEqual([false, false, false, false, false]);
      const x = dx.ones([1, 2]);
      expect(numbers(m(x))).toEqual(numbers(m(x)));
      m.to("float16");
      expect(m.parameters().map((p) => p.dtype)).toEqual(names.map(() => "float16"));
      const optimizer = dx.optim.sgd(m.parameters(), { lr: 1 });
      m.requiresGrad_(false);
      expect(m.parameters().some((p) => p.requiresGrad)).toBe(false);
      optimizer.dispose();
      m.dispose();
    }));

  test("one that holds a module around it has parameters and a text, and is refused where there is no end", () =>
    seeded(() => {
      const m = new Node();
      const child = new Node();
      m.child = child;
      child.parent = m;
      expect(m.parameters()).toHaveLength(2);
      m.eval();
      expect(child.training).toBe(false);
      expect(String(m)).toBe("Node(\n  (child): Node(\n    (parent): Node(…)\n  )\n)");
      const text =
        "child.parent must be a module that does not hold the one it is in; received Node. Hold a reference to an outer module in a private field: this.#outer.";
      expect(() => m.stateDict()).toThrow(`stateDict: ${text}`);
      expect(() => m.apply(() => {})).toThrow(dx.ValueError);
      child.parent = null;
      expect(Object.keys(m.stateDict())).toEqual(["weight", "child.weight"]);
      m.dispose();
    }));

  test("train and eval reach all modules; apply calls inner ones first", () =>
    seeded(() => {
      const m = nn.sequential(nn.linear(2, 2), nn.sequential(nn.dropout(0.5)));
      m.eval();
      expect(m.modules().map((x) => x.training)).toEqual([false, false, false, false]);
      const x = dx.ones([4, 2]);
      expect(numbers(m.forward(x))).toEqual(numbers(m.forward(x)));
      m.train();
      expect(m.modules().every((x) => x.training)).toBe(true);
      const seen: string[] = [];
      m.apply((x) => {
        seen.push(x.constructor.name);
      });
      expect(seen).toEqual(["Linear", "Dropout", "Sequential", "Sequential"]);
      m.dispose();
    }));

  test("a shared parameter is listed once and saved under both names", () =>
    seeded(() => {
      const m = nn.sequential(nn.linear(2, 2), nn.linear(2, 2));
      const [a, b] = [m.at(0) as dx.nn.Linear, m.at(1) as dx.nn.Linear];
      b.weight.dispose();
      b.weight = a.weight;
      expect(m.parameters()).toHaveLength(3);
      expect(Object.keys(m.stateDict())).toContain("1.weight");
      m.dispose();
    }));

  test("state goes from module to module", () =>
    seeded(() => {
      const make = (): dx.nn.Layer => nn.sequential(nn.conv2d(1, 2, 3), nn.batchNorm2d(2), nn.relu(), nn.flatten(), nn.linear(8, 3));
      const [a, b] = [make(), make()];
      const x = dx.rand([5, 1, 4, 4]);
      dx.noGrad(() => a.forward(x));
      expect(numbers(a.stateDict()["1.num_batches_tracked"]!)).toEqual([1]);
      expect(b.loadStateDict(a.stateDict())).toEqual({ missing: [], unexpected: [] });
      a.eval();
      b.eval();
      expect(numbers(b.forward(x))).toEqual(numbers(a.forward(x)));
      a.dispose();
      b.dispose();
    }));

  test("loading is strict about names, always about shapes, and leaves the module alone when it fails", () =>
    seeded(() => {
      const m = nn.linear(2, 1);
      const before = numbers(m.weight);
      expect(() => m.loadStateDict({ weight: dx.ones([1, 2]) })).toThrow(/without bias/);
      expect(() => m.loadStateDict({ weight: dx.ones([1, 2]), bias: dx.ones([1]), more: dx.ones([1]) })).toThrow(/with unknown more/);
      expect(() => m.loadStateDict({ weight: dx.ones([2, 1]), bias: dx.ones([1]) })).toThrow(/weight \[1, 2\] got \[2, 1\]/);
      expect(numbers(m.weight)).toEqual(before);
      expect(m.loadStateDict({ weight: dx.ones([1, 2], { dtype: "float16" }), more: dx.ones([1]) }, { strict: false })).toEqual({
        missing: ["bias"],
        unexpected: ["more"],
      });
      expect(numbers(m.weight)).toEqual([1, 1]);
      expect(m.weight.dtype).toBe("float32");
      m.dispose();
    }));

  test("casting keeps the parameter objects, and integer buffers as they are", () =>
    seeded(() => {
      const m = nn.batchNorm1d(2);
      const weight = m.weight!;
      m.to("float16");
      expect(m.weight).toBe(weight);
      expect([m.weight!.dtype, m.runningMean!.dtype, m.batchesTracked!.dtype]).toEqual(["float16", "float16", "int64"]);
      expect(() => m.to("int32")).toThrow(dx.DTypeError);
      m.dispose();
    }));

  test("starting values follow PyTorch's rules and the generator's seed", () =>
    seeded(() => {
      const generator = new dx.Generator(3);
      const layer = nn.linear(100, 200, { generator });
      const values = numbers(layer.weight);
      expect(Math.max(...values.map(Math.abs))).toBeLessThanOrEqual(0.1);
      const variance = values.reduce((s, v) => s + v * v, 0) / values.length;
      expect(Math.abs(variance / (0.01 / 3) - 1)).toBeLessThan(0.05);
      const again = nn.linear(100, 200, { generator: new dx.Generator(3) });
      expect(numbers(again.weight)).toEqual(values);
      const t = dx.zeros([300, 200]);
      const spread = (): number => Math.sqrt(numbers(t).reduce((s, v) => s + v * v, 0) / t.size);
      nn.init.kaimingNormal(t, { nonlinearity: "relu", generator });
      expect(Math.abs(spread() / Math.sqrt(2 / 200) - 1)).toBeLessThan(0.02);
      nn.init.kaimingUniform(t, { a: Math.sqrt(5), generator });
      expect(Math.max(...numbers(t).map(Math.abs))).toBeLessThanOrEqual(1 / Math.sqrt(200) + 1e-6);
      nn.init.xavierUniform(t, { generator });
      expect(Math.abs(spread() / Math.sqrt(2 / 500) - 1)).toBeLessThan(0.02);
      nn.init.xavierNormal(t, { gain: 2, generator });
      expect(Math.abs(spread() / (2 * Math.sqrt(2 / 500)) - 1)).toBeLessThan(0.02);
      expectClose(nn.init.identity(dx.zeros([2, 3])), [1, 0, 0, 0, 1, 0]);
      expect(() => nn.init.kaimingNormal(dx.zeros([3]))).toThrow(dx.ShapeError);
      layer.dispose();
      again.dispose();
    }));

  test("layers compute what their functions do", () =>
    seeded(() => {
      const x = dx.rand([2, 4, 6, 6]);
      const conv = nn.conv2d(4, 6, 3, { stride: 2, padding: 1, groups: 2, bias: false });
      expect(conv.weight.shape).toEqual([6, 2, 3, 3]);
      expect(numbers(conv.forward(x))).toEqual(numbers(dx.conv2d(x, conv.weight, null, { stride: 2, padding: 1, groups: 2 })));
      const up = nn.convTranspose2d(4, 2, 3, { stride: 2 });
      expect(up.forward(x).shape).toEqual([2, 2, 13, 13]);
      expect(nn.maxPool2d(2).forward(x).shape).toEqual([2, 4, 3, 3]);
      expect(nn.avgPool2d(3, { stride: 1, padding: 1 }).forward(x).shape).toEqual([2, 4, 6, 6]);
      expect(nn.adaptiveAvgPool2d(1).forward(x).shape).toEqual([2, 4, 1, 1]);
      const group = nn.groupNorm(2, 4);
      expectClose(group.forward(x), numbers(dx.groupNorm(x, 2, null, null)));
      const table = nn.embedding(5, 3, { paddingIdx: 0 });
      expect(numbers(table.forward(dx.tensor(Int32Array.of(0))))).toEqual([0, 0, 0]);
      const prelu = nn.prelu();
      expectClose(prelu.forward(dx.tensor([-4, 4])), [-1, 4]);
      expectClose(nn.crossEntropy().forward(dx.zeros([2, 4]), dx.tensor(Int32Array.of(1, 2))), [Math.log(4)]);
      expect(String(nn.sequential(nn.linear(2, 3), nn.relu()))).toBe(
        "Sequential(\n  (0): Linear(inFeatures=2, outFeatures=3, bias=true)\n  (1): ReLU()\n)",
      );
      for (const m of [conv, up, group, table, prelu]) m.dispose();
    }));

  test("BatchNorm without momentum keeps the plain average", () =>
    seeded(() => {
      const m = nn.batchNorm1d(1, { momentum: null });
      dx.noGrad(() => {
        m.forward(dx.tensor([[1], [3]]));
        m.forward(dx.tensor([[5], [9]]));
      });
      expectClose(m.runningMean!, [4.5]);
      expectClose(m.runningVariance!, [5]);
      expect(() => m.forward(dx.ones([2, 1, 1, 1]))).toThrow(/BatchNorm1d: x must be \[N, C\] or \[N, C, W\]/);
      m.dispose();
    }));

  test("bad sizes are refused", () =>
    seeded(() => {
      expect(() => nn.linear(-1, 2)).toThrow(/Linear: inFeatures must be an integer/);
      expect(() => nn.conv2d(3, 4, 3, { groups: 2 })).toThrow(/Conv2d: groups must be a divisor/);
      expect(() => nn.dropout(2)).toThrow(dx.ValueError);
      expect(() => nn.embedding(3, 2, { paddingIdx: 3 })).toThrow(dx.ValueError);
      expect(() => new nn.Parameter(dx.ones([1], { dtype: "int32" }))).toThrow(dx.DTypeError);
    }));

  test("is called like a function, by compile as well", () =>
    clean(
      device,
      () => {
        const layer = dx.nn.linear(2, 1);
        class Named extends dx.nn.Module {
          override name = "field";
          override length = 3;
          inner = [layer];
          forward(x: dx.Tensor, { twice = false } = {}): { y: dx.Tensor } {
            return { y: twice ? this.inner[0]!(x).mul(2) : this.inner[0]!(x) };
          }
        }
        const m = new Named();
        const x = dx.tensor([[1, 2]]);
        expect(layer(x).dataSync()).toEqual(layer.forward(x).dataSync());
        expect((m(x, { twice: true }) as { y: dx.Tensor }).y.dataSync()).toEqual(layer.forward(x).mul(2).dataSync());
        expect([m.name, m.length, m instanceof Named, m instanceof dx.nn.Module]).toEqual(["field", 3, true, true]);
        expect(Object.keys(m.stateDict())).toEqual(["inner.0.weight", "inner.0.bias"]);
        expect(dx.nn.sequential(layer, dx.nn.relu())(x).shape).toEqual([1, 1]);
        const f = dx.compile(layer);
        for (const k of [1, 2, 3]) {
          const row = dx.tensor([[k, -k]]);
          expect(f(row).dataSync()).toEqual(layer(row).dataSync());
        }
        expect(() => dx.relu(m as never)).toThrow("received a Named");
        m.dispose();
      },
      { collect: true },
    ));
});
