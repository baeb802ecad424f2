/** Mistakes with optimizers, data, losses and files: errors, accepted forms, and warnings. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { refuses } from "./refuses.ts";

refuses("mistakes in training", [
  [
    "optim.adam([p()], { learningRate: 1 })",
    "ValueError",
    "Adam: options must be an object of no more than lr, masterWeights, kahan, betas, eps, weightDecay, amsgrad, maximize; received learningRate. Did you mean lr?",
  ],
  [
    "optim.adam([p()], { learning_rate: 1 })",
    "ValueError",
    "Adam: options must be an object of no more than lr, masterWeights, kahan, betas, eps, weightDecay, amsgrad, maximize; received learning_rate. Did you mean lr?",
  ],
  [
    "optim.adam([p()], { weight_decay: 1 })",
    "ValueError",
    "Adam: options must be an object of no more than lr, masterWeights, kahan, betas, eps, weightDecay, amsgrad, maximize; received weight_decay. Did you mean weightDecay?",
  ],
  [
    'optim.adam([p()], "0.1")',
    "ValueError",
    'Adam: lr must be a number or an object of options; received "0.1". Options go into one object: { lr, masterWeights, kahan, betas, eps, weightDecay, amsgrad, maximize }.',
  ],
  ['optim.sgd([p()], { lr: "0.1" })', "ValueError", 'SGD: lr must be a number; received "0.1".'],
  [
    "optim.adam(nn.linear(1, 1))",
    "DTypeError",
    "Adam: params must be an iterable of tensors; received a Linear. Pass its parameters: model.parameters().",
  ],
  ["optim.adam()", "DTypeError", "Adam: params must be an iterable of tensors; received undefined."],
  ["optim.adam([3])", "DTypeError", "Adam: params must be tensors, or objects with params; received 3. Pass model.parameters()."],
  [
    'new optim.lrScheduler.StepLR(optim.sgd([p()]), "30")',
    "ValueError",
    'StepLR: stepSize must be a number or an object of options; received "30". Options go into one object: { lastEpoch, stepSize, gamma }.',
  ],
  [
    "new optim.lrScheduler.StepLR(optim.sgd([p()]), { step_size: 30 })",
    "ValueError",
    "StepLR: options must be an object of no more than lastEpoch, stepSize, gamma; received step_size. Did you mean stepSize?",
  ],
  [
    "new optim.lrScheduler.StepLR([p()], { stepSize: 30 })",
    "ValueError",
    "StepLR: optimizer must be an optimizer; received [float32[2, 3]].",
  ],
  ["data.dataLoader(3)", "ValueError", "DataLoader: dataset must be an array or a dataset: an object with length and get; received 3."],
  [
    "data.dataLoader(new data.TensorDataset(x()), { batch_size: 2 })",
    "ValueError",
    "DataLoader: options must be an object of no more than numWorkers, persistentWorkers, prefetchFactor, workerInit, timeout, resourceLimits, batchSize, shuffle, generator, sampler, batchSampler, dropLast, collateFn, prefetch, device; received batch_size. Did you mean batchSize?",
  ],
  [
    'data.dataLoader(new data.TensorDataset(x()), { batchSize: "2" })',
    "ValueError",
    'DataLoader: batchSize must be a number; received "2".',
  ],
  [
    "new data.TensorDataset([x()])",
    "DTypeError",
    "TensorDataset: tensors must be tensors; received [[float32[2, 3]]]. Write them one by one: (...list).",
  ],
  [
    'data.mnist("/nope")',
    "FormatError",
    "mnist: /nope/train-images-idx3-ubyte must be a file that can be read; received ENOENT: no such file or directory, open '/nope/train-images-idx3-ubyte'. The folder holds the four files of MNIST, each as it is or as .gz: train-images-idx3-ubyte, train-labels-idx1-ubyte, and those of t10k.",
  ],
  [
    'io.safetensors.save("/tmp/x", nn.linear(1, 1))',
    "DTypeError",
    "safetensors.save: tensors must be an object of tensors; received a Linear. Pass its tensors: model.stateDict().",
  ],
  [
    'io.safetensors.save({ weight: x() }, "/tmp/x")',
    "DTypeError",
    "safetensors.save: tensors must be an object of tensors; received /tmp/x.",
  ],
  ["io.onnx.load(3)", "DTypeError", "onnx.load: source must be a path, a file: URL or a Uint8Array; received 3."],
  [
    "optim.adam([{ params: [p()], learningRate: 1 }])",
    "ValueError",
    "Adam: params must be groups of params and no more than lr, betas, eps, weightDecay, amsgrad, maximize, masterWeights, kahan; received learningRate. Did you mean lr?",
  ],
  [
    "optim.sgd([p()]).addParamGroup([p()])",
    "DTypeError",
    "SGD: params must be tensors, or objects with params; received [float32[2, 3]]. Pass model.parameters().",
  ],
  ["optim.sgd([p()]).step(3)", "ValueError", "SGD.step: closure must be a function; received 3."],
  [
    "optim.sgd([p()]).zeroGrad({ set_to_none: true })",
    "ValueError",
    "SGD.zeroGrad: options must be an object of no more than setToNull; received set_to_none. Did you mean setToNull?",
  ],
  ["data.collate([new Float32Array(2), new Float32Array(3)])", "ShapeError", "collate: samples must be of 2 elements each; received 3."],
  ["data.collate(3)", "ValueError", "collate: samples must be an array; received 3."],
  [
    'dx.io.onnx.load("/nope.onnx", { devcie: "cpu" })',
    "ValueError",
    "onnx.load: options must be an object of no more than device, maxIterations, trainable, outputs, constants, layers, eager, dynamic, channelBlock; received devcie. Did you mean device?",
  ],
]);

eachDevice("mistakes in training", (device) => {
  test("typed arrays are rows, bytes are labels", () =>
    clean(device, () =>
      dx.withDevice(device, () => {
        const [images, labels] = dx.data.collate([
          [new Float32Array([1, 2]), 1],
          [new Float32Array([3, 4]), 0],
        ] as [Float32Array, number][]);
        expect(images.toArraySync()).toEqual([
          [1, 2],
          [3, 4],
        ]);
        expect(labels.dtype).toBe("int32");
        expect(dx.data.collate([new Uint8Array([7]), new Uint8Array([8])]).dtype).toBe("uint8");
        const bytes = dx.tensor(new Uint8Array([0, 1]));
        const logits = dx.tensor([
          [1, 2],
          [3, 5],
        ]);
        const loss = dx.nn.functional.crossEntropy(logits, bytes).itemSync();
        expect(loss).toBe(dx.nn.functional.crossEntropy(logits, bytes.to("int64")).itemSync());
        expect(dx.nn.functional.nllLoss(logits, bytes).itemSync()).toBe(-3);
      }),
    ));

  test("losses warn of shapes that are broadcast, once", () =>
    clean(device, async () => {
      const warnings: Error[] = [];
      const listen = (w: Error): void => void warnings.push(w);
      process.on("warning", listen);
      for (let i = 0; i < 3; i++) dx.nn.functional.mseLoss(dx.ones([7, 1], { device }), dx.ones([7], { device }));
      dx.nn.functional.mseLoss(dx.ones([7], { device }), dx.ones([7], { device }));
      await new Promise((resolve) => setImmediate(resolve));
      process.off("warning", listen);
      const own = warnings.filter((w) => w.name === "BroadcastWarning");
      expect(own.map((w) => w.message)).toEqual([
        expect.stringMatching(/^mseLoss: target float32\[7\] is of another shape than x float32\[7, 1\]/),
      ]);
    }));
});
