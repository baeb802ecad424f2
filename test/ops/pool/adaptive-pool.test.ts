/** Adaptive pooling of unequal windows: NaN stays in the windows that contain it. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachMode } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

/** Means by the definition: window i reaches from floor(i I / O) to ceil((i + 1) I / O). */
const means = (x: readonly number[], output: number): number[] =>
  Array.from({ length: output }, (_, i) => {
    const part = x.slice(Math.floor((i * x.length) / output), Math.ceil(((i + 1) * x.length) / output));
    return part.reduce((a, b) => a + b, 0) / part.length;
  });

eachMode("adaptive means", (_device, mode) => {
  it("are of their own windows alone, with NaN and infinities elsewhere", () => {
    for (const special of [NaN, Infinity, -Infinity, 7])
      for (const input of [5, 7, 12])
        for (const output of [1, 2, 3, 5, 9])
          for (let at = 0; at < input; at += 2) {
            const data = Array.from({ length: input }, (_, i) => (i === at ? special : i + 1));
            const found = mode.run((x) => dx.adaptiveAvgPool1d(x, output), dx.tensor([[data]]));
            expectClose(found.reshape(-1), means(data, output));
          }
  });

  it("give a gradient that is not a number to their own elements alone", () => {
    const x = dx.ones([1, 1, 7], { requiresGrad: true });
    const dy = dx.tensor([[[1, NaN, 3]]]);
    const gradient = mode.run((g) => dx.grad(dx.adaptiveAvgPool1d(x, 3), [x], { gradient: g })[0]!, dy);
    const third = 1 / 3;
    expectClose(gradient.reshape(-1), [third, third, NaN, NaN, NaN, 1, 1]);
  });

  it("along two axes, in half precision too", () => {
    const data = Array.from({ length: 35 }, (_, i) => ((i * 7) % 11) - 5);
    const rows = Array.from({ length: 5 }, (_, r) => means(data.slice(7 * r, 7 * r + 7), 3));
    const wanted = [0, 1].flatMap((i) => rows[0]!.map((__, c) => means(rows.map((r) => r[c]!), 2)[i]!)); // prettier-ignore
    const shaped = dx.tensor(data).reshape(1, 1, 5, 7);
    expectClose(mode.run((x) => dx.adaptiveAvgPool2d(x, [2, 3]), shaped).reshape(-1), wanted);
    const half = mode.run((x) => dx.adaptiveAvgPool2d(x, [2, 3]), shaped.to("float16"));
    expect(half.dtype).toBe("float16");
    expectClose(half.reshape(-1), wanted);
  });
});
