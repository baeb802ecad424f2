/** Gradients of gradients through the results of a compiled function: each of three calls agrees with eager calls. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";

type Fn = (...inputs: dx.Tensor[]) => dx.Tensor | readonly dx.Tensor[];
/** Makes what is compiled, and what is done with it in a call: the tensors that it gives are compared. */
type Program = (run: <F extends Fn>(fn: F) => F) => (call: number) => readonly (dx.Tensor | null)[];

const leaf = (data: dx.TensorData): dx.Tensor => dx.tensor(data, { requiresGrad: true });

const first = (y: dx.Tensor, x: dx.Tensor): dx.Tensor => dx.grad(y, [x], { createGraph: true })[0]!;

function same(device: string, program: Program): Promise<void> {
  return clean(
    device,
    () => {
      const compiled: { dispose(): void }[] = [];
      const eager = program((fn) => fn);
      const through = program((fn) => {
        const made = dx.compile(fn as Fn);
        compiled.push(made);
        return made as unknown as typeof fn;
      });
      for (let call = 0; call < 3; call++) {
        const expected = eager(call);
        through(call).forEach((t, i) => {
          const e = expected[i]!;
          expect(t?.requiresGrad).toBe(e?.requiresGrad);
          if (t !== null && e !== null) expectClose(t.detach(), [...e.detach().dataSync()].map(Number));
        });
      }
      for (const f of compiled) f.dispose();
    },
    { collect: true },
  );
}

const cube = dx.defineFunction<[dx.Tensor], dx.Tensor>({
  name: "cube",
  forward: (context, x) => {
    context.saveForBackward(x);
    return x.mul(x).mul(x);
  },
  backward: (context, dy) => dy.mul(context.saved[0]!.square()).mul(3),
});

const programs: Readonly<Record<string, Program>> = {
  "a gradient penalty on an argument": (run) => {
    const w = leaf([1, 2]);
    const f = run((x) => x.mul(w).mul(x).tanh());
    return (i) => {
      const x = leaf([i + 0.5, 0.2 - 0.3 * i]);
      const y = f(x);
      const g = first(y.sum(), x);
      const penalty = g.square().sum();
      penalty.backward();
      return [y, g, penalty, x.grad, w.grad];
    };
  },
  "a gradient penalty that trains a model": (run) => {
    const parameters = [
      leaf([
        [0.3, -0.2],
        [0.1, 0.4],
        [-0.5, 0.2],
      ]),
      leaf([0.1, -0.1, 0.2]),
      leaf([[0.7, -0.3, 0.5]]),
    ] as const;
    const { linear } = dx.nn.functional;
    const optimizer = dx.optim.sgd(parameters, { lr: 0.1 });
    const f = run((x) => linear(linear(x, parameters[0], parameters[1]).tanh(), parameters[2]));
    return (i) => {
      const x = leaf([
        [0.5 + i, 0.2],
        [0.1, -0.4],
      ]);
      const y = f(x);
      const loss = first(y.sum(), x).square().sum().add(y.square().sum());
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return [loss, ...parameters.map((p) => p.clone())];
    };
  },
  "four orders": (run) => {
    const f = run((x) => x.pow(4).add(x.sin()));
    return (i) => {
      const x = leaf([1 + i, 0.5]);
      const orders: dx.Tensor[] = [f(x)];
      for (let k = 0; k < 4; k++) orders.push(first(orders.at(-1)!.sum(), x));
      return orders;
    };
  },
  "where what flows in has a history": (run) => {
    const f = run((x) => x.exp());
    return (i) => {
      const x = leaf([0.1 * i, 0.5]);
      const y = f(x);
      const g = first(y.square().sum(), x);
      g.mul(y).sum().backward();
      return [g, x.grad];
    };
  },
  "of results that are made of each other": (run) => {
    const w = leaf([2, 3]);
    const f = run((x) => {
      const a = x.mul(w).sin();
      return [a, a.mul(a).mul(w)] as const;
    });
    return (i) => {
      const x = leaf([0.1 * i, 0.5]);
      const [a, b] = f(x);
      const [gx, ga] = dx.grad(b.sum().add(a.sum()), [x, a], { createGraph: true });
      gx!.mul(ga!).sum().backward();
      return [gx!, ga!, x.grad, w.grad];
    };
  },
  "of an argument's own history": (run) => {
    const w = leaf([2, 3]);
    const f = run((x) => x.square().mul(w));
    return (i) => {
      const x = leaf([0.1 * i + 1, 0.5]);
      const g = first(f(x.exp()).sum(), x);
      g.square().sum().backward();
      return [g, x.grad, w.grad];
    };
  },
  "with a hook inside": (run) => {
    const f = run((x) => {
      const a = x.square();
      a.registerHook((g) => g.mul(g));
      return a.mul(x);
    });
    return (i) => {
      const x = leaf([0.1 * i + 1, 0.5]);
      const g = first(f(x).sum(), x);
      g.square().sum().backward();
      return [g, x.grad];
    };
  },
  "with a rule of the user's": (run) => {
    const f = run((x) => cube(x.mul(2)).mul(x));
    return (i) => {
      const x = leaf([0.1 * i + 1, 0.5]);
      const g = first(f(x).sum(), x);
      const h = first(g.sum(), x);
      h.sum().backward();
      return [g, h, x.grad];
    };
  },
  "of gradients that backward() leaves": (run) => {
    const f = run((x) => x.pow(3));
    return (i) => {
      const x = leaf([2 + i]);
      f(x).sum().backward({ createGraph: true });
      const g = x.grad!;
      x.grad = null;
      g.sum().backward();
      return [g, x.grad];
    };
  },
  "of results that are changed in place": (run) => {
    const f = run((x) => {
      const y = x.square();
      return [y, y.select(0, 0)] as const;
    });
    return (i) => {
      const x = leaf([3, 4 + i]);
      const [y, v] = f(x);
      v.mul_(x.select(0, 1));
      const g = first(y.sum(), x);
      g.square().sum().backward();
      return [g, x.grad];
    };
  },
  "of operations whose second gradients read more than their first": (run) => {
    const w = leaf([
      [0.3, -0.2],
      [0.5, 0.7],
    ]);
    const f = run((x) => {
      const h = dx.nn.functional.layerNorm(x.matmul(w), [2]);
      const loss = dx.nn.functional.crossEntropy(h, dx.tensor([0, 1], { dtype: "int32" }));
      return loss.add(dx.nn.functional.softmax(h, 1).prod()).add(h.std());
    });
    return (i) => {
      const x = leaf([
        [0.3, 0.4 + i],
        [0.1, -0.7],
      ]);
      const g = first(f(x), x);
      g.square().sum().backward();
      return [g, x.grad, w.grad];
    };
  },
  "that is none: of what is linear": (run) => {
    const w = leaf([2]);
    const f = run((x) => x.mul(3));
    return () => {
      const x = leaf([2]);
      const plain = first(f(x).sum(), x);
      const scaled = first(f(x).mul(w).sum(), x);
      scaled.sum().backward();
      return [plain, scaled, w.grad];
    };
  },
};

eachDevice("the gradient of a gradient through a compiled function", (device) => {
  for (const [name, program] of Object.entries(programs)) test(name, () => same(device, program));

  test("agrees with finite differences", () => {
    const f = dx.compile((x: dx.Tensor, y: dx.Tensor) => x.sin().mul(y).mul(x));
    expect(dx.gradgradcheck((x, y) => f(x!, y!), [leaf([0.3, -0.8]), leaf([1.2, 0.4])])).toBe(true);
    f.dispose();
  });

  test("is refused after what it reads was freed or changed", () => {
    const w = leaf([2]);
    const f = dx.compile((x: dx.Tensor) => x.pow(3).mul(w).mul(w));
    const x = leaf([2]);
    const g = first(f(x).sum(), x);
    g.sum().backward();
    expect(() => g.sum().backward()).toThrow(dx.AutogradError);
    const h = first(f(x).sum(), x);
    dx.noGrad(() => w.add_(1));
    expect(() => h.sum().backward()).toThrow(dx.AutogradError);
    f.dispose();
  });
});
