import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

it("tells each node with the line that asked for it, sizes, and why the function was recorded", () => {
  const state = dx.zeros([2]);
  const f = dx.compile(
    (x: dx.Tensor, k: number) => {
      state.add_(x);
      return x.mul(k).sin();
    },
    { name: "wave", regions: "none" },
  );
  f(dx.ones([2]), 2);
  f(dx.ones([2]), 3);
  const e = dx.explain(f);
  expect([e.name, e.stateCells, e.nodes.length >= 3, e.dispatches >= 3, e.inputsInBytes, e.outputsInBytes]).toEqual([
    "wave",
    1,
    true,
    true,
    20,
    8,
  ]);
  const sine = e.nodes.find((n) => n.operator === "ELEMENT_WISE_SIN")!;
  expect(sine.origin).toMatch(/^sin at .*explain\.test\.ts:\d+$/);
  expect([sine.inputs.length, sine.outputs[0]]).toEqual([1, expect.stringMatching(/^%\d+:float32\[2\]$/)]);
  expect(e.recordings).toEqual(["arguments of a new kind", "a number changed: it is an input from now on"]);
  expect(String(e)).toContain("recorded 2 times");
  expect(String(e).split("\n")).toHaveLength(3 + e.nodes.length);
  f.dispose();
});
