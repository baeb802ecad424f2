/** A step's results may be written in place before the backward pass, as in PyTorch: its gradients read neither. */
import { test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

/** PyTorch 2.15 in float64, whichever of the results is written: torch.nn.LSTMCell(2, 2) with the parameters below. */
const gradients = {
  x: [0.03996241043723626, -0.15500076718312042, 0.10324246211709862, -0.036837469795807924],
  hidden: [-0.42579016054357394, -0.5130138090168758, -0.2539228396346442, -0.3400653263548284],
  cell: [0.22738969463504144, 0.23102336340282636, 0.46311254039387784, 0.4061540217519414],
};

eachMode("a step of an LSTM", (device, mode) => {
  test.each([
    { cell: false, hidden: false },
    { cell: true, hidden: false },
    { cell: false, hidden: true },
    { cell: true, hidden: true },
  ])("with its results written: %o", (written) =>
    clean(
      device,
      () => {
        const layer = dx.nn.lstmCell(2, 2, { generator: new dx.Generator(0) });
        dx.noGrad(() => {
          for (const [i, p] of layer.parameters().entries())
            p.copy_(dx.arange(p.size, { dtype: "float32" }).mul(0.37).add(i).sin().reshape(p.shape));
        });
        const leaves = [
          [0.5, -1, 2, 0.25],
          [0.1, 0.2, 0.3, -0.4],
          [-0.5, 0.6, 0.7, 0.8],
        ].map((values) => dx.tensor(values).reshape(2, 2));
        const made = mode.run(
          (...args) => {
            const [x, hidden, cell] = args.map((t) => t.detach().requiresGrad_()) as [dx.Tensor, dx.Tensor, dx.Tensor];
            const next = layer.forward(x, { hidden, cell });
            dx.noGrad(() => {
              if (written.cell) next.cell.zero_();
              if (written.hidden) next.hidden.fill_(3);
            });
            const sum = next.hidden
              .mul(dx.tensor([1, 2]))
              .sum()
              .add(next.cell.sum().mul(0.5));
            return dx.grad(sum, [x, hidden, cell]);
          },
          ...leaves,
        );
        Object.values(gradients).forEach((want, i) => expectClose(made[i]!.reshape(-1), want));
      },
      { collect: true },
    ),
  );
});
