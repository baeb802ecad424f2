/** Bools are 0 or 1, whatever bytes they were read from: sums, comparisons and negations agree with PyTorch's, where any other byte is true. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachMode } from "../device.ts";
import { attribute, graph, model, node, value } from "../onnx/write.ts";
import { PbfWriter } from "pbf";

const BYTES = Uint8Array.of(2, 255, 1, 0, 128, 0);
const TRUTH = [true, true, true, false, true, false];

/** A safetensors file of one BOOL. */
function safetensors(bytes: Uint8Array): Uint8Array {
  const head = Buffer.from(JSON.stringify({ a: { dtype: "BOOL", shape: [bytes.length], data_offsets: [0, bytes.length] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(head.length));
  return new Uint8Array(Buffer.concat([length, head, bytes]));
}

/** A model whose output is a BOOL, by raw bytes or by int32_data, where 256 is true, too. */
function onnx(isRaw: boolean): Uint8Array {
  const pbf = new PbfWriter();
  pbf.writeMessage(
    7,
    (_: null, g: PbfWriter) => {
      g.writeMessage(
        5,
        (__: null, t: PbfWriter) => {
          t.writeVarintField(1, BYTES.length);
          t.writeVarintField(2, 9);
          t.writeStringField(8, "w");
          if (isRaw) t.writeBytesField(9, BYTES);
          else t.writePackedVarint(5, [256, -1, 1, 0, 128, 0]);
        },
        null,
      );
      g.writeMessage(12, (__: null, v: PbfWriter) => value("w", 9, [BYTES.length])(v), null);
    },
    null,
  );
  pbf.writeMessage(8, (_: null, set: PbfWriter) => set.writeVarintField(2, 18), null);
  return pbf.finish();
}

const bitCast = (): Uint8Array =>
  model({
    opset: 26,
    graph: graph({
      inputs: [value("x", 2, ["n"])],
      outputs: [value("w", 9, ["n"])],
      nodes: [node("BitCast", ["x"], ["w"], [attribute.int("to", 9)])],
    }),
  });

eachMode("bools", (device, mode) => {
  test("of any bytes, from every source, are 0 or 1", () =>
    clean(
      device,
      async () => {
        const folder = mkdtempSync(join(tmpdir(), "dxtensor-truths-"));
        const file = join(folder, "a.safetensors");
        writeFileSync(file, safetensors(BYTES));
        const loaded = await Promise.all([true, false].map((isRaw) => dx.io.onnx.load(onnx(isRaw))));
        const cast = await dx.io.onnx.load(bitCast());
        const sources: Readonly<Record<string, dx.Tensor>> = {
          "tensor of bytes": dx.tensor(BYTES, { dtype: "bool" }),
          "tensor of numbers": dx.tensor([2, 255, 1, 0, -0.5, 0], { dtype: "bool" }),
          "safetensors.deserialize": dx.io.safetensors.deserialize(safetensors(BYTES)).tensors.a!,
          "safetensors.load": (await dx.io.safetensors.load(file)).tensors.a!,
          "ONNX, raw": loaded[0]!.call({}).w!,
          "ONNX, listed": loaded[1]!.call({}).w!,
          "ONNX, BitCast": cast.call({ x: dx.tensor(BYTES) }).w!,
          "a cast": dx.tensor(BYTES).to("bool"),
        };
        for (const [name, t] of Object.entries(sources)) {
          expect([name, t.dtype]).toEqual([name, "bool"]);
          expect([name, ...(t.dataSync() as Uint8Array)]).toEqual([name, ...TRUTH.map(Number)]);
          const wanted = dx.tensor(TRUTH);
          const [sum, twice, same, other] = mode.run(
            (x, w) => [x!.sum(), x!.logicalNot().logicalNot(), x!.eq(w!), x!.mul(3)] as const,
            t,
            wanted,
          );
          expect([name, Number(sum.itemSync()), twice.toArraySync(), same.toArraySync(), other.sum().itemSync()]).toEqual([
            name,
            4,
            TRUTH,
            TRUTH.map(() => true),
            12,
          ]);
        }
        const again = (await dx.io.safetensors.serialize({ a: sources["safetensors.load"]! })).subarray(-BYTES.length);
        expect([...again]).toEqual(TRUTH.map(Number));
        for (const m of [...loaded, cast]) m.dispose();
        rmSync(folder, { recursive: true });
      },
      { collect: true },
    ));
});
