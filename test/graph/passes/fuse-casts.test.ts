import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import { elementsOf, fitOf, gemm, PLAIN, TILES, type GemmForm } from "../../../src/shader/kernels/gemm.ts";
import { gemmSum } from "../../../src/shader/kernels/gemm-sum.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
import { eachDevice, isMicrosoft } from "../../device.ts";
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

/** The number that the upper half of a float32 is. */
const upper = (x: number): number =>
  new Float32Array(Uint32Array.of(new Uint32Array(Float32Array.of(x).buffer)[0]! & 0xffff0000).buffer)[0]!;
/** Such numbers as words of two. */
const wordsOf = (values: readonly number[]): number[] => {
  const bits = new Uint32Array(Float32Array.from(values).buffer);
  return Array.from({ length: Math.ceil(values.length / 2) }, (_, i) => (bits[2 * i]! >>> 16) | (bits[2 * i + 1] ?? 0));
};

describe("bfloat16 operands of a product", () => {
  const forms: readonly Partial<GemmForm>[] = [
    { bfloat16: ["a", "b", "bias"], bias: "row", transB: true },
    { bfloat16: ["b"], cast: ["a"], bias: "matrix", scales: true },
    { bfloat16: ["a", "bias"], bias: "matrix", transA: true, epilogue: { ...NO_EPILOGUE, hasAddend: true, casts: true } },
    { bfloat16: ["a", "b"], isBatched: true, hasColumnSums: true },
  ];
  it.each(forms)("are read as their numbers in float32 are: %o", (more) => {
    const form: GemmForm = { ...PLAIN, ...more };
    const { bfloat16 = [], bias, transA, transB, epilogue, scales, isBatched } = form;
    for (const name of ["smallInTwo", "medium", "tinyInEight"] as const)
      for (const [m, n, k] of [[12, 36, 20], [64, 64, 128], [4, 12, 8]] as const) {
        const count = isBatched ? 2 : 1;
        const tile = TILES[name];
        const batch = isBatched ? [count] : [];
        const c = [...batch, m, n];
        const shapes = {
          a: [...batch, ...(transA ? [k, m] : [m, k])],
          b: [...batch, ...(transB ? [n, k] : [k, n])],
          ...(bias === null ? {} : { bias: bias === "row" ? [n] : [m, n] }),
          ...(epilogue.hasAddend ? { addend: [m, n] } : {}),
        };
        const elements = elementsOf(form, Object.keys(shapes));
        const inputs = Object.fromEntries(
          Object.entries(shapes).map(([key, shape], i) => {
            const values = numbers(shape.reduce((x, d) => x * d, 1), i + 1, 1, elements[key]!).map(upper);
            if (key === "a") [values[0], values[5], values[6]] = [NaN, Infinity, 2 ** -130];
            return [key, { shape, values }] as const;
          }),
        );
        const seen = Object.fromEntries(Object.entries(inputs).map(([key, x]) => [key, (bfloat16 as string[]).includes(key) ? { ...x, values: wordsOf(x.values) } : x])); // prettier-ignore
        const params = { ...(scales ? { alpha: 0.5, beta: -2 } : {}), ...(isBatched ? { strideA: m * k, strideB: k * n } : {}) };
        const outputs = { c: { shape: c }, ...(form.hasColumnSums === true ? { columnSums: { shape: [count * Math.ceil(m / tile.bm), n] } } : {}) };
        const fit = fitOf(tile, [m, n, k], form);
        const found = launch(gemm(tile, fit, form), { ...seen, ...outputs }, params);
        expect(found).toEqual(launch(gemm(tile, fit, { ...form, bfloat16: [] }), { ...inputs, ...outputs }, params));
        expect(found.c!.filter((v) => Number.isFinite(v)).some((v) => v !== 0)).toBe(true);
        if (isBatched || name !== "smallInTwo") continue;
        const sums = { partial: { shape: [2, m, n], values: numbers(2 * m * n, 9, 1) }, c: { shape: c } };
        const rest = ({ a: _, b: __, ...others }: typeof inputs) => ({ ...others, ...sums });
        const sum = launch(gemmSum(form, c), rest(seen as typeof inputs), { ...params, parts: 2 });
        expect(sum).toEqual(launch(gemmSum({ ...form, bfloat16: [] }, c), rest(inputs), { ...params, parts: 2 }));
      }
  }); // prettier-ignore
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
      const inputs = [a, b, x].map((t) => [...(t.dataSync() as Float32Array)]);
      const casts = step.explain().nodes.filter(({ origin }) => origin.startsWith("to ")).length;
      step.dispose();
      return { values, inputs, casts };
    });
    const [a, b, x] = results[0]!.inputs as [number[], number[], number[]];
    const product = (left: readonly number[], right: readonly number[]): number[] =>
      left.map((_, i) => left.slice(i - (i % 36), i - (i % 36) + 36).reduce((sum, v, k) => sum + v * right[36 * k + (i % 36)]!, 0));
    const halves = a.map(half);
    const expected = [
      product(a, b).map((v, i) => (x[i]! > 0 ? half(v) : 0)),
      product(halves, b.map(half)),
      product(
        halves,
        b.map((v) => half(2 * v)),
      ),
    ];
    // DirectML over Vulkan truncates casts to float16 and the products of such numbers: only the shaders are held to the reference there.
    for (const { values } of isMicrosoft(device) ? results.slice(1) : results)
      values.forEach((list, i) => expectClose(list, expected[i]!, "f16", 36));
    expect(results.map(({ casts }) => casts)).toEqual([6, 0]);
  });

  it("casts in launches of its own where rows are no multiples of four elements", SLOW, () => {
    const [off, on] = [run("off", 41, 10), run("on", 41, 10)];
    on.results.forEach((list, i) => expectClose(list, off.results[i]!, "f16", 64));
  });
});

eachDevice("bfloat16 in memory", (device) => {
  restoresShaderModes();

  const make = (shape: readonly number[], seed: number): dx.Tensor =>
    dx.scope(() =>
      dx
        .randn([...shape], { device, generator: new dx.Generator(seed) })
        .mul(0.25)
        .to("bfloat16"),
    );

  /** What three calls of fn give, of bfloat16 or the same numbers in float32, and the products' launches. */
  const run = (shaders: string, fuse: string, fn: (...x: dx.Tensor[]) => dx.Tensor[], inputs: readonly dx.Tensor[]) => {
    process.env.DXTENSOR_SHADERS = shaders;
    process.env.DXTENSOR_FUSE = fuse;
    const step = dx.compile(fn, { check: false, regions: "none" });
    let results: number[][] = [];
    for (let i = 0; i < 3; i++) results = step(...inputs).map((t) => [...(t.to("bfloat16").to("float32").dataSync() as Float32Array)]);
    const products = step.explain().nodes.filter((node) => node.operator === "SHADER" && /^(matmul|linear)/.test(node.origin) && !/nodes of/.test(node.origin));
    const widened = step.explain().nodes.filter(({ operator, inputs: [x] }) => operator === "CAST" && x!.includes("uint16")).length;
    step.dispose();
    return { results, widened, read: products.map((node) => node.inputs.map((x) => /:(\w+)/.exec(x)![1]!)) };
  }; // prettier-ignore

  const two = ["bfloat16", "bfloat16"];
  it.each([
    ["a layer with a bias", [[40, 64], [72, 64], [72]], ([x, w, b]) => [dx.linear(x!, w!, b!)], [[...two, "bfloat16"]]],
    ["transposed operands", [[64, 40], [72, 64]], ([x, w]) => [dx.matmul(x!.transpose(0, 1), w!.transpose(0, 1))], [two]],
    ["several products", [[3, 20, 64], [64, 72]], ([x, w]) => [dx.matmul(x!, w!)], [two]],
    ["one matrix for each", [[3, 20, 64], [3, 72, 64]], ([x, w]) => [dx.matmul(x!, w!.transpose(1, 2))], [two]],
    ["K that is split", [[64, 2048], [2048, 32]], ([x, w]) => [dx.matmul(x!, w!)], [two, ["float32"]]],
    ["a view behind others", [[80, 64], [64, 72]], ([x, w]) => [dx.matmul(x!.narrow(0, 32, 40), w!)], [two]],
    // A launch reads one that is widened as well where another reader needs it.
    ["a tensor with itself", [[64, 64]], ([x]) => [dx.matmul(x!, x!)], [["float32", "float32"]]],
    ["what is read otherwise too", [[64, 64], [64, 64]], ([x, w]) => [dx.matmul(x!, w!), x!.exp()], [["float32", "bfloat16"]]],
    ["every second row", [[80, 64], [64, 72]], ([x, w]) => [dx.matmul(x!.reshape(40, 2, 64).select(1, 0), w!)], [["float32", "bfloat16"]]],
    ["rows that are no multiple of four", [[40, 66], [66, 72]], ([x, w]) => [dx.matmul(x!, w!)], [["float32", "float32"]]],
  ] as readonly [string, readonly number[][], (x: dx.Tensor[]) => dx.Tensor[], readonly string[][]][])("is read by products: %s", SLOW, (_, shapes, of, read) => {
    dx.closeDevice(device);
    const inputs = shapes.map((shape, i) => make(shape, i + 1));
    const wide = inputs.map((t) => dx.scope(() => t.to("float32")));
    const fn = (...x: dx.Tensor[]): dx.Tensor[] => of(x);
    for (const fuse of ["off", "always"]) {
      const on = run("on", fuse, fn, inputs);
      expect(on.results).toEqual(run("on", fuse, fn, wide).results);
      run("off", "off", fn, inputs).results.forEach((list, i) => expectClose(on.results[i]!, list, "f16", 64));
      if (fuse === "off") expect(on.read).toEqual(read);
      expect(on.widened).toBe(new Set(read.flat()).has("float32") && read.length === 1 ? (read[0]!.includes("bfloat16") || shapes.length === 1 ? 1 : 2) : 0);
    }
  }); // prettier-ignore

  it("is cast where products of several matrices read float16, too", SLOW, () => {
    dx.closeDevice(device);
    const inputs = [make([3, 20, 64], 1), make([3, 64, 72], 2)].map((t) => dx.scope(() => t.to("float16")));
    const fn = (...[x, w]: dx.Tensor[]): dx.Tensor[] => [dx.matmul(x!.to("float32"), w!.to("float32"))];
    const [on, off] = [run("on", "off", fn, inputs), run("off", "off", fn, inputs)];
    expect(on.read).toEqual([["float16", "float16"]]);
    expectClose(on.results[0]!, off.results[0]!, "f16", 8);
  });

  it("keeps NaN and infinities", SLOW, () => {
    dx.closeDevice(device);
    const values = Array.from({ length: 64 * 64 }, (_, i) => (i === 65 ? NaN : i === 130 ? Infinity : i === 195 ? -Infinity : (i % 7) - 3));
    const x = dx.tensor(values, { shape: [64, 64], device }).to("bfloat16");
    const w = dx.eye(64, 64, { device }).to("bfloat16").mul(2);
    const fn = (...[a, b]: dx.Tensor[]): dx.Tensor[] => [dx.matmul(a!, b!)];
    const { results, read } = run("on", "off", fn, [x, w]);
    expect(read).toEqual([two]);
    const isOdd = (i: number): boolean => [1, 2, 3].includes(Math.floor(i / 64));
    results[0]!.forEach((v, i) => expect(v).toBe(isOdd(i) && i % 65 !== 0 ? NaN : 2 * values[i]!));
  });
});
