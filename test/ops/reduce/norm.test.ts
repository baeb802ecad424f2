/** norm() of negative orders: values and gradients of PyTorch 2.15 where elements are 0, infinite or NaN; empty tensors. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const ORDERS = [-1, -2, -0.5, -3] as const;

/** Rows of data, the norm of order -1, -2, -0.5 and -3, and its gradient. */
const ROWS = [
  { x: [0, 3, 4], norms: [0, 0, 0, 0], gradients: ORDERS.map(() => [0, 0, 0]) },
  { x: [0, 0, 0], norms: [0, 0, 0, 0], gradients: ORDERS.map(() => [0, 0, 0]) },
  { x: [0, Infinity, 0], norms: [0, 0, 0, 0], gradients: ORDERS.map(() => [0, 0, 0]) },
  { x: [Infinity, 2, Infinity], norms: [2, 2, 2, 2], gradients: ORDERS.map(() => [0, 1, 0]) },
  { x: [-Infinity, Infinity, Infinity], norms: ORDERS.map(() => Infinity), gradients: ORDERS.map(() => [NaN, NaN, NaN]) },
  { x: [NaN, 0, 1], norms: ORDERS.map(() => NaN), gradients: ORDERS.map(() => [NaN, NaN, NaN]) },
  {
    x: [1, -2, 4],
    norms: [0.5714285969734192, 0.8728715777397156, 0.20528315007686615, 0.9570891261100769],
    gradients: [
      [0.3265306353569031, -0.08163265883922577, 0.020408164709806442],
      [0.6650450229644775, -0.08313062787055969, 0.010391328483819962],
      [0.0930100679397583, -0.03288402408361435, 0.011626258492469788],
      [0.8390918970108032, -0.0524432435631752, 0.00327770272269845],
    ],
  },
];

eachMode("norm of a negative order", (device, mode) => {
  test.each(ORDERS)("%s: PyTorch's values and gradients", (p) =>
    clean(
      device,
      () => {
        const at = ORDERS.indexOf(p);
        const x = dx.tensor(ROWS.map((row) => row.x), { requiresGrad: true }); // prettier-ignore
        for (const own of [
          x,
          dx
            .tensor(
              ROWS[0]!.x.map((_, i) => ROWS.map((row) => row.x[i]!)),
              { requiresGrad: true },
            )
            .t(),
        ]) {
          const [y, gradient] = mode.run((t) => {
            const result = dx.norm(t, p, 1);
            return [result, dx.grad(result.sum(), [t])[0]!];
          }, own);
          expectClose(y!, ROWS.map((row) => row.norms[at])); // prettier-ignore
          expectClose(gradient!, ROWS.map((row) => row.gradients[at])); // prettier-ignore
        }
      },
      { collect: true },
    ),
  );

  test("of half precision, of one number, and of the smallest magnitude", () =>
    clean(
      device,
      () => {
        for (const dtype of ["float16", "bfloat16"] as const) {
          const x = dx.tensor([[0, 3, 4], [1, 2, 2]], { dtype }); // prettier-ignore
          expectClose(
            mode.run((t) => dx.norm(t, -2, 1), x),
            [0, Math.sqrt(2 / 3)],
          );
        }
        expectClose(
          mode.run((t) => dx.norm(t, -2), dx.tensor(-3)),
          3,
        );
        expectClose(
          mode.run((t) => dx.norm(t, -2), dx.tensor(0)),
          0,
        );
        expectClose(mode.run((t) => dx.norm(t, -Infinity, 1), dx.tensor([[0, -2], [-3, 2]])), [0, 2]); // prettier-ignore
        expectClose(
          mode.run((t) => dx.linalg.norm(t, -1), dx.tensor([2, 0])),
          0,
        );
      },
      { collect: true },
    ));

  test("no elements have none, and no rows have an empty one", () =>
    clean(
      device,
      () => {
        for (const p of [...ORDERS, -Infinity]) {
          expect(() => mode.run((t) => dx.norm(t, p), dx.zeros([0]))).toThrow(dx.ShapeError);
          expect(() => mode.run((t) => dx.norm(t, p, 1), dx.zeros([2, 0]))).toThrow(dx.ShapeError);
          expect(mode.run((t) => dx.norm(t, p, 1), dx.zeros([0, 2])).shape).toEqual([0]);
        }
        expectClose(
          mode.run((t) => dx.norm(t, 3, 1), dx.zeros([2, 0])),
          [0, 0],
        );
      },
      { collect: true },
    ));
});
