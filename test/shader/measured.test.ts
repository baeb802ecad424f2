import { describe, expect, it } from "vitest";
import { isFaster, rangesOf, type Measurement } from "../../src/shader/measured.ts";
import { chosen, table } from "../../src/measure/show.ts";

const of = (extent: number, ratio: number | null, more: Partial<Measurement> = {}): Measurement => ({
  shader: "relu",
  dtype: "float32",
  place: "alone",
  extent,
  directml: 1e-3,
  byShader: ratio === null ? null : 1e-3 / ratio,
  isWrong: false,
  ...more,
});
const sizes = (list: readonly Measurement[]): (readonly [number, number | null])[] => rangesOf(list).map(({ from, to }) => [from, to]);

describe("from measurements to sizes", () => {
  it("takes a shader from a size that was faster to the last one in a row, and beyond the largest", () => {
    expect(sizes([of(10, 0.5), of(20, 2), of(40, 2)])).toEqual([[20, null]]);
    expect(sizes([of(40, 0.9), of(20, 2), of(10, 2), of(80, 1.5)])).toEqual([[10, 20], [80, null]]); // prettier-ignore
    expect(sizes([of(10, 2), of(20, null)])).toEqual([[10, 10]]);
    expect(sizes([of(10, 0.9), of(20, 1)])).toEqual([]);
    expect(sizes([])).toEqual([]);
  });

  it("wants more than what two measurements of the same differ by", () => {
    expect([of(1, 1.04), of(1, 1.06), of(1, null)].map(isFaster)).toEqual([false, true, false]);
  });

  it("takes rows as wide as were measured, no wider", () => {
    expect(sizes([of(256, 2, { shader: "softmax" }), of(1024, 2, { shader: "softmax" })])).toEqual([[256, 1024]]);
  });

  it("keeps dtypes, operations and contexts apart", () => {
    const list = [of(8, 2), of(8, 2, { dtype: "float16" }), of(8, 0.5, { place: "compiled" }), of(8, 2, { shader: "gelu" })];
    expect(rangesOf(list).map((r) => `${r.shader} ${r.dtype} ${r.place}`)).toEqual([
      "relu float32 alone",
      "relu float16 alone",
      "gelu float32 alone",
    ]);
  });

  it("takes nothing of what was wrong once", () => {
    expect(sizes([of(10, 2), of(20, 3, { isWrong: true })])).toEqual([]);
  });

  it("is printed with ratios", () => {
    const list = [of(10, 0.5), of(20, 2), of(40, null), of(80, 3, { shader: "gelu", isWrong: true })];
    expect(table(list).split("\n").map((line) => line.replaceAll(/ +/g, " "))).toEqual([
      "operation dtype call size DirectML shader ratio",
      "relu float32 alone 10 1.00 ms 2.00 ms 0.50x",
      "relu float32 alone 20 1.00 ms 0.50 ms 2.00x faster",
      "relu float32 alone 40 1.00 ms not measured: slower at smaller sizes",
      "gelu float32 alone 80 1.00 ms 0.33 ms 3.00x differs, not taken",
    ]); // prettier-ignore
    expect(chosen(rangesOf(list))).toBe("relu float32 of 20, in eager calls");
    expect(chosen([])).toBe("No shader is taken: DirectML's operators are.");
  });
});
