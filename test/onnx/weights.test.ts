/** A model as a module: its parameters, their gradients as PyTorch computes them, training, state, and layers put in. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value } from "./write.ts";

const FLOAT = 1;
const made = (count: number, of: (i: number) => number): Float32Array => Float32Array.from({ length: count }, (_, i) => of(i));

/** A convolution, relu, and a linear layer, with numbers that grads of PyTorch below are of. */
const network = (): Uint8Array =>
  model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, ["n", 1, 4, 4])],
      outputs: [value("y", FLOAT, ["n", 3])],
      initializers: [
        tensor(
          "conv.weight",
          [2, 1, 3, 3],
          made(18, (i) => (((5 * i) % 11) - 5) / 8),
        ),
        tensor("conv.bias", [2], Float32Array.of(0.25, -0.5)),
        tensor(
          "fc.weight",
          [3, 8],
          made(24, (i) => (((7 * i) % 13) - 6) / 16),
        ),
        tensor("fc.bias", [3], Float32Array.of(0.5, -0.25, 0.125)),
        tensor("scale", [], Float32Array.of(1)),
      ],
      nodes: [
        node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], [attribute.ints("kernel_shape", [3, 3])], "", "conv"),
        node("Relu", ["c"], ["r"], [], "", "relu"),
        node("Flatten", ["r"], ["features"], [], "", "flat"),
        node("Mul", ["features", "scale"], ["scaled"], [], "", "mul"),
        node("Gemm", ["scaled", "fc.weight", "fc.bias"], ["y"], [attribute.int("transB", 1)], "", "fc"),
      ],
    }),
  });

const x = (): dx.Tensor =>
  dx.tensor(
    made(32, (i) => ((i % 7) - 3) / 4),
    { shape: [2, 1, 4, 4] },
  );
const labels = (): dx.Tensor => dx.tensor([2, 0], { dtype: "int32" });
const loss = (y: dx.Tensor): dx.Tensor => dx.nn.functional.crossEntropy(y, labels());

/** Of torch 2.15. */
const torch = {
  loss: 1.0265374,
  gradients: {
    "conv.weight": [
      -0.0225881, -0.035589, -0.0485899, 0.1851615, -0.0030051, -0.2693404, -0.035589, -0.0485899, 0.1939509, 0.0, 0.0188836, -0.0283255,
      0.0094418, 0.0283255, -0.0188836, 0.0188836, -0.0283255, -0.0094418,
    ],
    "conv.bias": [-0.0520036, 0.0755346],
    "fc.weight": [
      0.0445464, 0.0790227, 0.0494822, -0.1371117, 0.0, 0.0565511, 0.0, 0.0353444, 0.1028602, 0.2190898, 0.0288064, 0.074034, 0.0,
      0.0329216, 0.0, 0.020576, -0.1474066, -0.2981125, -0.0782886, 0.0630777, 0.0, -0.0894727, 0.0, -0.0559204,
    ],
    "fc.bias": [-0.0480189, 0.2797543, -0.2317354],
  },
  /** Of four steps of SGD with a rate of 0.5 that train fc alone. */
  losses: [1.026537, 0.863578, 0.761937, 0.692896],
};

const near = (t: dx.Tensor, want: readonly number[]): void => {
  const got = numbers(t);
  expect(got.length).toBe(want.length);
  got.forEach((v, i) => expect(Math.abs(v - want[i]!)).toBeLessThan(2e-6 + 2e-5 * Math.abs(want[i]!)));
};

eachDevice("an ONNX model as a module", (device) => {
  /** Something keeps the last backward pass of a compiled function until the next one: buffers are not counted. */
  const within = (fn: () => Promise<void>): Promise<void> => dx.withDevice(device, () => dx.scope(fn));

  test("has parameters by the file's names, whose gradients are PyTorch's, eagerly, by its own program and in a compiled function", () =>
    within(async () => {
      using loaded = await dx.io.onnx.load(network(), { trainable: true });
      expect([...loaded.namedParameters()].map(([name, p]) => [name, p.requiresGrad])).toEqual(
        ["conv.weight", "conv.bias", "fc.weight", "fc.bias"].map((name) => [name, true]),
      );
      expect(loaded.training).toBe(false);
      const compiled = dx.compile((t: dx.Tensor) => {
        const l = loss(loaded(t));
        l.backward();
        return l;
      });
      const ways: readonly (() => dx.Tensor)[] = [
        () => loss(loaded.call({ x: x() }, { eager: true }).y!),
        () => loss(loaded(x())),
        () => loss(loaded.forward({ x: x() })),
      ];
      for (const way of ways)
        for (let call = 0; call < 3; call++) {
          const l = way();
          near(l, [torch.loss]);
          l.backward();
          for (const [name, p] of loaded.namedParameters()) near(p.grad!, torch.gradients[name as keyof typeof torch.gradients]);
          loaded.zeroGrad();
        }
      for (let call = 0; call < 3; call++) {
        near(compiled(x()), [torch.loss]);
        for (const [name, p] of loaded.namedParameters()) near(p.grad!, torch.gradients[name as keyof typeof torch.gradients]);
        loaded.zeroGrad();
      }
      expect(compiled.programs).toBe(1);
      compiled.dispose();
    }));

  test("trains what is not frozen, eagerly and compiled, as PyTorch does", () =>
    within(async () => {
      for (const isCompiled of [false, true]) {
        using loaded = await dx.io.onnx.load(network());
        for (const [name, p] of loaded.namedParameters()) if (name.startsWith("fc.")) p.requiresGrad_();
        const frozen = numbers(loaded.stateDict()["conv.weight"]!);
        const optimizer = dx.optim.sgd(
          loaded.parameters().filter((p) => p.requiresGrad),
          { lr: 0.5 },
        );
        const step = (t: dx.Tensor): dx.Tensor => {
          const l = loss(loaded(t));
          l.backward();
          optimizer.step();
          optimizer.zeroGrad();
          return l;
        };
        const compiled = dx.compile(step);
        const run = isCompiled ? compiled : step;
        for (const want of torch.losses) expect(numbers(run(x()))[0]).toBeCloseTo(want, 5);
        expect(numbers(loaded.stateDict()["conv.weight"]!)).toEqual(frozen);
        // The model's own program sees the new weights.
        near(loss(loaded(x())), numbers(loss(loaded.call({ x: x() }, { eager: true }).y!)));
        compiled.dispose();
      }
    }));

  test("saves and loads its state, also by assignment, and programs follow", () =>
    within(async () => {
      using a = await dx.io.onnx.load(network());
      using b = await dx.io.onnx.load(network());
      const before = numbers(a(x()));
      dx.noGrad(() => {
        for (const p of b.parameters()) p.mul_(2);
      });
      const doubled = numbers(b(x()));
      expect(doubled).not.toEqual(before);
      const folder = mkdtempSync(join(tmpdir(), "dxtensor-weights-"));
      try {
        await dx.io.safetensors.save(join(folder, "state.safetensors"), b.stateDict());
        const { tensors } = await dx.io.safetensors.load(join(folder, "state.safetensors"));
        a.loadStateDict(tensors);
      } finally {
        rmSync(folder, { recursive: true });
      }
      expect(numbers(a(x()))).toEqual(doubled);
      using c = await dx.io.onnx.load(network());
      for (let call = 0; call < 2; call++) expect(numbers(c(x()))).toEqual(before);
      c.loadStateDict(b.stateDict(), { assign: true });
      expect(numbers(c(x()))).toEqual(doubled);
      expect(() => a.loadStateDict({ "fc.bias": dx.zeros([3]) })).toThrow(dx.ValueError);
      expect(() => a.loadStateDict({ "fc.bias": dx.zeros([4]) }, { strict: false })).toThrow(dx.ShapeError);
    }));

  test("takes layers in place of nodes, whose weights are freed and whose parameters are its own", () =>
    within(async () => {
      using loaded = await dx.io.onnx.load(network());
      const head = dx.nn.linear(8, 5);
      loaded.replace("fc", head);
      expect([...loaded.namedParameters()].map(([name]) => name)).toEqual(["conv.weight", "conv.bias", "fc.weight", "fc.bias"]);
      expect(loaded.stateDict()["fc.weight"]!.shape).toEqual([5, 8]);
      const features = (await dx.io.onnx.load(network(), { outputs: ["scaled"] })) as dx.io.onnx.OnnxModel;
      expect([...features.namedParameters()].map(([name]) => name)).toEqual(["conv.weight", "conv.bias"]);
      const compiled = dx.compile((t: dx.Tensor) => loaded.call({ x: t }).y!);
      for (let call = 0; call < 3; call++) {
        const want = numbers(head(features(x())));
        for (const y of [loaded(x()), loaded.call({ x: x() }, { eager: true }).y!, compiled(x())]) near(y, want);
        dx.noGrad(() => head.weight.mul_(0.5));
      }
      loaded(x()).sum().backward();
      expect(head.weight.grad).not.toBeNull();
      expect(head.weight.grad!.shape).toEqual([5, 8]);
      loaded.zeroGrad();
      // A function, with the value that the node reads.
      loaded.replace("relu", (t: dx.Tensor) => t.tanh());
      const bent = numbers(loaded(x()));
      loaded.train();
      expect([loaded.training, head.training]).toEqual([true, true]);
      expect(numbers(loaded(x()))).toEqual(bent);
      expect(() => loaded.replace("nothing", head)).toThrow(/node must be one of conv, relu/);
      expect(() => loaded.replace("conv", 5 as never)).toThrow(dx.DxError);
      loaded.replace("relu", () => 5 as never);
      expect(() => loaded(x())).toThrow(/layer for relu/);
      compiled.dispose();
      features.dispose();
    }));

  test("keeps its dtypes, and takes part in functionalCall, clone and sequential", () =>
    within(async () => {
      using loaded = await dx.io.onnx.load(network());
      expect(() => loaded.to("float16")).toThrow(dx.DTypeError);
      const y = numbers(loaded(x()));
      const state = { "fc.bias": dx.zeros([3]) };
      const without = numbers(dx.nn.functionalCall(loaded, state, x()));
      without.forEach((v, i) => expect(v).toBeCloseTo(y[i]! - [0.5, -0.25, 0.125][i % 3]!, 5));
      expect(numbers(loaded(x()))).toEqual(y);
      using copy = loaded.clone();
      dx.noGrad(() => loaded.parameters()[0]!.zero_());
      expect(numbers(copy(x()))).toEqual(y);
      expect(numbers(loaded(x()))).not.toEqual(y);
      const chain = dx.nn.sequential(copy, dx.nn.softmax(-1));
      expect(numbers(chain(x()).sum(-1)).map((v) => Math.round(v))).toEqual([1, 1]);
      expect(JSON.stringify(loaded)).toContain("conv.weight");
      expect(String(loaded)).toContain("x -> y");
    }));
});

test("moves to another device and back", async () => {
  const devices = [dx.device("cpu"), dx.device("meta")];
  const loaded = await dx.io.onnx.load(network(), { device: devices[0]! });
  expect(loaded.device).toBe(devices[0]);
  const input = dx.zeros([2, 1, 4, 4], { device: "meta" });
  loaded.to("meta");
  expect(loaded.device).toBe(devices[1]);
  expect(loaded.parameters().every((p) => p.device === devices[1])).toBe(true);
  expect(loaded(input).describe()).toBe("float32[2, 3]");
  loaded.dispose();
});

test("of a file's bytes no copy is made on the host, and bytes that change later change nothing", async () => {
  const [rows, columns] = [512, 1024];
  const bytes = model({
    opset: 18,
    graph: graph({
      inputs: [value("x", FLOAT, [1, columns])],
      outputs: [value("y", FLOAT, [1, rows])],
      initializers: [
        tensor(
          "w",
          [rows, columns],
          made(rows * columns, (i) => (i % 5) - 2),
        ),
      ],
      nodes: [node("Gemm", ["x", "w"], ["y"], [attribute.int("transB", 1)])],
    }),
  });
  const before = process.memoryUsage().arrayBuffers;
  using loaded = await dx.io.onnx.load(bytes, { device: "cpu" });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(bytes.length / 2);
  bytes.fill(0xff);
  using ones = dx.full([1, columns], 1, { device: "cpu" });
  for (let call = 0; call < 3; call++) {
    const result = loaded.call({ x: ones })["y"]!;
    const wanted = Array.from({ length: rows }, (_, row) => {
      let sum = 0;
      for (let i = 0; i < columns; i++) sum += ((row * columns + i) % 5) - 2;
      return sum;
    });
    expect(numbers(result)).toEqual(wanted);
    result.dispose();
  }
});
