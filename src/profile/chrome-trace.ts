/** A profile in Chrome's trace format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. */
import type { ProfileEvent } from "./event.ts";
import type { ProfileReport } from "./report.ts";
import { rateOf } from "./event-table.ts";

type TraceEvent = Readonly<Record<string, unknown>>;

const PID = 1;
const JS = 1;
const us = (ms: number): number => Math.round(ms * 1e6) / 1e3;

const argsOf = (event: ProfileEvent): TraceEvent => {
  const { phase, module, line, inputs, flops, bytes, memoryInBytes, step, deviceMs } = event;
  const args = { phase, module, line, inputs, flops, flopsPerSecond: rateOf(event), bytes, memoryInBytes, step, deviceMs };
  return Object.fromEntries(Object.entries(args).filter(([, v]) => v !== null && v !== ""));
};

/** An object to be written as JSON. */
export function traceOf(report: ProfileReport): { readonly traceEvents: readonly TraceEvent[]; readonly displayTimeUnit: "ms" } {
  const track = (tid: number, name: string): TraceEvent => ({ ph: "M", pid: PID, tid, name: "thread_name", args: { name } });
  const tracks = new Map(report.devices.map(({ device }, i) => [device, { queue: 2 * i + 2, device: 2 * i + 3 }] as const));
  const traceEvents: TraceEvent[] = [
    { ph: "M", pid: PID, name: "process_name", args: { name: report.name } },
    track(JS, "JavaScript"),
    ...[...tracks].flatMap(([name, t]) => [track(t.queue, `${name} queue`), track(t.device, `${name} device`)]),
  ];
  for (const e of report.events) {
    const common = { name: e.name, cat: `${e.kind},${e.phase}`, pid: PID };
    if (e.kind === "read") {
      // It overlaps with what JavaScript does meanwhile.
      traceEvents.push({ ...common, ph: "b", id: e.id, tid: JS, ts: us(e.startMs), args: argsOf(e) });
      traceEvents.push({ ...common, ph: "e", id: e.id, tid: JS, ts: us(e.startMs + e.durationMs) });
    } else if (e.kind !== "node")
      traceEvents.push({ ...common, ph: "X", tid: JS, ts: us(e.startMs), dur: us(e.durationMs), args: argsOf(e) });
    const own = e.device === null ? undefined : tracks.get(e.device);
    if (own === undefined) continue;
    if (e.queueStartMs !== null && e.queueMs !== null)
      traceEvents.push({ ...common, ph: "X", tid: own.queue, ts: us(e.queueStartMs), dur: us(e.queueMs), args: argsOf(e) });
    if (e.deviceStartMs !== null && e.deviceMs !== null)
      traceEvents.push({ ...common, ph: "X", tid: own.device, ts: us(e.deviceStartMs), dur: us(e.deviceMs), args: argsOf(e) });
  }
  for (const { device, timeMs, liveInBytes, pooledInBytes, programInBytes } of report.memory)
    traceEvents.push({
      ph: "C",
      pid: PID,
      name: `${device} memory`,
      ts: us(timeMs),
      args: { live: liveInBytes, pooled: pooledInBytes, programs: programInBytes },
    });
  return { traceEvents, displayTimeUnit: "ms" };
}
