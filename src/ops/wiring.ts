/** What lower layers need of the operations, which they may not import. */
import { noGrad } from "../autograd/grad-mode.ts";
import { arithmetic } from "../autograd/backward.ts";
import { setZeros } from "../autograd/function.ts";
import { means } from "../autograd/gradcheck.ts";
import { assign } from "../dispatch.ts";
import * as printing from "../print.ts";
import { Tensor } from "../tensor.ts";
import * as binary from "./binary.ts";
import * as creation from "./creation.ts";
import * as data from "./data.ts";
import * as join from "./join.ts";
import * as movement from "./movement.ts";
import * as state from "./state.ts";

arithmetic.add = binary.add;
arithmetic.accumulate = (a, b) => void assign("backward", a, () => binary.add(a, b));
arithmetic.onesLike = (t) => creation.onesLike(t);
arithmetic.zeros = (like, spec) => creation.zeros(spec.shape, { dtype: spec.dtype, device: like.device });
arithmetic.detach = (t) => new Tensor(t.storage, t.desc, t.offset);

setZeros((t) => creation.zerosLike(t));
means.data = data.dataSync;
means.tensor = (values, like) => creation.tensor(values, { shape: like.shape, device: like.device });
printing.setPrinter(
  (t, edgeItems) =>
    noGrad(() =>
      t.shape.reduce(
        (part, n, axis) =>
          n > 2 * edgeItems
            ? join.cat([movement.narrow(part, axis, 0, edgeItems), movement.narrow(part, axis, n - edgeItems, edgeItems)], axis)
            : part,
        state.detach(t),
      ),
    ),
  async (t) => data.values(t.dtype, await data.data(t)),
  (t) => data.values(t.dtype, data.dataSync(t)),
);
