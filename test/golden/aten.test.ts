/** scripts/lib/aten-names.json: each of PyTorch's operators is something that the library exports, or has a reason why not. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";

interface Entry {
  readonly name: string;
  readonly here?: string;
  /** Whose result `here` is applied to. */
  readonly of?: string;
  readonly gradientOf?: string;
  readonly none?: string;
  readonly host?: true;
}
const entries = JSON.parse(readFileSync(new URL("../../scripts/lib/aten-names.json", import.meta.url), "utf8")) as readonly Entry[];

/** A path of the package's exports; Tensor.name is a member of its tensors. */
function resolve(path: string): unknown {
  const [first, ...rest] = path.split(".") as [string, ...string[]];
  if (first === "Tensor") return rest[0]! in dx.Tensor.prototype ? true : undefined;
  return [first, ...rest].reduce<unknown>((o, key) => (o as Readonly<Record<string, unknown>> | undefined)?.[key], dx);
}

test("the list is the one that was asked for: every name once", () => {
  const names = entries.map((e) => e.name);
  expect(new Set(names).size).toBe(names.length);
  expect(entries.filter((e) => e.host !== true)).toHaveLength(646);
  expect(entries.filter((e) => e.host === true)).toHaveLength(76);
  const digest = createHash("sha256").update(names.toSorted().join("\n")).digest("hex");
  expect(digest).toBe("4dce388034c87505fe263efca567068b7ca62149e8299d48072847d3e26a8ba0");
});

test("each is something that the library exports, a gradient of such, or has a reason", () => {
  const kinds = entries.filter((e) => [e.here, e.gradientOf, e.none].filter((v) => v !== undefined).length !== 1);
  expect(kinds).toEqual([]);
  const unknown = entries.filter((e) => [e.here, e.of, e.gradientOf].some((path) => path !== undefined && resolve(path) === undefined));
  expect(unknown).toEqual([]);
  expect(entries.filter((e) => e.none !== undefined && e.none.length < 20)).toEqual([]);
});

test("hardly any name that DirectML can carry is without a counterpart", () => {
  const without = entries.filter((e) => e.none !== undefined && e.host !== true).map((e) => e.name);
  expect(without).toEqual(["aten::set_", "aten::lift", "aten::lift_fresh", "aten::_make_per_tensor_quantized_tensor"]);
});
