/** Deep copies of modules. @package */
import { noGrad } from "../autograd/grad-mode.ts";
import { AutogradError } from "../core/errors.ts";
import { keep, outsideScopes } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { clone as cloneTensor } from "../ops/data/state.ts";
import { OWN } from "./inner.ts";
import type { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";

/** What has been copied, with its copy: what is held twice is copied once. */
type Copies = Map<object, unknown>;

/** A tensor of its own memory and its own gradient. Throws AutogradError for results of operations. */
function copiedTensor(t: Tensor, copies: Copies): Tensor {
  const known = copies.get(t);
  if (known !== undefined) return known as Tensor;
  if (!t.isLeaf)
    throw new AutogradError({
      operation: "clone",
      argument: "module",
      expected: "a module that holds parameters, buffers and other leaves",
      received: `${t.describe()}, made by ${t.node!.name}`,
      hint: "Hold x.detach() instead.",
    });
  const copy = noGrad(() =>
    outsideScopes(() => {
      const data = cloneTensor(t);
      if (!(t instanceof Parameter)) {
        data.leafRequiresGrad = t.requiresGrad;
        return keep(data);
      }
      const made = new Parameter(data, { requiresGrad: t.requiresGrad });
      data.dispose();
      return made;
    }),
  );
  copies.set(t, copy);
  if (t.grad !== null) copy.grad = copiedTensor(t.grad, copies);
  return copy;
}

/** The value with copies of the modules, tensors, arrays, plain objects, Maps and Sets in it; whatever else it holds is shared. */
function copied(value: unknown, copies: Copies, isModule: (value: object) => value is Module): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return value;
  if (isModule(value)) return copies.get(value) ?? value.clone(copies);
  if (value instanceof Tensor) return copiedTensor(value, copies);
  if (copies.has(value)) return copies.get(value);
  const next = (inner: unknown): unknown => copied(inner, copies, isModule);
  if (Array.isArray(value)) {
    const made: unknown[] = [];
    copies.set(value, made);
    for (const inner of value as unknown[]) made.push(next(inner));
    return made;
  }
  if (value instanceof Map) {
    const made = new Map<unknown, unknown>();
    copies.set(value, made);
    for (const [key, inner] of value) made.set(next(key), next(inner));
    return made;
  }
  if (value instanceof Set) {
    const made = new Set<unknown>();
    copies.set(value, made);
    for (const inner of value) made.add(next(inner));
    return made;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const made: object = Object.create(prototype as object | null) as object;
  copies.set(value, made);
  // What a getter gives belongs to the original.
  for (const key of Reflect.ownKeys(value))
    (made as Record<PropertyKey, unknown>)[key] = next((value as Record<PropertyKey, unknown>)[key]);
  return made;
}

/** Own fields, also those under symbols; accessors as they are. */
function copyFields(from: object, into: object, next: (value: unknown) => unknown, leftOut: ReadonlySet<PropertyKey>): void {
  for (const key of Reflect.ownKeys(from)) {
    if (leftOut.has(key)) continue;
    const descriptor = Object.getOwnPropertyDescriptor(from, key)!;
    Object.defineProperty(into, key, "value" in descriptor ? { ...descriptor, value: next(descriptor.value) } : descriptor);
  }
}

/** Fields and buffers of a module, into one of its class. */
export function copyModule(from: Module, into: Module, copies: Copies, isModule: (value: object) => value is Module): void {
  const { buffers, hooks } = from[OWN];
  const leftOut = new Set<PropertyKey>(buffers.keys());
  if (hooks?.isInstalled === true) leftOut.add("forward");
  copyFields(from, into, (value) => copied(value, copies, isModule), leftOut);
  for (const [name, { tensor, persistent }] of buffers) into.registerBuffer(name, copiedTensor(tensor, copies), { persistent });
}
