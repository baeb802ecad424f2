import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";

/** a * b, with a rule of its own. */
const product = dx.defineFunction<[dx.Tensor, dx.Tensor], dx.Tensor>({
  name: "product",
  forward: (context, a, b) => {
    context.saveForBackward(a, b);
    return a.mul(b);
  },
  backward: (context, dy) => [
    context.needsInputGrad[0] ? dy.mul(context.saved[1]!) : null,
    context.needsInputGrad[1] ? dy.mul(context.saved[0]!) : null,
  ],
});

eachDevice("functions with a gradient of their own", (device) => {
  test("compute, and differentiate by their rule", () =>
    clean(
      device,
      () => {
        const a = dx.tensor([1, 2], { requiresGrad: true });
        const b = dx.tensor([3, 4], { requiresGrad: true });
        expectClose(product(a, b), [3, 8]);
        dx.gradcheck(product, [a, b]);
        expect(product(a, b).node?.name ?? "product").toBe("product");
        expect(dx.noGrad(() => product(a, b)).requiresGrad).toBe(false);
        expect(product(a.detach(), b.detach()).requiresGrad).toBe(false);
        const [first] = dx.grad(product(a, product(a, a)).sum(), [a], { createGraph: true });
        expectClose(first!, [3, 12]);
        expectClose(dx.grad(first!.sum(), [a])[0]!, [6, 12]);
      },
      { collect: true },
    ));

  test("several results, arguments that are no tensors, values kept in the context", () =>
    clean(
      device,
      () => {
        const split = dx.defineFunction<[dx.Tensor, number], [dx.Tensor, dx.Tensor, dx.Tensor]>({
          forward: (context, x, factor) => {
            context.factor = factor;
            return [x.mul(factor), x.add(1), x.gt(0)];
          },
          backward: (context, d0, d1) => [d0!.mul(context.factor as number).add(d1!), null],
        });
        const x = dx.tensor([1, -2], { requiresGrad: true });
        const [scaled, moved, positive] = split(x, 5);
        expect(positive.requiresGrad).toBe(false);
        expectClose(dx.grad(dx.add(scaled.mul(10).sum(), moved.sum()), [x])[0]!, [51, 51]);
        // A result that no gradient reaches counts as zeros.
        expectClose(dx.grad(split(x, 5)[1].sum(), [x])[0]!, [1, 1]);
      },
      { collect: true },
    ));

  test("a rule may differ from the true derivative: straight through", () =>
    clean(
      device,
      () => {
        const hard = dx.defineFunction<[dx.Tensor], dx.Tensor>({ forward: (_, x) => x.sign(), backward: (_, dy) => dy });
        const x = dx.tensor([0.3, -2], { requiresGrad: true });
        const y = hard(x);
        expectClose(y, [1, -1]);
        expectClose(dx.grad(y.mul(7).sum(), [x])[0]!, [7, 7]);
        const same = dx.defineFunction<[dx.Tensor], dx.Tensor>({ forward: (_, t) => t, backward: (_, dy) => dy.mul(-1) });
        expectClose(dx.grad(same(x).sum(), [x])[0]!, [-1, -1]);
        expect(x.isLeaf).toBe(true);
      },
      { collect: true },
    ));

  test("wrong rules are refused", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([1, 2], { requiresGrad: true });
        const wrong = (backward: (dy: dx.Tensor) => dx.Tensor | null | (dx.Tensor | null)[]) =>
          dx
            .defineFunction<[dx.Tensor, number], dx.Tensor>({
              name: "wrong",
              forward: (_, t) => t.mul(1),
              backward: (_, dy) => backward(dy),
            })(x, 3)
            .sum();
        expect(() => wrong((dy) => dy).backward()).toThrow(
          "wrong: backward's result must be 2 gradients, one for each argument of forward; received 1.",
        );
        expect(() => wrong((dy) => [dy, dy]).backward()).toThrow(/gradient 1 must be null, since the argument is no tensor/);
        expect(() => wrong((dy) => [dy.sum(), null]).backward()).toThrow(/gradient 0 must be of shape \[2\]; received float32\[\]/);
      },
      { collect: true },
    ));

  test("saved tensors that were changed are an error", () =>
    clean(
      device,
      () => {
        const a = dx.tensor([1, 2], { requiresGrad: true });
        const b = dx.tensor([3, 4]);
        const y = product(a, b).sum();
        b.add_(1);
        expect(() => y.backward()).toThrow(/unchanged since product saved it/);
      },
      { collect: true },
    ));
});
