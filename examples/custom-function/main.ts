/** A function with a derivative of one's own: weights of -1 and 1 alone, trained by letting the gradient straight through. */
import * as dx from "dxtensor";
import { ExampleError, exampleCommand, isMain, real, runExample, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";

interface Options extends CommonOptions {
  readonly steps: number;
  readonly goal: number;
}

const command = exampleCommand("custom-function", "Trains a network whose weights are -1 or 1, by a function with a derivative of its own.")
  .option("--steps <n>", "training steps", whole(1), 400)
  .option("--goal <share>", "exit status 1 below this share of right answers", real(0, 1), 0.95);

/**
 * -1 below 0, else 1. Its derivative is 0 almost everywhere, so nothing would learn: backward lets the gradient through as if nothing had
 * happened where x is in [-1, 1], and stops it elsewhere. Reference: Bengio, Léonard, Courville, arXiv 1308.3432.
 */
export const binarize = dx.defineFunction({
  name: "binarize",
  forward: (context, x: dx.Tensor) => {
    context.saveForBackward(x);
    return dx.where(x.lt(0), -1, 1).to(x.dtype);
  },
  backward: (context, dy) => {
    const [x] = context.saved;
    return dy.mul(x!.abs().le(1).to(dy.dtype));
  },
});

/** A linear layer that computes with binary weights, and learns real ones. */
export class BinaryLinear extends dx.nn.Module {
  readonly weight: dx.nn.Parameter;
  readonly scale: dx.nn.Parameter;
  readonly bias: dx.nn.Parameter;

  constructor(inputs: number, outputs: number) {
    super();
    this.weight = new dx.nn.Parameter(dx.rand([outputs, inputs]).mul(2).sub(1));
    this.scale = new dx.nn.Parameter(dx.full([outputs], 1 / Math.sqrt(inputs)));
    this.bias = new dx.nn.Parameter(dx.zeros([outputs]));
  }

  override forward(x: dx.Tensor): dx.Tensor {
    return dx.nn.functional.linear(x, binarize(this.weight)).mul(this.scale).add(this.bias);
  }
}

/** Points in a square, and whether they lie within a ring. */
function ring(n: number, generator: dx.Generator): [dx.Tensor, dx.Tensor] {
  return dx.scope(() => {
    const points = dx.rand([n, 2], { generator }).mul(2).sub(1);
    const radius = points.square().sum(1).sqrt();
    return [points, radius.gt(0.4).logicalAnd(radius.lt(0.9)).to("int32")];
  });
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const generator = new dx.Generator(options.seed);
  // One dense layer gives features; the others have binary weights.
  const hidden = new BinaryLinear(64, 64);
  const model = dx.nn.sequential(dx.nn.linear(2, 64), dx.nn.tanh(), hidden, dx.nn.tanh(), new BinaryLinear(64, 2));
  const optimizer = dx.optim.adam(model.parameters(), { lr: 1e-2 });
  const step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.nn.functional.crossEntropy(model.forward(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );
  const bar = progress(options.steps, options.json);
  const losses: number[] = [];
  for (let i = 1; i <= options.steps; i++) {
    const [x, y] = ring(256, generator);
    const loss = step(x, y);
    losses.push(await loss.item());
    bar.update(i, { loss: losses.at(-1)!.toFixed(4) });
    for (const t of [x, y, loss]) t.dispose();
  }
  bar.stop();
  const [x, y] = ring(4000, generator);
  const accuracy = await dx.noGrad(() => model.forward(x).argmax(1).eq(y).to("float32").mean()).item();
  const used = await binarize(hidden.weight).data();
  const values = [...new Set(used as Float32Array)].toSorted((a, b) => a - b);
  say(`${(accuracy * 100).toFixed(1)} % of 4000 new points are told right; the weights of the hidden layer are ${values.join(" and ")}.`);
  if (options.json)
    console.log(JSON.stringify({ device: String(options.device), firstLoss: losses[0], lastLoss: losses.at(-1), accuracy, values }));
  if (accuracy < options.goal)
    throw new ExampleError(`The goal of ${options.goal} was missed: ${accuracy.toFixed(4)}. More --steps may reach it.`);
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
