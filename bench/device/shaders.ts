/**
 * Shaders beside DirectML's operators: the library's own in both forms, and what a shader's shape costs (bytes in flight, guards, tiles of a
 * product). The first call of each tells what making its pipeline takes.
 */
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { seconds, SMALL, type Figure, type Sizes } from "./kernels.ts";

type Add = (f: Figure) => void;

interface Case {
  readonly name: string;
  /** Bytes that are read and written, or operations. */
  readonly work: number;
  readonly unit: "GB/s" | "TFLOP/s";
  readonly inputs: () => dx.Tensor[];
  readonly once: (...x: dx.Tensor[]) => dx.Tensor;
}

async function measure(device: dx.Device, form: string, c: Case, least: number, add: Add): Promise<void> {
  const inputs = c.inputs();
  try {
    await dx.synchronize(device);
    const start = performance.now();
    c.once(...inputs).dispose();
    await dx.synchronize(device);
    add({ name: `${c.name}, ${form}, first call`, value: performance.now() - start, unit: "ms" });
    const time = await seconds(device, () => c.once(...inputs), least);
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
      for (const c of libraryCases(device, sizes)) await measure(device, form, c, sizes.least, add);
      await small(device, form, sizes === SMALL ? 50 : 200, add);
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

/** Members that the published types leave out: reads and writes that the shader itself keeps inside. */
interface Unguarded {
  loadsInside(at: dx.UintLike, count: number): dx.Float[];
  storesInside(at: dx.UintLike, values: readonly dx.Float[]): void;
}

const THREADS = 256;

/** A copy whose threads move `depth` times 16 bytes; `threads` and guards as told. */
function copyOf(depth: number, guarded: boolean, threads = THREADS): (x: dx.Tensor) => dx.Tensor {
  const copy = dx.shader({ name: `copy${depth}`, inputs: { x: "float32" }, outputs: { y: "float32" }, threads, each: 4 * depth }, (s) => {
    const { x, y } = s.buffers;
    const first = s.group.mul(threads * 4 * depth).add(s.local.mul(4));
    const places = Array.from({ length: depth }, (_, i) => first.add(i * threads * 4));
    const [from, to] = [x, y] as unknown as [Unguarded, Unguarded];
    const values = places.map((at) => (guarded ? x.loads(at, 4) : from.loadsInside(at, 4)));
    places.forEach((at, i) => (guarded ? y.stores(at, values[i]!) : to.storesInside(at, values[i]!)));
  });
  return (x) => copy({ x }).y;
}

interface Tile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly tm: number;
  readonly tn: number;
}

/** A product whose sizes are multiples of the tile's: see docs/shaders.md. */
function productOf({ bm, bn, bk, tm, tn }: Tile): (a: dx.Tensor, b: dx.Tensor) => dx.Tensor {
  const [across, down] = [bn / tn, bm / tm];
  const threads = across * down;
  const product = dx.shader(
    {
      name: `product ${bm}x${bn}x${bk}`,
      inputs: { a: "float32", b: "float32" },
      outputs: { c: { dtype: "float32", shape: ({ a, b }) => [a![0]!, b![1]!] } },
      threads,
      groups: ({ c }) => (c![0]! / bm) * (c![1]! / bn),
    },
    (s) => {
      const { a, b, c } = s.buffers;
      const [fromA, fromB, toC] = [a, b, c] as unknown as [Unguarded, Unguarded, Unguarded];
      const [n, k] = [c.dim(-1), a.dim(-1)];
      const tiles = n.div(bn);
      const [row, column] = [s.group.div(tiles).mul(bm), s.group.mod(tiles).mul(bn)];
      const [tx, ty] = [s.local.mod(across), s.local.div(across)];
      const [sharedA, sharedB] = [s.shared("f32", bk * bm), s.shared("f32", bk * bn)];
      const places = (height: number, length: number): [dx.Uint, dx.Uint][] =>
        Array.from({ length: (height * length) / 4 / threads }, (_, i) => {
          const at = s.local.add(i * threads);
          return [at.div(length / 4), at.mod(length / 4).mul(4)];
        });
      const [ofA, ofB] = [places(bm, bk), places(bk, bn)];
      const fetch = (from: dx.Uint): dx.Float[][] => [
        ...ofA.map(([y, x]) => fromA.loadsInside(row.add(y).mul(k).add(from).add(x), 4)),
        ...ofB.map(([y, x]) => fromB.loadsInside(from.add(y).mul(n).add(column).add(x), 4)),
      ];
      const next = fetch(s.u32(0)).map((values) => values.map((v) => s.variable(v)));
      const sums = Array.from({ length: tm }, () => Array.from({ length: tn }, () => s.variable(s.f32(0))));
      s.for(
        0,
        k,
        (from) => {
          ofA.forEach(([y, x], i) => next[i]!.forEach((v, q) => sharedA.store(x.add(q).mul(bm).add(y), v.value)));
          ofB.forEach(([y, x], i) => sharedB.stores(y.mul(bn).add(x), next[ofA.length + i]!.map((v) => v.value))); // prettier-ignore
          s.barrier();
          s.if(from.add(bk).lt(k), () =>
            fetch(from.add(bk)).forEach((values, i) =>
              values.forEach((v, q) => {
                next[i]![q]!.value = v;
              }),
            ),
          );
          for (let step = 0; step < bk; step++) {
            const part = (from: typeof sharedA, at: dx.Uint, length: number, apart: number): dx.Float[] =>
              Array.from({ length: length / 4 }, (_, i) => from.loads(at.mul(4).add(step * apart * (length / 4) + i * apart), 4)).flat();
            const xs = part(sharedA, ty, tm, bm / (tm / 4));
            const ys = part(sharedB, tx, tn, bn / (tn / 4));
            xs.forEach((x, i) =>
              ys.forEach((y, j) => {
                const sum = sums[i]![j]!;
                sum.value = x.fma(y, sum.value);
              }),
            );
          }
          s.barrier();
        },
        { step: bk, unroll: false },
      );
      sums.forEach((line, i) => {
        const y = row.add(ty.mul(4)).add(Math.floor(i / 4) * (bm / (tm / 4)) + (i % 4));
        for (let j = 0; j < tn; j += 4)
          toC.storesInside(y.mul(n).add(column.add(tx.mul(4)).add((j / 4) * (bn / (tn / 4)))), line.slice(j, j + 4).map((v) => v.value)); // prettier-ignore
      });
    },
  );
  return (a, b) => product({ a, b }).c;
}

const tileOf = (bm: number, bn: number, bk: number, tm: number, tn: number): Tile => ({ bm, bn, bk, tm, tn });
const TILES = [
  tileOf(128, 128, 8, 8, 8),
  tileOf(128, 128, 16, 8, 8),
  tileOf(128, 64, 16, 8, 8),
  tileOf(64, 64, 16, 8, 4),
  tileOf(64, 64, 16, 4, 4),
  tileOf(256, 128, 8, 16, 8),
];

/** What the shape of a shader costs. */
async function shapes(device: dx.Device, sizes: Sizes, add: Add): Promise<void> {
  const n = sizes.elements;
  const input = (shape: number[]): dx.Tensor => dx.rand(shape, { device, generator: new dx.Generator(3) });
  for (const depth of sizes === SMALL ? [1, 4] : [1, 2, 4, 8])
    for (const guarded of [false, true]) {
      const copy = copyOf(depth, guarded);
      const c: Case = {
        name: `copy of ${n}, ${depth} x 16 bytes a thread`,
        work: 8 * n,
        unit: "GB/s",
        inputs: () => [input([n])],
        once: (x) => copy(x!),
      };
      await measure(device, guarded ? "guarded" : "unguarded", c, sizes.least, add);
    }
  const clone: Case = { name: `clone of ${n}`, work: 8 * n, unit: "GB/s", inputs: () => [input([n])], once: (x) => x!.clone() };
  await measure(device, "buffer copy", clone, sizes.least, add);
  for (const m of sizes === SMALL ? [256] : [1024, 2048, 4096])
    for (const tile of TILES) {
      if (m % tile.bm !== 0) continue;
      const product = productOf(tile);
      const inputs = (): dx.Tensor[] => [input([m, m]), input([m, m])];
      const c: Case = { name: `product of ${m}`, work: 2 * m ** 3, unit: "TFLOP/s", inputs, once: (a, b) => product(a!, b!) };
      if (m <= 1024) await agree(inputs, product);
      await measure(device, `${tile.bm}x${tile.bn}x${tile.bk}, ${tile.tm}x${tile.tn} a thread`, c, sizes.least, add);
    }
}

async function agree(inputs: () => dx.Tensor[], product: (a: dx.Tensor, b: dx.Tensor) => dx.Tensor): Promise<void> {
  const [a, b] = inputs() as [dx.Tensor, dx.Tensor];
  const [ours, theirs] = [product(a, b), dx.matmul(a, b)];
  const worst = Number(await ours.sub(theirs).abs().max().item());
  for (const t of [a, b, ours, theirs]) t.dispose();
  if (!(worst < 1e-2)) throw new Error(`a product by shader is off by ${worst}`);
}

export async function measureShaders(device: dx.Device, sizes: Sizes, add: Add): Promise<void> {
  await shapes(device, sizes, add);
  await forms(device, sizes, add);
}
