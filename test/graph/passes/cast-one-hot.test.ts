/** One-hot rows that are cast: the nodes, and values in every dtype, also of rows that are read as they are. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { numbers } from "./fuse/programs.ts";

const SIZES = [7, 5] as const;
const at = [0, 4, 3, 3, 1, 2, 0];
const rows = Array.from({ length: SIZES[0] * SIZES[1] }, (_, i) => (at[Math.floor(i / SIZES[1])] === i % SIZES[1] ? 1 : 0));

eachDevice("one-hot rows that are cast", (name) => {
  const device = dx.device(name);
  const compiled = (fuse: "off" | "always", fn: (x: dx.Tensor) => dx.Tensor[], x: dx.Tensor) => {
    const step = dx.compile(fn, { fuse });
    let results: number[][] = [];
    for (let i = 0; i < 3; i++) results = step(x).map(numbers);
    const { nodes, fused } = step.explain();
    step.dispose();
    return { results, operators: nodes.map((node) => String(node.operator)), inside: fused.flatMap((f) => f.nodes.map((n) => n.operator)) };
  };

  it.each(["float32", "float16", "int32", "uint32", "uint8", "bool", "bfloat16"] as const)("are %s, of both kinds of indices", (dtype) => {
    for (const kind of ["int32", "int64"] as const) {
      const x = dx.tensor(at, { dtype: "int32", device }).to(kind);
      for (const fuse of ["off", "always"] as const) {
        const { results } = compiled(fuse, (i) => [dx.oneHot(i, SIZES[1]).to(dtype)], x);
        expect(results[0]).toEqual(rows);
      }
    }
  });

  it("are part of what reads them", () => {
    const x = dx.tensor(at, { dtype: "int32", device });
    const smooth = (i: dx.Tensor): dx.Tensor[] => [dx.oneHot(i, SIZES[1]).to("float32").mul(0.875).add(0.025).sum(0)];
    const expected = Array.from({ length: SIZES[1] }, (_, c) => 0.875 * at.filter((v) => v === c).length + 7 * 0.025);
    const { results, operators, inside } = compiled("always", smooth, x);
    results[0]!.forEach((v, i) => expect(v).toBeCloseTo(expected[i]!, 5));
    expect(inside).toContain("ONE_HOT");
    expect(operators).not.toContain("CAST");
    expect(operators.filter((operator) => operator === "SHADER").length).toBe(1);
  });

  it("stay int64 for other readers, and in another shape", () => {
    const x = dx.tensor(at, { dtype: "int32", device });
    const fn = (i: dx.Tensor): dx.Tensor[] => {
      const hot = dx.oneHot(i, SIZES[1]);
      return [hot, hot.to("float32").mul(2), hot.reshape(5, 7).to("float32"), hot.transpose(0, 1).to("float32"), hot.narrow(0, 1, 3).to("float32")];
    }; // prettier-ignore
    const across = Array.from({ length: 35 }, (_, i) => rows[(i % 7) * 5 + Math.floor(i / 7)]!);
    for (const fuse of ["off", "always"] as const)
      expect(compiled(fuse, fn, x).results).toEqual([rows, rows.map((v) => 2 * v), rows, across, rows.slice(5, 20)]);
  });

  it("are of the classes alone where indices are outside", () => {
    if (name === "cpu") return void expect(() => dx.oneHot(dx.tensor([9], { dtype: "int32", device }), 5)).toThrow(dx.IndexError);
    const x = dx.tensor([9, 1], { dtype: "int32", device });
    for (const fuse of ["off", "always"] as const)
      expect(compiled(fuse, (i) => [dx.oneHot(i, 5).to("float32")], x).results[0]).toEqual([0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
  });
});
