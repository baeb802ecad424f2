/** Random numbers drawn in regions: the bits are those of the operator, a mask is computed again where it is read, and the state advances. */
import { expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { eachDevice } from "../../../device.ts";

const numbers = (t: dx.Tensor): number[] => ([t.toArraySync()] as unknown[]).flat(10 as 0).map(Number);
const FORMS = ["always", "off"] as const;

eachDevice("draws in regions", (name) => {
  const device = dx.device(name);

  it.each([
    ["float32", [1]],
    ["float32", [7]],
    ["float32", [5, 9]],
    ["float32", [4096]],
    ["float32", [3, 11_000]],
    ["float16", [40_000]],
    ["float16", [33]],
  ] as const)("give the operator's bits: %s of %j", (dtype, shape) => {
    const results = FORMS.map((fuse) => {
      const generator = new dx.Generator(2 ** 40 + 5);
      const f = dx.compile((x: dx.Tensor) => [dx.rand([...shape], { dtype, device, generator }), dx.rand([...shape], { dtype, device, generator }).mul(2), x.neg()] as const, { fuse }); // prettier-ignore
      const all = [1, 2, 3].map((x) => f(dx.full([1], x, { dtype, device })).map(numbers));
      f.dispose();
      return { all, next: numbers(dx.rand([4], { device, generator })) };
    });
    const same = (a: readonly number[], b: readonly number[]): boolean => a.length === b.length && a.every((v, i) => v === b[i]);
    const [by, plain] = results as [(typeof results)[0], (typeof results)[0]];
    by.all.forEach((call, i) => call.forEach((values, k) => expect(same(values, plain.all[i]![k]!)).toBe(true)));
    expect(by.next).toEqual(plain.next);
    const generator = new dx.Generator(2 ** 40 + 5);
    expect(same(by.all[0]![0]!, numbers(dx.rand([...shape], { dtype, device, generator })))).toBe(true);
  });

  it("continue where other counters carry", () => {
    const states = FORMS.map((fuse) => {
      const generator = new dx.Generator(1);
      dx.rand([1], { device, generator });
      generator.setState({ seed: "1", host: "1", devices: { [name]: [2 ** 32 - 3, 2 ** 32 - 1, 2 ** 32 - 1, 7, 9, 10] } });
      const f = dx.compile(() => [dx.rand([10], { device, generator }), dx.rand([30], { device, generator }).mul(3)] as const, { fuse });
      const drawn = f().map(numbers);
      f.dispose();
      return [drawn, [...(generator.currentState.devices[name]!.dataSync() as Uint32Array)]];
    });
    expect(states[0]).toEqual(states[1]);
    expect(states[0]![1]).toEqual([8, 0, 0, 8, 9, 10]);
  });

  it("compute dropout's mask again for the gradient, and store none", () => {
    const size = [64, 100] as const;
    const results = FORMS.map((fuse) => {
      const generator = new dx.Generator(3);
      const f = dx.compile(
        (x: dx.Tensor, w: dx.Tensor) => {
          const leaf = x.detach().requiresGrad_();
          const h = dx.dropout(dx.tanh(leaf), { p: 0.3, generator });
          const y = dx.dropout(dx.tanh(dx.matmul(h, w)), { p: 0.6, generator });
          y.mul(y).sum().backward();
          return [y.detach(), leaf.grad!] as const;
        },
        { fuse },
      );
      const [x, w] = [dx.randn([...size], { device, generator: new dx.Generator(1) }), dx.randn([100, 200], { device, generator: new dx.Generator(2) }).mul(0.1)]; // prettier-ignore
      const all = [1, 2, 3].map(() => f(x, w).map(numbers));
      const { fused, dispatches } = f.explain();
      f.dispose();
      return { all, fused, dispatches, next: numbers(dx.rand([4], { device, generator })) };
    });
    const [by, plain] = results as [(typeof results)[0], (typeof results)[0]];
    by.all.forEach((call, i) => {
      call.forEach((values, k) => expect(Math.max(...values.map((v, j) => Math.abs(v - plain.all[i]![k]![j]!)))).toBeLessThan(1e-4));
      // The same elements are dropped.
      expect(call[0]!.filter((v, j) => (v === 0) !== (plain.all[i]![0]![j] === 0)).length).toBe(0);
    });
    expect(by.all[0]![0]!.every((v, i) => v === by.all[1]![0]![i])).toBe(false);
    expect(by.next).toEqual(plain.next);
    // Of the first mask two, around the products; of the second one two in one region, which draws it once; and the new state.
    expect(by.fused.map(({ nodes }) => nodes.filter((n) => n.operator === "RANDOM_GENERATOR").length)).toEqual([1, 2, 1, 1]);
    expect(by.dispatches).toBe(6);
  });

  it("write the generator's state with an optimizer's update", () => {
    const results = FORMS.map((fuse) => {
      const generator = new dx.Generator(8);
      const weight = new dx.nn.Parameter(dx.full([40, 8], 0.1, { device }));
      const optimizer = new dx.optim.SGD([weight], { lr: 0.1 });
      const step = dx.compile(
        (x: dx.Tensor) => {
          const loss = dx.square(dx.dropout(dx.mul(weight, x), { p: 0.5, generator })).sum();
          loss.backward();
          optimizer.step();
          optimizer.zeroGrad();
        },
        { fuse },
      );
      const x = dx.randn([40, 8], { device, generator: new dx.Generator(2) });
      for (let i = 0; i < 4; i++) step(x);
      const { dispatches } = step.explain();
      step.dispose();
      return { values: numbers(weight), state: [...(generator.currentState.devices[name]!.dataSync() as Uint32Array)], dispatches };
    });
    const [by, plain] = results as [(typeof results)[0], (typeof results)[0]];
    by.values.forEach((v, i) => expect(v).toBeCloseTo(plain.values[i]!, 5));
    expect(by.state).toEqual(plain.state);
    expect(by.state[0]).toBe(4 * 80);
    expect(by.dispatches).toBe(2);
  });

  it("keep the state of the branch that is taken", () => {
    const results = FORMS.map((fuse) => {
      const generator = new dx.Generator(11);
      const f = dx.compile(
        (x: dx.Tensor) => dx.cond(dx.gt(x.sum(), 0), () => dx.dropout(x, { p: 0.5, generator }).mul(2), () => dx.dropout(dx.dropout(x, { p: 0.9, generator }), { p: 0.1, generator })), // prettier-ignore
        { fuse },
      );
      const all = [1, -1, -2, 3].map((v) => numbers(f(dx.full([5, 9], v, { device }))));
      f.dispose();
      return { all, state: [...(generator.currentState.devices[name]!.dataSync() as Uint32Array)] };
    });
    expect(results[0]!.all.map((list, i) => list.every((v, k) => Math.abs(v - results[1]!.all[i]![k]!) < 1e-5))).toEqual([true, true, true, true]); // prettier-ignore
    expect(results[0]!.state).toEqual(results[1]!.state);
    expect(results[0]!.state[0]).toBe(6 * 12);
  });
});
