/** The software adapter keeps the prepacked form of a convolution filter until something writes to the filter: every way of writing is seen. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

const ROWS = 20;
const SIZE = 13;
/** Few channels are summed in order, more by Winograd's tiles. */
const CHANNELS = [18, 40];

const numbers = (count: number, seed: number): Float32Array => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.7 + seed));

const filterOf = (seed: number, channels: number): dx.Tensor =>
  dx.tensor(numbers(ROWS * channels * 9, seed), { shape: [ROWS, channels, 3, 3] });
const imageOf = (seed: number, channels: number): dx.Tensor =>
  dx.tensor(numbers(2 * channels * SIZE * SIZE, seed), { shape: [2, channels, SIZE, SIZE] });

const bytesOf = (t: dx.Tensor): Buffer => Buffer.from(Float32Array.from(t.dataSync() as Float32Array).buffer);

/** The same with tensors that no kernel has seen. */
function eagerBytes(image: dx.Tensor, filter: dx.Tensor): Buffer {
  const again = (t: dx.Tensor): dx.Tensor => dx.tensor(t.dataSync() as Float32Array, { shape: t.shape });
  return bytesOf(dx.conv2d(again(image), again(filter), null, { padding: 1 }));
}

/** Three calls, so that the prepacked filter is made and used; each as with new tensors. */
function agrees(f: (image: dx.Tensor) => dx.Tensor, filter: dx.Tensor): void {
  for (let call = 0; call < 3; call++) {
    const image = imageOf(call, filter.shape[1]!);
    expect(bytesOf(f(image)).equals(eagerBytes(image, filter))).toBe(true);
  }
}

for (const [form, made] of [
  ["eager", (f: (image: dx.Tensor) => dx.Tensor) => f],
  ["compiled", (f: (image: dx.Tensor) => dx.Tensor) => dx.compile(f)],
  ["replayed", (f: (image: dx.Tensor) => dx.Tensor) => dx.compile(f, { lists: 3 })],
] as const)
  it(`${form}: a filter that is written between calls is taken as it is`, () => {
    dx.withDevice("cpu", () => {
      for (const channels of CHANNELS) {
        const filter = filterOf(1, channels);
        const f = made((image) => dx.conv2d(image, filter, null, { padding: 1 }));
        agrees(f, filter);
        filter.mul_(-2);
        agrees(f, filter);
        filter.copy_(filterOf(5, channels));
        agrees(f, filter);
        filter.slice(0, 3, 4).fill_(7);
        agrees(f, filter);
        filter.narrow(2, 1, 1).zero_();
        agrees(f, filter);
      }
    });
  });

it("an optimizer's steps between calls are seen, eagerly and compiled", () => {
  dx.withDevice("cpu", () => {
    for (const compiled of [false, true]) {
      const filter = filterOf(2, 18).requiresGrad_();
      const optimizer = new dx.optim.SGD([filter], { lr: 0.1 });
      const step = (image: dx.Tensor): dx.Tensor => {
        optimizer.zeroGrad();
        const loss = dx.conv2d(image, filter, null, { padding: 1 }).square().mean();
        loss.backward();
        optimizer.step();
        return loss;
      };
      const run = compiled ? dx.compile(step) : step;
      const f = dx.compile((image: dx.Tensor) => dx.conv2d(image, filter.detach(), null, { padding: 1 }));
      for (let i = 0; i < 3; i++) {
        agrees(f, filter.detach());
        run(imageOf(i, 18)).itemSync();
        agrees(f, filter.detach());
      }
    }
  });
});

it("memory that was freed and taken again has its new content", () => {
  dx.withDevice("cpu", () => {
    for (let i = 0; i < 6; i++)
      dx.scope(() => {
        const filter = filterOf(i, 40);
        agrees((image) => dx.conv2d(image, filter, null, { padding: 1 }), filter);
      });
  });
});

it("filters of one convolution, taken in turn, stay apart", () => {
  dx.withDevice("cpu", () => {
    const filters = [filterOf(1, 40), filterOf(2, 40), filterOf(3, 40)];
    const image = imageOf(4, 40);
    const expected = filters.map((filter) => eagerBytes(image, filter));
    for (let call = 0; call < 3; call++)
      filters.forEach((filter, i) => expect(bytesOf(dx.conv2d(image, filter, null, { padding: 1 })).equals(expected[i]!)).toBe(true));
  });
});
