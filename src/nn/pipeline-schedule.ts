/** In which order the stages of a pipeline compute forward and backward passes of microbatches. Pure. */

/** How forward and backward passes follow each other: all forward passes first, or a backward pass as soon as there is one. */
export type PipelineSchedule = "GPipe" | "1F1B";

/** A pass of a microbatch through a stage. */
export interface StagePass {
  readonly kind: "forward" | "backward";
  readonly stage: number;
  readonly microbatch: number;
}

/** The passes of one stage, in order. Of 1F1B: forward passes until the last stage can have begun, then one of each. */
function passesOf(schedule: PipelineSchedule, stage: number, stages: number, microbatches: number): readonly StagePass[] {
  const ahead = schedule === "GPipe" ? microbatches : Math.min(microbatches, stages - stage);
  const passes: StagePass[] = [];
  for (let forward = 0, backward = 0; backward < microbatches;)
    if (forward < microbatches && forward - backward < ahead) passes.push({ kind: "forward", stage, microbatch: forward++ });
    else passes.push({ kind: "backward", stage, microbatch: backward++ });
  return passes;
}

/** All passes: lists of those that stages compute at once. Each needs what earlier lists have computed. */
export function scheduleOf(schedule: PipelineSchedule, stages: number, microbatches: number): readonly (readonly StagePass[])[] {
  const waiting = Array.from({ length: stages }, (_, stage) => [...passesOf(schedule, stage, stages, microbatches)]);
  const done = new Set<string>();
  const key = (kind: StagePass["kind"], stage: number, microbatch: number): string => `${kind} ${stage} ${microbatch}`;
  const isReady = ({ kind, stage, microbatch }: StagePass): boolean => {
    if (kind === "forward") return stage === 0 || done.has(key("forward", stage - 1, microbatch));
    return done.has(stage === stages - 1 ? key("forward", stage, microbatch) : key("backward", stage + 1, microbatch));
  };
  const clocks: StagePass[][] = [];
  while (waiting.some((passes) => passes.length > 0)) {
    const now = waiting.filter((passes) => passes.length > 0 && isReady(passes[0]!)).map((passes) => passes.shift()!);
    clocks.push(now);
    for (const { kind, stage, microbatch } of now) done.add(key(kind, stage, microbatch));
  }
  return clocks;
}
