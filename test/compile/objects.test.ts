/** Changes of a compiled function to arrays, objects and Maps among its arguments: equal to those of eager calls, in three calls, checked or not. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

/** Everything of a value, with what is the same object twice. */
function plain(value: unknown, seen = new Map<object, number>()): unknown {
  if (typeof value !== "object" || value === null) return typeof value === "function" ? "function" : value;
  if (value instanceof dx.Tensor) return { data: numbers(value.detach()), requiresGrad: value.requiresGrad };
  const at = seen.get(value);
  if (at !== undefined) return { again: at };
  seen.set(value, seen.size);
  if (Array.isArray(value)) return { list: Array.from(value, (v, i) => (i in value ? plain(v, seen) : "hole")) };
  if (value instanceof Map) return { map: [...value].map(([k, v]) => [k, plain(v, seen)]) };
  if (value instanceof dx.ComplexTensor) return { complex: [plain(value.real), plain(value.imag)] };
  return { fields: Object.keys(value).map((k) => [k, plain((value as Record<string, unknown>)[k], seen)]) };
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- programs of users: objects of any form
type Any = any;

const x = (): dx.Tensor => dx.tensor([1, 2]);
const w = dx.tensor([2, 3], { requiresGrad: true });
const shared = { log: [1] };

const CASES: Record<string, [make: () => Any[], fn: (...args: Any[]) => unknown]> = {
  "a number, a list and a new tensor": [
    () => [{ x: x(), count: 0, seen: [] }],
    (o) => {
      o.count++;
      o.seen.push(1);
      o.h = o.x.mul(2);
      return o.h;
    },
  ],
  "fields that are deleted, added and replaced": [
    () => [{ a: 1, b: x(), c: 3 }],
    (o) => {
      delete o.a;
      o.d = 4;
      o.a = o.b.add(1);
      delete o.c;
    },
  ],
  "the order of fields": [
    () => [{ a: 1, b: 2, c: 3 }],
    (o) => {
      delete o.b;
      o.b = 5;
    },
  ],
  "the argument itself as a result": [
    () => [{ x: x() }],
    (o) => {
      o.y = o.x.mul(w);
      return o;
    },
  ],
  "a list that grows and is reordered": [
    () => [[x(), dx.tensor([3, 4]), 5]],
    (l) => {
      l.push(l[0].add(l[1]));
      l.reverse();
      l.length = 6;
      return l.length;
    },
  ],
  "a Map": [
    () => [
      new Map<string, unknown>([
        ["a", x()],
        ["b", 1],
      ]),
    ],
    (m) => {
      m.set("c", m.get("a").mul(3));
      m.delete("b");
      m.set("a", m.get("c"));
    },
  ],
  "objects in objects": [
    () => [{ s: { h: dx.tensor([0, 0]), n: [] }, x: x() }],
    (o) => {
      o.s.h = o.s.h.add(o.x);
      o.s.n.push({ v: o.s.h, k: 1 });
      return [o.s, o];
    },
  ],
  "an object that holds itself": [
    () => {
      const o: Any = { x: x() };
      o.self = o;
      return [o];
    },
    (o) => {
      o.self.y = o.x.mul(2);
      return o.self;
    },
  ],
  "a result that holds itself": [
    () => [x()],
    (t) => {
      const o: Any = { t: t.mul(2) };
      o.o = o;
      return o;
    },
  ],
  "one list twice": [
    () => {
      const list = [x()];
      return [{ p: list, q: list }];
    },
    (o) => {
      o.p.push(1);
      return o.q;
    },
  ],
  "frozen objects": [() => [Object.freeze({ x: x() }), Object.freeze([x(), 2])], (o, l) => [o.x.mul(l[1]), l[0], o]],
  "a write to a frozen object": [
    () => [Object.freeze({ x: x() })],
    (o) => {
      o.y = 1;
    },
  ],
  getters: [
    () => [
      {
        get y() {
          return [1];
        },
        n: 0,
        x: x(),
      },
    ],
    (o) => {
      o.n++;
      return o.x.mul(o.n);
    },
  ],
  "an object that lives outside": [
    () => [{ x: x() }],
    (o) => {
      o.shared = shared;
      return o.shared === shared;
    },
  ],
  "an argument in another": [
    () => [{ x: x() }, dx.tensor([5, 6])],
    (o, y) => {
      o.x.add_(1);
      o.y = y;
    },
  ],
  "numbers that look alike": [
    () => [{ a: 0, b: undefined }],
    (o) => {
      o.a = -0;
      o.b = null;
      o.c = undefined;
      o.d = NaN;
    },
  ],
  "complex numbers": [
    () => [{ z: dx.complex(x(), dx.tensor([3, 4])) }],
    (o) => {
      o.w = o.z.mul(o.z);
      return o.z;
    },
  ],
  "a loss that was followed back": [
    () => [{ x: x() }],
    (o) => {
      o.loss = o.x.mul(w).sum();
      o.loss.backward();
      o.grad = w.grad;
    },
  ],
  "a view and its base": [
    () => [{ x: x() }],
    (o) => {
      o.y = o.x.add(1);
      o.v = o.y.slice(0, 0, 1);
      o.y.add_(1);
    },
  ],
};

eachDevice("an object among the arguments", () => {
  for (const [what, [make, fn]] of Object.entries(CASES))
    it(`keeps what the function makes of it: ${what}`, () => {
      for (const check of [true, false]) {
        const compiled = dx.compile(fn, { check });
        const call = (run: (...args: Any[]) => unknown): unknown => {
          w.grad = null;
          const args = make();
          try {
            const result = run(...args);
            return { args: plain(args), result: plain(result), at: args.indexOf(result) };
          } catch (error) {
            return { args: plain(args), error: (error as Error).name };
          }
        };
        for (let i = 0; i < 3; i++) expect(call(compiled), `call ${i}, check: ${check}`).toEqual(call(fn));
        compiled.dispose();
      }
    });

  it("has real tensors, with a history, and keeps its state from call to call", () => {
    const state: Any = { h: dx.tensor([0, 0]), calls: 0 };
    const f = dx.compile((o: Any, t: dx.Tensor) => {
      o.h = o.h.add(t.mul(w));
      o.calls++;
    });
    for (let i = 0; i < 3; i++) f(state, x());
    expect([numbers(state.h.detach()), state.calls]).toEqual([[6, 18], 3]);
    w.grad = null;
    state.h.sum().backward();
    expect(numbers(w.grad!)).toEqual([3, 6]);
    f.dispose();
  });

  it("is as before when the function throws", () => {
    const o: Any = { t: x(), n: 0, list: [1] };
    const before = [o.t, plain(o)];
    const f = dx.compile((a: Any) => {
      a.n++;
      a.list.push(a.t.mul(2));
      delete a.t;
      throw new RangeError("halfway");
    });
    for (let i = 0; i < 2; i++) expect(() => f(o)).toThrow("halfway");
    expect([o.t, plain(o)]).toEqual(before);
    expect(o.t).toBe(before[0]);
  });

  it("is refused where what changed cannot come out, and where it is too deep", () => {
    const o = {
      get t() {
        return x();
      },
      n: 0,
    };
    const f = dx.compile((a: Any) => {
      a.n++;
      return a.t.mul(2);
    });
    for (let i = 0; i < 2; i++) expect(() => f(o)).toThrow(dx.TraceError);
    const nested = (levels: number): unknown => {
      let list: unknown = [x()];
      for (let i = 1; i < levels; i++) list = [list];
      return list;
    };
    const innermost = dx.compile((a: Any) => {
      let inner = a;
      while (Array.isArray(inner)) inner = inner[0];
      return inner.mul(2);
    });
    for (let i = 0; i < 3; i++) expect(numbers(innermost(nested(900)))).toEqual([2, 4]);
    for (const levels of [1001, 100_000]) {
      expect(() => innermost(nested(levels))).toThrow(dx.ValueError);
      expect(() => dx.compile(() => nested(levels))()).toThrow(dx.ValueError);
    }
  });

  it("has any size, where axes are dynamic", () => {
    const f = dx.compile(
      (o: Any) => {
        o.calls++;
        o.sum = o.t.sum();
        return o.t.mul(2);
      },
      { dynamic: { t: [0] } },
    );
    for (const n of [5, 6, 7]) {
      const o: Any = { t: dx.ones([n]), calls: 0 };
      expect(numbers(f(o))).toEqual(Array<number>(n).fill(2));
      expect([o.calls, ...numbers(o.sum)]).toEqual([1, n]);
    }
    f.dispose();
  });
});
