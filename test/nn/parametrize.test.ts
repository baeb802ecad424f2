/** nn.utils.parametrize and parametrizations, compared with PyTorch's recorded runs (recorded/parametrize.py). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

const { nn } = dx;
const { parametrize, parametrizations } = nn.utils;

interface Values {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
interface Step {
  readonly y: readonly number[];
  readonly grads: Readonly<Record<string, readonly number[]>>;
}
interface Run {
  readonly state: Readonly<Record<string, Values>>;
  readonly x: Values;
  readonly first: Step;
  readonly last: Step;
  readonly value: readonly number[];
  readonly removed: Readonly<Record<string, readonly number[]>>;
}
const recorded = JSON.parse(readFileSync(new URL("recorded/parametrize.json", import.meta.url), "utf8")) as Record<string, Run>;

class Symmetric extends nn.Module {
  forward(x: dx.Tensor): dx.Tensor {
    return dx.triu(x).add(dx.triu(x, 1).transpose(-1, -2));
  }
  rightInverse(a: dx.Tensor): dx.Tensor {
    return dx.triu(a);
  }
}
class Exp extends nn.Module {
  forward(x: dx.Tensor): dx.Tensor {
    return x.exp();
  }
}
class Log extends Exp {
  rightInverse(y: dx.Tensor): dx.Tensor {
    return y.log();
  }
}
class Rank1 extends nn.Module {
  forward(u: dx.Tensor, v: dx.Tensor): dx.Tensor {
    return u.unsqueeze(-1).matmul(v.unsqueeze(-2));
  }
  rightInverse(w: dx.Tensor): readonly dx.Tensor[] {
    return [w.select(1, 0), w.select(0, 0)];
  }
}
class Scale extends nn.Module {
  readonly factor = new nn.Parameter(dx.tensor([2]));
  forward(x: dx.Tensor): dx.Tensor {
    return x.mul(this.factor);
  }
}

type AnyLayer = dx.nn.Module & { forward(x: dx.Tensor): dx.Tensor; readonly weight: dx.Tensor };
const { registerParametrization: register } = parametrize;

const cases: Readonly<Record<string, () => AnyLayer>> = {
  "symmetric, then exp": () => register(register(nn.linear(3, 3), "weight", new Symmetric()), "weight", new Exp()),
  "two originals": () => register(nn.linear(3, 2), "weight", new Rank1(), { unsafe: true }),
  weightNorm: () => parametrizations.weightNorm(nn.linear(3, 2)),
  "weightNorm dim 1": () => parametrizations.weightNorm(nn.conv2d(2, 3, 2), "weight", { dim: 1 }),
  "weightNorm dim null": () => parametrizations.weightNorm(nn.linear(3, 2), "weight", { dim: null }),
  spectralNorm: () => parametrizations.spectralNorm(nn.linear(3, 4)),
  "spectralNorm of a transposed convolution": () =>
    parametrizations.spectralNorm(nn.convTranspose1d(2, 3, 2), "weight", { nPowerIterations: 2 }),
  "spectralNorm of a bias": () => parametrizations.spectralNorm(nn.linear(3, 4), "bias"),
  "orthogonal matrix_exp": () => parametrizations.orthogonal(nn.linear(3, 3)),
  "orthogonal cayley, wide": () => parametrizations.orthogonal(nn.linear(4, 2), "weight", { orthogonalMap: "cayley" }),
  "orthogonal householder, tall": () => parametrizations.orthogonal(nn.linear(2, 4)),
  "orthogonal householder without a base": () => parametrizations.orthogonal(nn.linear(2, 4), "weight", { useTrivialization: false }),
  "orthogonal matrix_exp without a base": () => parametrizations.orthogonal(nn.linear(2, 4), "weight", { orthogonalMap: "matrix_exp", useTrivialization: false }), // prettier-ignore
};

const close = (got: readonly number[], want: readonly number[]): void => {
  expect(got).toHaveLength(want.length);
  got.forEach((v, i) => {
    expect(Math.abs(v - want[i]!)).toBeLessThanOrEqual(1e-4 * (1 + Math.abs(want[i]!)));
  });
};
const tensorOf = ({ shape, data }: Values): dx.Tensor => dx.tensor([...data], { shape });
const shapesOf = (state: dx.nn.StateDict): object => Object.fromEntries(Object.entries(state).map(([k, t]) => [k, t.shape]));

eachDevice("parametrizations", () => {
  test("there is a recorded run for each", () => {
    expect(Object.keys(recorded)).toEqual(Object.keys(cases));
  });

  test.each(Object.entries(cases))("%s: state, values, gradients and five steps are PyTorch's", (name, make) => {
    const { state, x, first, last, value, removed } = recorded[name]!;
    const layer = make();
    expect(Object.entries(shapesOf(layer.stateDict()))).toEqual(Object.entries(state).map(([k, t]) => [k, t.shape]));
    layer.loadStateDict(Object.fromEntries(Object.entries(state).map(([k, t]) => [k, tensorOf(t)])));
    const optimizer = dx.optim.sgd(layer.parameters(), { lr: 0.1, momentum: 0.5 });
    const input = tensorOf(x);
    for (let step = 0; step < 5; step++) {
      optimizer.zeroGrad();
      const y = layer(input) as dx.Tensor;
      y.mul(y).mean().add(y.sum().mul(0.1)).backward();
      const want = step === 0 ? first : step === 4 ? last : null;
      if (want !== null) {
        close(numbers(y), want.y);
        for (const [k, p] of layer.namedParameters()) close(numbers(p.grad!), want.grads[k]!);
      }
      optimizer.step();
    }
    layer.eval();
    const tensor = parametrize.isParametrized(layer, "bias") ? "bias" : "weight";
    const read = (): number[] => numbers((layer as unknown as Record<string, dx.Tensor>)[tensor]!);
    close(read(), value);
    const copy = layer.clone();
    parametrize.removeParametrizations(layer, tensor);
    close(read(), value);
    expect(Object.entries(shapesOf(layer.stateDict()))).toEqual(Object.entries(removed));
    // The copy is parametrized, and has memory of its own.
    expect(parametrize.isParametrized(copy, tensor)).toBe(true);
    close(numbers((copy as unknown as Record<string, dx.Tensor>)[tensor]!), value);
    close(numbers(copy(input) as dx.Tensor), numbers(layer(input) as dx.Tensor));
  });

  // Functions with LAPACK's operations are called as they are.
  test.each(Object.entries(cases).filter(([name]) => !name.startsWith("orthogonal")))(
    "%s: compiled steps are those of eager ones",
    (_, make) => {
      const eager = make();
      const other = eager.clone();
      const shape = eager instanceof nn.Linear ? [4, eager.inputs] : eager instanceof nn.Conv2d ? [1, 2, 3, 3] : [1, 2, 3];
      const train = (layer: AnyLayer): ((x: dx.Tensor) => dx.Tensor) => {
        const optimizer = dx.optim.sgd(layer.parameters(), { lr: 0.1 });
        return (x) => {
          const loss = (layer(x) as dx.Tensor).square().mean();
          loss.backward();
          optimizer.step();
          optimizer.zeroGrad();
          return loss;
        };
      };
      const step = train(eager);
      const compiled = dx.compile(train(other));
      for (let call = 0; call < 3; call++) {
        const x = dx.rand(shape, { generator: new dx.Generator(call) });
        close(numbers(compiled(x)), numbers(step(x)));
      }
      eager.parameters().forEach((p, i) => {
        close(numbers(other.parameters()[i]!), numbers(p));
      });
      compiled.dispose();
    },
  );

  test("orthogonal: the value is orthogonal, that of an orthogonal weight itself, batches, also after steps and assignments", () => {
    for (const orthogonalMap of ["matrix_exp", "cayley", "householder"] as const)
      for (const [m, n] of [
        [3, 3],
        [4, 2],
        [2, 4],
      ] as const) {
        // prettier-ignore
        class Batch extends nn.Module {
          weight = new nn.Parameter(dx.randn([2, m, n], { generator: new dx.Generator(m + n) }));
          forward(): dx.Tensor {
            return this.weight;
          }
        }
        const layer = parametrizations.orthogonal(new Batch(), "weight", { orthogonalMap, generator: new dx.Generator(1) });
        const product = (): number[] => {
          const q = layer.weight;
          return numbers(m >= n ? q.transpose(-1, -2).matmul(q) : q.matmul(q.transpose(-1, -2)));
        };
        const identity = numbers(dx.eye(Math.min(m, n)).expand(2, Math.min(m, n), Math.min(m, n)).contiguous());
        close(product(), identity);
        const optimizer = dx.optim.sgd(layer.parameters(), { lr: 0.5 });
        layer().mul(dx.arange(2 * m * n).reshape([2, m, n])).sum().backward(); // prettier-ignore
        optimizer.step();
        close(product(), identity);
        const before = layer.weight.detach();
        layer.weight = before.mul(1) as dx.nn.Parameter;
        close(numbers(layer.weight), numbers(before));
      }
    const without = parametrizations.orthogonal(nn.linear(3, 3), "weight", { useTrivialization: false });
    expect(() => (without.weight = dx.eye(3) as dx.nn.Parameter)).toThrow(/rightInverse/);
  });

  test("spectralNorm: the largest singular value is one; eval leaves the vectors alone; twice before backward", () => {
    const layer = parametrizations.spectralNorm(nn.linear(5, 4), "weight", { nPowerIterations: 30, generator: new dx.Generator(2) });
    expect(dx.linalg.svdvals(layer.weight).amax().itemSync()).toBeCloseTo(1, 4);
    layer(dx.ones([1, 5])).sub(layer(dx.zeros([1, 5]))).sum().backward(); // prettier-ignore
    expect(numbers(layer.parametrizations.weight.original!.grad!)).toHaveLength(20);
    layer.eval();
    const u = (): number[] => numbers(layer.stateDict()["parametrizations.weight.0._u"]!);
    const before = u();
    layer(dx.ones([1, 5]));
    expect(u()).toEqual(before);
    layer.train()(dx.ones([1, 5]));
    expect(layer.parametrizations.weight.at(0).training).toBe(true);
  });
});

eachDevice("parametrize", () => {
  test("the original is the same parameter; assignment, isParametrized, removal with and without the value", () => {
    const layer = nn.linear(2, 2);
    const { weight } = layer;
    dx.noGrad(() => weight.copy_(dx.tensor([[1, 2], [3, 4]]))); // prettier-ignore
    expect(parametrize.isParametrized(layer)).toBe(false);
    const made = register(layer, "weight", new Log());
    expect(made).toBe(layer);
    expect(made.parametrizations.weight.original).toBe(weight);
    expect([parametrize.isParametrized(layer), parametrize.isParametrized(layer, "weight"), parametrize.isParametrized(layer, "bias")]).toEqual([true, true, false]); // prettier-ignore
    close(numbers(layer.weight), [1, 2, 3, 4]);
    close(numbers(weight), [1, 2, 3, 4].map(Math.log));
    expect(layer.parameters()).toContain(weight);
    layer.weight = dx.tensor([[5, 6], [7, 8]]) as dx.nn.Parameter; // prettier-ignore
    close(numbers(layer.weight), [5, 6, 7, 8]);
    layer(dx.ones([1, 2]))
      .sum()
      .backward();
    close(numbers(weight.grad!), [5, 6, 7, 8]);
    parametrize.removeParametrizations(layer, "weight");
    expect(layer.weight).toBe(weight);
    close(numbers(weight), [5, 6, 7, 8]);
    expect(Object.keys(layer.stateDict())).toEqual(["bias", "weight"]);
    register(layer, "weight", new Log());
    parametrize.removeParametrizations(layer, "weight", { leaveParametrized: false });
    close(numbers(layer.weight), [5, 6, 7, 8].map(Math.log));
    expect("parametrizations" in layer).toBe(false);
  });

  test("parameters of a parametrization learn; modes, devices, dtypes, functionalCall, summary, hooks, JSON", () => {
    const net = nn.sequential(register(nn.linear(2, 3), "weight", new Scale()), nn.relu());
    expect(net.parameters()).toHaveLength(3);
    net(dx.ones([1, 2]))
      .sum()
      .backward();
    for (const p of net.parameters()) expect(p.grad).not.toBeNull();
    net.eval();
    for (const m of net.modules()) expect(m.training).toBe(false);
    const state = { "0.parametrizations.weight.original": dx.ones([3, 2], { requiresGrad: true }), "0.bias": dx.zeros([3]) };
    const y = nn.functionalCall(net, state, dx.ones([1, 2]));
    expect(numbers(y)).toEqual([4, 4, 4]);
    y.sum().backward();
    expect(numbers(state["0.parametrizations.weight.original"].grad!)).toEqual([2, 2, 2, 2, 2, 2]);
    const table = nn.summary(net, [1, 2]);
    expect([table.parameters, table.multiplyAdds]).toEqual([10, 6]);
    expect(String(net)).toContain("ParametrizationList(");
    expect(JSON.stringify(net)).toContain("0.parametrizations.weight.0.factor");
    net.to("float16");
    expect((net(dx.ones([1, 2], { dtype: "float16" })) as dx.Tensor).dtype).toBe("float16");
    net.to("meta");
    expect((net(dx.ones([1, 2], { dtype: "float16", device: "meta" })) as dx.Tensor).shape).toEqual([1, 3]);
  });

  test("buffers are parametrized too, several tensors of a module, and tied ones by one list", () => {
    class Net extends nn.Module {
      readonly a = nn.linear(2, 2);
      constructor() {
        super();
        this.registerBuffer("shift", dx.ones([2]), { persistent: false });
      }
      forward(x: dx.Tensor): dx.Tensor {
        return this.a(x).add((this as unknown as { shift: dx.Tensor }).shift);
      }
    }
    const net = new Net();
    register(net, "shift", new Exp());
    register(net.a, "weight", new Exp());
    register(net.a, "bias", new Exp());
    expect(Object.keys(net.stateDict())).toEqual(["a.parametrizations.weight.original", "a.parametrizations.bias.original"]);
    expect([...net.namedBuffers()].map(([n]) => n)).toEqual(["parametrizations.shift.original"]);
    const y = net(dx.zeros([1, 2]));
    close(
      numbers(y),
      numbers(net.a.bias!).map((v) => v + Math.E),
    );
    parametrize.removeParametrizations(net, "shift");
    parametrize.removeParametrizations(net.a, "bias");
    expect(Object.keys(net.stateDict())).toEqual(["a.bias", "a.parametrizations.weight.original"]);
    close(numbers((net as unknown as { shift: dx.Tensor }).shift), [Math.E, Math.E]);
  });

  test("cached: computed once, again after an assignment, with gradients after a call without, within scopes, in promises", async () => {
    let calls = 0;
    class Counts extends nn.Module {
      forward(x: dx.Tensor): dx.Tensor {
        calls++;
        return x.mul(2);
      }
      rightInverse(x: dx.Tensor): dx.Tensor {
        return x.div(2);
      }
    }
    const layer = register(nn.linear(2, 2), "weight", new Counts());
    const count = (fn: () => void): number => {
      const before = calls;
      fn();
      return calls - before;
    };
    const use = (): dx.Tensor => layer(dx.ones([1, 2]));
    expect(count(() => [use(), use()])).toBe(2);
    expect(count(() => void parametrize.cached(() => parametrize.cached(() => [use(), use(), use()])))).toBe(1);
    expect(count(() => void parametrize.cached(() => [dx.noGrad(use), use(), use()]))).toBe(2);
    expect(count(() => void parametrize.cached(() => [dx.scope(() => void use()), use()]))).toBe(2);
    parametrize.cached(() => {
      use();
      layer.weight = dx.ones([2, 2]) as dx.nn.Parameter;
      close(numbers(layer.weight), [1, 1, 1, 1]);
    });
    parametrize.cached(() => use().add(use()).sum()).backward();
    close(numbers(layer.parametrizations.weight.original!.grad!), [4, 4, 4, 4]);
    const before = calls;
    await parametrize.cached(async () => {
      use();
      await Promise.resolve();
      use();
    });
    expect(calls - before).toBe(1);
    const attention = register(nn.multiheadAttention(2, 1), "in_proj_weight", new Counts());
    const x = dx.ones([2, 1, 2]);
    expect(count(() => void attention(x, x, x))).toBe(1);
    const run = dx.compile((x: dx.Tensor) => parametrize.cached(() => layer(x).add(layer(x))));
    for (let call = 0; call < 3; call++) close(numbers(run(dx.ones([1, 2]).mul(call))), numbers(layer(dx.ones([1, 2]).mul(call)).mul(2)));
    run.dispose();
  });

  test("wrong arguments are typed errors, and change nothing", () => {
    class Flat extends nn.Module {
      forward(x: dx.Tensor): dx.Tensor {
        return x.reshape([-1]);
      }
    }
    class Half extends nn.Module {
      forward(x: dx.Tensor): dx.Tensor {
        return x.to("float16");
      }
    }
    class None extends nn.Module {
      forward(x: dx.Tensor): dx.Tensor {
        return x.rank as never;
      }
    }
    const layer = nn.linear(2, 2);
    expect(() => register(layer, "weigth", new Exp())).toThrow(/weight, bias/);
    expect(() => register(nn.lstm(2, 2), "weight_hh_l0", new Exp())).toThrow(dx.ValueError);
    expect(() => register(layer, "weight", new Flat())).toThrow(dx.ShapeError);
    expect(() => register(layer, "weight", new Half())).toThrow(dx.DTypeError);
    expect(() => register(layer, "weight", new None())).toThrow(dx.DTypeError);
    expect(() => register(layer, "weight", 3 as never)).toThrow(dx.DxError);
    expect(() => parametrize.removeParametrizations(layer, "weight")).toThrow(dx.ValueError);
    expect(Object.keys(layer.stateDict())).toEqual(["weight", "bias"]);
    register(layer, "weight", new Exp());
    expect(() => register(layer, "weight", new Flat())).toThrow(dx.ShapeError);
    expect(() => (layer.weight = dx.ones([2, 2]) as dx.nn.Parameter)).toThrow(/rightInverse/);
    expect(() => (layer.weight = 3 as never)).toThrow(dx.DTypeError);
    expect(layer.parameters()).toHaveLength(2);
    const twice = parametrizations.weightNorm(nn.linear(2, 2));
    expect(() => parametrize.removeParametrizations(twice, "weight", { leaveParametrized: false })).toThrow(dx.ValueError);
    const run = dx.compile((x: dx.Tensor) => (register(nn.identity(), "weight", new Exp()), x.add(1)));
    expect(() => run(dx.ones([1]))).toThrow(dx.TraceError);
    run.dispose();
    expect(() => parametrizations.weightNorm(nn.linear(2, 2), "weight", { dim: 2 })).toThrow(dx.DxError);
    expect(() => parametrizations.weightNorm(nn.relu() as never)).toThrow(dx.ValueError);
    expect(() => parametrizations.spectralNorm(nn.linear(2, 2), "weight", { nPowerIterations: 0 })).toThrow(dx.ValueError);
    expect(() => parametrizations.spectralNorm(nn.linear(2, 2), "weight", { eps: -1 })).toThrow(dx.ValueError);
    expect(() => parametrizations.orthogonal(nn.linear(2, 2), "bias")).toThrow(dx.ShapeError);
    expect(() => parametrizations.orthogonal(nn.linear(2, 2), "weight", { orthogonalMap: "qr" as never })).toThrow(dx.ValueError);
    expect(() => parametrizations.spectralNorm(nn.lazyLinear(2))).toThrow(dx.ValueError);
  });
});
