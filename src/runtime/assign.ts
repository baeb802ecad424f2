/** Writing into tensors that exist. */
import { DTYPES } from "../dtype.ts";
import { define } from "../definition.ts";
import { outsideScopes } from "../scope.ts";
import { internDesc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { upload, withMemory } from "./buffers.ts";
import { nativeDevice, type NativeDevice } from "./devices.ts";
import { runEager } from "./eager.ts";
import { demandReal } from "./traced.ts";

/** The packed copy of a tensor. DirectML: ELEMENT_WISE_IDENTITY. */
export const contiguousOp = define({
  name: "contiguous",
  traits: { elementwise: true, carries: true },
  infer: ([x]) => [x!],
  lower: (g, [x]) => [g.elementWiseIdentity(x!)],
  grad: (dy) => [dy],
  saves: { inputs: [], outputs: false },
});

/** base (flat) with the elements at flat places `indices` replaced by updates. DirectML: SCATTER_ELEMENTS. */
export const scatterFlatOp = define({
  name: "assign",
  traits: { carries: true },
  infer: ([base]) => [base!],
  lower: (g, [base, indices, updates]) => [g.scatter(base!, indices!, updates!, { axis: 0, output: { sizes: base!.sizes } })],
  grad: null,
});

/** Places of a tensor's elements in its storage, in row-major order. */
function places(t: Tensor): Int32Array {
  const out = new Int32Array(t.size);
  const { shape, strides } = t.desc;
  const at = new Array<number>(shape.length).fill(0);
  let place = t.offset;
  for (let i = 0; i < out.length; i++) {
    out[i] = place;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      place += strides[axis]!;
      if (++at[axis]! < shape[axis]!) break;
      place -= strides[axis]! * shape[axis]!;
      at[axis] = 0;
    }
  }
  return out;
}

/** The whole storage as a flat tensor. */
const flatten = (t: Tensor): Tensor =>
  new Tensor(t.storage, internDesc(t.device, t.dtype, [t.storage.sizeInBytes / DTYPES[t.dtype].sizeInBytes]));

/** The buffer of `value`, which gives it up, becomes target's. */
function take(target: Tensor, value: Tensor): void {
  const { handle } = value.storage;
  value.storage.handle = 0;
  target.storage.repoint(handle, value.storage);
}

/** The elements from the first to the last of a tensor were written. */
export const noteWrite = ({ storage, offset, desc }: Pick<Tensor, "storage" | "desc" | "offset">): void =>
  storage.wrote(offset, offset + desc.extent);

function scatter(native: NativeDevice, target: Tensor, packed: Tensor): void {
  outsideScopes(() => {
    const index = new Tensor(upload(native, places(target), "assign"), internDesc(target.device, "int32", [target.size]));
    const base = flatten(target);
    const updates = new Tensor(packed.storage, internDesc(target.device, target.dtype, [target.size]), packed.offset);
    const next = runEager(scatterFlatOp, [base, index, updates], undefined)[0]!;
    take(target, next);
    for (const t of [index, base, updates, next]) t.dispose();
  });
}

/**
 * target takes the value of source, of the same shape and dtype. `move`: source is given up, so its buffer may become
 * target's. A target that fills its storage is repointed; one that is a packed range is written by a copy; for any other the
 * whole storage is computed anew and repointed, since an operator may write every byte of its output's range.
 */
export function assignEager(target: Tensor, source: Tensor, move: boolean): void {
  if (target.size === 0) return;
  demandReal("assign", [target, source]);
  const native = nativeDevice(target.device, "assign");
  const isSame = source.storage === target.storage;
  if (isSame && source.desc === target.desc && source.offset === target.offset) {
    noteWrite(target);
    return;
  }
  // A buffer is never read and written by one copy.
  const packed = source.desc.isPacked && !isSame ? source : outsideScopes(() => runEager(contiguousOp, [source], undefined)[0]!);
  const free = packed !== source || (move && source.storage.refs === 1);
  if (target.coversStorage && free && packed.coversStorage) {
    take(target, packed);
  } else if (target.desc.isPacked) {
    const size = DTYPES[target.dtype].sizeInBytes;
    withMemory("assign", () =>
      native.binding.copy(packed.storage.handle, packed.offset * size, target.storage.handle, target.offset * size, target.size * size),
    );
    noteWrite(target);
  } else {
    scatter(native, target, packed);
  }
  if (packed !== source || move) packed.dispose();
}
