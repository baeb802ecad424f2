// Made by npm run generate from the families in src/ops.
import { checkedClass } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $distributedInitProcessGroup from "../distributed/init-process-group.ts";
import * as $distributedRendezvousStore from "../distributed/rendezvous-store.ts";
import * as $distributedTcpStore from "../distributed/tcp-store.ts";
import * as $distributedCollectives from "../distributed/collectives.ts";
import * as $distributedDataParallel from "../distributed/data-parallel.ts";
import * as $nnModule from "../nn/module.ts";
import * as $distributedFullyShard from "../distributed/fully-shard.ts";
import * as $distributedZeroRedundancy from "../distributed/zero-redundancy.ts";
import * as $optimGroup from "../optim/group.ts";
import * as $distributedFullOptimizerState from "../distributed/full-optimizer-state.ts";
import * as $distributedSaveByRanks from "../distributed/save-by-ranks.ts";
import * as $ioCheckpointPerRank from "../io/checkpoint/per-rank.ts";
export type { InitProcessGroupOptions } from "../distributed/init-process-group.ts";
export type { NewGroupOptions } from "../distributed/init-process-group.ts";
export type { EngineInfo } from "../distributed/init-process-group.ts";
export type { ProcessGroup } from "../distributed/process-group.ts";
export type { Work } from "../distributed/distributed-work.ts";
export type { Store } from "../distributed/rendezvous-store.ts";
export type { TcpStoreOptions } from "../distributed/tcp-store.ts";
export type { Reduction } from "../distributed/collectives.ts";
export type { GroupOptions } from "../distributed/collectives.ts";
export type { ReductionOptions } from "../distributed/collectives.ts";
export type { SourceOptions } from "../distributed/collectives.ts";
export type { TargetOptions } from "../distributed/collectives.ts";
export type { ReduceToOptions } from "../distributed/collectives.ts";
export type { SendOptions } from "../distributed/collectives.ts";
export type { ReceiveOptions } from "../distributed/collectives.ts";
export type { DistributedDataParallelOptions } from "../distributed/data-parallel.ts";
export type { CompileStepOptions } from "../distributed/compiled-step.ts";
export type { CompiledStep } from "../distributed/compiled-step.ts";
export type { FullyShardOptions } from "../distributed/fully-shard.ts";
export type { ZeroRedundancyOptions } from "../distributed/zero-redundancy.ts";
export type { DistributedSaveOptions } from "../distributed/save-by-ranks.ts";
export type { PerRankState } from "../io/checkpoint/per-rank.ts";
/**
 * Joins the group of all ranks; all of them call it. Resolves when all are connected.
 *
 * rank, worldSize and store have PyTorch's environment variables as defaults: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. `npx dxtensor launch`
 * sets them. Over MPI the ranks are the processes that its launcher started. Rejects with MissingPackageError where the package of the engines is not
 * installed (it names it), UnsupportedError on a platform that has none, DistributedError (reason "engine") where no MPI is found, DistributedError (reason "rendezvous") when the ranks do not find each other in time, ValueError for a rank outside of worldSize.
 * Reference: torch.distributed.init_process_group.
 */
export const initProcessGroup = guardedAsync($distributedInitProcessGroup.initProcessGroup, "distributed.initProcessGroup", "options:InitProcessGroupOptions?");
/**
 * A group of some ranks. All ranks of the world call it, in the same order, members or not. Resolves to null on a rank that is no member. Calls of two
 * groups may run at the same time. Throws ValueError for ranks outside of the world, or one that appears twice. Reference: torch.distributed.new_group.
 */
export const newGroup = guardedAsync($distributedInitProcessGroup.newGroup, "distributed.newGroup", "ranks:numbers options:NewGroupOptions?");
/**
 * Leaves the process groups: waits for the other ranks, for at most ten seconds, then closes all connections and the store. Without a group it does
 * nothing. All ranks call it at their end; one that ends without it counts as lost. With a group of newGroup() it closes that one alone, without
 * waiting. Reference: torch.distributed.destroy_process_group.
 */
export const destroyProcessGroup = guardedAsync($distributedInitProcessGroup.destroyProcessGroup, "distributed.destroyProcessGroup", "group:processGroup?");
/** Whether this process is in a process group. Reference: torch.distributed.is_initialized. */
export const isInitialized = guarded($distributedInitProcessGroup.isInitialized, "distributed.isInitialized", "");
/**
 * Whether a launcher has told this process its rank: `dxtensor launch`, torchrun, mpirun, mpiexec or srun. A program that also runs alone joins where it
 * is so. Reference: torch.distributed.is_torchelastic_launched.
 */
export const isLaunched = guarded($distributedInitProcessGroup.isLaunched, "distributed.isLaunched", "");
/** Whether the engine's package is there for this platform. Reference: torch.distributed.is_available. */
export const isAvailable = guarded($distributedInitProcessGroup.isAvailable, "distributed.isAvailable", "");
/** This process's rank in a group, that of all ranks by default; -1 where it is no member. Reference: torch.distributed.get_rank. */
export const getRank = guarded($distributedInitProcessGroup.getRank, "distributed.getRank", "group:processGroup?");
/** The number of ranks in a group, that of all ranks by default. Reference: torch.distributed.get_world_size. */
export const getWorldSize = guarded($distributedInitProcessGroup.getWorldSize, "distributed.getWorldSize", "group:processGroup?");
/** The engine in use: { backend: "gloo", version: "0.5.0", network: "127.0.0.1" }. */
export const engineInfo = guarded($distributedInitProcessGroup.engineInfo, "distributed.engineInfo", "");
/**
 * A store in a folder that all ranks see, such as one of this machine or of a network file system. Each run needs an empty folder of its own; who started
 * the run removes it. Throws ValueError for what is no path. Reference: torch.distributed.FileStore.
 */
export const fileStore = guarded($distributedRendezvousStore.fileStore, "distributed.fileStore", "folder:string");
/**
 * A store that one rank serves over TCP (isMaster), and that all ranks connect to. Rejects with DistributedError when the port is taken, or when the
 * store does not answer in time; throws ValueError for what is no port. Reference: torch.distributed.TCPStore.
 */
export const tcpStore = guardedAsync($distributedTcpStore.tcpStore, "distributed.tcpStore", "options:TcpStoreOptions");
/**
 * Every rank's tensor takes the reduction of all: in place. Result: the tensor. Ranks give the same shape and dtype.
 * Reference: torch.distributed.all_reduce.
 */
export const allReduce = guarded($distributedCollectives.allReduce, "distributed.allReduce", "tensor options:ReductionOptions?");
/** The tensor of rank dst takes the reduction of all; those of the others stay. Result: the tensor. Reference: torch.distributed.reduce. */
export const reduce = guarded($distributedCollectives.reduce, "distributed.reduce", "tensor options:ReduceToOptions?");
/** Every rank's tensor takes the elements of rank src's: in place. Result: the tensor. Reference: torch.distributed.broadcast. */
export const broadcast = guarded($distributedCollectives.broadcast, "distributed.broadcast", "tensor options:SourceOptions?");
/** The tensors of all ranks, in their order, as new tensors. Ranks give the same shape and dtype. Reference: torch.distributed.all_gather. */
export const allGather = guarded($distributedCollectives.allGather, "distributed.allGather", "tensor options:GroupOptions?");
/**
 * Each rank gives a tensor for each rank; the result is a new tensor, the reduction of those for this one. All have one shape and dtype.
 * Reference: torch.distributed.reduce_scatter.
 */
export const reduceScatter = guarded($distributedCollectives.reduceScatter, "distributed.reduceScatter", "tensors:tensors options:ReductionOptions?");
/**
 * Each rank gives a tensor for each rank, and gets those that all gave for it, in the order of ranks, as new tensors. All have one shape and dtype.
 * Reference: torch.distributed.all_to_all.
 */
export const allToAll = guarded($distributedCollectives.allToAll, "distributed.allToAll", "tensors:tensors options:GroupOptions?");
/** Rank dst gets the tensors of all ranks, in their order, as new tensors; the others get null. Reference: torch.distributed.gather. */
export const gather = guarded($distributedCollectives.gather, "distributed.gather", "tensor options:TargetOptions?");
/**
 * The tensor takes the elements of rank src's tensor for this rank: in place. tensors: on rank src, one for each rank, like `tensor`; null on the others.
 * Result: the tensor. Reference: torch.distributed.scatter.
 */
export const scatter = guarded($distributedCollectives.scatter, "distributed.scatter", "tensor tensors:tensorsOrNull options:SourceOptions?");
/** Sends the tensor's elements to a rank, which receives them by recv(). Messages with one tag arrive in order. Reference: torch.distributed.send. */
export const send = guarded($distributedCollectives.send, "distributed.send", "tensor options:SendOptions");
/** The tensor takes the elements that a rank sends by send(): in place. Result: the tensor. Reference: torch.distributed.recv. */
export const recv = guarded($distributedCollectives.recv, "distributed.recv", "tensor options:ReceiveOptions");
/** Ends when all ranks have called it. Reference: torch.distributed.barrier. */
export const barrier = guarded($distributedCollectives.barrier, "distributed.barrier", "options:GroupOptions?");
/**
 * The module in each rank of a group, over a part of the batch: backward() gives every rank the mean of all ranks' gradients, which is that of the whole
 * batch where the parts have one size and the loss is a mean.
 *
 * The ranks take the first rank's parameters and buffers when it is made. Gradients are reduced in buckets while backward runs, and are complete when
 * backward() returns; that blocks this thread until all ranks are there. Parameters that a rank's loss does not depend on count as zeros, and keep their
 * gradient where no rank's does. Parameters are those of the time when it is made. All ranks run the same number of forward and backward passes.
 *
 * Throws AutogradError for a module without parameters that require gradients, DistributedError (reason "mismatch") where the ranks' modules differ. A function
 * that is being compiled cannot call it: see compileStep().
 * Reference: torch.nn.parallel.DistributedDataParallel.
 */
export const DistributedDataParallel = checkedClass($distributedDataParallel.DistributedDataParallel, "module:module options:DistributedDataParallelOptions?", "forward ...inputs:anything;noSync fn:callback;reduceGradients;compileStep lossOf:callback optimizer:optimizer options:CompileStepOptions?", "registerBuffer name:string tensor options:persistent_d9ad21?;clone copies:anything;registerForwardPreHook hook:anything options:HookOptions?;registerForwardHook hook:anything options:ForwardHookOptions?;registerFullBackwardPreHook hook:callback options:HookOptions?;registerFullBackwardHook hook:callback options:HookOptions?;registerStateDictPreHook hook:callback;registerStateDictPostHook hook:callback;registerLoadStateDictPreHook hook:callback;registerLoadStateDictPostHook hook:callback;children;modules;parameters;buffers;train mode:boolean?;eval;apply fn:callback;zeroGrad options:setToNull_d4ebf9?;requiresGrad_ mode:boolean?;to target:deviceOrStringOrDtype;toEmpty target:deviceOrString;stateDict;loadStateDict state:recordOfTensor options:strict_b521a7?;dispose;toString");
export type DistributedDataParallel<M extends $nnModule.Module> = $distributedDataParallel.DistributedDataParallel<M>;
/**
 * Shards the parameters of a module over the ranks, in place: each rank keeps 1/n of the elements of each, in one axis, and an optimizer that is made of
 * them keeps 1/n of the state. forward() gathers the whole parameters before it runs; backward() gathers them again, and gives each rank the mean of
 * all ranks' gradients for its part, as DistributedDataParallel does. Both block until all ranks are there.
 *
 * Parameters that an inner call has sharded stay with it: shard the layers first, then the whole, and one layer's parameters are whole at a time. The ranks
 * take the first rank's parameters and buffers. stateDict() gives this rank's parts; fullStateDict() and loadFullStateDict() whole tensors. Optimizers that
 * look at a whole parameter (LAMB, Adafactor, Muon) are not those of one process. It computes eagerly, and first derivatives only. Returns the module.
 *
 * Throws AutogradError where there is nothing left to shard, ValueError for a module that was sharded before, DistributedError where a rank is lost.
 * Reference: torch.distributed.fsdp.fully_shard.
 */
export const fullyShard = guarded($distributedFullyShard.fullyShard, "distributed.fullyShard", "module:module options:FullyShardOptions?");
/**
 * The state of a module with whole tensors in place of the parts that fullyShard() left: new tensors on all ranks, of which the caller disposes. All ranks call
 * it. Reference: torch.distributed.checkpoint.state_dict.get_model_state_dict with full_state_dict.
 */
export const fullStateDict = guarded($distributedFullyShard.fullStateDict, "distributed.fullStateDict", "module:module");
/**
 * Each rank takes its parts of whole tensors, which all ranks have. Throws ValueError for names that are missing or unknown and for other shapes, before
 * anything is copied. Reference: torch.distributed.checkpoint.state_dict.set_model_state_dict with full_state_dict.
 */
export const loadFullStateDict = guarded($distributedFullyShard.loadFullStateDict, "distributed.loadFullStateDict", "module:module state:recordOfTensor");
/**
 * An optimizer of which each rank of a group keeps a part of the state (ZeRO 1): whole parameters are divided among the ranks by their size. step() updates
 * this rank's, and takes the others from their ranks; it blocks until all are there. Gradients are those of all ranks, as DistributedDataParallel gives them.
 * To shard gradients and parameters too, see fullyShard().
 *
 * params: parameters, or groups of them with options; the same on all ranks. make: gives the optimizer of some of them, such as
 * `(params) => dx.optim.adamW(params, { lr: 1e-3 })`. Schedules take `optimizer`, this rank's own, whose groups have the options of all.
 * GradScaler steps `optimizer`, for which the ranks agree whether a gradient is infinite; call synchronize() behind it.
 * Throws ValueError for no parameters, TraceError in step() inside a compiled function. Reference: torch.distributed.optim.ZeroRedundancyOptimizer.
 */
export const ZeroRedundancyOptimizer = checkedClass($distributedZeroRedundancy.ZeroRedundancyOptimizer, "params:iterableOfTensorOrIterableOfAnything make:callback options:ZeroRedundancyOptions?", "step closure:callback?;synchronize;zeroGrad options:setToNull_d4ebf9?;stateDict;fullStateDict;loadStateDict saved:OptimizerState;dispose");
export type ZeroRedundancyOptimizer<O extends $optimGroup.BaseOptions> = $distributedZeroRedundancy.ZeroRedundancyOptimizer<O>;
/**
 * The state of an optimizer whose parameters fullyShard() has sharded, with whole tensors, as an optimizer of one process has it: new tensors on all ranks, of
 * which the caller disposes. All ranks call it; it blocks until they have. Reference: torch.distributed.checkpoint.state_dict.get_optimizer_state_dict with
 * full_state_dict.
 */
export const fullOptimizerStateDict = guarded($distributedFullOptimizerState.fullOptimizerStateDict, "distributed.fullOptimizerStateDict", "optimizer:optimizer");
/**
 * An optimizer whose parameters fullyShard() has sharded takes its parts of a state with whole tensors: of fullOptimizerStateDict(), or of one process. Throws
 * what its loadStateDict() throws. Reference: torch.distributed.checkpoint.state_dict.set_optimizer_state_dict with full_state_dict.
 */
export const loadFullOptimizerStateDict = guarded($distributedFullOptimizerState.loadFullOptimizerStateDict, "distributed.loadFullOptimizerStateDict", "optimizer:optimizer saved:OptimizerState");
/**
 * Writes the state of a training by all ranks, into a folder that all see: each rank writes the parts that it holds (of fullyShard() and
 * ZeroRedundancyOptimizer) and its share of what all have alike, then the first rank writes the file at `path`, which makes them a checkpoint. Without it the
 * checkpoint before is the last one. All ranks call it with the same path, and with states of the same names; of plain values and buffers the first rank's are saved,
 * and perRank() saves each rank's.
 *
 * dx.load(path, { into }) reads it: any number of ranks, which take the parts that they hold, and programs without a group. dx.latest(folder) finds it.
 * state: as of dx.save(). Its tensors stay unchanged until the promise is resolved: one that changes is a ValueError.
 * Throws on all ranks what save() throws where one of them fails: that rank its own error, the others a DistributedError of reason "peer"; ValueError where the
 * paths differ, where parts are missing, and for optimizers whose state is not by element (Adam8bit). Reference: torch.distributed.checkpoint.save.
 */
export const save = guardedAsync($distributedSaveByRanks.save, "distributed.save", "path:anything state:anything options:DistributedSaveOptions?");
/**
 * A value of which each rank saves its own: a generator that draws dropout. With `into`, a rank takes that of its number; a further rank, of a larger group
 * than the one that saved, keeps what it has. A state that was saved without it goes to all ranks.
 */
export const PerRank = checkedClass($ioCheckpointPerRank.PerRank, "value:anything", "stateDict;loadStateDict state:anything");
export type PerRank<T> = $ioCheckpointPerRank.PerRank<T>;
/** Makes a DistributedDataParallel. */
export const distributedDataParallel = factory(DistributedDataParallel, $distributedDataParallel.distributedDataParallel);
/** Makes a ZeroRedundancyOptimizer. */
export const zeroRedundancyOptimizer = factory(ZeroRedundancyOptimizer, $distributedZeroRedundancy.zeroRedundancyOptimizer);
/** Makes a PerRank. */
export const perRank = factory(PerRank, $ioCheckpointPerRank.perRank);
