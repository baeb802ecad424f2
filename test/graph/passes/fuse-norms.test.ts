import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { fitOf, gemm, PLAIN, TILES } from "../../../src/shader/kernels/gemm.ts";
import type { GemmNorm } from "../../../src/shader/kernels/row-statistics.ts";
import { eachDevice } from "../../device.ts";
import { expectClose, launch, numbers, restoresShaderModes } from "../../shader/kernels/support.ts";

describe("the launch of a product", () => {
  it.each([
    ["smallInTwo", 33, 36, 20],
    ["smallInTwo", 32, 32, 32],
    ["medium", 20, 68, 4],
  ] as const)("writes means and squared distances of rows by tiles of columns: %s, %i x %i", (name, m, n, k) => {
    const tile = TILES[name];
    // Far from 0, where squares would cancel.
    const [a, b] = [numbers(m * k, 1, 1), numbers(k * n, 2, 1)];
    const bias = numbers(n, 3, 1).map((v) => Math.fround(v + 1000));
    const tiles = Math.ceil(n / tile.bn);
    const buffers = {
      a: { shape: [m, k], values: a },
      b: { shape: [k, n], values: b },
      bias: { shape: [n], values: bias },
      c: { shape: [m, n] },
      rowStatistics: { shape: [m, tiles, 2] },
    };
    const kernel = gemm(tile, fitOf(tile, [m, n, k], PLAIN), { ...PLAIN, bias: "row", hasStatistics: true });
    const { c, rowStatistics } = launch(kernel, buffers);
    const expected = Array.from({ length: m * tiles }, (_, i) => {
      const [row, from] = [Math.floor(i / tiles), (i % tiles) * tile.bn];
      const own = c!.slice(row * n + from, row * n + Math.min(n, from + tile.bn));
      const mean = own.reduce((x, y) => x + y, 0) / own.length;
      return [mean, own.reduce((x, y) => x + (y - mean) ** 2, 0)];
    }).flat();
    expect(c!.every((v, i) => Math.abs(v - bias[i % n]!) < 50)).toBe(true);
    expected.forEach((v, i) => expect(Math.abs(rowStatistics![i]! - v)).toBeLessThan(i % 2 === 0 ? 2e-4 : 2e-4 * v + 2e-3));
  });

  it.each([
    { kind: "layerNorm", inputs: ["gain", "shift"] },
    { kind: "rmsNorm", inputs: ["gain"] },
    { kind: "layerNorm", inputs: [] },
  ] as const satisfies readonly GemmNorm[])("normalizes its operand by such: %o", (norm) => {
    const [epsilon, tileColumns] = [1e-5, 32];
    for (const [m, n, k] of [[33, 36, 68], [32, 32, 96]] as const) {
      const [a, b, gain, shift] = [numbers(m * k, 1, 1).map((v) => Math.fround(v + 3)), numbers(k * n, 2, 1), numbers(k, 3, 1), numbers(k, 4, 1)];
      const tiles = Math.ceil(k / tileColumns);
      const rows = Array.from({ length: m }, (_, y) => a.slice(y * k, (y + 1) * k));
      const moments = (list: readonly number[]): [number, number] => {
        const mean = list.reduce((x, y) => x + y, 0) / list.length;
        return [mean, list.reduce((x, y) => x + (y - mean) ** 2, 0)];
      };
      const statistics = rows.flatMap((row) => Array.from({ length: tiles }, (_, i) => moments(row.slice(i * tileColumns, (i + 1) * tileColumns))).flat());
      const normal = rows.flatMap((row) => {
        const [mean, squares] = norm.kind === "layerNorm" ? moments(row) : [0, row.reduce((x, y) => x + y * y, 0)];
        const rate = 1 / Math.sqrt(squares / k + epsilon);
        return row.map((v, i) => (v - mean) * rate * (norm.inputs.length > 0 ? gain[i]! : 1) + (norm.inputs.length > 1 ? shift[i]! : 0));
      });
      const expected = Array.from({ length: m * n }, (_, i) => {
        let sum = 0;
        for (let q = 0; q < k; q++) sum += normal[Math.floor(i / n) * k + q]! * b[q * n + (i % n)]!;
        return sum;
      });
      const buffers = {
        a: { shape: [m, k], values: a },
        b: { shape: [k, n], values: b },
        statistics: { shape: [m, tiles, 2], values: statistics },
        gain: { shape: [k], values: gain },
        shift: { shape: [k], values: shift },
        c: { shape: [m, n] },
      };
      const tile = TILES.smallInTwo;
      expectClose(launch(gemm(tile, fitOf(tile, [m, n, k], PLAIN), { ...PLAIN, norm }), buffers, { epsilon, tileColumns }).c!, expected, "f32", 16);
    }
  });
}); // prettier-ignore

/** A driver for CPUs compiles these shaders for a minute. */
const SLOW = { timeout: 600_000 };

eachDevice("layerNorm and RMSNorm between products", (device) => {
  restoresShaderModes();
  const of = (shape: number[], seed: number, shift = 0): dx.Tensor =>
    dx.scope(() => dx.randn(shape, { device, generator: new dx.Generator(seed) }).add(shift));
  const run = (fn: (...x: readonly dx.Tensor[]) => dx.Tensor[], inputs: () => dx.Tensor[]): { readonly values: Float32Array[]; readonly nodes: number; readonly origins: string[] } => {
    const own = inputs();
    const compiled = dx.compile((...x: dx.Tensor[]) => fn(...x), { check: false });
    let values: Float32Array[] = [];
    for (let i = 0; i < 3; i++) {
      const found = compiled(...own).map((t) => t.dataSync() as Float32Array);
      if (i > 0) expect(found).toEqual(values);
      values = found;
    }
    const nodes = compiled.explain().nodes.map(({ origin }) => origin);
    compiled.dispose();
    return { values, nodes: nodes.length, origins: nodes };
  }; // prettier-ignore
  const both = (fn: (...x: readonly dx.Tensor[]) => dx.Tensor[], inputs: () => dx.Tensor[]) => {
    process.env.DXTENSOR_FUSE = "off";
    const [off, on] = (["off", "on"] as const).map((mode) => {
      process.env.DXTENSOR_SHADERS = mode;
      dx.closeDevice(device);
      return run(fn, inputs);
    });
    return { off: off!, on: on! };
  };

  it("are no launch of their own where products alone read them", SLOW, () => {
    const [rows, width, inner] = [140, 260, 64];
    const inputs = (): dx.Tensor[] => [of([rows, inner], 1), of([width, inner], 2), of([width], 3), of([width], 4), of([width, 36], 5), of([width, 40], 6)]; // prettier-ignore
    const fn = (...[a, p, g, s, q, r]: readonly dx.Tensor[]): dx.Tensor[] => {
      const h = dx.linear(a!, p!);
      const normal = dx.layerNorm(h, [width], g!, s!);
      return [dx.sigmoid(dx.matmul(normal, q!)), dx.matmul(normal, r!), h];
    };
    const { off, on } = both(fn, inputs);
    expect(on.nodes).toBe(3);
    expect(on.origins.some((text) => text.startsWith("layerNorm"))).toBe(false);
    on.values.forEach((list, i) => expectClose([...list], [...off.values[i]!], "f32", 300));
  });

  it("keep their own launch where something else reads them", SLOW, () => {
    const inputs = (): dx.Tensor[] => [of([140, 64], 1), of([260, 64], 2), of([260, 36], 5)];
    const { off, on } = both((...[x, w, v]) => {
      const normal = dx.rmsNorm(dx.linear(x!, w!), [260]);
      return [dx.matmul(normal, v!), normal];
    }, inputs);
    expect(on.nodes).toBe(3);
    on.values.forEach((list, i) => expectClose([...list], [...off.values[i]!], "f32", 300));
  });
});
