/** Layers against PyTorch's own, by its state dicts, results and gradients (recorded/layers.json). */
import { beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, devices, numbers } from "../device.ts";
import { near } from "../tolerance.ts";
import recorded from "./recorded/layers.json" with { type: "json" };

interface Recorded {
  readonly shape: number[];
  readonly data: number[];
  readonly dtype?: string;
}
interface Case {
  readonly name: string;
  readonly make: string;
  readonly state: Readonly<Record<string, Recorded>>;
  readonly inputs: readonly Recorded[];
  readonly outputs: readonly Recorded[];
  readonly grads: Readonly<Record<string, number[]>>;
}
const cases = recorded.cases as unknown as readonly Case[];

type Outputs = readonly (dx.Tensor | null)[];
interface Made {
  readonly module: dx.nn.Module;
  readonly run: (...inputs: dx.Tensor[]) => Outputs;
  readonly train?: boolean;
}
const { nn } = dx;
const listed = (r: dx.RecurrentResult): Outputs => [r.output, r.hidden, r.cell];
const attended = (r: { readonly output: dx.Tensor; readonly weights: dx.Tensor | null }): Outputs => [r.output, r.weights];
const layer = (module: dx.nn.Module & { forward(...inputs: never[]): dx.Tensor }, train = false): Made => ({
  module,
  run: (...inputs) => [(module.forward as (...inputs: dx.Tensor[]) => dx.Tensor)(...inputs)],
  train,
});
function recurrent(module: dx.nn.LSTM | dx.nn.GRU | dx.nn.RNN, lengths?: readonly number[]): Made {
  return { module, run: (x) => listed(module.forward(x!, { lengths })) };
}
function attention(module: dx.nn.MultiheadAttention, call: dx.nn.AttentionCall = {}): Made {
  return { module, run: (q, k, v) => attended(module.forward(q!, k ?? q!, v ?? q!, call)) };
}

const MAKE: Readonly<Record<string, () => Made>> = {
  lstm: () => recurrent(nn.lstm(3, 4, { numLayers: 2, bidirectional: true })),
  lstmProjected: () => recurrent(nn.lstm(3, 4, { projSize: 2, batchFirst: true })),
  lstmPacked: () => recurrent(nn.lstm(3, 2, { bidirectional: true }), [4, 2, 3]),
  gruPacked: () => recurrent(nn.gru(3, 2, { numLayers: 2, bidirectional: true }), [4, 2, 3]),
  gru: () => recurrent(nn.gru(3, 4)),
  rnn: () => recurrent(nn.rnn(3, 4, { nonlinearity: "relu", bias: false })),
  lstmCell: () => {
    const module = nn.lstmCell(3, 4);
    return {
      module,
      run: (x) => {
        const { hidden, cell } = module.forward(x!);
        return [hidden, cell];
      },
    };
  },
  gruCell: () => layer(nn.gruCell(3, 4)),
  rnnCell: () => layer(nn.rnnCell(3, 4)),
  attention: () => attention(nn.multiheadAttention(6, 2)),
  attentionOther: () => attention(nn.multiheadAttention(6, 3, { kdim: 4, vdim: 5, addBiasKv: true, addZeroAttn: true, batchFirst: true })),
  attentionMasked: () =>
    attention(nn.multiheadAttention(4, 2, { bias: false }), {
      keyPaddingMask: dx.tensor([
        [false, false, true],
        [false, false, false],
      ]),
      attnMask: dx.triu(dx.ones([3, 3]), 1).to("bool"),
    }),
  encoderLayer: () => layer(nn.transformerEncoderLayer(6, 2, { dimFeedforward: 8, dropout: 0 }), true),
  encoderLayerFirst: () =>
    layer(nn.transformerEncoderLayer(6, 2, { dimFeedforward: 8, dropout: 0, normFirst: true, activation: "gelu", batchFirst: true }), true),
  decoderLayer: () => layer(nn.transformerDecoderLayer(6, 2, { dimFeedforward: 8, dropout: 0 }), true),
  transformer: () => layer(nn.transformer(4, 2, { numEncoderLayers: 2, numDecoderLayers: 1, dimFeedforward: 6, dropout: 0 }), true),
  embeddingBag: () => layer(nn.embeddingBag(5, 3, { mode: "mean", paddingIdx: 1 })),
  instanceNorm: () => layer(nn.instanceNorm2d(3, { affine: true, trackRunningStats: true }), true),
  circularPad: () => layer(nn.circularPad2d([1, 2, 0, 1])),
  upsample: () => layer(nn.upsample({ scaleFactor: 2, mode: "bicubic", alignCorners: true })),
  localResponse: () => layer(nn.localResponseNorm(3, { alpha: 0.5 })),
  ctc: () => {
    const module = nn.ctcLoss({ blank: 2, reduction: "sum" });
    return { module, run: (x, t) => [module.forward(x!, t!, [6, 5], [3, 2])] };
  },
  multiLabelMargin: () => layer(nn.multilabelMarginLoss()),
  triplet: () => layer(nn.tripletMarginLoss({ margin: 3, swap: true })),
};

const tensorOf = ({ shape, data, dtype }: Recorded): dx.Tensor =>
  dtype === undefined ? dx.tensor(Float32Array.from(data), { shape }) : dx.tensor(BigInt64Array.from(data, BigInt), { shape });

const isClose = (got: readonly number[], want: readonly number[]): boolean =>
  got.length === want.length && got.every((g, i) => near(g, want[i]!, { rtol: 2e-4, atol: 2e-5 }));

/** The first difference, or null. */
function different(got: readonly number[], want: readonly number[]): string | null {
  const at = isClose(got, want) ? -1 : got.findIndex((g, i) => !isClose([g], [want[i]!]));
  return isClose(got, want) ? null : `${got.length} instead of ${want.length} elements, element ${at} is ${got[at]} instead of ${want[at]}`;
}
const expectAll = (what: string, got: readonly number[], want: readonly number[]): void =>
  expect({ [what]: different(got, want) }).toEqual({ [what]: null });

describe.each(devices)("layers on %s", (device) => {
  // The default generator's state stays on the device.
  beforeAll(() => {
    dx.withDevice(device, () => dx.rand([1]).dispose());
  });

  test.each(cases.map((c): [string, Case] => [c.name, c]))("%s", (_name, c) =>
    clean(
      device,
      () => {
        const { module, run, train = false } = MAKE[c.make]!();
        try {
          expect(Object.keys(module.stateDict()).toSorted()).toEqual(Object.keys(c.state).toSorted());
          const counted = Object.keys(c.state).filter((name) => name.includes("running") || name.includes("num_batches"));
          const counterless = Object.fromEntries(Object.entries(c.state).filter(([name]) => !counted.includes(name)));
          module.loadStateDict(Object.fromEntries(Object.entries(counterless).map(([name, t]) => [name, tensorOf(t)])), {
            strict: counted.length === 0,
          });
          module.train(train);
          const inputs = c.inputs.map((t) => (t.dtype === undefined ? tensorOf(t).requiresGrad_() : tensorOf(t)));
          const outputs = run(...inputs).filter((t): t is dx.Tensor => t !== null);
          expect(outputs.map((t) => t.shape)).toEqual(c.outputs.map((t) => t.shape));
          outputs.forEach((t, i) => expectAll(`output ${i}`, numbers(t), c.outputs[i]!.data));
          const weighted = outputs
            .filter((t) => t.requiresGrad)
            .map((t) => {
              const weights = dx.tensor(
                Float32Array.from({ length: t.size }, (_, i) => (i + 1) * 0.1),
                { shape: t.shape },
              );
              return dx.sum(dx.sin(dx.mul(t, weights)));
            });
          if (weighted.length > 0) weighted.reduce((a, b) => dx.add(a, b)).backward();
          for (const [name, p] of module.namedParameters())
            expectAll(`gradient of ${name}`, p.grad === null ? [] : numbers(p.grad), c.grads[name] ?? []);
          inputs.forEach((t, i) => {
            if (c.grads[`input${i}`] !== undefined) expectAll(`gradient of input ${i}`, numbers(t.grad!), c.grads[`input${i}`]!);
          });
          const after = module.stateDict();
          for (const name of counted.filter((n) => n.includes("running"))) expectAll(name, numbers(after[name]!), c.state[name]!.data);
          const again = dx.noGrad(() => run(...inputs.map((t) => t.detach())));
          if (counted.length === 0) again.forEach((t, i) => t !== null && expectAll(`output ${i} again`, numbers(t), c.outputs[i]!.data));
        } finally {
          module.dispose();
        }
      },
      { collect: true },
    ),
  );

  test("lists and dictionaries name what they hold as PyTorch does", () =>
    clean(
      device,
      () => {
        class Model extends dx.nn.Module {
          blocks = nn.moduleList([nn.linear(2, 3), nn.linear(3, 1, { bias: false })]);
          heads = nn.moduleDict({ left: nn.linear(1, 1) });
          scales = nn.parameterList([new nn.Parameter(dx.ones([2]))]);
          shifts = nn.parameterDict({ all: new nn.Parameter(dx.zeros([1])) });
          forward(x: dx.Tensor): dx.Tensor {
            for (const block of this.blocks) x = block.forward(x);
            return dx.add(this.heads.get("left").forward(x), this.shifts.get("all"));
          }
        }
        const model = new Model();
        expect(Object.keys(model.stateDict())).toEqual([
          "blocks.0.weight",
          "blocks.0.bias",
          "blocks.1.weight",
          "heads.left.weight",
          "heads.left.bias",
          "scales.0",
          "shifts.all",
        ]);
        expect(model.forward(dx.ones([4, 2])).shape).toEqual([4, 1]);
        expect(() => model.heads.get("right")).toThrow(/one of left/);
        expect(() => model.blocks.at(2)).toThrow(/index/);
        model.dispose();
      },
      { collect: true },
    ));
});

test("parameters of transformers and recurrent layers come in PyTorch's order, by which an optimizer's state is saved", () => {
  const names = (m: dx.nn.Module): string[] => [...m.namedParameters()].map(([name]) => name);
  const both = (...parts: string[]): string[] => parts.flatMap((p) => [`${p}.weight`, `${p}.bias`]);
  const attention = (name: string): string[] => [`${name}.in_proj_weight`, `${name}.in_proj_bias`, ...both(`${name}.out_proj`)];
  const encoder = [...attention("self_attn"), ...both("linear1", "linear2", "norm1", "norm2")];
  const decoder = [...attention("self_attn"), ...attention("multihead_attn"), ...both("linear1", "linear2", "norm1", "norm2", "norm3")];
  const options = { feedforward: 8 };
  expect(names(nn.transformerEncoderLayer(4, 2, options))).toEqual(encoder);
  expect(names(nn.transformerDecoderLayer(4, 2, options))).toEqual(decoder);
  expect(names(nn.transformer(4, 2, { ...options, numEncoderLayers: 1, numDecoderLayers: 1 }))).toEqual([
    ...encoder.map((name) => `encoder.layers.0.${name}`),
    ...both("encoder.norm"),
    ...decoder.map((name) => `decoder.layers.0.${name}`),
    ...both("decoder.norm"),
  ]);
  expect(names(nn.multiheadAttention(4, 2, { kdim: 3, vdim: 5, addBiasKv: true }))).toEqual([
    "q_proj_weight",
    "k_proj_weight",
    "v_proj_weight",
    "in_proj_bias",
    "bias_k",
    "bias_v",
    ...both("out_proj"),
  ]);
  expect(names(nn.lstm(3, 4, { numLayers: 2, bidirectional: true, projSize: 2 }))).toEqual(
    ["l0", "l0_reverse", "l1", "l1_reverse"].flatMap((l) =>
      ["weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"].map((n) => `${n}_${l}`),
    ),
  );
  expect(names(nn.gruCell(2, 3))).toEqual(["weight_ih", "weight_hh", "bias_ih", "bias_hh"]);
});
