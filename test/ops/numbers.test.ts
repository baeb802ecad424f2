/**
 * Numbers at and beyond the limits of each dtype as arguments: stored ones outside the range are refused, operands of arithmetic wrap, limits of
 * clamp beyond the range have no effect. PyTorch 2.15 decided each case (recorded/numbers.json; null: it refuses).
 */
import { readFileSync } from "node:fs";
import { expect, it, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, isMicrosoft } from "../device.ts";
import { share } from "../share.ts";

type Value = string | number | boolean;
type Case = readonly [
  number: string,
  result: readonly [values: Value | readonly Value[] | readonly (readonly Value[])[], dtype: dx.DType] | null,
];
const recorded = JSON.parse(readFileSync(new URL("recorded/numbers.json", import.meta.url), "utf8")) as Readonly<
  Record<string, Readonly<Record<string, readonly Case[]>>>
>;
const NAMES: Readonly<Record<string, dx.DType>> = {
  u8: "uint8",
  i8: "int8",
  i16: "int16",
  i32: "int32",
  i64: "int64",
  f16: "float16",
  bf16: "bfloat16",
  f32: "float32",
  bool: "bool",
};

const mask = (): dx.Tensor => dx.tensor([true, false]);
const first = (): dx.Tensor => dx.tensor([0], { dtype: "int64" });
const changed = (x: dx.Tensor, change: (y: dx.Tensor) => unknown): dx.Tensor => {
  const y = x.clone();
  change(y);
  return y;
};
const row = (x: dx.Tensor): dx.Tensor => x.reshape([1, 2]);
const twice = (x: dx.Tensor): dx.Tensor => dx.stack([x, x]);

type Call = (x: dx.Tensor, v: number) => dx.Tensor;
const CALLS: Readonly<Record<string, Call>> = {
  add: (x, v) => dx.add(x, v),
  sub: (x, v) => dx.sub(x, v),
  rsub: (x, v) => dx.sub(v, x),
  mul: (x, v) => dx.mul(x, v),
  div: (x, v) => dx.div(x, v),
  floordiv: (x, v) => dx.floorDivide(x, v),
  truncdiv: (x, v) => dx.div(x, v, { roundingMode: "trunc" }),
  remainder: (x, v) => dx.remainder(x, v),
  rremainder: (x, v) => dx.remainder(v, x),
  fmod: (x, v) => dx.fmod(x, v),
  pow: (x, v) => dx.pow(x, v),
  rpow: (x, v) => dx.pow(v, x),
  eq: (x, v) => dx.eq(x, v),
  ne: (x, v) => dx.ne(x, v),
  lt: (x, v) => dx.lt(x, v),
  ge: (x, v) => dx.ge(x, v),
  gt: (x, v) => dx.gt(x, v),
  clampmin: (x, v) => dx.clamp(x, v),
  clampmax: (x, v) => dx.clamp(x, null, v),
  clamp_min: (x, v) => dx.clampMin(x, v),
  clamp_: (x, v) => changed(x, (y) => y.clamp_(v)),
  clampboth: (x, v) => dx.clamp(x, 0, v),
  clampboth2: (x, v) => dx.clamp(x, v, 5),
  masked_fill: (x, v) => dx.maskedFill(x, mask(), v),
  zero_masked: (x, v) => changed(x, (y) => y.maskedFill_(mask(), v)),
  index_fill: (x, v) => dx.indexFill(x, 0, first(), v),
  scatter: (x, v) => dx.scatter(x, 0, first(), v),
  scatter_add: (x, v) => dx.scatter(x, 0, first(), v, { reduce: "add" }),
  where: (x, v) => dx.where(mask(), x, v),
  whereB: (x, v) => dx.where(mask(), v, x),
  pad: (x, v) => dx.pad(x, [1, 0], { value: v }),
  setitem: (x, v) => changed(x, (y) => y.set([0], v)),
  setmask: (x, v) => changed(x, (y) => y.set([mask()], v)),
  setidx: (x, v) => changed(x, (y) => y.set([dx.tensor([1], { dtype: "int64" })], v)),
  and: (x, v) => dx.bitwiseAnd(x, v),
  or: (x, v) => dx.bitwiseOr(x, v),
  shl: (x, v) => dx.bitwiseLeftShift(x, v),
  threshold: (x, v) => dx.threshold(x, v, v),
  hardtanh: (x, v) => dx.hardtanh(x, { minVal: 0, maxVal: v }),
  lerp: (x, v) => dx.lerp(x, x, v),
  addcmul: (x, v) => dx.addcmul(x, x, x, { value: v }),
  addcdiv: (x, v) => dx.addcdiv(x, x, x, { value: v }),
  add_: (x, v) => changed(x, (y) => y.add_(v)),
  mul_: (x, v) => changed(x, (y) => y.mul_(v)),
  floor_div_: (x, v) => changed(x, (y) => y.floorDivide_(v)),
  isin: (x, v) => dx.isin(x, v),
  xlogy: (x, v) => dx.xlogy(x, v),
  copysign: (x, v) => dx.copysign(x, v),
  nan_to_num: (x, v) => dx.nanToNum(x, { nan: v, posinf: v, neginf: v }),
  arange: (x, v) => dx.arange(v, v + 2, { dtype: x.dtype }),
  arange_end: (x, v) => dx.arange(v - 2, v, { dtype: x.dtype }),
  arange_step: (x, v) => dx.arange(0, 2 * v, v, { dtype: x.dtype }),
  linspace: (x, v) => dx.linspace(0, v, 3, { dtype: x.dtype }),
  linspace0: (x, v) => dx.linspace(v, 0, 3, { dtype: x.dtype }),
  addmm: (x, v) => dx.addmm(row(x), row(x), twice(x), { beta: v }),
  baddbmm: (x, v) => dx.addmv(x, twice(x), x, { alpha: v }),
  full_like: (x, v) => dx.fullLike(x, v),
  full: (x, v) => dx.full([2], v, { dtype: x.dtype }),
  fill_: (x, v) => changed(x, (y) => y.fill_(v)),
  tensor: (x, v) => dx.tensor([v, v], { dtype: x.dtype }),
  scalar_tensor: (x, v) => dx.scalarTensor(v, { dtype: x.dtype }),
  new_full: (x, v) => x.newFull([2], v),
  fmax: (x, v) => dx.maximum(x, v),
  hist: (x, v) => dx.histc(x, { bins: 2, min: 0, max: v }),
  random_: (x, v) => changed(x, (y) => y.random_(v > 0 ? v - 1 : v, v > 0 ? v + 1 : v + 2)),
  heaviside: (x, v) => dx.heaviside(x, dx.tensor(v, { dtype: x.dtype })),
};

/** A bigint where a number has not its digits, and where it stands for a real number. */
const numberOf = (text: string): number =>
  /^-?\d+$/.test(text) && (BigInt(Number(text)) !== BigInt(text) || BigInt(text) >= 2n ** 64n) ? (BigInt(text) as never) : Number(text);
const asNumbers = (v: unknown): unknown => (Array.isArray(v) ? v.map(asNumbers) : Number(v));

const TOP = new Set([65504, Infinity]);

/**
 * Microsoft's library on a GPU cuts float16 results off, or lets them go past 65504 too early, as the driver does; and a quotient of float32
 * that is a unit off is as much as the number's own last place in a remainder.
 */
const isDriverRounding = (got: number, expected: number, dtype: dx.DType, operand: number): boolean =>
  dtype === "float16"
    ? (TOP.has(Math.abs(got)) && TOP.has(Math.abs(expected)) && Math.sign(got) === Math.sign(expected)) ||
      Math.abs(got - expected) <= 2 ** -10 * Math.abs(expected) + 2 ** -24
    : (dtype === "float32" || dtype === "bfloat16") && Math.abs(got - expected) <= 2 ** -23 * Math.abs(operand);

function expectSame(result: dx.Tensor, [values, dtype]: NonNullable<Case[1]>, operand: number, onMicrosoft: boolean): void {
  expect(result.dtype).toBe(dtype);
  const got = [asNumbers(result.toArraySync())].flat(3) as number[];
  const expected = [asNumbers(values)].flat(3) as number[];
  expect(got.length).toBe(expected.length);
  // float32's digits of a quotient.
  expected.forEach((v, i) => {
    if (onMicrosoft && isDriverRounding(got[i]!, v, dtype, operand)) return;
    if (Number.isFinite(v) && dtype.includes("float")) expect(Math.abs(got[i]! - v)).toBeLessThanOrEqual(2e-6 * Math.abs(v) + 2 ** -126);
    else expect(got[i]).toEqual(v);
  });
}

eachMode("a number near its dtype's limits", (device, mode) => {
  it("has all recorded calls", () => expect(Object.keys(recorded).toSorted()).toEqual(Object.keys(CALLS).toSorted()));
  it.each(Object.keys(CALLS))("%s", (name) =>
    clean(device, () => {
      let cases = 0;
      for (const [short, list] of Object.entries(recorded[name]!))
        // Compiled, every second number unless all are asked for.
        for (const [text, expected] of share(list, mode.name === "compiled" ? 6 : 3)) {
          const v = numberOf(text);
          const x = dx.tensor(short === "bool" ? [1, 0] : [1, 2], { dtype: NAMES[short]! });
          const run = (): dx.Tensor => mode.run((t) => CALLS[name]!(t!, v), x);
          cases++;
          try {
            if (expected === null) expect(run).toThrow(dx.DxError);
            else expectSame(run(), expected, Number(v), isMicrosoft(device));
          } catch (error) {
            throw new Error(`${name} of ${short} and ${text}`, { cause: error });
          }
        }
      expect(cases).toBeGreaterThan(0);
    }),
  );
});

const BEYOND: readonly [dx.DType, number | bigint][] = [
  ["uint8", 256],
  ["uint8", -256],
  ["int8", 128],
  ["int8", -129],
  ["uint16", 2 ** 16],
  ["int16", 40000],
  ["uint32", 2 ** 32],
  ["int32", 2 ** 31],
  ["int32", -(2 ** 31) - 1],
  ["uint64", 2 ** 64],
  ["int64", 2 ** 63],
  ["int64", 2n ** 63n],
  ["int64", -(2n ** 63n) - 1n],
  ["int64", 2 ** 64],
  ["int32", NaN],
  ["uint8", Infinity],
];

eachDevice("data beyond a dtype", () => {
  it.each(BEYOND)("%s does not hold %s: lists, typed arrays, bigints", (dtype, v) => {
    expect(() => dx.tensor([[0, v]], { dtype })).toThrow(`tensor: data must be a number that ${dtype} can represent; received ${v}`);
    expect(() => dx.tensor(v, { dtype })).toThrow(dx.DTypeError);
    expect(() => dx.full([2], v, { dtype })).toThrow(`full: value must be a number that ${dtype} can represent`);
    if (typeof v === "number") expect(() => dx.tensor(Float64Array.of(0, v), { dtype })).toThrow(dx.DTypeError);
    else if (v >= 0) expect(() => dx.tensor(BigUint64Array.of(v), { dtype })).toThrow(dx.DTypeError);
  });

  test("what float32 does not hold is infinite as an element, and no number to fill with", () => {
    expect(dx.tensor([1e40]).toArraySync()).toEqual([Infinity]);
    expect(dx.tensor([1]).add(1e40).toArraySync()).toEqual([Infinity]);
    expect(() => dx.full([2], 1e40)).toThrow("full: value must be a number that float32 can represent; received 1e+40.");
  });

  test("arithmetic with a bigint wraps by all its digits", () => {
    const x = dx.tensor([1, 2], { dtype: "uint8" });
    expect(x.add(2n ** 60n + 1n).toArraySync()).toEqual([2, 3]);
  });

  test("a number beyond 64 bits is a real one", () => {
    const x = dx.tensor([1, 2], { dtype: "int64" }).add(1e20);
    expect([x.dtype, x.toArraySync()]).toEqual(["float32", [Math.fround(1e20), Math.fround(1e20)]]);
    expect(dx.where(dx.tensor([true, false]), 0, 1e30).toArraySync()).toEqual([0, Math.fround(1e30)]);
    expect(() => dx.tensor([1], { dtype: "int64" }).add(2n ** 64n)).toThrow(dx.DTypeError);
  });

  test("half precision times a number that it does not hold", () => {
    const x = dx.tensor([0.5, -0.25], { dtype: "float16", requiresGrad: true });
    const y = x.mul(100000);
    expect(y.toArraySync()).toEqual([49984, -24992]);
    const z = y.div(131072);
    z.sum().backward();
    expect(z.toArraySync()).toEqual([0.38134765625, -0.190673828125]);
    expect(x.grad!.toArraySync()).toEqual([0.7626953125, 0.7626953125]);
  });

  test("arange is int64 where int32 does not hold its numbers", () => {
    expect(dx.arange(3).dtype).toBe("int32");
    const x = dx.arange(2 ** 31 - 1, 2 ** 31 + 1);
    expect([x.dtype, x.toArraySync()]).toEqual(["int64", [2n ** 31n - 1n, 2n ** 31n]]);
  });
});

eachDevice("the number of a 64-bit integer", () => {
  test("item() gives it exactly or refuses", async () => {
    const long = (v: bigint, dtype: dx.DType = "int64"): dx.Tensor => dx.tensor(v, { dtype });
    expect(await long(2n ** 53n).item()).toBe(2 ** 53);
    expect(long(-(2n ** 53n)).itemSync()).toBe(-(2 ** 53));
    const text = 'received 9007199254740993n. item("int64") gives a bigint.';
    await expect(long(2n ** 53n + 1n).item()).rejects.toThrow(text);
    expect(() => long(2n ** 63n, "uint64").itemSync()).toThrow(dx.ValueError);
    const exact: bigint = await long(2n ** 53n + 1n).item("int64");
    expect(exact).toBe(2n ** 53n + 1n);
    const all: bigint = long(2n ** 64n - 1n, "uint64").itemSync("uint64");
    expect(all).toBe(2n ** 64n - 1n);
    expect(dx.tensor(2.5).itemSync("float32")).toBe(2.5);
    expect(() => dx.tensor(2.5).itemSync("int64")).toThrow(dx.DTypeError);
    expect(dx.isNonzeroSync(long(2n ** 60n))).toBe(true);
    expect(await dx.isNonzero(long(2n ** 60n))).toBe(true);
  });
});
