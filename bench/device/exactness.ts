/** A device's results for NaN in comparisons and for float32 to float16: by shaders in several forms, and by DirectML. */
import * as dx from "dxtensor";
import type { Figure } from "./kernels.ts";

/** Numbers and the bits of their nearest halves. */
const HALVES: readonly (readonly [number, number])[] = [
  [0, 0], [-0, 0x8000], [1, 0x3c00], [65504, 0x7bff], [65519.99, 0x7bff], [65520, 0x7c00], [1e30, 0x7c00], [Infinity, 0x7c00],
  [1 + 2 ** -11, 0x3c00], [1 + 3 * 2 ** -11, 0x3c02], [1 + 2 ** -11 + 2 ** -20, 0x3c01], [1.0007, 0x3c01], [-20.65, 0xcd2a], [62.4, 0x53cd],
  [2 ** -14, 0x0400], [2 ** -14 - 2 ** -26, 0x0400], [2 ** -24, 0x0001], [2 ** -25, 0], [2 ** -25 * 1.5, 0x0001], [3 * 2 ** -25, 0x0002],
]; // prettier-ignore

/** What relu is given, and gives where NaN stays. */
const SPECIAL = [NaN, 1, -1, Infinity, -Infinity, 1e-30, -1e-30, 0];
const KEPT = [NaN, 1, 0, Infinity, 0, 1e-30, 0, 0].map(Math.fround);

const reluOf = (name: string, fn: (x: dx.Float) => dx.Float): ((x: dx.Tensor) => dx.Tensor) => {
  const relu = dx.shader({ name, inputs: { x: "float32" }, outputs: { y: "float32" }, threads: 32 }, (s) => {
    s.buffers.y.store(s.thread, fn(s.buffers.x.load(s.thread)));
  });
  return (x) => relu({ x }).y;
};

const halfOf = dx.shader({ name: "half", inputs: { x: "float32" }, outputs: { y: { dtype: "float16" } }, threads: 32 }, (s) => {
  s.buffers.y.store(s.thread, s.buffers.x.load(s.thread));
});
const halvesOf = dx.shader({ name: "halves", inputs: { x: "float32" }, outputs: { y: "float16" }, threads: 32, each: 2 }, (s) => {
  s.buffers.y.stores(s.thread.mul(2), s.buffers.x.loads(s.thread.mul(2), 2));
});

export async function measureExactness(device: dx.Device, add: (f: Figure) => void): Promise<void> {
  const differing = async (name: string, expected: readonly number[], made: dx.Tensor): Promise<void> => {
    const got = (await made.to("float32").toArray()) as number[];
    const wrong = got.flatMap((x, i) => (Object.is(x, expected[i]) || x === expected[i] ? [] : [`${x} for ${expected[i]}`]));
    if (wrong.length > 0) console.error(`  ${name}: ${wrong.join(", ")}`);
    add({ name, value: wrong.length, unit: `wrong of ${expected.length}` });
  };
  const before = process.env.DXTENSOR_SHADERS;
  process.env.DXTENSOR_SHADERS = "off";
  try {
    const special = dx.tensor(SPECIAL, { device });
    const forms: readonly (readonly [string, (x: dx.Tensor) => dx.Tensor])[] = [
      ["x < 0 ? 0 : x", reluOf("less", (x) => x.lt(0).select(0, x))],
      ["x >= 0 ? x : NaN or 0", reluOf("least", (x) => x.isNaN().select(x, x.max(0)))],
      ["by its bits", reluOf("bits", (x) => x.bits().sub(0x80000000).lt(0x7f800001).select(0, x))],
      ["DirectML", dx.relu],
    ];
    for (const [name, relu] of forms) await differing(`relu of NaN, ${name}`, KEPT, relu(special));
    const numbers = dx.tensor(HALVES.map(([x]) => x), { device }); // prettier-ignore
    const bits = dx.tensor(Uint16Array.from(HALVES, ([, half]) => half), { dtype: "float16", device }); // prettier-ignore
    const halves = (await bits.to("float32").toArray()) as number[];
    await differing("float16, element by element", halves, halfOf({ x: numbers }).y);
    await differing("float16, two at a time", halves, halvesOf({ x: numbers }).y);
    await differing("float16, DirectML", halves, numbers.to("float16"));
    process.env.DXTENSOR_SHADERS = "on";
    dx.closeDevice(device);
    await differing("float16, the library's shader", halves, dx.tensor(HALVES.map(([x]) => x), { device }).to("float16")); // prettier-ignore
    await differing("relu of NaN, the library's shader", KEPT, dx.relu(dx.tensor(SPECIAL, { device })));
  } finally {
    if (before === undefined) delete process.env.DXTENSOR_SHADERS;
    else process.env.DXTENSOR_SHADERS = before;
    dx.closeDevice(device);
  }
}
