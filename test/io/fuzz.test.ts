/** Damaged files: cut off or with other bytes, they give results or typed errors, soon, and take no more memory than they should. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { archive, readCases } from "../onnx/cases.ts";
import { generator } from "../onnx/mutate.ts";
import { attribute, graph, model, node, tensor, value } from "../onnx/write.ts";

/** As in test/properties: other seeds are tried by hand. */
const seed = Number(process.env.DXTENSOR_FUZZ_SEED ?? 1);
const rounds = Number(process.env.DXTENSOR_FUZZ_PROGRAMS ?? 150);
/** Of one file; those that are whole take some milliseconds. */
const MAX_MS = 5000;
const MAX_BYTES = 1.5 * 2 ** 30;

/** One to four bytes changed, a part left out or doubled, or the end cut off. */
function damaged(bytes: Uint8Array, random: () => number): Uint8Array {
  const at = (n: number): number => Math.floor(random() * n);
  const kind = random();
  if (kind < 0.3) return bytes.slice(0, at(bytes.length));
  if (kind < 0.4) {
    const [start, length] = [at(bytes.length), at(16)];
    return Uint8Array.from([...bytes.subarray(0, start), ...bytes.subarray(start + (random() < 0.5 ? length : -Math.min(start, length)))]);
  }
  const made = Uint8Array.from(bytes);
  for (let i = 1 + at(4); i > 0; i--) made[at(made.length)] = random() < 0.5 ? at(256) : made[at(made.length)]! ^ (1 << at(8));
  return made;
}

const before = process.memoryUsage().rss;

/** Reads many damaged forms of a file. Gives how many were errors. */
async function judge(name: string, bytes: Uint8Array, read: (bytes: Uint8Array) => unknown, count: number): Promise<number> {
  let errors = 0;
  for (let i = 0; i < count; i++) {
    const random = generator(seed * 1_000_003 + i * 7919 + bytes.length);
    const input = damaged(bytes, random);
    const what = `${name}, ${i}, seed ${seed}: ${Buffer.from(input.subarray(0, 200)).toString("hex")}`;
    const start = performance.now();
    try {
      await read(input);
    } catch (error) {
      errors++;
      expect([what, error instanceof dx.DxError ? "typed" : error]).toEqual([what, "typed"]);
    }
    const ms = performance.now() - start;
    expect([what, ms < MAX_MS ? "soon" : ms]).toEqual([what, "soon"]);
  }
  return errors;
}

dx.setMemoryLimit(2 ** 28);

test("safetensors files", async () => {
  const tensors = {
    a: dx.arange(6),
    "b.weight": dx.ones([2, 3], { dtype: "float16" }),
    truth: dx.tensor([true, false]),
    empty: dx.zeros([0, 4]),
  };
  const bytes = await dx.io.safetensors.serialize(tensors, { kind: "test" });
  const read = (input: Uint8Array): void =>
    dx.scope(() => Object.values(dx.io.safetensors.deserialize(input).tensors).forEach((t) => t.toArraySync()));
  const errors = await judge("safetensors", bytes, read, rounds * 4);
  expect(errors).toBeGreaterThan(rounds);
});

test("checkpoints", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-fuzz-"));
  const file = join(folder, "state.safetensors");
  try {
    const weight = dx.arange(6).reshape([2, 3]);
    const model = dx.nn.linear(2, 1, { generator: new dx.Generator(1) });
    const z = dx.complex(dx.tensor([1]), dx.tensor([2]));
    const map = new Map<unknown, unknown>([[1n, new Date(0)]]);
    await dx.save(file, {
      model,
      weight,
      tied: weight.t(),
      nhwc: weight.t(),
      z,
      map,
      list: [NaN, undefined],
      array: Float64Array.of(1),
      text: "x",
    });
    const bytes = readFileSync(file);
    const read = async (input: Uint8Array): Promise<void> => {
      writeFileSync(file, input);
      await dx.scope(async () => void (await dx.load(file)));
      await dx.latest(folder);
    };
    const errors = await judge("checkpoint", bytes, read, rounds * 4);
    expect(errors).toBeGreaterThan(rounds);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("IDX files", async () => {
  const bytes = Uint8Array.from([0, 0, 0x0d, 2, 0, 0, 0, 2, 0, 0, 0, 3, ...new Uint8Array(24).map((_, i) => i)]);
  const errors = await judge("idx", bytes, (input) => dx.data.parseIdx(input), rounds * 4);
  expect(errors).toBeGreaterThan(rounds);
});

const dense = (): Uint8Array =>
  model({
    opset: 18,
    domains: { own: 1 },
    functions: [{ name: "Twice", domain: "own", inputs: ["a"], outputs: ["b"], attributes: [], nodes: [node("Add", ["a", "a"], ["b"])] }],
    graph: graph({
      inputs: [value("x", 1, [2, 3])],
      outputs: [value("y", 1, [2, 4]), value("z", 1, ["n"])],
      initializers: [
        tensor(
          "w",
          [3, 4],
          Float32Array.from({ length: 12 }, (_, i) => i),
        ),
        tensor("axes", [1], BigInt64Array.of(0n)),
      ],
      nodes: [
        node("MatMul", ["x", "w"], ["p"]),
        node("LeakyRelu", ["p"], ["q"], [attribute.float("alpha", 0.1)]),
        node("Twice", ["q"], ["y"], [], "own"),
        node("ReduceSum", ["y", "axes"], ["r"], [attribute.int("keepdims", 0)]),
        node("Constant", [], ["minus"], [attribute.ints("value_ints", [-1])]),
        node("Reshape", ["r", "minus"], ["z"]),
      ],
    }),
  });

async function runModel(bytes: Uint8Array): Promise<void> {
  const loaded = await dx.io.onnx.load(bytes, { maxIterations: 1000 });
  try {
    dx.scope(() => {
      const inputs = loaded.inputs.map(({ name, dtype, shape }) => {
        const sizes = (shape ?? [1]).map((d) => (typeof d === "number" && d >= 0 && d <= 64 ? d : 1));
        return [name, dx.ones(sizes.slice(0, 8), { dtype: dtype ?? "float32" })] as const;
      });
      for (const t of Object.values(loaded.call(Object.fromEntries(inputs)))) if (t.size < 100_000) t.dataSync();
    });
  } finally {
    loaded.dispose();
  }
}

test("ONNX models", async () => {
  const whole = [
    dense(),
    ...readCases(archive)
      .filter((c, i) => i % 16 === 3 && c.bytes.length < 2000)
      .map((c) => c.bytes),
  ];
  let errors = 0;
  for (const [i, bytes] of whole.entries()) errors += await judge(`model ${i}`, bytes, runModel, Math.ceil((3 * rounds) / whole.length));
  expect(errors).toBeGreaterThan(rounds / 2);
}, 600_000);

test("and all of it took little memory", () => {
  expect(process.memoryUsage().rss - before).toBeLessThan(MAX_BYTES);
});
