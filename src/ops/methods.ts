/** The tensor's methods, made of the families' own lists. A new family adds one line to its imports and one to `families`. */
import { backward, type BackwardOptions } from "../autograd/backward.ts";
import { assign } from "../dispatch.ts";
import * as printing from "../print.ts";
import { Tensor } from "../tensor.ts";
import * as activation from "./activation.ts";
import * as binary from "./binary.ts";
import * as bits from "./bits.ts";
import * as creation from "./creation.ts";
import * as calculus from "./calculus.ts";
import * as contraction from "./contraction.ts";
import * as diagonals from "./diagonals.ts";
import * as products from "./products.ts";
import * as rearrange from "./rearrange.ts";
import * as windows from "./windows.ts";
import * as nonzero from "./nonzero.ts";
import * as uniques from "./unique.ts";
import * as search from "./search.ts";
import * as compare from "./compare.ts";
import * as data from "./data.ts";
import * as extrema from "./extrema.ts";
import * as division from "./division.ts";
import * as floats from "./floats.ts";
import * as pairs from "./pairs.ts";
import * as elementary from "./elementary.ts";
import * as closeness from "./closeness.ts";
import * as moments from "./moments.ts";
import * as distance from "./distance.ts";
import * as distributions from "./distributions.ts";
import * as gather from "./gather.ts";
import * as indexRows from "./index-rows.ts";
import * as indexing from "./indexing.ts";
import * as join from "./join.ts";
import * as matmul from "./matmul.ts";
import * as orderStatistics from "./order-statistics.ts";
import * as movement from "./movement.ts";
import * as pad from "./pad.ts";
import * as power from "./power.ts";
import * as random from "./random.ts";
import * as ranges from "./ranges.ts";
import * as reduce from "./reduce.ts";
import * as running from "./running.ts";
import * as scan from "./scan.ts";
import * as scatter from "./scatter.ts";
import * as softmax from "./softmax.ts";
import * as special from "./special/index.ts";
import * as sorting from "./sort.ts";
import * as state from "./state.ts";
import * as statistics from "./statistics.ts";
import * as unary from "./unary.ts";
import * as where from "./where.ts";

const families = {
  ...creation.methods,
  ...binary.methods,
  ...data.methods,
  ...unary.methods,
  ...compare.methods,
  ...where.methods,
  ...movement.methods,
  ...reduce.methods,
  ...extrema.methods,
  ...scan.methods,
  ...running.methods,
  ...sorting.methods,
  ...orderStatistics.methods,
  ...ranges.methods,
  ...join.methods,
  ...gather.methods,
  ...scatter.methods,
  ...indexRows.methods,
  ...nonzero.methods,
  ...search.methods,
  ...uniques.methods,
  ...rearrange.methods,
  ...windows.methods,
  ...diagonals.methods,
  ...calculus.methods,
  ...contraction.methods,
  ...products.methods,
  ...pad.methods,
  ...activation.methods,
  ...bits.methods,
  ...indexing.methods,
  ...power.methods,
  ...random.methods,
  ...state.methods,
  ...statistics.methods,
  ...printing.methods,
  ...matmul.methods,
  ...softmax.methods,
  ...distributions.methods,
  ...special.methods,
  ...closeness.methods,
  ...distance.methods,
  ...moments.methods,
  ...division.methods,
};
/** In-place forms: the tensor takes the operation's value, which must have its shape and dtype. */
const inPlaceFamilies = {
  ...scatter.inPlaceMethods,
  ...indexRows.inPlaceMethods,
  ...nonzero.inPlaceMethods,
  ...indexing.inPlaceMethods,
  ...products.inPlaceMethods,
  ...binary.inPlaceMethods,
  ...unary.inPlaceMethods,
  ...where.inPlaceMethods,
  ...activation.inPlaceMethods,
  ...power.inPlaceMethods,
  ...division.inPlaceMethods,
  ...floats.inPlaceMethods,
  ...pairs.inPlaceMethods,
  ...elementary.inPlaceMethods,
  ...special.inPlaceMethods,
};

// The first parameter is inferred, not named: naming Tensor here would make its type depend on itself.
type Methods = {
  [K in keyof typeof families]: (typeof families)[K] extends (x: infer _X, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};
type InPlaceMethods = {
  [K in keyof typeof inPlaceFamilies]: (typeof inPlaceFamilies)[K] extends (x: infer _X, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

declare module "../tensor.ts" {
  interface Tensor extends Methods, InPlaceMethods {
    /** Adds gradients to the leaves that this scalar (or, with `gradient`, tensor) depends on. */
    backward(options?: BackwardOptions): void;
    /** The largest element of all; with an axis, the largest along it and their places. */
    max(): Tensor;
    max(axis: number, options?: extrema.ArgOptions): extrema.Extremes;
    /** The smallest element of all; with an axis, the smallest along it and their places. */
    min(): Tensor;
    min(axis: number, options?: extrema.ArgOptions): extrema.Extremes;
    /** The coordinates of the nonzero elements: a promise, or with `size` that many rows. */
    nonzero(options: nonzero.SizedOptions): Tensor;
    nonzero(options?: nonzero.NonzeroOptions): Promise<Tensor>;
    argwhere(options: nonzero.SizedOptions): Tensor;
    argwhere(options?: nonzero.NonzeroOptions): Promise<Tensor>;
    /** The elements where a mask holds: a promise, or with `size` that many. */
    maskedSelect(mask: Tensor, options: nonzero.MaskedOptions): Tensor;
    maskedSelect(mask: Tensor): Promise<Tensor>;
    /** The median of all elements; with an axis, the medians along it and their places. */
    median(): Tensor;
    median(axis: number, options?: sorting.KthOptions): extrema.Extremes;
    /** The same of the elements that are not NaN. */
    nanmedian(): Tensor;
    nanmedian(axis: number, options?: sorting.KthOptions): extrema.Extremes;
  }
}

type AnyFunction = (...args: unknown[]) => unknown;

for (const [name, fn] of Object.entries({ ...families, ...extrema.overloaded, ...orderStatistics.overloaded, ...nonzero.overloaded }) as [
  string,
  AnyFunction,
][]) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return fn(this, ...args);
    },
    writable: true,
    configurable: true,
  });
}
for (const [name, fn] of Object.entries(inPlaceFamilies) as [string, AnyFunction][]) {
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
