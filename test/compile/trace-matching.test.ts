/** Two recordings of a function, of two sizes, become one program where they are alike in all but the sizes. */
import { expect, it } from "vitest";
import { isPaddable } from "../../src/compile/trace-matching.ts";
import { own } from "../../src/core/definition.ts";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

const definition = (name: string) => own.find((d) => d.name === name)!;

it("operations can be padded that are elementwise, or have a rule that leaves padding out", () => {
  for (const name of ["add", "tanh", "cat", "scatter"]) expect([name, isPaddable(definition(name))]).toEqual([name, true]);
  expect(isPaddable(definition("dft"))).toBe(false);
});

eachDevice("two sizes of one function", () => {
  const ones = (n: number): dx.Tensor => dx.ones([n, 2]);

  it("share a program where their recordings are alike", () => {
    const f = dx.compile((x: dx.Tensor) => x.mul(x.shape[0]!).sum(0), { dynamic: [[0]] });
    for (const n of [5, 7, 6, 8]) expect(f(ones(n)).toArraySync()).toEqual([n * n, n * n]);
    // The first size has its own until another comes.
    expect(f.programs).toBe(2);
  });

  it("have programs of their own where one does more", () => {
    const f = dx.compile((x: dx.Tensor) => (x.shape[0]! > 6 ? x.add(1).sum(0) : x.sum(0)), { dynamic: [[0]] });
    for (const n of [5, 7, 6, 8]) expect(f(ones(n)).toArraySync()).toEqual(n > 6 ? [2 * n, 2 * n] : [n, n]);
    expect(f.programs).toBeGreaterThan(1);
  });
});
