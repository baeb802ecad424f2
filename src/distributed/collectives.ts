/** Calls between the processes of a group, over tensors of any dtype on any device: their bytes travel by the host's memory. */
import { isFloat, type DType } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { sameShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import type { Work } from "./distributed-work.ts";
import { EngineMemory, type Like } from "./engine-memory.ts";
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

/** Throws DisposedError, and TraceError where a function is being compiled: the other ranks' elements are not known to it. */
function requireReadable(operation: string, x: Tensor, argument = "tensor"): void {
  x.requireLive(operation, argument);
  tracer()?.read(operation, x);
}

/** What a tensor is, for a result that is made when it may be gone. */
const likeOf = ({ dtype, shape, device }: Tensor): Like => ({ dtype, shape, device });

/** The same, one for each rank. */
const timesRanks = ({ dtype, shape, device }: Like, { size }: ProcessGroup): Like => ({ dtype, shape: [size, ...shape], device });

/** A call, the memory that it reads and writes (the same one: in place), and its result. */
interface Prepared<T> {
  readonly call: Omit<Call, "input" | "output">;
  readonly input: EngineMemory | null;
  readonly output: EngineMemory | null;
  readonly finish: () => T;
}

/** Starts a call. prepare() takes the elements as they are now. */
function start<T>(group: ProcessGroup, operation: string, prepare: () => Prepared<T>): Work<T> {
  let prepared: Prepared<T>;
  const call = async (): Promise<Call> => {
    prepared = prepare();
    const { input, output } = prepared;
    const reading = input?.bytes(true) ?? null;
    const [read, written] = await Promise.all([reading, output === input ? reading : (output?.bytes(false) ?? null)]);
    return { ...prepared.call, input: read, output: written };
  };
  const finish = (): T => {
    if (prepared.input !== prepared.output) prepared.input?.read();
    return prepared.finish();
  };
  return operation === "send" || operation === "recv" ? group.transfer(operation, call, finish) : group.call(operation, call, finish);
}

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
  return start(group, "allReduce", () => {
    const input = EngineMemory.borrowed("allReduce", tensor);
    const output = input.isBorrowed ? EngineMemory.empty("allReduce", tensor) : input;
    const what = described("allReduce", op, tensor.dtype, tensor.shape);
    const call = { kind: "allReduce", what, dtype: tensor.dtype, reduction: op } as const;
    return { call, input, output, finish: () => output.writtenTo(tensor) };
  });
}

/** The tensor of rank dst takes the reduction of all; those of the others stay. Result: the tensor. Reference: torch.distributed.reduce. */
export function reduce(tensor: Tensor, { op = "sum", dst = 0, group: chosen }: ReduceToOptions = {}): Work<Tensor> {
  const group = groupOf("reduce", chosen);
  requireReduction("reduce", op, tensor.dtype);
  requireReadable("reduce", tensor);
  const root = group.rankOf("reduce", "dst", dst);
  return start(group, "reduce", () => {
    const memory = EngineMemory.of("reduce", tensor);
    const what = described("reduce", `${op} to ${dst}`, tensor.dtype, tensor.shape);
    const finish = (): Tensor => {
      if (root === group.rank) return memory.writtenTo(tensor);
      memory.read();
      return tensor;
    };
    return { call: { kind: "reduce", what, dtype: tensor.dtype, reduction: op, root }, input: memory, output: memory, finish };
  });
}

/** Every rank's tensor takes the elements of rank src's: in place. Result: the tensor. Reference: torch.distributed.broadcast. */
export function broadcast(tensor: Tensor, { src = 0, group: chosen }: SourceOptions = {}): Work<Tensor> {
  const group = groupOf("broadcast", chosen);
  requireReadable("broadcast", tensor);
  const root = group.rankOf("broadcast", "src", src);
  return start(group, "broadcast", () => {
    const call = { kind: "broadcast", what: described("broadcast", `from ${src}`, tensor.dtype, tensor.shape), root } as const;
    if (root === group.rank) {
      const memory = EngineMemory.of("broadcast", tensor);
      const finish = (): Tensor => {
        memory.read();
        return tensor;
      };
      return { call, input: memory, output: memory, finish };
    }
    const memory = EngineMemory.empty("broadcast", tensor);
    return { call, input: null, output: memory, finish: () => memory.writtenTo(tensor) };
  });
}

/** The tensors of all ranks, in their order, as new tensors. Ranks give the same shape and dtype. Reference: torch.distributed.all_gather. */
export function allGather(tensor: Tensor, { group: chosen }: GroupOptions = {}): Work<Tensor[]> {
  const group = groupOf("allGather", chosen);
  requireReadable("allGather", tensor);
  return start(group, "allGather", () => {
    const like = likeOf(tensor);
    const input = EngineMemory.of("allGather", tensor);
    const output = EngineMemory.empty("allGather", timesRanks(like, group));
    const finish = (): Tensor[] => output.writtenParts(like.shape, group.size);
    return { call: { kind: "allGather", what: described("allGather", "", like.dtype, like.shape) }, input, output, finish };
  });
}

/**
 * Each rank gives a tensor for each rank; the result is a new tensor, the reduction of those for this one. All have one shape and dtype.
 * Reference: torch.distributed.reduce_scatter.
 */
export function reduceScatter(tensors: readonly Tensor[], { op = "sum", group: chosen }: ReductionOptions = {}): Work<Tensor> {
  const group = groupOf("reduceScatter", chosen);
  const like = likeOf(requireParts("reduceScatter", "tensors", tensors, group));
  requireReduction("reduceScatter", op, like.dtype);
  return start(group, "reduceScatter", () => {
    const input = EngineMemory.joined("reduceScatter", tensors);
    const output = EngineMemory.empty("reduceScatter", like);
    const what = described("reduceScatter", op, like.dtype, like.shape);
    return { call: { kind: "reduceScatter", what, dtype: like.dtype, reduction: op }, input, output, finish: () => output.written() };
  });
}

/**
 * Each rank gives a tensor for each rank, and gets those that all gave for it, in the order of ranks, as new tensors. All have one shape and dtype.
 * Reference: torch.distributed.all_to_all.
 */
export function allToAll(tensors: readonly Tensor[], { group: chosen }: GroupOptions = {}): Work<Tensor[]> {
  const group = groupOf("allToAll", chosen);
  const like = likeOf(requireParts("allToAll", "tensors", tensors, group));
  return start(group, "allToAll", () => {
    const input = EngineMemory.joined("allToAll", tensors);
    const output = EngineMemory.empty("allToAll", timesRanks(like, group));
    const finish = (): Tensor[] => output.writtenParts(like.shape, group.size);
    return { call: { kind: "allToAll", what: described("allToAll", "", like.dtype, like.shape) }, input, output, finish };
  });
}

/** Rank dst gets the tensors of all ranks, in their order, as new tensors; the others get null. Reference: torch.distributed.gather. */
export function gather(tensor: Tensor, { dst = 0, group: chosen }: TargetOptions = {}): Work<Tensor[] | null> {
  const group = groupOf("gather", chosen);
  requireReadable("gather", tensor);
  const root = group.rankOf("gather", "dst", dst);
  return start(group, "gather", () => {
    const like = likeOf(tensor);
    const input = EngineMemory.of("gather", tensor);
    const output = root === group.rank ? EngineMemory.empty("gather", timesRanks(like, group)) : null;
    const finish = (): Tensor[] | null => output?.writtenParts(like.shape, group.size) ?? null;
    return { call: { kind: "gather", what: described("gather", `to ${dst}`, like.dtype, like.shape), root }, input, output, finish };
  });
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
  return start(group, "scatter", () => {
    const input = tensors === null ? null : EngineMemory.joined("scatter", tensors);
    const output = EngineMemory.empty("scatter", tensor);
    const what = described("scatter", `from ${src}`, tensor.dtype, tensor.shape);
    return { call: { kind: "scatter", what, root }, input, output, finish: () => output.writtenTo(tensor) };
  });
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
  return start(group, "send", () => {
    const input = EngineMemory.of("send", tensor);
    return { call: { kind: "send", what: "send", root, tag }, input, output: null, finish: () => undefined };
  });
}

/** The tensor takes the elements that a rank sends by send(): in place. Result: the tensor. Reference: torch.distributed.recv. */
export function recv(tensor: Tensor, { src, tag = 0, group: chosen }: ReceiveOptions): Work<Tensor> {
  const group = groupOf("recv", chosen);
  requireReadable("recv", tensor);
  const root = transferOf("recv", group, "src", src, tag);
  return start(group, "recv", () => {
    const output = EngineMemory.empty("recv", tensor);
    return { call: { kind: "recv", what: "recv", root, tag }, input: null, output, finish: () => output.writtenTo(tensor) };
  });
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
