/** Networks that people deploy, with seeded weights: images, text, sequences. References: He et al. 2015 (ResNet-50), Sandler et al. 2018 (MobileNetV2). */
import * as dx from "../../../src/index.ts";

const { nn } = dx;

/** Convolution and norm without a bias in between. */
const convolution = (from: number, to: number, kernel: number, stride = 1, groups = 1): dx.nn.Layer[] => [
  nn.conv2d(from, to, kernel, { stride, groups, padding: (kernel - 1) / 2, bias: false }),
  nn.batchNorm2d(to),
];

/** main(x), with x itself, or what `shortcut` makes of it, added. */
class Residual extends nn.Module {
  readonly main: dx.nn.Sequential;
  readonly shortcut: dx.nn.Sequential | null;
  readonly rectified: boolean;

  constructor(main: readonly dx.nn.Layer[], shortcut: dx.nn.Sequential | null, rectified: boolean) {
    super();
    this.main = nn.sequential(...main);
    this.shortcut = shortcut;
    this.rectified = rectified;
  }

  override forward(x: dx.Tensor): dx.Tensor {
    const sum = this.main.forward(x).add(this.shortcut === null ? x : this.shortcut.forward(x));
    return this.rectified ? sum.relu() : sum;
  }
}

const classifier = (from: number): dx.nn.Layer[] => [nn.adaptiveAvgPool2d(1), nn.flatten(), nn.linear(from, 1000)];

export function mobileNetV2(): dx.nn.Sequential {
  const layers: dx.nn.Layer[] = [...convolution(3, 32, 3, 2), nn.relu6()];
  let inputs = 32;
  for (const [expansion, outputs, blocks, first] of [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
    [6, 160, 3, 2],
    [6, 320, 1, 1],
  ] as const)
    for (let block = 0; block < blocks; block++) {
      const stride = block === 0 ? first : 1;
      const width = inputs * expansion;
      const widening = expansion === 1 ? [] : [...convolution(inputs, width, 1), nn.relu6()];
      const main = [...widening, ...convolution(width, width, 3, stride, width), nn.relu6(), ...convolution(width, outputs, 1)];
      layers.push(...(stride === 1 && inputs === outputs ? [new Residual(main, null, false)] : main));
      inputs = outputs;
    }
  return nn.sequential(...layers, ...convolution(inputs, 1280, 1), nn.relu6(), nn.dropout(0.2), ...classifier(1280));
}

export function resNet50(): dx.nn.Sequential {
  const layers: dx.nn.Layer[] = [...convolution(3, 64, 7, 2), nn.relu(), nn.maxPool2d(3, { stride: 2, padding: 1 })];
  let inputs = 64;
  for (const [width, blocks, first] of [
    [64, 3, 1],
    [128, 4, 2],
    [256, 6, 2],
    [512, 3, 2],
  ] as const)
    for (let block = 0; block < blocks; block++) {
      const stride = block === 0 ? first : 1;
      const main = [
        ...convolution(inputs, width, 1),
        nn.relu(),
        ...convolution(width, width, 3, stride),
        nn.relu(),
        ...convolution(width, 4 * width, 1),
      ];
      layers.push(new Residual(main, block === 0 ? nn.sequential(...convolution(inputs, 4 * width, 1, stride)) : null, true));
      inputs = 4 * width;
    }
  return nn.sequential(...layers, ...classifier(inputs));
}

/** BERT's encoder: tokens [N, T] and mask [N, T] to states [N, T, width] and their mean over the tokens that count. */
export class Encoder extends nn.Module {
  readonly words = nn.embedding(100, 64);
  readonly positions = nn.embedding(32, 64);
  readonly norm = nn.layerNorm(64);
  readonly layers = nn.moduleList(
    Array.from({ length: 2 }, () =>
      nn.transformerEncoderLayer(64, 4, { dimFeedforward: 128, dropout: 0.1, activation: "gelu", batchFirst: true }),
    ),
  );

  override forward(tokens: dx.Tensor, mask: dx.Tensor): dx.Tensor[] {
    const at = dx.arange(tokens.shape[1]!, { dtype: "int64" });
    let x = this.norm.forward(this.words.forward(tokens).add(this.positions.forward(at)));
    for (const layer of this.layers) x = layer.forward(x, { srcKeyPaddingMask: mask.eq(0) });
    const share = mask.to("float32").unsqueeze(-1);
    return [x, x.mul(share).sum(1).div(share.sum(1))];
  }
}

/** The example character-transformer's. */
export class CharacterTransformer extends nn.Module {
  readonly characters = nn.embedding(40, 48);
  readonly positions = new nn.Parameter(dx.randn([32, 48]).mul(0.02));
  readonly block = nn.transformerEncoderLayer(48, 4, {
    dimFeedforward: 192,
    dropout: 0,
    activation: "gelu",
    batchFirst: true,
    normFirst: true,
  });
  readonly norm = nn.layerNorm(48);
  readonly head = nn.linear(48, 40);

  override forward(x: dx.Tensor): dx.Tensor {
    const length = x.shape[1]!;
    const states = this.characters.forward(x).add(this.positions.slice(0, 0, length));
    return this.head.forward(this.norm.forward(this.block.forward(states, { isCausal: true })));
  }
}

/** The example lstm's. */
export class Adder extends nn.Module {
  readonly memory = nn.lstm(2, 16, { batchFirst: true });
  readonly head = nn.linear(16, 1);

  override forward(x: dx.Tensor): dx.Tensor {
    return this.head.forward(this.memory.forward(x).output.select(1, -1)).squeeze(1);
  }
}

/** The examples' digits-cnn and quickstart. */
export const digits = (): dx.nn.Sequential =>
  nn.sequential(
    nn.conv2d(1, 16, 5),
    nn.batchNorm2d(16),
    nn.relu(),
    nn.maxPool2d(2),
    nn.conv2d(16, 32, 5),
    nn.relu(),
    nn.maxPool2d(2),
    nn.flatten(),
    nn.dropout(0.3),
    nn.linear(512, 10),
  );
