/**
 * Result types of calls of modules, loaders and optimizers: checked with the sources (npm run lint), and against the published declarations by
 * test/types/hover.test.ts. Nothing here runs.
 */
import * as dx from "../../src/index.ts";

const { nn } = dx;

class Block extends nn.Module {
  readonly _fc = nn.linear(4, 4);
  readonly layers = nn.moduleList([nn.linear(4, 4), nn.linear(4, 4)]);
  readonly named = nn.moduleDict({ first: nn.linear(4, 4) });

  forward(x: dx.Tensor, scale = 1): dx.Tensor {
    return this.named
      .get("first")(this.layers.at(0)(this._fc(x)))
      .mul(scale);
  }
}

class Pair extends nn.Module {
  forward(x: dx.Tensor): { readonly sum: dx.Tensor; readonly count: number } {
    return { sum: x.sum(), count: x.size };
  }
}

/** A subclass of a layer. */
class Twice extends nn.Linear {
  override forward(x: dx.Tensor): dx.Tensor {
    return super.forward(super.forward(x));
  }
}

const takesTensor = (_: dx.Tensor): void => {};
const takesNumber = (_: number): void => {};

export function modules(x: dx.Tensor): void {
  const block = new Block();
  takesTensor(block(x));
  takesTensor(block(x, 2));
  takesTensor(new Twice(4, 4)(x).relu());
  takesTensor(nn.sequential(nn.linear(4, 4), nn.relu(), block)(x));
  takesNumber(new Pair()(x).count);
  takesTensor(block.eval()(x));
  const { output, hidden } = nn.lstm(4, 4)(x, {});
  takesTensor(output.add(hidden));
  takesTensor(nn.multiheadAttention(4, 2)(x, x, x).output);
  takesTensor(nn.bilinear(4, 4, 4)(x, x));
  takesTensor(new nn.CrossEntropyLoss()(x, x));
  takesTensor(nn.transformerEncoderLayer(4, 2)(x));

  // @ts-expect-error a number is no tensor
  block(3);
  // @ts-expect-error it takes a tensor
  block();
  // @ts-expect-error a text is no scale
  block(x, "2");
  // @ts-expect-error one argument too many
  block(x, 2, 3);
  // @ts-expect-error a linear layer takes one tensor
  nn.linear(4, 4)(x, x);
  // @ts-expect-error so does what is made of layers
  nn.sequential(nn.linear(4, 4))("x");
  // @ts-expect-error there is no such part of the result
  takesTensor(new Pair()(x).product);
  // @ts-expect-error a tensor has no such method
  block(x).reluu();
  // @ts-expect-error a pair is no layer: it gives no tensor
  nn.sequential(new Pair());
  // @ts-expect-error a recurrent layer gives more than a tensor
  takesTensor(nn.lstm(4, 4)(x));
}

/** Code for any module, and for any layer. */
export function anyModule(model: dx.nn.Module, layer: dx.nn.Layer, x: dx.Tensor): void {
  takesTensor(layer(x));
  const list: dx.nn.Module[] = [layer, new Block(), new Pair(), nn.lstm(4, 4), nn.moduleList([layer])];
  for (const m of list) m(x);
  // @ts-expect-error what a module gives is unknown where no more is said
  takesTensor(model(x));
  const generic = <M extends dx.nn.Layer>(m: M): dx.Tensor => m(x);
  takesTensor(generic(nn.sequential(layer)));
}

export async function loaders(x: dx.Tensor): Promise<void> {
  for await (const [images, labels] of dx.data.dataLoader(new dx.data.TensorDataset(x, x), { batchSize: 2 })) {
    takesTensor(images);
    takesTensor(labels);
  }
  // @ts-expect-error a batch of pairs has two tensors
  for await (const [, , third] of dx.data.dataLoader(new dx.data.TensorDataset(x, x))) takesTensor(third);

  for await (const [image, label, name] of dx.data.dataLoader([
    [x, 1, true],
    [x, 2, false],
  ])) {
    takesTensor(image);
    takesTensor(label);
    takesTensor(name);
  }
  for await (const { image, label } of dx.data.dataLoader([{ image: x, label: 1 }])) takesTensor(image.add(label));
  for await (const rows of dx.data.dataLoader([x, x])) takesTensor(rows);
  for await (const text of dx.data.dataLoader([1, 2], { collateFn: (samples) => samples.join() })) text.slice(1);

  const parts = new dx.data.Subset(new dx.data.TensorDataset(x, x, x), [0]);
  for await (const [a, b, c] of dx.data.dataLoader(parts)) takesTensor(a.add(b).add(c));
  const asked = { length: 2, get: async (i: number) => [x, i] as const };
  for await (const [a, b] of dx.data.dataLoader(asked)) takesTensor(a.add(b));

  const [first, second] = dx.data.collate([[x, 1] as const]);
  takesTensor(first.add(second));
  // @ts-expect-error samples are in a list
  dx.data.dataLoader(3);
}

export function operators(x: dx.Tensor): void {
  // @ts-expect-error numbers alone are multiplied so
  takesTensor(x * 2);
  // @ts-expect-error and compared
  takesTensor(x > 1);
}

/** Options by PyTorch's names, values by position, and all by name. */
export function options(x: dx.Tensor): void {
  const model = nn.lstm({ inputSize: 2, hiddenSize: 3, numLayers: 2 });
  takesTensor(model(x).output);
  nn.lstm(2, 3, 2, { batchFirst: true });
  // @ts-expect-error -- hiddenSize is required in addition to inputSize.
  nn.gru({ inputSize: 2 });
  // @ts-expect-error -- and by position.
  nn.lstm(10);
  // @ts-expect-error -- for every recurrent layer.
  nn.gru(10);
  // @ts-expect-error -- and its class.
  takesTensor(new nn.RNN(10)(x).output);
  // @ts-expect-error -- and for others.
  nn.linear(10);
  takesTensor(nn.linear({ inFeatures: 2, outFeatures: 3, bias: false })(x));
  takesTensor(new nn.Linear({ inFeatures: 2, outFeatures: 3 })(x));
  takesTensor(nn.conv2d({ inChannels: 1, outChannels: 2, kernelSize: 3, padding: "same" })(x));
  takesTensor(nn.embedding({ numEmbeddings: 2, embeddingDim: 3, paddingIdx: 0 })(x));
  takesTensor(nn.maxPool2d({ kernelSize: 2, stride: 1 })(x));
  takesTensor(nn.batchNorm2d({ numFeatures: 2, eps: 1e-3 })(x));
  takesTensor(nn.groupNorm({ numGroups: 1, numChannels: 2, affine: false })(x));
  takesTensor(nn.constantPad2d({ padding: 1, value: 2 })(x));
  takesTensor(nn.lstmCell({ inputSize: 2, hiddenSize: 3 })(x, {}).hidden);
  // @ts-expect-error -- outFeatures is needed.
  nn.linear({ inFeatures: 2 });
  // @ts-expect-error -- there is no such option.
  nn.linear({ inFeatures: 2, outFeatures: 3, biass: true });
  // @ts-expect-error -- a text is no count.
  nn.embedding({ numEmbeddings: "2", embeddingDim: 3 });
  nn.linear(2, 3, false);
  nn.embedding(4, 3, 0);
  nn.layerNorm(3, 1e-3);
  nn.layerNorm(3, { eps: 1e-3, elementwiseAffine: false });
  // The former name is taken, deprecated.
  nn.layerNorm(3, { epsilon: 1e-3 });
  takesTensor(dx.leakyRelu(x, 0.2));
  takesTensor(dx.leakyRelu(x, { negativeSlope: 0.2 }));
  takesTensor(dx.sum(x, 1, { keepdim: true }));
  takesTensor(dx.conv2d(x, x, null, 2, 1));
  // @ts-expect-error -- a text is no slope.
  dx.leakyRelu(x, "0.2");
  const optimizer = dx.optim.sgd([x], 0.1);
  dx.optim.lrScheduler.stepLR(optimizer, 10);
  dx.optim.lrScheduler.stepLR(optimizer, 10, { gamma: 0.5 });
  dx.optim.lrScheduler.stepLR(optimizer, { stepSize: 10 });
}

declare class Typed {
  constructor(options: { readonly length: number });
  readonly length: number;
  get(index: number, context: dx.data.SampleContext): { image: { data: Float32Array; shape: number[] }; label: number };
}

export async function workers(path: string): Promise<void> {
  interface Images {
    readonly default: typeof Typed;
  }
  const set = await dx.data.workerDataset<Images>(path, { length: 3 });
  takesNumber(set.length);
  for await (const { image, label } of dx.data.dataLoader(set, { numWorkers: 2, batchSize: 2 })) takesTensor(image.add(label));
  for await (const batch of dx.data.dataLoader(new dx.data.Subset(set, [0]), { numWorkers: 2 })) takesTensor(batch.label);
  interface Words {
    default(options?: { end: number }): Promise<AsyncIterable<readonly [number, Float32Array]>>;
  }
  for await (const [n, x] of dx.data.streamLoader(await dx.data.workerDataset<Words>(path), { numWorkers: 2 })) takesTensor(x.mul(n));
  // @ts-expect-error the module takes a length
  await dx.data.workerDataset<Images>(path, { size: 3 });
  // @ts-expect-error the module takes options
  await dx.data.workerDataset<Images>(path);
}
