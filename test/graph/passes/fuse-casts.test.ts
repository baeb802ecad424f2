import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import { elementsOf, fitOf, gemm, PLAIN, TILES, type GemmForm } from "../../../src/shader/kernels/gemm.ts";
import { gemmSum } from "../../../src/shader/kernels/gemm-sum.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
import { eachDevice } from "../../device.ts";
import { expectClose, launch, numbers, restoresShaderModes } from "../../shader/kernels/support.ts";

const half = (x: number): number => floatOfHalf(halfOfFloat(x));

describe("the operands and the result of a product", () => {
  const forms: readonly Partial<GemmForm>[] = [
    { element: "f16", bias: "row" },
    { element: "f16", bias: "row", cast: ["a", "b", "bias"], transB: true },
    { element: "f16", cast: ["b"], transA: true, epilogue: { ...NO_EPILOGUE, hasAddend: true, casts: true } },
    { cast: ["a"], epilogue: { ...NO_EPILOGUE, casts: true } },
  ];
  it.each(forms)("are float32 or float16, rounded as casts do: %o", (more) => {
    const form: GemmForm = { ...PLAIN, ...more };
    const { element, bias, transA, transB, epilogue } = form;
    const elements = elementsOf(form, ["a", "b", "bias", "addend", "c"]);
    for (const [m, n, k] of [
      [12, 36, 20],
      [32, 32, 64],
    ] as const) {
      const [a, b, added, addend] = [m * k, k * n, n, m * n].map((count, i) => numbers(count, i + 1, 1, elements[["a", "b", "bias", "addend"][i]!])); // prettier-ignore
      const own = element === "f16" ? half : (x: number): number => x;
      const expected = Array.from({ length: m * n }, (_, i) => {
        const [y, x] = [Math.floor(i / n), i % n];
        let sum = bias === null ? 0 : own(added![x]!);
        for (let q = 0; q < k; q++) sum += own(a![transA ? q * m + y : y * k + q]!) * own(b![transB ? x * k + q : q * n + x]!);
        return sum + (epilogue.hasAddend ? addend![i]! : 0);
      });
      const others = {
        ...(bias === null ? {} : { bias: { shape: [n], values: added! } }),
        ...(epilogue.hasAddend ? { addend: { shape: [m, n], values: addend! } } : {}),
      };
      const operands = { a: { shape: transA ? [k, m] : [m, k], values: a! }, b: { shape: transB ? [n, k] : [k, n], values: b! } };
      const tile = TILES.smallInTwo;
      const fit = fitOf(tile, [m, n, k], form);
      const whole = launch(gemm(tile, fit, form), { ...operands, ...others, c: { shape: [m, n] } }).c!;
      expectClose(whole, expected, "f16", 16);
      // What is cast on loading is what a cast before would give, to the bit.
      const before = Object.entries({ ...operands, ...others }).map(
        ([name, { shape, values }]) => [name, { shape, values: values.map(own) }] as const,
      );
      const apart = launch(gemm(tile, fit, { ...form, cast: [] }), { ...Object.fromEntries(before), c: { shape: [m, n] } }).c!;
      expect(whole).toEqual(apart);
      // A float16 product is one, whatever it is stored as.
      if (element === "f16") expect(whole.map(half)).toEqual(whole);
      const parts = { parts: 2, perPart: 32 };
      const partial = launch(gemm(tile, fit, { ...PLAIN, transA, transB, element, cast: form.cast, isSplit: true }), { ...operands, c: { shape: [2, m, n] } }, parts).c!; // prettier-ignore
      const sum = launch(gemmSum(form, [m, n]), { partial: { shape: [2, m, n], values: partial }, ...others, c: { shape: [m, n] } }, { parts: 2 }).c!; // prettier-ignore
      expectClose(sum, expected, "f16", 16);
    }
  });
});

/** A driver for CPUs compiles these shaders for a minute. */
const SLOW = { timeout: 600_000 };

eachDevice("mixed precision", (device) => {
  restoresShaderModes();

  /** Losses and gradients of two layers in autocast, and how many nodes of a compiled step cast. */
  const run = (shaders: string, rows: number, width: number) => {
    process.env.DXTENSOR_SHADERS = shaders;
    process.env.DXTENSOR_FUSE = "off";
    dx.closeDevice(device);
    const make = (shape: number[], seed: number): dx.Tensor =>
      dx.scope(() => dx.randn(shape, { device, generator: new dx.Generator(seed) }).mul(0.25));
    // Parameters that an optimizer keeps together are views of one buffer.
    const flat = make([64 * 32 + 64 + width * 64 + width], 1);
    let from = 0;
    const weights = [[64, 32], [64], [width, 64], [width]].map((shape) => {
      const count = shape.reduce((a, d) => a * d, 1);
      const own = flat.narrow(0, from, count).reshape(...shape).detach().requiresGrad_(); // prettier-ignore
      from += count;
      return own;
    });
    const x = make([rows, 32], 5);
    const step = dx.compile(
      (input: dx.Tensor) => {
        const loss = dx.autocast("float16", () => {
          const h = dx.relu(dx.linear(input, weights[0]!, weights[1]!));
          return dx.linear(h, weights[2]!, weights[3]!).to("float32").square().mean();
        });
        return [loss, ...dx.grad(loss, weights)];
      },
      { check: false, regions: "none" },
    );
    const results: number[][] = [];
    for (let i = 0; i < 3; i++) {
      const found = step(x).map((t) => [...(t.to("float32").dataSync() as Float32Array)]);
      results.splice(0, results.length, ...found);
    }
    const origins = step.explain().nodes.map(({ origin }) => origin);
    step.dispose();
    return { results, nodes: origins.length, casts: origins.filter((origin) => origin.startsWith("to ")).length };
  };

  it("casts weights, inputs, gradients and results in the products' launches", SLOW, () => {
    const [off, on] = [run("off", 40, 12), run("on", 40, 12)];
    on.results.forEach((list, i) => expectClose(list, off.results[i]!, "f16", 64));
    // The gradients of the biases are no products, and one of them reads the result's, too.
    expect([off.casts, on.casts]).toEqual([11, 3]);
    expect(on.nodes).toBeLessThanOrEqual(off.nodes - 8);
  });

  it("multiplies what is cast by itself", SLOW, () => {
    process.env.DXTENSOR_SHADERS = "on";
    const x = dx.randn([8, 8], { device, generator: new dx.Generator(1) });
    const square = (a: dx.Tensor): dx.Tensor => dx.matmul(a.to("float16"), a.to("float16"));
    const compiled = dx.compile(square, { check: false });
    const expected = [...(square(x).to("float32").dataSync() as Float32Array)];
    for (let i = 0; i < 3; i++) expectClose([...(compiled(x).to("float32").dataSync() as Float32Array)], expected, "f16", 8);
    compiled.dispose();
  });

  it("casts behind the gradient of relu, and what a product and another one read by casts of their own", SLOW, () => {
    const fn = (a: dx.Tensor, b: dx.Tensor, x: dx.Tensor): dx.Tensor[] => {
      const [dx1] = dx.grad(dx.relu(x), [x], { gradient: dx.matmul(a, b) });
      const products = [b, b.mul(2)].map((own) => dx.matmul(a.to("float16"), own.to("float16")).to("float32"));
      return [dx1!.to("float16"), ...products];
    };
    const results = ["off", "on"].map((shaders) => {
      process.env.DXTENSOR_SHADERS = shaders;
      process.env.DXTENSOR_FUSE = "off";
      dx.closeDevice(device);
      const [a, b, x] = [1, 2, 3].map((seed) => dx.randn([36, 36], { device, generator: new dx.Generator(seed) })) as [
        dx.Tensor,
        dx.Tensor,
        dx.Tensor,
      ];
      x.requiresGrad_();
      const step = dx.compile(fn, { check: false, regions: "none" });
      let values: number[][] = [];
      for (let i = 0; i < 3; i++) values = step(a, b, x).map((t) => [...(t.to("float32").dataSync() as Float32Array)]);
      const casts = step.explain().nodes.filter(({ origin }) => origin.startsWith("to ")).length;
      step.dispose();
      return { values, casts };
    });
    results[1]!.values.forEach((list, i) => expectClose(list, results[0]!.values[i]!, "f16", 36));
    expect(results.map(({ casts }) => casts)).toEqual([6, 0]);
  });

  it("casts in launches of its own where rows are no multiples of four elements", SLOW, () => {
    const [off, on] = [run("off", 41, 10), run("on", 41, 10)];
    on.results.forEach((list, i) => expectClose(list, off.results[i]!, "f16", 64));
  });
});
