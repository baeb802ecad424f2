/** summary(): shapes, parameters, multiply-adds and memory, compared with values computed by hand. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

const { nn } = dx;

const perLayer = (s: dx.nn.ModuleSummary): (readonly [string, number, number])[] =>
  s.rows.map((r) => [r.name, r.ownParameters, r.ownMultiplyAdds] as const);

eachDevice("summary", () => {
  test("an MLP: parameters, multiply-adds, bytes, the table", () => {
    const mlp = nn.sequential(nn.linear(784, 128), nn.relu(), nn.linear(128, 10));
    const s = nn.summary(mlp, [32, 784]);
    expect(perLayer(s)).toEqual([
      ["", 0, 0],
      ["0", 784 * 128 + 128, 32 * 784 * 128],
      ["1", 0, 0],
      ["2", 128 * 10 + 10, 32 * 128 * 10],
    ]);
    expect([s.parameters, s.trainableParameters, s.parameterBytes]).toEqual([101770, 101770, 407080]);
    expect([s.multiplyAdds, s.flops]).toEqual([3252224, 6504448]);
    expect([s.inputBytes, s.activationBytes, s.bufferBytes]).toEqual([32 * 784 * 4, 32 * (128 + 128 + 10) * 4, 0]);
    expect(s.rows.map((r) => [r.input, r.output])).toEqual([
      [[[32, 784]], [[32, 10]]],
      [[[32, 784]], [[32, 128]]],
      [[[32, 128]], [[32, 128]]],
      [[[32, 128]], [[32, 10]]],
    ]);
    expect(String(s)).toBe(
      [
        "Layer          Input      Output     Parameters  Multiply-adds",
        "==============================================================",
        "Sequential     [32, 784]  [32, 10]           --             --",
        "├─ 0 (Linear)  [32, 784]  [32, 128]     100,480      3,211,264",
        "├─ 1 (ReLU)    [32, 128]  [32, 128]          --             --",
        "└─ 2 (Linear)  [32, 128]  [32, 10]        1,290         40,960",
        "==============================================================",
        "Parameters: 101,770 (101,770 trainable, 0 not)",
        "Multiply-adds: 3,252,224 (6,504,448 FLOP)",
        "Memory: parameters 397.54 KiB, buffers 0 bytes, inputs 98.00 KiB, activations 33.25 KiB",
      ].join("\n"),
    );
    expect(JSON.parse(JSON.stringify(s))).toMatchObject({ parameters: 101770, flops: 6504448, rows: [{ type: "Sequential" }, {}, {}, {}] });
  });

  test("a convolutional net: groups, transposed, norms by the batch and by running statistics, views", () => {
    const net = nn.sequential(
      nn.conv2d(3, 8, 3, { padding: 1 }),
      nn.batchNorm2d(8),
      nn.conv2d(8, 8, 3, { groups: 4, stride: 2, bias: false }),
      nn.convTranspose2d(8, 4, 2, { stride: 2 }),
      nn.groupNorm(2, 4),
      nn.flatten(),
    );
    const s = nn.summary(net, dx.ones([2, 3, 9, 9]));
    expect(perLayer(s).slice(1)).toEqual([
      ["0", 8 * 3 * 9 + 8, 2 * 8 * 81 * 3 * 9],
      ["1", 16, 2 * 8 * 81 * 2],
      ["2", 8 * 2 * 9, 2 * 8 * 16 * 2 * 9],
      ["3", 8 * 4 * 4 + 4, 2 * 8 * 16 * 4 * 4],
      ["4", 8, 2 * 4 * 64 * 5],
      ["5", 0, 0],
    ]);
    expect(s.bufferBytes).toBe(2 * 8 * 4 + 8);
    // What flatten gives is a view.
    expect(s.activationBytes).toBe(4 * 2 * (8 * 81 * 2 + 8 * 16 + 4 * 64 * 2));
    expect(nn.summary(net, [2, 3, 9, 9], { mode: "train" }).rows[2]!.multiplyAdds).toBe(2 * 8 * 81 * 5);
    expect(numbers(net.at(1).stateDict()["num_batches_tracked"]!)).toEqual([0]);
    expect(net.training).toBe(true);
  });

  test("recurrent layers: two layers, both directions, a projection, cells", () => {
    const lstm = nn.summary(nn.lstm(6, 5, 2, { bidirectional: true }), [7, 3, 6]);
    const layer = (inputs: number): number => 2 * 20 * (inputs + 5);
    expect(lstm.multiplyAdds).toBe(7 * 3 * (layer(6) + layer(10)));
    expect(lstm.parameters).toBe(layer(6) + layer(10) + 4 * 2 * 20);
    expect(lstm.rows[0]!.output).toEqual([[7, 3, 10], [4, 3, 5], [4, 3, 5]]); // prettier-ignore
    expect(nn.summary(nn.gru(6, 5), [7, 3, 6]).multiplyAdds).toBe(7 * 3 * 15 * 11);
    expect(nn.summary(nn.gru(6, 5), [[7, 2, 6], { lengths: [7, 3] }]).multiplyAdds).toBe(7 * 2 * 15 * 11);
    expect(nn.summary(nn.rnn(6, 5), [7, 6]).multiplyAdds).toBe(7 * 5 * 11);
    expect(nn.summary(nn.lstm(6, 5, { projSize: 2 }), [7, 3, 6]).multiplyAdds).toBe(7 * 3 * (20 * (6 + 2) + 2 * 5));
    expect(nn.summary(nn.lstmCell(6, 5), [3, 6]).multiplyAdds).toBe(3 * 20 * 11);
  });

  test("a transformer layer: attention whose projection is read, not called", () => {
    const [L, N, E, F] = [7, 3, 8, 16];
    const s = nn.summary(nn.transformerEncoderLayer(E, 2, F), [L, N, E]);
    const rows = L * N;
    const attention = rows * E * 3 * E + N * L * L * 2 * E + rows * E * E;
    expect(s.multiplyAdds).toBe(attention + 2 * rows * E * F + 2 * rows * E * 5);
    expect(s.parameters).toBe(4 * E * E + 4 * E + 2 * E * F + F + E + 4 * E);
    const [out] = s.rows.filter((r) => !r.isCalled);
    expect([out!.name, out!.ownParameters, out!.depth]).toEqual(["self_attn.out_proj", E * E + E, 2]);
    expect(s.rows.reduce((sum, r) => sum + r.ownMultiplyAdds, 0)).toBe(s.multiplyAdds);
  });

  test("shared and frozen parameters, recursive calls, lists, depth and columns", () => {
    class Net extends nn.Module {
      readonly blocks = nn.moduleList([nn.sequential(nn.linear(4, 4), nn.tanh()), nn.sequential(nn.linear(4, 4), nn.tanh())]);
      readonly head = nn.linear(4, 4, { bias: false });
      constructor() {
        super();
        this.head.weight = (this.blocks.at(0) as dx.nn.Sequential).parameters()[0] as dx.nn.Parameter;
        nn.utils.freeze(this, "blocks.1.*");
      }
      forward(x: dx.Tensor): dx.Tensor {
        for (let i = 0; i < 2; i++) for (const block of this.blocks) x = block(x);
        return this.head(x).add(1);
      }
    }
    const net = new Net();
    const s = nn.summary(net, [2, 4], { depth: 1, columns: ["parameters", "trainable", "multiplyAdds", "parameterBytes", "outputBytes"] });
    expect([s.parameters, s.trainableParameters, s.multiplyAdds]).toEqual([40, 20, 5 * 32]);
    expect(s.rows.filter((r) => r.depth === 1).map((r) => [r.name, r.isRecursive])).toEqual([
      ["blocks.0", false],
      ["blocks.1", false],
      ["blocks.0", true],
      ["blocks.1", true],
      ["head", false],
    ]);
    expect(String(s).split("\n").slice(0, 8)).toEqual([
      "Layer                      Parameters  Trainable  Multiply-adds  Parameter bytes  Output bytes",
      "==============================================================================================",
      "Net                                --  --                    --               --            32",
      "├─ blocks.0 (Sequential)           20  yes                   32               80            32",
      "├─ blocks.1 (Sequential)           20  no                    32               80            32",
      "├─ blocks.0 (Sequential)  (recursive)  --                    32               --            32",
      "├─ blocks.1 (Sequential)  (recursive)  --                    32               --            32",
      "└─ head (Linear)                   --  --                    32               --            32",
    ]);
    expect(String(nn.summary(net, [2, 4], { depth: 0 }))).toContain("Net    [2, 4]  [2, 4]          40            160");
  });

  test("several inputs, dtypes, options of forward(), outputs in objects, float16, tensors that forward() makes", () => {
    class Net extends nn.Module {
      readonly table = nn.embedding(10, 4, { dtype: "float16" });
      forward(ids: dx.Tensor, { scale, factor }: { scale: dx.Tensor; factor: number }, last: dx.Tensor): object {
        const y = this.table(ids)
          .mul(scale)
          .mul(factor)
          .add(dx.ones([4], { dtype: "float16" }));
        return { y, more: [y.sum(), last] };
      }
    }
    const s = nn.summary(new Net(), [{ shape: [2, 3], dtype: "int64" }, { scale: dx.ones([4], { dtype: "float16" }), factor: 2 }, [5]]);
    expect(s.rows[0]!.input).toEqual([[2, 3], [4], [5]]);
    expect(s.rows[0]!.output).toEqual([[2, 3, 4], [], [5]]);
    expect([s.parameterBytes, s.inputBytes]).toEqual([80, 48 + 8 + 20]);
  });

  test("the module is as before: tensors, hooks, mode, gradients; nothing is allocated", () => {
    const net = nn.sequential(nn.linear(3, 3), nn.dropout(0.5));
    const seen: unknown[] = [];
    net.at(0).registerForwardHook((_, __, y) => void seen.push((y as dx.Tensor).device.toString()));
    net.at(1).eval();
    const before = [...net.parameters()];
    for (let i = 0; i < 3; i++) nn.summary(net, [2, 3]);
    expect(seen).toEqual(["meta", "meta", "meta"]);
    net.parameters().forEach((p, i) => {
      expect(p).toBe(before[i]);
    });
    expect([net.training, net.at(0).training, net.at(1).training]).toEqual([true, true, false]);
    net(dx.ones([2, 3]))
      .sum()
      .backward();
    expect(net.parameters()[0]!.grad).not.toBeNull();
    expect(nn.summary(net, [2, 3], { mode: "same" }).rows).toHaveLength(3);
    // Far more than there is memory.
    const large = nn.summary(nn.linear(60_000, 60_000, { device: "meta" }), [60_000, 60_000]);
    expect(large.multiplyAdds).toBe(60_000 ** 3);
  });

  test("empty inputs compute nothing; compiled functions inside are called as they are", () => {
    const s = nn.summary(nn.linear(3, 2), [0, 3]);
    expect([s.multiplyAdds, s.parameters]).toEqual([0, 8]);
    class Net extends nn.Module {
      readonly layer = nn.linear(3, 2);
      readonly run = dx.compile((x: dx.Tensor) => this.layer(x));
      forward(x: dx.Tensor): dx.Tensor {
        return this.run(x);
      }
    }
    expect(nn.summary(new Net(), [4, 3]).multiplyAdds).toBe(24);
  });

  test("errors name the layer; wrong arguments are typed errors", () => {
    const net = nn.sequential(nn.linear(3, 2), nn.sequential(nn.linear(3, 2)));
    expect(() => nn.summary(net, [4, 3])).toThrow(/forward\(\) of 1\.0 must .*linear: last axis of x/);
    expect(() => nn.summary(net, [4, 3])).toThrow(dx.DxError);
    class Reads extends nn.Module {
      forward(x: dx.Tensor): dx.Tensor {
        return x.mul(x.sum().itemSync() as number);
      }
    }
    expect(() => nn.summary(new Reads(), [2])).toThrow(/forward\(\) of Reads/);
    expect(net.parameters()[0]!.device.toString()).not.toBe("meta");
    expect(() => nn.summary(3 as never, [2])).toThrow(dx.ValueError);
    expect(() => nn.summary(net, [4, 3], { depth: -1 })).toThrow(dx.ValueError);
    expect(() => nn.summary(net, [4, 3], { columns: ["size" as never] })).toThrow(dx.ValueError);
    expect(() => nn.summary(net, [4, 3], { mode: "test" as never })).toThrow(dx.ValueError);
    expect(() => nn.summary(net, [4, -3])).toThrow(dx.DxError);
    const run = dx.compile((x: dx.Tensor) => (nn.summary(net, [4, 3]), x.add(1)));
    expect(() => run(dx.ones([1]))).toThrow(dx.TraceError);
    run.dispose();
  });
});
