/** Products of integers by digits. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { GraphBuilder } from "../../../src/graph/builder.generated.ts";
import { Graph, packedExpr, type Expr } from "../../../src/graph/graph.ts";
import { emitIntegerMatmul } from "../../../src/ops/matmul/integer-matmul.ts";
import { nativeDevice } from "../../../src/runtime/devices.ts";

it("adds products of digits whose GEMMs give other axes: a shader's are [M, N], DirectML's [1, 1, M, N]", () => {
  const g = new GraphBuilder(new Graph(), nativeDevice(dx.device("cpu")).capabilities);
  const [m, k, n] = [64, 1030, 32];
  const input = (rows: number, columns: number): Expr => packedExpr(g.graph.addInput(4 * rows * columns), "int32", [rows, columns]);
  const whole = (x: Expr): Expr => g.reinterpret(g.packed(x), { sizes: [1, 1, ...x.sizes] });
  const lengths = new Set<number>();
  const gemm = (a: Expr, b: Expr): Expr => {
    lengths.add(a.sizes[1]!);
    const c = g.gemm(whole(a), whole(b), { output: { sizes: [1, 1, m, n] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 });
    return a.sizes[1] === 6 ? c : g.reinterpret(c, { sizes: [m, n] });
  };
  g.graph.outputs = [emitIntegerMatmul(g, input(m, k), input(k, n), [], "int32", gemm)];
  expect([...lengths]).toEqual([1024, 6]);
  const sums = g.graph.nodes.filter(
    ({ operator, inputs }) => operator === "ELEMENT_WISE_ADD" && inputs[0]!.value.sizeInBytes === 4 * m * n,
  );
  expect(sums.length).toBeGreaterThan(10);
  for (const { inputs, outputs } of sums) for (const x of inputs) expect(x!.sizes).toEqual(outputs[0]!.sizes);
});
