/** Mistakes that people make who write JavaScript, or who know PyTorch: each is refused in words that name the call and what was meant. */
import { inspect } from "node:util";
import { compileFunction } from "node:vm";
import { MessageChannel } from "node:worker_threads";
import { beforeAll, describe, expect, test } from "vitest";
import * as dx from "../src/index.ts";
import { clean, eachDevice } from "./device.ts";

/** A call as JavaScript has it, where nobody looks at types. */
const evaluate = (code: string, names: Readonly<Record<string, unknown>>): unknown =>
  compileFunction(`return ${code}`, Object.keys(names))(...Object.values(names));

eachDevice("mistakes", (device) => {
  const x = (): dx.Tensor => dx.ones([2, 3], { device });
  const p = (): dx.Tensor => new dx.nn.Parameter(x());
  // The default generator's state lives on.
  beforeAll(() => {
    dx.rand([1], { device }).dispose();
  });
  const names = { dx, nn: dx.nn, optim: dx.optim, data: dx.data, io: dx.io, x, p };

  const refused: readonly (readonly [code: string, name: string, message: string])[] = [
    ["dx.arange(0, 4, 0)", "ValueError", "arange: step must be a number that leads from 0 to 4; received 0."],
    ["dx.arange(0, 4, { start: 1 })", "ValueError", "arange: start must be given once; received 1."],
    ['dx.arange("4")', "ValueError", 'arange: end must be a number; received "4".'],
    [
      'x().flatten("1")',
      "ValueError",
      'flatten: start must be a number or an object of options; received "1". Options go into one object: { start, end }.',
    ],
    ["x().flatten(1, 2, 3)", "ValueError", "flatten: arguments must be no more than start, end; received 3 after them."],
    [
      "nn.conv2d(1, 1, 3, 2, 1)",
      "ValueError",
      "Conv2d: options must be an object of options; received 2. Options go into one object: { device, dtype, generator, stride, padding, dilation, groups, bias, paddingMode }.",
    ],
    [
      "new nn.Conv2d(1, 1, 3, 2)",
      "ValueError",
      "Conv2d: options must be an object of options; received 2. Options go into one object: { device, dtype, generator, stride, padding, dilation, groups, bias, paddingMode }.",
    ],
    [
      "nn.conv2d(1, 1, 3, { strides: 2 })",
      "ValueError",
      "Conv2d: options must be an object of no more than device, dtype, generator, stride, padding, dilation, groups, bias, paddingMode; received strides. Did you mean stride?",
    ],
    [
      "nn.linear(2, 2, false)",
      "ValueError",
      "Linear: options must be an object of options; received false. Options go into one object: { device, dtype, generator, bias }.",
    ],
    ['nn.linear("2", 2)', "ValueError", 'Linear: inputs must be a number; received "2".'],
    ["nn.linear(2)", "ValueError", "Linear: outputs must be a number; received undefined."],
    [
      "nn.linear(2, 2, { bais: false })",
      "ValueError",
      "Linear: options must be an object of no more than device, dtype, generator, bias; received bais. Did you mean bias?",
    ],
    ["nn.Linear(2, 2)", "ValueError", "Linear: class must be called with new; received a call without. Write new Linear(...)."],
    [
      "dx.maxPool2d(dx.ones([1, 1, 4, 4]), 2, 1)",
      "ValueError",
      "maxPool2d: options must be an object of options; received 1. Options go into one object: { stride, padding, ceilMode, dilation }.",
    ],
    [
      "dx.dropout(x(), 0.5, false)",
      "ValueError",
      "dropout: options must be an object of options; received 0.5. Options go into one object: { p, training, generator }.",
    ],
    ["nn.dropout({ p: 0.5 })", "ValueError", "Dropout: p must be a number; received { p: 0.5 }. Options come after p: { generator }."],
    [
      "optim.adam([p()], { learningRate: 1 })",
      "ValueError",
      "Adam: options must be an object of no more than lr, betas, eps, weightDecay, amsgrad, maximize; received learningRate. Did you mean lr?",
    ],
    [
      "optim.adam([p()], { learning_rate: 1 })",
      "ValueError",
      "Adam: options must be an object of no more than lr, betas, eps, weightDecay, amsgrad, maximize; received learning_rate. Did you mean lr?",
    ],
    [
      "optim.adam([p()], { weight_decay: 1 })",
      "ValueError",
      "Adam: options must be an object of no more than lr, betas, eps, weightDecay, amsgrad, maximize; received weight_decay. Did you mean weightDecay?",
    ],
    [
      "optim.adam([p()], 0.1)",
      "ValueError",
      "Adam: options must be an object of options; received 0.1. Options go into one object: { lr, betas, eps, weightDecay, amsgrad, maximize }.",
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
      "new optim.lrScheduler.StepLR(optim.sgd([p()]), 30)",
      "ValueError",
      "StepLR: options must be an object of options; received 30. Options go into one object: { lastEpoch, stepSize, gamma }.",
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
    [
      "x().sum(1, { keepdim: true })",
      "ValueError",
      "sum: options must be an object of no more than keepDims, dtype; received keepdim. Did you mean keepDims?",
    ],
    [
      "x().sum(1, { keepDim: true })",
      "ValueError",
      "sum: options must be an object of no more than keepDims, dtype; received keepDim. Did you mean keepDims?",
    ],
    [
      "x().sum(1, true)",
      "ValueError",
      "sum: options must be an object of options; received true. Options go into one object: { keepDims, dtype }.",
    ],
    [
      "x().sum({ dim: 1 })",
      "ValueError",
      "sum: axis must be a number, an array of numbers or null; received { dim: 1 }. Options come after axis: { keepDims, dtype }.",
    ],
    ['x().mean("1")', "ValueError", 'mean: axis must be a number, an array of numbers or null; received "1".'],
    ["x().softmax({ dim: 1 })", "ValueError", "softmax: axis must be a number; received { dim: 1 }. Options come after axis: { dtype }."],
    [
      'dx.tensor([1, 2], "int32")',
      "ValueError",
      "tensor: options must be an object of options; received int32. Options go into one object: { dtype, device, requiresGrad, shape }.",
    ],
    ['dx.tensor([1, 2], { dtype: "fp16" })', "DTypeError", "tensor: dtype must be a dtype's name; received fp16. Did you mean float16?"],
    ['dx.tensor([1, 2], { dtype: "int" })', "DTypeError", "tensor: dtype must be a dtype's name; received int. Did you mean int32?"],
    ['dx.tensor([1, "2"])', "DTypeError", "tensor: data must be numbers, bigints or booleans; received string."],
    ["dx.tensor([[1, 2], [3]])", "ShapeError", "tensor: data must be rectangular, like [2, 2]; received 1 elements at depth 1."],
    [
      "dx.zeros([2], { requires_grad: true })",
      "ValueError",
      "zeros: options must be an object of no more than dtype, device, requiresGrad; received requires_grad. Did you mean requiresGrad?",
    ],
    [
      "dx.zeros([2], new Map())",
      "ValueError",
      "zeros: options must be an object of options; received a Map. Options go into one object: { dtype, device, requiresGrad }.",
    ],
    ["dx.zeros(3)", "ValueError", "zeros: shape must be an array of numbers; received 3. Write a list: zeros([3])."],
    ["dx.ones(2, 3)", "ValueError", "ones: shape must be an array of numbers; received 2. Write a list: ones([2, 3])."],
    ["dx.rand(2, 3)", "ValueError", "rand: shape must be an array of numbers; received 2. Write a list: rand([2, 3])."],
    [
      "dx.ones([1, 1, 1, 1, 1, 1, 1, 1, 1])",
      "ShapeError",
      "ones: shape must be of at most 8 axes, as DirectML's; received [1, 1, 1, 1, 1, 1, 1, 1, 1].",
    ],
    ["x().add(undefined)", "DTypeError", "add: b must be a tensor or a number; received undefined."],
    ["x().add([1, 2, 3])", "DTypeError", "add: b must be a tensor or a number; received [1, 2, 3]."],
    ['x().add("1")', "DTypeError", 'add: b must be a tensor or a number; received "1".'],
    ["x().add(x(), { alpha: 2 })", "ValueError", "add: arguments must be no more than b; received { alpha: 2 } after them."],
    ["x().clamp({ min: 2 })", "DTypeError", "clamp: min must be a tensor, a number or null; received { min: 2 }."],
    [
      'x().index("1:3")',
      "DTypeError",
      'index: indices must be a number, an object of options, null, ":", "...", a tensor or an array of numbers; received [1:3].',
    ],
    ["x().squeeze(0, 1)", "ValueError", "squeeze: arguments must be no more than axis; received 1 after them."],
    ["x().transpose(0)", "ValueError", "transpose: axis1 must be a number; received undefined."],
    ["x().item({ sync: true })", "ValueError", "item: arguments must be none; received { sync: true } after them."],
    [
      'x().to("fp16")',
      "DTypeError",
      'to: target must be a dtype\'s name, or a device: "cpu" or "dml:N"; received fp16. Did you mean float16?',
    ],
    [
      'x().to("gpu")',
      "DeviceError",
      'to: device must be "cpu", "meta" or "dml:N"; received gpu. dx.dml.deviceCount() says how many dml devices there are.',
    ],
    ["x().relu(true)", "ValueError", "relu: arguments must be none; received true after them."],
    [
      "dx.cat(x(), x())",
      "DTypeError",
      "cat: tensors must be an array of tensors and complex tensors; received float32[2, 3]. Write a list: cat([…, …]).",
    ],
    ["dx.stack([x(), 3])", "DTypeError", "stack: tensors must be an array of tensors and complex tensors; received [float32[2, 3], 3]."],
    ["dx.matmul(x())", "DTypeError", "matmul: b must be a tensor; received undefined."],
    [
      "nn.sequential([nn.relu(), nn.relu()])",
      "ValueError",
      "Sequential: layers must be modules; received [[a ReLU, a ReLU]]. Write them one by one: (...list).",
    ],
    ["nn.sequential(nn.relu, nn.relu)", "ValueError", "Sequential: layers must be modules; received [a function, a function]."],
    ["nn.sequential(nn.relu(), (t) => t)", "ValueError", "Sequential: layers must be modules; received [a ReLU, a function]."],
    ["nn.relu(x())", "ValueError", "ReLU: arguments must be none; received float32[2, 3] after them."],
    ["nn.linear(2, 2).forward([1, 2])", "DTypeError", "Linear.forward: x must be a tensor; received [1, 2]."],
    ["nn.linear(2, 2).forward()", "DTypeError", "Linear.forward: x must be a tensor; received undefined."],
    ["nn.relu().forward(x(), true)", "ValueError", "ReLU.forward: arguments must be no more than x; received true after them."],
    [
      "nn.embedding(10, 4, { paddingIdx: 0 })",
      "ValueError",
      "Embedding: options must be an object of no more than device, dtype, generator, paddingIndex, maxNorm, normType, scaleGradByFreq; received paddingIdx. Did you mean paddingIndex?",
    ],
    [
      "nn.batchNorm2d(3, { eps: 1e-3 })",
      "ValueError",
      "BatchNorm2d: options must be an object of no more than device, dtype, generator, epsilon, momentum, affine, trackRunningStats; received eps. Did you mean epsilon?",
    ],
    [
      "nn.lstm(2, 3, 2)",
      "ValueError",
      "LSTM: options must be an object of options; received 2. Options go into one object: { device, dtype, generator, layers, bias, batchFirst, dropout, bidirectional, projection }.",
    ],
    [
      "nn.moduleList(nn.relu(), nn.relu())",
      "ValueError",
      "ModuleList: items must be an iterable; received a ReLU. Write a list: [first, second].",
    ],
    ['nn.crossEntropy({ reduction: "avg" })', "ValueError", 'CrossEntropyLoss: reduction must be "mean", "sum" or "none"; received avg.'],
    [
      "nn.functional.crossEntropy(dx.ones([3, 2]), dx.ones([3]))",
      "DTypeError",
      'crossEntropy: target must be class numbers as int32, int64 or uint8, or probabilities of x\'s shape [3, 2]; received float32[3]. Class numbers are whole: target.to("int32").',
    ],
    ["nn.functional.mseLoss(x(), 1)", "DTypeError", "mseLoss: target must be a tensor; received 1."],
    [
      "nn.init.normal(x(), { mean: 0 })",
      "ValueError",
      "normal: mean must be a number; received { mean: 0 }. Options come after mean: { generator }.",
    ],
    ["nn.init.uniform()", "DTypeError", "uniform: t must be a tensor; received undefined."],
    [
      "nn.utils.clipGradNorm_(nn.linear(1, 1), 1)",
      "DTypeError",
      "clipGradNorm_: parameters must be a tensor or an iterable of tensors; received a Linear. Pass its parameters: model.parameters().",
    ],
    ["new nn.Parameter([1, 2])", "DTypeError", "Parameter: data must be a tensor; received [1, 2]."],
    [
      'nn.linear(1, 1).to("fp8")',
      "DeviceError",
      'device: name must be "cpu", "meta" or "dml:N"; received fp8. dx.dml.deviceCount() says how many dml devices there are.',
    ],
    [
      "nn.linear(1, 1).loadStateDict(nn.linear(1, 1))",
      "DTypeError",
      "Linear.loadStateDict: state must be an object of tensors; received a Linear. Pass its tensors: model.stateDict().",
    ],
    ['nn.linear(1, 1).train("yes")', "ValueError", "Linear.train: mode must be true or false; received yes."],
    [
      'nn.linear(1, 1).registerBuffer("weight", x())',
      "ValueError",
      "registerBuffer: name must be one that the module does not use yet; received weight.",
    ],
    ['nn.linear(1, 1).registerBuffer("mask", [1])', "DTypeError", "Linear.registerBuffer: tensor must be a tensor; received [1]."],
    [
      "data.dataLoader([1, 2], { batch_size: 2 })",
      "ValueError",
      "DataLoader: dataset must be a dataset: an object with length and get; received [1, 2].",
    ],
    [
      "data.dataLoader(new data.TensorDataset(x()), { batch_size: 2 })",
      "ValueError",
      "DataLoader: options must be an object of no more than batchSize, shuffle, generator, dropLast, collate, prefetch; received batch_size. Did you mean batchSize?",
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
      "mnist: /nope/train-images-idx3-ubyte must be a file that can be read; received ENOENT: no such file or directory, open '/nope/train-images-idx3-ubyte'. The folder holds the four files of MNIST, unpacked: train-images-idx3-ubyte, train-labels-idx1-ubyte, and those of t10k.",
    ],
    [
      "dx.fft.fft(x(), { dim: 0 })",
      "ValueError",
      "fft: options must be an object of no more than n, axis, norm; received dim. Did you mean axis?",
    ],
    [
      "dx.fft.fft(x(), 4)",
      "ValueError",
      "fft: options must be an object of options; received 4. Options go into one object: { n, axis, norm }.",
    ],
    ["dx.linalg.inv([[1]])", "DTypeError", "linalg.inv: a must be a tensor; received [[1]]."],
    ["dx.linalg.solve(x())", "DTypeError", "linalg.solve: b must be a tensor; received undefined."],
    [
      "dx.masked.sum(x(), { mask: x() })",
      "ValueError",
      "masked.sum: axis must be a number, an array of numbers or null; received { mask: float32[2, 3] }. Options come after axis: { keepDims, dtype, mask }.",
    ],
    [
      'io.safetensors.save("/tmp/x", nn.linear(1, 1))',
      "DTypeError",
      "safetensors.save: tensors must be an object of tensors; received a Linear. Pass its tensors: model.stateDict().",
    ],
    [
      'io.safetensors.save({ weight: x() }, "/tmp/x")',
      "ValueError",
      "safetensors.save: path must be a string; received { weight: float32[2, 3] }. Options come after path: { onProgress, signal }.",
    ],
    ["io.onnx.load(3)", "DTypeError", "onnx.load: source must be a path or a Uint8Array; received number."],
    [
      "dx.compile(dx.add, { dynamc: true })",
      "ValueError",
      "compile: options must be an object of no more than name, lists, check, regions, dynamic, buckets; received dynamc. Did you mean dynamic?",
    ],
    ["dx.noGrad(x())", "ValueError", "noGrad: fn must be a function; received float32[2, 3]."],
    [
      "dx.grad(x(), x())",
      "DTypeError",
      "grad: inputs must be an array of tensors and complex tensors; received float32[2, 3]. Write a list: grad([…]).",
    ],
    ['dx.manualSeed("1")', "ValueError", 'manualSeed: seed must be a number or a bigint; received "1".'],
    [
      'dx.setDefaultDevice("gpu")',
      "DeviceError",
      'device: name must be "cpu", "meta" or "dml:N"; received gpu. dx.dml.deviceCount() says how many dml devices there are.',
    ],
    [
      'dx.device("cuda")',
      "DeviceError",
      'device: name must be "cpu", "meta" or "dml:N"; received cuda. dx.dml.deviceCount() says how many dml devices there are.',
    ],
    [
      "structuredClone(x())",
      "DTypeError",
      "tensor: value must be no part of structuredClone(), postMessage() or a comparison by fields; received a tensor or a device. Pass the elements, await x.data() or x.toArraySync(), and make a tensor of them there.",
    ],
    [
      "optim.adam([{ params: [p()], learningRate: 1 }])",
      "ValueError",
      "Adam: params must be groups of params and no more than lr, betas, eps, weightDecay, amsgrad, maximize; received learningRate. Did you mean lr?",
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
    [
      'nn.linear(1, 1).to("half")',
      "DTypeError",
      'Module.to: target must be a dtype\'s name, or a device: "cpu" or "dml:N"; received half. Did you mean float16?',
    ],
    [
      "nn.functional.nllLoss(dx.ones([3, 2]), dx.ones([3]))",
      "DTypeError",
      'nllLoss: target must be classes as int32 or int64; received float32. Class numbers are whole: target.to("int32").',
    ],
    ["data.collate([new Float32Array(2), new Float32Array(3)])", "ShapeError", "collate: samples must be of 2 elements each; received 3."],
    ["data.collate(3)", "ValueError", "collate: samples must be an array; received 3."],
    [
      'dx.full([2], 3, "int32")',
      "ValueError",
      "full: options must be an object of options; received int32. Options go into one object: { dtype, device, requiresGrad }.",
    ],
    [
      'dx.randn([2], "float32")',
      "ValueError",
      "randn: options must be an object of options; received float32. Options go into one object: { dtype, device, requiresGrad, generator }.",
    ],
    ['dx.eye("3")', "ValueError", 'eye: rows must be a number; received "3".'],
    ["dx.linspace(0, 1)", "ValueError", "linspace: steps must be a number; received undefined."],
    ['x().reshape("a")', "ValueError", "reshape: shape must be an array of numbers; received [a]."],
    ["x().permute({ axes: [1, 0] })", "ValueError", "permute: axes must be an array of numbers; received [{ axes }]."],
    [
      "x().argmax(0, true)",
      "ValueError",
      "argmax: options must be an object of options; received true. Options go into one object: { keepDims, dtype }.",
    ],
    ["x().topk({ k: 2 })", "ValueError", "topk: k must be a number; received { k: 2 }. Options come after k: { largest, sorted, dtype }."],
    [
      "x().backward(true)",
      "ValueError",
      "backward: options must be an object of options; received true. Options go into one object: { gradient, retainGraph, createGraph }.",
    ],
    ["dx.foreach.add(x(), 1)", "DTypeError", "foreach.add: list must be an array of tensors; received float32[2, 3]."],
    ['dx.setStrict("yes")', "ValueError", "setStrict: mode must be true or false or null; received yes."],
    [
      'dx.io.onnx.load("/nope.onnx", { devcie: "cpu" })',
      "ValueError",
      "onnx.load: options must be an object of no more than device; received devcie. Did you mean device?",
    ],
  ];

  test.each(refused)("%s", (code, name, message) =>
    clean(
      device,
      async () => {
        let error: unknown;
        try {
          await dx.withDevice(device, () => evaluate(code, names));
        } catch (caught) {
          error = caught;
        }
        expect(error).toBeInstanceOf(dx.DxError);
        expect(error).toMatchObject({ name, message });
      },
      { collect: true },
    ),
  );

  test("there are more than sixty", () => expect(refused.length).toBeGreaterThan(100));

  test("positional forms as PyTorch has them", () =>
    clean(device, () => {
      expect(dx.arange(0, 4, { device }).toArraySync()).toEqual([0, 1, 2, 3]);
      expect(dx.arange(1, 8, 3, { device }).toArraySync()).toEqual([1, 4, 7]);
      expect(dx.arange(4, 0, -2, { device, dtype: "float32" }).toArraySync()).toEqual([4, 2]);
      expect(dx.arange(3, { start: 1, device }).toArraySync()).toEqual([1, 2]);
      const t = dx.ones([2, 3, 4], { device });
      expect(t.flatten(1).shape).toEqual([2, 12]);
      expect(t.flatten(0, 1).shape).toEqual([6, 4]);
      expect(t.flatten({ start: 1 }).shape).toEqual([2, 12]);
      expect(dx.flatten(t).shape).toEqual([24]);
      expect(dx.nn.flatten(2).forward(t.reshape(2, 3, 2, 2)).shape).toEqual([2, 3, 4]);
      expect(t.sum(1, { keepDims: true }).shape).toEqual([2, 1, 4]);
      expect(dx.tensor([1, 2n], { device }).toArraySync()).toEqual([1n, 2n]);
    }));

  test("a function of one argument may be handed to map()", () =>
    clean(device, () => {
      const list = [dx.zeros([1], { device }), dx.ones([1], { device })];
      expect(list.map(dx.neg).map((t) => t.itemSync())).toEqual([-0, -1]);
    }));

  test("habits", () =>
    clean(device, () => {
      const t = dx.tensor(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        { device },
      );
      expect([t.numel(), t.dim(), t.size]).toEqual([6, 2, 6]);
      expect(t.T.toArraySync()).toEqual([
        [1, 4],
        [2, 5],
        [3, 6],
      ]);
      expect(dx.ones([2, 3, 4], { device }).T.shape).toEqual([4, 3, 2]);
      expect(t.tolist()).toEqual([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      expect([...t].map((row) => row.toArraySync())).toEqual([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      expect(() => [...dx.tensor(1, { device })]).toThrow(/not iterable/);
      expect(dx.tensor(1, { device })).not.toBe(dx.tensor(1, { device }));
      expect([t.long().dtype, t.int().dtype, t.half().dtype, t.bool().dtype, t.long().float().dtype]).toEqual([
        "int64",
        "int32",
        "float16",
        "bool",
        "float32",
      ]);
      expect(JSON.parse(JSON.stringify({ t, d: t.device }))).toEqual({
        t: {
          dtype: "float32",
          shape: [2, 3],
          data: [
            [1, 2, 3],
            [4, 5, 6],
          ],
        },
        d: String(device),
      });
      const whole: Int32Array = t.int().dataSync("int32");
      expect(whole).toEqual(Int32Array.of(1, 2, 3, 4, 5, 6));
      expect(() => t.dataSync("int32")).toThrow("dataSync: dtype must be the tensor's own (float32); received int32.");
      expect(JSON.stringify(dx.tensor([2n ** 60n], { device }))).toContain(String(2n ** 60n));
    }));

  test("copies by fields are refused, of what holds a tensor, too", () =>
    clean(device, async () => {
      const t = dx.ones([2], { device });
      expect(() => structuredClone({ inner: [t] })).toThrow(/toArraySync/);
      const { port1, port2 } = new MessageChannel();
      expect(() => {
        port1.postMessage(t);
      }).toThrow(/toArraySync/);
      port1.close();
      port2.close();
      const other = dx.zeros([2], { device });
      await dx.synchronize(device);
      expect(() => {
        expect(t).toEqual(other);
      }).toThrow(/tensor\(\[1\., 1\.\]/);
      expect(inspect(t.device)).not.toContain("refuse");
    }));

  test("layers in objects, Maps, Sets and nested arrays belong to the module", () =>
    clean(
      device,
      () =>
        dx.withDevice(device, () => {
          class Model extends dx.nn.Module {
            heads = { a: dx.nn.linear(1, 1), deeper: { b: dx.nn.relu() } };
            byName = new Map([["q", dx.nn.linear(1, 1, { bias: false })]]);
            nested = [[dx.nn.linear(1, 1, { bias: false })]];
            both = new Set([dx.nn.linear(1, 1, { bias: false })]);
            rows = [
              [1, 2],
              [3, 4],
            ];
            self = { around: this.heads as unknown };
            forward(t: dx.Tensor): dx.Tensor {
              return this.heads.a.forward(t);
            }
          }
          const m = new Model();
          expect([...m.namedParameters()].map(([name]) => name)).toEqual([
            "heads.a.weight",
            "heads.a.bias",
            "byName.q.weight",
            "nested.0.0.weight",
            "both.0.weight",
          ]);
          m.eval();
          expect(m.heads.deeper.b.training).toBe(false);
          expect(String(m)).toContain("(heads.a): Linear(");
          expect(inspect(m)).toBe(String(m));
          expect(JSON.parse(JSON.stringify(m))).toMatchObject({ module: "Model", state: { "heads.a.weight": "float32[1, 1]" } });
          m.dispose();
        }),
      { collect: true },
    ));

  test("a registered buffer is a field", () =>
    clean(
      device,
      () => {
        class Masked extends dx.nn.Module {
          declare mask: dx.Tensor;
          constructor() {
            super();
            this.registerBuffer("mask", dx.ones([2], { device }));
          }
          forward(t: dx.Tensor): dx.Tensor {
            return t.mul(this.mask);
          }
        }
        const m = new Masked();
        const first = m.mask;
        expect(m.forward(dx.ones([2], { device })).toArraySync()).toEqual([1, 1]);
        m.mask = dx.zeros([2], { device });
        expect(m.forward(dx.ones([2], { device })).toArraySync()).toEqual([0, 0]);
        expect(m.stateDict().mask!.toArraySync()).toEqual([0, 0]);
        expect(() => {
          m.mask = 3 as never;
        }).toThrow("Masked: mask must be a tensor, since it is a buffer; received 3.");
        expect(() => m.registerBuffer("forward", first)).toThrow(/does not use yet/);
        first.dispose();
        m.dispose();
      },
      { collect: true },
    ));

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

  test("classes are what they were: instances, names, classes that extend them", () =>
    clean(
      device,
      () =>
        dx.withDevice(device, () => {
          class Mine extends dx.nn.Linear {
            constructor() {
              super(2, 3, { bias: false });
            }
          }
          const made = [dx.nn.linear(1, 1), new dx.nn.Linear(1, 1), new Mine()];
          expect(made.every((m) => m instanceof dx.nn.Linear && m instanceof dx.nn.Module)).toBe(true);
          expect(made.map((m) => m.constructor.name)).toEqual(["Linear", "Linear", "Mine"]);
          expect(made[0]!.constructor).toBe(dx.nn.Linear);
          expect(() => new (class extends dx.nn.Linear {})(1, 2, 3 as never)).toThrow(/^Linear: options must be/);
          expect([dx.nn.linear.length, dx.linalg.solve.length, dx.linalg.solve.name]).toEqual([2, 2, "solve"]);
          for (const m of made) m.dispose();
        }),
      { collect: true },
    ));
});

describe("environment variables", () => {
  test.each([
    ["1", true],
    ["true", true],
    ["0", false],
    ["", false],
  ])("DXTENSOR_STRICT=%s", async (value, isOn) => {
    const { isSwitchedOn } = await import("../src/environment.ts");
    process.env["DXTENSOR_STRICT"] = value;
    try {
      expect(isSwitchedOn("DXTENSOR_STRICT")).toBe(isOn);
      process.env["DXTENSOR_STRICT"] = "maybe";
      expect(() => isSwitchedOn("DXTENSOR_STRICT")).toThrow('DXTENSOR_STRICT: environment variable must be "1" or "0"; received maybe.');
    } finally {
      delete process.env["DXTENSOR_STRICT"];
    }
  });
});
