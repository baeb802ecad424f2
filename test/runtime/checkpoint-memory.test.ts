/** The memory of checkpoint(), and of chains of layers. It reads the peak of its process, so it is in a folder whose files have one each (vitest.config.ts). */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const MEGABYTE = 2 ** 20;
const block = (x: dx.Tensor): dx.Tensor => x.sin().cos().exp().sin().cos().tanh();
const blocks = [block, block, block, block, block, block];

/** Megabytes of tensors after the forward pass and at the peak of both, and the gradient. */
function megabytes(forward: (x: dx.Tensor) => dx.Tensor): { readonly live: number; readonly peak: number; readonly grad: number[] } {
  return dx.scope(() => {
    const x = dx.full([512, 512], 0.3, { device: "cpu", requiresGrad: true });
    const y = dx.scope(() => forward(x).sum());
    const live = dx.memoryStatistics("cpu").liveInBytes / MEGABYTE;
    y.backward();
    const grad = dx.scope(() => numbers(x.grad!.slice(0, 0, 1)));
    x.grad!.dispose();
    return { live, peak: dx.memoryStatistics("cpu").peakInBytes / MEGABYTE, grad };
  });
}

test("keeps the inputs of each block, and one block's tensors at a time", () =>
  clean("cpu", () => {
    const saving = megabytes((x) => blocks.reduce((h, fn) => dx.checkpoint(fn, h), x));
    const plain = megabytes((x) => blocks.reduce((h, fn) => fn(h), x));
    // The inputs of six blocks, a megabyte each; else what 36 operations save.
    expect(saving.live).toBeLessThan(7);
    expect(plain.live).toBeGreaterThan(24);
    // Both passes hold the same gradients.
    expect(plain.peak - saving.peak).toBeGreaterThan(15);
    expectClose(dx.tensor(saving.grad), plain.grad);
  }));
