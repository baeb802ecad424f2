import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { GraphBuilder } from "../../../src/graph/builder.generated.ts";
import { Graph, packedExpr, type Expr } from "../../../src/graph/graph.ts";
import { contract } from "../../../src/graph/plan/contract.ts";
import { nativeDevice } from "../../../src/runtime/devices.ts";
import { foldRowsShader } from "../../../src/shader/kernels/select.ts";
import { clean } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

/** A builder over [64] of float32, and their indices. */
function builder(): { g: GraphBuilder; graph: Graph; x: Expr; indices: Expr } {
  const graph = new Graph();
  const g = new GraphBuilder(graph, nativeDevice(dx.device("cpu")).capabilities);
  const input = (dtype: "float32" | "uint32"): Expr => packedExpr(graph.addInput(256), dtype, [64]);
  return { g, graph, x: input("float32"), indices: input("uint32") };
}

const folded = (g: GraphBuilder, x: Expr, indices: Expr): Expr =>
  g.reshape(foldRowsShader(g, "max", g.reshape(x, [64, 1]), indices, 64), [64]);

describe("the nodes between shaders", () => {
  it("is one node for each layer; nodes that need no shader are in the first one", () => {
    const { g, graph, x, indices: positions } = builder();
    const first = folded(g, g.elementWiseExp(g.elementWiseSin(x)), positions);
    const second = folded(g, g.elementWiseAbs(g.elementWiseSqrt(first)), positions);
    graph.outputs = [g.elementWiseAdd(second, g.elementWiseCos(x))];
    const { graph: contracted, regions } = contract(graph, false);
    const kinds = contracted.nodes.map((n) => regions.get(n)?.graph.nodes.length ?? n.operator);
    expect(kinds).toEqual([3, "SHADER", "SHADER", 2, "SHADER", "SHADER", "ELEMENT_WISE_ADD"]);
    // Of the first: what the shader takes, and the cosine for the last layer.
    expect([...regions.values()].map((r) => [r.inputs.length, r.results.length])).toEqual([
      [1, 2],
      [1, 1],
    ]);
  });
});

describe("a compiled function with folds by shaders, as it is called", () => {
  it("has the values, the state and the gradients that it has eagerly", () =>
    clean(
      "cpu",
      () => {
        const k = 2 ** 15;
        const wave = (n: number, f: number): dx.Tensor => dx.tensor(Array.from({ length: n }, (_, i) => Math.sin(f * i)), { dtype: "float32", device: "cpu" }); // prettier-ignore
        const index = dx.tensor(
          Array.from({ length: k }, (_, i) => (i * i * 7 + i) % 100),
          { dtype: "int32", device: "cpu" },
        );
        const state = dx.zeros([100], { device: "cpu" });
        const step = (x: dx.Tensor, v: dx.Tensor): dx.Tensor[] => {
          const leaf = v.detach().requiresGrad_(true);
          const high = dx.scatterReduce(x.mul(2).add(1), 0, index, leaf.mul(0.5).exp(), "amax");
          state.add_(high.detach());
          const low = dx.scatterReduce(high.tanh().neg(), 0, index, leaf, "amin");
          const joined = dx.cat([high.sub(1), low.exp(), state.mul(2)]);
          return [joined, dx.grad(dx.sum(joined.mul(joined)), [leaf])[0]!, state.add(low)];
        };
        const compiled = dx.compile(step);
        for (const call of [1, 2, 3, 4]) {
          const inputs = [wave(100, 0.1 * call), wave(k, 0.37 + call)] as const;
          const before = state.clone();
          const want = [...step(...inputs), state].map((t) => [...(t.dataSync() as Float32Array)]);
          state.copy_(before);
          const got = [...compiled(...inputs), state];
          got.forEach((t, i) => expectClose(t, want[i]!));
        }
        compiled.dispose();
      },
      { collect: true },
    ));
});
