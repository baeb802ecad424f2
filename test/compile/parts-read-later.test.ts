/** A part of a tensor that an in-place write has made, read by an operation that writes by index and again afterwards. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

type Make = (whole: dx.Tensor) => dx.Tensor;
const parts: Readonly<Record<string, Make>> = {
  "a part": (v) => v.slice(0, 2, 4),
  "a part copied onto itself": (v) => {
    const part = v.slice(0, 2, 4);
    part.copy_(part);
    return part;
  },
  "a part with 1 added": (v) => v.slice(0, 2, 4).add_(1),
  "a part that takes its copy": (v) => {
    const part = v.slice(0, 2, 4);
    return part.copy_(part.clone());
  },
  "the whole with 1 added": (v) => v.add_(1),
  "a column": (v) => v.slice(1, 0, 1).add_(1),
};
type Fold = (x: dx.Tensor, index: dx.Tensor, source: dx.Tensor) => dx.Tensor;
const folds: Readonly<Record<string, Fold>> = {
  "amax without self": (x, i, s) => x.indexReduce(0, i, s, "amax", { includeSelf: false }),
  amax: (x, i, s) => x.indexReduce(0, i, s, "amax"),
  "prod without self": (x, i, s) => x.indexReduce(0, i, s, "prod", { includeSelf: false }),
  "mean without self": (x, i, s) => x.indexReduce(0, i, s, "mean", { includeSelf: false }),
  add: (x, i, s) => x.indexAdd(0, i, s),
  fill: (x, i) => x.indexFill(0, i, 7),
  copy: (x, i, s) => x.indexCopy(0, i.slice(0, 1, 3), s.slice(0, 1, 3)),
};

eachDevice("parts that are read after a write by index", () => {
  for (const [name, part] of Object.entries(parts))
    test(name, () => {
      const index = dx.tensor([0, 0, 1], { dtype: "int64" });
      const steps = Object.values(folds).map((fold) => (b: dx.Tensor, source: dx.Tensor): dx.Tensor[] => {
        const whole = b.mul(0.5);
        const x = part(whole);
        const folded = fold(x, index, source.slice(1, 0, x.shape[1]!));
        return [whole, x, folded, folded.add(x)];
      });
      for (const regions of ["whole", "head", "none"] as const) {
        const compiled = steps.map((step) => dx.compile(step, { regions }));
        for (let call = 0; call < 3; call++) {
          const b = dx.arange(12).reshape([4, 3]).to("float32").add(call);
          const source = dx.arange(9).reshape([3, 3]).to("float32").sub(call);
          const found = compiled.map((f) => f(b, source).map((t) => t.toArraySync()));
          expect(found).toEqual(steps.map((step) => step(b, source).map((t) => t.toArraySync())));
        }
      }
    });
});
