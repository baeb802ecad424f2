/** The complex tensor's methods: those of arithmetic, and the tensor's own that move elements, on both parts. */
import type { TapeNode } from "../autograd/tape.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import { DTypeError } from "../core/errors.ts";
import { formatComplex, formatComplexSync, inspected, installPrinting, printComplex, type PrintOptions } from "../core/print.ts";
import type { Tensor } from "../core/tensor.ts";
import "../ops/index.ts";
import { transpose } from "../ops/shape/movement.ts";
import * as arithmetic from "./arithmetic.ts";
import { backward, gradOf, requiresGrad_, type ComplexBackwardOptions } from "./autograd.ts";
import * as reading from "./data.ts";
import * as elementary from "./elementary.ts";
import { conj, conjPhysical, resolveConj, resolveNeg, viewAsReal } from "./make.ts";
import { forms } from "./methods.generated.ts";
import { moving, parting, type Moving, type MovingMethods } from "./moving.ts";
import { fromPairs, fromParts, ofPairs } from "./pairs.ts";

/** The types of its own methods; what runs are the generated forms, which check their arguments, and of those in PLAIN these themselves. */
const own = {
  ...arithmetic,
  ...elementary,
  ...reading,
  conj: (z: ComplexTensor): ComplexTensor => conj(z),
  conjPhysical: (z: ComplexTensor): ComplexTensor => conjPhysical(z),
  resolveConj: (z: ComplexTensor): ComplexTensor => resolveConj(z),
  resolveNeg: (z: ComplexTensor): ComplexTensor => resolveNeg(z),
  viewAsReal,
  requiresGrad_,
  backward: (z: ComplexTensor, options?: ComplexBackwardOptions): void => backward(z, options),
  format: (z: ComplexTensor, options?: PrintOptions): Promise<string> => formatComplex(z, options),
  formatSync: (z: ComplexTensor, options?: PrintOptions): string => formatComplexSync(z, options),
  print: (z: ComplexTensor, options?: PrintOptions): Promise<void> => printComplex(z, options),
};

/** Without arguments to check. */
const PLAIN = ["conj", "conjPhysical", "resolveConj", "resolveNeg"] as const;

/** Operations that apply to both parts alike and compute new ones. */
const EACH = ["repeat", "tile", "repeatInterleave", "roll", "gather", "tril", "triu"] as const;

type Methods = {
  [K in keyof typeof own]: (typeof own)[K] extends (z: never, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never;
};
type Each = { [K in (typeof EACH)[number]]: (...args: Parameters<Tensor[K]>) => ComplexTensor };
declare module "../core/complex-tensor.ts" {
  interface ComplexTensor extends Methods, Each, MovingMethods {
    /** What backward() has added up: dL/dreal + i dL/dimag; null before. */
    readonly grad: ComplexTensor | null;
  }
}

type AnyFunction = (...args: unknown[]) => unknown;
const install = (name: string, value: (this: ComplexTensor, ...args: unknown[]) => unknown): void =>
  void Object.defineProperty(ComplexTensor.prototype, name, { value, writable: true, configurable: true });

for (const name of PLAIN)
  install(name, function () {
    return own[name](this);
  });
for (const [name, form] of Object.entries(forms satisfies Record<Exclude<keyof typeof own, (typeof PLAIN)[number]>, unknown>))
  install(name, form as unknown as AnyFunction);
const ofPart = (t: Tensor, name: string, args: readonly unknown[]): unknown =>
  (t as unknown as Record<string, AnyFunction>)[name]!(...args);
for (const name of EACH)
  install(name, function (...args) {
    return fromParts(ofPart(this.re, name, args) as Tensor, ofPart(this.im, name, args) as Tensor);
  });
for (const [name, move] of Object.entries(moving) as [string, Moving][])
  install(name, function (...args) {
    const moved = ofPairs(this, (pairs) => ofPart(pairs, ...move(this, args)) as Tensor);
    // diagonal() appends its axis after that of the pairs.
    return name === "diagonal" ? ofPairs(moved, (pairs) => transpose(pairs, -2, -1)) : moved;
  });
for (const [name, move] of Object.entries(parting) as [string, Moving][])
  install(name, function (...args) {
    return (ofPart(this.pairs, ...move(this, args)) as Tensor[]).map((t) => fromPairs(t, this.isConj));
  });
Object.defineProperty(ComplexTensor.prototype, "grad", {
  get(this: ComplexTensor) {
    return gradOf(this);
  },
  configurable: true,
});

/** What operations on real tensors check first: a complex tensor is refused by name. */
for (const name of ["desc", "storage"])
  Object.defineProperty(ComplexTensor.prototype, name, {
    get(this: ComplexTensor) {
      const hint = "Complex numbers have methods of their own: docs/fft.md.";
      throw new DTypeError("operation", "operand", "a real tensor", this.describe(), hint);
    },
  });

const history = ({ node }: { readonly node: TapeNode | null }): string => (node === null ? "" : `, gradFn=<${node.name}>`);
/** "ComplexTensor complex64[2, 3] on dml:0": what is known without reading the elements. */
const summary = (z: ComplexTensor): string =>
  `ComplexTensor ${z.describe()} on ${z.device}${history(z.pairs) || (z.requiresGrad ? ", requiresGrad" : "")}${z.isDisposed ? ", disposed" : ""}`;
installPrinting(
  ComplexTensor.prototype,
  summary,
  (z: ComplexTensor, isInner) => inspected(summary(z), [z.pairs], () => formatComplexSync(z), isInner),
  "a.add(b) for +, sub -, mul *, div /, pow **, neg and positive for one operand, eq ==, ne !=",
);
