/** Hooks of modules compared with PyTorch's recorded runs (recorded/hooks.py), eagerly and compiled. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

const { nn } = dx;

type Logged = string | readonly unknown[];

interface Run {
  readonly y: readonly number[];
  readonly x: readonly number[] | null;
  readonly inner: readonly number[];
  readonly outer: readonly number[];
  readonly log: readonly Logged[];
}

const recorded = JSON.parse(readFileSync(new URL("recorded/hooks.json", import.meta.url), "utf8")) as Record<string, Run>;

const linear = (rows: number, columns: number, start: number): dx.nn.Linear => {
  const layer = nn.linear(columns, rows);
  const weight = dx.tensor(
    Array.from({ length: rows * columns }, (_, i) => i * 0.1 + start),
    { shape: [rows, columns] },
  );
  layer.loadStateDict({ weight, bias: dx.tensor(Array.from({ length: rows }, (_, i) => i * 0.2 - start)) });
  return layer;
};

const close = (got: readonly number[], want: readonly number[]): void => {
  expect(got).toHaveLength(want.length);
  got.forEach((v, i) => {
    expect(Math.abs(v - want[i]!)).toBeLessThanOrEqual(2e-5 * (1 + Math.abs(want[i]!)));
  });
};

/** Numbers at any depth. */
const closeDeep = (got: unknown, want: unknown): void => {
  if (typeof want === "number") close([got as number], [want]);
  else if (Array.isArray(want)) {
    expect(got).toHaveLength(want.length);
    want.forEach((w, i) => {
      closeDeep((got as unknown[])[i], w);
    });
  } else expect(got).toEqual(want);
};

type Log = (name: string, ...gradients: readonly (readonly (dx.Tensor | null)[])[]) => void;
type Hooks = (net: dx.nn.Sequential, inner: dx.nn.Linear, outer: dx.nn.Linear, log: Log) => dx.nn.RemovableHandle[];

const forwardHooks: Hooks = (net, inner, outer, log) => [
  inner.registerForwardPreHook((_, [x]) => (log("pre 1"), [x.mul(2)])),
  inner.registerForwardPreHook(() => log("pre 0"), { prepend: true }),
  inner.registerForwardPreHook((_, [x]) => (log("pre 2"), x.add(1))),
  outer.registerForwardHook((_, __, y) => (log("after 1"), y.mul(3))),
  outer.registerForwardHook(() => log("after 2")),
  net.registerForwardHook((_, __, y) => (log("net"), y.sub(1))),
  outer.registerForwardHook((_, __, y) => (log("after 0"), y.add(1)), { prepend: true }),
];

const backwardHooks: Hooks = (_, inner, outer, log) => [
  outer.registerFullBackwardPreHook((__, g) => (log("pre", g), [g[0]!.mul(0.5)])),
  outer.registerFullBackwardHook((__, gi, go) => {
    log("outer", gi, go);
    return gi[0] ? [gi[0].mul(2)] : null;
  }),
  outer.registerFullBackwardHook((__, gi, go) => {
    log("again", gi, go);
  }),
  inner.registerFullBackwardHook((__, gi, go) => {
    log("inner", gi, go);
  }),
];

const runs: readonly [name: string, hooks: Hooks, requiresGrad: boolean][] = [
  ["forward", forwardHooks, true],
  ["backward", backwardHooks, true],
  ["constant", backwardHooks, false],
];

eachDevice("hooks of modules", () => {
  for (const [name, hooks, requiresGrad] of runs) {
    const want = recorded[name]!;
    test(`${name}: PyTorch's values, gradients and order`, () => {
      const [inner, outer] = [linear(3, 2, 0.1), linear(2, 3, -0.2)];
      const net = nn.sequential(inner, nn.tanh(), outer);
      const log: unknown[] = [];
      const handles = hooks(net, inner, outer, (kind, ...all) => {
        log.push(all.length === 0 ? kind : [kind, ...all.map((list) => list.map((t) => (t === null ? null : numbers(t))))]);
      });
      for (let call = 0; call < 3; call++) {
        log.length = 0;
        const x = dx.tensor([[0.5, -1], [2, 0.25]], { requiresGrad }); // prettier-ignore
        const y = call === 1 ? net.forward(x) : net(x);
        y.mul(y).sum().backward();
        close(numbers(y), want.y);
        if (want.x !== null) close(numbers(x.grad!), want.x);
        close(numbers(inner.weight.grad!), want.inner);
        close(numbers(outer.weight.grad!), want.outer);
        closeDeep(log, want.log);
        net.zeroGrad();
      }
      for (const handle of handles) handle.remove();
      handles[0]!.remove();
      log.length = 0;
      const plain = linear(2, 3, -0.2);
      close(numbers(net(dx.ones([1, 2]))), numbers(plain(linear(3, 2, 0.1)(dx.ones([1, 2])).tanh())));
      expect(log).toEqual([]);
      expect(Object.getOwnPropertyDescriptor(net, "forward")).toBeUndefined();
    });

    test.each([true, false])(`${name}, compiled (check: %s): three calls with other data`, (check) => {
      const [inner, outer] = [linear(3, 2, 0.1), linear(2, 3, -0.2)];
      const net = nn.sequential(inner, nn.tanh(), outer);
      const body = (x: dx.Tensor): dx.Tensor[] => {
        const y = net(x);
        y.mul(y).sum().backward();
        const out = [y, inner.weight.grad!.clone(), outer.weight.grad!.clone()];
        net.zeroGrad();
        return out;
      };
      let calls = 0;
      hooks(net, inner, outer, () => {
        calls++;
      });
      const compiled = dx.compile(body, { check });
      for (let call = 0; call < 3; call++) {
        const data = dx.tensor([[0.5 + call, -1], [2, 0.25 - call]]); // prettier-ignore
        const make = (): dx.Tensor => (requiresGrad ? data.clone().requiresGrad_() : data);
        const want = body(make()).map(numbers);
        const got = compiled(make()).map(numbers);
        got.forEach((g, i) => {
          close(g, want[i]!);
        });
      }
      expect(calls).toBeGreaterThan(0);
      compiled.dispose();
    });
  }

  test("a compiled function takes hooks that come and go between its calls", () => {
    const layer = linear(2, 2, 0.5);
    for (const check of [true, false]) {
      const run = dx.compile((x: dx.Tensor) => layer(x), { check });
      const x = dx.ones([1, 2]);
      const plain = numbers(layer(x));
      for (let i = 0; i < 3; i++) expect(numbers(run(x))).toEqual(plain);
      {
        using _ = layer.registerForwardHook((__, ___, y) => y.mul(2));
        for (let i = 0; i < 3; i++)
          close(
            numbers(run(x)),
            plain.map((v) => 2 * v),
          );
      }
      for (let i = 0; i < 3; i++) expect(numbers(run(x))).toEqual(plain);
      run.dispose();
    }
  });

  test("what a module without hooks has: its class's forward()", () => {
    const layer = linear(2, 2, 0);
    expect(Object.hasOwn(layer, "forward")).toBe(false);
    class Own extends nn.Module {
      override forward = (x: dx.Tensor): dx.Tensor => x.mul(2);
    }
    const own = new Own();
    const handle = own.registerForwardHook((_, __, y) => y.add(1));
    expect(numbers(own(dx.ones([1])))).toEqual([3]);
    handle.remove();
    expect(numbers(own(dx.ones([1])))).toEqual([2]);
    expect([...own.namedModules()]).toHaveLength(1);
  });

  test("alwaysCall runs a hook where forward() throws", () => {
    const layer = linear(2, 2, 0);
    const seen: unknown[] = [];
    layer.registerForwardHook((_, __, y) => void seen.push(y), { alwaysCall: true });
    layer.registerForwardHook((_, __, y) => void seen.push("not called", y));
    expect(() => layer(dx.ones([1, 3]))).toThrow(dx.ShapeError);
    expect(seen).toEqual([undefined]);
  });

  test("results of several tensors, by position and by name", () => {
    const cell = nn.lstm(2, 3);
    const seen: (number | null)[] = [];
    cell.registerFullBackwardHook((_, gi, go) => {
      seen.push(...gi.map((g) => g?.size ?? null), go.length);
    });
    cell(dx.ones([4, 1, 2], { requiresGrad: true }))
      .output.sum()
      .backward();
    expect(seen).toEqual([8, 3]);
  });

  test("wrong hooks and wrong results are refused by name", () => {
    const layer = linear(2, 2, 0);
    expect(() => layer.registerForwardHook(3 as never)).toThrow(dx.ValueError);
    layer.registerFullBackwardHook(() => [null, null]);
    expect(() => {
      layer(dx.ones([1, 2], { requiresGrad: true }))
        .sum()
        .backward();
    }).toThrow(dx.AutogradError);
    const other = linear(2, 2, 0);
    other.registerFullBackwardHook(() => [dx.ones([1, 2])]);
    expect(() => {
      other(dx.ones([1, 2]))
        .sum()
        .backward();
    }).toThrow(/nothing where no input/);
  });

  test("state hooks: before and behind stateDict() and loadStateDict()", () => {
    const net = nn.sequential(linear(2, 2, 0), linear(2, 2, 1));
    const log: string[] = [];
    net.registerStateDictPreHook((_, prefix) => void log.push(`pre ${prefix}`));
    net.at(1).registerStateDictPostHook((_, state, prefix) => {
      log.push(`post ${prefix}`);
      delete state[`${prefix}bias`];
    });
    net.registerStateDictPostHook((_, state) => Object.fromEntries(Object.entries(state).map(([k, v]) => [`net.${k}`, v])));
    const state = net.stateDict();
    expect(Object.keys(state).toSorted()).toEqual(["net.0.bias", "net.0.weight", "net.1.weight"]);
    expect(log).toEqual(["pre ", "post 1."]);
    expect(() => net.loadStateDict(state)).toThrow(dx.ValueError);
    net.registerLoadStateDictPreHook((_, loaded) => {
      for (const key of Object.keys(loaded)) {
        loaded[key.replace("net.", "")] = loaded[key]!;
        delete loaded[key];
      }
    });
    expect(() => net.loadStateDict(state)).toThrow(/without 1.bias/);
    const handle = net.registerLoadStateDictPostHook((_, { missing }) => {
      missing.length = 0;
    });
    expect(net.loadStateDict(state)).toEqual({ missing: [], unexpected: [] });
    expect(Object.keys(state)).toContain("net.0.bias");
    handle.remove();
    expect(() => net.loadStateDict(state)).toThrow(/without 1.bias/);
  });
});
