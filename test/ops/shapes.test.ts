import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode } from "../device.ts";
import { gradgradcheck, leaf } from "../gradgrad.ts";
import { expectClose } from "../tolerance.ts";

eachMode("windows, diagonals, slopes and contractions", (device, mode) => {
  test("an einsum of several operands, with repeats, dots and sums", () =>
    clean(
      device,
      () => {
        const [a, b, c] = [leaf([2, 3]).detach(), leaf([3, 4], { from: 3 }).detach(), leaf([4, 2], { from: 7 }).detach()];
        const chain = dx.matmul(dx.matmul(a, b), c);
        expectClose(
          mode.run((x, y, z) => dx.einsum("ij,jk,kl->il", x, y, z), a, b, c),
          chain.toArraySync(),
        );
        expectClose(
          mode.run((x, y, z) => dx.einsum("ij,jk,ki", x, y, z), a, b, c),
          dx.trace(chain).toArraySync(),
        );
        const cube = leaf([2, 3, 3]).detach();
        expectClose(
          mode.run((x) => dx.einsum("...ii->...i", x), cube),
          dx.diagonal(cube, { axis0: 1, axis1: 2 }).toArraySync(),
        );
        expectClose(
          mode.run((x) => dx.einsum("bij->j", x), cube),
          cube.sum([0, 1]).toArraySync(),
        );
        expectClose(
          mode.run((x, y) => dx.einsum("b...,...->b", x, y), cube, leaf([1, 3]).detach()),
          cube
            .mul(leaf([1, 3]).detach())
            .sum([1, 2])
            .toArraySync(),
        );
        expect(() => dx.einsum("ij,jk->iq", a, b)).toThrow(/einsum: equation must be output letters that an operand has \(q is none\)/);
        expect(() => dx.einsum("ij,jk", a, c)).toThrow(/operand 1 must be of length 3 along j/);
      },
      { collect: true },
    ));

  test("windows are views, and a storage is seen as asked", () =>
    clean(
      device,
      () => {
        const x = dx.arange(10, { dtype: "float32" });
        expect(mode.run((t) => t.unfold(0, 4, 3), x).toArraySync()).toEqual([
          [0, 1, 2, 3],
          [3, 4, 5, 6],
          [6, 7, 8, 9],
        ]);
        expect(dx.asStrided(x, [2, 2], [1, 3], 4).toArraySync()).toEqual([
          [4, 7],
          [5, 8],
        ]);
        expect(() => dx.asStrided(x, [3], [5])).toThrow(/within a storage of 10 elements; received a last element at 10/);
      },
      { collect: true },
    ));
});

eachDevice("gradients of windows, diagonals, slopes and contractions", (device) => {
  test("first and second order", () =>
    clean(
      device,
      () => {
        gradgradcheck((x) => x.unfold(0, 3, 1), [leaf([5])]);
        gradgradcheck((x) => dx.asStrided(x, [2, 3], [1, 1], 1), [leaf([2, 3])]);
        gradgradcheck((x) => dx.diagEmbed(x, { offset: -1 }), [leaf([2, 3])]);
        gradgradcheck((x, y) => dx.einsum("ij,jk,kj->i", x, y, dx.mT(y)), [leaf([2, 2]), leaf([2, 3], { from: 5 })]);
        gradgradcheck((x, y) => dx.tensordot(x, y, [[0], [1]]), [leaf([2, 3]), leaf([3, 2], { from: 5 })]);
        gradgradcheck((x, y) => dx.kron(x, y), [leaf([2, 2]), leaf([1, 3], { from: 5 })]);
        gradgradcheck((x, y) => dx.cross(x, y, 1), [leaf([2, 3]), leaf([2, 3], { from: 5 })]);
        gradgradcheck((x) => dx.gradient(x, { edgeOrder: 2 })[0]!, [leaf([5])]);
        gradgradcheck((x, s) => dx.sliceScatter(x, s, 0, 1, 4, 2), [leaf([5]), leaf([2], { from: 5 })]);
        // Nothing of x is left: its gradient is zeros, as in PyTorch.
        const covered = leaf([3]);
        dx.sliceScatter(covered, leaf([3]))
          .sum()
          .backward();
        expect(covered.grad!.toArraySync()).toEqual([0, 0, 0]);
        gradgradcheck((x, s) => dx.diagonalScatter(x, s), [leaf([2, 3]), leaf([2], { from: 5 })]);
        gradgradcheck((x) => dx.vander(x, { n: 3 }), [leaf([3])]);
      },
      { collect: true },
    ));
});

eachDevice("diag", (device) => {
  test("of a matrix is a copy, as PyTorch's, where diagonal is a view", () =>
    clean(
      device,
      () => {
        const x = dx
          .tensor([
            [1, 2],
            [3, 4],
          ])
          .requiresGrad_();
        const [copied, seen] = [dx.diag(x), dx.diagonal(x)];
        copied.mul_(10);
        expect([copied.toArraySync(), seen.toArraySync()]).toEqual([
          [10, 40],
          [1, 4],
        ]);
        copied.sum().backward();
        expect(x.grad!.toArraySync()).toEqual([
          [10, 0],
          [0, 10],
        ]);
        x.dispose();
      },
      { collect: true },
    ));
});
