/** checkpoint() inside compiled functions: the memory of their programs, and the same gradients as without it. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, isMicrosoft, numbers } from "../device.ts";
import { leaf } from "../gradgrad.ts";
import { expectClose, ofLargest, toleranceOf } from "../tolerance.ts";
import { isExact } from "./as-eager.ts";

const MEGABYTE = 2 ** 20;
type Body = (x: dx.Tensor) => dx.Tensor;

/** Twelve blocks of a width, each a linear layer, dropout and activations. */
class Mlp {
  readonly weights: readonly dx.Tensor[];

  constructor(width: number, count = 12) {
    dx.manualSeed(1);
    this.weights = Array.from({ length: count }, () => dx.randn([width, width]).div(Math.sqrt(width)).detach().requiresGrad_());
  }

  block(w: dx.Tensor): Body {
    return (h) => dx.gelu(dx.dropout(h.matmul(w).tanh(), { p: 0.25 }).mul(h)).add(h);
  }

  loss(x: dx.Tensor, saves: boolean): dx.Tensor {
    return this.weights.reduce((h, w) => (saves ? dx.checkpoint(this.block(w), h) : this.block(w)(h)), x).square().mean(); // prettier-ignore
  }
}

/** A layer of a transformer. */
function attend(x: dx.Tensor, w: dx.Tensor): dx.Tensor {
  const { linear, layerNorm } = dx.nn.functional;
  const heads = linear(layerNorm(x, [x.shape.at(-1)!]), w).reshape([2, -1, 4, 8]).transpose(1, 2); // prettier-ignore
  const mixed = dx.softmax(heads.matmul(heads.transpose(2, 3)), -1).matmul(heads);
  return x.add(mixed.transpose(1, 2).reshape(x.shape));
}

eachDevice("checkpoint in compiled functions", (device) => {
  // Generators keep a state on each device.
  const alone = (body: () => void) => (): Promise<void> => {
    dx.rand([1]).dispose();
    return clean(device, body, { collect: true });
  };
  /**
   * A graph of Microsoft's library chooses its kernels by its neighbours, and a block that is computed again is fused with other neighbours than the
   * first time. Checkpoints promise the same functions with the same random numbers, not the same bits.
   */
  const same = (found: dx.Tensor, want: dx.Tensor, dtype: "float16" | "float32" = "float32"): void => {
    const expected = numbers(want);
    if (isMicrosoft(device) || !isExact(device))
      expectClose(found, expected, dtype === "float16" ? toleranceOf(dtype) : ofLargest(expected));
    else expect(numbers(found)).toEqual(expected);
  };

  test(
    "a training step keeps the inputs of each block, and one block's tensors at a time",
    alone(() => {
      const model = new Mlp(16);
      const inputs = [3, 4, 4].map((seed) => (dx.manualSeed(seed), dx.rand([512, 16])));
      const [saving, plain] = [true, false].map((saves) => {
        const step = dx.compile((x: dx.Tensor) => dx.grad(model.loss(x, saves), model.weights), { regions: "none" });
        dx.manualSeed(5);
        return { grads: inputs.map((x) => step(x)), ...step.explain() };
      });
      saving!.grads.forEach((grads, i) => grads.forEach((g, k) => same(g, plain!.grads[i]![k]!)));
      // A tensor of a block has 32 KiB. The step holds the results of 12 blocks and what one saves; else all that 12 blocks save.
      const tensor = 512 * 16 * 4;
      expect(plain!.arenaInBytes).toBeGreaterThan(48 * tensor);
      expect(saving!.arenaInBytes).toBeLessThan(24 * tensor);
      expect(saving!.nodes.length).toBeGreaterThan(plain!.nodes.length);
    }),
  );

  test(
    "the gradients of a compiled forward pass read the inputs of each block, and what random numbers became",
    alone(() => {
      const model = new Mlp(16, 6);
      const x = dx.rand([64, 16]);
      const [saving, plain] = [true, false].map((saves) => {
        const forward = dx.compile((t: dx.Tensor) => model.loss(t, saves));
        dx.manualSeed(5);
        const grads = [0, 1, 2].map((i) => dx.grad(forward(i === 1 ? x.mul(2) : x), model.weights));
        return { grads, ...forward.explain() };
      });
      saving!.grads.forEach((grads, i) => grads.forEach((g, k) => same(g, plain!.grads[i]![k]!)));
      expect(saving!.outputsInBytes).toBeLessThan(0.5 * plain!.outputsInBytes);
    }),
  );

  test(
    "second derivatives, in the function and outside of it",
    alone(() => {
      const [x, w] = [leaf([4, 4]), leaf([4, 4], { from: 9 })];
      const body: Body = (t) => dx.checkpoint((h: dx.Tensor) => h.matmul(w).tanh().mul(h.exp()), t.sin()).square().sum(); // prettier-ignore
      const plain: Body = (t) => ((h) => h.matmul(w).tanh().mul(h.exp()))(t.sin()).square().sum();
      const twice = (fn: Body) => (): dx.Tensor[] => {
        const first = dx.grad(fn(x), [x, w], { createGraph: true });
        return [...first, ...dx.grad(first[0].square().sum().add(first[1].sum()), [x, w])];
      };
      const want = twice(plain)();
      const forward = dx.compile(body);
      const whole = dx.compile(() => twice(body)());
      for (let i = 0; i < 3; i++) {
        twice(forward)().forEach((g, k) => expectClose(g, numbers(want[k]!)));
        whole().forEach((g, k) => expectClose(g, numbers(want[k]!)));
      }
    }),
  );

  test(
    "writes in place, several results, views, empty tensors, NaN, float16, calls in calls, and two passes",
    alone(() => {
      const state = dx.zeros([3]);
      const inHalves: Body = (x) => x.to("float16").sin().exp().to("float32").tanh();
      const bodies: readonly Body[] = [
        (x) => {
          const h = x.mul(2);
          h.sin_().mul_(x);
          h.select(0, 0).exp_();
          return h.square();
        },
        (x) => dx.sort(x.sin(), 1).values.cumprod(1).tanh().mul(x.exp()), // prettier-ignore
        (x) => dx.max(x.sin(), 1).values.square().tanh(),
        (x) => dx.split(x.exp().transpose(0, 1), 2, 0)[0]!.reshape([-1]).tanh(),
        (x) => dx.cat([x.narrow(0, 0, 0).exp().tanh(), x.tanh().exp()], 0),
        inHalves,
        (x) => dx.checkpoint((h: dx.Tensor) => dx.checkpoint((g: dx.Tensor) => g.tanh().exp(), h.sin()).mul(h), x.tanh()),
        (x) => x.mul(dx.rand([3, 4])).tanh().mul(dx.bernoulli(dx.full([3, 4], 0.5))), // prettier-ignore
        (x) => {
          // Another value is there when the gradient is computed.
          state.add_(1);
          const h = x.mul(state.sum()).tanh();
          state.add_(1);
          return h.exp();
        },
      ];
      for (const body of bodies) {
        const loss = (x: dx.Tensor, saves: boolean): dx.Tensor => (saves ? dx.checkpoint(body, x) : body(x)).square().sum();
        const x = leaf([3, 4]);
        dx.noGrad(() => x.select(0, 1).fill_(Number.NaN));
        const results = [true, false].map((saves) => {
          const twice = dx.compile((t: dx.Tensor) => {
            const y = loss(t, saves);
            return [dx.grad(y, [t], { retainGraph: true })[0], dx.grad(y.mul(2), [t])[0]] as const;
          });
          const forward = dx.compile((t: dx.Tensor) => loss(t, saves));
          state.fill_(0);
          dx.manualSeed(2);
          return [0, 1, 2].flatMap(() => [...twice(x), dx.grad(forward(x), [x])[0]]);
        });
        results[0]!.forEach((g, i) => same(g, results[1]![i]!, body === inHalves ? "float16" : "float32"));
      }
    }),
  );

  test(
    "a transformer in training, whose batch norm moves once in a step",
    alone(() => {
      dx.manualSeed(3);
      const norm = dx.nn.batchNorm1d(32);
      const weights = Array.from({ length: 3 }, () => dx.randn([32, 32]).mul(0.2).detach().requiresGrad_());
      const layers = (x: dx.Tensor, saves: boolean): dx.Tensor =>
        weights.reduce((h, w) => (saves ? dx.checkpoint(attend, h, w) : attend(h, w)), x);
      const results = [true, false].map((saves) => {
        const optimizer = dx.optim.sgd(weights, { lr: 0 });
        const mean = norm.runningMean!;
        mean.zero_();
        const step = dx.compile((x: dx.Tensor) => {
          const h = dx.checkpoint((t: dx.Tensor) => norm(t.reshape([-1, 32])).reshape(t.shape), layers(x, saves));
          const loss = h.square().mul(layers(x, saves)).mean();
          optimizer.zeroGrad();
          loss.backward();
          optimizer.step();
          return loss;
        });
        dx.manualSeed(4);
        const losses = [0, 1, 2].map(() => step(dx.rand([2, 6, 32])));
        return [...losses, ...weights.map((w) => w.grad!.clone()), mean.clone()];
      });
      results[0]!.forEach((t, i) => same(t, results[1]![i]!));
      for (const w of weights) w.grad!.dispose();
    }),
  );
});

test("the workspace of a step that is one graph", () =>
  clean(
    "cpu",
    () => {
      const block: Body = (x) => x.sin().cos().exp().sin().cos().tanh().mul(x);
      const [saving, plain] = [true, false].map((saves) => {
        const step = dx.compile(
          (x: dx.Tensor) => {
            const y = Array.from({ length: 6 }).reduce<dx.Tensor>((h) => (saves ? dx.checkpoint(block, h) : block(h)), x);
            return dx.grad(y.sum(), [x])[0];
          },
          { fuse: "off" },
        );
        const grad = step(dx.full([512, 512], 0.3, { requiresGrad: true }));
        return { first: grad.flatten().slice(0, 0, 4), ...step.explain() };
      });
      expect(numbers(saving!.first)).toEqual(numbers(plain!.first));
      // Megabytes: the inputs of six blocks and what one saves, else what 42 operations save.
      expect(plain!.temporaryInBytes).toBeGreaterThan(25 * MEGABYTE);
      expect(saving!.temporaryInBytes).toBeLessThan(16 * MEGABYTE);
    },
    { collect: true },
  ));
