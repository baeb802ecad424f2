/** Shaders of the tests on a device, as operations. */
import { afterEach } from "vitest";
import { define } from "../../src/core/definition.ts";
import { dispatch } from "../../src/dispatch/dispatch.ts";
import * as dx from "../../src/index.ts";
import type { DType, Tensor } from "../../src/index.ts";
import { fillCall } from "../../src/shader/dxbc/zero-fill.ts";
import type { Element } from "../../src/shader/ir.ts";
import type { Kernel } from "../../src/shader/kernels/kernel.ts";
import type { Shape } from "../../src/core/shape.ts";

const dtypes: { readonly [E in Element]: DType } = { f32: "float32", f16: "float16", i32: "int32", u32: "uint32" };

export interface Run {
  readonly inputs: { readonly [name: string]: Tensor };
  readonly outputs: { readonly [name: string]: Shape };
  readonly params?: { readonly [name: string]: number };
  /** Outputs begin as zeros. */
  readonly zeros?: boolean;
  /** As Capabilities has it (default: the device's). */
  readonly seesTexels?: boolean;
}

const operations = new WeakMap<Kernel, (run: Run) => Tensor[]>();

function operationOf(kernel: Kernel): (run: Run) => Tensor[] {
  const { source } = kernel.program;
  const outputs = source.buffers.filter((b) => b.isWritable);
  const inputs = source.buffers.filter((b) => !b.isWritable);
  const operation = define<Pick<Run, "outputs" | "params" | "zeros" | "seesTexels">>({
    name: source.name,
    traits: { users: true },
    infer: (_, attrs) => outputs.map((b) => ({ shape: attrs.outputs[b.name]!, dtype: dtypes[b.element] })),
    lower: (g, expressions, attrs, results) => {
      const shapes = Object.fromEntries([
        ...inputs.map((b, i) => [b.name, expressions[i]!.sizes]),
        ...outputs.map((b, i) => [b.name, results[i]!.shape]),
      ]);
      const facts = { shapes, params: attrs.params ?? {} };
      const fills = attrs.zeros === true ? results.map((spec) => fillCall(g.capabilities, spec)) : [];
      const { seesTexels, roundsHalf } = g.capabilities;
      const traits = { seesTexels: attrs.seesTexels ?? seesTexels, roundsHalf };
      const call = kernel.program.call(traits, kernel.groups(facts), facts, {
        fills,
      });
      return g.shader(call, expressions, results.map(({ dtype, shape }) => ({ dtype, sizes: shape }))); // prettier-ignore
    },
    grad: null,
  });
  return ({ inputs: tensors, ...attrs }) => dispatch(operation, inputs.map((b) => tensors[b.name]!), attrs); // prettier-ignore
}

/** The outputs of a kernel, by name. */
export function runKernel(kernel: Kernel, run: Run): { [name: string]: Tensor } {
  let operation = operations.get(kernel);
  if (operation === undefined) operations.set(kernel, (operation = operationOf(kernel)));
  const made = operation(run);
  const names = kernel.program.source.buffers.filter((b) => b.isWritable).map((b) => b.name);
  return Object.fromEntries(names.map((name, i) => [name, made[i]!]));
}

/** After each test DXTENSOR_SHADERS is as it was, and the device, which has read it, is closed. */
export function restoresShaders(device: dx.Device): void {
  const before = process.env.DXTENSOR_SHADERS;
  afterEach(() => {
    if (before === undefined) delete process.env.DXTENSOR_SHADERS;
    else process.env.DXTENSOR_SHADERS = before;
    dx.closeDevice(device);
  });
}
