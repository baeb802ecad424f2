/**
 * Packed weights on a device: skinny GEMMs by shaders with every tile, layers as the library runs them, GEMMs of the sizes that networks have, and text
 * of a model of SmolLM2-135M's shape with packed random weights. A plain program without dependencies.
 */
import { writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { measureGemms } from "./gemm-sizes.ts";
import { measureNorms } from "./gemm-norms.ts";
import { measureSplits } from "./gemm-splits.ts";
import { seconds } from "./kernels.ts";
import { deviceOf, listOf, numberOf, optionsOf } from "./options.ts";
import { KINDS, measureLayers, measureProducts, WAYS, type Sweep } from "./packed-kernels.ts";
import { measureText } from "./packed-text.ts";
import { SteadyClock } from "./steady-clock.ts";

const help = `node build/bench/device/quantised.js [OPTIONS]

  --device NAME    device to measure (default: the default device)
  --parts LIST     of "product,layer,gemm,split,norm,text" (default: all)
  --ways LIST      of "shared,ahead,direct,runs": how the products' shaders read (default: all)
  --tiles TEXT     only tiles with TEXT in their name, "256/32x4" (default: all)
  --filter TEXT    only what has TEXT in its name
  --seconds S      time of each round, of which there are five (default: 0.005)
  --budget S       seconds after which nothing new begins (default: 140)
  --small          small sizes only
  --json FILE      write the results as JSON
  --help           this text

Exit status 1 when something fails, or a result is wrong.`;

const PARTS = ["product", "layer", "gemm", "split", "norm", "text"] as const;

export interface Row {
  readonly part: (typeof PARTS)[number];
  readonly name: string;
  readonly form: string;
  /** Microseconds of one. */
  readonly us: number;
  readonly rate: number;
  readonly unit: string;
  /** Of a copy's bandwidth. */
  readonly share: number | null;
  readonly difference: number;
  readonly isWrong: boolean;
  /** What the reference took right after, as a multiple of its best time: see SteadyClock. */
  readonly reference: number;
}

/** What is found, as it is found. */
export class Report {
  readonly rows: Row[] = [];
  readonly failures: { readonly name: string; readonly message: string }[] = [];
  readonly #filter: string;
  #end = Infinity;

  constructor(filter: string) {
    this.#filter = filter;
  }

  /** Nothing new begins from then on. */
  endAt(time: number): void {
    this.#end = time;
  }

  isLate(): boolean {
    return performance.now() > this.#end;
  }

  isWanted(name: string): boolean {
    return name.includes(this.#filter);
  }

  add(row: Row): void {
    this.rows.push(row);
    const share = row.share === null ? "" : ` ${(100 * row.share).toFixed(0).padStart(4)} %`;
    console.log(`${row.part.padEnd(8)}${row.name.padEnd(40)} ${row.form.padEnd(24)} ${row.us.toPrecision(4).padStart(8)} us ${row.rate.toPrecision(4).padStart(8)} ${row.unit}${share}  reference ${row.reference.toFixed(2)}  differs by ${row.difference.toExponential(1)}${row.isWrong ? "  WRONG" : ""}`); // prettier-ignore
    if (row.isWrong) process.exitCode = 1;
  }

  best(part: Row["part"], name: string): void {
    const found = this.rows.filter((r) => r.part === part && r.name === name && !r.isWrong).toSorted((a, b) => a.us - b.us);
    if (found.length > 1) console.log(`${part} ${name}: best ${found.slice(0, 3).map((r) => `${r.form} ${r.us.toPrecision(4)} us`).join(", ")}`); // prettier-ignore
  }

  /** Runs what may fail. */
  async attempt(name: string, body: () => Promise<void>): Promise<void> {
    try {
      await body();
    } catch (error) {
      process.exitCode = 1;
      this.failures.push({ name, message: (error as Error).message });
      console.log(`${name}: ${(error as Error).stack}`);
    }
  }
}

const sweep = (kind: Sweep["kind"], n: number, width: number, more: Partial<Sweep> = {}): Sweep => ({
  kind,
  n,
  width,
  counts: [1],
  lanes: [32, 64],
  rows: [2, 4],
  threads: [256],
  ...more,
});

const LARGE: readonly Sweep[] = [
  sweep(KINDS.q4_0, 4096, 4096, { lanes: [16, 32], rows: [4, 8], threads: [64, 256] }),
  sweep(KINDS.q8_0, 4096, 4096, { lanes: [16, 32], rows: [4, 8], threads: [64, 256] }),
  sweep(KINDS.q4_0, 14336, 4096, { lanes: [32], rows: [4, 8], threads: [64, 256] }),
  sweep(KINDS.q4_0, 4096, 14336, { lanes: [16, 32, 64], rows: [2, 4, 8], threads: [64, 128, 256] }),
  sweep(KINDS.q4_0, 49152, 576, { lanes: [4, 8], rows: [2], threads: [256] }),
  sweep(KINDS.q4_0, 4096, 4096, { counts: [2, 4, 8], lanes: [8, 32], rows: [4] }),
  sweep(KINDS.q4_0, 1536, 576, { lanes: [4], rows: [2], threads: [64, 128] }),
  sweep(KINDS.q4_0, 576, 1536, { lanes: [16], rows: [2], threads: [64, 128] }),
  sweep(KINDS.q4_1, 4096, 4096, { lanes: [32], rows: [4, 8] }),
  sweep(KINDS.q4_0h, 4096, 4096, { lanes: [32], rows: [4, 8] }),
  sweep(KINDS.nbits, 4096, 4096, { lanes: [32], rows: [4, 8] }),
  sweep(KINDS.int8, 4096, 4096, { lanes: [32], rows: [4, 8] }),
];
const SMALL: readonly Sweep[] = [
  sweep(KINDS.q4_0, 72, 640, { counts: [1, 3], lanes: [4, 16], rows: [1, 2], threads: [64] }),
  sweep(KINDS.q4_1, 40, 64, { lanes: [4], threads: [32] }),
  sweep(KINDS.q8_0, 40, 96, { lanes: [8], threads: [32] }),
  sweep(KINDS.int8, 33, 96, { lanes: [8], threads: [32] }),
  sweep(KINDS.q4_0h, 40, 64, { lanes: [4], threads: [32] }),
];

/** Chains, and the products of the networks in networks.ts. */
const GEMMS = [
  ...[64, 128, 192, 256, 512, 768, 1024].map((n) => `${n} x ${n} x ${n}`),
  "64 of 64 x 64 x 64",
  "32 of 128 x 128 x 128",
  "16 of 256 x 256 x 256",
  "64 x 128 x 784 b^T",
  "64 x 10 x 128 b^T",
  "64 x 128 x 10",
  "10 x 128 x 64 a^T",
  "128 x 784 x 64 a^T",
  "64 x 64 x 256 b^T",
  "64 x 256 x 64",
  "128 x 120 x 400 b^T",
  "128 x 84 x 120 b^T",
  "120 x 400 x 128 a^T",
  "512 x 128 x 128 b^T",
  "512 x 384 x 128 b^T",
  "512 x 128 x 512 b^T",
  "512 x 512 x 128",
  "128 x 512 x 512 a^T",
  "128 x 128 x 512 a^T",
  "32 of 64 x 64 x 32 b^T",
  "32 of 64 x 32 x 64",
  "64 of 64 x 64 x 16 b^T",
  "16 x 768 x 768 b^T",
  "64 x 768 x 3072 b^T",
  "100 x 1000 x 512 b^T",
  "64 x 64 x 4096 b^T",
];
/** Few results of long K: weight gradients of many rows, and layers of few. */
const SPLITS = [
  "64 x 64 x 4096 b^T",
  "64 x 64 x 4096 a^T",
  "64 x 64 x 4096",
  "128 x 128 x 4096 a^T",
  "256 x 256 x 4096 a^T",
  "64 x 128 x 784 b^T",
  "64 x 768 x 3072 b^T",
  "16 x 768 x 768 b^T",
  "128 x 512 x 512 a^T",
  "128 x 128 x 512 a^T",
  "64 x 64 x 1024 a^T",
  "12 x 128 x 2048 a^T",
  "64 x 64 x 512 a^T",
  "100 x 1000 x 512 b^T",
  "512 x 512 x 4096 a^T",
  "64 x 64 x 65536 a^T",
];
/** Rows and columns of layerNorm between products. */
const NORMS = ["512 x 128", "128 x 512", "1024 x 256", "2048 x 512", "4096 x 512", "8192 x 256"];
const SMALL_SPLITS = ["20 x 24 x 516 a^T", "17 x 9 x 700 b^T"];
const SMALL_GEMMS = ["64 x 64 x 64", "33 x 40 x 40", "3 of 34 x 40 x 40", "20 x 24 x 36 b^T", "9 x 12 x 7 a^T"];

/** GB/s that a copy moves. */
async function copied(device: dx.Device, elements: number): Promise<number> {
  const x = dx.rand([elements], { device, generator: new dx.Generator(1) });
  const copy = dx.shader({ name: "copy", inputs: { x: "float32" }, outputs: { y: "float32" }, threads: 256, each: 4 }, (s) => {
    s.buffers.y.stores(s.thread.mul(4), s.buffers.x.loads(s.thread.mul(4), 4));
  });
  const time = await seconds(device, () => copy({ x }).y, 0.05);
  x.dispose();
  return (8 * elements) / time / 1e9;
}

async function main(): Promise<void> {
  const values = optionsOf(help, {
    parts: { type: "string", default: PARTS.join(",") },
    ways: { type: "string", default: WAYS.join(",") },
    tiles: { type: "string", default: "" },
    seconds: { type: "string", default: "0.005" },
    budget: { type: "string", default: "140" },
    small: { type: "boolean", default: false },
  });
  const device = deviceOf(values);
  const report = new Report(values.filter);
  const isSmall = values.small;
  const minSeconds = numberOf("seconds", values.seconds);
  const start = performance.now();
  const budget = 1000 * numberOf("budget", values.budget);
  const parts = listOf("parts", values.parts, PARTS);
  const ways = listOf("ways", values.ways, WAYS);
  const clock = new SteadyClock(device, isSmall);
  await clock.warm();
  const copy = await copied(device, isSmall ? 1 << 16 : 1 << 26);
  console.log(`copy: ${copy.toFixed(0)} GB/s`);
  const save = (): void => {
    if (values.json === undefined) return;
    writeFileSync(values.json, JSON.stringify({ device: `${device}`, copy, rows: report.rows, failures: report.failures }, null, 2));
  };
  /** The part of the budget at which a part ends; the text comes early, since it matters most. */
  const part = async (name: Row["part"], share: number, body: () => Promise<void>): Promise<void> => {
    if (!parts.includes(name)) return;
    report.endAt(start + share * budget);
    const began = performance.now();
    await report.attempt(name, body);
    console.log(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    save();
  };
  await part("text", 0.25, () => measureText(device, isSmall, clock, report));
  await part("product", 0.65, () =>
    measureProducts(
      device,
      isSmall ? SMALL : LARGE,
      { minSeconds, bytes: isSmall ? 0 : 150e6, ways, tiles: values.tiles, copy, clock },
      report,
    ),
  );
  await part("layer", 0.8, () =>
    measureLayers(
      device,
      isSmall
        ? { kinds: [KINDS.q4_1, KINDS.q8_0], shapes: [[40, 64]], counts: [1, 5], minSeconds, clock }
        : { kinds: [KINDS.q4_0, KINDS.q8_0], shapes: [[4096, 4096]], counts: [1, 4, 16, 32, 64, 128], minSeconds, clock }, // prettier-ignore
      report,
    ),
  );
  await part("split", 0.9, () => measureSplits(device, isSmall ? SMALL_SPLITS : SPLITS, minSeconds, clock, report));
  await part("norm", 0.95, () => measureNorms(device, isSmall ? ["70 x 64"] : NORMS, minSeconds, clock, report));
  await part("gemm", 1, () => measureGemms(device, isSmall ? SMALL_GEMMS : GEMMS, minSeconds, clock, report));
  console.log(`${((performance.now() - start) / 1000).toFixed(0)} s in all, ${report.failures.length} failures`);
}

await main();
