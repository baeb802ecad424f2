import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { fitOf, gemm, PLAIN, TILES, type GemmForm } from "../../../src/shader/kernels/gemm.ts";
import { gemmSum, splitOf, type Split } from "../../../src/shader/kernels/gemm-sum.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import { matmulShader } from "../../../src/shader/kernels/select-gemm.ts";
import { inForm } from "../../../src/shader/shader-forms.ts";
import { eachDevice } from "../../device.ts";
import { build } from "../../graph/build.ts";
import { expectClose, launch, numbers, restoresShaderModes } from "./support.ts";

describe("how K is split", () => {
  it("gives a device enough groups, of at least four steps each, and no part without work", () => {
    expect(splitOf(TILES.smallInTwo, [64, 64, 4096])).toEqual({ parts: 32, perPart: 128 });
    expect(splitOf(TILES.smallInTwo, [64, 64, 300])).toEqual({ parts: 2, perPart: 160 });
    expect(splitOf(TILES.smallInTwo, [64, 64, 224])).toBeNull();
    expect(splitOf(TILES.smallInTwo, [512, 512, 4096])).toBeNull();
    expect(splitOf(TILES.smallInTwo, [32, 32, 100_000])!.parts).toBeLessThanOrEqual(64);
    for (let k = 256; k < 5000; k += 37) {
      const { parts, perPart } = splitOf(TILES.smallInTwo, [40, 50, k])!;
      expect([perPart % 32, (parts - 1) * perPart < k, parts * perPart >= k]).toEqual([0, true, true]);
    }
  });
});

describe("the forms of a product", () => {
  const made = (
    m: number,
    n: number,
    k: number,
    variant: string | null,
  ): { readonly variants: readonly string[]; readonly groups: number[] } => {
    const built = build();
    const [a, b] = [built.input(k, m), built.input(k, n)];
    const lowered = inForm({ isShader: true, variant }, () => matmulShader(built.g, built.g.transpose(a, [1, 0]), b, null, { alpha: 1, beta: 0 })); // prettier-ignore
    expect(lowered.result!.sizes).toEqual([m, n]);
    return { variants: lowered.variants, groups: built.graph.nodes.map((node) => node.shader!.groups[0]) };
  };
  it("have K split where that gives each part enough to do, as tune measures them", () => {
    expect(made(64, 64, 4096, null).groups).toEqual([4 * 32, 64]);
    expect(made(64, 64, 4096, "medium split").groups).toEqual([64, 64]);
    expect(made(64, 64, 4096, "smallInTwo").groups).toEqual([4]);
    expect(made(64, 64, 4096, null).variants).toEqual(expect.arrayContaining(["smallInTwo split", "medium split"]));
    expect(made(64, 64, 100, null).variants.filter((name) => name.includes("split"))).toEqual([]);
    expect(made(512, 512, 4096, null).groups).toEqual([256]);
    // Rows of 10: elements would be read one by one.
    expect(made(64, 10, 1568, null).groups).toEqual([4]);
  });
});

describe("products whose K is split among groups", () => {
  const forms: readonly Partial<GemmForm>[] = [
    {},
    { transA: true },
    { transB: true, bias: "row" },
    { transA: true, transB: true, bias: "matrix", scales: true },
    { isBatched: true, epilogue: { ...NO_EPILOGUE, activation: { operator: "ACTIVATION_LEAKY_RELU", attributes: { alpha: 0.25 } } } },
    { isBatched: true, bias: "row", epilogue: { ...NO_EPILOGUE, hasAddend: true, reluGradient: "where above 0" } },
  ];
  it.each(forms)("%o", (more) => {
    const form: GemmForm = { ...PLAIN, ...more };
    const { transA, transB, bias, scales, isBatched, epilogue } = form;
    for (const [m, n, k, split] of [
      [33, 10, 83, { parts: 3, perPart: 32 }],
      [32, 32, 96, { parts: 2, perPart: 64 }],
      [5, 12, 300, { parts: 10, perPart: 32 }],
    ] as readonly [number, number, number, Split][]) {
      const count = isBatched ? 2 : 1;
      const size = m * n;
      const [a, b] = [numbers(count * m * k, 1, 1), numbers(count * k * n, 2, 1)];
      const added = numbers(bias === "row" ? n : size, 3, 1);
      const [addend, mask] = [numbers(count * size, 4, 1), numbers(count * size, 5, 1)];
      const [alpha, beta] = scales ? [0.5, -2] : [1, 1];
      const expected = Array.from({ length: count * size }, (_, i) => {
        const [z, y, x] = [Math.floor(i / size), Math.floor((i % size) / n), i % n];
        let sum = 0;
        for (let q = 0; q < k; q++)
          sum += a[z * m * k + (transA ? q * m + y : y * k + q)]! * b[z * k * n + (transB ? x * k + q : q * n + x)]!;
        const total = alpha * sum + (bias === null ? 0 : beta * added[bias === "row" ? x : i]!) + (epilogue.hasAddend ? addend[i]! : 0);
        if (epilogue.reluGradient !== null) return mask[i]! > 0 ? total : 0;
        return epilogue.activation !== null && total < 0 ? 0.25 * total : total;
      });
      const lead = isBatched ? [count] : [];
      const operands = {
        a: { shape: [...lead, ...(transA ? [k, m] : [m, k])], values: a },
        b: { shape: [...lead, ...(transB ? [n, k] : [k, n])], values: b },
        c: { shape: [count * split.parts, m, n] },
      };
      const tile = TILES.smallInTwo;
      const strides = isBatched ? { strideA: m * k, strideB: k * n } : {};
      const partial = launch(gemm(tile, fitOf(tile, [m, n, k], form), { ...PLAIN, transA, transB, isBatched, isSplit: true }), operands, { ...strides, ...split }).c!; // prettier-ignore
      const c = [...lead, m, n];
      const buffers = {
        partial: { shape: operands.c.shape, values: partial },
        ...(bias === null ? {} : { bias: { shape: bias === "row" ? [n] : [m, n], values: added } }),
        ...(epilogue.hasAddend ? { addend: { shape: c, values: addend }, mask: { shape: c, values: mask } } : {}),
        c: { shape: c },
      };
      const params = { parts: split.parts, ...(scales ? { alpha, beta } : {}) };
      expectClose(launch(gemmSum(form, c), buffers, params).c!, expected, "f32", 16);
    }
  });

  it("are added four elements at a time where there are many", () => {
    const c = [256, 256];
    const values = numbers(2 * 65536, 6, 1);
    const found = launch(gemmSum(PLAIN, c), { partial: { shape: [2, ...c], values }, c: { shape: c } }, { parts: 2 }).c!;
    expect(gemmSum(PLAIN, c).program.source.name).toContain("sum 4");
    expect(found).toEqual(Array.from({ length: 65536 }, (_, i) => Math.fround(values[i]! + values[65536 + i]!))); // prettier-ignore
  });
});

eachDevice("products with few results and long K", (device) => {
  restoresShaderModes();
  it(
    "are two launches with whatever follows them, the same each time, as in float64; NaN and infinities go through",
    { timeout: 600_000 },
    () => {
      process.env.DXTENSOR_SHADERS = "on";
      process.env.DXTENSOR_FUSE = "off";
      const [m, n, k] = [40, 24, 1200];
      const make = (shape: number[], seed: number): dx.Tensor => dx.randn(shape, { device, generator: new dx.Generator(seed) });
      const [x, dy] = [make([k, m], 1), make([k, n], 2)];
      const product = (u: dx.Tensor, v: dx.Tensor): dx.Tensor => dx.leakyRelu(dx.matmul(u.transpose(0, 1), v), { slope: 0.25 });
      const compiled = dx.compile(product, { check: false });
      const [p, q] = [x, dy].map((t) => t.dataSync() as Float32Array) as [Float32Array, Float32Array];
      const expected = Array.from({ length: m * n }, (_, i) => {
        let sum = 0;
        for (let j = 0; j < k; j++) sum += p[j * m + Math.floor(i / n)]! * q[j * n + (i % n)]!;
        return sum < 0 ? 0.25 * sum : sum;
      });
      const first = compiled(x, dy).dataSync() as Float32Array;
      expectClose([...first], expected, "f32", k);
      const nodes = compiled.explain().nodes.map(({ operator, origin }) => [operator, /leakyRelu/.test(origin)]);
      expect(nodes).toEqual([["SHADER", false], ["SHADER", true]]); // prettier-ignore
      for (let i = 0; i < 3; i++) expect(compiled(x, dy).dataSync()).toEqual(first);

      const special = p.slice();
      special[5] = NaN;
      special[1199 * m + 7] = Infinity;
      const odd = compiled(dx.tensor(special, { shape: [k, m], device }), dy).dataSync() as Float32Array;
      for (let i = 0; i < m * n; i++) {
        const row = Math.floor(i / n);
        if (row === 5) expect(odd[i]).toBeNaN();
        else if (row === 7) expect(odd[i]).toBe(q[1199 * n + (i % n)]! > 0 ? Infinity : -Infinity);
        else expect(odd[i]).toBe(first[i]);
      }
      compiled.dispose();
    },
  );
});
