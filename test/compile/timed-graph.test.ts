import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { TimedGraph } from "../../src/compile/timed-graph.ts";
import { GraphBuilder } from "../../src/graph/builder.generated.ts";
import { Graph, packedExpr } from "../../src/graph/graph.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { eachDevice } from "../device.ts";

eachDevice("a graph that is timed", (name) => {
  it("runs over inputs that are made up, or known, and leaves no memory behind", () => {
    const native = nativeDevice(dx.device(name));
    const before = native.binding.memory(native.id);
    const g = new GraphBuilder(new Graph(), native.capabilities);
    const [x, y] = [packedExpr(g.graph.addInput(4 * 70), "float32", [70]), packedExpr(g.graph.addInput(4 * 70), "float32", [70])];
    g.graph.outputs = [g.elementWiseAdd(x, y), g.elementWiseIdentity(x)];
    const known = new Uint8Array(Float32Array.from({ length: 70 }, (_, i) => i).buffer);
    const contents = new Map<typeof x.value, "float32" | Uint8Array>([
      [x.value, "float32"],
      [y.value, known],
    ]);
    const timed = new TimedGraph(native, g.graph, contents, "none");
    expect(timed.seconds()).toBeGreaterThanOrEqual(0);
    const [sum, same] = timed.results(["float32", "float32"]) as [Float32Array, Float32Array];
    for (let i = 0; i < 70; i++) {
      expect(same[i]).toBeGreaterThanOrEqual(0.1);
      expect(sum[i]).toBeCloseTo(same[i]! + i, 4);
    }
    timed.dispose();
    timed.dispose();
    const after = native.binding.memory(native.id);
    expect([after.liveInBytes, after.programInBytes]).toEqual([before.liveInBytes, before.programInBytes]);
  });

  it("throws for a graph that the device does not run, and frees what it has made", () => {
    const native = nativeDevice(dx.device(name));
    const before = native.binding.memory(native.id).liveInBytes;
    const g = new GraphBuilder(new Graph(), native.capabilities);
    const x = packedExpr(g.graph.addInput(64), "float32", [16]);
    g.graph.outputs = [g.elementWiseAdd(x, x)];
    const node = g.graph.nodes[0] as { inputs: readonly unknown[] };
    node.inputs = [x, packedExpr(x.value, "float32", [8])];
    expect(() => new TimedGraph(native, g.graph, new Map(), "none")).toThrow(/ELEMENT_WISE_ADD/);
    expect(native.binding.memory(native.id).liveInBytes).toBe(before);
  });
});

it("has halves as numbers", () => {
  const native = nativeDevice(dx.device("cpu"));
  const g = new GraphBuilder(new Graph(), native.capabilities);
  const x = packedExpr(g.graph.addInput(16), "float16", [8]);
  g.graph.outputs = [g.elementWiseIdentity(x)];
  const bytes = new Uint8Array(Uint16Array.of(0, 0x3c00, 0xc000, 0x7c00, 0xfc00, 1, 0x8000, 0x3555).buffer);
  const timed = new TimedGraph(native, g.graph, new Map([[x.value, bytes]]), "none");
  timed.seconds();
  expect(Array.from(timed.results(["float16"])[0]!)).toEqual([0, 1, -2, Infinity, -Infinity, 2 ** -24, -0, expect.closeTo(0.33325, 5)]);
  timed.dispose();
});
