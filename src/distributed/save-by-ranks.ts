/** save(): checkpoints that all ranks write. */
import type { FilePath } from "../host/source.ts";
import { saveOverRanks, type RanksSaveOptions } from "../io/checkpoint/save-over-ranks.ts";
import { ranksOf } from "./group-ranks.ts";
import { groupOf } from "./init-process-group.ts";
import type { ProcessGroup } from "./process-group.ts";

/** Options of dx.distributed.save(). */
export interface DistributedSaveOptions extends RanksSaveOptions {
  /** The group. Default: that of all ranks. */
  readonly group?: ProcessGroup | undefined;
}

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
export async function save(path: FilePath, state: unknown, { group, ...options }: DistributedSaveOptions = {}): Promise<void> {
  await saveOverRanks("distributed.save", ranksOf(groupOf("distributed.save", group)), path, state, options);
}
