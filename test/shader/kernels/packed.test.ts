/** The shaders over packed weights, in the evaluator and on devices, compared with float64; and the library's layers by them. */
import { describe, expect, it } from "vitest";
import { nativeDevice } from "../../../src/runtime/devices.ts";
import * as dx from "../../../src/index.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
import {
  fitsTile,
  packedProduct,
  rowsOfGroup,
  takesPacked,
  type PackedProductForm,
  type PackedProductTile,
} from "../../../src/shader/kernels/packed-product.ts";
import { packedTile } from "../../../src/shader/kernels/select-packed.ts";
import { packedToValues } from "../../../src/shader/kernels/packed-values.ts";
import { eachDevice, modes, numbers as read } from "../../device.ts";
import { runKernel } from "../device.ts";
import { generator } from "../random.ts";
import { expectClose, launch, numbers, restoresShaderModes, setVariable } from "./support.ts";

const FORM: PackedProductForm = {
  bits: 4,
  isSigned: false,
  width: 64,
  block: 32,
  scales: "f32",
  hasMinima: false,
  hasBias: false,
  count: 1,
};

interface Sample {
  readonly words: number[];
  readonly scales: number[];
  readonly minima: number[];
  readonly values: number[];
}

/** A random weight [n, width], and its values in float64. */
function sample({ bits, isSigned, width, block, scales: element }: PackedProductForm, n: number, seed: number): Sample {
  const random = generator(seed);
  const words = Array.from({ length: (n * width * bits) / 32 }, () => (random(65536) * 65536 + random(65536)) >>> 0);
  const [scales, minima] = [numbers((n * width) / block, seed + 1, 1, element), numbers((n * width) / block, seed + 2, 1, element)];
  return { words, scales, minima, values: valuesOf(words, { bits, isSigned, block }, scales, null) };
}

function valuesOf(
  words: readonly number[],
  { bits, isSigned, block }: Pick<PackedProductForm, "bits" | "isSigned" | "block">,
  scales: readonly number[],
  minima: readonly number[] | null,
): number[] {
  const perWord = 32 / bits;
  return Array.from({ length: words.length * perWord }, (_, i) => {
    const code = (words[Math.floor(i / perWord)]! >>> (bits * (i % perWord))) & (2 ** bits - 1);
    const level = isSigned ? (code << 24) >> 24 : code - 2 ** (bits - 1);
    const at = Math.floor(i / block);
    return level * scales[at]! + (minima?.[at] ?? 0);
  });
}

function expectedOf(form: PackedProductForm, { words, scales, minima }: Sample, x: readonly number[], bias: readonly number[], m: number, n: number): number[] {
  const values = valuesOf(words, form, scales, form.hasMinima ? minima : null);
  return Array.from({ length: m * n }, (_, i) => {
    const [row, column] = [Math.floor(i / n), i % n];
    let sum = form.hasBias ? bias[column]! : 0;
    for (let k = 0; k < form.width; k++) sum += x[row * form.width + k]! * values[column * form.width + k]!;
    return sum;
  });
} // prettier-ignore

const TILE: PackedProductTile = { threads: 16, lanes: 4, rows: 2 };

/** Each with what it is there for. */
const cases: readonly (readonly [string, Partial<PackedProductForm>, Partial<PackedProductTile>, m: number, n: number])[] = [
  ["two texels a row, fewer than lanes", {}, {}, 1, 9],
  ["as many texels as lanes", { width: 128 }, {}, 1, 16],
  ["more runs of texels than lanes, with a rest", { width: 640, hasMinima: true }, {}, 1, 5],
  ["runs of texels with a scale for two of them", { width: 128, block: 64 }, {}, 1, 5],
  ["more texels than lanes, with a rest", { width: 192, hasBias: true }, {}, 1, 5],
  ["several rows of x", { width: 160, count: 3, hasBias: true }, { rows: 1 }, 3, 7],
  ["more rows of x than a group has", { count: 2 }, { rows: 4 }, 5, 11],
  ["minima", { width: 96, hasMinima: true, hasBias: true, count: 2 }, {}, 2, 6],
  ["scales of float16", { scales: "f16", hasMinima: true }, {}, 1, 6],
  ["a block of 16", { block: 16, hasMinima: true }, {}, 1, 6],
  ["a block of 8", { block: 8 }, {}, 1, 6],
  ["a block of 96", { width: 192, block: 96 }, {}, 1, 6],
  ["a scale a row", { width: 96, block: 96, hasMinima: true }, {}, 1, 6],
  ["int8", { bits: 8, isSigned: true, width: 80, block: 16 }, {}, 1, 9],
  ["int8, a block of two texels", { bits: 8, isSigned: true, width: 128, hasBias: true, count: 2 }, {}, 2, 9],
  ["int8, a scale a row", { bits: 8, isSigned: true, width: 48, block: 48 }, {}, 1, 9],
  ["uint8 with minima", { bits: 8, width: 64, block: 4, hasMinima: true }, {}, 1, 5],
];

describe("products with packed weights in the evaluator", () => {
  it.each(cases)("%s", (_, more, tile, m, n) => {
    const form = { ...FORM, ...more };
    const weight = sample(form, n, 5);
    const [x, bias] = [numbers(m * form.width, 8, 1), numbers(n, 9, 1)];
    const blocks = [n, form.width / form.block];
    const ways = tile.rows === 4 ? (["shared"] as const) : (["shared", "ahead", "direct", "runs"] as const);
    for (const way of ways) {
      if (!fitsTile(form, { ...TILE, ...tile, way })) continue;
      const { y } = launch(packedProduct(form, { ...TILE, ...tile, way }), {
        x: { shape: [m, form.width], values: x },
        codes: { shape: [n, (form.width * form.bits) / 32], values: weight.words },
        scales: { shape: blocks, values: weight.scales },
        ...(form.hasMinima ? { minima: { shape: blocks, values: weight.minima } } : {}),
        ...(form.hasBias ? { bias: { shape: [n], values: bias } } : {}),
        y: { shape: [m, n] },
      });
      // Sums of so many codes, of up to 128.
      expectClose(y!, expectedOf(form, weight, x, bias, m, n), "f32", form.width * (form.bits === 8 ? 2 ** 14 : 64));
    }
  });

  it.each([
    [{}, [9, 3, 1], "shared"],
    [{ width: 128, count: 2, hasMinima: true, hasBias: true }, [5, 18], "ahead"],
    [{ bits: 8, isSigned: true, width: 48, block: 48, count: 3 }, [8, 8, 7, 1], "direct"],
  ] as const)("several weights in one launch %#", (more, sizes, way) => {
    const form: PackedProductForm = { ...FORM, ...more };
    const m = 3;
    const x = numbers(m * form.width, 8, 1);
    const parts = sizes.map((n, i) => {
      const [weight, bias, of] = [sample(form, n, 5 + i), numbers(n, 9 + i, 1), i === 0 ? "" : `${i}`];
      const blocks = [n, form.width / form.block];
      const buffers = {
        [`codes${of}`]: { shape: [n, (form.width * form.bits) / 32], values: weight.words },
        [`scales${of}`]: { shape: blocks, values: weight.scales },
        ...(form.hasMinima ? { [`minima${of}`]: { shape: blocks, values: weight.minima } } : {}),
        ...(form.hasBias ? { [`bias${of}`]: { shape: [n], values: bias } } : {}),
        [`y${of}`]: { shape: [m, n] },
      };
      return { buffers, y: `y${of}`, expected: expectedOf(form, weight, x, bias, m, n) };
    });
    const kernel = packedProduct(form, { ...TILE, way }, sizes.length);
    const results = launch(kernel, Object.assign({ x: { shape: [m, form.width], values: x } }, ...parts.map(({ buffers }) => buffers)));
    for (const { y, expected } of parts) expectClose(results[y]!, expected, "f32", form.width * (form.bits === 8 ? 2 ** 14 : 64));
  }); // prettier-ignore

  it("takes x in parts where it is larger than shared memory", () => {
    const form = { ...FORM, width: 8 * 832, count: 8 };
    expect(fitsTile(form, TILE)).toBe(true);
    const weight = sample(form, 2, 5);
    const x = numbers(8 * form.width, 8, 1);
    const { y } = launch(packedProduct(form, { threads: 8, lanes: 8, rows: 1 }), {
      x: { shape: [8, form.width], values: x },
      codes: { shape: [2, form.width / 8], values: weight.words },
      scales: { shape: [2, form.width / 32], values: weight.scales },
      y: { shape: [8, 2] },
    });
    expectClose(y!, expectedOf(form, weight, x, [], 8, 2), "f32", form.width * 64);
  });

  it("takes the widths and blocks that divide its accesses", () => {
    const takes = (bits: 4 | 8, width: number, block: number): boolean => takesPacked({ bits, width, block });
    expect([takes(4, 576, 32), takes(4, 48, 16), takes(4, 64, 4), takes(8, 16, 16), takes(8, 24, 8)]).toEqual([true, false, false, true, false]);
  }); // prettier-ignore

  it.each([
    [4096, 4096, 1],
    [49152, 576, 1],
    [576, 576, 1],
    [4096, 14336, 8],
    [7, 32, 3],
  ])("%i rows of %i, %i of x, have a tile", (n, width, count) => {
    for (const bits of [4, 8] as const) {
      const form = { ...FORM, bits, width, count };
      const tile = packedTile(form, n);
      expect(fitsTile(form, tile)).toBe(true);
      expect(tile.threads % tile.lanes).toBe(0);
      expect(rowsOfGroup(tile)).toBeGreaterThan(0);
    }
  });
});

describe("values of packed weights in the evaluator", () => {
  it.each([
    [{}, 3],
    [{ hasMinima: true, width: 36, block: 12 }, 2],
    [{ bits: 8, isSigned: true, width: 12, block: 6 }, 5],
    [{ bits: 8, width: 10, block: 5, hasMinima: true, scales: "f16" }, 2],
  ] as readonly (readonly [Partial<PackedProductForm>, number])[])("%o", (more, n) => {
    const form = { ...FORM, ...more };
    // Words of codes may end in the middle of a row.
    const words = Math.ceil((n * form.width * form.bits) / 32);
    const blocks = (n * form.width) / form.block;
    const random = generator(3);
    const codes = Array.from({ length: words }, () => (random(65536) * 65536 + random(65536)) >>> 0);
    const [scales, minima] = [numbers(blocks, 4, 1, form.scales), numbers(blocks, 5, 1, form.scales)];
    const expected = valuesOf(codes, form, scales, form.hasMinima ? minima : null).slice(0, n * form.width);
    for (const element of ["f32", "f16"] as const) {
      const { y } = launch(packedToValues({ ...form, element }), {
        codes: { shape: [words], values: codes },
        scales: { shape: [blocks], values: scales },
        ...(form.hasMinima ? { minima: { shape: [blocks], values: minima } } : {}),
        y: { shape: [n, form.width] },
      });
      expectClose(y!, element === "f32" ? expected : expected.map((v) => floatOfHalf(halfOfFloat(v))), element);
    }
  });
});

eachDevice("products with packed weights", () => {
  it.each([
    [{ width: 576, hasBias: true }, 1, 96],
    // Codes are read ahead.
    [{ width: 1024 }, 1, 40],
    [{ bits: 8, isSigned: true, width: 512 }, 1, 1100],
    [{ width: 14336, hasMinima: true }, 1, 8],
    [{ bits: 8, isSigned: true, width: 576, block: 576, scales: "f16", count: 2 }, 4, 33],
  ] as readonly (readonly [Partial<PackedProductForm>, number, number])[])("%o, %i rows", (more, m, n) => {
    const form = { ...FORM, ...more };
    const weight = sample(form, n, 5);
    const [x, bias] = [numbers(m * form.width, 8, 1), numbers(n, 9, 1)];
    const blocks = [n, form.width / form.block];
    const small = (list: readonly number[]): dx.Tensor => {
      if (form.scales === "f32") return dx.tensor(Float32Array.from(list), { shape: blocks });
      return dx.tensor(Float32Array.from(list), { shape: blocks }).to("float16");
    };
    const inputs = {
      x: dx.tensor(Float32Array.from(x), { shape: [m, form.width] }),
      codes: dx.tensor(Uint32Array.from(weight.words), { shape: [n, (form.width * form.bits) / 32] }),
      scales: small(weight.scales),
      ...(form.hasMinima ? { minima: small(weight.minima) } : {}),
      ...(form.hasBias ? { bias: dx.tensor(Float32Array.from(bias)) } : {}),
    };
    const expected = expectedOf(form, weight, x, bias, m, n);
    const { y } = runKernel(packedProduct(form, packedTile(form, n)), { inputs, outputs: { y: [m, n] } });
    expectClose(read(y!), expected, "f32", form.width * (form.bits === 8 ? 2 ** 14 : 64));
  });
});

restoresShaderModes();

eachDevice("layers of packed weights by shaders", (device) => {
  const real = (shape: readonly number[], seed: number): dx.Tensor => dx.randn([...shape], { generator: new dx.Generator(seed) });
  const kinds = [
    { bits: 4, symmetric: true },
    { bits: 4, symmetric: false },
    { bits: 8, symmetric: true },
    { bits: 8, symmetric: false, blockSize: 16 },
    // Rows of 18 codes: numbers in memory, and a GEMM.
    { bits: 4, blockSize: 6, width: 18 },
  ] as const;

  // A driver for CPUs compiles some of these shaders for minutes.
  it.each(kinds)("%o", { timeout: 600_000 }, (kind) => {
    const { width = 96, ...options } = kind as { readonly width?: number } & dx.nn.QuantizeModuleOptions;
    const made = (["off", "on"] as const).map((mode) => {
      setVariable("DXTENSOR_SHADERS", mode);
      setVariable("DXTENSOR_FUSE", "off");
      dx.closeDevice(device);
      const layer = dx.nn.linear(width, 37);
      layer.weight = new dx.nn.Parameter(real([37, width], 2));
      layer.bias = new dx.nn.Parameter(real([37], 3));
      const packed = dx.nn.quantize(layer, options) as dx.nn.QuantizedLinear;
      const before = dx.counters(device).shadersCompiled;
      const lists: number[][] = [];
      for (const shape of [[width], [2, 4, width]]) for (const run of modes) lists.push(read(run.run((t) => packed(t!), real(shape, 4))));
      // A view, and one that begins in the middle of a buffer.
      lists.push(read(packed(real([width, 3], 5).t())), read(packed(real([4, width], 6).narrow(0, 1, 2))));
      expect(packed(dx.zeros([0, width])).shape).toEqual([0, 37]);
      const x = real([3, width], 7).requiresGrad_();
      packed(x).mul(real([3, 37], 8)).sum().backward(); // prettier-ignore
      lists.push(read(x.grad!), read(packed.bias!.grad!), read(packed.dequantize()));
      const half = packed(real([3, width], 9).to("float16"));
      expect(half.dtype).toBe("float16");
      const bad = read(real([2, width], 10));
      bad[3] = NaN;
      bad[width + 2] = Infinity;
      const wrong = read(packed(dx.tensor(bad, { shape: [2, width] })));
      expect(wrong.slice(0, 37).every(Number.isNaN)).toBe(true);
      expect(wrong.slice(37).some(Number.isFinite)).toBe(false);
      return { lists, half: read(half.to("float32")), launched: dx.counters(device).shadersCompiled - before };
    });
    expect(made[0]!.launched).toBe(0);
    expect(made[1]!.launched).toBeGreaterThan(0);
    made[1]!.lists.forEach((list, i) => expectClose(list, made[0]!.lists[i]!, "f32", width * 64));
    expectClose(made[1]!.half, made[0]!.half, "f16", width * 64);
  });

  it("share a launch where they read the same tensor", () => {
    setVariable("DXTENSOR_SHADERS", "on");
    setVariable("DXTENSOR_FUSE", "off");
    dx.closeDevice(device);
    const layer = (rows: number, seed: number, bias: boolean): dx.nn.Module => {
      const made = dx.nn.linear(96, rows, { bias });
      made.weight = new dx.nn.Parameter(real([rows, 96], seed));
      return dx.nn.quantize(made, { symmetric: true });
    };
    const [q, k, v, other] = [layer(64, 1, false), layer(32, 2, false), layer(32, 3, false), layer(16, 4, true)] as const;
    // The last one reads what the others made.
    const fn = (x: dx.Tensor): dx.Tensor[] => {
      const [a, b, c] = [q(x), k(x), v(x)] as [dx.Tensor, dx.Tensor, dx.Tensor];
      return [a, b, c, other(x) as dx.Tensor, k(dx.cat([a, b], 1)) as dx.Tensor];
    };
    for (const rows of [1, 3]) {
      const x = real([rows, 96], 5);
      const step = dx.compile(fn);
      const eager = fn(x).map((t) => read(t));
      for (let call = 0; call < 3; call++) step(x).forEach((t, i) => expectClose(read(t), eager[i]!, "f32", 96 * 64));
      // Of eight buffers a launch has two weights.
      expect(step.explain().dispatches).toBe(nativeDevice(dx.device(device)).capabilities.seesTexels ? 4 : 5);
    }
  });

  it("embed tokens, and pass through a compiled training step of LoRA", () => {
    const results = (["off", "on"] as const).map((mode) => {
      setVariable("DXTENSOR_SHADERS", mode);
      setVariable("DXTENSOR_FUSE", "off");
      dx.closeDevice(device);
      dx.manualSeed(3);
      const net = dx.nn.sequential(dx.nn.embedding(10, 32), dx.nn.linear(32, 64), dx.nn.relu(), dx.nn.linear(64, 10));
      dx.nn.quantize(net, { symmetric: false });
      dx.nn.lora(net, { rank: 2, alpha: 4 });
      const optimizer = dx.optim.sgd(net.parameters().filter((p) => p.requiresGrad), { lr: 0.1 }); // prettier-ignore
      const step = dx.compile((tokens: dx.Tensor, target: dx.Tensor) => {
        const loss = dx.crossEntropy(net(tokens).reshape([-1, 10]), target.reshape([-1]));
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      });
      const [tokens, target] = [dx.tensor([[1, 9, 0]], { dtype: "int32" }), dx.tensor([[2, 3, 4]], { dtype: "int32" })];
      return Array.from({ length: 4 }, () => read(step(tokens, target))[0]!);
    });
    expectClose(results[1]!, results[0]!, "f32", 100);
    expect(results[0]![3]).toBeLessThan(results[0]![0]!);
  });
});
