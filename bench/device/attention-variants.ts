/**
 * The shaders of attention, each with every tile: whether their results are those of DirectML's operators, milliseconds and TFLOP/s. The best tile of each is
 * printed last. A plain program without dependencies.
 */
import { writeFileSync } from "node:fs";
import * as dx from "dxtensor";
import type { AttentionForm as Form } from "../../dist/shader/kernels/attention.js";
import type { AttentionTile as Tile } from "../../dist/shader/kernels/attention-tiles.js";
import { difference } from "./kernels.ts";
import { deviceOf, numberOf, optionsOf } from "./options.ts";
import { SteadyClock } from "./steady-clock.ts";

const help = `node build/bench/device/attention-variants.js [OPTIONS]

  --device NAME   device to measure (default: the default device)
  --filter TEXT   only the cases whose name contains TEXT
  --tiles TEXT    only the tiles whose name contains TEXT
  --kind TEXT     only the kernels whose name contains TEXT: attention, queryGradient, keyGradient
  --seconds S     time of each round, of which there are five (default: 0.02)
  --small         small sizes only
  --json FILE     write the results as JSON
  --help          this text

Exit status 1 when a shader fails, or its results are not DirectML's.`;

/** src/shader/kernels/attention.ts. */
interface Kernels {
  readonly attentionKernels: Readonly<
    Record<
      "attention" | "queryGradient" | "keyGradient",
      (form: Form) => {
        readonly name: string;
        readonly inputs: Readonly<Record<string, string>>;
        readonly outputs: Readonly<Record<string, string>>;
        readonly params: Readonly<Record<string, "u32" | "f32">>;
        readonly rows: "queries" | "keys";
        readonly body: (s: unknown, form: Form, tile: Tile) => void;
      }
    >
  >;
}

/** The library's own modules: the tiles are no part of what the package exports. */
const load = async <T>(name: string): Promise<T> =>
  (await import(new URL(`../../../dist/shader/kernels/${name}.js`, import.meta.url).href)) as T;

interface Case {
  readonly name: string;
  readonly batch: number;
  readonly heads: number;
  readonly length: number;
  readonly form: Form;
}

function caseOf(batch: number, heads: number, length: number, width: number, more: Partial<Form> = {}): Case {
  const plain = { element: "f32", width, valueWidth: width, isCausal: false, hasMask: false, drops: false } as const;
  const form = { ...plain, isUnrolled: more.drops !== true, ...more } as const;
  const named = [form.isCausal ? "causal" : "", form.element === "f16" ? "float16" : "", form.drops ? "dropout" : ""].filter(Boolean);
  return { name: [`${batch} x ${heads} x ${length} x ${width}`, ...named].join(", "), batch, heads, length, form };
}

const LARGE: readonly Case[] = [
  caseOf(2, 8, 2048, 64),
  caseOf(2, 8, 2048, 64, { isCausal: true }),
  caseOf(8, 8, 256, 64),
  caseOf(2, 8, 2048, 128),
  caseOf(16, 4, 64, 16),
  caseOf(2, 8, 2048, 64, { element: "f16" }),
  caseOf(2, 8, 1024, 64, { drops: true }),
];
const SMALL: readonly Case[] = [caseOf(1, 2, 72, 8), caseOf(1, 1, 40, 16, { isCausal: true })];

const DTYPES = { f32: "float32", f16: "float16", u32: "uint32" } as const;
const KINDS = ["attention", "queryGradient", "keyGradient"] as const;

interface Row {
  readonly case: string;
  readonly kernel: (typeof KINDS)[number];
  readonly tile: string;
  readonly ms: number;
  readonly teraflops: number;
  readonly difference: number;
}

const numbers = (t: dx.Tensor): Float32Array => {
  const wide = t.dtype === "float32" ? t : t.to("float32");
  const data = wide.dataSync() as Float32Array;
  if (wide !== t) wide.dispose();
  return data;
};

async function main(): Promise<void> {
  const values = optionsOf(help, {
    tiles: { type: "string", default: "" },
    kind: { type: "string", default: "" },
    seconds: { type: "string", default: "0.02" },
    small: { type: "boolean", default: false },
  });
  const device = deviceOf(values);
  const { attentionKernels } = await load<Kernels>("attention");
  const { ATTENTION_TILES: tiles } = await load<{ readonly ATTENTION_TILES: Readonly<Record<string, Tile>> }>("attention-tiles");
  const clock = new SteadyClock(device, values.small);
  const rows: Row[] = [];
  for (const { name, batch, heads, length, form } of values.small ? SMALL : LARGE) {
    if (!name.includes(values.filter)) continue;
    const n = batch * heads;
    const dtype = DTYPES[form.element];
    const random = (seed: number): dx.Tensor => dx.randn([n, length, form.width], { device, dtype, generator: new dx.Generator(seed) });
    const [q, k, v, dy] = [1, 2, 3, 4].map(random) as [dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor];
    const p = form.drops ? 0.25 : 0;
    process.env.DXTENSOR_SHADERS = "off";
    const state = dx.tensor(Uint32Array.of(0, 0, 0, 0, 9, 0), { device });
    const leaves = [q, k, v].map((t) => t.detach().requiresGrad_()) as [dx.Tensor, dx.Tensor, dx.Tensor];
    const expected = dx.scope(() => {
      const y = dx.scaledDotProductAttention(...leaves, { isCausal: form.isCausal, dropoutP: p, generator: new dx.Generator(9) });
      return [y.detach(), ...dx.grad(y, leaves, { gradient: dy })] as dx.Tensor[];
    });
    const wanted = expected.map(numbers);
    for (const t of expected) t.dispose();
    const params = { queries: length, keys: length, heads, sharing: 1, scale: form.width ** -0.5, maskBatch: 0, maskHead: 0, maskQuery: 0, maskKey: 0, threshold: p * 2 ** 24, factor: 1 / (1 - p) }; // prettier-ignore
    let statistics: dx.Tensor | null = null;
    for (const [tileName, tile] of Object.entries(tiles).filter(([t]) => t.includes(values.tiles)))
      for (const kind of KINDS.filter((k) => k === "attention" || k.includes(values.kind)))
        try {
          const made = attentionKernels[kind](form);
          const shapes: Readonly<Record<string, readonly number[]>> = { y: q.shape, softmax: [2, n, length], next: [6], dq: q.shape, dk: q.shape, dv: q.shape }; // prettier-ignore
          const named = <T>(
            names: Readonly<Record<string, string>>,
            of: (name: string, element: "f32" | "f16" | "u32") => T,
          ): Record<string, T> => Object.fromEntries(Object.entries(names).map(([key, e]) => [key, of(key, e as "f32" | "f16" | "u32")]));
          const shader = dx.shader(
            {
              name: `${made.name} ${tileName} ${name}`,
              inputs: named(made.inputs, (_, e) => DTYPES[e]),
              outputs: named(made.outputs, (key, e) => ({ dtype: DTYPES[e], shape: () => [...shapes[key]!] })),
              params: made.params,
              threads: tile.across * tile.down,
              groups: () => Math.ceil(length / (4 * tile.down * tile.rowParts)) * n,
            },
            (s) => made.body(s, form, tile),
          );
          const all: Readonly<Record<string, dx.Tensor | null>> = { q, k, v, dy, state, statistics };
          const inputs = named(made.inputs, (key) => all[key]!);
          const run = (): Record<string, dx.Tensor> => shader(inputs, params) as Record<string, dx.Tensor>;
          const found = run();
          const results = kind === "attention" ? [[found["y"]!, 0]] : kind === "queryGradient" ? [[found["dq"]!, 1]] : [[found["dk"]!, 2], [found["dv"]!, 3]]; // prettier-ignore
          const away = Math.max(...(results as [dx.Tensor, number][]).map(([t, i]) => difference(numbers(t), wanted[i]!)));
          statistics ??= dx.scope(() => {
            const dots = found["y"]!.to("float32").mul(dy.to("float32")).sum(-1);
            return dx.cat([found["softmax"]!, dots.reshape([1, n, length])], 0);
          });
          for (const t of Object.values(found)) t.dispose();
          const once = (): undefined => void Object.values(run()).forEach((t) => t.dispose());
          const ms = 1000 * (await clock.measure(once, numberOf("seconds", values.seconds))).seconds;
          const products = { attention: 2, queryGradient: 3, keyGradient: 4 }[kind] * (form.isCausal ? 0.5 : 1);
          const teraflops = (products * 2 * n * length * length * form.width) / ms / 1e9;
          rows.push({ case: name, kernel: kind, tile: tileName, ms, teraflops, difference: away });
          const isWrong = !(away <= (form.element === "f32" ? 1e-4 : 1e-2));
          console.log(`${name.padEnd(32)} ${kind.padEnd(14)} ${tileName.padEnd(21)} ${ms.toFixed(4).padStart(9)} ms ${teraflops.toFixed(2).padStart(6)} TFLOP/s  differs by ${away.toExponential(1)}${isWrong ? "  WRONG" : ""}`); // prettier-ignore
          if (isWrong) process.exitCode = 1;
        } catch (error) {
          process.exitCode = 1;
          console.log(`${name} ${kind} ${tileName}: ${(error as Error).stack}`);
        }
    for (const kind of KINDS) {
      const best = rows.filter((r) => r.case === name && r.kernel === kind).toSorted((a, b) => a.ms - b.ms)[0];
      if (best !== undefined) console.log(`${name}: best of ${kind} is ${best.tile}, ${best.ms.toFixed(4)} ms`);
    }
    for (const t of [q, k, v, dy, state, statistics]) t?.dispose();
  }
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ device: `${device}`, rows }, null, 2));
}

await main();
