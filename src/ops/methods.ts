/** The tensor's methods, made of what the families list. */
import { backward, type BackwardOptions } from "../autograd/backward.ts";
import { assign } from "../dispatch.ts";
import * as printing from "../print.ts";
import { Tensor } from "../tensor.ts";
import * as families from "./families.generated.ts";

const methods = { ...families.methods, ...printing.methods };
/** In-place forms: the tensor takes the operation's value, which must have its shape and dtype. */
const { inPlaceMethods } = families;

// The first parameter is inferred, not named: naming Tensor here would make its type depend on itself.
type Methods = {
  [K in keyof typeof methods]: (typeof methods)[K] extends (x: infer _X, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};
type InPlaceMethods = {
  [K in keyof typeof inPlaceMethods]: (typeof inPlaceMethods)[K] extends (x: infer _X, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

declare module "../tensor.ts" {
  interface Tensor extends Methods, InPlaceMethods {
    /** Adds gradients to the leaves that this scalar (or, with `gradient`, tensor) depends on. */
    backward(options?: BackwardOptions): void;
  }
}

type AnyFunction = (...args: unknown[]) => unknown;

for (const [name, fn] of Object.entries({ ...methods, ...families.overloaded }) as [string, AnyFunction][]) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return fn(this, ...args);
    },
    writable: true,
    configurable: true,
  });
}
for (const [name, fn] of Object.entries(inPlaceMethods) as [string, AnyFunction][]) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return assign(name, this, () => fn(this, ...args) as Tensor);
    },
    writable: true,
    configurable: true,
  });
}
Object.defineProperty(Tensor.prototype, "backward", {
  value(this: Tensor, options?: BackwardOptions) {
    backward(this, options);
  },
});
printing.installPrinting(Tensor.prototype);
