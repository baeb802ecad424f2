import { describe, expect, test } from "vitest";
import { Builder } from "../../src/shader/builder.ts";
import type { Value } from "../../src/shader/ir.ts";
import { KnownOperations } from "../../src/shader/known-operations.ts";

const value = (id: number): Value => ({ id, type: "u32", leaf: null });
const COUNT = 3000;

describe("known operations", () => {
  test("each is found by its name and arguments, however many there are", () => {
    const known = new KnownOperations();
    const values = Array.from({ length: COUNT + 1 }, (_, i) => value(i));
    for (let i = 0; i < COUNT; i++)
      known.add({ kind: "operate", name: "add.u32", args: [values[i]!, values[i + 1]!], result: value(COUNT + i) });
    for (let i = 0; i < COUNT; i++) {
      expect(known.find("add.u32", [values[i]!, values[i + 1]!])?.result.id).toBe(COUNT + i);
      expect(known.find("mul.u32", [values[i]!, values[i + 1]!])).toBeNull();
      expect(known.find("add.u32", [values[i + 1]!, values[i]!])).toBeNull();
    }
  });

  test("those that were added last are forgotten, all others stay", () => {
    const known = new KnownOperations();
    const x = value(0);
    const args = Array.from({ length: COUNT }, (_, i) => value(i));
    for (const [i, v] of args.entries()) known.add({ kind: "operate", name: "add.u32", args: [x, v], result: value(i) });
    known.shrink(1000);
    expect(known.size).toBe(1000);
    for (const [i, v] of args.entries()) expect(known.find("add.u32", [x, v]) !== null).toBe(i < 1000);
  });
});

describe("equal operations of a builder", () => {
  test("are one value in their block and in those inside, and computed again behind it", () => {
    const b = new Builder();
    const [i, n] = [b.index("local"), b.value("u32")];
    const outer = b.operate("mul.u32", i, n);
    const inner: Value[] = [];
    b.block(() => {
      inner.push(b.operate("mul.u32", i, n), b.operate("add.u32", i, n));
      b.block(() => inner.push(b.operate("add.u32", i, n)));
    });
    expect(inner[0]).toBe(outer);
    expect(inner[2]).toBe(inner[1]);
    expect(b.operate("add.u32", i, n)).not.toBe(inner[1]);
    expect(b.madeBy(outer)?.args).toEqual([i, n]);
    expect(b.madeBy(i)).toBeUndefined();
  });

  test("are told apart by the sign of zero and by their type", () => {
    const b = new Builder();
    expect(b.constant("f32", -0)).not.toBe(b.constant("f32", 0));
    expect(b.constant("f32", NaN)).toBe(b.constant("f32", NaN));
    expect(b.constant("u32", 1)).not.toBe(b.constant("i32", 1));
    const x = b.value("f32");
    expect(b.operate("add.f32", x, b.constant("f32", 0))).not.toBe(b.operate("add.f32", x, b.constant("f32", -0)));
  });
});
