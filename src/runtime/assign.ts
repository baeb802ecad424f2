/** Writing into tensors that exist. */
import { DTYPES } from "../core/dtype.ts";
import { define } from "../core/definition.ts";
import { outsideScopes } from "../core/scope.ts";
import { internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { upload, withMemory } from "./buffers.ts";
import { nativeDevice, type NativeDevice } from "./devices.ts";
import { noteMetaWrite, runEager, runOver } from "./eager.ts";
import { requireReal } from "./traced.ts";
import { alone, flatDesc, runsOf, scatterFlatOp, wayOf, type Runs, type Target } from "./storage-write.ts";

/** The packed copy of a tensor. DirectML: ELEMENT_WISE_IDENTITY. */
export const contiguousOp = define({
  name: "contiguous",
  traits: { elementwise: true, carries: true },
  infer: ([x]) => [x!],
  lower: (g, [x]) => [g.elementWiseIdentity(x!)],
  grad: (dy) => [dy],
  saves: { inputs: [], outputs: false },
});

/** The buffer of `value`, which gives it up, becomes target's. */
function take(target: Tensor, value: Tensor): void {
  const { handle } = value.storage;
  value.storage.handle = 0;
  target.storage.repoint(handle, value.storage);
}

/** The elements from the first to the last of a tensor were written. */
export const noteWrite = ({ storage, offset, desc }: Target): void => storage.wrote(offset, offset + desc.extent);

function scatter(native: NativeDevice, target: Tensor, packed: Tensor, positions: Int32Array): void {
  outsideScopes(() => {
    const { dtype, device, size, storage } = target;
    const index = new Tensor(upload(native, positions, "assign"), internDesc(device, "int32", [size]));
    const base = new Tensor(storage, flatDesc(target));
    const updates = new Tensor(packed.storage, internDesc(device, dtype, [size]), packed.offset);
    if (runOver(scatterFlatOp, [base, index, updates], undefined)) {
      noteWrite(target);
    } else {
      const next = runEager(scatterFlatOp, [base, index, updates], undefined)[0]!;
      take(target, next);
      next.dispose();
    }
    for (const t of [index, base, updates]) t.dispose();
  });
}

/** How many bytes of a storage take as long to compute again as one copy: on devices with their own memory, and on the CPU. */
const BYTES_OF_COPY = { device: 1 << 20, cpu: 1 << 16 } as const;
const RUNS = { min: 4, max: 64 } as const;

/** The copies that write a part with gaps; null if computing the whole storage again is faster. */
function copiesOf(target: Target, native: NativeDevice): Runs | null {
  if (target.desc.isPacked) return null;
  const each = native.capabilities.fusesGraphs ? BYTES_OF_COPY.cpu : BYTES_OF_COPY.device;
  const maxRuns = Math.min(RUNS.max, Math.max(RUNS.min, Math.floor(target.storage.contentInBytes / each)));
  return runsOf(target.desc, target.offset, maxRuns);
}

/**
 * target takes the value of source, of the same shape and dtype. `move`: source is given up, so its buffer may become
 * target's. A target that fills its storage is repointed; one that is a packed range, or few dense runs, is written by copies; for any
 * other the elements are written over the buffer where the device does that (runOver), else the whole storage is computed again and its buffer replaced.
 */
export function assignEager(target: Tensor, source: Tensor, move: boolean): void {
  if (target.size === 0) return;
  requireReal("assign", [target, source]);
  noteMetaWrite(target, source);
  const own = alone(target.desc, target.desc);
  if (own !== target.desc) {
    const [to, from] = [target, source].map((t) => new Tensor(t.storage, alone(target.desc, t.desc), t.offset)) as [Tensor, Tensor];
    assignEager(to, from, false);
    for (const t of move ? [to, from, source] : [to, from]) t.dispose();
    return;
  }
  const native = nativeDevice(target.device, "assign");
  const isSame = source.storage === target.storage;
  if (isSame && source.desc === target.desc && source.offset === target.offset) {
    noteWrite(target);
    return;
  }
  // A buffer is never read and written by one copy.
  const packed = source.desc.isPacked && !isSame ? source : outsideScopes(() => runEager(contiguousOp, [source], undefined)[0]!);
  const free = packed !== source || (move && source.storage.refs === 1);
  const size = DTYPES[target.dtype].sizeInBytes;
  const copy = (from: number, to: number, count: number): void =>
    withMemory("assign", () =>
      native.binding.copy(packed.storage.handle, (packed.offset + from) * size, target.storage.handle, to * size, count * size),
    );
  const runs = copiesOf(target, native);
  if (runs !== null) {
    runs.starts.forEach((start, i) => copy(i * runs.length, start, runs.length));
    noteWrite(target);
    if (packed !== source || move) packed.dispose();
    return;
  }
  const way = wayOf(target);
  if (way.kind === "whole" && free && packed.coversStorage) {
    take(target, packed);
  } else if (way.kind === "positions") {
    scatter(native, target, packed, way.positions);
  } else {
    copy(0, target.offset, target.size);
    noteWrite(target);
  }
  if (packed !== source || move) packed.dispose();
}
