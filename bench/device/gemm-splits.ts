/**
 * Products whose K is split among groups of threads, compared with DirectML's GEMM and the library's other kernels: in chains of a b + c / 2, where c is the result
 * before, so that both launches of a split product count.
 */
import * as dx from "dxtensor";
import type * as gemm from "../../dist/shader/kernels/gemm.js";
import type * as gemmDot from "../../dist/shader/kernels/gemm-dot.js";
import type * as gemmSum from "../../dist/shader/kernels/gemm-sum.js";
import { productOf, type Product } from "./gemm-sizes.ts";
import { difference } from "./kernels.ts";
import { load } from "./packed-kernels.ts";
import type { Report } from "./quantised.ts";
import type { SteadyClock } from "./steady-clock.ts";

const CHAIN = 16;
/** Groups that parts are made for. */
const GROUPS = [64, 128, 256];

interface Form {
  readonly form: string;
  /** x y + c / 2 */
  readonly multiply: (x: dx.Tensor, y: dx.Tensor, c: dx.Tensor) => dx.Tensor;
}

async function kernelsOf({ m, n, k, transA, transB }: Product): Promise<Form[]> {
  const { TILES, PLAIN, gemmBody, threadsOfTile, groupsOfTile, fitOf } = await load<typeof gemm>("gemm");
  const { dotBody, dotThreads, groupsOfDot } = await load<typeof gemmDot>("gemm-dot");
  const { sumBody, sumThreads, groupsOfSum, widthOfSum, splitOf, SPLIT_TILES } = await load<typeof gemmSum>("gemm-sum");
  const form = { ...PLAIN, transA, transB, bias: "matrix", scales: true } as const;
  const params = { alpha: "f32", beta: "f32", strideA: "u32", strideB: "u32", parts: "u32", perPart: "u32" } as const;
  const numbers = { alpha: 1, beta: 0.5, strideA: 0, strideB: 0, parts: 1, perPart: k };
  const [inputs, c] = [{ a: "float32", b: "float32", bias: "float32" } as const, { dtype: "float32", shape: () => [m, n] } as const];
  const found: Form[] = [];
  for (const name of ["medium", "smallInTwo", "tinyInEight"] as const) {
    const tile = TILES[name];
    const fit = fitOf(tile, [m, n, k], form);
    const shader = dx.shader(
      {
        name: `product ${name} ${fit}`,
        inputs,
        outputs: { c },
        params,
        threads: threadsOfTile(tile),
        groups: () => groupsOfTile(tile, [m, n]),
      },
      (s) => gemmBody(s as never, tile, fit, form),
    );
    found.push({ form: name, multiply: (x, y, before) => shader({ a: x, b: y, bias: before }, numbers).c });
  }
  if (!transA && transB && k % 4 === 0) {
    const dot = dx.shader(
      { name: "product of rows", inputs, outputs: { c }, params, threads: dotThreads, groups: () => groupsOfDot(m, n) },
      (s) => dotBody(s as never, form), // prettier-ignore
    );
    found.push({ form: "rows", multiply: (x, y, before) => dot({ a: x, b: y, bias: before }, numbers).c });
  }
  for (const name of SPLIT_TILES) {
    const tile = TILES[name];
    const counts = new Set<number>();
    for (const groups of GROUPS) {
      const split = splitOf(tile, [m, n, k], 1, groups);
      if (split === null || counts.has(split.parts)) continue;
      counts.add(split.parts);
      const fit = fitOf(tile, [m, n, k], form);
      const sizes = [split.parts, m, n];
      const partial = dx.shader(
        {
          name: `parts ${name} ${fit} ${split.parts}`,
          // What came before is not read: equal launches would be one, and the chain has to wait.
          inputs: { a: "float32", b: "float32", before: "float32" },
          outputs: { c: { dtype: "float32", shape: () => [...sizes] } },
          params,
          threads: threadsOfTile(tile),
          groups: () => groupsOfTile(tile, sizes),
        },
        (s) => gemmBody(s as never, tile, fit, { ...PLAIN, transA, transB, isSplit: true }),
      );
      const width = widthOfSum([m, n]);
      const sum = dx.shader(
        {
          name: `sum of parts ${width}`,
          inputs: { partial: "float32", bias: "float32" },
          outputs: { c },
          params,
          threads: sumThreads,
          groups: () => groupsOfSum([m, n]),
        },
        (s) => sumBody(s as never, form, width),
      );
      const own = { ...numbers, ...split };
      found.push({
        form: `${name} split in ${split.parts}`,
        multiply: (x, y, before) => sum({ partial: partial({ a: x, b: y, before }, own).c, bias: before }, own).c,
      });
    }
  }
  return found;
}

export async function measureSplits(
  device: dx.Device,
  products: readonly string[],
  minSeconds: number,
  clock: SteadyClock,
  report: Report,
): Promise<void> {
  for (const name of products) {
    if (!report.isWanted(`split ${name}`) || report.isLate()) continue;
    const product = productOf(name);
    const { m, n, k, transA, transB } = product;
    const random = (rows: number, columns: number, isTransposed: boolean, seed: number, scale: number): dx.Tensor =>
      dx.scope(() => dx.randn(isTransposed ? [columns, rows] : [rows, columns], { device, generator: new dx.Generator(seed) }).mul(scale));
    const [a, b, c] = [random(m, k, transA, 1, 1), random(k, n, transB, 2, k ** -0.5), random(m, n, false, 3, 1)];
    process.env.DXTENSOR_SHADERS = "off";
    const directml: Form = {
      form: "DirectML",
      multiply: (x, y, before) => dx.addmm(before, transA ? x.transpose(0, 1) : x, transB ? y.transpose(0, 1) : y, { beta: 0.5 }),
    };
    let expected: Float32Array | null = null;
    for (const { form, multiply } of [directml, ...(await kernelsOf(product))])
      await report.attempt(`${name} ${form}`, async () => {
        if (report.isLate()) return;
        const one = dx.scope(() => multiply(a, b, c));
        const found = (await one.data()) as Float32Array;
        one.dispose();
        expected ??= found;
        const away = difference(found, expected);
        const program = dx.compile(
          (x: dx.Tensor, y: dx.Tensor, before: dx.Tensor) => {
            for (let i = 0; i < CHAIN; i++) before = multiply(x, y, before);
            return before;
          },
          { check: false, fuse: "off" },
        );
        dx.scope(() => void program(a, b, c));
        await dx.synchronize(device);
        const timing = await clock.measure(() => dx.scope(() => void program(a, b, c)), minSeconds);
        const time = timing.seconds / CHAIN;
        report.add({ part: "split", name, form, us: 1e6 * time, rate: (2 * m * n * k) / time / 1e12, unit: "TFLOP/s", share: null, difference: away, isWrong: !(away <= 1e-5 * Math.max(1, k / 4096)), reference: timing.reference }); // prettier-ignore
        program.dispose();
      });
    report.best("split", name);
    for (const t of [a, b, c]) t.dispose();
  }
}
