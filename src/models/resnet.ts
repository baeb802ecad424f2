/** ResNet, ResNeXt and wide ResNets. Names of the state are torchvision's, which timm's files have too. */
import type { Tensor } from "../core/tensor.ts";
import { relu } from "../ops/elementwise/activation.ts";
import { add } from "../ops/elementwise/binary.ts";
import { maxPool2d } from "../ops/pool/pool.ts";
import { Sequential } from "../nn/containers.ts";
import { Conv2d } from "../nn/conv.ts";
import { Linear } from "../nn/linear.ts";
import { Module, type Layer } from "../nn/module.ts";
import { BatchNorm2d } from "../nn/norm.ts";
import type { LayerOptions } from "../nn/options.ts";
import type { ConfigValues } from "./config-values.ts";
import { classesOf, ImageModel, startWeights } from "./image-model.ts";

/** Blocks of each stage by the number of layers. */
const DEPTHS: Readonly<Record<string, readonly [block: BlockKind, stages: readonly number[]]>> = {
  18: ["basic", [2, 2, 2, 2]],
  34: ["basic", [3, 4, 6, 3]],
  50: ["bottleneck", [3, 4, 6, 3]],
  101: ["bottleneck", [3, 4, 23, 3]],
  152: ["bottleneck", [3, 8, 36, 3]],
};

type BlockKind = "basic" | "bottleneck";

interface BlockSettings {
  readonly inputs: number;
  /** Channels of the stage: a quarter of a bottleneck's outputs. */
  readonly planes: number;
  readonly stride: number;
  readonly groups: number;
  readonly groupWidth: number;
}

const kernel = (inputs: number, outputs: number, size: number, options: LayerOptions, stride = 1, groups = 1): Conv2d =>
  new Conv2d(inputs, outputs, size, { ...options, stride, groups, padding: (size - 1) / 2, bias: false });

/** What a block adds its result to, where shapes differ. */
const shortcut = (inputs: number, outputs: number, stride: number, options: LayerOptions): Layer | null =>
  stride === 1 && inputs === outputs
    ? null
    : new Sequential(kernel(inputs, outputs, 1, options, stride), new BatchNorm2d(outputs, options));

class BasicBlock extends Module {
  conv1: Conv2d;
  bn1: BatchNorm2d;
  conv2: Conv2d;
  bn2: BatchNorm2d;
  downsample: Layer | null;

  constructor(settings: BlockSettings, options: LayerOptions) {
    super();
    const { inputs, planes, stride } = settings;
    this.conv1 = kernel(inputs, planes, 3, options, stride);
    this.bn1 = new BatchNorm2d(planes, options);
    this.conv2 = kernel(planes, planes, 3, options);
    this.bn2 = new BatchNorm2d(planes, options);
    this.downsample = shortcut(inputs, planes, stride, options);
  }

  forward(x: Tensor): Tensor {
    const y = this.bn2(this.conv2(relu(this.bn1(this.conv1(x)))));
    return relu(add(y, this.downsample === null ? x : this.downsample(x)));
  }
}

class Bottleneck extends Module {
  conv1: Conv2d;
  bn1: BatchNorm2d;
  conv2: Conv2d;
  bn2: BatchNorm2d;
  conv3: Conv2d;
  bn3: BatchNorm2d;
  downsample: Layer | null;

  constructor(settings: BlockSettings, options: LayerOptions) {
    super();
    const { inputs, planes, stride, groups, groupWidth } = settings;
    const width = Math.floor((planes * groupWidth) / 64) * groups;
    this.conv1 = kernel(inputs, width, 1, options);
    this.bn1 = new BatchNorm2d(width, options);
    this.conv2 = kernel(width, width, 3, options, stride, groups);
    this.bn2 = new BatchNorm2d(width, options);
    this.conv3 = kernel(width, 4 * planes, 1, options);
    this.bn3 = new BatchNorm2d(4 * planes, options);
    this.downsample = shortcut(inputs, 4 * planes, stride, options);
  }

  forward(x: Tensor): Tensor {
    const y = this.bn3(this.conv3(relu(this.bn2(this.conv2(relu(this.bn1(this.conv1(x))))))));
    return relu(add(y, this.downsample === null ? x : this.downsample(x)));
  }
}

/** ResNet. Made by fromConfig() and fromPretrained(). Reference: torchvision.models.ResNet. */
export class ResNet extends ImageModel {
  /** @internal */
  readonly channels: number;
  /** The first convolution. */
  conv1: Conv2d;
  /** Its norm. */
  bn1: BatchNorm2d;
  /** The first stage. */
  layer1: Sequential;
  /** The second stage, of half the size. */
  layer2: Sequential;
  /** The third stage. */
  layer3: Sequential;
  /** The last stage. */
  layer4: Sequential;
  /** The head, from pooled features to logits. */
  fc: Layer;

  /** @internal */
  constructor(config: ConfigValues, options: LayerOptions) {
    super();
    const [block, stages] = depthOf(config);
    const [groups, groupWidth, first] = [
      config.count("groups", 1),
      config.count("width_per_group", 64),
      config.count("embedding_size", 64),
    ];
    if (block === "basic" && (groups !== 1 || groupWidth !== 64)) throw config.error("groups", "1, with a width of 64, for basic blocks");
    const Block = block === "basic" ? BasicBlock : Bottleneck;
    this.channels = config.count("num_channels", 3);
    this.conv1 = new Conv2d(this.channels, first, 7, { ...options, stride: 2, padding: 3, bias: false });
    this.bn1 = new BatchNorm2d(first, options);
    let inputs = first;
    const stage = (index: number): Sequential => {
      const planes = first * 2 ** index;
      const layers = Array.from({ length: stages[index]! }, (_, i) => {
        const made = new Block({ inputs, planes, stride: i === 0 && index > 0 ? 2 : 1, groups, groupWidth }, options);
        inputs = block === "basic" ? planes : 4 * planes;
        return made;
      });
      return new Sequential(...layers);
    };
    this.layer1 = stage(0);
    this.layer2 = stage(1);
    this.layer3 = stage(2);
    this.layer4 = stage(3);
    this.fc = new Linear(inputs, classesOf(config), options);
    startWeights(this, options, null);
    this.eval();
  }

  protected override featuresOf(x: Tensor): Tensor {
    const y = maxPool2d(relu(this.bn1(this.conv1(x))), 3, { stride: 2, padding: 1 });
    return this.layer4(this.layer3(this.layer2(this.layer1(y))));
  }

  protected override logitsOf(pooled: Tensor): Tensor {
    return this.fc(pooled);
  }
}

/** The kind of blocks and how many each stage has: `depth` or timm's `architecture` say both, or `layer_type` and `depths`. */
function depthOf(config: ConfigValues): readonly [BlockKind, readonly number[]] {
  if (config.get("depths") !== undefined) {
    const stages = config.get("depths");
    if (!Array.isArray(stages) || stages.length !== 4 || !stages.every((n) => Number.isSafeInteger(n) && n >= 1 && n <= 1000))
      throw config.error("depths", "four numbers of blocks");
    return [config.oneOf("layer_type", ["basic", "bottleneck"], "bottleneck"), stages as number[]];
  }
  if (config.get("depth") === undefined && config.get("architecture") !== undefined) {
    const name = config.oneOf(
      "architecture",
      Object.keys(DEPTHS).map((depth) => `resnet${depth}`),
    );
    return DEPTHS[name.slice("resnet".length)]!;
  }
  const depth = config.count("depth", 50);
  const found = Object.hasOwn(DEPTHS, depth) ? DEPTHS[depth] : undefined;
  if (found === undefined) throw config.error("depth", `one of ${Object.keys(DEPTHS).join(", ")}`);
  return found;
}
