/** PyTorch's recorded losses of six networks (record.py), and the same trainings here. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import * as dx from "../../../src/index.ts";
import { goldenFolder } from "../folder.ts";

export interface Training {
  readonly float64: readonly number[];
  /** For each ten steps, how far PyTorch's float32 losses were from float64's until then, relatively. */
  readonly noise: readonly number[];
  readonly bfloat16?: readonly number[];
}

export const readTrainings = (): {
  readonly torch: string;
  readonly window: number;
  readonly runs: { readonly [name: string]: Training };
} =>
  JSON.parse(gunzipSync(readFileSync(join(goldenFolder, "trainings", "losses.json.gz"))).toString("utf8")) as ReturnType<
    typeof readTrainings
  >;

/** record.py's uniform: multiples of 2^-15 in [-1, 1). */
const uniform = (n: number, seed: number): Float64Array =>
  Float64Array.from({ length: n }, (_, i) => {
    let h = Math.imul(i + seed * 65537, 0x9e3779b1);
    h = Math.imul(h ^ (h >>> 15), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    return ((h >>> 16) - 32768) / 32768;
  });
const product = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** record.py's begin. */
function begin(model: dx.nn.Module): void {
  const parameters = [...model.namedParameters()].toSorted(([a], [b]) => (a < b ? -1 : 1));
  dx.noGrad(() => {
    for (const [i, [name, p]] of parameters.entries()) {
      const scale = p.rank > 1 ? Math.sqrt(3 / product(p.shape.slice(1))) : 0.1;
      const values = uniform(p.size, 100 + i).map((v) => (p.rank === 1 && name.endsWith("weight") ? 1 : v * scale));
      p.copy_(dx.tensor(Float32Array.from(values), { shape: p.shape }));
    }
  });
}

const real = (batch: number, ...shape: number[]): dx.Tensor => dx.tensor(Float32Array.from(uniform(product(shape), batch)), { shape });
const classes = (count: number, batch: number, ...shape: number[]): dx.Tensor =>
  dx.tensor(
    Int32Array.from(uniform(product(shape), 1000 + batch), (v) => Math.floor(((v + 1) / 2) * count)),
    { shape },
  );

type T = dx.Tensor;
interface Network {
  readonly model: dx.nn.Module & { forward(x: T): T };
  readonly optimizer: (parameters: Iterable<dx.nn.Parameter>) => dx.optim.Optimizer;
  readonly schedule?: (optimizer: dx.optim.Optimizer) => dx.optim.lrScheduler.LRScheduler;
  readonly data: (batch: number) => readonly [x: T, y: T];
  readonly loss: (found: T, wanted: T) => T;
  readonly clip?: number;
}

const { nn, optim } = dx;
const { mseLoss, crossEntropy } = nn.functional;

class Block extends nn.Module {
  conv1;
  bn1;
  conv2;
  bn2;
  skip;

  constructor(i: number, o: number, stride: number) {
    super();
    this.conv1 = nn.conv2d(i, o, 3, { stride, padding: 1, bias: false });
    this.bn1 = nn.batchNorm2d(o);
    this.conv2 = nn.conv2d(o, o, 3, { padding: 1, bias: false });
    this.bn2 = nn.batchNorm2d(o);
    this.skip = stride === 1 ? nn.sequential() : nn.sequential(nn.conv2d(i, o, 1, { stride, bias: false }), nn.batchNorm2d(o));
  }

  forward(x: T): T {
    const inner = this.conv2.forward(dx.relu(this.bn1.forward(this.conv1.forward(x))));
    return dx.relu(this.bn2.forward(inner).add(this.skip.forward(x) as T));
  }
}

class Sequences extends nn.Module {
  embedding = nn.embedding(12, 8);
  lstm = nn.lstm(8, 16, { batchFirst: true });
  head = nn.linear(16, 12);

  forward(x: T): T {
    return this.head.forward(this.lstm.forward(this.embedding.forward(x)).output).flatten(0, 1);
  }
}

class Encoder extends nn.Module {
  embedding = nn.embedding(12, 16);
  layers = nn.moduleList(
    [0, 1].map(() => nn.transformerEncoderLayer(16, 2, { dimFeedforward: 32, dropout: 0, batchFirst: true, normFirst: true })),
  );
  norm = nn.layerNorm(16);
  head = nn.linear(16, 12);

  forward(x: T): T {
    let h = this.embedding.forward(x);
    for (const layer of this.layers) h = layer.forward(h);
    return this.head.forward(this.norm.forward(h)).flatten(0, 1);
  }
}

const networks: { readonly [name: string]: () => Network } = {
  mlp: () => ({
    model: nn.sequential(nn.linear(16, 32), nn.relu(), nn.linear(32, 32), nn.tanh(), nn.linear(32, 4)),
    optimizer: (p) => optim.sgd(p, { lr: 0.05, momentum: 0.9 }),
    data: (b) => [real(b, 16, 16), real(50 + b, 16, 4)],
    loss: (found, wanted) => mseLoss(found, wanted),
  }),
  lenet: () => ({
    model: nn.sequential(
      nn.conv2d(1, 4, 5, { padding: 2 }),
      nn.batchNorm2d(4),
      nn.relu(),
      nn.maxPool2d(2),
      nn.conv2d(4, 8, 5),
      nn.batchNorm2d(8),
      nn.relu(),
      nn.maxPool2d(2),
      nn.flatten(),
      nn.linear(8, 16),
      nn.relu(),
      nn.linear(16, 4),
    ),
    optimizer: (p) => optim.adam(p, { lr: 2e-3 }),
    data: (b) => [real(b, 8, 1, 12, 12), classes(4, b, 8)],
    loss: (found, wanted) => crossEntropy(found, wanted),
  }),
  resnet: () => ({
    model: nn.sequential(
      nn.conv2d(3, 8, 3, { padding: 1, bias: false }),
      nn.batchNorm2d(8),
      nn.relu(),
      new Block(8, 8, 1),
      new Block(8, 16, 2),
      nn.adaptiveAvgPool2d(1),
      nn.flatten(),
      nn.linear(16, 4),
    ),
    optimizer: (p) => optim.sgd(p, { lr: 0.02, momentum: 0.9, weightDecay: 5e-4 }),
    schedule: (optimizer) => optim.lrScheduler.cosineAnnealingLR(optimizer, 200),
    data: (b) => [real(b, 8, 3, 8, 8), classes(4, b, 8)],
    loss: (found, wanted) => crossEntropy(found, wanted),
  }),
  lstm: () => ({
    model: new Sequences(),
    optimizer: (p) => optim.rmsprop(p, { lr: 3e-3 }),
    data: (b) => [classes(12, b, 8, 10), classes(12, 50 + b, 8, 10)],
    loss: (found, wanted) => crossEntropy(found, wanted.flatten()),
    clip: 1,
  }),
  transformer: () => ({
    model: new Encoder(),
    optimizer: (p) => optim.adamW(p, { lr: 3e-3, weightDecay: 0.01 }),
    schedule: (optimizer) => optim.lrScheduler.lambdaLR(optimizer, (t) => Math.min((t + 1) / 20, Math.sqrt(20 / (t + 1)))),
    data: (b) => [classes(12, b, 4, 8), classes(12, 50 + b, 4, 8)],
    loss: (found, wanted) => crossEntropy(found, wanted.flatten()),
  }),
  autoencoder: () => ({
    model: nn.sequential(
      nn.conv2d(1, 4, 3, { stride: 2, padding: 1 }),
      nn.gelu(),
      nn.conv2d(4, 8, 3, { stride: 2, padding: 1 }),
      nn.gelu(),
      nn.convTranspose2d(8, 4, 4, { stride: 2, padding: 1 }),
      nn.gelu(),
      nn.convTranspose2d(4, 1, 4, { stride: 2, padding: 1 }),
      nn.tanh(),
    ),
    optimizer: (p) => optim.nadam(p, { lr: 3e-3 }),
    data: (b) => {
      const x = real(b, 8, 1, 8, 8);
      return [x, x.clone()];
    },
    loss: (found, wanted) => mseLoss(found, wanted),
  }),
};

export interface TrainOptions {
  readonly steps: number;
  readonly isCompiled: boolean;
  readonly autocast?: dx.AutocastDType;
}

/** The losses of a training's first steps. */
export async function trainingLosses(name: string, { steps, isCompiled, autocast }: TrainOptions): Promise<number[]> {
  const { model, optimizer: make, schedule: plan, data, loss: lossOf, clip } = networks[name]!();
  begin(model);
  const optimizer = make(model.parameters());
  const schedule = plan?.(optimizer);
  const body = (x: T, y: T): T => {
    optimizer.zeroGrad();
    const found = autocast === undefined ? model.forward(x) : dx.autocast(autocast, () => model.forward(x));
    const loss = lossOf(found.to("float32"), y);
    loss.backward();
    if (clip !== undefined) nn.utils.clipGradNorm_(model.parameters(), clip);
    optimizer.step();
    return loss.detach();
  };
  const compiled = isCompiled ? dx.compile(body) : null;
  const step = compiled ?? body;
  const batches = Array.from({ length: 8 }, (_, b) => data(b));
  const losses: T[] = [];
  for (let i = 0; i < steps; i++) {
    losses.push(step(...batches[i % batches.length]!));
    schedule?.step();
  }
  const result = [...(await dx.stack(losses).data())] as number[];
  compiled?.dispose();
  optimizer.dispose();
  return result;
}
