/** Linear interpolation compared with PyTorch's in float64 (../recorded/interpolate.json): values, gradients, those of gradients. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, eachMode, numbers } from "../../device.ts";
import { gradgradcheck, leaf } from "../../gradgrad.ts";
import { expectClose } from "../../tolerance.ts";

interface Recorded {
  readonly shape: readonly number[];
  readonly mode: "linear" | "bilinear" | "trilinear";
  readonly options: {
    readonly size?: number | readonly number[];
    readonly scale_factor?: number | readonly number[];
    readonly align_corners?: boolean;
    readonly recompute_scale_factor?: boolean;
  };
  readonly y: readonly number[];
  readonly size: readonly number[];
  readonly grad: readonly number[];
}
const recorded = JSON.parse(readFileSync(new URL("../recorded/interpolate.json", import.meta.url), "utf8")) as readonly Recorded[];

const wave = (shape: readonly number[], fn: (i: number) => number): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => fn(i)),
    { shape },
  );
const bound = { rtol: 2e-5, atol: 1e-5 };

eachMode("interpolate", (device, mode) => {
  for (const { shape, mode: kind, options: o, y, size, grad } of recorded)
    test(`${kind} of [${shape.join(", ")}] ${JSON.stringify(o)}`, () => {
      const options: dx.InterpolateOptions = {
        mode: kind,
        size: o.size,
        scaleFactor: o.scale_factor,
        alignCorners: o.align_corners,
        recomputeScaleFactor: o.recompute_scale_factor,
      };
      const run = (x: dx.Tensor, w: dx.Tensor): readonly [dx.Tensor, dx.Tensor] => {
        const result = dx.interpolate(x, options);
        return [result, dx.grad(dx.sum(dx.mul(result, w)), [x])[0]!];
      };
      const x = wave(shape, (i) => Math.sin(1.3 * i));
      const [result, gradient] = mode.run(run, x.requiresGrad_(), wave(size, Math.cos));
      expect(result.shape).toEqual(size);
      expectClose(result, [...y], bound);
      expectClose(gradient, [...grad], bound);
    });
});

eachMode("interpolate by whole factors", (device, mode) => {
  for (const kind of ["nearest", "nearest-exact"] as const)
    for (const [shape, factors] of [
      [[2, 3, 5], [4]],
      [
        [2, 2, 3, 4],
        [2, 3],
      ],
      [
        [1, 2, 3, 4],
        [1, 7],
      ],
      [
        [1, 2, 2, 3, 2],
        [2, 1, 3],
      ],
    ] as const)
      test(`${kind} of [${shape.join(", ")}] by ${factors.join(", ")}`, () => {
        const size = factors.map((f, i) => f * shape[i + 2]!);
        const run = (x: dx.Tensor, w: dx.Tensor, dy: dx.Tensor): readonly dx.Tensor[] => {
          const y = dx.interpolate(x, { size, mode: kind });
          const g = dx.grad(dx.sum(dx.mul(dx.mul(y, y), w)), [x], { createGraph: true })[0]!;
          return [y, g, dx.grad(dx.sum(dx.mul(g, dy)), [x])[0]!];
        };
        const repeated = (t: dx.Tensor): dx.Tensor => factors.reduce((r, f, i) => dx.repeatInterleave(r, f, i + 2), t);
        const byRepeats = (x: dx.Tensor, w: dx.Tensor, dy: dx.Tensor): readonly dx.Tensor[] => {
          const y = repeated(x);
          const g = dx.grad(dx.sum(dx.mul(dx.mul(y, y), w)), [x], { createGraph: true })[0]!;
          return [y, g, dx.grad(dx.sum(dx.mul(g, dy)), [x])[0]!];
        };
        for (const dtype of ["float32", "float16"] as const) {
          const x = wave(shape, (i) => Math.sin(1.3 * i)).to(dtype);
          const w = wave([...shape.slice(0, 2), ...size], Math.cos).to(dtype);
          const dy = wave(shape, (i) => Math.cos(2 * i)).to(dtype);
          const got = mode.run(run, x.clone().requiresGrad_(), w, dy);
          const want = byRepeats(x.clone().requiresGrad_(), w, dy);
          expect(numbers(got[0]!)).toEqual(numbers(want[0]!));
          const near = dtype === "float32" ? { rtol: 1e-5, atol: 1e-5 } : { rtol: 1e-2, atol: 2e-2 };
          for (const i of [1, 2]) expectClose(got[i]!, numbers(want[i]!), near);
        }
        const whole = wave(shape, (i) => i % 7).to("int32");
        expect(numbers(dx.interpolate(whole, { size, mode: kind }))).toEqual(numbers(repeated(whole)));
      });
});

eachDevice("interpolate", () => {
  test("of views, half precision, integers, nothing; gradients of gradients", () => {
    const x = wave([2, 3, 4, 5], (i) => Math.sin(i));
    const options = { size: [7, 3], mode: "bilinear" } as const;
    const transposed = dx.transpose(x, 2, 3);
    expect(numbers(dx.interpolate(transposed, options))).toEqual(numbers(dx.interpolate(transposed.contiguous(), options)));
    const part = x.slice(1, 1).slice(3, 1);
    expect(numbers(dx.interpolate(part, options))).toEqual(numbers(dx.interpolate(part.clone(), options)));
    const half = x.to("float16");
    expect(numbers(dx.interpolate(half, options))).toEqual(numbers(dx.interpolate(half.to("float32"), options).to("float16")));
    expect(numbers(dx.interpolate(dx.tensor([[[0, 4, 8]]], { dtype: "uint8" }), { size: 6, mode: "linear" }))).toEqual([0, 1, 3, 5, 7, 8]);
    expect(dx.interpolate(dx.zeros([0, 3, 4, 5]), options).shape).toEqual([0, 3, 7, 3]);
    for (const [shape, o] of [
      [[1, 2, 5], { size: 3, mode: "linear" }],
      [[1, 1, 3, 4], { scaleFactor: 1.7, mode: "bilinear" }],
      [[1, 1, 2, 3, 2], { size: [3, 2, 5], mode: "trilinear", alignCorners: true }],
    ] as const)
      expect(gradgradcheck((t) => dx.interpolate(t, o), [leaf([...shape])])).toBe(true);
  });
});
