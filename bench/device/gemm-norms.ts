/** layerNorm between products in chains, as a launch of its own and by statistics that the products write: the same shaders otherwise. */
import * as dx from "dxtensor";
import { difference } from "./kernels.ts";
import type { Report } from "./quantised.ts";
import type { SteadyClock } from "./steady-clock.ts";

const BLOCKS = 8;

/** shapes: "512 x 128", rows and columns. */
export async function measureNorms(
  device: dx.Device,
  shapes: readonly string[],
  minSeconds: number,
  clock: SteadyClock,
  report: Report,
): Promise<void> {
  for (const name of shapes) {
    if (!report.isWanted(`norm ${name}`) || report.isLate()) continue;
    const [rows, columns] = name.split(" x ").map(Number) as [number, number];
    const random = (shape: readonly number[], seed: number, scale: number): dx.Tensor =>
      dx.scope(() => dx.randn([...shape], { device, generator: new dx.Generator(seed) }).mul(scale));
    const x = random([rows, columns], 1, 1);
    const [w, v] = [2, 3].map((seed) => random([columns, columns], seed, columns ** -0.5)) as [dx.Tensor, dx.Tensor];
    const [gain, shift] = [4, 5].map((seed) => random([columns], seed, 1)) as [dx.Tensor, dx.Tensor];
    process.env.DXTENSOR_SHADERS = "on";
    let expected: Float32Array | null = null;
    // What is a result too keeps its launch.
    for (const [form, keeps] of [
      ["own launch", true],
      ["statistics", false],
    ] as const)
      await report.attempt(`${name} ${form}`, async () => {
        const program = dx.compile(
          (a: dx.Tensor, p: dx.Tensor, q: dx.Tensor, g: dx.Tensor, s: dx.Tensor) => {
            const normals: dx.Tensor[] = [];
            for (let i = 0; i < BLOCKS; i++) {
              const normal = dx.layerNorm(dx.matmul(a, p), [columns], g, s);
              normals.push(normal);
              a = dx.matmul(normal, q);
            }
            return keeps ? [a, ...normals] : [a];
          },
          { check: false, fuse: "off" },
        ); // prettier-ignore
        const once = (): void => dx.scope(() => void program(x, w, v, gain, shift));
        const results = program(x, w, v, gain, shift);
        const found = (await results[0]!.data()) as Float32Array;
        for (const t of results) t.dispose();
        const launches = program.explain().nodes.length;
        expected ??= found;
        const away = difference(found, expected);
        await dx.synchronize(device);
        const timing = await clock.measure(() => void once(), minSeconds);
        const time = timing.seconds / BLOCKS;
        report.add({ part: "norm", name, form: `${form}, ${launches / BLOCKS} launches`, us: 1e6 * time, rate: (4 * rows * columns ** 2) / time / 1e12, unit: "TFLOP/s", share: null, difference: away, isWrong: !(away <= 1e-4), reference: timing.reference }); // prettier-ignore
        program.dispose();
      });
    report.best("norm", name);
    for (const t of [x, w, v, gain, shift]) t.dispose();
  }
}
