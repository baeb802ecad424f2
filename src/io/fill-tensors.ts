/** Tensors whose bytes are parts of files. */
import type { Device } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import type { Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { empty } from "../ops/creation/creation.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { Filling } from "../runtime/filling.ts";
import { readParts, type Part, type TransferOptions } from "./parts.ts";

/** A tensor to be made, and where its bytes are. */
export interface Wanted {
  readonly dtype: DType;
  readonly shape: Shape;
  /** The part of a file that gives the tensor's bytes to `write`. */
  readonly part: (write: Part["write"]) => Part;
}

const inOrder = (a: Part, b: Part): number => (a.path === b.path ? a.position - b.position : a.path < b.path ? -1 : 1);

/**
 * Makes tensors, and reads their parts in the order of the files; on "meta" nothing is read. Those that were made are freed if it fails. pipe: the parts are
 * all that a pipe gives, and what requires its end.
 */
export async function fillTensors(
  operation: string,
  device: Device,
  wanted: readonly Wanted[],
  options: TransferOptions,
  pipe?: { readonly requireEnd: () => Promise<void> },
): Promise<readonly Tensor[]> {
  options.signal?.throwIfAborted();
  if (!device.hasElements) return wanted.map(({ dtype, shape }) => empty(shape, { dtype, device }));
  const native = nativeDevice(device, operation);
  const made: Filling[] = [];
  try {
    const parts = wanted.map(({ dtype, shape, part }) => {
      const filling = new Filling(operation, native, dtype, shape);
      made.push(filling);
      return part((offset, bytes) => filling.write(offset, bytes));
    });
    await readParts(operation, parts.sort(inOrder), options, pipe !== undefined);
    await pipe?.requireEnd();
    options.signal?.throwIfAborted();
    return made.map(({ tensor }) => tensor);
  } catch (error) {
    for (const { tensor } of made) tensor.dispose();
    throw error;
  }
}
