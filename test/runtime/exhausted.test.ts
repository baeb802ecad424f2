/**
 * Memory that runs out at any allocation of a program: the result is that of a run without faults, or it is an OutOfMemoryError that
 * leaves everything as it was, so that the same call gives the right result afterwards. On `cpu`, which has faults on demand.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { injectFault } from "../../src/runtime/device-statistics.ts";
import { isWhole } from "../share.ts";

const D = { device: "cpu", dtype: "float32" } as const;
const folder = mkdtempSync(join(tmpdir(), "dxtensor-exhausted-"));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  dx.closeDevice("cpu");
});

type Numbers = readonly number[];
type Result = Numbers | readonly dx.Tensor[];
interface Program {
  /** Computes something; the same call may be made again after an OutOfMemoryError. */
  readonly step: (call: number) => Result | Promise<Result>;
  /** What calls change. */
  readonly state?: () => readonly dx.Tensor[];
}

const list = (...tensors: readonly dx.Tensor[]): readonly dx.Tensor[] => tensors;
const numbersOf = (result: Result): Numbers =>
  result.flatMap((t: number | dx.Tensor) => (typeof t === "number" ? [t] : Array.from(t.to("float32").dataSync() as Float32Array)));
const ramp = (shape: readonly number[], scale = 1): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => ((i * 7) % 23) * scale - 3),
    { ...D, shape },
  );

/** A model of a few parameters, one of them alone in its group. */
function training(make: (model: dx.nn.Module) => dx.optim.Optimizer, isCompiled: boolean): Program {
  const generator = new dx.Generator(3);
  const model = dx.withDevice("cpu", () =>
    dx.nn.sequential(dx.nn.linear(3, 5, { generator }), dx.nn.relu(), dx.nn.linear(5, 2, { generator })),
  );
  const optimizer = make(model);
  const x = ramp([4, 3], 0.1);
  const loss = (scale: number): dx.Tensor => {
    optimizer.zeroGrad();
    const value = model.forward(x).mul(scale).square().mean();
    value.backward();
    optimizer.step();
    return value;
  };
  const run = isCompiled ? dx.compile(loss) : loss;
  return { step: (call) => list(run(1 + call / 4)), state: () => list(...model.parameters()) };
}

const programs: Readonly<Record<string, () => Program>> = {
  "operations in a row": () => {
    const x = ramp([6, 5]);
    return { step: (n) => list(x.mul(2.5).add(x.t().contiguous().t()).sub(n).exp().log().sum(1), x.argmax(1)) };
  },
  "several results": () => {
    const x = ramp([4, 6]);
    return {
      step: (n) => {
        const { values, indices } = dx.topk(x.add(n), 2);
        return list(values, indices, ...x.split(2, 1).map((t) => t.sum(0)));
      },
    };
  },
  "an upload": () => ({
    step: (n) =>
      list(
        dx.tensor(
          Float32Array.from({ length: 300 }, (_, i) => i * n),
          D,
        ),
      ),
  }),
  "a read": () => {
    const x = ramp([6, 5]);
    return { step: (n) => [...(x.dataSync() as Float32Array), x.t().add(n).sum().itemSync() as number] };
  },
  "an upload of several pieces": () => {
    const data = Float32Array.from({ length: 5 << 19 }, (_, i) => i % 1021);
    return {
      step: (n) => {
        const back = dx.tensor(data, D).dataSync();
        return [back.length, back.findIndex((v, i) => v !== data[i]), n];
      },
    };
  },
  "reads without waiting": () => {
    const x = ramp([50]);
    const large = dx.ones([5 << 20], D); // more than is read in one piece
    return {
      step: async (n) => {
        const [a, b] = await Promise.all([x.mul(n).data(), large.data()]);
        return [...(a as Float32Array), (b as Float32Array).length, (b as Float32Array).findIndex((v) => v !== 1)];
      },
    };
  },
  "in place, a whole tensor": () => {
    const x = ramp([7, 3]);
    return {
      step: (n) => {
        x.add_(n);
        return list(x);
      },
      state: () => list(x),
    };
  },
  "in place, a packed part": () => {
    const x = ramp([7, 3]);
    return {
      step: (n) => {
        x.narrow(0, 2, 3).mul_(n + 1);
        return list(x);
      },
      state: () => list(x),
    };
  },
  "in place, a part with gaps": () => {
    const x = ramp([7, 3]);
    return {
      step: (n) => {
        x.select(1, 1).sub_(n);
        return list(x);
      },
      state: () => list(x),
    };
  },
  "a copy within a tensor": () => {
    const x = ramp([8]);
    return {
      step: () => {
        x.narrow(0, 2, 6).copy_(x.narrow(0, 0, 6).clone());
        return list(x);
      },
      state: () => list(x),
    };
  },
  "filled, and of another dtype": () => {
    const x = ramp([5]);
    return {
      step: (n) => {
        x.narrow(0, 1, 2).fill_(n + 0.5);
        x.narrow(0, 3, 1).copy_(dx.full([1], n + 7, { device: "cpu", dtype: "int32" }));
        return list(x);
      },
    };
  },
  gradients: () => {
    const x = ramp([3, 4], 0.2).requiresGrad_();
    return {
      step: (n) => {
        x.grad = null;
        x.matmul(x.t())
          .mul(n + 1)
          .softmax(0)
          .square()
          .sum()
          .backward();
        return list(x.grad!);
      },
      state: () => list(x),
    };
  },
  "gradients through a write": () => {
    const x = ramp([3, 4], 0.2).requiresGrad_();
    return {
      step: (n) => {
        x.grad = null;
        const y = x.mul(2);
        y.select(0, 1).mul_(n + 2);
        y.exp_().sum().backward();
        return list(x.grad!);
      },
    };
  },
  "SGD with momentum": () => training((m) => new dx.optim.SGD(m.parameters(), { lr: 0.05, momentum: 0.9 }), false),
  Adam: () => training((m) => new dx.optim.Adam(m.parameters(), { lr: 0.05 }), false),
  "AdamW in two groups": () =>
    training((m) => {
      const [first, ...others] = m.parameters();
      return new dx.optim.AdamW([{ params: [first!], lr: 0.1 }, { params: others }], { lr: 0.05 });
    }, false),
  "NAdam with other rates before every step": () => {
    const rates = [0.02, 0.01, 0.03];
    let optimizer: dx.optim.NAdam;
    const program = training((m) => (optimizer = new dx.optim.NAdam(m.parameters(), { lr: 0.05 })), false);
    return {
      ...program,
      step: (n) => {
        optimizer.lr = rates[n - 1]!;
        return program.step(n);
      },
    };
  },
  "Rprop with another rate before the first step": () => {
    let optimizer: dx.optim.Rprop;
    const program = training((m) => (optimizer = new dx.optim.Rprop(m.parameters(), { lr: 0.05 })), false);
    optimizer!.lr = 0.02;
    return program;
  },
  "Adam, compiled": () => training((m) => new dx.optim.Adam(m.parameters(), { lr: 0.05 }), true),
  "a compiled function": () => {
    const x = ramp([6, 5]);
    const run = dx.compile(
      (t: dx.Tensor, k: number) =>
        [
          t.mul(k).add(t.sum(0)),
          t
            .t()
            .mul(k * 2)
            .sum(),
        ] as const,
    );
    return { step: (n) => list(...run(x.add(n), n)) };
  },
  "compiled, of other shapes": () => {
    const run = dx.compile((t: dx.Tensor, k: number) => t.mul(k).add(t.sum()));
    return { step: (n) => list(run(ramp([3 + n]), n + 0.25)) };
  },
  "compiled, with state": () => {
    const [a, b] = [ramp([9]), ramp([9], 2)];
    const run = dx.compile((t: dx.Tensor, k: number) => {
      a.add_(t.mul(k));
      const old = b.clone();
      b.copy_(a.sub(b));
      a.narrow(0, 1, 4).copy_(old.narrow(0, 3, 4));
      return a.sum();
    });
    return { step: (n) => list(run(ramp([9], 0.5), n + 1)), state: () => list(a, b) };
  },
  "compiled, with state that lies elsewhere each time": () => {
    const a = ramp([9]);
    const run = dx.compile((t: dx.Tensor) => {
      a.add_(t);
      return a.mul(2);
    });
    return {
      step: () => {
        const next = a.mul(1);
        a.copy_(next);
        a.mul_(1);
        return list(run(ramp([9], 0.5)));
      },
      state: () => list(a),
    };
  },
  "compiled, that writes to its argument": () => {
    const x = ramp([9]);
    const run = dx.compile((t: dx.Tensor, k: number) => {
      t.mul_(k);
      return t.sum();
    });
    return { step: (n) => list(run(x, n + 2)), state: () => list(x) };
  },
  "gradients of a compiled function": () => {
    const x = ramp([3, 4], 0.2).requiresGrad_();
    const run = dx.compile((t: dx.Tensor, k: number) => t.matmul(t.t()).mul(k).softmax(0));
    return {
      step: (n) => {
        x.grad = null;
        run(x, n + 1)
          .square()
          .sum()
          .backward();
        return list(x.grad!);
      },
      state: () => list(x),
    };
  },
  "a file": () => {
    const path = join(folder, "a.safetensors");
    const t = { w: ramp([40, 7]), half: ramp([11]).to("float16") };
    return {
      step: async (n) => {
        const named = { w: t.w.mul(n), half: t.half };
        await dx.io.safetensors.save(path, named);
        const { tensors } = await dx.io.safetensors.load(path, { device: "cpu" });
        return list(tensors.w!, tensors.half!);
      },
    };
  },
  "random numbers": () => {
    const generator = new dx.Generator(5);
    return { step: (n) => list(n === 2 ? dx.randn([7], { ...D, generator }) : dx.rand([40], { ...D, generator })) };
  },
};

const CALLS = 3;

async function reference(make: () => Program): Promise<Numbers[]> {
  dx.closeDevice("cpu");
  const { step } = make();
  const results: Numbers[] = [];
  for (let n = 1; n <= CALLS; n++) results.push(numbersOf(await step(n)));
  return results;
}

/** Of these, whose steps allocate dozens of times, every 32nd allocation fails, of others every twelfth, unless all are asked for. */
const long: ReadonlySet<string> = new Set(
  Object.keys(programs).filter((name) => /Adam|SGD|Rprop|several pieces|without waiting/.test(name)),
);
/** Call, and how many fail: one is asked for again, of more than the tries there are the error is told. The first call makes programs. */
const ways: readonly (readonly [number, number])[] = isWhole
  ? [1, 2, 3].flatMap((at) => [1, 2, 3].map((fail) => [at, fail] as const))
  : [
      [1, 1],
      [2, 3],
    ];

const plan = (succeed: number, fail: number): number => injectFault("cpu", "outOfMemory", succeed, fail);

/** The program with `fail` allocations that fail from the nth on, in its call number `at`. False: it does not allocate that often. */
async function withFault(make: () => Program, expected: readonly Numbers[], at: number, nth: number, fail: number): Promise<boolean> {
  const where = `allocation ${nth} of call ${at}, ${fail} failing`;
  dx.closeDevice("cpu");
  const { step, state } = make();
  for (let n = 1; n < at; n++) expect(numbersOf(await step(n)), `before ${where}`).toEqual(expected[n - 1]);
  const before = state === undefined ? null : numbersOf(state());
  plan(nth, fail);
  let result: Result | null = null;
  let error: unknown = null;
  try {
    result = await step(at);
  } catch (e) {
    error = e;
  }
  const failed = plan(0, 0);
  if (failed === 0) {
    expect(error, `at ${where}`).toBeNull();
    expect(numbersOf(result!), `at ${where}`).toEqual(expected[at - 1]);
    return false;
  }
  if (error !== null) {
    expect(error, `at ${where}`).toBeInstanceOf(dx.OutOfMemoryError);
    expect(fail, `${where}: one that fails is asked for again`).toBeGreaterThan(1);
    if (before !== null) expect(numbersOf(state!()), `state after ${where}`).toEqual(before);
    result = await step(at);
  }
  expect(numbersOf(result!), `at ${where}`).toEqual(expected[at - 1]);
  for (let n = at + 1; n <= CALLS; n++) expect(numbersOf(await step(n)), `call ${n} after ${where}`).toEqual(expected[n - 1]);
  return true;
}

it("a compiled call that memory runs out for has written nothing, for autograd neither", () => {
  dx.closeDevice("cpu");
  const w = ramp([5]);
  const x = ramp([5]).requiresGrad_();
  const change = dx.compile((t: dx.Tensor) => {
    w.add_(t);
    return w.sum();
  });
  change(ramp([5]));
  const y = x.mul(w).sum();
  const before = numbersOf([w]);
  const other = ramp([5], 2);
  plan(0, 1000);
  expect(() => change(other)).toThrow(dx.OutOfMemoryError);
  expect(plan(0, 0)).toBeGreaterThan(0);
  expect(numbersOf([w])).toEqual(before);
  y.backward();
  expect(numbersOf([x.grad!])).toEqual(before);
  change(other);
  expect(numbersOf([w])).toEqual(before.map((v, i) => v + numbersOf([other])[i]!));
});

describe("out of memory at every allocation", () => {
  for (const [name, make] of Object.entries(programs))
    it(
      name,
      async () => {
        const expected = await reference(make);
        let allocations = 0;
        const every = isWhole ? 1 : long.has(name) ? 32 : 12;
        for (const [at, fail] of ways)
          for (let nth = (at - 1) % every; await withFault(make, expected, at, nth, fail); nth += every) allocations++;
        expect(allocations).toBeGreaterThan(0);
      },
      300_000,
    );
});
