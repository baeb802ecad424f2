/** Training and computing in several processes, of one machine or of several. */
export {
  initProcessGroup,
  newGroup,
  destroyProcessGroup,
  isInitialized,
  isLaunched,
  isAvailable,
  getRank,
  getWorldSize,
  engineInfo,
  type InitProcessGroupOptions,
  type NewGroupOptions,
  type EngineInfo,
} from "./init-process-group.ts";
export type { ProcessGroup } from "./process-group.ts";
export type { Work } from "./distributed-work.ts";
export { fileStore, type Store } from "./rendezvous-store.ts";
export { tcpStore, type TcpStoreOptions } from "./tcp-store.ts";
export {
  allReduce,
  reduce,
  broadcast,
  allGather,
  reduceScatter,
  allToAll,
  gather,
  scatter,
  send,
  recv,
  barrier,
  type Reduction,
  type GroupOptions,
  type ReductionOptions,
  type SourceOptions,
  type TargetOptions,
  type ReduceToOptions,
  type SendOptions,
  type ReceiveOptions,
} from "./collectives.ts";
export { DistributedDataParallel, distributedDataParallel, type DistributedDataParallelOptions } from "./data-parallel.ts";
export type { CompileStepOptions, CompiledStep } from "./compiled-step.ts";
export { fullyShard, fullStateDict, loadFullStateDict, type FullyShardOptions } from "./fully-shard.ts";
export { ZeroRedundancyOptimizer, zeroRedundancyOptimizer, type ZeroRedundancyOptions } from "./zero-redundancy.ts";
export { fullOptimizerStateDict, loadFullOptimizerStateDict } from "./full-optimizer-state.ts";
export { save, type DistributedSaveOptions } from "./save-by-ranks.ts";
export { PerRank, perRank, type PerRankState } from "../io/checkpoint/per-rank.ts";
