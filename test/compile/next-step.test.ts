import { expect, it } from "vitest";
import { Placeholders, CallArguments } from "../../src/compile/arguments.ts";
import { Step, madeAs, type Constant, type Region, type Scalar } from "../../src/compile/log.ts";
import { nextAssignment, nextConstant, nextHeldScalar, nextRegion, nextScalar } from "../../src/compile/next-step.ts";
import { operand } from "../../src/compile/operand.ts";
import * as dx from "../../src/index.ts";

const t = dx.tensor([1, 2]);
const device = t.device;
const output = madeAs(t, true);
const scalar = (value: number, holder: Scalar["holder"] = null): Scalar => ({
  kind: "scalar",
  device,
  dtype: "float32",
  value,
  varies: false,
  holder,
  output,
});

it("a number of the function's is found whatever its value, by dtype; a held one by its holder", () => {
  const owner = {};
  const root = new Step(null, null);
  const own = root.add(scalar(3));
  const held = root.add(scalar(3, { owner, index: 1 }));
  expect([nextScalar(root, device, "float32"), nextScalar(root, device, "int32")]).toEqual([own, null]);
  expect([0, 1].map((index) => nextHeldScalar(root, device, owner, index))).toEqual([null, held]);
  expect(nextHeldScalar(root, device, {}, 1)).toBe(null);
  expect(nextScalar(own, device, "float32")).toBe(null);
});

it("data are found by dtype and shape, writes by both tensors", () => {
  const root = new Step(null, null);
  const constant: Constant = { kind: "constant", device, dtype: "float32", shape: [2], bytes: new Uint8Array(8), output };
  const step = root.add(constant);
  expect([nextConstant(root, device, "float32", [2]), nextConstant(root, device, "float32", [1, 2])]).toEqual([step, null]);
  const [a, b] = [dx.ones([2]), dx.ones([2])];
  const write = root.add({ kind: "assign", target: operand(a), source: operand(b), origin: "assign" });
  expect([nextAssignment(root, a, b), nextAssignment(root, b, a)]).toEqual([write, null]);
});

it("a region applies or not; one with user code is found in any case", () => {
  const root = new Step(null, null);
  const owner = {};
  const fields = { owner, tensors: [operand(t)], guards: [1, { a: 2 }] };
  const region = root.add({ ...fields, kind: "region" } as unknown as Region);
  expect(nextRegion(root, owner, [t], [1, { a: 2 }], () => true)).toBe(region);
  expect(nextRegion(root, owner, [t], [1, { a: 2 }], () => false)).toBe(null);
  expect(nextRegion(root, owner, [t], [1, { a: 3 }], () => true)).toBe(null);
  expect(nextRegion(root, {}, [t], [1, { a: 2 }], () => true)).toBe(null);
  const retraced = root.add({ ...fields, kind: "retraced" });
  expect(nextRegion(root, owner, [t], [1, { a: 2 }], () => false)).toBe(retraced);
});

it("a placeholder is another tensor than its argument", () => {
  const args = new CallArguments([t], () => false, "any");
  const stand = new Placeholders(args, {}).tensors[0]!;
  const root = new Step(null, null);
  root.add({ kind: "assign", target: operand(stand), source: operand(stand), origin: "assign" });
  expect(nextAssignment(root, t, t)).toBe(null);
});
