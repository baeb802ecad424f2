/** What a profile found: events, memory, fallbacks, and tables, files and JSON of them. */
import { writeFile } from "node:fs/promises";
import { inspect } from "node:util";
import type { FallbackRecord } from "../runtime/fallback.ts";
import { pathOf, type FilePath } from "../host/source.ts";
import type { ProfileEvent, ProfileMemory } from "./event.ts";
import { tableOf, type ProfileTable, type ProfileTableOptions } from "./event-table.ts";

/** A device that a profile has seen. */
export interface ProfiledDevice {
  /** "cpu" or "dml:0". */
  readonly device: string;
  /** The adapter's name. */
  readonly name: string;
  /** Milliseconds of the device's own time in all; null: it has no clock, or devices were not timed. */
  readonly deviceTime: number | null;
  /** Why there is none; null where there is. */
  readonly reason: string | null;
  /** Highest live bytes of tensors among the samples; null where memory was not recorded. */
  readonly peakInBytes: number | null;
}

/** What ProfileReport is made of. */
export interface ReportData {
  readonly name: string;
  readonly events: readonly ProfileEvent[];
  readonly memory: readonly ProfileMemory[];
  readonly devices: readonly ProfiledDevice[];
  readonly fallbacks: readonly FallbackRecord[];
  readonly durationMs: number;
  readonly steps: number;
  readonly dropped: number;
}

/** The result of profile(), as text a table of operations. Reference: torch.profiler.profile. */
export class ProfileReport<T = unknown> {
  /** What the function returned; undefined of startProfile(). */
  readonly result: T;
  /** The name of the profile. */
  readonly name: string;
  /** What happened, in the order of the beginnings. */
  readonly events: readonly ProfileEvent[];
  /** Samples of the devices' memory, by time. */
  readonly memory: readonly ProfileMemory[];
  /** The devices that were open. */
  readonly devices: readonly ProfiledDevice[];
  /** Operations that ran on the software adapter or on the host meanwhile, with the number of calls. */
  readonly fallbacks: readonly FallbackRecord[];
  /** From the beginning of the profile until the devices were done. */
  readonly durationMs: number;
  /** How many steps it has. */
  readonly steps: number;
  /** Events and samples that were left out, since there were more than maxEvents. */
  readonly dropped: number;

  /** @internal */
  constructor(result: T, data: ReportData) {
    this.result = result;
    this.name = data.name;
    this.events = data.events;
    this.memory = data.memory;
    this.devices = data.devices;
    this.fallbacks = data.fallbacks;
    this.durationMs = data.durationMs;
    this.steps = data.steps;
    this.dropped = data.dropped;
  }

  /**
   * Events added up by operation, module, line or wait. Throws ValueError for options out of their range.
   * Reference: torch.profiler.profile.key_averages().table.
   */
  table(options: ProfileTableOptions = {}): ProfileTable {
    return tableOf(this.events, options);
  }

  /**
   * Writes the profile in Chrome's trace format, which chrome://tracing and Perfetto open: tracks of JavaScript, of each device's queue, of each
   * device, and of memory. Reference: torch.profiler.profile.export_chrome_trace.
   */
  async saveTrace(file: FilePath): Promise<void> {
    const { traceOf } = await import("./chrome-trace.ts");
    await writeFile(pathOf("saveTrace", "file", file), JSON.stringify(traceOf(this)));
  }

  /** Writes the profile as one HTML page, which asks the network for nothing: tables, a timeline, and memory over time. */
  async savePage(file: FilePath): Promise<void> {
    const { pageOf } = await import("./profile-page.ts");
    await writeFile(pathOf("savePage", "file", file), pageOf(this));
  }

  /** All of it as plain data, without the function's result. */
  toJSON(): Readonly<Record<string, unknown>> {
    const { result: _, ...data } = this;
    return data;
  }

  /** The table of operations, and what is to be known of the whole. */
  toString(): string {
    const waits = this.events.filter((e) => e.kind === "wait").length;
    const calls = this.fallbacks.reduce((sum, f) => sum + f.calls, 0);
    const notes = [
      `${this.name}: ${this.durationMs.toFixed(3)} ms, ${this.events.length} events, ${waits} waits, ${calls} fallbacks`,
      ...this.devices.map(
        (d) =>
          `${d.device} (${d.name}): ${d.deviceTime === null ? `no device time: ${d.reason}` : `${d.deviceTime.toFixed(3)} ms of device time`}`,
      ),
      ...(this.dropped > 0 ? [`${this.dropped} events were left out: raise maxEvents, or profile fewer steps`] : []),
    ];
    return `${this.table().toString()}\n${notes.join("\n")}`;
  }

  /** @internal console.log shows the table. */
  [inspect.custom](): string {
    return this.toString();
  }
}
