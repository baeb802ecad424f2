/** Where compiled functions fuse, and a step that does. */
import { afterEach, describe, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { Capabilities } from "../../../../src/dml/capabilities.ts";
import { GraphBuilder } from "../../../../src/graph/builder.generated.ts";
import { fuseMode, fuseRegions, fuses } from "../../../../src/graph/passes/fuse/fuse.ts";
import { Graph, packedExpr } from "../../../../src/graph/graph.ts";
import { nativeDevice } from "../../../../src/runtime/devices.ts";
import { eachDevice } from "../../../device.ts";

const { capabilities } = nativeDevice(dx.device("cpu"));

describe("the choice", () => {
  const before = process.env["DXTENSOR_FUSE"];
  afterEach(() => {
    if (before === undefined) delete process.env["DXTENSOR_FUSE"];
    else process.env["DXTENSOR_FUSE"] = before;
  });

  it("is the option's, else the variable's, else by what was measured", () => {
    delete process.env["DXTENSOR_FUSE"];
    expect(fuseMode()).toBe("auto");
    expect(fuses(capabilities)).toBe(false);
    expect(fuses(capabilities, "always")).toBe(true);
    process.env["DXTENSOR_FUSE"] = "always";
    expect(fuses(capabilities)).toBe(true);
    expect(fuses(capabilities, "off")).toBe(false);
    process.env["DXTENSOR_FUSE"] = "sometimes";
    expect(() => fuseMode()).toThrow(/DXTENSOR_FUSE must be "auto", "always", "off"/);
    expect(() => dx.compile((x: dx.Tensor) => x, { fuse: "never" as "off" })).toThrow(dx.ValueError);
  });
});

it("nodes that nothing reads become no region", () => {
  const g = new GraphBuilder(new Graph(), capabilities);
  const x = packedExpr(g.graph.addInput(64), "float32", [16]);
  const other = packedExpr(g.graph.addInput(96), "float32", [8, 3]);
  g.elementWiseMultiply(g.elementWiseAbs(other), other);
  g.graph.outputs = [g.elementWiseAbs(g.elementWiseAdd(x, x))];
  const { nodes } = fuseRegions(g.graph, capabilities, new Map());
  expect(nodes.map(({ operator, fused }) => [operator, fused?.nodes.length])).toEqual([["SHADER", 2]]);
});

it("how a device rounds halves is asked for regions that write halves only, since the device is waited for", () => {
  let asked = 0;
  const roundsHalf = (): boolean => (asked++, false);
  const options = {
    name: "asked",
    featureLevel: 0x6400,
    dataTypes: 0xfff,
    fusesGraphs: false,
    runsShaders: true,
    waveLanes: 32,
    roundsHalf,
  };
  const fuse = (dtype: "float32" | "float16"): number => {
    const own = new Capabilities(options);
    const g = new GraphBuilder(new Graph(), own);
    const x = packedExpr(g.graph.addInput(64), dtype, [16]);
    g.graph.outputs = [g.elementWiseAbs(g.elementWiseAdd(x, x))];
    asked = 0;
    expect(fuseRegions(g.graph, own, new Map()).nodes.map(({ operator }) => operator)).toEqual(["SHADER"]);
    return asked;
  };
  expect(fuse("float32")).toBe(0);
  expect(fuse("float16")).toBe(1);
});

eachDevice("fused steps", () => {
  it("round to float16 where a program does", () => {
    const lost = dx.compile((x: dx.Tensor) => x.add(0.25).to("float16").to("float32").sub(x).sub(0.25), { fuse: "always" });
    const x = [0.7501, -1.7499, 2.75, 0.00012345];
    const rounded = dx.tensor(x.map((v) => Math.fround(Math.fround(v) + 0.25)), { dtype: "float16" }).toArraySync() as number[]; // prettier-ignore
    const got = lost(dx.tensor(x)).toArraySync() as number[];
    got.forEach((v, i) => expect(v).toBeCloseTo(rounded[i]! - Math.fround(x[i]!) - 0.25, 7));
    expect(Math.max(...got.map(Math.abs))).toBeGreaterThan(5e-5);
    expect(lost.explain().fused.length).toBeGreaterThan(0);
    lost.dispose();
  });

  it("keep what is not finite in products with 0, which tell of it", () => {
    const told = dx.compile((x: dx.Tensor) => [x.mul(0).add(1), dx.sum(x.mul(0)), dx.mul(dx.full([4], -0), x).neg()] as const, {
      fuse: "always",
    });
    const [each, sum, negative] = told(dx.tensor([2, NaN, -Infinity, -3])).map((t) => t.toArraySync());
    expect([each, sum, negative]).toEqual([[1, NaN, NaN, 1], NaN, [0, NaN, NaN, -0]]);
    expect(told(dx.tensor([2, 1e38, -1, -3])).map((t) => t.toArraySync())).toEqual([[1, 1, 1, 1], 0, [0, 0, -0, -0]]);
    expect(told.explain().fused.length).toBeGreaterThan(0);
    told.dispose();
  });

  it.each([
    [12, 16],
    [16, 12],
    [9, 6],
    [10, 4],
    [4, 10],
    [5, 7],
  ] as const)("with rows of %i x %i elements read the transposed ones too", (rows, columns) => {
    const both = dx.compile(
      (x: dx.Tensor, scale: dx.Tensor) => {
        const a = dx.exp(scale);
        return [dx.sum(x.mul(a), 1), dx.sum(x.t().mul(a.reshape(columns, 1)), 0), x.t().mul(a.reshape(columns, 1))] as const;
      },
      { fuse: "always" },
    );
    for (const seed of [1, 2, 3]) {
      const [x, scale] = [dx.randn([rows, columns], { generator: new dx.Generator(seed) }), dx.randn([columns], { generator: new dx.Generator(seed + 9) })]; // prettier-ignore
      const [along, across, each] = both(x, scale).map((t) => t.dataSync() as Float32Array);
      const v = x.dataSync() as Float32Array;
      const w = (scale.dataSync() as Float32Array).map(Math.exp);
      const product = (r: number, c: number): number => v[r * columns + c]! * w[c]!;
      const sums = Array.from({ length: rows }, (_, r) => w.reduce((n, _w, c) => n + product(r, c), 0));
      sums.forEach((sum, r) => [along, across].forEach((got) => expect(got![r]).toBeCloseTo(sum, 4)));
      each!.forEach((got, i) => expect(got).toBeCloseTo(product(i % rows, Math.floor(i / rows)), 4));
    }
    expect(both.explain().fused.length).toBeGreaterThan(0);
    both.dispose();
  });

  it("train as eager ones do", () => {
    const train = (fuse: "always" | "off"): number[] => {
      dx.manualSeed(3);
      const network = new dx.nn.Sequential(new dx.nn.Linear(6, 5), new dx.nn.Tanh(), new dx.nn.Linear(5, 3));
      const optimizer = new dx.optim.Adam(network.parameters(), 0.01);
      const step = dx.compile(
        (x: dx.Tensor, y: dx.Tensor) => {
          const loss = dx.crossEntropy(network.forward(x), y);
          loss.backward();
          optimizer.step();
          optimizer.zeroGrad();
          return loss;
        },
        { fuse },
      );
      const x = dx.randn([8, 6], { generator: new dx.Generator(1) });
      const y = dx.tensor([0, 1, 2, 0, 1, 2, 0, 1], { dtype: "int32" });
      const losses = Array.from({ length: 6 }, () => Number(step(x, y).toArraySync()));
      if (fuse === "always") expect(step.explain().fused.length).toBeGreaterThan(0);
      step.dispose();
      return losses;
    };
    const [fusedLosses, losses] = [train("always"), train("off")];
    fusedLosses.forEach((loss, i) => expect(loss).toBeCloseTo(losses[i]!, 4));
    expect(fusedLosses.at(-1)!).toBeLessThan(fusedLosses[0]!);
  });

  it("orders regions of two backward passes, where parts of one operator lie on both sides of others", () => {
    const run = (fuse: "always" | "off"): unknown[] => {
      const step = dx.compile(
        (x: dx.Tensor) => {
          const y = dx.cumulativeTrapezoid(x, { dx: 0.5 });
          y.sum().backward();
          y.sum().backward();
          return y.detach();
        },
        { fuse },
      );
      const x = dx.tensor([[1, -2, 3], [0.5, 4, -1]], { requiresGrad: true }); // prettier-ignore
      const results = [1, 2, 3].flatMap(() => [step(x).toArraySync(), x.grad!.toArraySync()]);
      step.dispose();
      return results;
    };
    expect(run("always")).toEqual(run("off"));
  });
});
