/** PyTorch's recorded training runs (runs.py), and the same networks here. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import * as dx from "../../../src/index.ts";
import { goldenFolder } from "../folder.ts";

interface Packed {
  readonly dtype: string;
  readonly shape: number[];
  readonly data: string;
}
export interface Run {
  readonly lr: number;
  readonly first: { readonly [name: string]: Packed };
  readonly batches: readonly (readonly [x: Packed, y: Packed])[];
  readonly losses: { readonly [dtype in "float32" | dx.AutocastDType]: readonly number[] };
}

export const readRuns = (): { readonly [name: string]: Run } =>
  (
    JSON.parse(gunzipSync(readFileSync(join(goldenFolder, "autocast", "runs.json.gz"))).toString("utf8")) as {
      runs: { [name: string]: Run };
    }
  ).runs;

function tensorOf({ dtype, shape, data }: Packed): dx.Tensor {
  const bytes = Buffer.from(data, "base64");
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  return dtype === "int64" ? dx.tensor(new Int32Array(buffer), { shape }) : dx.tensor(new Float32Array(buffer), { shape });
}

/** runs.py's Block. */
class Block extends dx.nn.Module {
  embedding = dx.nn.embedding(11, 16);
  norm1 = dx.nn.layerNorm(16);
  qkv = dx.nn.linear(16, 48);
  out = dx.nn.linear(16, 16);
  norm2 = dx.nn.layerNorm(16);
  up = dx.nn.linear(16, 32);
  down = dx.nn.linear(32, 16);
  head = dx.nn.linear(16, 11);

  forward(x: dx.Tensor): dx.Tensor {
    let h = this.embedding(x);
    const [n, t] = x.shape as [number, number];
    const [q, k, v] = this.qkv(this.norm1(h))
      .chunk(3, -1)
      .map((s) => s.reshape([n, t, 2, 8]).transpose(1, 2)) as [dx.Tensor, dx.Tensor, dx.Tensor];
    const scores = q.matmul(k.transpose(-1, -2)).mul(8 ** -0.5);
    const seen = scores.softmax(-1).matmul(v);
    h = h.add(this.out(seen.transpose(1, 2).flatten(2)));
    return this.head(h.add(this.down(dx.gelu(this.up(this.norm2(h))))));
  }
}

type Network = readonly [model: dx.nn.Module, loss: (x: dx.Tensor, y: dx.Tensor) => dx.Tensor];

const networks: { readonly [name: string]: () => Network } = {
  mlp: () => {
    const { nn } = dx;
    const model = nn.sequential(nn.linear(8, 32), nn.relu(), nn.linear(32, 32), nn.tanh(), nn.linear(32, 3));
    return [model, (x, y) => nn.functional.mseLoss(model(x), y)];
  },
  conv: () => {
    const { nn } = dx;
    const model = nn.sequential(
      nn.conv2d(2, 6, 3, { padding: 1 }),
      nn.batchNorm2d(6),
      nn.relu(),
      nn.maxPool2d(2),
      nn.conv2d(6, 8, 3),
      nn.relu(),
      nn.flatten(),
      nn.linear(32, 5),
    );
    return [model, (x, y) => nn.functional.crossEntropy(model(x), y)];
  },
  transformer: () => {
    const model = new Block();
    return [model, (x, y) => dx.nn.functional.crossEntropy(model.forward(x).flatten(0, 1), y.flatten())];
  },
};

/** The losses of 24 steps from the recorded parameters. */
export async function train(name: string, run: Run, dtype: dx.AutocastDType, isCompiled: boolean): Promise<number[]> {
  const [model, lossOf] = networks[name]!();
  dx.noGrad(() => {
    for (const [key, p] of model.namedParameters()) p.copy_(tensorOf(run.first[key]!));
  });
  const optimizer = dx.optim.sgd(model.parameters(), { lr: run.lr });
  const scale = dtype === "float16" ? 1024 : 1;
  const body = (x: dx.Tensor, y: dx.Tensor): dx.Tensor => {
    optimizer.zeroGrad();
    const loss = dx.autocast(dtype, () => lossOf(x, y));
    loss.mul(scale).backward();
    for (const p of model.parameters()) p.grad!.div_(scale);
    optimizer.step();
    return loss.detach();
  };
  const compiled = isCompiled ? dx.compile(body) : null;
  const step = compiled ?? body;
  const losses: number[] = [];
  for (let i = 0; i < 24; i++) {
    const [x, y] = run.batches[i % run.batches.length]!.map(tensorOf) as [dx.Tensor, dx.Tensor];
    losses.push((await step(x, y).item()) as number);
  }
  compiled?.dispose();
  optimizer.dispose();
  return losses;
}
