import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { nativeDevice } from "../../../src/runtime/devices.ts";
import { clean, eachMode, numbers } from "../../device.ts";
import { expectClose, near, toleranceOf } from "../../tolerance.ts";

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
/** erf by its series, good to 1e-12 for the values here. */
function erf(x: number): number {
  let sum = 0;
  let term = x;
  for (let n = 0; n < 80; n++) {
    sum += term / (2 * n + 1);
    term *= -(x * x) / (n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const FUNCTIONS: readonly [string, (x: dx.Tensor) => dx.Tensor, (x: number) => number][] = [
  ["relu", dx.relu, (x) => Math.max(x, 0)],
  ["sigmoid", dx.sigmoid, sigmoid],
  ["leakyRelu", (x) => dx.leakyRelu(x, { negativeSlope: 0.2 }), (x) => (x > 0 ? x : 0.2 * x)],
  ["elu", (x) => dx.elu(x, { alpha: 1.5 }), (x) => (x > 0 ? x : 1.5 * Math.expm1(x))],
  ["selu", dx.selu, (x) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x))],
  ["celu", (x) => dx.celu(x, { alpha: 2 }), (x) => Math.max(x, 0) + Math.min(0, 2 * Math.expm1(x / 2))],
  ["silu", dx.silu, (x) => x * sigmoid(x)],
  ["gelu", dx.gelu, (x) => 0.5 * x * (1 + erf(x / Math.SQRT2))],
  [
    "gelu by tanh",
    (x) => dx.gelu(x, { approximate: "tanh" }),
    (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  ],
  ["softplus", dx.softplus, softplus],
  ["softplus with beta", (x) => dx.softplus(x, { beta: 2, threshold: 6 }), (x) => (2 * x > 6 ? x : softplus(2 * x) / 2)],
  ["logSigmoid", dx.logSigmoid, (x) => -softplus(-x)],
  ["mish", dx.mish, (x) => x * Math.tanh(softplus(x))],
  ["softsign", dx.softsign, (x) => x / (1 + Math.abs(x))],
  ["hardtanh", (x) => dx.hardtanh(x), (x) => Math.min(1, Math.max(-1, x))],
  ["relu6", dx.relu6, (x) => Math.min(6, Math.max(0, x))],
  ["hardSigmoid", dx.hardSigmoid, (x) => Math.min(1, Math.max(0, x / 6 + 0.5))],
  ["hardSwish", dx.hardSwish, (x) => x * Math.min(1, Math.max(0, x / 6 + 0.5))],
  ["hardshrink", (x) => dx.hardshrink(x), (x) => (Math.abs(x) > 0.5 ? x : 0)],
  ["softshrink", (x) => dx.softshrink(x), (x) => (x > 0.5 ? x - 0.5 : x < -0.5 ? x + 0.5 : 0)],
  ["tanhshrink", dx.tanhshrink, (x) => x - Math.tanh(x)],
  ["threshold", (x) => dx.threshold(x, 0.3, -7), (x) => (x > 0.3 ? x : -7)],
];
const VALUES = [-4, -1.25, -0.4, 0.2, 0.75, 2.5, 7];

function gradientOf(fn: (x: dx.Tensor) => dx.Tensor, x: dx.Tensor): dx.Tensor {
  const leaf = x.detach().requiresGrad_();
  return dx.grad(fn(leaf).sum(), [leaf])[0]!;
}

eachMode("activations", (device, mode) => {
  test.each(FUNCTIONS)("%s and its gradient", (_name, fn, reference) =>
    clean(
      device,
      () => {
        const x = dx.tensor(VALUES);
        expectClose(mode.run(fn, x), VALUES.map(reference));
        expectClose(
          mode.run((t) => fn(t.reshape(7, 1).expand(7, 2).t()), x),
          [VALUES.map(reference), VALUES.map(reference)],
        );
        expect(mode.run(fn, dx.tensor([0.5, -0.5], { dtype: "float16" })).dtype).toBe("float16");
        const leaf = dx.tensor(VALUES, { requiresGrad: true });
        dx.gradcheck(fn, [leaf]);
        expect(() => fn(dx.tensor([1], { dtype: "float64" }))).toThrow(dx.DTypeError);
      },
      { collect: true },
    ),
  );

  test("far from zero", () =>
    clean(
      device,
      () => {
        const far = dx.tensor([-200, 200]);
        expectClose(
          mode.run((x) => dx.softplus(x), far),
          [0, 200],
        );
        expectClose(mode.run(dx.logSigmoid, far), [-200, 0]);
        expectClose(mode.run(dx.sigmoid, far), [0, 1]);
        expectClose(mode.run(dx.silu, far), [0, 200]);
        expectClose(
          mode.run((t) => dx.softplus(t), dx.tensor([-12, -18])),
          [Math.log1p(Math.exp(-12)), Math.log1p(Math.exp(-18))],
          { rtol: 1e-4, atol: 0 },
        );
      },
      { collect: true },
    ));

  test("swiglu, with gradients of both orders", () =>
    clean(
      device,
      () => {
        const gates = [-30, -1, 0, 0.5, 88, 3e4];
        const silu = (v: number): number => v / (1 + Math.exp(-v));
        const [x, gate] = [dx.tensor([2, -3, 1, 4, 0.5, -2]), dx.tensor(gates)];
        const values = [2, -3, 1, 4, 0.5, -2];
        expectClose(mode.run(dx.swiglu, x, gate), gates.map((v, i) => values[i]! * silu(v))); // prettier-ignore
        const grads = mode.run(
          (a, b) => {
            const [p, q] = [a.detach().requiresGrad_(), b.detach().requiresGrad_()];
            return dx.grad(dx.swiglu(p, q).mul(2).sum(), [p, q]);
          },
          x,
          gate,
        );
        expectClose(grads[0]!, gates.map((v) => 2 * silu(v))); // prettier-ignore
        const s = (v: number): number => 1 / (1 + Math.exp(-v));
        expectClose(grads[1]!, gates.map((v, i) => 2 * values[i]! * s(v) * (1 + v * s(-v)))); // prettier-ignore
        const leaves = [dx.tensor([0.5, -1, 2], { requiresGrad: true }), dx.tensor([1, -0.5, 0.25], { requiresGrad: true })];
        dx.gradcheck(dx.swiglu, leaves);
        dx.gradgradcheck(dx.swiglu, leaves);
        const wide = dx.randn([3, 4], { generator: new dx.Generator(1) });
        const narrow = wide.transpose(0, 1).contiguous();
        expectClose(
          mode.run((a, b) => dx.swiglu(a, b.transpose(0, 1)), wide, narrow),
          dx.mul(wide, dx.silu(wide)).toArraySync(),
        );
        expect(mode.run(dx.swiglu, dx.ones([2, 0]), dx.ones([2, 0])).shape).toEqual([2, 0]);
        expect(mode.run(dx.swiglu, dx.ones([2], { dtype: "bfloat16" }), dx.ones([2], { dtype: "bfloat16" })).dtype).toBe("bfloat16");
        expect(() => dx.swiglu(dx.ones([2]), dx.ones([2], { dtype: "float16" }))).toThrow(dx.DTypeError);
        expect(() => dx.swiglu(dx.ones([2]), dx.ones([1]))).toThrow(dx.ShapeError);
        expect(() => dx.swiglu(dx.ones([2], { dtype: "int32" }), dx.ones([2], { dtype: "int32" }))).toThrow(dx.DTypeError);
      },
      { collect: true },
    ));

  test("prelu and glu", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([
          [-1, 2],
          [3, -4],
        ]);
        expectClose(mode.run(dx.prelu, x, dx.tensor([0.5, 0.25])), [
          [-0.5, 2],
          [3, -1],
        ]);
        expectClose(
          mode.run((t) => dx.glu(t, 1), x),
          [[-1 * sigmoid(2)], [3 * sigmoid(-4)]],
        );
        expect(() => dx.glu(dx.ones([3]))).toThrow(dx.ValueError);
        expect(() => dx.prelu(x, dx.ones([3]))).toThrow(dx.ValueError);
        dx.gradcheck(dx.prelu, [
          dx.tensor(
            [
              [-1, 2],
              [3, -4],
            ],
            { requiresGrad: true },
          ),
          dx.tensor([0.5, 0.25], { requiresGrad: true }),
        ]);
      },
      { collect: true },
    ));

  test("keeps NaN, and has a limit at the infinities, alone and after a matmul", () =>
    clean(device, () => {
      const at = [NaN, -Infinity, -1, 2, Infinity];
      const kept: readonly [string, (x: dx.Tensor) => dx.Tensor, number, number][] = [
        ["relu", dx.relu, 0, Infinity],
        ["celu", dx.celu, -1, Infinity],
        ["celu of another alpha", (x) => dx.celu(x, { alpha: 2 }), -2, Infinity],
        ["hardSigmoid", dx.hardSigmoid, 0, 1],
        ["relu6", dx.relu6, 0, 6],
        ["hardtanh", (x) => dx.hardtanh(x), -1, 1],
        ["elu", dx.elu, -1, Infinity],
        ["sigmoid", dx.sigmoid, 0, 1],
        ["softshrink", dx.softshrink, -Infinity, Infinity],
        ["hardshrink", dx.hardshrink, -Infinity, Infinity],
        ["leakyRelu", dx.leakyRelu, -Infinity, Infinity],
      ];
      for (const dtype of ["float32", "float16"] as const)
        for (const [name, fn, low, high] of kept) {
          const alone = numbers(mode.run(fn, dx.tensor(at, { dtype })));
          const behind = numbers(
            mode.run((x, w) => fn(dx.matmul(x.reshape(5, 1), w)).reshape(5), dx.tensor(at, { dtype }), dx.ones([1, 1], { dtype })),
          );
          for (const got of [alone, behind]) expect([got[0], got[1], got[4]], `${name} of ${dtype}`).toEqual([NaN, low, high]);
        }
    }));

  test("gradients at NaN, the infinities and the ends of pieces are PyTorch's", () =>
    clean(
      device,
      () => {
        const at = [NaN, -Infinity, -3, 0, 3, Infinity];
        const gradients: readonly [string, (x: dx.Tensor) => dx.Tensor, readonly number[]][] = [
          ["leakyRelu", (x) => dx.leakyRelu(x, { negativeSlope: 0.2 }), [0.2, 0.2, 0.2, 0.2, 1, 1]],
          ["elu", dx.elu, [1, 0, 0.0497871, 1, 1, 1]],
          ["selu", dx.selu, [1.050701, 0, 0.0875306, 1.7580993, 1.050701, 1.050701]],
          ["celu", (x) => dx.celu(x, { alpha: 2 }), [1, 0, 0.2231302, 1, 1, 1]],
          ["silu", dx.silu, [NaN, NaN, -0.0881041, 0.5, 1.0881041, NaN]],
          ["gelu", dx.gelu, [NaN, NaN, -0.0119456, 0.5, 1.0119456, NaN]],
          ["gelu by tanh", (x) => dx.gelu(x, { approximate: "tanh" }), [NaN, NaN, -0.0115843, 0.5, 1.0115843, NaN]],
          ["mish", dx.mish, [NaN, NaN, -0.0933931, 0.6, 1.021107, NaN]],
          ["softplus", dx.softplus, [NaN, 0, 0.0474259, 0.5, 0.9525741, 1]],
          ["logSigmoid", dx.logSigmoid, [NaN, 1, 0.9525741, 0.5, 0.0474259, 0]],
          ["hardtanh", dx.hardtanh, [1, 0, 0, 1, 0, 0]],
          ["relu6", dx.relu6, [1, 0, 0, 0, 1, 0]],
          ["hardSigmoid", dx.hardSigmoid, [0, 0, 0, 1 / 6, 0, 0]],
          ["hardSwish", dx.hardSwish, [1, 0, 0, 0.5, 1, 1]],
          ["hardshrink", dx.hardshrink, [1, 1, 1, 0, 1, 1]],
          ["softshrink", dx.softshrink, [1, 1, 1, 0, 1, 1]],
          ["threshold", (x) => dx.threshold(x, 0.3, -7), [1, 0, 0, 0, 1, 1]],
          ["prelu", (x) => dx.prelu(x, dx.tensor([0.2], { dtype: x.dtype })), [0.2, 0.2, 0.2, 0.2, 1, 1]],
          // Elsewhere it is DirectML's operator, which takes NaN for 0.
          ...(nativeDevice(dx.device(device)).capabilities.fusesGraphs
            ? ([["relu", dx.relu, [1, 0, 0, 0, 1, 1]]] satisfies [string, (x: dx.Tensor) => dx.Tensor, number[]][])
            : []),
        ];
        for (const dtype of ["float32", "float16", "bfloat16"] as const)
          for (const [name, fn, want] of gradients) {
            const got = numbers(mode.run((x) => gradientOf(fn, x), dx.tensor(at, { dtype })));
            const tolerance = dtype === "bfloat16" ? { rtol: 2 ** -6, atol: 1e-3 } : toleranceOf(dtype);
            expect(
              got.map((v, i) => (near(v, want[i]!, tolerance) ? want[i] : v)),
              `${name} of ${dtype}`,
            ).toEqual(want);
          }
      },
      { collect: true },
    ));

  test("gelu by tanh keeps small results, and has a gradient far from zero", () =>
    clean(
      device,
      () => {
        const tanh = (x: dx.Tensor): dx.Tensor => dx.gelu(x, { approximate: "tanh" });
        const half = dx.tensor([-3e4, -256, -4, -3, 0.5, 4, 256, 3e4], { dtype: "float16" });
        const fine = { rtol: 2 ** -10, atol: 0 };
        expectClose(mode.run(tanh, half), [0, 0, -7.021427e-5, -0.0036373138, 0.345703125, 4, 256, 30000], fine);
        expectClose(
          mode.run((x) => gradientOf(tanh, x), half),
          [0, 0, -3.349781e-4, -0.0115814209, 0.8671875, 1, 1, 1],
          fine,
        );
        const far = dx.tensor([-3e38, -1e20, -1e10, 1e10, 1e20, 3e38]);
        expectClose(mode.run(tanh, far), [0, 0, 0, 1e10, 1e20, 3e38]);
        expectClose(
          mode.run((x) => gradientOf(tanh, x), far),
          [0, 0, 0, 1, 1, 1],
        );
        dx.gradgradcheck(tanh, [dx.tensor([-2, -0.5, 0.1, 1.5], { requiresGrad: true })]);
      },
      { collect: true },
    ));

  test("gradients of half precision are rounded once where terms cancel", () =>
    clean(device, () => {
      const cancelling: readonly [string, (x: dx.Tensor) => dx.Tensor, dx.DType, number, number][] = [
        ["gelu", dx.gelu, "float16", -4, -5.0354004e-4],
        ["gelu", dx.gelu, "float16", -3.853515625, -8.5830688e-4],
        ["silu", dx.silu, "float16", -1.2939453125, -0.00333595276],
        ["mish", dx.mish, "bfloat16", -1.203125, -0.00283813477],
        ["hardSwish", dx.hardSwish, "bfloat16", -1.5390625, -0.0130004883],
        ["hardSwish", dx.hardSwish, "float16", -1.5830078125, -0.0276641846],
      ];
      for (const [name, fn, dtype, at, want] of cancelling) {
        const [got] = numbers(mode.run((x) => gradientOf(fn, x), dx.tensor([at], { dtype })));
        const ulp = dtype === "float16" ? 2 ** -10 : 2 ** -7;
        expect(Math.abs(got! / want - 1), `${name} of ${dtype} at ${at}: ${got}`).toBeLessThan(2 * ulp);
      }
    }));

  test("prelu's sides do not meet, and threshold's limit is not rounded", () =>
    clean(device, () => {
      const [x, weight] = [dx.tensor([[Infinity, 2, 3, -1, NaN]]), dx.tensor([2, Infinity, NaN, 3, 1])];
      expectClose(mode.run(dx.prelu, x, weight), [[Infinity, 2, 3, -3, NaN]]);
      const gradients = mode.run(
        (a, w) => {
          const [p, q] = [a.detach().requiresGrad_(), w.detach().requiresGrad_()];
          return dx.grad(dx.prelu(p, q).sum(), [p, q]);
        },
        x,
        weight,
      );
      expectClose(gradients[0]!, [[1, 1, 1, 3, 1]]);
      expectClose(gradients[1]!, [0, 0, 0, -1, NaN]);
      for (const [dtype, nearest] of [
        ["float16", 0.300048828125],
        ["bfloat16", 0.30078125],
      ] as const)
        expect(numbers(mode.run((t) => dx.threshold(t, 0.3, -7), dx.tensor([nearest, 0.25], { dtype })))).toEqual([nearest, -7]);
    }));

  test("refuses parameters that are not finite", () =>
    clean(device, () => {
      expect(() => dx.leakyRelu(dx.ones([1]), { negativeSlope: Infinity })).toThrow(
        "leakyRelu: negativeSlope must be a finite number; received Infinity.",
      );
      expect(() => dx.elu(dx.ones([1]), { alpha: NaN })).toThrow(dx.ValueError);
      expect(() => dx.softplus(dx.ones([1]), { beta: 0 })).toThrow(dx.ValueError);
      expect(() => dx.gelu(dx.ones([1], { dtype: "int32" }))).toThrow(dx.DTypeError);
    }));
});
