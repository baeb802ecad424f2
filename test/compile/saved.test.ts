/** Results that a gradient reads, changed in place: compiled functions refuse the same calls as eager execution. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { RARE } from "../autograd/rare-rows.ts";
import { ROWS, values } from "../autograd/rows.ts";
import { eachDevice } from "../device.ts";
import { share } from "../share.ts";

const NETWORKS = (["lstm", "gru", "rnn"] as const).flatMap((kind) =>
  [{}, { bidirectional: true }, { batchFirst: true }, { numLayers: 2 }, { lengths: [3, 2] }, { projSize: 2 }]
    .filter((o) => kind === "lstm" || !("projSize" in o))
    .map(({ lengths, ...options }: dx.nn.LSTMOptions & { lengths?: number[] }) => {
      const net = (dx.nn[kind] as typeof dx.nn.lstm)(1, 3, options);
      return [`${kind} ${JSON.stringify({ lengths, ...options })}`, (x: dx.Tensor) => net.forward(x, { lengths }).output] as const;
    }),
);
/** As PyTorch 2.15: what its fused LSTM gives is saved. */
const isRefused = (name: string): boolean => /^lstm \{("batchFirst":true|"numLayers":2)?\}$/.test(name);

type Fn = (...inputs: dx.Tensor[]) => dx.Tensor | readonly dx.Tensor[];
const first = (made: dx.Tensor | readonly dx.Tensor[]): dx.Tensor => (Array.isArray(made) ? made[0] : made) as dx.Tensor;
const outcome = (run: () => unknown): string => {
  try {
    run();
    return "taken";
  } catch (e) {
    if (!(e instanceof dx.DxError)) throw e;
    return e.constructor.name;
  }
};

eachDevice("a result that is changed in place before its gradient", () => {
  const agree = (fn: Fn, operands: () => dx.Tensor[]): string => {
    const write = (y: dx.Tensor): unknown => dx.noGrad(() => y.mul_(2));
    const inside = (...args: dx.Tensor[]): readonly (dx.Tensor | null)[] => {
      const y = first(fn(...args));
      write(y);
      return dx.grad(y.sum(), args, { allowUnused: true });
    };
    const eager = outcome(() => inside(...operands()));
    const compiledInside = dx.compile(inside as never) as typeof inside;
    const compiledForward = dx.compile((...args: dx.Tensor[]) => first(fn(...args)));
    for (let call = 0; call < 3; call++) {
      expect(outcome(() => compiledInside(...operands()))).toBe(eager);
      const leaves = operands();
      const y = compiledForward(...leaves);
      const after = outcome(() => {
        write(y);
        y.sum().backward();
      });
      expect(after).toBe(eager);
    }
    return eager;
  };

  // Compiled functions refuse to read how often.
  const rows = [...ROWS, ...RARE].filter(([name]) => name !== "repeatInterleave");
  // Every third, unless all are asked for.
  for (const [name, fn, shapes, low = -1, high = 1] of share(rows, 3))
    test(name, () => {
      agree(fn, () =>
        shapes.map((shape) =>
          dx
            .tensor(
              values(
                shape.reduce((a, b) => a * b, 1),
                low,
                high,
              ),
              { shape },
            )
            .requiresGrad_(),
        ),
      );
    });

  for (const [name, fn] of NETWORKS)
    test(name, () => {
      const seen = agree(fn as Fn, () => [
        dx.tensor(values(6, -1, 1), { shape: name.includes("batchFirst") ? [2, 3, 1] : [3, 2, 1] }).requiresGrad_(),
      ]);
      expect(seen).toBe(isRefused(name) ? "AutogradError" : "taken");
    });
});
