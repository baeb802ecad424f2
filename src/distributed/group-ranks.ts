/** A process group as the ranks that a checkpoint is written by. */
import { DistributedError } from "../core/errors.ts";
import type { ProcessRanks } from "../core/process-ranks.ts";
import type { ProcessGroup } from "./process-group.ts";

/** @internal The ranks of a group. */
export function ranksOf(group: ProcessGroup): ProcessRanks {
  const allGather = (operation: string, bytes: Uint8Array): Promise<Uint8Array> => {
    const output = new Uint8Array(bytes.byteLength * group.size);
    const what = `${operation} gathers ${bytes.byteLength} bytes`;
    return Promise.resolve(
      group.call(
        operation,
        async () => ({ kind: "allGather", what, input: bytes, output }),
        () => output,
      ),
    );
  };
  return {
    rank: group.rank,
    size: group.size,
    async gather(operation, bytes) {
      if (group.size === 1) return [bytes];
      const lengths = await allGather(operation, new Uint8Array(BigUint64Array.of(BigInt(bytes.byteLength)).buffer));
      const sizes = [...new BigUint64Array(lengths.slice().buffer)].map(Number);
      const longest = Math.max(...sizes);
      const own = new Uint8Array(longest);
      own.set(bytes);
      const all = await allGather(operation, own);
      return sizes.map((size, rank) => all.subarray(rank * longest, rank * longest + size));
    },
    refused: (operation, rank, problem) => {
      const peer = group.ranks[rank]!;
      const data = { reason: "peer", rank: group.ranks[group.rank]!, peer, group: group.name, sequence: 0 } as const;
      return new DistributedError(operation, data, `rank ${peer} failed: ${problem}`);
    },
  };
}
