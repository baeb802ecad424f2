/**
 * Products of the sizes that networks have, by DirectML's GEMM and by each of the library's kernels: square ones in chains, of which each waits for the one before,
 * others alone between two timestamps of the device, which take some 8 microseconds themselves on an H200.
 */
import * as dx from "dxtensor";
import type * as gemm from "../../dist/shader/kernels/gemm.js";
import type * as gemmDot from "../../dist/shader/kernels/gemm-dot.js";
import { difference } from "./kernels.ts";
import { load } from "./packed-kernels.ts";
import type { Report } from "./quantised.ts";
import type { SteadyClock } from "./steady-clock.ts";

/** Products are chains where N = K and no operand is transposed. */
export interface Product {
  readonly batch: number | null;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transA: boolean;
  readonly transB: boolean;
}

/** "64 x 128 x 784 b^T" of M, N, K; "32 of 64 x 64 x 32". */
export function productOf(text: string): Product {
  const [, batch, m, n, k, a, b] = /^(?:(\d+) of )?(\d+) x (\d+) x (\d+)( a\^T)?( b\^T)?$/.exec(text)!;
  return {
    batch: batch === undefined ? null : Number(batch),
    m: Number(m),
    n: Number(n),
    k: Number(k),
    transA: a !== undefined,
    transB: b !== undefined,
  };
}

const CHAIN = 16;
/** Timed alone so often. */
const ROUNDS = 15;

interface Form {
  readonly form: string;
  readonly multiply: (x: dx.Tensor, y: dx.Tensor) => dx.Tensor;
}

/** The library's kernels for a product. */
async function kernelsOf({ batch, m, n, k, transA, transB }: Product): Promise<Form[]> {
  const { TILES, PLAIN, gemmBody, threadsOfTile, groupsOfTile, fitOf } = await load<typeof gemm>("gemm");
  const { dotBody, dotThreads, groupsOfDot } = await load<typeof gemmDot>("gemm-dot");
  const sizes = [...(batch === null ? [] : [batch]), m, n];
  const form = { ...PLAIN, transA, transB, isBatched: batch !== null };
  const inputs = { a: "float32", b: "float32" } as const;
  const outputs = { c: { dtype: "float32", shape: () => [...sizes] } } as const;
  const params = { alpha: "f32", beta: "f32", strideA: "u32", strideB: "u32" } as const;
  const numbers = { alpha: 1, beta: 0, strideA: m * k, strideB: k * n };
  const tiles = Object.entries(TILES).flatMap(([name, tile]) => {
    // Tiles that are far larger than the product.
    if (tile.bm * tile.bn > 4 * Math.max(32, m) * Math.max(32, n)) return [];
    const fit = fitOf(tile, [m, n, k], form);
    const shader = dx.shader(
      { name: `product ${name} ${fit}`, inputs, outputs, params, threads: threadsOfTile(tile), groups: () => groupsOfTile(tile, sizes) },
      (s) => gemmBody(s as never, tile, fit, form),
    );
    return [{ form: `${name}, ${fit}`, multiply: (x: dx.Tensor, y: dx.Tensor) => shader({ a: x, b: y }, numbers).c }];
  });
  if (batch !== null || transA || !transB || k % 4 !== 0) return tiles;
  const dot = dx.shader(
    { name: "product of rows", inputs, outputs, params, threads: dotThreads, groups: () => groupsOfDot(m, n) },
    (s) => dotBody(s as never, form), // prettier-ignore
  );
  return [...tiles, { form: "rows", multiply: (x, y) => dot({ a: x, b: y }, numbers).c }];
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

export async function measureGemms(
  device: dx.Device,
  products: readonly string[],
  minSeconds: number,
  clock: SteadyClock,
  report: Report,
): Promise<void> {
  for (const name of products) {
    if (!report.isWanted(`gemm ${name}`)) continue;
    const product = productOf(name);
    const { batch, m, n, k, transA, transB } = product;
    const isChain = n === k && !transA && !transB;
    const lead = batch === null ? [] : [batch];
    const random = (rows: number, columns: number, isTransposed: boolean, seed: number, scale: number): dx.Tensor =>
      dx.scope(() =>
        dx
          .randn([...lead, ...(isTransposed ? [columns, rows] : [rows, columns])], { device, generator: new dx.Generator(seed) })
          .mul(scale),
      );
    const [a, b] = [random(m, k, transA, 1, 1), random(k, n, transB, 2, k ** -0.5)];
    process.env.DXTENSOR_SHADERS = "off";
    const directml: Form = {
      form: "DirectML",
      multiply: (x, y) => dx.matmul(transA ? x.transpose(-1, -2) : x, transB ? y.transpose(-1, -2) : y),
    };
    let expected: Float32Array | null = null;
    const compiled: { readonly form: string; readonly away: number; readonly program: dx.Compiled<[dx.Tensor, dx.Tensor], dx.Tensor> }[] =
      [];
    for (const { form, multiply } of [directml, ...(await kernelsOf(product))])
      await report.attempt(`${name} ${form}`, async () => {
        if (report.isLate()) return;
        const one = dx.scope(() => multiply(a, b));
        const found = (await one.data()) as Float32Array;
        one.dispose();
        expected ??= found;
        const program = dx.compile(
          (x: dx.Tensor, y: dx.Tensor) => {
            let last = multiply(x, y);
            for (let i = 1; isChain && i < CHAIN; i++) last = multiply(last, y);
            return last;
          },
          { check: false, fuse: "off" },
        );
        dx.scope(() => void program(a, b));
        compiled.push({ form, away: difference(found, expected), program });
      });
    await dx.synchronize(device);
    const flop = 2 * (batch ?? 1) * m * n * k;
    for (const { form, away, program } of compiled) {
      let [time, reference] = [0, 1];
      if (isChain) {
        const timing = await clock.measure(() => dx.scope(() => void program(a, b)), minSeconds);
        [time, reference] = [timing.seconds / CHAIN, timing.reference];
      } else {
        await clock.warm();
        time = median(Array.from({ length: ROUNDS }, () => program.profileSync().microseconds)) / 1e6;
      }
      report.add({ part: "gemm", name, form, us: 1e6 * time, rate: flop / time / 1e12, unit: "TFLOP/s", share: null, difference: away, isWrong: !(away <= 1e-5), reference }); // prettier-ignore
      program.dispose();
    }
    report.best("gemm", name);
    for (const t of [a, b]) t.dispose();
  }
}
