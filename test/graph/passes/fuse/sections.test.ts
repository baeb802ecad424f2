import { expect, it } from "vitest";
import { factsOf } from "../../../../src/graph/passes/fuse/clusters.ts";
import { regionOf } from "../../../../src/graph/passes/fuse/region.ts";
import { hasTail, launchedThreads, sectionsOf, threadsFor } from "../../../../src/graph/passes/fuse/sections.ts";
import { build } from "../../build.ts";

it("gives a thread more elements of large tensors, and whole words of narrow ones", () => {
  const sections = (n: number, dtype: "float32" | "float16") => {
    const { graph, g, input } = build();
    const y = g.cast(input(n), { output: { dtype } });
    graph.outputs = [y, g.cast(y, { output: { dtype: "uint8" } }), g.elementWiseExp(input(3))];
    return sectionsOf(regionOf(graph.nodes, factsOf(graph, new Map(), 16))!);
  };
  expect(sections(10, "float32")).toMatchObject([{ outputs: [0, 1], elements: 10, width: 4 }, { outputs: [2], elements: 3, width: 1 }]); // prettier-ignore
  expect(hasTail(sections(10, "float32"))).toBe(true);
  expect(hasTail(sections(12, "float16"))).toBe(false);
  const large = sections(2 ** 17, "float16");
  expect([large[0]!.width, launchedThreads(large), threadsFor(large)]).toEqual([4, 2 ** 15, 256]);
});
