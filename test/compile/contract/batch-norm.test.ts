/** A convolution fused with its batch norm, an addition and an activation stays right after any change between calls. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

interface Form {
  readonly name: string;
  readonly conv: () => dx.nn.Module & { forward(x: dx.Tensor): dx.Tensor };
  readonly channels: number;
  readonly results: number;
  readonly affine?: boolean;
  readonly x?: readonly number[];
}

const forms: readonly Form[] = [
  { name: "3x3", conv: () => new dx.nn.Conv2d(5, 7, 3, { padding: 1, bias: false }), channels: 5, results: 7 },
  { name: "3x3 with a bias, stride 2", conv: () => new dx.nn.Conv2d(5, 7, 3, { padding: 1, stride: 2 }), channels: 5, results: 7 },
  { name: "1x1", conv: () => new dx.nn.Conv2d(16, 24, 1), channels: 16, results: 24 },
  { name: "depthwise", conv: () => new dx.nn.Conv2d(6, 6, 3, { padding: 1, groups: 6, bias: false }), channels: 6, results: 6 },
  { name: "in groups, not affine", conv: () => new dx.nn.Conv2d(6, 4, 3, { groups: 2 }), channels: 6, results: 4, affine: false },
  { name: "7x7 stride 2", conv: () => new dx.nn.Conv2d(3, 8, 7, { padding: 3, stride: 2, bias: false }), channels: 3, results: 8 },
  { name: "transposed", conv: () => new dx.nn.ConvTranspose2d(4, 6, 3, { stride: 2 }), channels: 4, results: 6 },
  {
    name: "transposed with output padding",
    conv: () => new dx.nn.ConvTranspose2d(4, 6, 3, { stride: 2, padding: 1, outputPadding: 1, groups: 2 }),
    channels: 4,
    results: 6,
  },
  { name: "one dimension", conv: () => new dx.nn.Conv1d(4, 6, 3, { padding: 1 }), channels: 4, results: 6, x: [2, 4, 31] },
];

eachDevice("batch norm behind a convolution", (device) => {
  describe.each(forms)("$name", ({ conv: make, channels, results, affine = true, x: shape = [2, channels, 9, 11] }) => {
    it("agrees with what is not compiled, while statistics, weights and mode change", () => {
      const generator = new dx.Generator(7);
      const random = (of: readonly number[]): dx.Tensor => dx.randn([...of], { device, generator });
      const conv = make().to(device);
      const norm = (shape.length === 3 ? new dx.nn.BatchNorm1d(results, { affine }) : new dx.nn.BatchNorm2d(results, { affine })).to(
        device,
      );
      const run = (x: dx.Tensor, more: dx.Tensor): dx.Tensor[] => {
        const y = norm.forward(conv.forward(x));
        return [dx.relu(y.add(more)), dx.relu(norm.forward(conv.forward(x.neg()))), norm.forward(conv.forward(x.abs())).add(more)];
      };
      const compiled = dx.compile(run);
      const like = dx.noGrad(() => conv.forward(random(shape)).shape);
      const compare = (): void => {
        const x = random(shape);
        const more = random(like);
        const kept = dx.noGrad(() => norm.buffers().map((b) => b.clone()));
        const want = dx.noGrad(() => run(x, more));
        // A training run changes the statistics: both start from the same.
        dx.noGrad(() => norm.buffers().forEach((b, i) => b.copy_(kept[i]!)));
        const got = dx.noGrad(() => compiled(x, more));
        got.forEach((t, i) => expectClose(t, [...want[i]!.dataSync()], { rtol: 1e-4, atol: 1e-4 }));
      };
      norm.eval();
      for (let i = 0; i < 3; i++) compare();
      dx.noGrad(() => {
        norm.runningMean!.copy_(random([results]));
        norm.runningVariance!.copy_(random([results]).square().add(0.1));
      });
      compare();
      dx.noGrad(() => {
        conv.parameters().forEach((p) => p.copy_(random(p.shape)));
        norm.parameters().forEach((p) => p.copy_(random(p.shape)));
      });
      for (let i = 0; i < 2; i++) compare();
      norm.train();
      for (let i = 0; i < 3; i++) compare();
      norm.eval();
      compare();
      compiled.dispose();
    });
  });

  it("is one kernel with an addition and an activation on cpu", () => {
    const conv = new dx.nn.Conv2d(4, 6, 3, { padding: 1, bias: false }).to(device);
    const norm = new dx.nn.BatchNorm2d(6).to(device).eval();
    const f = dx.compile((x: dx.Tensor, more: dx.Tensor) => dx.noGrad(() => dx.relu(norm.forward(conv.forward(x)).add(more))));
    f(dx.randn([2, 4, 8, 8], { device }), dx.randn([2, 6, 8, 8], { device }));
    const { kernels } = f.explain();
    f.dispose();
    expect(kernels.map(({ kernel, nodes }) => [kernel, nodes.map((n) => n.operator)])).toEqual(
      device === "cpu"
        ? [["CONVOLUTION (fused)", ["CONVOLUTION", "BATCH_NORMALIZATION", "ELEMENT_WISE_ADD", "ACTIVATION_THRESHOLDED_RELU"]]]
        : [],
    );
  });
});
