/** Copies of a module's tensors on another device, in one transfer for each dtype. @package */
import { isGradEnabled, noGrad } from "../autograd/grad-mode.ts";
import { attach } from "../autograd/record.ts";
import { TapeNode } from "../autograd/tape.ts";
import type { Device } from "../core/device.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { zeros } from "../ops/creation/creation.ts";
import { to } from "../ops/data/conversion.ts";
import { clone } from "../ops/data/state.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";

/** Where a binding may start. */
const ALIGNMENT = 16;

/** Tensors that lie in one storage with little between them, as those of an optimizer do: what they span; null for others. */
function spanOf(tensors: readonly Tensor[]): { readonly flat: Tensor; readonly starts: readonly number[] } | null {
  const [{ storage, desc }] = tensors as readonly [Tensor];
  if (tensors.some((t) => t.storage !== storage || !t.desc.isPacked || t.size === 0)) return null;
  const unit = ALIGNMENT / DTYPES[desc.dtype].sizeInBytes;
  const start = Math.min(...tensors.map((t) => t.offset));
  const end = Math.max(...tensors.map((t) => t.offset + t.size));
  const size = tensors.reduce((n, t) => n + t.size, 0);
  if (start % unit !== 0 || end - start > size + unit * tensors.length) return null;
  const flat = new Tensor(storage, internDesc(desc.device, desc.dtype, [end - start]), start);
  return { flat, starts: tensors.map((t) => t.offset - start) };
}

/** Tensors of one dtype, one behind the other with aligned starts, on a device; and where each begins. */
function packed(tensors: readonly Tensor[], device: Device): { readonly flat: Tensor; readonly starts: readonly number[] } {
  const span = spanOf(tensors);
  if (span !== null) return { flat: to(span.flat, device), starts: span.starts };
  const unit = ALIGNMENT / Math.min(ALIGNMENT, DTYPES[tensors[0]!.dtype].sizeInBytes);
  const pieces: Tensor[] = [];
  const starts: number[] = [];
  let end = 0;
  for (const t of tensors) {
    starts.push(end);
    pieces.push(reshape(t, [-1]));
    const gap = (unit - (t.size % unit)) % unit;
    if (gap > 0) pieces.push(zeros([gap], { dtype: t.dtype, device: t.device }));
    end += t.size + gap;
  }
  return { flat: to(cat(pieces), device), starts };
}

/** The tensors on a device: views of one tensor. */
function moved(tensors: readonly Tensor[], device: Device): Tensor[] {
  const { flat, starts } = packed(tensors, device);
  // Without their history views are made at once: a network has many.
  if (!isGradEnabled())
    return tensors.map((t, i) => new Tensor(flat.storage, internDesc(flat.device, t.dtype, t.shape), flat.offset + starts[i]!));
  return tensors.map((t, i) => reshape(narrow(flat, 0, starts[i]!, t.size), t.shape));
}

function byDType(tensors: readonly Tensor[]): readonly (readonly Tensor[])[] {
  const kinds = new Map<DType, Tensor[]>();
  for (const t of tensors) kinds.set(t.dtype, [...(kinds.get(t.dtype) ?? []), t]);
  return [...kinds.values()];
}

/** Parameters on a device, all of one dtype: their gradients come back in one transfer. */
function replicateSome(parameters: readonly Tensor[], device: Device): readonly Tensor[] {
  const copies = noGrad(() => moved(parameters, device));
  if (!isGradEnabled()) return copies;
  const [wanted, made] = [parameters.filter((p) => p.requiresGrad), copies.filter((_, i) => parameters[i]!.requiresGrad)];
  if (wanted.length === 0) return copies;
  const home = wanted[0]!.device;
  const node = new TapeNode(
    "replicate",
    wanted,
    made.map((t) => t.desc),
    [],
    (dys) => {
      const some = dys.filter((dy) => dy !== null);
      const back = some.length === 0 ? [] : moved(some, home);
      return dys.map((dy) => (dy === null ? null : back[some.indexOf(dy)]!));
    },
  );
  attach(node, made);
  return copies;
}

/**
 * What stands for parameters and buffers on a device. The parameters' gradients flow back to them; the buffers are copies that may be written.
 */
export function replicate(parameters: readonly Tensor[], buffers: readonly Tensor[], device: Device): ReadonlyMap<Tensor, Tensor> {
  const copies = new Map<Tensor, Tensor>();
  for (const list of byDType(parameters)) replicateSome(list, device).forEach((copy, i) => copies.set(list[i]!, copy));
  noGrad(() => {
    for (const list of byDType(buffers)) moved(list, device).forEach((view, i) => copies.set(list[i]!, clone(view)));
  });
  return copies;
}
