/** GradScaler's skip over ranks that hold parts of the parameters. */
import { TraceError } from "../core/errors.ts";
import { tracer } from "../core/tracer.ts";
import type { Agreement } from "../optim/found-agreement.ts";
import { EngineMemory } from "./engine-memory.ts";
import { described, type ProcessGroup } from "./process-group.ts";

const OPERATION = "GradScaler";
const byGroup = new WeakMap<ProcessGroup, Agreement>();

function agree(group: ProcessGroup, ...[found]: Parameters<Agreement>): void {
  if (tracer() !== null)
    throw new TraceError({
      operation: OPERATION,
      received: "an optimizer of sharded parameters in a function that is compiled",
      hint: "The ranks agree about each step: call unscale() or step() eagerly.",
    });
  if (group.size === 1) return;
  const { dtype, shape } = found;
  const memory = EngineMemory.of(OPERATION, found);
  const bytes = memory.bytesNow(true);
  const what = described("allReduce", "max", dtype, shape);
  group.reduceNow(OPERATION, { kind: "allReduce", what, dtype, reduction: "max", input: bytes, output: bytes })();
  memory.writtenTo(found);
}

/** @internal The maximum of `found` over the ranks of a group: one function for each group, so that a step reduces once. */
export function agreementOf(group: ProcessGroup): Agreement {
  let agreement = byGroup.get(group);
  if (agreement === undefined) byGroup.set(group, (agreement = (found) => agree(group, found)));
  return agreement;
}
