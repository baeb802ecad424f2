/** Recurrent layers compared with float64: values, gradients of all operands, gradients of gradients. */
import { expect, test } from "vitest";
import { watching } from "../../../src/autograd/tape.ts";
import { own } from "../../../src/core/definition.ts";
import * as dx from "../../../src/index.ts";
import { eachDevice, eachMode, isMicrosoft, numbers } from "../../device.ts";
import { forward, gradients, operandShapes, type Network } from "../../reference/recurrent.ts";
import { expectClose } from "../../tolerance.ts";
import { share } from "../../share.ts";

const KINDS = ["lstm", "gru", "tanh", "relu"] as const;
const size = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const wave = (shape: readonly number[], phase: number): Float64Array =>
  Float64Array.from({ length: size(shape) }, (_, i) => Math.fround(0.7 * Math.sin(i * 1.37 + phase)));
const random = (shape: readonly number[], phase: number, dtype: dx.DType = "float32"): dx.Tensor =>
  dx.tensor(wave(shape, phase), { shape, dtype });

interface Options {
  readonly steps?: number;
  readonly batch?: number;
  readonly layers?: number;
  readonly bidirectional?: boolean;
  readonly bias?: boolean;
  readonly lengths?: readonly number[];
  readonly batchFirst?: boolean;
  readonly projection?: number;
  readonly dtype?: dx.DType;
}

const CASES: readonly Options[] = [
  {},
  { steps: 1, bidirectional: true },
  { bias: false },
  { bidirectional: true },
  { layers: 2, bidirectional: true },
  { lengths: [5, 2, 3] },
  { lengths: [1, 4, 5], bidirectional: true, layers: 2 },
  { batchFirst: true },
  // More steps than one operation of the backward pass takes, by more than a power of two.
  { steps: 22, batch: 1, bidirectional: true },
  { steps: 37, batch: 2, lengths: [37, 18] },
  { dtype: "float16", bidirectional: true },
];

const PROJECTED: readonly Options[] = [
  { projection: 2 },
  { projection: 2, bidirectional: true, layers: 2, lengths: [3, 5, 1] },
  { projection: 1, bias: false, batchFirst: true, steps: 1 },
  { projection: 2, bias: false, steps: 37, batch: 2, bidirectional: true },
  { projection: 2, steps: 22, batch: 2, lengths: [22, 9] },
  { projection: 2, dtype: "float16", layers: 2 },
];

const networkOf = (kind: Network["kind"], o: Options): Network => ({
  kind,
  steps: o.steps ?? 5,
  batch: o.batch ?? 3,
  inputs: 2,
  width: 3,
  layers: o.layers ?? 1,
  directions: o.bidirectional === true ? 2 : 1,
  bias: o.bias ?? true,
  projection: o.projection ?? 0,
  lengths: o.lengths ?? null,
});

/** The layer over the network's operands. */
function layer(n: Network, o: Options, operands: readonly dx.Tensor[]): dx.Tensor[] {
  const first = n.kind === "lstm" ? 3 : 2;
  const each = 2 + (n.bias ? 2 : 0) + (n.projection === 0 ? 0 : 1);
  const weights = Array.from({ length: n.layers * n.directions }, (_, i) => {
    const [input, hidden, ...rest] = operands.slice(first + i * each, first + (i + 1) * each) as [dx.Tensor, dx.Tensor];
    const [inputBias, hiddenBias] = n.bias ? rest : [null, null];
    return { input, hidden, inputBias, hiddenBias, projection: n.projection === 0 ? null : rest.at(-1)! };
  });
  const [x, hidden, cell] = operands as [dx.Tensor, dx.Tensor, dx.Tensor];
  const r = dx.recurrent(n.kind, o.batchFirst === true ? x.transpose(0, 1) : x, weights, {
    bidirectional: n.directions === 2,
    lengths: n.lengths,
    batchFirst: o.batchFirst,
    hidden,
    cell: n.kind === "lstm" ? cell : null,
  });
  return [o.batchFirst === true ? r.output.transpose(0, 1) : r.output, r.hidden, ...(r.cell === null ? [] : [r.cell])];
}

const boundOf = (dtype: dx.DType): { rtol: number; atol: number } =>
  dtype === "float16" ? { rtol: 2e-2, atol: 2e-2 } : { rtol: 1e-4, atol: 2e-5 };

interface Reference {
  readonly values: readonly Float64Array[];
  readonly outputs: readonly (readonly number[])[];
  readonly factors: readonly (readonly number[])[];
  readonly expected: readonly (readonly number[])[];
}
const references = new Map<string, Reference>();

/** The network's results and gradients in float64: they take longer than the layer, and each mode asks for the same. */
function referenceOf(n: Network): Reference {
  const key = JSON.stringify(n);
  const known = references.get(key);
  if (known !== undefined) return known;
  const values = operandShapes(n).map(wave);
  const outputs = forward(n, values);
  const factors = outputs.map((o, k) => o.map((_, i) => Math.cos(i * 0.7 + k)));
  const found = { values, outputs, factors, expected: gradients(n, values, factors) };
  references.set(key, found);
  return found;
}

eachMode("a recurrent layer compared with float64", (_, mode) => {
  // Every third, others of each kind and in each mode, unless all are asked for.
  const modeIndex = mode.name === "compiled" ? 1 : 0;
  for (const [k, kind] of KINDS.entries())
    for (const options of share([...CASES, ...(kind === "lstm" ? PROJECTED : [])], 5, k + modeIndex))
      test(`${kind} ${JSON.stringify(options)}`, () => {
        const n = networkOf(kind, options);
        const { dtype = "float32" } = options as Options;
        const { values, outputs, factors, expected } = referenceOf(n);
        const operands = values.map((v, i) => dx.tensor(v, { shape: operandShapes(n)[i]!, dtype }).requiresGrad_());
        const scaled = factors.map((f) => dx.tensor(f, { dtype }));
        const run = (...args: dx.Tensor[]): dx.Tensor[] => {
          const made = layer(n, options, args);
          const loss = made.map((t, i) => t.reshape(-1).mul(scaled[i]!).sum()).reduce((a, b) => a.add(b));
          return [...made, ...dx.grad(loss, args).map((g) => g!)];
        };
        const bound = boundOf(dtype);
        // In float16 each step rounds, and a compiled backward pass adds the steps in another order.
        const results = dtype === "float16" ? mode.runWithin(bound, run, ...operands) : mode.run(run, ...operands);
        [...outputs, ...expected].forEach((right, i) => {
          expect(results[i]!.dtype).toBe(dtype);
          expectClose(results[i]!, right, bound);
        });
        const without = dx.noGrad(() => layer(n, options, operands));
        outputs.forEach((right, i) => {
          expect(without[i]!.requiresGrad).toBe(false);
          expectClose(without[i]!, right, bound);
        });
      });
});

eachDevice("a recurrent layer", (device) => {
  const dispatchesOf = (run: () => void): number => {
    run();
    const before = dx.counters(device).dispatchesRecorded;
    run();
    return dx.counters(device).dispatchesRecorded - before;
  };

  test("takes as many dispatches however long it is", () => {
    const net = dx.nn.lstm(4, 6);
    const dispatches = (steps: number): number => {
      const x = random([steps, 2, 4], 0);
      return dispatchesOf(() => void net.forward(x).output.dataSync());
    };
    expect(dispatches(3)).toBeGreaterThan(0);
    expect(dispatches(30)).toBe(dispatches(3));
  });

  const layersOf = (nodes: readonly { readonly name: string }[]): string[] =>
    nodes.map((node) => node.name).filter((name) => !/^(select|narrow|unbind|slice|view|cat|reshape|contiguous|clone)$/.test(name));

  test("with projected states is one node of the tape in each direction in addition to the matmul of its inputs", () => {
    for (const steps of [1, 16, 53]) {
      const n = networkOf("lstm", { steps, batch: 2, bidirectional: true, projection: 2 });
      const operands = operandShapes(n).map((shape, i) => random(shape, i).requiresGrad_());
      const { nodes } = watching(() => layer(n, {}, operands));
      const names = layersOf(nodes).filter((name) => !/^(add|linear|addmm|matmul|transpose|t|expand|stack)$/.test(name));
      expect(names).toEqual(["projectedLstm", "projectedLstm"]);
    }
  });

  test("is one node of the tape, and several steps of its backward pass one operation unless that is recorded", () => {
    const rules = { lstm: "lstmStepsGradient", gru: "gruStepsGradient", tanh: "rnnStepsGradient", relu: "rnnStepsGradient" };
    for (const kind of KINDS) {
      // Widths that no other test has: programs are made again.
      const n = { ...networkOf(kind, { steps: 53, batch: 2, bidirectional: true }), width: 7 };
      const operands = operandShapes(n).map((shape, i) => random(shape, i).requiresGrad_());
      const { result, nodes } = watching(() => layer(n, {}, operands));
      expect(layersOf(nodes)).toEqual(["recurrentLayer"]);
      const definition = own.find((d) => d.name === rules[kind])!;
      const lengths: number[] = [];
      const counted = definition as { lower: (typeof definition)["lower"] };
      const { lower } = counted;
      counted.lower = (g, inputs, attrs, outputs) => {
        lengths.push(inputs[0]!.sizes[0]!);
        return lower(g, inputs, attrs, outputs);
      };
      try {
        const loss = result[0]!.square().sum();
        const recorded = dx.grad(loss, operands, { createGraph: true });
        expect(lengths).toEqual([]);
        expect(recorded.every((g) => g!.requiresGrad)).toBe(true);
        const plain = dx.grad(loss, operands);
        // 53 = 3 * 16 + 4 + 1.
        expect([...new Set(lengths)].toSorted((x, y) => x - y)).toEqual([1, 4, 16]);
        plain.forEach((g, i) => expectClose(g!, numbers(recorded[i]!), { rtol: 1e-4, atol: 1e-5 }));
      } finally {
        counted.lower = lower;
      }
    }
  });

  test("changed in place after the forward pass is refused", () => {
    for (const kind of KINDS)
      for (const which of [0, 1, 3]) {
        const n = networkOf(kind, {});
        const operands = operandShapes(n).map((shape, i) => random(shape, i).requiresGrad_());
        const copies = operands.map((t) => t.clone());
        const [output] = layer(n, {}, copies) as [dx.Tensor];
        dx.noGrad(() => copies[which]!.mul_(2));
        expect(() => output.sum().backward()).toThrow(dx.AutogradError);
      }
  });

  test("gives results that may be changed in place, but for the outputs of an LSTM of one direction, as in PyTorch", () => {
    const others = [{ bidirectional: true }, { lengths: [5, 2, 3] }, { projection: 2 }].map((o) => ["lstm", o] as const);
    for (const [kind, options] of [...KINDS.map((k) => [k, {}] as const), ...others]) {
      const n = networkOf(kind, options);
      const operands = operandShapes(n).map((shape, i) => random(shape, i).requiresGrad_());
      const [expected] = dx.grad(layer(n, {}, operands)[0]!.square().sum(), operands) as [dx.Tensor];
      const [output, ...last] = layer(n, {}, operands) as [dx.Tensor, ...dx.Tensor[]];
      const loss = output.square().sum();
      for (const t of last) t.mul_(0);
      expectClose(dx.grad(loss, operands, { retainGraph: true, allowUnused: true })[0]!, numbers(expected));
      const [again] = layer(n, {}, operands) as [dx.Tensor];
      const sum = again.mul_(2).sum();
      if (kind === "lstm" && Object.keys(options).length === 0) expect(() => dx.grad(sum, operands)).toThrow(dx.AutogradError);
      else expectClose(dx.grad(sum, operands)[0]!, numbers(dx.grad(layer(n, {}, operands)[0]!.sum().mul(2), operands)[0]!));
    }
  });

  test("what lies beyond a sample's end takes no part, NaN neither", () => {
    for (const kind of KINDS) {
      const n = networkOf(kind, { steps: 4, batch: 2, lengths: [4, 2], bidirectional: true });
      const run = (beyond: number): number[][] => {
        const operands = operandShapes(n).map((shape, i) => random(shape, i));
        dx.noGrad(() => operands[0]!.set([dx.s(2, 4), 1], beyond));
        for (const t of operands) t.requiresGrad_();
        const made = layer(n, {}, operands);
        const loss = made.map((t) => t.square().sum()).reduce((a, b) => a.add(b));
        return dx.grad(loss, operands).map((g) => numbers(g!));
      };
      const found = run(NaN);
      expect(found).toEqual(run(0.5));
      expect(found.flat().every(Number.isFinite)).toBe(true);
    }
  });

  test("NaN and infinities go where PyTorch's go", () => {
    // PyTorch 2.15: width 2, all of W 0.3, all of R 0.2, x = 1, v, 1, 1; the first column of the outputs, and x's gradients.
    const N = NaN;
    const recorded = [
      ["lstm", N, [0.095241189, N, N, N], [N, N, N, N]],
      ["lstm", Infinity, [0.095241189, 0.82341838, 0.52800512, 0.47546801], [0.46562365, 0, 0.34290954, 0.24297076]],
      ["lstm", -Infinity, [0.095241189, 0, 0.095241189, 0.16353291], [0.22439638, 0, 0.37394029, 0.24791969]],
      ["gru", N, [0.12397027, N, N, N], [N, N, N, N]],
      ["gru", Infinity, [0.12397027, 0.12397027, 0.20407315, 0.25721616], [0.5912948, 0, 0.32991344, 0.20141652]],
      ["gru", -Infinity, [0.12397027, -1, -0.4175092, -0.12557802], [0.19093776, 0, 0.17792881, 0.16344306]],
      ["tanh", N, [0.29131263, N, N, N], [N, N, N, N]],
      ["tanh", Infinity, [0.29131263, 1, 0.60436779, 0.49430937], [0.54908216, 0, 0.49595883, 0.45339498]],
      ["tanh", -Infinity, [0.29131263, -1, -0.099667989, 0.25441974], [0.54908216, 0, 0.81627506, 0.56116241]],
      ["relu", N, [0.3, N, N, N], [0.9744001, 0.93599999, 0.84000003, 0.60000002]],
      ["relu", Infinity, [0.3, Infinity, Infinity, Infinity], [0.9744001, 0.93599999, 0.84000003, 0.60000002]],
      ["relu", -Infinity, [0.3, 0, 0.3, 0.42], [0.6, 0, 0.84000003, 0.60000002]],
    ] as const;
    for (const [kind, value, outputs, gradient] of recorded) {
      // Microsoft's operators clamp what their activations give: a NaN and an infinity become numbers.
      if (isMicrosoft(device) && (Number.isNaN(value) || outputs.some((y) => y === Infinity))) continue;
      const n = { ...networkOf(kind, { steps: 4, batch: 1, bias: false }), inputs: 1, width: 2 };
      const operands = operandShapes(n).map((shape, i) => dx.full(shape, [0.3, 0.2][i - (kind === "lstm" ? 3 : 2)] ?? 0));
      operands[0] = dx.tensor([1, value, 1, 1], { shape: [4, 1, 1] }).requiresGrad_();
      const [output] = layer(n, {}, operands) as [dx.Tensor];
      expectClose(output.select(2, 0), outputs);
      expectClose(
        dx.noGrad(() => layer(n, {}, operands)[0]!.select(2, 1)),
        outputs,
      );
      for (const createGraph of [true, false]) expectClose(dx.grad(output.sum(), [operands[0]], { createGraph })[0]!, gradient);
    }
  });

  test("compiled: gradients of gradients are those of eager calls", () => {
    for (const kind of KINDS) {
      const n = networkOf(kind, { steps: 6, batch: 2, bidirectional: true });
      const second = (...operands: dx.Tensor[]): dx.Tensor[] => {
        const total = (list: readonly (dx.Tensor | null)[]): dx.Tensor => list.map((t) => t!.square().sum()).reduce((x, y) => x.add(y));
        return dx.grad(total(dx.grad(total(layer(n, {}, operands)), operands, { createGraph: true })), operands) as dx.Tensor[];
      };
      const compiled = dx.compile(second);
      for (let call = 0; call < 3; call++) {
        const operands = operandShapes(n).map((shape, i) => random(shape, i + call).requiresGrad_());
        const expected = second(...operands);
        compiled(...operands).forEach((g, i) => expectClose(g, numbers(expected[i]!), { rtol: 1e-3, atol: 1e-4 }));
      }
    }
  });

  test("of no samples gives gradients of zeros", () => {
    for (const kind of KINDS) {
      const n = networkOf(kind, { batch: 0, bidirectional: true });
      const operands = operandShapes(n).map((shape, i) => random(shape, i).requiresGrad_());
      const made = layer(n, {}, operands);
      expect(made[0]!.shape).toEqual([5, 0, 6]);
      const grads = dx.grad(
        made.map((t) => t.sum()).reduce((a, b) => a.add(b)),
        operands,
      );
      grads.forEach((g, i) => expect([g!.shape, numbers(g!).every((v) => v === 0)]).toEqual([operands[i]!.shape, true]));
    }
  });

  test("of no steps is refused", () => {
    for (const kind of KINDS) {
      const n = networkOf(kind, { steps: 0 });
      const operands = operandShapes(n).map((shape, i) => random(shape, i).requiresGrad_());
      expect(() => layer(n, {}, operands)).toThrow(dx.ShapeError);
    }
  });

  test("computes gradients of those alone that want one, whichever results are used", () => {
    for (const kind of KINDS) {
      const n = networkOf(kind, { bidirectional: true });
      const shapes = operandShapes(n);
      const all = shapes.map((shape, i) => random(shape, i).requiresGrad_());
      const whole = layer(n, {}, all);
      whole.forEach((_, used) => {
        const expected = dx.grad(whole[used]!.square().sum(), all, { retainGraph: true });
        shapes.forEach((__, wanted) => {
          const some = shapes.map((shape, i) => (i === wanted ? random(shape, i).requiresGrad_() : random(shape, i)));
          const made = layer(n, {}, some);
          expect(made.map((t) => t.requiresGrad)).toEqual(made.map(() => true));
          const [grad] = dx.grad(made[used]!.square().sum(), [some[wanted]!]) as [dx.Tensor];
          expectClose(grad, numbers(expected[wanted]!));
        });
      });
    }
  });

  test("reads views and other strides as they lie", () => {
    for (const kind of KINDS) {
      const n = networkOf(kind, { steps: 6 });
      const operands = operandShapes(n).map((shape, i) => random(shape, i));
      const plain = operands.map((t) => t.clone().requiresGrad_());
      const strided = operands.map((t) => {
        const wide = dx.zeros([...t.shape.map((d) => d + 1), 2]);
        dx.noGrad(() => wide.set([...t.shape.map((d) => dx.s(1, d + 1)), 1], t));
        return wide.requiresGrad_();
      });
      const seen = strided.map((t, i) => t.at(...operands[i]!.shape.map((d) => dx.s(1, d + 1)), 1));
      const [a, b] = [layer(n, {}, plain), layer(n, {}, seen)] as [dx.Tensor[], dx.Tensor[]];
      const expected = dx.grad(a[0]!.square().sum(), plain);
      const found = dx.grad(b[0]!.square().sum(), seen);
      expectClose(b[0]!, numbers(a[0]!));
      found.forEach((g, i) => expectClose(g!, numbers(expected[i]!)));
    }
  });
});

eachDevice("a compiled recurrent layer", () => {
  test("gives gradients outside of the function", () => {
    for (const kind of KINDS)
      for (const options of [
        { steps: 19 },
        { layers: 2, bidirectional: true, steps: 18 },
        { bias: false, lengths: [5, 2, 3] },
        ...(kind === "lstm" ? [{ projection: 2, steps: 18, bidirectional: true }] : []),
      ] satisfies Options[]) {
        const n = networkOf(kind, options);
        const shapes = operandShapes(n);
        const compiled = dx.compile((...operands: dx.Tensor[]) => layer(n, options, operands));
        for (let call = 0; call < 3; call++) {
          const operands = shapes.map((shape, i) => random(shape, i + call).requiresGrad_());
          const gradients = (made: readonly dx.Tensor[]): number[][] => {
            const used = made.slice(call % made.length).map((t) => t.square().sum());
            return dx
              .grad(
                used.reduce((a, b) => a.add(b)),
                operands,
              )
              .map((g) => numbers(g!));
          };
          const expected = gradients(layer(n, options, operands));
          gradients(compiled(...operands)).forEach((g, i) => expectClose(dx.tensor(g), expected[i], { rtol: 1e-4, atol: 1e-5 }));
        }
      }
  });
});

eachDevice("a recurrent layer of any batch", (device) => {
  const compiled = (): number => {
    const { operatorsCompiled, graphsCompiled } = dx.counters(device);
    return operatorsCompiled + graphsCompiled;
  };

  test("is compiled for batches of a bucket once, without gradients", () => {
    for (const kind of KINDS) {
      const lengths = [9, 4, 2, 7, 1, 3];
      const net = kind === "lstm" ? dx.nn.lstm(2, 3) : kind === "gru" ? dx.nn.gru(2, 3) : dx.nn.rnn(2, 3, { nonlinearity: kind });
      const fn = (x: dx.Tensor, counts: dx.Tensor): dx.Tensor => dx.noGrad(() => net.forward(x, { lengths: counts }).output);
      const inference = dx.compile(fn, { dynamic: [[1], [0]] });
      const call = (batch: number): void => {
        const x = random([9, batch, 2], batch);
        const counts = dx.tensor(Int32Array.from(lengths.slice(0, batch)));
        expectClose(inference(x, counts), numbers(fn(x, counts)));
      };
      call(5);
      call(6);
      const before = compiled();
      for (const batch of [5, 6, 5]) call(batch);
      expect(compiled()).toBe(before);
    }
  });

  test("trains in one program for a bucket: forward, backward and step, as eager calls do", () => {
    const nets = [
      (): dx.nn.LSTM => dx.nn.lstm(2, 3, { projSize: 2, bidirectional: true }),
      (): dx.nn.GRU => dx.nn.gru(2, 3),
      (): dx.nn.RNN => dx.nn.rnn(2, 3, 2),
    ];
    for (const make of nets) {
      const step = (net: dx.nn.LSTM | dx.nn.GRU | dx.nn.RNN): ((x: dx.Tensor) => dx.Tensor) => {
        const optimizer = dx.optim.sgd([...net.parameters()], { lr: 0.1 });
        return (x) => {
          optimizer.zeroGrad();
          const loss = net.forward(x).output.square().mean();
          loss.backward();
          optimizer.step();
          return loss.detach();
        };
      };
      const [net, twin] = [make(), make()];
      twin.loadStateDict(net.stateDict());
      const training = dx.compile(step(net), { dynamic: [1] });
      const eager = step(twin);
      for (const batch of [9, 11, 16, 13, 9, 15]) {
        const x = random([4, batch, 2], batch);
        expectClose(training(x), numbers(eager(x)), { rtol: 1e-4, atol: 1e-6 });
      }
      const expected = [...twin.parameters()];
      [...net.parameters()].forEach((p, i) => expectClose(p, numbers(expected[i]!), { rtol: 1e-4, atol: 1e-5 }));
      expect(training.programs).toBeLessThanOrEqual(2);
    }
  });

  test("gives gradients where its batch is dynamic", () => {
    for (const kind of KINDS) {
      const n = networkOf(kind, { batch: 2, steps: 18 });
      const all = operandShapes(n).map((shape, i) => random(shape, i).requiresGrad_());
      const weights = all.slice(kind === "lstm" ? 3 : 2);
      const [input, hidden, inputBias, hiddenBias] = weights as [dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor];
      const fn = (x: dx.Tensor): dx.Tensor[] => {
        const { output } = dx.recurrent(kind, x, [{ input, hidden, inputBias, hiddenBias }]);
        return [output, ...dx.grad(output.square().sum(), [x, ...weights]).map((g) => g!)];
      };
      const training = dx.compile(fn, { dynamic: [1] });
      for (const batch of [3, 5, 6, 2, 5]) {
        const x = random([18, batch, 2], batch).requiresGrad_();
        const expected = fn(x);
        training(x).forEach((t, i) => expectClose(t, numbers(expected[i]!), { rtol: 1e-4, atol: 1e-5 }));
      }
    }
  });
});
