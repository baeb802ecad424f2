/** Calls of a model by programs: when they are made, what runs between them, what they cost, and what a call frees. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, liveBuffers, numbers, settledBuffers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const FLOAT = 1;
const INT64 = 7;
const BOOL = 9;
const { load } = dx.io.onnx;

/** y = (…((x w) + b) relu …) of many layers, and z, a view of it. */
const chain = (length: number, width = 8): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, ["n", width])],
      outputs: [value("y", FLOAT, ["n", width]), value("z", FLOAT, [width, "n"])],
      initializers: [
        tensor(
          "w",
          [width, width],
          Float32Array.from({ length: width * width }, (_, i) => ((i % 5) - 2) / width),
        ),
        tensor(
          "b",
          [width],
          Float32Array.from({ length: width }, (_, i) => i / width),
        ),
      ],
      nodes: [
        ...Array.from({ length }, (_, i) => [
          node("MatMul", [i === 0 ? "x" : `r${i}`, "w"], [`p${i}`]),
          node("Add", [`p${i}`, "b"], [`s${i}`]),
          node("Relu", [`s${i}`], [`r${i + 1}`]),
        ]).flat(),
        node("Identity", [`r${length}`], ["y"]),
        node("Transpose", ["y"], ["z"], [attribute.ints("perm", [1, 0])]),
      ],
    }),
  });

/** The positions of positive numbers, doubled: what NonZero makes depends on the data, twice. */
const positions = (): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, ["n"])],
      outputs: [value("y", INT64, ["m"]), value("sum", FLOAT, ["n"])],
      initializers: [
        tensor("zero", [], Float32Array.of(0)),
        tensor("first", [1], BigInt64Array.of(0n)),
        tensor("two", [], BigInt64Array.of(2n)),
      ],
      nodes: [
        node("Mul", ["x", "x"], ["square"]),
        node("Add", ["x", "square"], ["sum"]),
        node("Greater", ["x", "zero"], ["isPositive"]),
        node("NonZero", ["isPositive"], ["at"], [], "", "where"),
        node("Squeeze", ["at", "first"], ["flat"]),
        node("Mul", ["flat", "two"], ["twice"]),
        node("GreaterOrEqual", ["twice", "two"], ["isLate"]),
        node("NonZero", ["isLate"], ["late"], [], "", "where2"),
        node("Squeeze", ["late", "first"], ["flatLate"]),
        node("Gather", ["twice", "flatLate"], ["y"]),
      ],
    }),
  });

/** s + x, `count` times: a loop. */
const looping = (count: bigint): Uint8Array => {
  const body = graph({
    inputs: [value("i", INT64, []), value("going", BOOL, []), value("s", FLOAT, [2])],
    outputs: [value("on", BOOL, []), value("next", FLOAT, [2])],
    nodes: [node("Identity", ["going"], ["on"]), node("Add", ["s", "x"], ["next"])],
  });
  return model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, [2])],
      outputs: [value("y", FLOAT, [2])],
      initializers: [tensor("count", [], BigInt64Array.of(count))],
      nodes: [
        node("Neg", ["x"], ["start"]),
        node("Loop", ["count", "", "start"], ["end"], [attribute.graph("body", body)]),
        node("Abs", ["end"], ["y"]),
      ],
    }),
  });
};

const input = (device: string, n: number, seed: number): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: 8 * n }, (_, i) => ((seed * i) % 7) - 3),
    { shape: [n, 8], device },
  );

eachDevice("a model's own programs", (device) => {
  const within = (fn: () => Promise<void>): Promise<void> => clean(device, fn, { collect: true });
  /** Something keeps the last backward pass of a compiled function until the next one. */
  const withGradients = (fn: () => Promise<void>): Promise<void> => dx.withDevice(device, () => dx.scope(fn));

  test("give what its nodes give, for any kinds of inputs, their gradients, and what is done to earlier results", () =>
    withGradients(async () => {
      using loaded = await load(chain(3));
      for (const seed of [1, 2, 3, 4])
        for (const n of [1, 2, 3, 4, 5, 6, 7, 3, 6, 7, 1]) {
          const x = input(device, n, seed);
          const want = loaded.call({ x }, { eager: true });
          const got = loaded.call({ x });
          for (const name of ["y", "z"]) expect(numbers(got[name]!)).toEqual(numbers(want[name]!));
          got.y!.mul_(0);
          expect(numbers(got.z!)).toEqual(numbers(want.z!));
          expect(numbers(loaded.call({ x }).y!)).toEqual(numbers(want.y!));
        }
      const views = input(device, 6, 5).slice(0, 1, 4);
      expect(numbers(loaded.call(views).y!)).toEqual(numbers(loaded.call(views, { eager: true }).y!));
      for (let call = 0; call < 3; call++) {
        const [a, b] = [input(device, 2, 3).requiresGrad_(), input(device, 2, 3).requiresGrad_()];
        loaded.call({ x: a }).y!.sum().backward();
        loaded.call({ x: b }, { eager: true }).y!.sum().backward();
        expect(numbers(a.grad!)).toEqual(numbers(b.grad!));
        for (const t of [a, b]) {
          t.grad!.dispose();
          t.grad = null;
        }
      }
      expect(loaded.call({ x: dx.zeros([0, 8], { device }) }).y!.shape).toEqual([0, 8]);
    }));

  test("run a model of hundreds of nodes without their JavaScript, inside of a compiled function too", () =>
    within(async () => {
      using loaded = await load(chain(60));
      const x = input(device, 2, 1);
      let shapes = 0;
      const compiled = dx.compile((t: dx.Tensor) => {
        shapes++;
        return loaded.call({ x: t }).y!.mul(2);
      });
      const want = numbers(loaded.call({ x }, { eager: true }).y!);
      for (let call = 0; call < 3; call++) expect(numbers(compiled(x))).toEqual(want.map((v) => 2 * v));
      expect([shapes, compiled.programs]).toEqual([3, 1]);
      // An operation that is traced again takes some microseconds.
      const minOf = (fn: () => dx.Tensor): number => {
        let best = Infinity;
        for (let i = 0; i < 30; i++) {
          const start = performance.now();
          const y = fn();
          best = Math.min(best, performance.now() - start);
          y.dataSync();
          y.dispose();
        }
        return best;
      };
      const nodes = minOf(() => loaded.call({ x }, { eager: true }).y!);
      expect(minOf(() => dx.noGrad(() => compiled(x)))).toBeLessThan(nodes / 2);
      compiled.dispose();
    }));

  test("end before nodes that read data, and begin again after them", () =>
    within(async () => {
      using loaded = await load(positions());
      for (const list of [
        [1, -1, 2, 3],
        [-1, 5, 4, -4],
        [-1, -1, -1, -1],
        [1, 1, 1, 1],
        [0, 7, 0, 7],
      ])
        for (let call = 0; call < 2; call++) {
          const x = dx.tensor(list, { device });
          const { y, sum } = loaded.call({ x });
          const want = list.flatMap((v, i) => (v > 0 && i > 0 ? [2 * i] : []));
          expect(y!.toArraySync()).toEqual(want.map(BigInt));
          expect(numbers(sum!)).toEqual(list.map((v) => v + v * v));
        }
      // A compiled function that is one program cannot contain them: the error names the node.
      const compiled = dx.compile((t: dx.Tensor) => loaded.call({ x: t }).y!);
      expect(() => compiled(dx.tensor([1, 2], { device }))).toThrow(/In node where \(NonZero\)/);
      for (const count of [3n, 500n]) {
        using loop = await load(looping(count));
        for (let call = 0; call < 3; call++)
          expect(numbers(loop.call({ x: dx.tensor([call, -1], { device }) }).y!)).toEqual([call * Number(count - 1n), Number(count - 1n)]);
      }
    }));

  test("free what they need in between, node by node too, and all of it with the model", () =>
    within(async () => {
      const count = 40;
      const loaded = await load(chain(count, 32));
      const x = dx.zeros([64, 32], { device });
      for (const eager of [true, false]) {
        loaded.call({ x }, { eager }).y!.dataSync();
        await dx.synchronize(device);
        const before = settledBuffers(device);
        const outputs = loaded.call({ x }, { eager });
        expect(liveBuffers(device) - before).toBe(2);
        for (const t of Object.values(outputs)) t.dispose();
      }
      loaded.dispose();
      expect(() => loaded.call({ x })).toThrow(dx.DisposedError);
    }));

  test("have what follows from large weights alone computed once, and weights that nothing else reads are gone", () =>
    within(async () => {
      const bytes = Uint8Array.from({ length: 8 * 640 }, (_, i) => i % 200);
      using loaded = await load(
        model({
          opset: 18,
          graph: graph({
            inputs: [value("x", FLOAT, ["n", 8])],
            outputs: [value("y", FLOAT, ["n", 640])],
            initializers: [tensor("q", [640, 8], bytes), tensor("scale", [1], Float32Array.of(0.25))],
            nodes: [
              node("Cast", ["q"], ["wide"], [attribute.int("to", FLOAT)]),
              node("Mul", ["wide", "scale"], ["w"]),
              node("Transpose", ["w"], ["wt"]),
              node("MatMul", ["x", "wt"], ["y"]),
            ],
          }),
        }),
      );
      expect(loaded.nodes.map((n) => n.operator)).toEqual(["MatMul"]);
      expect([...loaded.namedBuffers()].map(([name]) => name)).toEqual(["wt"]);
      const x = input(device, 1, 2);
      const want = Array.from({ length: 640 }, (_, r) => numbers(x).reduce((sum, v, k) => sum + (v * bytes[8 * r + k]!) / 4, 0));
      using copy = loaded.clone();
      for (const m of [loaded, copy])
        for (const eager of [true, false]) numbers(m.call({ x }, { eager }).y!).forEach((v, i) => expect(v).toBeCloseTo(want[i]!, 3));
    }));

  test("draw other random numbers in each call, and those of a seed again", () => {
    // The generator keeps its state.
    dx.rand([1], { device }).dispose();
    return within(async () => {
      const random = (seed: boolean): Uint8Array =>
        model({
          opset: 18,
          graph: graph({
            inputs: [value("x", FLOAT, [4])],
            outputs: [value("y", FLOAT, [4])],
            nodes: [node("RandomUniformLike", ["x"], ["r"], seed ? [attribute.float("seed", 3)] : []), node("Add", ["r", "x"], ["y"])],
          }),
        });
      const x = dx.zeros([4], { device });
      using free = await load(random(false));
      const draws = [1, 2, 3, 4].map(() => numbers(free.call({ x }).y!).join());
      expect(new Set(draws).size).toBe(4);
      using seeded = await load(random(true));
      expect(new Set([1, 2, 3, 4].map(() => numbers(seeded.call({ x }).y!).join())).size).toBe(1);
      const compiled = dx.compile((t: dx.Tensor) => free.call({ x: t }).y!);
      expect(new Set([1, 2, 3, 4].map(() => numbers(compiled(x)).join())).size).toBe(4);
      compiled.dispose();
    });
  });
});
