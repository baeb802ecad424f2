/** Exports what is given, reads it again and compares: what tests of exported files share. */
import { expect } from "vitest";
import * as dx from "../../src/index.ts";
import { expectClose, toleranceOf } from "../tolerance.ts";
import { tensorsOf, type Source } from "./export-cases.ts";

/** Exports, reads again and compares, for each size. */
export async function agrees(
  source: Source | Pick<dx.nn.Module, "training" | "stateDict">,
  make: (n: number, t: number) => dx.Tensor[],
  dynamicAxes: Readonly<Record<string, Readonly<Record<number, string>>>> = {},
  opset = 17,
): Promise<void> {
  const bytes = await dx.io.onnx.serialize(source, make(2, 6), { dynamicAxes, opset });
  const model = await dx.io.onnx.load(bytes);
  try {
    for (const [n, t] of Object.keys(dynamicAxes).length === 0
      ? [[2, 6] as const]
      : ([
          [2, 6],
          [3, 5],
          [1, 4],
        ] as const)) {
      const args = make(n, t);
      const wanted = tensorsOf(dx.noGrad(() => (source as Source)(...args)));
      const got = Object.values(model.call(Object.fromEntries(args.map((x, i) => [model.inputs[i]!.name, x]))));
      expect(got.map((y) => [y.dtype, y.shape])).toEqual(wanted.map((y) => [y.dtype, y.shape]));
      for (const [i, y] of got.entries())
        expectClose(y, await wanted[i]!.toArray(), y.dtype === "float32" ? { rtol: 1e-4, atol: 1e-5 } : toleranceOf(y.dtype));
    }
  } finally {
    model.dispose();
  }
}
