/** functionalCall() and clone(): the same module with other tensors, and the same tensors in another module. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

const { nn } = dx;

class Tied extends nn.Module {
  readonly table = nn.embedding(4, 3);
  readonly heads = {
    a: nn.linear(3, 4, { bias: false }),
    list: [nn.linear(3, 2)],
    byName: new Map([["m", nn.linear(3, 2)]]),
    set: new Set([nn.linear(3, 2)]),
  };
  factor = 2;

  constructor() {
    super();
    this.heads.a.weight = this.table.weight;
    this.registerBuffer("shift", dx.ones([1]));
    this.registerBuffer("scratch", dx.zeros([1]), { persistent: false });
  }

  forward(x: dx.Tensor): dx.Tensor {
    const h = this.table(x);
    const [only] = this.heads.set;
    const more = this.heads.list[0]!(h).add(this.heads.byName.get("m")!(h)).add(only!(h));
    return this.heads
      .a(h)
      .sum()
      .add(more.sum())
      .mul(this.factor)
      .add((this as unknown as { shift: dx.Tensor }).shift);
  }
}

eachDevice("functionalCall", () => {
  test("other tensors in fields, arrays, objects, Maps, Sets, lists, recurrent layers and buffers: value and gradients", () => {
    const x = dx.tensor([0, 2, 3], { dtype: "int64" });
    const cases: readonly [dx.nn.Module, dx.Tensor][] = [
      [new Tied(), x],
      [nn.sequential(nn.linear(3, 2), nn.batchNorm1d(2), nn.prelu()), dx.tensor([[1, 2, 3], [-1, 0, 2], [3, -3, 1]])], // prettier-ignore
      [nn.multiheadAttention(4, 2), dx.ones([3, 1, 4])],
      [nn.conv2d(1, 2, 2), dx.ones([1, 1, 3, 3])],
    ];
    for (const [module, input] of cases) {
      const before = Object.fromEntries(Object.entries(module.stateDict()).map(([k, v]) => [k, numbers(v)]));
      const call = (m: dx.nn.Module): dx.Tensor => {
        const y = m instanceof nn.MultiheadAttention ? (m(input, input, input) as { output: dx.Tensor }).output : (m(input) as dx.Tensor);
        return y.sum();
      };
      const other = module.clone();
      for (const p of other.parameters()) dx.noGrad(() => p.add_(0.25));
      const state = Object.fromEntries(Object.entries(module.stateDict()).map(([k, v]) => [k, v.clone()]));
      for (const [k, p] of other.namedParameters()) state[k] = p.detach().clone().requiresGrad_();
      delete state["heads.a.weight"];
      call(other).backward();
      const inputs = module instanceof nn.MultiheadAttention ? [input, input, input] : [input];
      const y = nn.functionalCall(module, state, ...(inputs as [never]));
      const sum = (y instanceof dx.Tensor ? y : (y as { output: dx.Tensor }).output).sum();
      sum.backward();
      for (const [k, p] of other.namedParameters()) expect([k, numbers(state[k]!.grad!)]).toEqual([k, numbers(p.grad!)]);
      for (const p of module.parameters()) expect(p.grad).toBeNull();
      expect(Object.fromEntries(Object.entries(module.stateDict()).map(([k, v]) => [k, numbers(v)]))).toEqual(before);
    }
  });

  test("an exception leaves the module as it was; other names and two tensors of tied weights are refused", () => {
    const m = nn.linear(2, 2);
    const { weight } = m;
    expect(() => nn.functionalCall(m, { weight: dx.ones([2, 2]) }, dx.ones([1, 3]))).toThrow(dx.ShapeError);
    expect(m.weight).toBe(weight);
    expect(() => nn.functionalCall(m, { weigth: dx.ones([2, 2]) }, dx.ones([1, 2]))).toThrow(dx.ValueError);
    const tied = new Tied();
    const x = dx.tensor([1], { dtype: "int64" });
    const [a, b] = [dx.ones([4, 3]), dx.zeros([4, 3])];
    expect(() => nn.functionalCall(tied, { "table.weight": a, "heads.a.weight": b }, x)).toThrow(/tied/);
    const [one, two] = [nn.functionalCall(tied, { "table.weight": a }, x), nn.functionalCall(tied, { "heads.a.weight": a }, x)];
    expect(numbers(one)).toEqual(numbers(two));
  });

  test("compiled, three calls with other weights", () => {
    const m = nn.sequential(nn.linear(2, 3), nn.tanh(), nn.linear(3, 1));
    const names = [...m.namedParameters()].map(([name]) => name);
    for (const check of [true, false]) {
      const body = (x: dx.Tensor, ...weights: dx.Tensor[]): readonly (dx.Tensor | null)[] => {
        const y = nn.functionalCall(m, Object.fromEntries(names.map((name, i) => [name, weights[i]!])), x);
        return [y, ...dx.grad(y.sum(), weights)];
      };
      const run = dx.compile(body, { check });
      const before = m.parameters().map(numbers);
      for (let call = 0; call < 3; call++) {
        const weights = m.parameters().map((p) => p.detach().add(call).requiresGrad_());
        const x = dx.tensor([[1, call]]);
        const [got, want] = [run(x, ...weights), body(x, ...weights)];
        got.forEach((t, i) => {
          numbers(t!).forEach((v, k) => {
            expect(v).toBeCloseTo(numbers(want[i]!)[k]!, 5);
          });
        });
      }
      expect(m.parameters().map(numbers)).toEqual(before);
      run.dispose();
    }
  });
});

eachDevice("clone", () => {
  test("parameters are new leaves with their gradients, buffers copies, tied weights tied, everything found", () => {
    const m = new Tied();
    const x = dx.tensor([0, 2, 3], { dtype: "int64" });
    m(x).backward();
    const c = m.clone();
    expect(c).toBeInstanceOf(Tied);
    expect(c.factor).toBe(2);
    expect(Object.keys(c.stateDict())).toEqual(Object.keys(m.stateDict()));
    expect([...c.namedBuffers()].map(([n]) => n)).toEqual(["shift", "scratch"]);
    expect(c.heads.a.weight).toBe(c.table.weight);
    expect(c.parameters()).toHaveLength(m.parameters().length);
    c.parameters().forEach((p, i) => {
      const own = m.parameters()[i]!;
      expect(p).not.toBe(own);
      expect([p.isLeaf, p.requiresGrad, p instanceof nn.Parameter]).toEqual([true, true, true]);
      expect(numbers(p)).toEqual(numbers(own));
      expect(numbers(p.grad!)).toEqual(numbers(own.grad!));
      expect(p.grad).not.toBe(own.grad);
    });
    expect(numbers(c(x))).toEqual(numbers(m(x)));
    const before = numbers(m.table.weight);
    dx.noGrad(() => c.table.weight.zero_());
    expect(numbers(m.table.weight)).toEqual(before);
  });

  test("every layer with insides of its own: copies compute alike and share no memory", () => {
    const layers: readonly [dx.nn.Module, (m: dx.nn.Module) => dx.Tensor][] = [
      [nn.lstm(2, 3), (m) => (m(dx.ones([2, 1, 2])) as { output: dx.Tensor }).output],
      [nn.gruCell(2, 3), (m) => m(dx.ones([1, 2])) as dx.Tensor],
      [nn.embeddingBag(3, 2), (m) => m(dx.tensor([[0, 1]], { dtype: "int64" })) as dx.Tensor],
      [nn.transformerEncoderLayer(4, 2, { dropout: 0, dimFeedforward: 3 }), (m) => m(dx.ones([2, 1, 4])) as dx.Tensor],
      [nn.zeroPad2d(1), (m) => m(dx.ones([1, 1, 2, 2])) as dx.Tensor],
      [nn.sequential(nn.linear(2, 2), nn.batchNorm1d(2)), (m) => m(dx.tensor([[1, 2], [3, 5]])) as dx.Tensor], // prettier-ignore
      [nn.moduleList([nn.linear(2, 2)]), (m) => (m as dx.nn.ModuleList<dx.nn.Linear>).at(0)(dx.ones([1, 2]))],
      [nn.moduleDict({ a: nn.linear(2, 2) }), (m) => (m as dx.nn.ModuleDict<dx.nn.Linear>).get("a")(dx.ones([1, 2]))],
      [
        new nn.CrossEntropyLoss({ weight: dx.tensor([1, 2]) }),
        (m) => m(dx.tensor([[1, 2]]), dx.tensor([1], { dtype: "int64" })) as dx.Tensor,
      ],
    ];
    for (const [m, run] of layers) {
      const c = m.clone();
      expect(c.constructor).toBe(m.constructor);
      expect(String(c)).toBe(String(m));
      expect(numbers(run(c))).toEqual(numbers(run(m)));
      const own = new Set<object>([...m.parameters(), ...m.buffers()]);
      for (const t of [...c.parameters(), ...c.buffers()]) expect(own.has(t)).toBe(false);
      const want = numbers(run(m.eval()));
      for (const t of [...c.parameters(), ...c.buffers()]) dx.noGrad(() => t.zero_());
      expect(numbers(run(m))).toEqual(want);
    }
  });

  test("hooks go with the copy; results of operations are refused", () => {
    const m = nn.linear(2, 2);
    const seen: object[] = [];
    const handle = m.registerForwardHook((layer) => void seen.push(layer));
    const c = m.clone();
    handle.remove();
    c(dx.ones([1, 2]));
    m(dx.ones([1, 2]));
    expect(seen).toEqual([c]);
    class Holds extends nn.Module {
      made = nn.linear(1, 1).weight.mul(2);
      forward(x: dx.Tensor): dx.Tensor {
        return x;
      }
    }
    expect(() => new Holds().clone()).toThrow(dx.AutogradError);
    expect(() => m.clone(3 as never)).toThrow(dx.ValueError);
  });
});
