/** The shaders over packed weights, each with several tiles: whether their results are right, and the share of a copy's bandwidth that they reach. */
import * as dx from "dxtensor";
import type * as packed from "../../dist/shader/kernels/packed-product.js";
import type { PackedProductForm, PackedProductTile, PackedProductWay } from "../../dist/shader/kernels/packed-product.js";
import { difference } from "./kernels.ts";
import type { Report } from "./quantised.ts";
import type { SteadyClock, Timing } from "./steady-clock.ts";

type Kernels = Pick<typeof packed, "packedBody" | "rowsOfGroup" | "fitsTile">;

/** How the products' shaders read: PackedProductWay. */
export const WAYS = ["shared", "ahead", "direct", "runs"] as const satisfies readonly PackedProductWay[];

/** The library's own modules: the tiles are no part of what the package exports. */
export const load = async <T>(name: string): Promise<T> =>
  (await import(new URL(`../../../dist/shader/kernels/${name}.js`, import.meta.url).href)) as T;

export interface Kind {
  readonly name: string;
  readonly bits: 4 | 8;
  readonly isSigned?: boolean;
  /** null: a row. */
  readonly block: number | null;
  readonly scales?: "f16";
  readonly hasMinima?: boolean;
}

export const KINDS = {
  q4_0: { name: "q4_0", bits: 4, block: 32 },
  q4_0h: { name: "q4_0, float16 scales", bits: 4, block: 32, scales: "f16" },
  q4_1: { name: "q4_1", bits: 4, block: 32, hasMinima: true },
  nbits: { name: "4 bits, blocks of 128", bits: 4, block: 128 },
  q8_0: { name: "q8_0", bits: 8, isSigned: true, block: 32 },
  int8: { name: "int8 per row", bits: 8, isSigned: true, block: null },
} as const satisfies { readonly [name: string]: Kind };

export interface Weight {
  readonly n: number;
  readonly width: number;
  readonly kind: Kind;
  readonly codes: dx.Tensor;
  readonly scales: dx.Tensor;
  readonly minima: dx.Tensor | null;
  readonly bytes: number;
  /** As numbers, [N, K]. */
  readonly values: () => Float32Array;
  dispose(): void;
}

function randomWords(count: number, seed: number): Uint32Array {
  const words = new Uint32Array(count);
  let state = seed | 1;
  for (let i = 0; i < count; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return words;
}

/** A random weight; codes as words. */
export function weightOf(device: dx.Device, kind: Kind, n: number, width: number): Weight {
  const block = kind.block ?? width;
  const words = randomWords((n * width * kind.bits) / 32, n + width);
  // Of 8 bits with a sign none is -128: quantization makes none.
  const blocks = (n * width) / block;
  const scales = Float32Array.from({ length: blocks }, (_, i) => 2 ** -8 * (1 + ((i * 37) % 64) / 64));
  const minima = kind.hasMinima === true ? Float32Array.from({ length: blocks }, (_, i) => 2 ** -8 * (((i * 53) % 128) - 64)) : null;
  const dtype = kind.scales === "f16" ? ("float16" as const) : ("float32" as const);
  const small = (list: Float32Array): dx.Tensor => {
    const made = dx.tensor(list, { shape: [n, width / block], device });
    return dtype === "float32" ? made : made.to(dtype);
  };
  const made = {
    codes: dx.tensor(words, { shape: [n, (width * kind.bits) / 32], device }),
    scales: small(scales),
    minima: minima === null ? null : small(minima),
  };
  const bytes = (n * width * kind.bits) / 8 + blocks * (dtype === "float16" ? 2 : 4) * (minima === null ? 1 : 2);
  const values = (): Float32Array => {
    const list = new Float32Array(n * width);
    const perWord = 32 / kind.bits;
    for (let i = 0; i < list.length; i++) {
      const code = (words[Math.floor(i / perWord)]! >>> (kind.bits * (i % perWord))) & (2 ** kind.bits - 1);
      const level = kind.isSigned === true ? (code << 24) >> 24 : code - 2 ** (kind.bits - 1);
      const at = Math.floor(i / block);
      list[i] = level * scales[at]! + (minima?.[at] ?? 0);
    }
    return list;
  };
  const dispose = (): void => [made.codes, made.scales, made.minima].forEach((t) => t?.dispose());
  return { n, width, kind, ...made, bytes, values, dispose };
}

/** x Wᵀ of one row, in float64. */
function rowTimes(x: Float32Array, row: number, values: Float32Array, n: number, width: number): Float32Array {
  return Float32Array.from({ length: n }, (_, i) => {
    let sum = 0;
    for (let k = 0; k < width; k++) sum += x[row * width + k]! * values[i * width + k]!;
    return sum;
  });
}

export const nameOf = ({ threads, lanes, rows, way = "shared" }: PackedProductTile): string => `${threads}/${lanes}x${rows} ${way}`;

export interface Sweep {
  readonly kind: Kind;
  readonly n: number;
  readonly width: number;
  readonly counts: readonly number[];
  readonly lanes: readonly number[];
  readonly rows: readonly number[];
  readonly threads: readonly number[];
}

/** Of a call, at least. */
const DISPATCHES = 64;
const DTYPES = { f32: "float32", f16: "float16" } as const;

/** Products of one shape with every tile: each of several weights in turn, which together are larger than the device's cache. */
export async function measureProducts(
  device: dx.Device,
  sweeps: readonly Sweep[],
  {
    minSeconds,
    bytes,
    ways,
    tiles,
    copy,
    clock,
  }: {
    readonly minSeconds: number;
    readonly bytes: number;
    readonly ways: readonly PackedProductWay[];
    /** What the names of tiles contain. */
    readonly tiles: string;
    readonly copy: number;
    readonly clock: SteadyClock;
  },
  report: Report,
): Promise<void> {
  const { packedBody, rowsOfGroup, fitsTile } = await load<Kernels>("packed-product");
  for (const { kind, n, width, counts, lanes, rows, threads } of sweeps) {
    const title = `${kind.name} ${n} x ${width}`;
    if (!report.isWanted(`product ${title}`)) continue;
    await report.attempt(title, async () => {
      const first = weightOf(device, kind, n, width);
      const values = first.values();
      const copies = Math.max(2, Math.min(48, Math.ceil(bytes / first.bytes)));
      const all = Array.from({ length: copies }, (_, i) => (i === 0 ? first : { ...first, codes: first.codes.clone(), scales: first.scales.clone(), minima: first.minima?.clone() ?? null })); // prettier-ignore
      // With few dispatches it is the call that is timed: it took some 100 microseconds on an H200, whatever its dispatches did.
      const passes = bytes === 0 ? 1 : Math.ceil(DISPATCHES / copies);
      const most = Math.max(...counts);
      const whole = dx.randn([most, width], { device, generator: new dx.Generator(3) });
      const host = (await whole.data()) as Float32Array;
      const expected = new Map<number, Float32Array>();
      for (const count of counts) {
        const x = whole.narrow(0, 0, count).clone();
        const last = count - 1;
        for (const row of [0, last]) if (!expected.has(row)) expected.set(row, rowTimes(host, row, values, n, width));
        const compiled: { readonly form: string; readonly away: number; readonly once: () => undefined; readonly dispose: () => void }[] =
          [];
        for (const t of threads)
          for (const l of lanes)
            for (const [r, way] of rows.flatMap((each) => ways.map((kind) => [each, kind] as const))) {
              const tile: PackedProductTile = { threads: t, lanes: l, rows: r, way };
              if (!nameOf(tile).includes(tiles)) continue;
              const form: PackedProductForm = {
                bits: kind.bits,
                isSigned: kind.isSigned === true,
                width,
                block: kind.block ?? width,
                scales: kind.scales ?? "f32",
                hasMinima: kind.hasMinima === true,
                hasBias: false,
                count,
              };
              if (l > t || rowsOfGroup(tile) > Math.max(8, 2 * n) || !fitsTile(form, tile) || r * count > 64 || report.isLate()) continue;
              await report.attempt(`${title}, ${count} rows, ${nameOf(tile)}`, async () => {
                const dtype = DTYPES[form.scales];
                const shader = dx.shader(
                  {
                    name: `packed product ${title} ${count} ${nameOf(tile)}`,
                    inputs: { x: "float32", codes: "uint32", scales: dtype, ...(form.hasMinima ? { minima: dtype } : {}) },
                    outputs: { y: { dtype: "float32", shape: () => [count, n] } },
                    threads: t,
                    groups: () => Math.ceil(n / rowsOfGroup(tile)),
                  },
                  (s) => packedBody(s, form, tile),
                );
                const one = (a: dx.Tensor, w: (typeof all)[number]): dx.Tensor =>
                  shader({ x: a, codes: w.codes, scales: w.scales, ...(w.minima === null ? {} : { minima: w.minima }) }).y;
                const y = one(x, first);
                const found = (await y.data()) as Float32Array;
                y.dispose();
                const away = Math.max(...[0, last].map((row) => difference(found.subarray(row * n, (row + 1) * n), expected.get(row)!)));
                const calls = Array.from({ length: passes }, () => all).flat();
                const program = dx.compile((a: dx.Tensor) => calls.map((w) => one(a, w)), { check: false, fuse: "off" });
                const once = (): undefined => dx.scope(() => void program(x));
                once();
                await dx.synchronize(device);
                compiled.push({ form: nameOf(tile), away, once, dispose: () => program.dispose() });
              });
            }
        for (const { form, away, once, dispose } of compiled) {
          const timing = await clock.measure(once, minSeconds);
          const time = timing.seconds / (copies * passes);
          const rate = first.bytes / time / 1e9;
          report.add({ part: "product", name: `${title}, ${count} rows`, form, us: 1e6 * time, rate, unit: "GB/s", share: rate / copy, difference: away, isWrong: !(away <= 1e-5), reference: timing.reference }); // prettier-ignore
          dispose();
        }
        x.dispose();
        report.best("product", `${title}, ${count} rows`);
      }
      for (const w of all) [w.codes, w.scales, w.minima].forEach((t) => t?.dispose());
      whole.dispose();
    });
  }
}

/** Layers of packed weights as the library runs them: by its operators, by the skinny GEMM of codes, and by numbers in memory with a GEMM. */
export async function measureLayers(
  device: dx.Device,
  {
    kinds,
    shapes,
    counts,
    minSeconds,
    clock,
  }: {
    readonly kinds: readonly Kind[];
    readonly shapes: readonly (readonly [number, number])[];
    readonly counts: readonly number[];
    readonly minSeconds: number;
    readonly clock: SteadyClock;
  },
  report: Report,
): Promise<void> {
  for (const kind of kinds)
    for (const [n, width] of shapes) {
      const title = `${kind.name} ${n} x ${width}`;
      if (!report.isWanted(`layer ${title}`)) continue;
      await report.attempt(title, async () => {
        const w = weightOf(device, kind, n, width);
        const bytes = dx.tensor(new Uint8Array(((await w.codes.data()) as Uint32Array).buffer), { shape: [n, (width * kind.bits) / 8], device }); // prettier-ignore
        const codes = kind.isSigned === true ? dx.tensor(new Int8Array(((await w.codes.data()) as Uint32Array).buffer), { shape: [n, width], device }) : bytes; // prettier-ignore
        const layer = new dx.nn.QuantizedLinear({ codes, scales: w.scales, minima: w.minima, bits: kind.bits });
        for (const count of counts) {
          const x = dx.randn([count, width], { device, generator: new dx.Generator(count) });
          let expected: Float32Array | null = null;
          for (const [form, mode, run] of [
            ["operators", "off", (t: dx.Tensor) => layer(t)],
            ["skinny GEMM", "on", (t: dx.Tensor) => layer(t)],
            ["numbers, GEMM", "on", (t: dx.Tensor) => dx.linear(t, layer.dequantize())],
            ["chosen", "only-measured", (t: dx.Tensor) => layer(t)],
          ] as const) {
            if (report.isLate() || (form === "skinny GEMM" && count > 128) || (form === "operators" && count !== counts[0])) continue;
            await report.attempt(`${title}, ${count} rows, ${form}`, async () => {
              process.env.DXTENSOR_SHADERS = mode;
              const program = dx.compile((t: dx.Tensor) => run(t), { check: false, fuse: "off" });
              const y = program(x);
              const found = (await y.data()) as Float32Array;
              y.dispose();
              expected ??= found;
              const away = difference(found, expected);
              const timing: Timing = await clock.measure(() => dx.scope(() => void program(x)), minSeconds);
              const time = timing.seconds;
              program.dispose();
              report.add({ part: "layer", name: `${title}, ${count} rows`, form, us: 1e6 * time, rate: w.bytes / time / 1e9, unit: "GB/s", share: null, difference: away, isWrong: !(away <= 1e-5), reference: timing.reference }); // prettier-ignore
            });
          }
          x.dispose();
          report.best("layer", `${title}, ${count} rows`);
        }
        w.dispose();
        for (const t of [bytes, codes]) t.dispose();
      });
    }
}
