/** The tensor's methods, made of what the families list. */
import { ValueError } from "../errors.ts";
import { backward, type BackwardOptions } from "../autograd/backward.ts";
import * as printing from "../print.ts";
import { Tensor } from "../tensor.ts";
import type * as families from "./families.generated.ts";
import { forms } from "./methods.generated.ts";

type Listed = typeof families.methods & typeof printing.methods;
/** In-place forms: the tensor takes the operation's value, which must have its shape and dtype. */
type ListedInPlace = typeof families.inPlaceMethods;

// The first parameter is inferred, not named: naming Tensor here would make its type depend on itself.
type Methods = {
  [K in keyof Listed]: Listed[K] extends (x: infer _X, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never;
};
type InPlaceMethods = {
  [K in keyof ListedInPlace]: ListedInPlace[K] extends (x: infer _X, ...rest: infer Rest) => infer Result
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

for (const [name, fn] of Object.entries(printing.methods) as [string, AnyFunction][])
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return fn(this, ...args);
    },
    writable: true,
    configurable: true,
  });
for (const [name, value] of Object.entries(forms))
  Object.defineProperty(Tensor.prototype, name, { value, writable: true, configurable: true });
Object.defineProperty(Tensor.prototype, "backward", {
  value(this: Tensor, options: BackwardOptions = {}) {
    if (typeof options !== "object" || options === null) throw new ValueError("backward", "options", "an object of options", options);
    backward(this, options);
  },
});
printing.installPrinting(Tensor.prototype);
