/** Operations that run on the host by their nature: inputs are read back, which waits for the work queued before. */
import { DTYPES, arrayClass, fromHalf, isFloat } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import type { Definition, HostArray } from "../core/definition.ts";
import type { Desc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { readBytesSync, upload } from "./buffers.ts";
import { nativeDevice, type NativeDevice } from "./devices.ts";
import { noteHost } from "./fallback.ts";
import { engine } from "./lapack/engine.ts";
import { requireReal } from "./traced.ts";

/** The elements in row-major order, whatever the strides. */
function read(operation: string, t: Tensor): HostArray {
  const { shape, strides, dtype } = t.desc;
  const out = isFloat(dtype) ? new Float64Array(t.size) : new Int32Array(t.size);
  if (t.size === 0) return { data: out, shape, dtype };
  const { sizeInBytes } = DTYPES[dtype];
  const extent = shape.reduce((n, d, i) => n + (d - 1) * strides[i]!, 1);
  const bytes = readBytesSync(nativeDevice(t.device), t.storage.handle, t.offset * sizeInBytes, extent * sizeInBytes, operation);
  const raw = new (arrayClass(dtype))(bytes, 0, extent) as ArrayLike<number>;
  const position = new Array<number>(shape.length).fill(0);
  let from = 0;
  for (let i = 0; i < out.length; i++) {
    out[i] = dtype === "float16" ? fromHalf(raw[from]!) : raw[from]!;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis]!;
      if (++position[axis]! < shape[axis]!) break;
      from -= position[axis]! * strides[axis]!;
      position[axis] = 0;
    }
  }
  return { data: out, shape, dtype };
}

/** Runs an operation's host rule and puts its results where the inputs are. */
export function runHost<A>(
  definition: Definition<A>,
  native: NativeDevice,
  outputs: readonly Desc[],
  inputs: readonly Tensor[],
  attrs: A,
): Tensor[] {
  requireReal(definition.name, inputs);
  noteHost(definition.name, inputs, native, `on the host: ${engine().name}`);
  const results = definition.host!(
    inputs.map((t) => read(definition.name, t)),
    attrs,
  );
  return outputs.map((desc, i) => {
    const Class = arrayClass(desc.dtype);
    if (Class !== Float32Array && Class !== Float64Array && Class !== Int32Array)
      throw new DTypeError(definition.name, "result", "float32, float64 or int32", desc.dtype);
    const found = results[i]!;
    const typed = found instanceof Class ? found : new Class(found.length);
    if (typed !== found) (typed as Float32Array).set(found);
    return new Tensor(upload(native, typed, definition.name), desc);
  });
}
