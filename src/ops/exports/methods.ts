/** The tensor's methods, from the families' lists. */
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { BackwardOptions } from "../../autograd/backward.ts";
import type { format } from "../../core/print.ts";
import { formatSync, inspected, installPrinting, summary, type print } from "../../core/print.ts";
import { Tensor } from "../../core/tensor.ts";
import { toArraySync } from "../data/conversion.ts";
import { permute, select } from "../shape/movement.ts";
import type * as families from "./families.generated.ts";
import { forms } from "./methods.generated.ts";

type Listed = typeof families.methods & { format: typeof format; formatSync: typeof formatSync; print: typeof print };
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

declare module "../../core/tensor.ts" {
  interface Tensor extends Methods, InPlaceMethods {
    /** Adds gradients to the leaves that this scalar (or, with `gradient`, tensor) depends on. */
    backward(options?: BackwardOptions): void;
    /** The axes in the opposite order. Reference: torch.Tensor.T. */
    readonly T: Tensor;
    /** The parts along the first axis, one after the other: `for (const row of x)`. Throws ShapeError for a scalar. */
    [Symbol.iterator](): Generator<Tensor, void, undefined>;
    /** What JSON.stringify() writes: dtype, shape and elements (blocking); 64-bit integers as text, NaN and infinities as null. */
    toJSON(): { readonly dtype: string; readonly shape: readonly number[]; readonly data: unknown };
  }
}

for (const [name, value] of Object.entries(forms))
  Object.defineProperty(Tensor.prototype, name, { value, writable: true, configurable: true });
Object.defineProperty(Tensor.prototype, "T", {
  get(this: Tensor) {
    this.requireLive("T");
    return permute(this, ...this.shape.map((_, i) => this.rank - 1 - i));
  },
  configurable: true,
});
/** Properties that a method sets instead of an assignment. */
for (const [name, instead] of [
  ["requiresGrad", "x.requiresGrad_()"],
  ["shape", "x.reshape(...)"],
  ["dtype", "x.to(dtype)"],
  ["device", "x.to(device)"],
] as const)
  Object.defineProperty(Tensor.prototype, name, {
    ...Object.getOwnPropertyDescriptor(Tensor.prototype, name),
    set(this: Tensor, value: unknown) {
      throw new ValueError("tensor", name, "read, not set", value, `Call ${instead}.`);
    },
  });
function* rowsOf(x: Tensor): Generator<Tensor, void, undefined> {
  x.requireLive("iterator");
  for (let i = 0; i < x.shape[0]!; i++) yield select(x, 0, i);
}
Object.defineProperty(Tensor.prototype, Symbol.iterator, {
  // A scalar is not iterable, rather than one that throws: comparisons of test tools ask first.
  get(this: Tensor): (() => Generator<Tensor, void, undefined>) | undefined {
    return this.rank === 0 ? undefined : () => rowsOf(this);
  },
  configurable: true,
});
/** Their digits must fit into one text of JavaScript's. */
const MAX_WRITTEN = 2 ** 24;
Object.defineProperty(Tensor.prototype, "toJSON", {
  value(this: Tensor) {
    const plain = (v: unknown): unknown => (Array.isArray(v) ? v.map(plain) : typeof v === "bigint" ? String(v) : v);
    if (this.size > MAX_WRITTEN)
      throw new ShapeError("toJSON", "tensor", `of at most ${MAX_WRITTEN} elements`, this.describe(), "save() writes tensors of any size.");
    return { dtype: this.dtype, shape: this.shape, data: plain(toArraySync(this)) };
  },
  writable: true,
  configurable: true,
});
installPrinting(
  Tensor.prototype,
  summary,
  (t: Tensor, isInner) => inspected(summary(t), [t], () => formatSync(t), isInner),
  "a.add(b) for +, sub -, mul *, div /, remainder %, pow **, neg and positive for one operand, eq ==, ne !=, lt <, le <=, gt >, ge >=, bitwiseAnd &, bitwiseOr |, bitwiseXor ^",
);
