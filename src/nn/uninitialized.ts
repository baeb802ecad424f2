/** Tensors of lazy layers, whose shapes are not known yet. @package */
import { ValueError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { empty } from "../ops/creation/creation.ts";
import type { DeviceLike } from "../core/device.ts";
import { isDType, isFloat, type DType } from "../core/dtype.ts";
import { Parameter } from "./parameter.ts";
import { replace } from "./replace.ts";

const refuse = (t: Tensor, operation: string, argument: string): never => {
  throw new ValueError(operation, argument, "initialized", t.describe(), "Call its lazy layer once, or load its state, first.");
};

/** Every operation asks for this, and refuses it. */
class UninitializedParameter extends Parameter {
  override get isDisposed(): boolean {
    return true;
  }
  override requireLive(operation: string, argument = "tensor"): void {
    refuse(this, operation, argument);
  }
  override describe(): string {
    return `${this.dtype}[uninitialized]`;
  }
}

class UninitializedBuffer extends Tensor {
  override get isDisposed(): boolean {
    return true;
  }
  override requireLive(operation: string, argument = "tensor"): void {
    refuse(this, operation, argument);
  }
  override describe(): string {
    return `${this.dtype}[uninitialized]`;
  }
}

/** Whether a tensor waits for its shape. */
export const isUninitialized = (t: Tensor): boolean => t instanceof UninitializedParameter || t instanceof UninitializedBuffer;

/** The tensor keeps its dtype, and waits on a device for a shape. */
export function uninitialize(t: Tensor, device: DeviceLike | undefined): void {
  outsideScopes(() => {
    replace(t, empty([0], { dtype: t.dtype, device }));
  });
  Object.setPrototypeOf(t, (t instanceof Parameter ? UninitializedParameter : UninitializedBuffer).prototype as object);
}

/** It gets a shape, on a device. Its elements are to be written next. */
export function materialize(t: Tensor, shape: readonly number[], device: DeviceLike = t.device): void {
  Object.setPrototypeOf(t, (t instanceof Parameter ? Parameter : Tensor).prototype as object);
  outsideScopes(() => {
    replace(t, empty(shape, { dtype: t.dtype, device }));
  });
}

/** It waits on another device, or in another dtype. */
export function moveUninitialized(t: Tensor, target: DeviceLike | DType): void {
  const dtype = isDType(target) && isFloat(t.dtype) ? target : t.dtype;
  replace(t, empty([0], { dtype, device: isDType(target) ? t.device : target }));
}
