/**
 * Shaders compared with DirectML's operators: the library's own in both forms, the cost of a shader's shape (variants.ts), and the treatment of NaN
 * and float16 (exactness.ts). The first call of each includes the time to make its pipeline.
 */
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { seconds, SMALL, type Figure, type Sizes } from "./kernels.ts";
import { measureExactness } from "./exactness.ts";
import { FLAT, nameOf, gemmOf, sumOf, TILES, widthOf } from "./variants.ts";

type Add = (f: Figure) => void;

interface Case {
  readonly name: string;
  /** Bytes that are read and written, or operations. */
  readonly work: number;
  readonly unit: "GB/s" | "TFLOP/s";
  readonly inputs: () => dx.Tensor[];
  readonly once: (...x: dx.Tensor[]) => dx.Tensor;
}

async function measure(device: dx.Device, form: string, c: Case, minSeconds: number, add: Add): Promise<void> {
  const inputs = c.inputs();
  try {
    await dx.synchronize(device);
    const start = performance.now();
    c.once(...inputs).dispose();
    await dx.synchronize(device);
    add({ name: `${c.name}, ${form}, first call`, value: performance.now() - start, unit: "ms" });
    const time = await seconds(device, () => c.once(...inputs), minSeconds);
    add({ name: `${c.name}, ${form}`, value: c.work / time / (c.unit === "GB/s" ? 1e9 : 1e12), unit: c.unit });
  } catch (error) {
    console.error(`  ${c.name}, ${form}: ${(error as Error).message}`);
    throw error;
  } finally {
    for (const t of inputs) t.dispose();
  }
}

function libraryCases(device: dx.Device, sizes: Sizes): Case[] {
  const isSmall = sizes === SMALL;
  const n = sizes.elements;
  const real = (shape: number[], dtype: "float32" | "float16" = "float32"): dx.Tensor =>
    dx.rand(shape, { device, dtype, generator: new dx.Generator(1) });
  const cases: Case[] = [];
  for (const dtype of ["float32", "float16"] as const) {
    const bytes = dtype === "float32" ? 4 : 2;
    const unary = (name: string, once: (x: dx.Tensor) => dx.Tensor): Case => ({
      name: `${name} ${dtype} ${n}`,
      work: 2 * bytes * n,
      unit: "GB/s",
      inputs: () => [real([n], dtype)],
      once: (x) => once(x!),
    });
    cases.push(unary("relu", dx.relu), unary("gelu", dx.gelu));
    const add = { work: 3 * bytes * n, unit: "GB/s", once: (a?: dx.Tensor, b?: dx.Tensor) => dx.add(a!, b!) } as const;
    cases.push({ ...add, name: `add ${dtype} ${n}`, inputs: () => [real([n], dtype), real([n], dtype)] });
    const to = dtype === "float32" ? "float16" : "float32";
    cases.push({ ...unary(`cast to ${to} of`, (x) => x.to(to)), work: 6 * n });
    for (const columns of isSmall ? [1024] : [1024, 4096, 16384]) {
      const shape = [n / columns, columns];
      const rows = { work: 2 * bytes * n, unit: "GB/s" } as const;
      const named = (name: string): string => `${name} ${dtype} rows of ${columns}`;
      cases.push({ ...rows, name: named("softmax"), inputs: () => [real(shape, dtype)], once: (x) => dx.softmax(x!, -1) });
      cases.push({
        ...rows,
        name: named("layerNorm"),
        inputs: () => [real(shape, dtype), real([columns], dtype), real([columns], dtype)],
        once: (x, w, b) => dx.layerNorm(x!, [columns], w!, b!),
      });
      cases.push({ ...rows, name: named("rmsNorm"), inputs: () => [real(shape, dtype)], once: (x) => dx.rmsNorm(x!, [columns]) });
    }
  }
  cases.push({
    name: `add of a row float32 ${n}`,
    work: 8 * n,
    unit: "GB/s",
    inputs: () => [real([n / 1024, 1024]), real([1024])],
    once: (a, b) => dx.add(a!, b!),
  });
  for (const m of isSmall ? [128] : [512, 1024, 2048, 4096])
    cases.push({
      name: `matmul float32 ${m}`,
      work: 2 * m ** 3,
      unit: "TFLOP/s",
      inputs: () => [real([m, m]), real([m, m])],
      once: (a, b) => dx.matmul(a!, b!),
    });
  return cases;
}

/** Both forms of the library's operations. */
async function forms(device: dx.Device, sizes: Sizes, add: Add): Promise<void> {
  const before = process.env.DXTENSOR_SHADERS;
  try {
    for (const [mode, form] of [
      ["off", "DirectML"],
      ["on", "shader"],
    ] as const) {
      process.env.DXTENSOR_SHADERS = mode;
      // Its programs are of the other form.
      dx.closeDevice(device);
      for (const c of libraryCases(device, sizes)) await measure(device, form, c, sizes.minSeconds, add);
      await small(device, form, sizes === SMALL ? 50 : 200, add);
      await adam(device, form, sizes, add);
    }
  } finally {
    if (before === undefined) delete process.env.DXTENSOR_SHADERS;
    else process.env.DXTENSOR_SHADERS = before;
    dx.closeDevice(device);
  }
}

/** A dependent chain of small operations, replayed. */
async function small(device: dx.Device, form: string, count: number, add: Add): Promise<void> {
  const one = dx.ones([16], { device });
  const chain = dx.compile(
    (x: dx.Tensor) => {
      for (let i = 0; i < count; i++) x = dx.relu(x);
      return x;
    },
    { name: `chain ${form}`, check: false },
  );
  const time = await seconds(device, () => chain(one), 0.05);
  add({ name: `relu of 16, chain of ${count}, replayed, ${form}`, value: (time * 1e6) / count, unit: "us per operation" });
  chain.dispose();
  one.dispose();
}

/** A step of Adam over one parameter: the call, and on the device the dispatches that move its tensors. */
async function adam(device: dx.Device, form: string, sizes: Sizes, add: Add): Promise<void> {
  const n = sizes.elements;
  const parameter = dx.rand([n], { device, generator: new dx.Generator(4), requiresGrad: true });
  const gradient = dx.rand([n], { device, generator: new dx.Generator(5) });
  parameter.grad = gradient;
  const optimizer = dx.optim.adam([parameter]);
  const step = dx.compile(() => optimizer.step(), { name: `adam ${form}`, check: false });
  // Parameter, gradient and both moments are read, all but the gradient written.
  const speed = (time: number): number => (7 * 4 * n) / time / 1e9;
  const name = `adam float32 ${n}, ${form}`;
  const time = await seconds(device, step, sizes.minSeconds);
  add({ name: `${name}, with its call`, value: speed(time), unit: "GB/s" });
  // There are further ones for numbers, as of the step's count.
  const { dispatches } = step.profileSync();
  const microseconds = dispatches.filter((d) => d.operator === "SHADER").reduce((sum, d) => sum + d.microseconds, 0);
  if (microseconds > 0) add({ name: `${name}, the dispatch alone`, value: speed(microseconds / 1e6), unit: "GB/s" });
  step.dispose();
  for (const t of [parameter, gradient]) t.dispose();
}

/** What the shape of a shader costs. */
async function shapes(device: dx.Device, sizes: Sizes, add: Add): Promise<void> {
  const n = sizes.elements;
  const input = (shape: number[]): dx.Tensor => dx.rand(shape, { device, generator: new dx.Generator(3) });
  for (const shape of sizes === SMALL ? [FLAT[0]!, FLAT[1]!] : FLAT) {
    for (const count of [1, 2]) {
      const sum = sumOf(count, shape);
      const c: Case = {
        name: `${count === 1 ? "copy" : "add"} of ${n}`,
        work: 4 * n * (count + 1),
        unit: "GB/s",
        inputs: () => Array.from({ length: count }, () => input([n])),
        once: (...x) => sum(x),
      };
      await measure(
        device,
        `${shape.form}, ${shape.depth} x ${4 * widthOf(shape.form)} bytes a thread, groups of ${shape.threads}`,
        c,
        sizes.minSeconds,
        add,
      );
    }
  }
  const clone: Case = { name: `clone of ${n}`, work: 8 * n, unit: "GB/s", inputs: () => [input([n])], once: (x) => x!.clone() };
  await measure(device, "buffer copy", clone, sizes.minSeconds, add);
  for (const m of sizes === SMALL ? [256] : [2048, 4096])
    for (const tile of sizes === SMALL ? TILES.slice(-2) : TILES) {
      const gemm = gemmOf(tile);
      const inputs = (): dx.Tensor[] => [input([m, m]), input([m, m])];
      const c: Case = { name: `product of ${m}`, work: 2 * m ** 3, unit: "TFLOP/s", inputs, once: (a, b) => gemm(a!, b!) };
      if (m <= 2048) await agree(inputs, gemm);
      await measure(device, nameOf(tile), c, sizes.minSeconds, add);
    }
}

async function agree(inputs: () => dx.Tensor[], gemm: (a: dx.Tensor, b: dx.Tensor) => dx.Tensor): Promise<void> {
  const [a, b] = inputs() as [dx.Tensor, dx.Tensor];
  const [ours, theirs] = [gemm(a, b), dx.matmul(a, b)];
  const worst = Number(await ours.sub(theirs).abs().max().item());
  for (const t of [a, b, ours, theirs]) t.dispose();
  if (!(worst < 1e-2)) throw new Error(`a product by shader is off by ${worst}`);
}

export async function measureShaders(device: dx.Device, sizes: Sizes, add: Add): Promise<void> {
  await measureExactness(device, add);
  await shapes(device, sizes, add);
  await forms(device, sizes, add);
}
