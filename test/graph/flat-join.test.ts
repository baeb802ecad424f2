import { expect, it } from "vitest";
import { joinFlat } from "../../src/graph/flat-join.ts";
import { build, operators } from "./build.ts";

it("one part stays as it is, a few are one JOIN, and more than one JOIN takes are joined in steps", () => {
  const { graph, g, input } = build();
  const only = input(4);
  expect(joinFlat(g, [only], "float32")).toBe(only);
  expect(joinFlat(g, [only, input(2), input(1)], "float32").sizes).toEqual([7]);
  expect(operators(graph)).toEqual(["JOIN"]);
  const many = joinFlat(
    g,
    Array.from({ length: 1030 }, (_, i) => input(1 + (i % 2))),
    "float32",
  );
  expect(many.sizes).toEqual([1545]);
  expect(operators(graph)).toEqual(["JOIN", "JOIN", "JOIN", "JOIN", "JOIN"]);
});
