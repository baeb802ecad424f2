/** The device meta: shapes and dtypes are those of real tensors, and nothing else is there. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { memoryStatistics } from "../../src/runtime/device-statistics.ts";
import { clean } from "../device.ts";
import { Call, operandsOf } from "../golden/call.ts";
import { anyDtypeOf, isNumbers, readCases, readIndex, tensorOf, tensorsOf, withComplex } from "../golden/cases.ts";
import { flatten, type Output } from "../golden/compare.ts";
import { goldenFolder } from "../golden/folder.ts";
import { outOfScope } from "../golden/scope.ts";
import { entryOf } from "../golden/table/index.ts";

const { nn } = dx;
const onMeta = <T>(fn: () => T): T => dx.withDevice("meta", fn);

class Block extends nn.Module {
  readonly conv1: dx.nn.Conv2d;
  readonly bn1 = new nn.BatchNorm2d(8);
  readonly conv2 = new nn.Conv2d(8, 8, 3, { padding: 1, bias: false });
  readonly bn2 = new nn.BatchNorm2d(8);
  readonly down: dx.nn.Conv2d;
  constructor(channels: number) {
    super();
    this.conv1 = new nn.Conv2d(channels, 8, 3, { padding: 1, stride: 2 });
    this.down = new nn.Conv2d(channels, 8, 1, { stride: 2 });
  }
  forward(x: dx.Tensor): dx.Tensor {
    const y = this.bn2.forward(this.conv2.forward(dx.relu(this.bn1.forward(this.conv1.forward(x)))));
    return dx.relu(dx.add(y, this.down.forward(x)));
  }
}

class ResNet extends nn.Module {
  readonly stem = new nn.Conv2d(3, 4, 7, { stride: 2, padding: 3 });
  readonly block = new Block(4);
  readonly fc = new nn.Linear(8, 10);
  forward(x: dx.Tensor): dx.Tensor {
    const y = this.block.forward(dx.maxPool2d(dx.relu(this.stem.forward(x)), 3, { stride: 2, padding: 1 }));
    return this.fc.forward(dx.mean(y, [2, 3]));
  }
}

class Transformer extends nn.Module {
  readonly table = new nn.Embedding(50, 16);
  readonly layer = new nn.TransformerEncoderLayer(16, 4, { dimFeedforward: 32 });
  readonly head = new nn.Linear(16, 50);
  forward(tokens: dx.Tensor): dx.Tensor {
    return this.head.forward(this.layer.forward(this.table.forward(tokens)));
  }
}

/** The default generator keeps its state on each device that it drew on. */
const dropState = (): void => dx.defaultGenerator().drop(null);

const described = (tensors: Iterable<readonly [string, dx.Tensor]>): string[] => [...tensors].map(([name, t]) => `${name} ${t.describe()}`);

describe("meta", () => {
  test("tensors have shape, dtype and device, and operations give those of their results", () => {
    const x = dx.zeros([2, 3], { device: "meta", dtype: "bfloat16" });
    const y = dx.matmul(x, dx.ones([3, 5], { device: "meta", dtype: "bfloat16" }));
    expect([y.describe(), String(y.device), String(y)]).toEqual(["bfloat16[2, 5]", "meta", "Tensor bfloat16[2, 5] on meta"]);
    expect(dx.add(y, dx.ones([5], { device: "meta" })).dtype).toBe("float32");
    expect(dx.tensor([[1, 2]], { device: "meta" }).shape).toEqual([1, 2]);
    expect(dx.randn([4], { device: "meta" }).permute(0).slice(0, 1).shape).toEqual([3]);
    expect(dx.linalg.inv(dx.zeros([3, 3], { device: "meta" })).shape).toEqual([3, 3]);
    expect(() => dx.matmul(y, y)).toThrow(dx.ShapeError);
    expect(() => dx.sum(dx.zeros([0, 2], { device: "meta" }).to("float16"), 5)).toThrow(dx.DxError);
    expect(dx.mean(dx.zeros([0], { device: "meta" })).shape).toEqual([]);
  });

  test("takes no memory, however large", () =>
    clean("cpu", () => {
      const before = memoryStatistics("cpu").liveInBytes;
      const w = dx.zeros([60000, 70000], { device: "meta", dtype: "float32" });
      expect(dx.matmul(dx.zeros([4, 60000], { device: "meta" }), w).shape).toEqual([4, 70000]);
      w.add_(1).slice(0, 0, 10).mul_(2);
      w.permute(1, 0)
        .slice(0, 1, 9, 2)
        .copy_(dx.ones([4, 60000], { device: "meta" }));
      expect(memoryStatistics("cpu").liveInBytes).toBe(before);
      expect(memoryStatistics("meta")).toMatchObject({ liveInBytes: 0, liveBuffers: 0 });
    }));

  test("what needs elements is refused by name", async () => {
    const x = dx.ones([2, 2], { device: "meta" });
    const refused: Record<string, () => unknown> = {
      dataSync: () => x.dataSync(),
      toArraySync: () => x.toArraySync(),
      itemSync: () => dx.sum(x).itemSync(),
      nonzeroSync: () => dx.nonzeroSync(x),
      to: () => x.to("cpu"),
    };
    for (const [name, fn] of Object.entries(refused)) {
      expect(fn).toThrow(dx.DeviceError);
      expect(fn).toThrow(new RegExp(`^${name}: tensor must be one with data; received one on meta`));
    }
    await expect(x.data()).rejects.toThrow(/^data: tensor must be one with data/);
    await expect(dx.zeros([0], { device: "meta" }).data()).rejects.toThrow(dx.DeviceError);
    await expect(x.format()).rejects.toThrow(dx.DeviceError);
    expect(() => dx.device("meta:1")).toThrow(dx.DeviceError);
  });

  test("mixes with no tensor of another device", () =>
    clean("cpu", () => {
      const [x, y] = [dx.ones([2, 2], { device: "meta" }), dx.ones([2, 2])];
      const mixed: (() => unknown)[] = [
        () => dx.add(x, y),
        () => dx.add(y, x),
        () => dx.matmul(y, x),
        () => dx.cat([y, x]),
        () => dx.where(dx.lt(y, 1), x, 0),
        () => dx.gather(y, 0, dx.zeros([1, 2], { device: "meta", dtype: "int64" })),
        () => dx.layerNorm(y, [2], dx.ones([2], { device: "meta" }), null),
        () => y.copy_(x),
      ];
      for (const fn of mixed) expect(fn).toThrow(dx.DeviceError);
      expect(y.to("meta").describe()).toBe("float32[2, 2]");
      expect(dx.mul(y.to("meta"), x).shape).toEqual([2, 2]);
    }));

  const models: readonly [string, () => ResNet | Transformer, (dtype: dx.DType) => dx.Tensor][] = [
    ["a residual network", () => new ResNet(), (dtype) => dx.zeros([2, 3, 32, 32], { dtype })],
    ["a transformer", () => new Transformer(), () => dx.zeros([2, 7], { dtype: "int64" })],
  ];
  test.each(models)("%s has the parameters, results and gradients of a real one", (_, make, input) =>
    clean("cpu", () => {
      const shapes = (module: ResNet | Transformer, dtype: dx.DType = "float32"): string[] => {
        const y = module.forward(input(dtype));
        dx.sum(dx.square(y)).backward();
        const grads = [...module.namedParameters()].map(([name, p]) => `${name}.grad ${p.grad!.describe()}`);
        return [y.describe(), ...described(module.namedParameters()), ...described(module.namedBuffers()), ...grads];
      };
      const real = make();
      const meta = onMeta(make);
      for (const p of [...meta.parameters(), ...meta.buffers()]) expect(String(p.device)).toBe("meta");
      const want = shapes(real);
      expect(onMeta(() => shapes(meta))).toEqual(want);
      const brief = onMeta(() => shapes(make().to("bfloat16"), "bfloat16"));
      expect(brief).toEqual(want.map((s) => s.replace("float32", "bfloat16")));
      real.dispose();
      dropState();
    }),
  );

  test("a module made on meta is given memory and a state", () =>
    clean("cpu", () => {
      const real = new ResNet().eval();
      const x = dx.ones([1, 3, 16, 16]);
      const want = real.forward(x).dataSync();
      const state = real.stateDict();

      const emptied = onMeta(() => new ResNet()).eval();
      const [first] = emptied.parameters();
      expect(() => emptied.loadStateDict(state)).toThrow(/^loadStateDict: tensor must be one with data/);
      emptied.toEmpty("cpu");
      expect(emptied.parameters()[0]).toBe(first);
      expect(first!.requiresGrad).toBe(true);
      emptied.loadStateDict(state);
      expect(emptied.forward(x).dataSync()).toEqual(want);

      const assigned = onMeta(() => new ResNet()).eval();
      assigned.loadStateDict(state, { assign: true });
      expect(assigned.forward(x).dataSync()).toEqual(want);
      expect(assigned.stem.weight.requiresGrad).toBe(true);
      dx.noGrad(() => assigned.stem.weight.zero_());
      expect(Math.max(...(real.stem.weight.dataSync() as Float32Array))).toBe(0);
      for (const m of [real, emptied, assigned]) m.dispose();
      for (const t of Object.values(state)) t.dispose();
      dropState();
    }));

  test("compiled functions give shapes, in every call", () => {
    const f = dx.compile((x: dx.Tensor) => dx.relu(dx.mul(x, 2)));
    for (const n of [2, 3, 2]) expect(f(dx.ones([n], { device: "meta" })).shape).toEqual([n]);
    const made = dx.compile(() => dx.ones([3]));
    expect(String(onMeta(() => made()).device)).toBe("meta");
    made.dispose();
    f.dispose();
  });

  test("optimizers step", () => {
    const model = onMeta(() => new nn.Linear(4, 3));
    const optimizer = onMeta(() => new dx.optim.AdamW(model.parameters()));
    dx.sum(model.forward(dx.ones([2, 4], { device: "meta" }))).backward();
    optimizer.step();
    expect(model.weight.describe()).toBe("float32[3, 4]");
    expect(String(model.weight.device)).toBe("meta");
    optimizer.dispose();
  });

  test("every recorded call of PyTorch's has its shapes and dtypes", () => {
    const counts = { same: 0, refused: 0 };
    const wrong: string[] = [];
    for (const { op, file } of readIndex(goldenFolder)) {
      const entry = entryOf(op);
      if (entry === null) continue;
      const cases = readCases(join(goldenFolder, file));
      const names = cases.reduce<readonly string[]>(
        (best, c) => (c.names !== undefined && c.names.length > best.length ? c.names : best),
        [],
      );
      for (const c of cases) {
        if (c.kind !== "ok" || "out" in c.kwargs || outOfScope(c) !== null) continue;
        let outputs: Output[];
        try {
          outputs = onMeta(() => dx.noGrad(() => flatten(entry.run(new Call(c, operandsOf(c, withComplex(tensorOf)), names)))));
        } catch (error) {
          if (error instanceof dx.DeviceError && /with data/.test(error.message)) counts.refused++;
          else if (error instanceof dx.DxError) wrong.push(`${c.id}: ${error.message}`);
          continue;
        }
        const got = outputs.filter(isNumbers).map((t) => t.describe().replace("int32", "int64"));
        const want = tensorsOf(c.out!).map((t) => `${anyDtypeOf(t.t)}[${t.shape.join(", ")}]`.replace("int32", "int64"));
        if (got.join() === want.join()) counts.same++;
        else wrong.push(`${c.id}: ${got.join()} instead of ${want.join()}`);
      }
    }
    // A scalar's aminmax: see differences.ts.
    expect(wrong.filter((w) => !w.startsWith("aminmax:"))).toEqual([]);
    expect(counts.same).toBeGreaterThan(4450);
    expect(counts.refused).toBeLessThan(70);
  });
});
