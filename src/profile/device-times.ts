/** Times of the devices, added to the events that asked for the work, and an event for each dispatch of a compiled program. */
import { operatorName } from "../compile/kernels.ts";
import type { DeviceTiming, KernelTime } from "../native/binding.ts";
import type { Observed } from "./bindings.ts";
import type { Mutable, ProfileEvent } from "./event.ts";
import type { Recorder } from "./event-recorder.ts";
import type { Plan } from "../graph/plan/plan.ts";

/** A part of a dispatch: which operation asked for it, and its share of the time. */
interface Part {
  readonly origin: string;
  readonly share: number;
  /** Null where no formula is known. */
  readonly flops: number | null;
}

/** "add at train.ts:12": the operation and its line. */
const originOf = (text: string): { readonly name: string; readonly line: string | null } => {
  const at = text.indexOf(" at ");
  return at < 0 ? { name: text, line: null } : { name: text.slice(0, at), line: text.slice(at + " at ".length) };
};

/** What a dispatch consists of: the kernels of a graph by their times, where the device shows them. */
function partsOf(plan: Plan, dispatch: number, kernels: readonly (readonly KernelTime[])[] | undefined): Part[] {
  const step = plan.steps.filter((s) => "dispatch" in s)[dispatch];
  if (step === undefined || !("dispatch" in step)) return [];
  const made = plan.dispatchables[step.dispatch]!;
  const flopsOf = (nodes: readonly number[]): number | null => nodes.reduce((sum, n) => sum + (step.flops?.[n] ?? 0), 0) || null;
  const own = kernels?.[step.dispatch] ?? [];
  const whole = own.reduce((sum, k) => sum + k.seconds, 0);
  if ("nodes" in made && whole > 0)
    return own.map((k) => {
      const origins = k.nodes.map((n) => step.origins?.[n] ?? "").filter((o) => o !== "");
      return { origin: [...new Set(origins)].at(-1) ?? k.name, share: k.seconds / whole, flops: flopsOf(k.nodes) };
    });
  const type = "type" in made ? operatorName(made.type) : "nodes" in made ? `graph of ${made.nodes.length} nodes` : "shader";
  return [{ origin: step.origin ?? type, share: 1, flops: flopsOf([...(step.flops ?? []).keys()]) }];
}

/** Adds what a device has timed. */
export function addTimes(recorder: Recorder, { works, timedFrom }: Observed, { dispatches, programs }: DeviceTiming): void {
  const kernels = new Map(programs.map((p) => [works[p.work]?.plan ?? null, p.kernels]));
  let last = -1;
  for (let i = 0; i < dispatches.length; i += 6) {
    const [number, dispatch, queueBegin, queueEnd, begin, end] = dispatches.subarray(i, i + 6) as unknown as readonly [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const work = works[number];
    if (work === undefined) continue;
    const { event, plan } = work;
    if (number !== last) {
      event.queueStartMs ??= timedFrom + queueBegin;
      event.queueMs = (event.queueMs ?? 0) + queueEnd - queueBegin;
      last = number;
    }
    event.deviceStartMs ??= timedFrom + begin;
    event.deviceMs = (event.deviceMs ?? 0) + end - begin;
    if (plan === null) continue;
    let at = timedFrom + begin;
    for (const part of partsOf(plan, dispatch, kernels.get(plan))) {
      const ms = part.share * (end - begin);
      addNode(recorder, event, part, at, ms);
      at += ms;
    }
  }
}

function addNode(recorder: Recorder, program: ProfileEvent, { origin, flops }: Part, start: number, ms: number): void {
  const { name, line } = originOf(origin);
  const event: Mutable<ProfileEvent> = {
    ...program,
    id: recorder.nextId(),
    parent: program.id,
    kind: "node",
    name,
    line,
    startMs: start,
    durationMs: 0,
    selfMs: 0,
    queueMs: null,
    queueStartMs: null,
    deviceStartMs: start,
    deviceMs: ms,
    inputs: "",
    flops,
    memoryInBytes: null,
  };
  recorder.addLate(event);
}
