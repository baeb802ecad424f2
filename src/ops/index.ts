/** All operations, and the tensor's methods made of them. A new family adds one line to `families` and one to the exports. */
import { arithmetic, backward, type BackwardOptions } from "../autograd/backward.ts";
import { assign } from "../dispatch.ts";
import { Tensor } from "../tensor.ts";
import * as binary from "./binary.ts";
import * as creation from "./creation.ts";
import * as data from "./data.ts";

const families = { ...creation.methods, ...binary.methods, ...data.methods };
/** In-place forms: the tensor takes the operation's value, which must have its shape and dtype. */
const inPlaceFamilies = { ...binary.inPlaceMethods };

// The first parameter is inferred, not named: naming Tensor here would make its type depend on itself.
type Methods = {
  [K in keyof typeof families]: (typeof families)[K] extends (x: infer _X, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never;
};
type InPlaceMethods = {
  [K in keyof typeof inPlaceFamilies]: (typeof inPlaceFamilies)[K] extends (x: infer _X, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never;
};

declare module "../tensor.ts" {
  interface Tensor extends Methods, InPlaceMethods {
    /** Adds gradients to the leaves that this scalar (or, with `gradient`, tensor) depends on. */
    backward(options?: BackwardOptions): void;
  }
}

type AnyFunction = (...args: unknown[]) => unknown;

for (const [name, fn] of Object.entries(families) as [string, AnyFunction][]) {
  Object.defineProperty(Tensor.prototype, name, { value(this: Tensor, ...args: unknown[]) { return fn(this, ...args); }, writable: true, configurable: true });
}
for (const [name, fn] of Object.entries(inPlaceFamilies) as [string, AnyFunction][]) {
  Object.defineProperty(Tensor.prototype, name, { value(this: Tensor, ...args: unknown[]) { return assign(name, this, () => fn(this, ...args) as Tensor); }, writable: true, configurable: true });
}
Object.defineProperty(Tensor.prototype, "backward", { value(this: Tensor, options?: BackwardOptions) { backward(this, options); } });

arithmetic.add = binary.add;
arithmetic.onesLike = (t) => creation.onesLike(t);
arithmetic.zeros = (like, spec) => creation.zeros(spec.shape, { dtype: spec.dtype, device: like.device });
arithmetic.detach = (t) => new Tensor(t.storage, t.desc, t.offset);

export { add, div, mul, sub } from "./binary.ts";
export { empty, emptyLike, full, fullLike, ones, onesLike, tensor, zeros, zerosLike, type TensorData, type TensorOptions } from "./creation.ts";
export { contiguous, data, dataSync, item, itemSync, to, toArray, toArraySync } from "./data.ts";
