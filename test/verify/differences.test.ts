import { describe, expect, it } from "vitest";
import { compare, differenceText } from "../../src/verify/differences.ts";
import { tensor } from "../../src/verify/values/layouts.ts";
import { kindOf, kindWith, toleranceOf, type Tolerance } from "../../src/verify/values/tolerances.ts";
import { typeNamed } from "../../src/verify/values/types.ts";

const f32 = typeNamed("f32")!;
const exact: Tolerance = { ulps: 0, absolute: 0, relative: 0 };
const floats = (...values: number[]): ArrayBuffer => Float32Array.from(values).buffer;
const differ = (got: ArrayBuffer, want: ArrayBuffer, tolerance = exact, limit?: number): ReturnType<typeof compare> =>
  compare(tensor(f32, [want.byteLength / 4]), got, want, tolerance, limit);

describe("comparison", () => {
  it("takes NaN for NaN, infinities by sign, and both zeros for one", () => {
    expect(differ(floats(NaN, Infinity, -0), floats(NaN, Infinity, 0))).toBeNull();
    expect(differ(floats(NaN), floats(0))?.count).toBe(1);
    expect(differ(floats(Infinity), floats(-Infinity), { ulps: 9, absolute: 9, relative: 9 })?.count).toBe(1);
  });

  it("counts ULP", () => {
    const next = 1 + 2 ** -23;
    expect(differ(floats(next), floats(1), { ...exact, ulps: 1 })).toBeNull();
    expect(differ(floats(1 + 2 ** -22), floats(1), { ...exact, ulps: 1 })?.maxUlps).toBe(2);
    expect(differ(floats(next), floats(1))?.maxUlps).toBe(1);
  });

  it("lets denormals of float32 be 0, and nothing larger", () => {
    expect(differ(floats(0), floats(2 ** -130))).toBeNull();
    expect(differ(floats(0), floats(2 ** -125))?.count).toBe(1);
  });

  it("measures by the tensor's largest result where it is told to", () => {
    const tolerance = { ...exact, relative: 1e-3 };
    expect(differ(floats(0.05, 100), floats(0, 100), tolerance)).toBeNull();
    expect(differ(floats(0.05, 1), floats(0, 1), tolerance)?.count).toBe(1);
  });

  it("says what differs, where first, and by how much", () => {
    const found = differ(floats(1, 2.5, 3), floats(1, 2, 4))!;
    expect(found).toMatchObject({ count: 2, elements: 3, first: 1, maxAbsolute: 1, maxRelative: 0.25 });
    expect(differenceText(found)).toContain("first at 1: 2.5 (0x40200000) instead of 2 (0x40000000)");
    expect(differ(floats(1, 2.5), floats(1, 2), exact, 1)).toBeNull();
  });

  it("compares 64-bit integers by every bit", () => {
    const t = tensor(typeNamed("i64")!, [1]);
    const big = (v: bigint): ArrayBuffer => BigInt64Array.of(v).buffer;
    expect(compare(t, big(2n ** 60n), big(2n ** 60n), exact)).toBeNull();
    expect(compare(t, big(2n ** 60n + 1n), big(2n ** 60n), exact)?.maxAbsolute).toBe(1);
  });
});

describe("tolerances", () => {
  it("are none for integers and moved elements", () => {
    expect(toleranceOf(kindOf("GEMM"), typeNamed("i32")!)).toEqual(exact);
    expect(toleranceOf(kindOf("GATHER"), f32)).toEqual(exact);
    expect(toleranceOf(kindOf("ELEMENT_WISE_MAX"), typeNamed("f16")!)).toEqual(exact);
  });
  it("follow the operator, and an activation in it", () => {
    expect(kindOf("GEMM")).toBe("sum");
    expect(kindOf("ELEMENT_WISE_DIVIDE")).toBe("rounded");
    expect(kindOf("ACTIVATION_SOFTMAX1")).toBe("normalized");
    expect(kindWith("ELEMENT_WISE_ADD1", "ACTIVATION_ELU")).toBe("function");
    expect(kindWith("GEMM", "ACTIVATION_RELU")).toBe("sum");
  });
});
