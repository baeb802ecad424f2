/** Products of the sizes that networks have, by DirectML's GEMM and by the library's with each tile: in chains, of which each waits for the one before. */
import * as dx from "dxtensor";
import type * as gemm from "../../dist/shader/kernels/gemm.js";
import { difference } from "./kernels.ts";
import { load } from "./packed-kernels.ts";
import type { Report } from "./quantised.ts";
import type { SteadyClock } from "./steady-clock.ts";

type Gemm = typeof gemm;

/** [batch or null, M, N, K]; products are chains where N = K. */
export type Product = readonly [batch: number | null, m: number, n: number, k: number];

const CHAIN = 16;

const nameOf = ([batch, m, n, k]: Product): string => `${batch === null ? "" : `${batch} x `}${m} x ${n} x ${k}`;

export async function measureGemms(
  device: dx.Device,
  products: readonly Product[],
  minSeconds: number,
  clock: SteadyClock,
  report: Report,
): Promise<void> {
  const { TILES, PLAIN, gemmBody, threadsOfTile, groupsOfTile, fitOf } = await load<Gemm>("gemm");
  for (const product of products) {
    const name = nameOf(product);
    if (!report.isWanted(`gemm ${name}`)) continue;
    const [batch, m, n, k] = product;
    const lead = batch === null ? [] : [batch];
    const random = (shape: readonly number[], seed: number, scale: number): dx.Tensor =>
      dx.scope(() => dx.randn([...shape], { device, generator: new dx.Generator(seed) }).mul(scale));
    const [a, b] = [random([...lead, m, k], 1, 1), random([...lead, k, n], 2, k ** -0.5)];
    process.env.DXTENSOR_SHADERS = "off";
    let expected: Float32Array | null = null;
    const compiled: { readonly form: string; readonly away: number; readonly once: () => undefined; readonly dispose: () => void }[] = [];
    const measure = async (form: string, multiply: (x: dx.Tensor, y: dx.Tensor) => dx.Tensor): Promise<void> =>
      report.attempt(`${name} ${form}`, async () => {
        const one = dx.scope(() => multiply(a, b));
        const found = (await one.data()) as Float32Array;
        one.dispose();
        expected ??= found;
        const away = difference(found, expected);
        const program = dx.compile(
          (x: dx.Tensor, y: dx.Tensor) => {
            if (n !== k) return Array.from({ length: CHAIN }, () => multiply(x, y));
            let last = x;
            for (let i = 0; i < CHAIN; i++) last = multiply(last, y);
            return [last];
          },
          { check: false, fuse: "off" },
        );
        const once = (): undefined => dx.scope(() => void program(a, b));
        once();
        compiled.push({ form, away, once, dispose: () => program.dispose() });
      });
    await measure("DirectML", (x, y) => dx.matmul(x, y));
    const sizes = [...lead, m, n];
    for (const [tileName, tile] of Object.entries(TILES)) {
      if (report.isLate()) break;
      // Tiles that are far larger than the product.
      if (tile.bm * tile.bn > 4 * Math.max(32, m) * Math.max(32, n)) continue;
      const fit = fitOf(tile, [m, n, k], PLAIN);
      const shader = dx.shader(
        {
          name: `product ${tileName} ${fit}`,
          inputs: { a: "float32", b: "float32" },
          outputs: { c: { dtype: "float32", shape: () => [...sizes] } },
          params: { alpha: "f32", beta: "f32", strideA: "u32", strideB: "u32" },
          threads: threadsOfTile(tile),
          groups: () => groupsOfTile(tile, sizes),
        },
        (s) => gemmBody(s, tile, fit, { ...PLAIN, isBatched: batch !== null }),
      );
      await measure(
        `${tileName}${fit === "whole" ? "" : `, ${fit}`}`,
        (x, y) => shader({ a: x, b: y }, { alpha: 1, beta: 0, strideA: m * k, strideB: k * n }).c,
      );
    }
    await dx.synchronize(device);
    const flop = 2 * (batch ?? 1) * m * n * k;
    for (const { form, away, once, dispose } of compiled) {
      const timing = await clock.measure(once, minSeconds);
      const time = timing.seconds / CHAIN;
      report.add({ part: "gemm", name, form, us: 1e6 * time, rate: flop / time / 1e12, unit: "TFLOP/s", share: null, difference: away, isWrong: !(away <= 1e-5), reference: timing.reference }); // prettier-ignore
      dispose();
    }
    report.best("gemm", name);
    for (const t of [a, b]) t.dispose();
  }
}
