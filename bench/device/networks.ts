/** The networks whose training step is measured: the layers, batch and optimizer that the peer programs use too. */
import * as dx from "dxtensor";

export interface Case {
  readonly name: string;
  /** Shape of one batch of inputs; the labels are i % 10. */
  readonly input: readonly number[];
  readonly build: () => dx.nn.Layer;
  readonly optimizer: (parameters: Iterable<dx.nn.Parameter>) => { step(): void; zeroGrad(): void };
}

const sgd: Case["optimizer"] = (parameters) => dx.optim.sgd([...parameters], { lr: 0.01, momentum: 0.9 });
const adam: Case["optimizer"] = (parameters) => dx.optim.adam([...parameters], { lr: 1e-3 });

/** Two 3x3 convolutions with batch normalisation around a shortcut; a 1x1 convolution in it where the stride is 2. */
class Block extends dx.nn.Module {
  readonly conv1: dx.nn.Layer;
  readonly norm1: dx.nn.Layer;
  readonly conv2: dx.nn.Layer;
  readonly norm2: dx.nn.Layer;
  readonly shortcut: dx.nn.Layer | null;

  constructor(inputs: number, outputs: number, stride: number) {
    super();
    this.conv1 = dx.nn.conv2d(inputs, outputs, 3, { stride, padding: 1, bias: false });
    this.norm1 = dx.nn.batchNorm2d(outputs);
    this.conv2 = dx.nn.conv2d(outputs, outputs, 3, { padding: 1, bias: false });
    this.norm2 = dx.nn.batchNorm2d(outputs);
    this.shortcut =
      stride === 1 ? null : dx.nn.sequential(dx.nn.conv2d(inputs, outputs, 1, { stride, bias: false }), dx.nn.batchNorm2d(outputs));
  }

  forward(x: dx.Tensor): dx.Tensor {
    const y = this.norm2.forward(this.conv2.forward(dx.relu(this.norm1.forward(this.conv1.forward(x)))));
    return dx.relu(dx.add(y, this.shortcut === null ? x : this.shortcut.forward(x)));
  }
}

/** ResNet-18 for 32x32 images: 3x3 first, no pooling before the mean. Reference: He et al. 2015. */
export class ResNet extends dx.nn.Module {
  readonly conv: dx.nn.Layer;
  readonly norm: dx.nn.Layer;
  readonly blocks: dx.nn.Layer;
  readonly head: dx.nn.Layer;

  /** width: channels of the first stage. */
  constructor(width = 64) {
    super();
    this.conv = dx.nn.conv2d(3, width, 3, { padding: 1, bias: false });
    this.norm = dx.nn.batchNorm2d(width);
    this.head = dx.nn.linear(8 * width, 10);
    const blocks: Block[] = [];
    let inputs = width;
    for (let stage = 0; stage < 4; stage++)
      for (let block = 0; block < 2; block++) {
        const outputs = width << stage;
        blocks.push(new Block(inputs, outputs, stage > 0 && block === 0 ? 2 : 1));
        inputs = outputs;
      }
    this.blocks = dx.nn.sequential(...blocks);
  }

  forward(x: dx.Tensor): dx.Tensor {
    const y = this.blocks.forward(dx.relu(this.norm.forward(this.conv.forward(x))));
    return this.head.forward(dx.mean(y, [2, 3]));
  }
}

/** One layer of a transformer encoder, normalised after each part, without dropout. Reference: Vaswani et al. 2017. */
class EncoderLayer extends dx.nn.Module {
  readonly width: number;
  readonly heads: number;
  readonly project: dx.nn.Layer;
  readonly merge: dx.nn.Layer;
  readonly norm1: dx.nn.Layer;
  readonly wide: dx.nn.Layer;
  readonly narrow: dx.nn.Layer;
  readonly norm2: dx.nn.Layer;

  constructor(width: number, heads: number) {
    super();
    this.width = width;
    this.heads = heads;
    this.project = dx.nn.linear(width, 3 * width);
    this.merge = dx.nn.linear(width, width);
    this.norm1 = dx.nn.layerNorm([width]);
    this.wide = dx.nn.linear(width, 4 * width);
    this.narrow = dx.nn.linear(4 * width, width);
    this.norm2 = dx.nn.layerNorm([width]);
  }

  #attend(x: dx.Tensor): dx.Tensor {
    const [batch, length] = [x.shape[0]!, x.shape[1]!];
    const size = this.width / this.heads;
    // [3, batch, heads, length, size]
    const parts = this.project.forward(x).reshape(batch, length, 3, this.heads, size).permute(2, 0, 3, 1, 4);
    const [q, k, v] = [0, 1, 2].map((i) => dx.select(parts, 0, i));
    const weights = dx.softmax(dx.mul(dx.matmul(q!, dx.transpose(k!, -2, -1)), 1 / Math.sqrt(size)), -1);
    return this.merge.forward(dx.matmul(weights, v!).permute(0, 2, 1, 3).reshape(batch, length, this.width));
  }

  forward(x: dx.Tensor): dx.Tensor {
    const y = this.norm1.forward(dx.add(x, this.#attend(x)));
    return this.norm2.forward(dx.add(y, this.narrow.forward(dx.gelu(this.wide.forward(y)))));
  }
}

export class Encoder extends dx.nn.Module {
  readonly layers: dx.nn.Layer;
  readonly head: dx.nn.Layer;

  constructor(depth: number) {
    super();
    this.layers = dx.nn.sequential(...Array.from({ length: depth }, () => new EncoderLayer(128, 4)));
    this.head = dx.nn.linear(128, 10);
  }

  forward(x: dx.Tensor): dx.Tensor {
    return this.head.forward(dx.mean(this.layers.forward(x), 1));
  }
}

export const CASES: readonly Case[] = [
  {
    name: "quickstart",
    input: [64, 1, 28, 28],
    optimizer: adam,
    build: () =>
      dx.nn.sequential(
        dx.nn.conv2d(1, 8, 5),
        dx.nn.relu(),
        dx.nn.maxPool2d(2),
        dx.nn.conv2d(8, 16, 5),
        dx.nn.relu(),
        dx.nn.maxPool2d(2),
        dx.nn.flatten(),
        dx.nn.linear(256, 64),
        dx.nn.relu(),
        dx.nn.linear(64, 10),
      ),
  },
  {
    name: "mlp",
    input: [64, 784],
    optimizer: sgd,
    build: () => dx.nn.sequential(dx.nn.linear(784, 128), dx.nn.relu(), dx.nn.linear(128, 10)),
  },
  {
    name: "lenet",
    input: [64, 1, 28, 28],
    optimizer: adam,
    build: () =>
      dx.nn.sequential(
        dx.nn.conv2d(1, 16, 5, { padding: 2 }),
        dx.nn.relu(),
        dx.nn.maxPool2d(2),
        dx.nn.conv2d(16, 32, 5, { padding: 2 }),
        dx.nn.relu(),
        dx.nn.maxPool2d(2),
        dx.nn.flatten(),
        dx.nn.linear(32 * 49, 10),
      ),
  },
  { name: "resnet", input: [16, 3, 32, 32], optimizer: sgd, build: () => new ResNet() },
  { name: "encoder", input: [8, 64, 128], optimizer: adam, build: () => new Encoder(2) },
];
