/** Mistakes with modules: refused fields and arguments, fields that belong to a module without registration, and the classes of layers. */
import { inspect } from "node:util";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { refuses } from "./refuses.ts";

refuses("mistakes with modules", [
  [
    'nn.conv2d(1, 1, 3, "2")',
    "ValueError",
    'Conv2d: stride must be a number, an array of numbers or an object of options; received "2". Options go into one object: { device, dtype, generator, stride, padding, dilation, groups, bias, paddingMode }.',
  ],
  [
    "nn.conv2d(1, 1, 3, { strides: 2 })",
    "ValueError",
    "Conv2d: options must be an object of no more than device, dtype, generator, stride, padding, dilation, groups, bias, paddingMode; received strides. Did you mean stride?",
  ],
  [
    "nn.linear(2, 2, 3)",
    "ValueError",
    "Linear: bias must be true or false or an object of options; received 3. Options go into one object: { device, dtype, generator, bias }.",
  ],
  ['nn.linear("2", 2)', "ValueError", 'Linear: inFeatures must be a number; received "2".'],
  ["nn.linear(2)", "ValueError", "Linear: outFeatures must be a number; received undefined."],
  [
    "nn.linear(2, 2, { bais: false })",
    "ValueError",
    "Linear: options must be an object of no more than device, dtype, generator, bias; received bais. Did you mean bias?",
  ],
  ["nn.Linear(2, 2)", "ValueError", "Linear: class must be called with new; received a call without. Write new Linear(...)."],
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
    "nn.lstm(2, 3, true)",
    "ValueError",
    "LSTM: numLayers must be a number or an object of options; received true. Options go into one object: { device, dtype, generator, numLayers, bias, batchFirst, dropout, bidirectional, projSize }.",
  ],
  [
    "nn.moduleList(nn.relu(), nn.relu())",
    "ValueError",
    "ModuleList: items must be an iterable of modules; received a ReLU. Write a list: [first, second].",
  ],
  ['nn.crossEntropy({ reduction: "avg" })', "ValueError", 'CrossEntropyLoss: reduction must be "mean", "sum" or "none"; received avg.'],
  [
    "nn.functional.crossEntropy(dx.ones([3, 2]), dx.ones([3]))",
    "DTypeError",
    'crossEntropy: target must be class numbers as int32, int64 or uint8, or probabilities of x\'s shape [3, 2]; received float32[3]. Class numbers are whole: target.to("int32").',
  ],
  ["nn.functional.mseLoss(x(), 1)", "DTypeError", "mseLoss: target must be a tensor; received 1."],
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
    'nn.linear(1, 1).to("half")',
    "DTypeError",
    'Module.to: target must be a dtype\'s name, or a device: "cpu" or "dml:N"; received half. Did you mean float16?',
  ],
  [
    "nn.functional.nllLoss(dx.ones([3, 2]), dx.ones([3]))",
    "DTypeError",
    'nllLoss: target must be classes as int32 or int64; received float32. Class numbers are whole: target.to("int32").',
  ],
]);

eachDevice("mistakes with modules", (device) => {
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
          expect(() => new (class extends dx.nn.Linear {})(1, 2, 3 as never)).toThrow(/^Linear: bias must be/);
          expect([dx.nn.linear.length, dx.linalg.solve.length, dx.linalg.solve.name]).toEqual([4, 2, "solve"]);
          for (const m of made) m.dispose();
        }),
      { collect: true },
    ));
});
