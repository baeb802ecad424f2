/**
 * Convolution nets as lists of nodes, which each peer builds in its own way. Inputs are indices in the list; 0 is the image. Weights are
 * data of the node's seed. References: He et al. 2015 (ResNet-50), Sandler et al. 2018 (MobileNetV2).
 */
export type Node =
  | {
      readonly op: "conv";
      readonly x: number;
      readonly inputs: number;
      readonly outputs: number;
      readonly kernel: number;
      readonly stride: number;
      readonly groups: number;
      readonly activation: "relu" | "relu6" | "none";
      readonly seed: number;
    }
  | { readonly op: "maxpool"; readonly x: number }
  | { readonly op: "add"; readonly x: number; readonly y: number; readonly activation: "relu" | "none" }
  | { readonly op: "classify"; readonly x: number; readonly inputs: number; readonly outputs: number; readonly seed: number };

class List {
  readonly nodes: Node[] = [];
  #seed = 100;

  add(node: Node): number {
    return this.nodes.push(node);
  }

  conv(
    x: number,
    inputs: number,
    outputs: number,
    kernel: number,
    { stride = 1, groups = 1, activation = "relu" as "relu" | "relu6" | "none" } = {},
  ): number {
    return this.add({ op: "conv", x, inputs, outputs, kernel, stride, groups, activation, seed: (this.#seed += 2) });
  }

  classify(x: number, inputs: number): readonly Node[] {
    this.add({ op: "classify", x, inputs, outputs: 1000, seed: (this.#seed += 2) });
    return this.nodes;
  }
}

export function resnet50(): readonly Node[] {
  const list = new List();
  let x = list.add({ op: "maxpool", x: list.conv(0, 3, 64, 7, { stride: 2 }) });
  let inputs = 64;
  for (const [width, blocks, first] of [
    [64, 3, 1],
    [128, 4, 2],
    [256, 6, 2],
    [512, 3, 2],
  ] as const)
    for (let block = 0; block < blocks; block++) {
      const stride = block === 0 ? first : 1;
      const shortcut = block === 0 ? list.conv(x, inputs, 4 * width, 1, { stride, activation: "none" }) : x;
      const y = list.conv(list.conv(list.conv(x, inputs, width, 1), width, width, 3, { stride }), width, 4 * width, 1, {
        activation: "none",
      });
      x = list.add({ op: "add", x: y, y: shortcut, activation: "relu" });
      inputs = 4 * width;
    }
  return list.classify(x, inputs);
}

export function mobileNetV2(): readonly Node[] {
  const list = new List();
  let x = list.conv(0, 3, 32, 3, { stride: 2, activation: "relu6" });
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
      let y = expansion === 1 ? x : list.conv(x, inputs, width, 1, { activation: "relu6" });
      y = list.conv(y, width, width, 3, { stride, groups: width, activation: "relu6" });
      y = list.conv(y, width, outputs, 1, { activation: "none" });
      x = stride === 1 && inputs === outputs ? list.add({ op: "add", x: y, y: x, activation: "none" }) : y;
      inputs = outputs;
    }
  return list.classify(list.conv(x, inputs, 1280, 1, { activation: "relu6" }), 1280);
}

/** Those that are trained too, and how many images a step takes. */
export const TRAINED: Readonly<Record<string, { readonly nodes: readonly Node[]; readonly batch: number }>> = {
  resnet50: { nodes: resnet50(), batch: 4 },
  mobileNetV2: { nodes: mobileNetV2(), batch: 8 },
};
