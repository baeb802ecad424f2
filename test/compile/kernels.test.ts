import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

eachDevice("kernels of a graph", (device) => {
  it("tells what runs inside a graph by kernel, each with its nodes", () => {
    const w = dx.randn([32, 32], { device });
    const b = dx.randn([32], { device });
    const f = dx.compile(
      (x: dx.Tensor) => {
        const hidden = dx.relu(dx.matmul(x, w).add(b));
        return dx.softmax(dx.matmul(hidden, w), -1).mul(2).add(1);
      },
      { name: "layers" },
    );
    const x = dx.randn([16, 32], { device });
    f(x).dataSync();
    const before = f.explain();
    const profile = f.profileSync();
    const after = f.explain();
    const shows = before.kernels.length > 0;
    for (const d of profile.dispatches) expect(d.kernels.length > 0).toBe(d.operator.startsWith("graph of ") && shows);
    if (device === "cpu") expect(shows).toBe(true);
    expect(before.kernels.map((k) => k.microseconds)).toEqual(before.kernels.map(() => null));
    const kernels = profile.dispatches.flatMap((d) => d.kernels);
    expect(after.kernels).toEqual(kernels);
    expect(kernels.map(({ kernel, nodes }) => ({ kernel, nodes, microseconds: null }))).toEqual(before.kernels);
    if (!shows) return;
    const of = (operator: string): dx.ExplainedKernel[] => kernels.filter((k) => k.nodes.some((n) => n.operator === operator));
    const [first, second] = of("GEMM");
    expect([first!.kernel, first!.nodes.map((n) => n.operator)]).toEqual([
      "GEMM (fused)",
      ["GEMM", "ELEMENT_WISE_ADD", "ACTIVATION_THRESHOLDED_RELU"],
    ]);
    expect(first!.nodes.map((n) => n.origin.replace(/ at .*kernels\.test\.ts:\d+$/, ""))).toEqual(["matmul", "add", "relu"]);
    expect(second!.kernel).toBe("GEMM");
    expect(of("ACTIVATION_SOFTMAX1").map((k) => k.nodes.length)).toEqual([1]);
    expect(of("ELEMENT_WISE_MULTIPLY").map((k) => k.kernel)).toEqual(["fused elementwise (2)"]);
    // The kernels' times are the dispatch's.
    for (const d of profile.dispatches) {
      const inside = d.kernels.reduce((sum, k) => sum + k.microseconds, 0);
      expect(inside).toBeGreaterThan(0);
      expect(inside).toBeLessThanOrEqual(d.microseconds);
    }
    expect(`${profile}`).toMatch(/inside the graph of \d+ nodes, \d+ kernels:\n(.*\n)*.* us .* 1x {2}GEMM \(fused\) .*matmul at /);
    expect(`${after}`).toMatch(/\d kernels:\n(.*\n)*.* us {2}GEMM \(fused\) .*# matmul at /);
    f.dispose();
    for (const t of [x, w, b]) t.dispose();
  });

  it("computes what treats rows alike, where tensors are large", async () => {
    const norm = new dx.nn.LayerNorm([512]).to(device);
    const attend = (x: dx.Tensor): dx.Tensor => {
      const [q, k] = [x.reshape([6, 8, 16, 96]), x.mul(0.5).reshape([6, 8, 16, 96])];
      return dx.softmax(dx.matmul(q.transpose(-1, -2), k).mul(0.25), -1);
    };
    const forms: Record<string, (x: dx.Tensor) => dx.Tensor[]> = {
      "layerNorm's gradient": (x) => {
        const upstream = x.mul(2).sin();
        return dx.grad(norm.forward(x).mul(upstream).sum(), [x, ...norm.parameters()]) as dx.Tensor[];
      },
      "a normalisation's gradient by hand": (x) => {
        const centered = x.sub(x.mean(1, { keepDims: true }));
        const normal = centered.mul(centered.square().mean(1, { keepDims: true }).add(1e-5).rsqrt());
        const upstream = x.sin();
        const along = upstream.mul(normal).mean(1, { keepDims: true });
        return [upstream.sub(upstream.mean(1, { keepDims: true })).sub(normal.mul(along)), upstream.mul(normal).sum(0)];
      },
      "rows of exponentials, which are a result too": (x) => {
        const e = dx.exp(x.sub(dx.amax(x, 1, { keepDims: true })));
        return [e, e.div(e.sum(1, { keepDims: true })).log(), e.sum(0)];
      },
      "columns between rows": (x) => [
        dx
          .softmax(x.sub(x.mean(0, { keepDims: true })), 1)
          .mul(x)
          .sum(1),
      ],
      "batched products": (x) => [attend(x).sum(-1)],
    };
    const generator = new dx.Generator(3);
    for (const [name, form] of Object.entries(forms)) {
      const shape = name === "batched products" ? [144, 512] : [768, 512];
      const f = dx.compile(form, { name });
      for (let call = 0; call < 3; call++) {
        const x = dx.randn(shape, { device, generator }).requiresGrad_(name === "layerNorm's gradient");
        const want = form(x);
        const close = f(x).map((t, i) => dx.allclose(t, want[i]!, { rtol: 1e-4, atol: 1e-4 }));
        expect([name, call, ...(await Promise.all(close))]).toEqual([name, call, ...want.map(() => true)]);
      }
      f.dispose();
    }
  });
});
