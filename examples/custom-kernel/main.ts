/** A kernel of one's own: DirectML operators put together, which autograd and compile take like any other operation. */
import * as dx from "dxtensor";
import { exampleCommand, ExampleError, isMain, runExample, whole, type CommonOptions } from "../shared/command.ts";

interface Options extends CommonOptions {
  readonly rows: number;
  readonly width: number;
  readonly calls: number;
}

const command = exampleCommand(
  "custom-kernel",
  "Defines SwiGLU as a kernel, checks values and gradients, and compares its time with the composition's.",
)
  .option("--rows <n>", "rows of the input", whole(1), 512)
  .option("--width <n>", "width of the result; the input is twice as wide", whole(1), 512)
  .option("--calls <n>", "calls to time", whole(1), 50);

/** silu(gate) * value, of the two halves of the last axis: as it is made of operations. */
export function composed(x: dx.Tensor): dx.Tensor {
  const [gate, value] = x.chunk(2, -1) as [dx.Tensor, dx.Tensor];
  return dx.silu(gate).mul(value);
}

const kernel = dx.kernel({
  name: "swiglu",
  infer: ([x]) => {
    const width = x!.shape.at(-1);
    if (width === undefined || width % 2 !== 0) throw new dx.ShapeError("swiglu", "x", "of an even last axis", `[${x!.shape.join(", ")}]`);
    if (x!.dtype !== "float32" && x!.dtype !== "float16") throw new dx.DTypeError("swiglu", "x", "float32 or float16", x!.dtype);
    return [{ shape: [...x!.shape.slice(0, -1), width / 2], dtype: x!.dtype }];
  },
  // What DirectML is to do: two halves, x * sigmoid(x), a product.
  lower: (g, [x]) => {
    const sizes = x!.sizes;
    const half = sizes.at(-1)! / 2;
    const parts = [0, half].map((start) =>
      g.slice1(x!, {
        inputWindowOffsets: [...sizes.slice(0, -1).map(() => 0), start],
        inputWindowSizes: [...sizes.slice(0, -1), half],
        inputWindowStrides: sizes.map(() => 1),
        output: { sizes: [...sizes.slice(0, -1), half], dtype: x!.dtype },
      }),
    );
    return [g.elementWiseMultiply(g.elementWiseMultiply(parts[0]!, g.activationSigmoid(parts[0]!)), parts[1]!)];
  },
  grad: (dy, { inputs: [x] }) => {
    const [gate, value] = x!.chunk(2, -1) as [dx.Tensor, dx.Tensor];
    const s = dx.sigmoid(gate);
    const silu = gate.mul(s);
    // silu' = s + silu (1 - s)
    return [dx.cat([dy.mul(value).mul(s.add(silu.mul(dx.sub(1, s)))), dy.mul(silu)], -1)];
  },
});

/** silu(gate) * value, of the two halves of the last axis, as one kernel. */
export const swiglu = (x: dx.Tensor): dx.Tensor => kernel([x], undefined)[0]!;

/** Microseconds for one call, waiting for the device at the end. */
async function timeOf(fn: () => dx.Tensor, calls: number): Promise<number> {
  for (let i = 0; i < 3; i++) fn().dispose();
  await dx.synchronize();
  const start = performance.now();
  for (let i = 0; i < calls; i++) fn().dispose();
  await dx.synchronize();
  return ((performance.now() - start) * 1000) / calls;
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const x = dx.randn([options.rows, 2 * options.width]);
  const difference = await swiglu(x).sub(composed(x)).abs().max().item();
  const small = dx.randn([3, 8], { requiresGrad: true });
  // Finite differences of the kernel against its own rule.
  const right = dx.gradcheck((t: dx.Tensor) => swiglu(t), [small]);
  const compiled = dx.compile(swiglu, { name: "swiglu" });
  const times = {
    composition: await timeOf(() => dx.scope(() => dx.noGrad(() => composed(x))), options.calls),
    kernel: await timeOf(() => dx.noGrad(() => swiglu(x)), options.calls),
    compiled: await timeOf(() => dx.noGrad(() => compiled(x)), options.calls),
  };
  say(`Largest difference to the composition: ${difference}. Its gradient agrees with finite differences: ${right ? "yes" : "no"}.`);
  for (const [name, microseconds] of Object.entries(times)) say(`  ${name.padEnd(12)} ${microseconds.toFixed(0).padStart(7)} µs a call`);
  if (options.json) console.log(JSON.stringify({ device: String(options.device), difference, gradient: right, microseconds: times }));
  if (difference > 1e-5) throw new ExampleError("The kernel and the composition disagree.");
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
