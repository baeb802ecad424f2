/** Whole models: functions, initializers, graphs inside nodes, files, compile, and refused models. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

/** What models.py recorded. */
interface Exported {
  readonly name: string;
  readonly model: string;
  readonly x: { readonly dtype: string; readonly shape: number[]; readonly data: number[] };
  readonly y: readonly { readonly shape: number[]; readonly data: number[] }[];
}
const exported = JSON.parse(gunzipSync(readFileSync(new URL("models.json.gz", import.meta.url))).toString("utf8")) as Exported[];

const FLOAT = 1;
const INT64 = 7;
const floats = (...v: number[]): Float32Array => Float32Array.from(v);
const longs = (...v: number[]): BigInt64Array => BigInt64Array.from(v, BigInt);

/** relu(x w + b), then reshaped to its own shape reversed: shapes are computed in the graph. */
const dense = (external: { location: string; offset: number; length: number } | null = null): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, ["batch", 2])],
      outputs: [value("y", FLOAT, ["batch", 3]), value("z", FLOAT, [3, "batch"])],
      initializers: [
        tensor("w", [2, 3], external === null ? floats(1, 2, 3, 4, 5, 6) : external),
        tensor("b", [3], floats(-10, 0, 1)),
        tensor("order", [2], longs(1, 0)),
      ],
      nodes: [
        node("MatMul", ["x", "w"], ["p"]),
        node("Add", ["p", "b"], ["s"]),
        node("Relu", ["s"], ["y"]),
        node("Shape", ["y"], ["shape"]),
        node("Gather", ["shape", "order"], ["reversed"]),
        node("Reshape", ["y", "reversed"], ["z"]),
      ],
    }),
  });

const wanted = [
  [0, 2 + 10, 3 + 12 + 1],
  [0, 0, 1],
];

eachDevice("an ONNX model", (device) => {
  test("gives its outputs by name, whatever the batch, and keeps its weights between calls", async () => {
    await clean(device, async () => {
      using loaded = await dx.io.onnx.load(dense());
      expect(loaded.inputs).toEqual([{ name: "x", dtype: "float32", shape: ["batch", 2] }]);
      expect(loaded.outputs.map((o) => o.name)).toEqual(["y", "z"]);
      const { y, z } = loaded.call({
        x: dx.tensor([
          [1, 2],
          [0, 0],
        ]),
      });
      expect(y!.toArraySync()).toEqual(wanted);
      expect(z!.toArraySync()).toEqual([
        [0, 12],
        [16, 0],
        [0, 1],
      ]);
      expect(loaded.call(dx.tensor([[0, 0]])).y!.toArraySync()).toEqual([[0, 0, 1]]);
      expect(
        loaded
          .call(
            dx.tensor([
              [1, 2],
              [0, 0],
            ]),
          )
          .y!.toArraySync(),
      ).toEqual(wanted);
    });
  });

  test("compiles, shapes computed in the graph included, and follows other data", async () => {
    await clean(
      device,
      async () => {
        using loaded = await dx.io.onnx.load(dense());
        const compiled = dx.compile((x: dx.Tensor) => loaded.call(x).z!);
        for (const [a, b] of [
          [1, 2],
          [1, 2],
          [3, -1],
        ] as const) {
          const x = dx.tensor([
            [a, b],
            [b, a],
          ]);
          expect(compiled(x).toArraySync()).toEqual(loaded.call(x).z!.toArraySync());
        }
        compiled.dispose();
      },
      { collect: true },
    );
  });

  test("lets gradients through to its input", async () => {
    await clean(
      device,
      async () => {
        using loaded = await dx.io.onnx.load(dense());
        const x = dx.tensor([[1, 2]], { requiresGrad: true });
        loaded.call(x).y!.sum().backward();
        expect(x.grad!.toArraySync()).toEqual([[2 + 3, 5 + 6]]);
        x.grad!.dispose();
        x.grad = null;
      },
      { collect: true },
    );
  });

  test("runs functions of its own, whose attributes take the caller's values", async () => {
    await clean(device, async () => {
      const bytes = model({
        opset: 18,
        domains: { own: 1 },
        functions: [
          {
            name: "LeakyTwice",
            domain: "own",
            inputs: ["a"],
            outputs: ["c"],
            attributes: ["slope"],
            nodes: [
              node("LeakyRelu", ["a"], ["b"], [attribute.reference("alpha", "slope", 1)]),
              node("LeakyRelu", ["b"], ["c"], [attribute.reference("alpha", "slope", 1)]),
            ],
          },
        ],
        graph: graph({
          inputs: [value("x", FLOAT, [2])],
          outputs: [value("y", FLOAT, [2]), value("z", FLOAT, [2])],
          nodes: [node("LeakyTwice", ["x"], ["y"], [attribute.float("slope", 0.5)], "own"), node("LeakyTwice", ["x"], ["z"], [], "own")],
        }),
      });
      using loaded = await dx.io.onnx.load(bytes);
      const { y, z } = loaded.call(dx.tensor([-4, 2]));
      expect(y!.toArraySync()).toEqual([-1, 2]);
      // Not given, the attribute is not there: LeakyRelu's own default.
      expect((z!.toArraySync() as number[])[0]).toBeCloseTo(-4e-4, 9);
    });
  });

  test("runs branches and loops that see the values around them", async () => {
    await clean(device, async () => {
      const step = graph({
        inputs: [value("i", INT64, []), value("going", 9, []), value("sum", FLOAT, [2])],
        outputs: [value("on", 9, []), value("next", FLOAT, [2]), value("seen", FLOAT, [2])],
        nodes: [node("Identity", ["going"], ["on"]), node("Add", ["sum", "x"], ["next"]), node("Mul", ["next", "x"], ["seen"])],
      });
      const bytes = model({
        opset: 18,
        graph: graph({
          inputs: [value("x", FLOAT, [2])],
          outputs: [value("total", FLOAT, [2]), value("trail", FLOAT, [3, 2])],
          initializers: [tensor("count", [], longs(3)), tensor("zero", [2], floats(0, 0))],
          nodes: [node("Loop", ["count", "", "zero"], ["total", "trail"], [attribute.graph("body", step)])],
        }),
      });
      using loaded = await dx.io.onnx.load(bytes);
      const { total, trail } = loaded.call(dx.tensor([1, 2]));
      expect(total!.toArraySync()).toEqual([3, 6]);
      expect(trail!.toArraySync()).toEqual([
        [1, 4],
        [2, 8],
        [3, 12],
      ]);
    });
  });

  test("reads weights that lie next to the file, and none from elsewhere", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dxtensor-onnx-"));
    try {
      await clean(device, async () => {
        writeFileSync(join(folder, "weights.bin"), Buffer.concat([Buffer.alloc(8), Buffer.from(floats(1, 2, 3, 4, 5, 6).buffer)]));
        writeFileSync(join(folder, "m.onnx"), dense({ location: "weights.bin", offset: 8, length: 24 }));
        using loaded = await dx.io.onnx.load(join(folder, "m.onnx"));
        expect(
          loaded
            .call(
              dx.tensor([
                [1, 2],
                [0, 0],
              ]),
            )
            .y!.toArraySync(),
        ).toEqual(wanted);
        writeFileSync(join(folder, "bad.onnx"), dense({ location: "../weights.bin", offset: 8, length: 24 }));
        await expect(dx.io.onnx.load(join(folder, "bad.onnx"))).rejects.toThrow(/in the model's folder/);
        writeFileSync(join(folder, "short.onnx"), dense({ location: "weights.bin", offset: 16, length: 24 }));
        await expect(dx.io.onnx.load(join(folder, "short.onnx"))).rejects.toThrow(dx.FormatError);
        await expect(dx.io.onnx.load(dense({ location: "weights.bin", offset: 8, length: 24 }))).rejects.toThrow(/by its path/);
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("traverses trees of any depth, with sets of numbers and what is no number", async () => {
    await clean(device, async () => {
      // Node 0: x0 <= 1 ? node 1 : leaf 2. Node 1: x1 in {2, 5} ? leaf 0 : leaf 1. A second tree: x1 > 3 ? leaf 3 : leaf 4.
      const bytes = model({
        opset: 18,
        domains: { "ai.onnx.ml": 5 },
        graph: graph({
          inputs: [value("x", FLOAT, ["n", 2])],
          outputs: [value("y", FLOAT, ["n", 2])],
          nodes: [
            node(
              "TreeEnsemble",
              ["x"],
              ["y"],
              [
                attribute.int("n_targets", 2),
                attribute.ints("tree_roots", [0, 2]),
                attribute.ints("nodes_featureids", [0, 1, 1]),
                attribute.tensor("nodes_splits", tensor("s", [3], floats(1, 0, 3))),
                attribute.tensor("nodes_modes", tensor("m", [3], Uint8Array.of(0, 6, 3))),
                attribute.tensor("membership_values", tensor("v", [2], floats(2, 5))),
                attribute.ints("nodes_truenodeids", [1, 0, 3]),
                attribute.ints("nodes_trueleafs", [0, 1, 1]),
                attribute.ints("nodes_falsenodeids", [2, 1, 4]),
                attribute.ints("nodes_falseleafs", [1, 1, 1]),
                attribute.ints("nodes_missing_value_tracks_true", [1, 0, 0]),
                attribute.ints("leaf_targetids", [0, 1, 0, 1, 1]),
                attribute.tensor("leaf_weights", tensor("w", [5], floats(1, 10, 100, 1000, 10000))),
              ],
              "ai.onnx.ml",
            ),
          ],
        }),
      });
      using loaded = await dx.io.onnx.load(bytes);
      const x = dx.tensor([
        [0, 2],
        [0, 4],
        [2, 5],
        [NaN, 5],
      ]);
      expect(loaded.call(x).y!.toArraySync()).toEqual([
        [1, 10000],
        [0, 1010],
        [100, 1000],
        [1, 1000],
      ]);
    });
  });

  test.each(exported.map((m): [string, Exported] => [m.name, m]))(
    "of PyTorch gives PyTorch's results: %s",
    async (_, { model: bytes, x, y }) => {
      await clean(
        device,
        async () => {
          using loaded = await dx.io.onnx.load(Buffer.from(bytes, "base64"));
          const input = dx.tensor(x.dtype === "int64" ? BigInt64Array.from(x.data, BigInt) : Float32Array.from(x.data), { shape: x.shape });
          const compiled = dx.compile((t: dx.Tensor) => loaded.call(t));
          const check = (results: Record<string, dx.Tensor>): void =>
            y.forEach(({ shape, data }, i) => {
              const found = results[`y${i}`]!;
              expect(found.shape).toEqual(shape);
              numbers(found).forEach((v, k) => expect(Math.abs(v - data[k]!)).toBeLessThan(1e-4 * Math.max(1, Math.abs(data[k]!))));
            });
          check(loaded.call(input));
          for (let i = 0; i < 3; i++) check(compiled(input));
          compiled.dispose();
        },
        { collect: true },
      );
    },
  );

  test("refuses what it cannot do by name", async () => {
    await clean(device, async () => {
      using loaded = await dx.io.onnx.load(dense());
      const x = dx.tensor([[1, 2]]);
      expect(() => loaded.call({ q: x })).toThrow(/input must be one of x; received q/);
      expect(() => loaded.call({})).toThrow(/input x must be given/);
      expect(() => loaded.call(dx.tensor([[1n, 2n]]))).toThrow(dx.DTypeError);
      expect(() => loaded.call(dx.tensor([1, 2]))).toThrow(dx.ShapeError);
      await expect(dx.io.onnx.load(new Uint8Array([1, 2, 3]))).rejects.toThrow(dx.FormatError);
      await expect(dx.io.onnx.load(new Uint8Array(0))).rejects.toThrow(dx.FormatError);
      await expect(dx.io.onnx.load(dense().subarray(0, 90))).rejects.toThrow(dx.DxError);
      const unknown = graph({
        inputs: [value("x", FLOAT, [2])],
        outputs: [value("y", FLOAT, [2])],
        nodes: [node("NoSuchThing", ["x"], ["y"])],
      });
      await expect(dx.io.onnx.load(model({ opset: 18, graph: unknown }))).rejects.toThrow(/operator NoSuchThing \(1 node: y\)/);
    });
  });
});
