/** What lazy layers share: parameters that get their shapes in the first call of forward(), or from a state that is loaded. @package */
import { noGrad } from "../autograd/grad-mode.ts";
import type { DeviceLike } from "../core/device.ts";
import { modes } from "../core/journal.ts";
import { Tensor } from "../core/tensor.ts";
import { withTracer } from "../core/tracer.ts";
import { zeros } from "../ops/creation/creation.ts";
import { outsideScopes } from "../core/scope.ts";
import { sameShape } from "../core/shape.ts";
import { OWN } from "./inner.ts";
import type { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";
import { replace } from "./replace.ts";
import { isUninitialized, materialize, uninitialize } from "./uninitialized.ts";

const LAZY: unique symbol = Symbol("dxtensor.lazy");

/** How a lazy layer finds the length that it was made without. */
export interface LazyRules {
  /** The lazy class, and what instances of it become. */
  readonly classes: readonly [lazy: { readonly prototype: object }, eager: { readonly prototype: object }];
  /** Shapes of its parameters and buffers by name, for the length. */
  readonly shapes: (length: number) => Readonly<Record<string, readonly number[]>>;
  /** The length that a loaded tensor's shape says; null where it says none. */
  readonly lengthIn: (name: string, shape: readonly number[]) => number | null;
  /** Throws for a length that the layer cannot have, and notes it. */
  readonly settle: (length: number) => void;
  /** Writes the values that a tensor starts with. */
  readonly start: (name: string, t: Tensor, shape: readonly number[]) => void;
}

interface Waiting {
  [LAZY]?: LazyRules;
}

const rulesOf = (module: Module): LazyRules | undefined => (module as Waiting)[LAZY];

/** Own parameters and buffers of the module by name. */
function* ownTensors(module: Module): Generator<[string, Tensor]> {
  for (const [name, member] of module.members()) if (member instanceof Parameter) yield [name, member];
  for (const [name, { tensor }] of module[OWN].buffers) yield [name, tensor];
}

/** The module, which was made on `meta` with some length, waits for the right one on a device. */
export function makeLazy(module: Module, device: DeviceLike | undefined, rules: LazyRules): void {
  const shapes = rules.shapes(1);
  for (const [name, t] of ownTensors(module)) {
    if (Object.hasOwn(shapes, name)) uninitialize(t, device);
    else outsideScopes(() => replace(t, zeros(t.shape, { dtype: t.dtype, device })));
  }
  Object.defineProperty(module, LAZY, { value: rules, configurable: true });
}

/** Whether a module waits for its first call, or a state. */
export const isLazy = (module: Module): boolean => rulesOf(module) !== undefined;

/** The module is as others are from now on. */
function finish(module: Module, { classes: [lazy, eager] }: LazyRules): void {
  delete (module as Waiting)[LAZY];
  modes.changes++;
  // A user's subclass stays what it is.
  if (Object.getPrototypeOf(module) === lazy.prototype) Object.setPrototypeOf(module, eager.prototype);
}

/** Whether layers get shapes on `meta` alone, for a while. */
let isTrial = false;

/**
 * Before forward(): gives parameters and buffers their shapes and first values, also in a function that is being compiled, which finds them as it finds any
 * tensors outside. length: what the input says.
 */
export function initialize(module: Module, length: () => number): void {
  const rules = rulesOf(module);
  if (rules === undefined) return;
  const found = length();
  rules.settle(found);
  const shapes = rules.shapes(found);
  withTracer(null, () =>
    noGrad(() => {
      for (const [name, t] of ownTensors(module)) {
        if (!isUninitialized(t)) continue;
        materialize(t, shapes[name]!, isTrial ? "meta" : t.device);
        if (!isTrial) rules.start(name, t, shapes[name]!);
      }
    }),
  );
  finish(module, rules);
}

/** Runs fn, in which lazy layers get the shapes that their inputs say, on `meta`. Afterwards they wait as before. */
export function onTrial<T>(modules: readonly Module[], fn: () => T): T {
  const waiting = modules.flatMap((module) => {
    const rules = rulesOf(module);
    if (rules === undefined) return [];
    const tensors = [...ownTensors(module)].flatMap(([, t]) => (isUninitialized(t) ? [t] : []));
    return {
      module,
      rules,
      prototype: Object.getPrototypeOf(module) as object,
      // Lengths among them, which are not known yet.
      numbers: Object.entries(module).filter(([, value]) => typeof value === "number"),
      tensors: tensors.map((t) => ({
        t,
        prototype: Object.getPrototypeOf(t) as object,
        before: outsideScopes(() => new Tensor(t.storage, t.desc, t.offset)),
      })),
    };
  });
  const outer = isTrial;
  isTrial = true;
  try {
    return fn();
  } finally {
    isTrial = outer;
    for (const { module, rules, prototype, numbers, tensors } of waiting) {
      for (const { t, prototype: own, before } of tensors) {
        replace(t, before);
        Object.setPrototypeOf(t, own);
      }
      if (isLazy(module)) continue;
      Object.setPrototypeOf(module, prototype);
      Object.assign(module, Object.fromEntries(numbers));
      Object.defineProperty(module, LAZY, { value: rules, configurable: true });
      modes.changes++;
    }
  }
}

/** The shapes that the uninitialized tensors of a state get by being loaded, by name. shapeOf: of what is loaded. */
export function shapesToLoad(
  root: Module,
  shapeOf: (name: string) => readonly number[] | undefined,
): ReadonlyMap<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>();
  for (const [path, module] of root.namedModules()) {
    const rules = rulesOf(module);
    if (rules === undefined) continue;
    const prefix = path === "" ? "" : `${path}.`;
    const own = [...ownTensors(module)].filter(([, t]) => isUninitialized(t));
    const [one, two] = [rules.shapes(1), rules.shapes(2)];
    // A bias has the same length for any input.
    for (const [name] of own) if (sameShape(one[name]!, two[name]!)) shapes.set(prefix + name, one[name]!);
    for (const [name] of own) {
      const loaded = shapeOf(prefix + name);
      const length = loaded === undefined ? null : rules.lengthIn(name, loaded);
      if (length === null) continue;
      const known = rules.shapes(length);
      for (const [each] of own) shapes.set(prefix + each, known[each]!);
      break;
    }
  }
  return shapes;
}

/** After a state was loaded: modules all of whose tensors have shapes are lazy no more. */
export function finishLoaded(root: Module): void {
  for (const module of root.modules()) {
    const rules = rulesOf(module);
    if (rules === undefined) continue;
    const own = [...ownTensors(module)];
    if (own.some(([, t]) => isUninitialized(t))) continue;
    for (const [name, t] of own) {
      const length = Object.hasOwn(rules.shapes(1), name) ? rules.lengthIn(name, t.shape) : null;
      if (length === null) continue;
      rules.settle(length);
      finish(module, rules);
      break;
    }
  }
}
