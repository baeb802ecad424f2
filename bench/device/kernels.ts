/** Single operations on a device: throughput, bandwidth, and the cost of a call. */
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { median } from "../measure.ts";

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

/** Root mean square of the differences, as a share of that of the numbers. */
export function difference(got: Float32Array, expected: Float32Array): number {
  let [error, size] = [0, 0];
  expected.forEach((x, i) => {
    error += (got[i]! - x) ** 2;
    size += x ** 2;
  });
  return Math.sqrt(error / size);
}

/** Seconds for one execution: many are queued, then waited for; the median of five rounds. */
export async function seconds(device: dx.Device, once: () => dx.Tensor | undefined, minSeconds: number): Promise<number> {
  let last: dx.Tensor | undefined;
  const round = async (n: number): Promise<number> => {
    await dx.synchronize(device);
    const start = performance.now();
    for (let i = 0; i < n; i++) {
      last?.dispose();
      last = once();
    }
    await dx.synchronize(device);
    return (performance.now() - start) / 1000 / n;
  };
  await round(2);
  const estimate = await round(4);
  const n = Math.max(4, Math.min(5000, Math.ceil(minSeconds / estimate)));
  const rounds: number[] = [];
  for (let i = 0; i < 5; i++) rounds.push(await round(n));
  (last as dx.Tensor | undefined)?.dispose();
  return median(rounds);
}

export interface Sizes {
  readonly gemm: readonly number[];
  readonly elements: number;
  readonly minSeconds: number;
}

export const LARGE: Sizes = { gemm: [512, 1024, 2048, 8192], elements: 64 << 20, minSeconds: 0.1 };
export const SMALL: Sizes = { gemm: [64, 256], elements: 1 << 18, minSeconds: 0.02 };

async function gemms(
  device: dx.Device,
  dtype: "float32" | "float16",
  { gemm, minSeconds }: Sizes,
  add: (f: Figure) => void,
): Promise<void> {
  for (const n of gemm) {
    const generator = new dx.Generator(n);
    const [a, b] = [0, 1].map(() => dx.rand([n, n], { device, dtype, generator })) as [dx.Tensor, dx.Tensor];
    const time = await seconds(device, () => dx.matmul(a, b), minSeconds);
    add({ name: `gemm ${dtype} ${n}`, value: (2 * n ** 3) / time / 1e12, unit: "TFLOP/s" });
    a.dispose();
    b.dispose();
  }
}

const CONVOLUTIONS = [
  { batch: 8, channels: 64, size: 56, kernel: 3 },
  { batch: 8, channels: 256, size: 56, kernel: 1 },
];

async function convolutions(device: dx.Device, sizes: Sizes, add: (f: Figure) => void): Promise<void> {
  for (const { batch, channels, size, kernel } of CONVOLUTIONS) {
    const side = sizes === SMALL ? 14 : size;
    const generator = new dx.Generator(1);
    const x = dx.rand([batch, channels, side, side], { device, generator });
    const w = dx.rand([channels, channels, kernel, kernel], { device, generator });
    const time = await seconds(device, () => dx.conv2d(x, w, null, { padding: kernel >> 1 }), sizes.minSeconds);
    add({ name: `conv2d float32 ${batch}x${channels}x${side}x${side} ${kernel}x${kernel}`, value: time * 1e3, unit: "ms" });
    x.dispose();
    w.dispose();
  }
}

const TRANSFORMS = [
  [1, 1024],
  [64, 1024],
  [1, 65536],
  [16, 65536],
] as const;

async function transforms(device: dx.Device, { minSeconds }: Sizes, add: (f: Figure) => void): Promise<void> {
  for (const [batch, n] of TRANSFORMS) {
    const generator = new dx.Generator(n);
    const [re, im] = [0, 1].map(() => dx.rand([batch, n], { device, generator })) as [dx.Tensor, dx.Tensor];
    const z = dx.complex(re, im);
    const real = (y: dx.ComplexTensor): dx.Tensor => {
      y.imag.dispose();
      return y.real;
    };
    add({ name: `fft complex64 ${batch}x${n}`, value: (await seconds(device, () => real(dx.fft.fft(z)), minSeconds)) * 1e3, unit: "ms" });
    add({ name: `rfft float32 ${batch}x${n}`, value: (await seconds(device, () => real(dx.fft.rfft(re)), minSeconds)) * 1e3, unit: "ms" });
    for (const t of [z, re, im]) t.dispose();
  }
}

async function bandwidth(device: dx.Device, { elements, minSeconds }: Sizes, add: (f: Figure) => void): Promise<void> {
  const generator = new dx.Generator(2);
  const a = dx.rand([elements], { device, generator });
  const b = dx.rand([elements], { device, generator });
  const cases: readonly [string, number, () => dx.Tensor][] = [
    ["add", 3, () => dx.add(a, b)],
    ["relu", 2, () => dx.relu(a)],
    ["clone", 2, () => a.clone()],
    ["sum", 1, () => dx.sum(a)],
  ];
  for (const [name, moved, once] of cases)
    add({
      name: `${name} float32 ${elements}`,
      value: (moved * 4 * elements) / (await seconds(device, once, minSeconds)) / 1e9,
      unit: "GB/s",
    });
  for (const t of [a, b]) t.dispose();
  await transfers(device, elements, add);
}

/** The first transfer of a process makes the memory that the device sees; the best of the next ones is told too. */
async function transfers(device: dx.Device, elements: number, add: (f: Figure) => void): Promise<void> {
  const host = new Float32Array(elements).fill(1);
  const rate = (ms: number): number => (4 * elements) / ms / 1e6;
  const ups: number[] = [];
  const downs: number[] = [];
  for (let i = 0; i < 4; i++) {
    const start = performance.now();
    const up = dx.tensor(host, { device });
    await dx.synchronize(device);
    const middle = performance.now();
    await up.data();
    ups.push(rate(middle - start));
    downs.push(rate(performance.now() - middle));
    up.dispose();
  }
  for (const [name, all] of [
    ["upload", ups],
    ["readback", downs],
  ] as const) {
    add({ name: `${name} float32 ${elements}, first`, value: all[0]!, unit: "GB/s" });
    add({ name: `${name} float32 ${elements}, best`, value: Math.max(...all), unit: "GB/s" });
  }
}

/** Wall time, JavaScript and processor time of one call in a chain of dependent adds, and of independent ones. */
async function calls(device: dx.Device, count: number, add: (f: Figure) => void): Promise<void> {
  const one = dx.ones([16], { device });
  const run = async (name: string, body: () => dx.Tensor): Promise<void> => {
    body().dispose();
    await dx.synchronize(device);
    const cpu = process.cpuUsage();
    const start = performance.now();
    const last = body();
    const script = performance.now() - start;
    await dx.synchronize(device);
    const wall = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    last.dispose();
    add({ name: `${name}, wall`, value: (wall * 1000) / count, unit: "us per call" });
    add({ name: `${name}, JavaScript`, value: (script * 1000) / count, unit: "us per call" });
    add({ name: `${name}, processor, all threads`, value: (user + system) / count, unit: "us per call" });
  };
  await run("add of 16, dependent chain", () => {
    let x = dx.zeros([16], { device });
    for (let i = 0; i < count; i++) {
      const next = dx.add(x, one);
      x.dispose();
      x = next;
    }
    return x;
  });
  await run("add of 16, independent", () => {
    let x = dx.zeros([16], { device });
    for (let i = 0; i < count; i++) {
      x.dispose();
      x = dx.add(one, one);
    }
    return x;
  });
  const chain = dx.compile(
    (x: dx.Tensor) => {
      for (let i = 0; i < 200; i++) x = dx.add(x, one);
      return x;
    },
    { name: "chain", check: false },
  );
  const times = await seconds(device, () => chain(one), 0.05);
  add({ name: "add of 16, compiled chain of 200, replayed", value: (times * 1e6) / 200, unit: "us per operation" });
  chain.dispose();
  let x = one;
  const latency: number[] = [];
  for (let i = 0; i < 50; i++) {
    const start = performance.now();
    x = dx.add(one, one);
    x.dataSync();
    latency.push((performance.now() - start) * 1000);
    x.dispose();
  }
  add({ name: "add of 16 and its data read, synchronously", value: median(latency), unit: "us" });
  one.dispose();
}

export async function measureKernels(device: dx.Device, sizes: Sizes, add: (f: Figure) => void): Promise<void> {
  await gemms(device, "float32", sizes, add);
  await convolutions(device, sizes, add);
  await transforms(device, sizes, add);
  await bandwidth(device, sizes, add);
  await calls(device, sizes === SMALL ? 2_000 : 20_000, add);
}
