/** Gives lower layers the operations that they call, since they may not import them. */
import { noGrad } from "../../autograd/grad-mode.ts";
import { arithmetic, type Arithmetic } from "../../autograd/gradient-arithmetic.ts";
import { elementAccess } from "../../autograd/anomaly.ts";
import { randomness } from "../../autograd/checkpoint.ts";
import { dataAccess } from "../../autograd/gradcheck.ts";
import { hostMemory } from "../../autograd/saved-hooks.ts";
import { assign, view } from "../../dispatch/dispatch.ts";
import * as printing from "../../core/print.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import * as binary from "../elementwise/binary.ts";
import * as compare from "../elementwise/compare.ts";
import * as creation from "../creation/creation.ts";
import * as data from "../data/conversion.ts";
import { gatherParts, withParts } from "../index/slice-gradients.ts";
import * as join from "../shape/join.ts";
import * as movement from "../shape/movement.ts";
import { defaultGenerator } from "../random/random.ts";
import * as state from "../data/state.ts";
import { sumTo } from "../declare/support.ts";
import * as where from "../elementwise/where.ts";

Object.assign(arithmetic, {
  add: binary.add,
  accumulate: (a, b) => void assign("backward", a, () => binary.add(a, b)),
  onesLike: (t) => creation.onesLike(t),
  zeros: (like, spec) => creation.zeros(spec.shape, { dtype: spec.dtype, device: like.device }),
  gather: gatherParts,
  addParts: withParts,
  without: (x, mask) => where.where(compare.ne(mask, 0), scalarTensor(x.device, x.dtype, 0), x),
  clone: (t) => state.clone(t),
  detach: (t) => state.detach(t),
  cast: data.toDType,
  sumTo: (t, shape) => sumTo(t, { shape }),
  reshape: (t, shape) => movement.reshape(t, shape),
  stack: (list) => join.stack(list, 0),
  oneHot: ({ size, dtype, device }, index) => {
    const values = new Float32Array(size);
    values[index] = 1;
    return data.toDType(creation.tensor(values, { device }), dtype);
  },
  expand: (t, shape) => movement.expand(t, shape),
  select: (taken, a, b) => where.where(taken, a, b),
  view: (definition, x, attrs) => view(definition, x, attrs),
} satisfies Arithmetic);
dataAccess.data = data.dataSync;
dataAccess.tensor = (values, like) => creation.tensor(values, { shape: like.shape, device: like.device });
elementAccess.hasNaN = (t) => data.values(t.dtype, data.dataSync(t)).some((v) => Number.isNaN(v));
hostMemory.read = data.dataSync;
hostMemory.write = (values, { shape, dtype, device }) => creation.tensor(values, { shape, dtype, device });
randomness.state = () => defaultGenerator().snapshot();
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
  (t, milliseconds) => {
    const { binding, id } = nativeDevice(t.device);
    return binding.doneWithin(id, milliseconds);
  },
);
