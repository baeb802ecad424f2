/** Small graphs for the tests of passes and planning. */
import { device } from "../../src/core/device.ts";
import { GraphBuilder } from "../../src/graph/builder.generated.ts";
import { Graph, packedExpr, type Expr } from "../../src/graph/graph.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";

export interface Built {
  readonly graph: Graph;
  readonly g: GraphBuilder;
  /** An input of float32 numbers. */
  input(...sizes: number[]): Expr;
}

export function build(): Built {
  const graph = new Graph();
  const g = new GraphBuilder(graph, nativeDevice(device("cpu")).capabilities);
  return {
    graph,
    g,
    input: (...sizes) => packedExpr(graph.addInput(4 * sizes.reduce((a, b) => a * b, 1)), "float32", sizes),
  };
}

export const operators = (graph: Graph): string[] => graph.nodes.map((n) => n.operator);
