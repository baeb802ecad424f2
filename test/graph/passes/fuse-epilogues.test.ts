import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { fuseEpilogues } from "../../../src/graph/passes/fuse-epilogues.ts";
import type { Expr, GraphNode } from "../../../src/graph/graph.ts";
import { loadReports, nativeDevice } from "../../../src/runtime/devices.ts";
import type { Measurement } from "../../../src/shader/measured.ts";
import { writeStored } from "../../../src/shader/store.ts";
import { eachDevice } from "../../device.ts";
import { build, operators } from "../build.ts";

/** A driver for CPUs compiles these shaders for minutes. */
const SLOW = { timeout: 600_000 };

/** A shader that takes what follows it; what it was asked for is noted. */
function host(built: ReturnType<typeof build>, x: Expr, asked: string[] = []): Expr {
  const y = built.g.elementWiseIdentity(x);
  const node = built.graph.nodes.at(-1) as GraphNode & { withEpilogue?: GraphNode["withEpilogue"] };
  node.withEpilogue = (op) => {
    asked.push(op.kind);
    return { inputs: [...node.inputs, op.kind === "add" ? op.addend : op.kind === "norm" ? op.mean : op.kind === "cast" ? x : op.x] };
  };
  return y;
}

describe("what follows a shader", () => {
  it("goes into it, where the sum is, so that all it reads is made before", () => {
    const built = build();
    const { graph, g } = built;
    const x = built.input(1, 2, 2, 2);
    const y = host(built, x);
    const other = g.elementWiseExp(x);
    graph.outputs = [g.elementWiseAdd(other, y)];
    const result = fuseEpilogues(graph);
    expect(operators(result)).toEqual(["ELEMENT_WISE_EXP", "ELEMENT_WISE_IDENTITY"]);
    expect(result.nodes[1]!.inputs.map((e) => e!.value)).toEqual([x.value, other.value]);
    expect(result.nodes[1]!.outputs[0]!.value).toBe(graph.outputs[0]!.value);
  });

  it("stays where something else reads the result, or the tensors differ in size", () => {
    const built = build();
    const { graph, g } = built;
    const [x, row] = [built.input(1, 2, 2, 2), built.input(1, 2, 2, 2)];
    const asked: string[] = [];
    const read = host(built, x, asked);
    const twice = host(built, x, asked);
    graph.outputs = [g.elementWiseAdd(read, row), g.elementWiseExp(read), g.elementWiseAdd(twice, twice)];
    expect(operators(fuseEpilogues(graph))).toEqual(operators(graph));
    expect(asked).toEqual([]);
  });
});

const measured = (["depthwiseConvolution", "depthwiseInputGradient", "linear", "matmul", "batchedMatmul", "packedLinear"] as const).map(
  (shader): Measurement => ({
    shader,
    dtype: "float32",
    place: "compiled",
    extent: 1,
    directml: 2,
    byShader: 1,
    isWrong: false,
  }),
);

eachDevice("a convolution or a GEMM with what follows it", (name) => {
  const variables = ["XDG_CACHE_HOME", "LOCALAPPDATA", "DXTENSOR_SHADERS"] as const;
  const before = variables.map((variable) => process.env[variable]);
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-epilogues-"));
  // Depthwise convolutions, whose shaders are soon compiled, and products by shaders, what follows them by DirectML's operators.
  beforeAll(() => {
    process.env.XDG_CACHE_HOME = process.env.LOCALAPPDATA = folder;
    delete process.env.DXTENSOR_SHADERS;
    dx.closeDevice(name);
    const native = nativeDevice(dx.device(name));
    writeStored(native, loadReports()[native.runtime], { time: "2026-01-02T03:04:05.000Z", measurements: measured });
    dx.closeDevice(name);
  });
  afterAll(() => {
    variables.forEach((variable, i) => {
      if (before[i] === undefined) delete process.env[variable];
      else process.env[variable] = before[i];
    });
    rmSync(folder, { recursive: true });
    dx.closeDevice(name);
  });
  const of = (shape: number[], seed: number): dx.Tensor => dx.randn(shape, { device: name, generator: new dx.Generator(seed) });

  it("is one dispatch: batch norm at inference, a residual and an activation", () => {
    const [x, w, residual] = [of([2, 4, 6, 6], 1), of([4, 1, 3, 3], 2), of([2, 4, 6, 6], 3)];
    const [mean, gain, shift] = [4, 5, 6].map((seed) => of([4], seed)) as [dx.Tensor, dx.Tensor, dx.Tensor];
    const variance = dx.square(of([4], 7)).add(0.5);
    const layer = (input: dx.Tensor): dx.Tensor => {
      const y = dx.conv2d(input, w, null, { padding: 1, groups: 4 });
      return dx.relu(dx.batchNorm(y, mean, variance, gain, shift).add(residual));
    };
    const expected = layer(x);
    const compiled = dx.compile(layer, { regions: "none", fuse: "off" });
    for (let i = 0; i < 3; i++) expect(compiled(x).allcloseSync(expected, { rtol: 1e-4, atol: 1e-5 })).toBe(true);
    expect(compiled.explain().nodes.map((n) => n.operator)).toEqual(["SHADER"]);
    compiled.dispose();
  });

  it("adds a residual in the launch of a product with a packed weight, which shares no launch then", SLOW, () => {
    const layer = (seed: number): dx.nn.Module => {
      const linear = dx.nn.linear(32, 32, { device: name });
      linear.weight = new dx.nn.Parameter(of([32, 32], seed));
      return dx.nn.quantize(linear, { symmetric: true });
    };
    const [a, b] = [layer(1), layer(2)];
    const fn = (x: dx.Tensor, residual: dx.Tensor): dx.Tensor[] => [dx.add(residual, a(x) as dx.Tensor), dx.add(b(x) as dx.Tensor, residual), a(residual) as dx.Tensor]; // prettier-ignore
    const compiled = dx.compile(fn, { regions: "none", fuse: "off" });
    for (const rows of [1, 5])
      dx.noGrad(() => {
        const [x, residual] = [of([1, rows, 32], 3), of([1, rows, 32], 4)];
        const expected = fn(x, residual);
        for (let i = 0; i < 3; i++)
          compiled(x, residual).forEach((y, k) => expect(y.allcloseSync(expected[k]!, { rtol: 1e-5, atol: 1e-4 })).toBe(true));
        expect(compiled.explain().nodes.map((n) => n.operator)).toEqual(["SHADER", "SHADER", "SHADER"]);
      });
    compiled.dispose();
  });

  it("adds gradients from two ways in the data gradient's launch", () => {
    const [x, w] = [of([2, 4, 6, 6], 1), of([4, 1, 3, 3], 2)];
    const step = (input: dx.Tensor): dx.Tensor => {
      const leaf = input.detach().requiresGrad_();
      const y = dx.conv2d(leaf, w, null, { padding: 1, groups: 4 }).add(leaf);
      return dx.grad(y.mul(y).sum(), [leaf])[0]!;
    };
    const expected = step(x);
    const compiled = dx.compile(step, { regions: "none", fuse: "off" });
    for (let i = 0; i < 3; i++) expect(compiled(x).allcloseSync(expected, { rtol: 1e-4, atol: 1e-4 })).toBe(true);
    expect(compiled.explain().nodes.some((n) => / \+ add/.test(n.origin))).toBe(true);
    compiled.dispose();
  });

  it("computes relu's gradient in the data gradient's launch, with a sum before it, and NaN as DirectML", () => {
    const [x, w, v] = [of([2, 4, 6, 6], 1), of([4, 1, 3, 3], 2), of([4, 1, 3, 3], 3)];
    const step = (input: dx.Tensor): dx.Tensor => {
      const leaf = input.detach().requiresGrad_();
      const y = dx.relu(dx.conv2d(leaf, w, null, { padding: 1, groups: 4 }));
      const z = dx.relu(dx.conv2d(y, v, null, { padding: 1, groups: 4 }).add(y));
      return dx.grad(z.mul(z).sum(), [leaf])[0]!;
    };
    const data = x.dataSync() as Float32Array;
    for (const special of [null, NaN, Infinity]) {
      if (special !== null) data[7] = special;
      const input = dx.tensor(data, { device: name }).reshape([2, 4, 6, 6]);
      const expected = step(input);
      const compiled = dx.compile(step, { regions: "none", fuse: "off" });
      for (let i = 0; i < 3; i++) expect(compiled(input).allcloseSync(expected, { rtol: 1e-4, atol: 1e-4, equalNan: true })).toBe(true);
      const { nodes } = compiled.explain();
      expect(nodes.some((n) => n.operator === "SHADER" && / \+ add.* \+ reluGrad/.test(n.origin))).toBe(true);
      compiled.dispose();
    }
  });

  it("adds a residual and applies the activation in the launch of a GEMM and of a batched one", SLOW, () => {
    const [x, w, b, residual] = [of([2, 32, 32], 1), of([32, 32], 2), of([32], 3), of([2, 32, 32], 4)];
    const many = of([2, 32, 32], 5);
    for (const layer of [
      (input: dx.Tensor): dx.Tensor => dx.relu(dx.linear(input, w, b).add(residual)),
      (input: dx.Tensor): dx.Tensor => dx.relu(residual.add(dx.matmul(input, many))),
    ]) {
      const expected = layer(x);
      const compiled = dx.compile(layer, { regions: "none", fuse: "off" });
      for (let i = 0; i < 3; i++) expect(compiled(x).allcloseSync(expected, { rtol: 1e-4, atol: 1e-4 })).toBe(true);
      expect(compiled.explain().nodes.map((n) => n.operator)).toEqual(["SHADER"]);
      compiled.dispose();
    }
  });

  it("adds a transposed tensor, a part of a view or an expanded row to a GEMM", () => {
    const [x, w, square, row] = [of([32, 32], 1), of([32, 32], 2), of([64, 32], 3), of([32], 4)];
    for (const added of [
      square.narrow(0, 0, 32).transpose(0, 1),
      square.narrow(0, 7, 32),
      row.expand(32, 32),
      row.reshape(32, 1).expand(32, 32),
    ]) {
      const layer = (input: dx.Tensor): dx.Tensor => dx.relu(dx.matmul(input, w).add(added));
      const compiled = dx.compile(layer, { regions: "none", fuse: "off" });
      for (let i = 0; i < 3; i++) expect(compiled(x).allcloseSync(layer(x), { rtol: 1e-4, atol: 1e-4 })).toBe(true);
      compiled.dispose();
    }
  });

  it("computes relu's gradient in the launch of a GEMM's data gradient, with DirectML's NaN; float16 has a launch of its own", () => {
    const [w, v] = [of([32, 32], 2), of([32, 32], 3)];
    const step = (input: dx.Tensor): dx.Tensor => {
      const leaf = w
        .to(input.dtype as "float32")
        .detach()
        .requiresGrad_();
      const y = dx.relu(dx.linear(input, leaf));
      const z = dx.linear(y, v.to(input.dtype as "float32"));
      return dx.grad(z.mul(z).sum(), [leaf])[0]!;
    };
    const data = of([32, 32], 1).dataSync() as Float32Array;
    for (const dtype of ["float32", "float16"] as const) {
      const compiled = dx.compile(step, { regions: "none", fuse: "off" });
      const close = dtype === "float16" ? { rtol: 2e-2, atol: 0.5 } : { rtol: 1e-3, atol: 1e-3 };
      for (const special of [data[7]!, NaN, Infinity, data[7]!]) {
        const values = data.map((v, at) => (at === 7 ? special : v));
        const input = dx.tensor(values, { device: name }).reshape([32, 32]).to(dtype);
        expect(compiled(input).allcloseSync(step(input), { ...close, equalNan: true })).toBe(true);
      }
      const { nodes } = compiled.explain();
      const isPart = nodes.some((n) => n.operator === "SHADER" && /matmul.* \+ reluGrad/.test(n.origin));
      expect([dtype, isPart]).toEqual([dtype, dtype === "float32"]);
      compiled.dispose();
    }
  }, 240_000);
});
