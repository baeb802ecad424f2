/**
 * Fourier transforms, attention and linear layers, by DirectML's operators and by the library's shaders, in turn in one process: milliseconds, and whether the results
 * agree. A plain program without dependencies.
 */
import { writeFileSync } from "node:fs";
import * as dx from "dxtensor";
import { difference } from "./kernels.ts";
import { deviceOf, listOf, numberOf, optionsOf } from "./options.ts";
import { SteadyClock } from "./steady-clock.ts";

const help = `node build/bench/device/attention-fft.js [OPTIONS]

  --device NAME   device to measure (default: the default device)
  --filter TEXT   only the cases whose name contains TEXT
  --seconds S     time of each round, of which there are five (default: 0.03)
  --forms LIST    forms by their names, "off,on" (default: both); auto: as the library chooses
  --small         small sizes only
  --json FILE     write the results as JSON
  --help          this text

Exit status 1 when a form fails, or its results are not those of the first form.`;

const FORMS = { off: "off", on: "on", auto: "only-measured" } as const;
type Form = keyof typeof FORMS;

interface Case {
  readonly name: string;
  /** May results differ by this share of their root mean square? */
  readonly tolerance: number;
  /** The inputs, and what is timed. */
  make(device: dx.Device): { readonly inputs: readonly dx.Tensor[]; run(...inputs: readonly dx.Tensor[]): dx.Tensor };
  /** Floating-point operations, 0: not told. */
  readonly flop: number;
  /** Default: both. Eager calls of one operation keep the program of the form that was first. */
  readonly contexts?: readonly ["compiled"];
}

const random = (shape: readonly number[], device: dx.Device, seed: number): dx.Tensor =>
  dx.randn([...shape], { device, generator: new dx.Generator(seed) });

function transform(kind: "fft" | "rfft" | "ifft", batch: number, n: number): Case {
  return {
    name: `${kind} ${batch} x ${n}`,
    tolerance: 1e-5,
    flop: 0,
    make: (device) => ({
      inputs: [random(kind === "rfft" ? [batch, n] : [batch, n, 2], device, n)],
      run: (x) => dx.viewAsReal(kind === "rfft" ? dx.fft.rfft(x!) : dx.fft[kind](dx.viewAsComplex(x!))),
    }),
  };
}

interface Sizes {
  readonly batch: number;
  readonly heads: number;
  readonly length: number;
  readonly width: number;
  readonly causal?: boolean;
}

function attention({ batch, heads, length, width, causal = false }: Sizes, isTrained: boolean): Case {
  const products = (causal ? 1 : 2) * batch * heads * length * length * width;
  return {
    name: `attention${isTrained ? ", forward and backward" : ""} ${batch} x ${heads} x ${length} x ${width}${causal ? ", causal" : ""}`,
    tolerance: 1e-3,
    flop: products * 2 * (isTrained ? 3.5 : 1),
    make: (device) => {
      const inputs = [1, 2, 3].map((seed) => random([batch, heads, length, width], device, seed));
      const forward = (q: dx.Tensor, k: dx.Tensor, v: dx.Tensor): dx.Tensor => dx.scaledDotProductAttention(q, k, v, { isCausal: causal });
      return {
        inputs,
        run: (q, k, v) => {
          if (!isTrained) return forward(q!, k!, v!);
          const leaves = [q!, k!, v!].map((t) => t.detach().requiresGrad_());
          const y = forward(leaves[0]!, leaves[1]!, leaves[2]!);
          return dx.scope(() => dx.cat(dx.grad(y.mul(y).sum(), leaves) as dx.Tensor[], 0));
        },
      };
    },
  };
}

/** A linear layer and an activation of n rows, with the gradients of both operands or without. */
function layer(n: number, width: number, isTrained: boolean): Case {
  return {
    name: `linear${isTrained ? ", forward and backward" : ""} ${n} x ${width} x ${width}`,
    tolerance: 1e-4,
    flop: 2 * n * width * width * (isTrained ? 3 : 1),
    contexts: ["compiled"],
    make: (device) => {
      const inputs = [[n, width], [width, width], [width]].map((shape, i) => random(shape, device, i + 1)); // prettier-ignore
      const forward = (x: dx.Tensor, w: dx.Tensor, b: dx.Tensor): dx.Tensor => dx.relu(dx.linear(x, w, b));
      return {
        inputs,
        run: (x, w, b) => {
          if (!isTrained) return forward(x!, w!, b!);
          const leaves = [x!, w!, b!].map((t) => t.detach().requiresGrad_());
          const y = forward(leaves[0]!, leaves[1]!, leaves[2]!);
          return dx.scope(() => dx.cat((dx.grad(y.mul(y).sum(), leaves) as dx.Tensor[]).slice(0, 2), 0));
        },
      };
    },
  };
}

const LARGE: readonly Case[] = [
  transform("fft", 16, 65536),
  transform("fft", 64, 1024),
  transform("ifft", 1024, 256),
  transform("fft", 4096, 16),
  transform("fft", 256, 4096),
  transform("fft", 1, 1 << 20),
  transform("fft", 64, 1000),
  transform("fft", 64, 1009),
  transform("rfft", 16, 65536),
  transform("rfft", 64, 1024),
  ...[false, true].flatMap((isTrained) => [
    attention({ batch: 16, heads: 4, length: 64, width: 16 }, isTrained),
    attention({ batch: 8, heads: 8, length: 256, width: 64 }, isTrained),
    attention({ batch: 4, heads: 8, length: 1024, width: 64 }, isTrained),
    attention({ batch: 2, heads: 8, length: 2048, width: 64 }, isTrained),
    attention({ batch: 2, heads: 8, length: 2048, width: 64, causal: true }, isTrained),
    attention({ batch: 2, heads: 8, length: 2048, width: 128 }, isTrained),
    ...[512, 1024, 2048].map((n) => layer(n, n, isTrained)),
    layer(4096, 768, isTrained),
  ]),
];
const SMALL: readonly Case[] = [
  transform("fft", 4, 64),
  transform("rfft", 2, 4608),
  transform("fft", 2, 61),
  ...[false, true].flatMap((isTrained) => [attention({ batch: 1, heads: 2, length: 70, width: 8 }, isTrained), layer(64, 64, isTrained)]),
];

interface Row {
  readonly name: string;
  readonly form: Form;
  readonly context: "alone" | "compiled";
  readonly ms: number;
  readonly difference: number;
}

const numbers = (t: dx.Tensor): Float32Array => t.dataSync() as Float32Array;

async function main(): Promise<void> {
  const values = optionsOf(help, {
    seconds: { type: "string", default: "0.03" },
    forms: { type: "string", default: "off,on" },
    small: { type: "boolean", default: false },
  });
  const device = deviceOf(values);
  const forms = listOf("forms", values.forms, Object.keys(FORMS) as Form[]);
  const rows: Row[] = [];
  const clock = new SteadyClock(device, values.small);
  for (const c of values.small ? SMALL : LARGE)
    if (c.name.includes(values.filter))
      for (const context of c.contexts ?? (["alone", "compiled"] as const)) {
        let expected: Float32Array | null = null;
        for (const form of forms)
          try {
            process.env.DXTENSOR_SHADERS = FORMS[form];
            const { inputs, run } = c.make(device);
            const compiled = context === "compiled" ? dx.compile((...x: dx.Tensor[]) => run(...x), { name: c.name, check: false }) : null;
            const once = (): dx.Tensor => dx.scope(() => (compiled ?? run)(...inputs));
            const result = once();
            const got = numbers(result);
            result.dispose();
            expected ??= got;
            const away = difference(got, expected);
            const timing = await clock.measure(once, numberOf("seconds", values.seconds));
            const ms = 1000 * timing.seconds;
            rows.push({ name: c.name, form, context, ms, difference: away });
            const rate = c.flop === 0 ? "" : `  ${(c.flop / ms / 1e9).toFixed(2)} TFLOP/s`;
            console.log(`${c.name.padEnd(52)} ${context.padEnd(9)} ${form.padEnd(5)} ${ms.toPrecision(4).padStart(8)} ms  reference ${timing.reference.toFixed(2)}  differs by ${away.toExponential(1)}${rate}`); // prettier-ignore
            if (!(away <= c.tolerance)) {
              process.exitCode = 1;
              console.log(`${c.name} ${context} ${form}: the results differ`);
            }
            compiled?.dispose();
            for (const x of inputs) x.dispose();
          } catch (error) {
            process.exitCode = 1;
            console.log(`${c.name} ${context} ${form}: ${(error as Error).stack}`);
          }
      }
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ device: `${device}`, rows }, null, 2));
}

await main();
