/** Calls between the processes of a group, over tensors of any dtype on any device: their bytes travel by the host's memory. */
import { DTYPES, isFloat, type DType } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { keep } from "../core/scope.ts";
import { sameShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { fromBytes } from "../ops/creation/creation.ts";
import { data } from "../ops/data/conversion.ts";
import { copy_ } from "../ops/data/state.ts";
import type { Work } from "./distributed-work.ts";
import { groupOf } from "./init-process-group.ts";
import { described, type Call, type ProcessGroup } from "./process-group.ts";

/** How elements of the ranks become one. "mean" is for floating dtypes. Of bool, "sum" and "max" are "or", "product" and "min" are "and". */
export type Reduction = "sum" | "mean" | "product" | "min" | "max";

/** Options of a call between processes. */
export interface GroupOptions {
  /** The group. Default: that of all ranks. */
  readonly group?: ProcessGroup | undefined;
}

/** Options of a call that reduces. */
export interface ReductionOptions extends GroupOptions {
  /** Default: "sum". */
  readonly op?: Reduction | undefined;
}

/** Options of a call from one rank. */
export interface SourceOptions extends GroupOptions {
  /** The rank of the world that gives. Default: 0. */
  readonly src?: number | undefined;
}

/** Options of a call to one rank. */
export interface TargetOptions extends GroupOptions {
  /** The rank of the world that gets the result. Default: 0. */
  readonly dst?: number | undefined;
}

/** Options of reduce(). */
export interface ReduceToOptions extends ReductionOptions, TargetOptions {}

/** Options of send(). */
export interface SendOptions extends GroupOptions {
  /** The rank of the world that receives. */
  readonly dst: number;
  /** Tells messages between the same ranks apart. Default: 0. */
  readonly tag?: number | undefined;
}

/** Options of recv(). */
export interface ReceiveOptions extends GroupOptions {
  /** The rank of the world that sends. */
  readonly src: number;
  /** As of send(). Default: 0. */
  readonly tag?: number | undefined;
}

const REDUCTIONS = ["sum", "mean", "product", "min", "max"];
const sizeOf = (x: Tensor): number => x.size * DTYPES[x.dtype].sizeInBytes;

/** Throws DisposedError, and TraceError where a function is being compiled: the other ranks' elements are not known to it. */
function requireReadable(operation: string, x: Tensor, argument = "tensor"): void {
  x.requireLive(operation, argument);
  tracer()?.read(operation, x);
}

/** The bytes as they are at the time of the call. */
async function bytesOf(x: Tensor): Promise<Uint8Array> {
  const array = await noGrad(() => data(x.detach()));
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** The bytes of several tensors, one behind the other. */
async function joined(tensors: readonly Tensor[]): Promise<Uint8Array> {
  const parts = await Promise.all(tensors.map((x) => bytesOf(x)));
  return Buffer.concat(parts);
}

/** x takes the elements. */
function write(operation: string, x: Tensor, bytes: Uint8Array): Tensor {
  x.requireLive(operation);
  noGrad(() => {
    const made = fromBytes(operation, x.device, x.dtype, x.shape, bytes);
    copy_(x, made);
    made.dispose();
  });
  return x;
}

/** A new tensor like another one. */
const made = (
  operation: string,
  like: { readonly dtype: DType; readonly shape: readonly number[]; readonly device: Tensor["device"] },
  bytes: Uint8Array,
): Tensor => noGrad(() => keep(fromBytes(operation, like.device, like.dtype, like.shape, bytes)));

/** New tensors of equal parts of the bytes. */
function split(
  operation: string,
  like: { readonly dtype: DType; readonly shape: readonly number[]; readonly device: Tensor["device"] },
  bytes: Uint8Array,
  parts: number,
): Tensor[] {
  const size = bytes.byteLength / parts;
  return Array.from({ length: parts }, (_, i) => made(operation, like, bytes.slice(i * size, (i + 1) * size)));
}

/** What a tensor is, for a result that is made when it may be gone. */
const likeOf = ({
  dtype,
  shape,
  device,
}: Tensor): { readonly dtype: DType; readonly shape: readonly number[]; readonly device: Tensor["device"] } => ({ dtype, shape, device });

function requireReduction(operation: string, op: Reduction, dtype: DType): void {
  if (!REDUCTIONS.includes(op)) throw new ValueError(operation, "op", REDUCTIONS.map((name) => `"${name}"`).join(", "), op);
  if (op === "mean" && !isFloat(dtype)) throw new DTypeError(operation, "tensor", 'of a floating dtype for "mean"', dtype);
}

/** One tensor a rank, all alike. */
function requireParts(operation: string, argument: string, list: readonly Tensor[], group: ProcessGroup): Tensor {
  if (list.length !== group.size)
    throw new ValueError(operation, argument, `a list of ${group.size} tensors, one for each rank`, list.length);
  const first = list[0]!;
  for (const x of list) {
    requireReadable(operation, x, argument);
    if (x.dtype !== first.dtype) throw new DTypeError(operation, argument, `of one dtype (${first.dtype})`, x.dtype);
    if (!sameShape(x.shape, first.shape)) throw new ShapeError(operation, argument, `of one shape (${first.describe()})`, x.describe());
  }
  return first;
}

/**
 * Every rank's tensor takes the reduction of all: in place. Result: the tensor. Ranks give the same shape and dtype.
 * Reference: torch.distributed.all_reduce.
 */
export function allReduce(tensor: Tensor, { op = "sum", group: chosen }: ReductionOptions = {}): Work<Tensor> {
  const group = groupOf("allReduce", chosen);
  requireReduction("allReduce", op, tensor.dtype);
  requireReadable("allReduce", tensor);
  const call = async (): Promise<Call> => {
    const bytes = await bytesOf(tensor);
    return {
      kind: "allReduce",
      what: described("allReduce", op, tensor.dtype, tensor.shape),
      dtype: tensor.dtype,
      reduction: op,
      input: bytes,
      output: bytes,
    };
  };
  return group.call("allReduce", call, (bytes) => write("allReduce", tensor, bytes));
}

/** The tensor of rank dst takes the reduction of all; those of the others stay. Result: the tensor. Reference: torch.distributed.reduce. */
export function reduce(tensor: Tensor, { op = "sum", dst = 0, group: chosen }: ReduceToOptions = {}): Work<Tensor> {
  const group = groupOf("reduce", chosen);
  requireReduction("reduce", op, tensor.dtype);
  requireReadable("reduce", tensor);
  const root = group.rankOf("reduce", "dst", dst);
  const call = async (): Promise<Call> => {
    const bytes = await bytesOf(tensor);
    const what = described("reduce", `${op} to ${dst}`, tensor.dtype, tensor.shape);
    return { kind: "reduce", what, dtype: tensor.dtype, reduction: op, root, input: bytes, output: bytes };
  };
  return group.call("reduce", call, (bytes) => (root === group.rank ? write("reduce", tensor, bytes) : tensor));
}

/** Every rank's tensor takes the elements of rank src's: in place. Result: the tensor. Reference: torch.distributed.broadcast. */
export function broadcast(tensor: Tensor, { src = 0, group: chosen }: SourceOptions = {}): Work<Tensor> {
  const group = groupOf("broadcast", chosen);
  requireReadable("broadcast", tensor);
  const root = group.rankOf("broadcast", "src", src);
  const call = async (): Promise<Call> => {
    const bytes = root === group.rank ? await bytesOf(tensor) : new Uint8Array(sizeOf(tensor));
    return {
      kind: "broadcast",
      what: described("broadcast", `from ${src}`, tensor.dtype, tensor.shape),
      root,
      input: bytes,
      output: bytes,
    };
  };
  return group.call("broadcast", call, (bytes) => (root === group.rank ? tensor : write("broadcast", tensor, bytes)));
}

/** The tensors of all ranks, in their order, as new tensors. Ranks give the same shape and dtype. Reference: torch.distributed.all_gather. */
export function allGather(tensor: Tensor, { group: chosen }: GroupOptions = {}): Work<Tensor[]> {
  const group = groupOf("allGather", chosen);
  requireReadable("allGather", tensor);
  const like = likeOf(tensor);
  const call = async (): Promise<Call> => {
    const what = described("allGather", "", like.dtype, like.shape);
    return { kind: "allGather", what, input: await bytesOf(tensor), output: new Uint8Array(sizeOf(tensor) * group.size) };
  };
  return group.call("allGather", call, (bytes) => split("allGather", like, bytes, group.size));
}

/**
 * Each rank gives a tensor for each rank; the result is a new tensor, the reduction of those for this one. All have one shape and dtype.
 * Reference: torch.distributed.reduce_scatter.
 */
export function reduceScatter(tensors: readonly Tensor[], { op = "sum", group: chosen }: ReductionOptions = {}): Work<Tensor> {
  const group = groupOf("reduceScatter", chosen);
  const like = likeOf(requireParts("reduceScatter", "tensors", tensors, group));
  requireReduction("reduceScatter", op, like.dtype);
  const size = sizeOf(tensors[0]!);
  const call = async (): Promise<Call> => {
    const what = described("reduceScatter", op, like.dtype, like.shape);
    return { kind: "reduceScatter", what, dtype: like.dtype, reduction: op, input: await joined(tensors), output: new Uint8Array(size) };
  };
  return group.call("reduceScatter", call, (bytes) => made("reduceScatter", like, bytes));
}

/**
 * Each rank gives a tensor for each rank, and gets those that all gave for it, in the order of ranks, as new tensors. All have one shape and dtype.
 * Reference: torch.distributed.all_to_all.
 */
export function allToAll(tensors: readonly Tensor[], { group: chosen }: GroupOptions = {}): Work<Tensor[]> {
  const group = groupOf("allToAll", chosen);
  const like = likeOf(requireParts("allToAll", "tensors", tensors, group));
  const size = sizeOf(tensors[0]!) * group.size;
  const call = async (): Promise<Call> => {
    const what = described("allToAll", "", like.dtype, like.shape);
    return { kind: "allToAll", what, input: await joined(tensors), output: new Uint8Array(size) };
  };
  return group.call("allToAll", call, (bytes) => split("allToAll", like, bytes, group.size));
}

/** Rank dst gets the tensors of all ranks, in their order, as new tensors; the others get null. Reference: torch.distributed.gather. */
export function gather(tensor: Tensor, { dst = 0, group: chosen }: TargetOptions = {}): Work<Tensor[] | null> {
  const group = groupOf("gather", chosen);
  requireReadable("gather", tensor);
  const root = group.rankOf("gather", "dst", dst);
  const like = likeOf(tensor);
  const isRoot = root === group.rank;
  const call = async (): Promise<Call> => {
    const output = isRoot ? new Uint8Array(sizeOf(tensor) * group.size) : null;
    return { kind: "gather", what: described("gather", `to ${dst}`, like.dtype, like.shape), root, input: await bytesOf(tensor), output };
  };
  return group.call("gather", call, (bytes) => (isRoot ? split("gather", like, bytes, group.size) : null));
}

/**
 * The tensor takes the elements of rank src's tensor for this rank: in place. tensors: on rank src, one for each rank, like `tensor`; null on the others.
 * Result: the tensor. Reference: torch.distributed.scatter.
 */
export function scatter(tensor: Tensor, tensors: readonly Tensor[] | null, { src = 0, group: chosen }: SourceOptions = {}): Work<Tensor> {
  const group = groupOf("scatter", chosen);
  requireReadable("scatter", tensor);
  const root = group.rankOf("scatter", "src", src);
  const isRoot = root === group.rank;
  if (isRoot !== (tensors !== null))
    throw new ValueError("scatter", "tensors", isRoot ? "given on rank src" : "null on all ranks but src", tensors);
  if (tensors !== null) {
    const first = requireParts("scatter", "tensors", tensors, group);
    if (first.dtype !== tensor.dtype || !sameShape(first.shape, tensor.shape))
      throw new ShapeError("scatter", "tensors", `like tensor, ${tensor.describe()}`, first.describe());
  }
  const call = async (): Promise<Call> => {
    const what = described("scatter", `from ${src}`, tensor.dtype, tensor.shape);
    const input = tensors === null ? null : await joined(tensors);
    return { kind: "scatter", what, root, input, output: new Uint8Array(sizeOf(tensor)) };
  };
  return group.call("scatter", call, (bytes) => write("scatter", tensor, bytes));
}

function transferOf(operation: "send" | "recv", group: ProcessGroup, argument: string, rank: number, tag: number): number {
  const peer = group.rankOf(operation, argument, rank);
  if (peer === group.rank) throw new ValueError(operation, argument, "another rank than this one", rank);
  if (!Number.isInteger(tag) || tag < 0 || tag > 0xffffffff) throw new ValueError(operation, "tag", "an integer from 0 to 4294967295", tag);
  return peer;
}

/** Sends the tensor's elements to a rank, which receives them by recv(). Messages with one tag arrive in order. Reference: torch.distributed.send. */
export function send(tensor: Tensor, { dst, tag = 0, group: chosen }: SendOptions): Work<void> {
  const group = groupOf("send", chosen);
  requireReadable("send", tensor);
  const root = transferOf("send", group, "dst", dst, tag);
  const call = async (): Promise<Call> => ({ kind: "send", what: "send", root, tag, input: await bytesOf(tensor), output: null });
  return group.transfer("send", call, () => undefined);
}

/** The tensor takes the elements that a rank sends by send(): in place. Result: the tensor. Reference: torch.distributed.recv. */
export function recv(tensor: Tensor, { src, tag = 0, group: chosen }: ReceiveOptions): Work<Tensor> {
  const group = groupOf("recv", chosen);
  requireReadable("recv", tensor);
  const root = transferOf("recv", group, "src", src, tag);
  const call = async (): Promise<Call> => ({ kind: "recv", what: "recv", root, tag, input: null, output: new Uint8Array(sizeOf(tensor)) });
  return group.transfer("recv", call, (bytes) => write("recv", tensor, bytes));
}

/** Ends when all ranks have called it. Reference: torch.distributed.barrier. */
export function barrier({ group: chosen }: GroupOptions = {}): Work<void> {
  const group = groupOf("barrier", chosen);
  return group.call(
    "barrier",
    async () => ({ kind: "barrier", what: "barrier()", input: null, output: null }),
    () => undefined,
  );
}
