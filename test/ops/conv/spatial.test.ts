/** Convolution and pooling against their definitions in float64. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, clean, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const wave = (shape: readonly number[], seed = 1): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: count(shape) }, (_, i) => Math.sin(seed + 1.7 * i)),
    { shape },
  );
/** Values far enough apart for differences, in no order. */
const spaced = (shape: readonly number[]): dx.Tensor => {
  const n = count(shape);
  let step = 7;
  while (n % step === 0) step += 2;
  return dx.tensor(
    Float32Array.from({ length: n }, (_, i) => ((i * step) % n) / 4),
    { shape },
  );
};

function* coordinates(shape: readonly number[]): Generator<number[]> {
  const at = shape.map(() => 0);
  for (let n = count(shape); n > 0; n--) {
    yield [...at];
    for (let i = shape.length - 1; i >= 0; i--) {
      if (++at[i]! < shape[i]!) break;
      at[i] = 0;
    }
  }
}
const flat = (shape: readonly number[], at: readonly number[]): number => shape.reduce((n, d, i) => n * d + at[i]!, 0);

interface Shapes {
  x: number[];
  w: number[];
  stride: number[];
  padding: number[];
  dilation: number[];
  groups: number;
}

/** Calls fn with the flat indices of each y and the x and w that contribute to it. */
function meet(s: Shapes, out: readonly number[], fn: (y: number, x: number, w: number) => void): void {
  const [perIn, perOut] = [s.w[1]!, s.w[0]! / s.groups];
  for (const y of coordinates(out))
    for (const k of coordinates(s.w.slice(1))) {
      const spatial = y.slice(2).map((o, i) => o * s.stride[i]! - s.padding[i]! + k[i + 1]! * s.dilation[i]!);
      if (spatial.some((v, i) => v < 0 || v >= s.x[i + 2]!)) continue;
      fn(flat(out, y), flat(s.x, [y[0]!, Math.floor(y[1]! / perOut) * perIn + k[0]!, ...spatial]), flat(s.w, [y[1]!, ...k]));
    }
}

const CONVOLUTIONS: readonly [string, Shapes][] = [
  ["1 axis", { x: [2, 3, 7], w: [4, 3, 3], stride: [2], padding: [1], dilation: [1], groups: 1 }],
  ["2 axes", { x: [2, 3, 6, 5], w: [4, 3, 3, 2], stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 }],
  ["stride that leaves elements out", { x: [2, 2, 8, 9], w: [2, 2, 3, 3], stride: [3, 2], padding: [1, 0], dilation: [1, 1], groups: 1 }],
  ["dilation", { x: [1, 2, 9, 8], w: [3, 2, 3, 2], stride: [2, 1], padding: [2, 1], dilation: [2, 3], groups: 1 }],
  ["groups", { x: [2, 4, 5, 5], w: [6, 2, 3, 3], stride: [2, 2], padding: [1, 1], dilation: [1, 1], groups: 2 }],
  ["depthwise", { x: [3, 4, 5, 4], w: [4, 1, 3, 3], stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups: 4 }],
  ["long rows", { x: [2, 2, 20, 21], w: [3, 2, 3, 3], stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups: 1 }],
  ["1 x 1", { x: [2, 3, 5, 25], w: [2, 3, 1, 1], stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 }],
  ["windows over nothing but padding", { x: [2, 2, 1], w: [3, 2, 1], stride: [3], padding: [1], dilation: [1], groups: 1 }],
  ["3 axes", { x: [2, 2, 4, 5, 4], w: [3, 2, 2, 3, 2], stride: [1, 2, 1], padding: [0, 1, 0], dilation: [1, 1, 2], groups: 1 }],
];
const convs = { 1: dx.conv1d, 2: dx.conv2d, 3: dx.conv3d } as const;
const transposes = { 1: dx.convTranspose1d, 2: dx.convTranspose2d, 3: dx.convTranspose3d } as const;
const spatialOf = (s: Shapes): 1 | 2 | 3 => (s.x.length - 2) as 1 | 2 | 3;
const outputOf = (s: Shapes): number[] => [
  s.x[0]!,
  s.w[0]!,
  ...s.x.slice(2).map((d, i) => Math.floor((d + 2 * s.padding[i]! - s.dilation[i]! * (s.w[i + 2]! - 1) - 1) / s.stride[i]!) + 1),
];

eachMode("convolution", (device, mode) => {
  test.each(CONVOLUTIONS)("%s: values and the gradients of all operands", (_name, s) =>
    clean(
      device,
      () => {
        const [x, w, bias] = [wave(s.x), wave(s.w, 2), wave([s.w[0]!], 3)];
        const out = outputOf(s);
        const { stride, padding, dilation, groups } = s;
        const conv = (a: dx.Tensor, b: dx.Tensor, c: dx.Tensor): dx.Tensor =>
          convs[spatialOf(s)](a, b, c, { stride, padding, dilation, groups });
        const [vx, vw, vb] = [numbers(x), numbers(w), numbers(bias)];
        const per = count(out.slice(2));
        const want = Array.from({ length: count(out) }, (_, i) => vb[Math.floor(i / per) % out[1]!]!);
        meet(s, out, (y, i, k) => {
          want[y]! += vx[i]! * vw[k]!;
        });
        expectClose(mode.run(conv, x, w, bias), want);
        // The map is linear in each operand, so its gradients are sums over the same meetings.
        const dy = wave(out, 4);
        const vdy = numbers(dy);
        const [dx_, dw, db] = [vx.map(() => 0), vw.map(() => 0), vb.map(() => 0)];
        meet(s, out, (y, i, k) => {
          dx_[i]! += vdy[y]! * vw[k]!;
          dw[k]! += vdy[y]! * vx[i]!;
        });
        vdy.forEach((v, i) => {
          db[Math.floor(i / per) % out[1]!]! += v;
        });
        const grads = mode.run(
          (a, b, c, d) => {
            const [p, q, r] = [a, b, c].map((t) => t.detach().requiresGrad_()) as [dx.Tensor, dx.Tensor, dx.Tensor];
            return dx.grad(conv(p, q, r), [p, q, r], { gradient: d }) as dx.Tensor[];
          },
          x,
          w,
          bias,
          dy,
        );
        [dx_, dw, db].forEach((g, i) => {
          expectClose(grads[i]!, g, { rtol: 1e-4, atol: 1e-4 });
        });
      },
      { collect: true },
    ),
  );

  test.each(CONVOLUTIONS)("%s: the gradients of the sum, whose own is one number", (_name, s) =>
    clean(
      device,
      () => {
        const [x, w] = [wave(s.x), wave(s.w, 2)];
        const { stride, padding, dilation, groups } = s;
        const [vx, vw] = [numbers(x), numbers(w)];
        const [dx_, dw] = [vx.map(() => 0), vw.map(() => 0)];
        meet(s, outputOf(s), (_y, i, k) => {
          dx_[i]! += vw[k]!;
          dw[k]! += vx[i]!;
        });
        const grads = mode.run(
          (a, b) => {
            const [p, q] = [a, b].map((t) => t.detach().requiresGrad_()) as [dx.Tensor, dx.Tensor];
            return dx.grad(convs[spatialOf(s)](p, q, null, { stride, padding, dilation, groups }).sum(), [p, q]) as dx.Tensor[];
          },
          x,
          w,
        );
        expectClose(grads[0]!, dx_, { rtol: 1e-4, atol: 1e-4 });
        expectClose(grads[1]!, dw, { rtol: 1e-4, atol: 1e-4 });
      },
      { collect: true },
    ),
  );

  test.each(CONVOLUTIONS)("%s: the transpose, with output padding, and its gradients", (_name, s) =>
    clean(
      device,
      () => {
        const out = outputOf(s);
        const { stride, padding, dilation, groups } = s;
        // Output padding that leads back to x's own size.
        const outputPadding = s.x
          .slice(2)
          .map((d, i) => d - ((out[i + 2]! - 1) * stride[i]! - 2 * padding[i]! + dilation[i]! * (s.w[i + 2]! - 1) + 1));
        const [y, w, bias] = [wave(out), wave(s.w, 2), wave([s.x[1]!], 3)];
        const transpose = (a: dx.Tensor, b: dx.Tensor, c: dx.Tensor): dx.Tensor =>
          transposes[spatialOf(s)](a, b, c, { stride, padding, dilation, groups, outputPadding });
        const [vy, vw, vb] = [numbers(y), numbers(w), numbers(bias)];
        const per = count(s.x.slice(2));
        const want = Array.from({ length: count(s.x) }, (_, i) => vb[Math.floor(i / per) % s.x[1]!]!);
        meet(s, out, (o, i, k) => {
          want[i]! += vy[o]! * vw[k]!;
        });
        const z = mode.run(transpose, y, w, bias);
        expect(z.shape).toEqual(s.x);
        expectClose(z, want);
        const d = wave(s.x, 4);
        const vd = numbers(d);
        const [dy, dw] = [vy.map(() => 0), vw.map(() => 0)];
        meet(s, out, (o, i, k) => {
          dy[o]! += vd[i]! * vw[k]!;
          dw[k]! += vd[i]! * vy[o]!;
        });
        const grads = mode.run(
          (a, b, c, g) => {
            const [p, q] = [a, b].map((t) => t.detach().requiresGrad_()) as [dx.Tensor, dx.Tensor];
            return dx.grad(transpose(p, q, c), [p, q], { gradient: g }) as dx.Tensor[];
          },
          y,
          w,
          bias,
          d,
        );
        expectClose(grads[0]!, dy, { rtol: 1e-4, atol: 1e-4 });
        expectClose(grads[1]!, dw, { rtol: 1e-4, atol: 1e-4 });
      },
      { collect: true },
    ),
  );

  test("output padding beyond the padding writes the bias there", () =>
    clean(device, () => {
      const z = mode.run(
        (a, b, c) => dx.convTranspose2d(a, b, c, { stride: 3, outputPadding: 2 }),
        dx.ones([1, 1, 1, 1]),
        dx.ones([1, 1, 2, 2]),
        dx.tensor([5]),
      );
      expect(z.shape).toEqual([1, 1, 4, 4]);
      expectClose(z, [6, 6, 5, 5, 6, 6, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
    }));

  test("same and valid padding, input without a batch, transposed storage", () =>
    clean(device, () => {
      const [x, w] = [wave([2, 6, 7]), wave([3, 2, 4, 3], 2)];
      const same = mode.run((a, b) => dx.conv2d(a, b, null, { padding: "same", dilation: [1, 2] }), x, w);
      expect(same.shape).toEqual([3, 6, 7]);
      const padded = dx.pad(x, [2, 2, 1, 2]);
      expectClose(same, numbers(dx.conv2d(padded, w, null, { padding: "valid", dilation: [1, 2] })));
      const permuted = x.permute(2, 1, 0).contiguous().permute(2, 1, 0);
      expect(permuted.isContiguous).toBe(false);
      expectClose(
        mode.run((a, b) => dx.conv2d(a, b), permuted, w),
        numbers(dx.conv2d(x, w)),
      );
    }));

  test("what does not fit is refused", () =>
    clean(device, () => {
      const [x, w] = [dx.ones([1, 3, 4, 4]), dx.ones([2, 3, 3, 3])];
      expect(() => dx.conv2d(dx.ones([1, 2, 4, 4]), w)).toThrow(
        /conv2d: x must be of 3 channels for weight \[2, 3, 3, 3\] in 1 group; received float32\[1, 2, 4, 4\]/,
      );
      expect(() => dx.conv2d(x, w, dx.ones([3]))).toThrow(/bias must be \[2\]/);
      expect(() => dx.conv2d(x, dx.ones([2, 3, 5, 5]))).toThrow(/at least as large as the kernel/);
      expect(() => dx.conv2d(x, w, null, { padding: "same", stride: 2 })).toThrow(/stride must be 1/);
      expect(() => dx.conv2d(x, w, null, { groups: 3 })).toThrow(dx.ValueError);
      expect(() => dx.conv2d(x, w, null, { stride: 0 })).toThrow(dx.ValueError);
      expect(() => dx.conv2d(dx.ones([1, 3, 4, 4], { dtype: "int32" }), w)).toThrow(dx.DTypeError);
      expect(() => dx.conv2d(dx.ones([4]), w)).toThrow(/\[N, C, H, W\]/);
      expect(() => dx.convTranspose2d(dx.ones([1, 2, 4, 4]), w, null, { outputPadding: 1 })).toThrow(
        /outputPadding must be less than stride or dilation/,
      );
    }));
});

eachDevice("gradients of convolution", (device) => {
  test("gradients of gradients", () =>
    clean(
      device,
      () => {
        const twice = (a: dx.Tensor, b: dx.Tensor): readonly dx.Tensor[] =>
          dx.enableGrad(() => {
            const [p, q] = [a.requiresGrad ? a : a.detach().requiresGrad_(), b.requiresGrad ? b : b.detach().requiresGrad_()];
            return dx.grad(dx.conv2d(p, q, null, { stride: 2, padding: 1 }).square().sum(), [p, q], { createGraph: true }) as dx.Tensor[];
          });
        expect(dx.gradcheck(twice, [wave([1, 2, 4, 3]).requiresGrad_(), wave([2, 2, 2, 2], 2).requiresGrad_()])).toBe(true);
      },
      { collect: true },
    ));
});

interface Pool {
  size: number[];
  stride: number[];
  padding: number[];
  dilation: number[];
  ceilMode: boolean;
}
const POOLS: readonly [string, number[], Pool][] = [
  ["1 axis", [2, 3, 8], { size: [3], stride: [2], padding: [1], dilation: [1], ceilMode: false }],
  ["2 axes", [2, 2, 6, 4], { size: [2, 2], stride: [2, 2], padding: [0, 0], dilation: [1, 1], ceilMode: false }],
  ["overlapping windows", [1, 2, 6, 7], { size: [3, 3], stride: [1, 2], padding: [1, 1], dilation: [1, 1], ceilMode: false }],
  ["ceilMode", [2, 1, 6, 7], { size: [3, 2], stride: [2, 2], padding: [1, 0], dilation: [1, 1], ceilMode: true }],
  ["3 axes", [1, 2, 4, 4, 5], { size: [2, 2, 3], stride: [2, 1, 2], padding: [1, 0, 1], dilation: [1, 1, 1], ceilMode: false }],
];
const DILATED: typeof POOLS = [
  ["dilation", [1, 2, 7, 6], { size: [3, 2], stride: [1, 2], padding: [1, 0], dilation: [2, 3], ceilMode: false }],
];
const maxPools = { 1: dx.maxPool1d, 2: dx.maxPool2d, 3: dx.maxPool3d } as const;
const withIndices = { 1: dx.maxPool1dWithIndices, 2: dx.maxPool2dWithIndices, 3: dx.maxPool3dWithIndices } as const;
const avgPools = { 1: dx.avgPool1d, 2: dx.avgPool2d, 3: dx.avgPool3d } as const;

/** For each window: the flat indices of its elements in the plane, and how many padded ones it has. */
function windows(shape: readonly number[], p: Pool): { out: number[]; taps: number[][]; sizes: number[] } {
  const input = shape.slice(2);
  const out = input.map((d, i) => {
    const span = (d + 2 * p.padding[i]! - p.dilation[i]! * (p.size[i]! - 1) - 1) / p.stride[i]!;
    const n = (p.ceilMode ? Math.ceil(span) : Math.floor(span)) + 1;
    return p.ceilMode && (n - 1) * p.stride[i]! >= d + p.padding[i]! ? n - 1 : n;
  });
  const taps: number[][] = [];
  const sizes: number[] = [];
  for (const o of coordinates(out)) {
    const list: number[] = [];
    let size = 0;
    for (const k of coordinates(p.size)) {
      const at = o.map((v, i) => v * p.stride[i]! - p.padding[i]! + k[i]! * p.dilation[i]!);
      if (at.every((v, i) => v < input[i]! + p.padding[i]!)) size++;
      if (at.every((v, i) => v >= 0 && v < input[i]!)) list.push(flat(input, at));
    }
    taps.push(list);
    sizes.push(size);
  }
  return { out, taps, sizes };
}

eachMode("pooling", (device, mode) => {
  test.each([...POOLS, ...DILATED])("maxima, indices and gradients: %s", (_name, shape, p) =>
    clean(
      device,
      () => {
        const x = spaced(shape);
        const spatial = (shape.length - 2) as 1 | 2 | 3;
        const { stride, padding, dilation, ceilMode } = p;
        const options = { stride, padding, dilation, ceilMode };
        const plane = count(shape.slice(2));
        const values = numbers(x);
        const { out, taps } = windows(shape, p);
        const best = Array.from({ length: shape[0]! * shape[1]! }, (_, c) =>
          taps.map((list) => list.reduce((m, i) => (values[c * plane + i]! > values[c * plane + m]! ? i : m))),
        ).flat();
        const want = best.map((i, n) => values[Math.floor(n / taps.length) * plane + i]!);
        const y = mode.run((t) => maxPools[spatial](t, p.size, options), x);
        expect(y.shape).toEqual([...shape.slice(0, 2), ...out]);
        expectClose(y, want);
        const both = mode.run((t) => {
          const r = withIndices[spatial](t, p.size, options);
          return [r.values, r.indices];
        }, x);
        expectClose(both[0]!, want);
        expect(numbers(both[1]!)).toEqual(best);
        expect(dx.gradcheck((t) => maxPools[spatial](t, p.size, options), [x.requiresGrad_()], { step: 0.02 })).toBe(true);
      },
      { collect: true },
    ),
  );

  test.each(POOLS)("means and gradients: %s", (_name, shape, p) =>
    clean(
      device,
      () => {
        const x = wave(shape);
        const spatial = (shape.length - 2) as 1 | 2 | 3;
        const { stride, padding, ceilMode } = p;
        const plane = count(shape.slice(2));
        const values = numbers(x);
        const { taps, sizes } = windows(shape, p);
        const over = (divisor: (i: number) => number): number[] =>
          Array.from({ length: shape[0]! * shape[1]! }, (_, c) =>
            taps.map((list, i) => list.reduce((s, v) => s + values[c * plane + v]!, 0) / divisor(i)),
          ).flat();
        const pool =
          (more: dx.AvgPoolOptions) =>
          (t: dx.Tensor): dx.Tensor =>
            avgPools[spatial](t, p.size, { stride, padding, ceilMode, ...more });
        expectClose(
          mode.run(pool({}), x),
          over((i) => sizes[i]!),
        );
        expectClose(
          mode.run(pool({ countIncludePad: false }), x),
          over((i) => taps[i]!.length),
        );
        expectClose(
          mode.run(pool({ divisorOverride: 5 }), x),
          over(() => 5),
        );
        expect(dx.gradcheck(pool({}), [x.requiresGrad_()])).toBe(true);
        expect(dx.gradcheck(pool({ countIncludePad: false }), [x])).toBe(true);
      },
      { collect: true },
    ),
  );

  test("to a given size, evenly and not", () =>
    clean(
      device,
      () => {
        for (const [input, output] of [
          [6, 3],
          [7, 3],
          [5, 4],
          [3, 5],
        ] as const) {
          const x = spaced([2, 2, input, 4]);
          const values = numbers(x);
          const rows = Array.from({ length: output }, (_, o) =>
            Array.from(
              { length: Math.ceil(((o + 1) * input) / output) - Math.floor((o * input) / output) },
              (_, i) => Math.floor((o * input) / output) + i,
            ),
          );
          const each = (fn: (list: { v: number; at: number }[]) => number): number[] =>
            Array.from({ length: 4 }, (_, c) =>
              rows.flatMap((r) =>
                [0, 1].map((h) =>
                  fn(r.flatMap((y) => [0, 1].map((w) => ({ at: y * 4 + 2 * h + w, v: values[c * input * 4 + y * 4 + 2 * h + w]! })))),
                ),
              ),
            ).flat();
          const top = (list: { v: number; at: number }[]): { v: number; at: number } => list.reduce((a, b) => (b.v > a.v ? b : a));
          expectClose(
            mode.run((t) => dx.adaptiveAvgPool2d(t, [output, 2]), x),
            each((l) => l.reduce((s, e) => s + e.v, 0) / l.length),
          );
          expectClose(
            mode.run((t) => dx.adaptiveMaxPool2d(t, [output, 2]), x),
            each((l) => top(l).v),
          );
          expect(numbers(mode.run((t) => dx.adaptiveMaxPool2dWithIndices(t, [output, 2]).indices, x))).toEqual(each((l) => top(l).at));
          expect(dx.gradcheck((t) => dx.adaptiveAvgPool2d(t, [output, 2]), [x.requiresGrad_()])).toBe(true);
          expect(dx.gradcheck((t) => dx.adaptiveMaxPool2d(t, [output, 2]), [x])).toBe(true);
        }
      },
      { collect: true },
    ));

  test("what does not fit is refused", () =>
    clean(device, () => {
      const x = dx.ones([1, 1, 4, 4]);
      expect(() => dx.maxPool2d(x, 5)).toThrow(/maxPool2d: x must be at least as large as the window/);
      expect(() => dx.maxPool2d(x, 2, { padding: 2 })).toThrow(/padding must be at most half the window/);
      expect(() => dx.avgPool2d(x, 0)).toThrow(dx.ValueError);
      expect(() => dx.avgPool2d(x, 2, { divisorOverride: 0 })).toThrow(dx.ValueError);
      expect(() => dx.maxPool2d(dx.ones([4]), 2)).toThrow(dx.ShapeError);
      expect(() => dx.avgPool2d(dx.ones([1, 1, 4, 4], { dtype: "bool" }), 2)).toThrow(dx.DTypeError);
      expect(() => dx.adaptiveAvgPool2d(x, [0, 2])).toThrow(dx.ValueError);
    }));
});

eachDevice("gradients of pooling", (device) => {
  test("the gradient of a maximum's gradient", () =>
    clean(
      device,
      () => {
        const twice = (a: dx.Tensor): dx.Tensor =>
          dx.enableGrad(() => {
            const p = a.requiresGrad ? a : a.detach().requiresGrad_();
            return dx.grad(dx.maxPool2d(p, 2).square().sum(), [p], { createGraph: true })[0]!;
          });
        expect(
          dx.gradcheck(
            twice,
            [
              dx
                .tensor(
                  Float32Array.from(numbers(spaced([1, 2, 4, 4])), (v) => v / 4),
                  { shape: [1, 2, 4, 4] },
                )
                .requiresGrad_(),
            ],
            { step: 0.01 },
          ),
        ).toBe(true);
      },
      { collect: true },
    ));
});
