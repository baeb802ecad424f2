/** Shapes, parts, joins, indices, padding and creation. */
import * as dx from "../../../src/index.ts";
import { indexOf, type Call } from "../call.ts";
import { method, type Entry } from "./entry.ts";

/** The list of tensors that is the first operand. */
const tensors = (c: Call): dx.Tensor[] => c.positional[0] as unknown as dx.Tensor[];

/** Sizes given as one list or one by one. */
function sizes(c: Call, ...names: string[]): readonly number[] {
  const shape = c.get(...names) ?? c.positional[1];
  return (Array.isArray(shape) ? shape : c.positional.slice(1)) as readonly number[];
}

/** The options of a creation function. A whole fill value makes int64 in PyTorch, float32 here, unless the dtype is named. */
const made = (c: Call): dx.TensorOptions => {
  const dtype = c.dtype() ?? (c.case.kind === "ok" ? outDType(c) : undefined);
  return dtype === undefined ? {} : { dtype };
};
const own = (c: Call): dx.TensorOptions => ({ dtype: c.dtype() });
const outDType = (c: Call): dx.DType | undefined => ({ i64: "int64", f32: "float32", bool: "bool" } as const)[(c.case.out as { t: "i64" }).t];

const extent = (c: Call): readonly number[] => (Array.isArray(c.positional[0]) ? c.positional[0] : c.positional) as readonly number[];
const pads = (c: Call): readonly number[] => c.list("pad");
const text = (mode: string): dx.PadMode => mode as dx.PadMode;

export const movement: Readonly<Record<string, Entry>> = {
  reshape: { run: (c) => dx.reshape(c.x, sizes(c, "shape")) },
  reshape_as: { run: (c) => dx.reshape(c.x, c.tensor(c.positional[1]).shape) },
  view: { packed: true, run: (c) => dx.view(c.x, sizes(c, "size")) },
  view_as: { packed: true, run: (c) => dx.view(c.x, c.tensor(c.positional[1]).shape) },
  flatten: { run: (c) => dx.flatten(c.x, { startDim: c.number("start_dim", 0), endDim: c.number("end_dim", -1) }) },
  ravel: { run: (c) => dx.flatten(c.x) },
  permute: { run: (c) => dx.permute(c.x, sizes(c, "dims")) },
  T: { run: (c) => dx.permute(c.x, c.x.shape.map((_, i) => c.x.rank - 1 - i)) },
  moveaxis: { run: (c) => dx.movedim(c.x, c.axes("source")!, c.axes("destination")!) },
  expand: { run: (c) => dx.expand(c.x, sizes(c, "size")) },
  expand_as: { run: (c) => dx.expand(c.x, c.tensor(c.positional[1]).shape) },
  broadcast_to: { run: (c) => dx.broadcastTo(c.x, sizes(c, "size", "shape")) },
  diagonal: { run: (c) => dx.diagonal(c.x, { offset: c.number("offset", 0), axis0: c.number("dim1", 0), axis1: c.number("dim2", 1) }) },
  repeat: { run: (c) => dx.repeat(c.x, sizes(c, "repeats")) }, tile: { run: (c) => dx.tile(c.x, sizes(c, "dims")) },
  repeat_interleave: { dynamic: true, run: (c) => {
    const times = c.get("repeats");
    const axis = c.has("dim") ? c.number("dim", 0) : null;
    return times instanceof dx.Tensor ? dx.repeatInterleaveSync(c.x, times, axis) : dx.repeatInterleave(c.x, c.number("repeats", 1), axis);
  } },
  numel: { run: (c) => c.x.size },
  tril: { run: (c) => dx.tril(c.x, c.number("diagonal", 0)) }, triu: { run: (c) => dx.triu(c.x, c.number("diagonal", 0)) },
  narrow: { run: (c) => dx.narrow(c.x, c.number("dim", 0), c.number("start", 0), c.number("length", 0)) },
  __getitem__: { dynamic: true, run: (c) => dx.index(c.x, ...indexOf(c.case.args[0]!, ["args", 0], c.tensors)) },
  take_along_dim: { run: (c) => dx.takeAlongAxis(c.x, c.tensor(c.get("indices")), c.has("dim") ? c.number("dim", 0) : null) },
  cat: { run: (c) => dx.cat(tensors(c), c.number("dim", 0)) }, stack: { run: (c) => dx.stack(tensors(c), c.number("dim", 0)) },
  split: { run: (c) => dx.split(c.x, c.axes("split_size_or_sections", "split_size")!, c.number("dim", 0)) },
  split_with_sizes: { run: (c) => dx.split(c.x, c.list("split_sizes"), c.number("dim", 0)) },
  chunk: { run: (c) => dx.chunk(c.x, c.number("chunks", 1), c.number("dim", 0)) },
  unbind: { run: (c) => dx.unbind(c.x, c.number("dim", 0)) },
  "nn.functional.pad": { run: (c) => dx.pad(c.x, pads(c), { mode: text(c.text("mode", "constant")), value: c.number("value", 0) }) },
  constant_pad_nd: { run: (c) => dx.pad(c.x, pads(c), { value: c.number("value", 0) }) },
  "nn.functional.one_hot": { dynamic: true, run: (c) => { const classes = (c.get("num_classes") ?? c.positional[1] ?? -1) as number; return classes === -1 ? dx.oneHotSync(c.x) : dx.oneHot(c.x, classes); } },
  tril_indices: { counts: true, run: (c) => dx.trilIndices(c.positional[0] as number, c.number("col", 0), { offset: c.number("offset", 0), dtype: c.dtype() as "int64" }) },
  triu_indices: { counts: true, run: (c) => dx.triuIndices(c.positional[0] as number, c.number("col", 0), { offset: c.number("offset", 0), dtype: c.dtype() as "int64" }) },
  empty_strided: { run: (c) => dx.emptyStrided(extent(c), (Array.isArray(c.positional[1]) ? c.positional[1] : c.list("stride")) as number[], own(c)) },
  empty_permuted: { run: (c) => dx.emptyPermuted(extent(c), (c.get("physical_layout") ?? c.positional[1]) as number[], own(c)) },
  scalar_tensor: { run: (c) => dx.full([], c.positional[0] as number, { dtype: c.dtype() ?? "float32" }) },
  item: { run: (c) => (c.x.dtype === "bool" ? dx.itemSync(c.x) !== 0 : dx.itemSync(c.x)) },
  new_empty_strided: { run: (c) => dx.newEmptyStrided(c.x, c.list("size"), c.list("stride"), own(c)) },
  new_empty: { run: (c) => dx.newEmpty(c.x, c.list("size"), own(c)) }, new_ones: { run: (c) => dx.newOnes(c.x, c.list("size"), own(c)) }, new_zeros: { run: (c) => dx.newZeros(c.x, c.list("size"), own(c)) },
  new_full: { run: (c) => dx.newFull(c.x, c.list("size"), c.operand("fill_value") as number, own(c)) },
  resize_: { packed: true, dynamic: true, run: (c) => dx.resize_(dx.clone(c.x), sizes(c, "size")), inPlace: (c) => void dx.resize_(c.x, sizes(c, "size")) },
  resize_as_: { packed: true, dynamic: true, run: (c) => dx.resizeAs_(dx.clone(c.x), c.named("the_template")), inPlace: (c) => void dx.resizeAs_(c.x, c.named("the_template")) },
  is_nonzero: { run: (c) => dx.isNonzeroSync(c.x) },
  put: { run: (c) => dx.put(c.x, c.named("index"), c.named("source"), { accumulate: c.bool("accumulate") }), inPlace: (c) => method(c, "put_", c.named("index"), c.named("source"), { accumulate: c.bool("accumulate") }) },
  arange: { run: (c) => dx.arange(c.number("end", 0), { start: c.number("start", 0), step: c.number("step", 1), ...made(c) }) },
  eye: { run: (c) => dx.eye(c.number("n", 0), c.has("m") ? c.number("m", 0) : undefined, made(c)) },
  full: { run: (c) => dx.full(extent(c), c.operand("fill_value") as number, made(c)) },
  zeros: { run: (c) => dx.zeros(extent(c), made(c)) }, ones: { run: (c) => dx.ones(extent(c), made(c)) },
  empty: { run: (c) => dx.empty(extent(c), made(c)) },
  fill: { run: (c) => (c.get("value") instanceof dx.Tensor ? dx.clone(dx.broadcastTo(c.tensor(c.get("value")).to(c.x.dtype), c.x.shape)) : dx.fullLike(c.x, c.operand("value") as number)) },
  zero_: { run: (c) => dx.clone(c.x).zero_(), inPlace: (c) => void c.x.zero_() },
};
