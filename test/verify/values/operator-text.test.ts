import { describe, expect, it } from "vitest";
import { description, parse, textOf } from "../../../src/verify/values/operator-text.ts";
import { rows, instantiate, choices } from "../../../src/verify/operators/operators.ts";
import { DATA_TYPES, readElement, writeElement, bitsOf } from "../../../src/verify/values/types.ts";
import { tensor, eachOffset, layOut } from "../../../src/verify/values/layouts.ts";

const round = (text: string): string => textOf(description(parse(text)));

describe("operators as text", () => {
  it("reads tensors, lists, enums, scalars and operators inside", () => {
    const { row, fields } = parse(
      "CONVOLUTION input=f32[2,4,5,6] filter=f32[6,2,3,2] output=f32[2,6,3,3] mode=CROSS_CORRELATION direction=FORWARD strides=[2,2] " +
        "dilations=[1,1] startPadding=[1,0] endPadding=[1,0] outputPadding=[0,0] groupCount=2 fusedActivation={ACTIVATION_ELU alpha=1.5}",
    );
    const field = (name: string): unknown => fields[row.fields.findIndex((f) => f.name === name)];
    expect(field("input")).toEqual({ dataType: 1, sizes: [2, 4, 5, 6], strides: null, sizeInBytes: 960 });
    expect(field("bias")).toBeNull();
    expect(field("mode")).toBe(1);
    expect(field("dimensionCount")).toBe(2);
    expect(field("strides")).toEqual([2, 2]);
    expect(field("fusedActivation")).toMatchObject({ fields: [null, null, 1.5] });
  });

  it("writes what it reads, for every row", () => {
    for (const row of rows) {
      const types = choices(row)[0]!;
      const text = round(instantiate(row, types));
      expect(round(text)).toBe(text);
    }
  });

  it("gives strided tensors the bytes from the first to the last element", () => {
    expect(parse("ELEMENT_WISE_ABS input=f16[2,3]/[8,1] output=f16[2,3]").fields[0]).toMatchObject({ strides: [8, 1], sizeInBytes: 24 });
  });

  it.each([
    ["GEM a=f32[1]", /no operator GEM/],
    ["GEMM q=f32[1]", /GEMM has no field q/],
    ["GEMM a=f33[1]", /no data type f33/],
    ["GEMM a=f32(1)", /expected \[/],
    ["GEMM transA=SIDEWAYS", /no SIDEWAYS in DML_MATRIX_TRANSFORM/],
  ])("refuses %s", (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });
});

describe("elements", () => {
  it.each(DATA_TYPES.map((t) => [t.name, t] as const))("%s are read as they were written", (_, type) => {
    const view = new DataView(new ArrayBuffer(64));
    const values = type.kind === "float" ? [0.5, -1.5, 0] : type.kind === "signed" ? [-8, 7, 3] : [0, 15, 9];
    values.forEach((v, i) => {
      writeElement(view, type, i, type.bits === 64 && type.kind !== "float" ? BigInt(v) : v);
    });
    expect(values.map((_, i) => Number(readElement(view, type, i)))).toEqual(values);
  });

  it("shows bits with the most significant digit first", () => {
    const view = new DataView(Float32Array.of(1).buffer);
    expect(
      bitsOf(
        view,
        DATA_TYPES.find((t) => t.name === "f32")!,
        0,
      ),
    ).toBe("3f800000");
  });

  it("visits indices in row-major order", () => {
    const t = tensor(DATA_TYPES[0]!, [2, 3]);
    const offsets = (layout: "packed" | "padded" | "transposed" | "broadcast"): number[] => {
      const list: number[] = [];
      eachOffset(layOut(t, layout), (offset) => list.push(offset));
      return list;
    };
    expect(offsets("packed")).toEqual([0, 1, 2, 3, 4, 5]);
    expect(offsets("padded")).toEqual([0, 1, 2, 6, 7, 8]);
    expect(offsets("transposed")).toEqual([0, 2, 4, 1, 3, 5]);
    expect(offsets("broadcast")).toEqual([0, 1, 2, 0, 1, 2]);
  });
});
