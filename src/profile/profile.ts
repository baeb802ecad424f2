/** profile(), startProfile(): where the time of eager operations and compiled programs goes. */
import { isPromise } from "../core/ambient.ts";
import { DxError, TraceError, ValueError } from "../core/errors.ts";
import { tracer } from "../core/tracer.ts";
import { fallbackStats, type FallbackRecord } from "../runtime/fallback.ts";
import { addTimes } from "./device-times.ts";
import { attach } from "./attach.ts";
import { Recorder } from "./event-recorder.ts";
import { ProfileReport, type ProfiledDevice } from "./report.ts";

/** Options of profile(). */
export interface ProfileOptions {
  /** A name for texts and traces. Default: the function's name, or "profile". */
  readonly name?: string | undefined;
  /** Modules whose names begin the paths. Default: the class of each module that is called from outside of all modules. */
  readonly modules?: Readonly<Record<string, (...inputs: never[]) => unknown>> | undefined;
  /** Whether the lines of the user's code are found, which takes most of the profile's own time. Default: true. */
  readonly lines?: boolean | undefined;
  /** Whether the devices' memory is sampled at each operation. Default: true. */
  readonly memory?: boolean | undefined;
  /** Whether dispatches are timed by the devices' clocks, for which each runs alone. Default: true. */
  readonly deviceTime?: boolean | undefined;
  /** Events that are kept; those beyond are counted. Default: 100,000. */
  readonly maxEvents?: number | undefined;
}

/** Which steps of a loop are recorded. Reference: torch.profiler.schedule. */
export interface ProfileSchedule {
  /** Steps before the first one. Default: 0. */
  readonly skipFirst?: number | undefined;
  /** Steps at the beginning of each round in which nothing is recorded. Default: 0. */
  readonly wait?: number | undefined;
  /** Steps after them that are recorded and thrown away, so that programs are made and caches filled. Default: 0. */
  readonly warmup?: number | undefined;
  /** Steps after them that are recorded. */
  readonly active: number;
  /** Rounds; 0: until stop(). Default: 0. */
  readonly repeat?: number | undefined;
}

/** Options of startProfile(). */
export interface ProfileSessionOptions extends ProfileOptions {
  /** Which steps are recorded. Default: all. */
  readonly schedule?: ProfileSchedule | undefined;
  /** Called with the report of each round of the schedule, or of the whole. Reference: on_trace_ready of torch.profiler.profile. */
  readonly onReport?: ((report: ProfileReport<undefined>) => void) | undefined;
}

const MAX_EVENTS = 100_000;

/** What is on in this thread. */
let running: Running | null = null;

const refused = (operation: string): DxError =>
  new DxError({
    operation,
    expected: "called while no other profile is on in this thread",
    received: `a call inside of the profile "${running!.name}"`,
    hint: "Profiles do not nest: the outer one contains what happens inside.",
  });

const begin = (operation: string, name: string, options: ProfileOptions): Running => (running = new Running(operation, name, options));

/** A profile that is on. */
class Running {
  readonly name: string;
  readonly recorder: Recorder;
  readonly #attached: ReturnType<typeof attach>;
  readonly #fallbacks: ReadonlyMap<string, number>;

  constructor(
    operation: string,
    name: string,
    { modules = {}, lines = true, memory = true, deviceTime = true, maxEvents = MAX_EVENTS }: ProfileOptions,
  ) {
    if (tracer() !== null)
      throw new TraceError({ operation, expected: "called outside of compiled functions", received: "a call inside of one" });
    if (running !== null) throw refused(operation);
    if (!Number.isInteger(maxEvents) || maxEvents < 1) throw new ValueError(operation, "maxEvents", "an integer of at least 1", maxEvents);
    this.name = name;
    this.recorder = new Recorder({ lines, memory, maxEvents });
    this.#fallbacks = new Map(fallbackStats().map((f) => [keyOf(f), f.calls]));
    this.#attached = attach(this.recorder, modules, deviceTime);
  }

  /** Takes the profile away, whatever happens afterwards. */
  stop(): void {
    if (running !== this) return;
    running = null;
    this.#attached.detach();
    for (const { observed, timing } of this.#attached.bindings.times()) addTimes(this.recorder, observed, timing);
    this.recorder.close();
  }

  /** Waits for the devices; a failure of one is seen by who asks it for something. */
  waitSync(): void {
    for (const { native, binding } of this.#attached.bindings.observed)
      try {
        if (!native.isClosed) binding.synchronizeSync(native.id);
      } catch {
        continue;
      }
  }

  async wait(): Promise<void> {
    for (const { native, binding } of this.#attached.bindings.observed)
      try {
        if (!native.isClosed) await binding.synchronize(native.id);
      } catch {
        continue;
      }
  }

  report<T>(result: T): ProfileReport<T> {
    const { recorder } = this;
    const fallbacks = fallbackStats().flatMap((f): FallbackRecord[] => {
      const calls = f.calls - (this.#fallbacks.get(keyOf(f)) ?? 0);
      return calls > 0 ? [{ ...f, calls }] : [];
    });
    const devices = this.#attached.bindings.observed.map(({ native, reason }): ProfiledDevice => {
      const device = String(native.device);
      const live = recorder.memory.flatMap((m) => (m.device === device ? [m.liveInBytes] : []));
      const times = recorder.events.flatMap((e) => (e.kind !== "node" && e.device === device && e.deviceMs !== null ? [e.deviceMs] : []));
      return {
        device,
        name: native.adapter.name,
        deviceTime: reason === null ? times.reduce((sum, t) => sum + t, 0) : null,
        reason,
        peakInBytes: live.length === 0 ? null : live.reduce((most, bytes) => Math.max(most, bytes), 0),
      };
    });
    recorder.events.sort((a, b) => a.id - b.id);
    const { events, memory, dropped } = recorder;
    return new ProfileReport(result, {
      name: this.name,
      events,
      memory,
      devices,
      fallbacks,
      durationMs: recorder.now,
      steps: recorder.step,
      dropped,
    });
  }
}

const keyOf = ({ kind, operation, device }: FallbackRecord): string => `${kind}|${operation}|${device}`;

/** The report of a function: a promise of it where the function returns a promise. */
export type Profiled<T> = T extends PromiseLike<infer R> ? Promise<ProfileReport<R>> : ProfileReport<T>;

/**
 * Runs fn and reports where its time goes: JavaScript, queue and device time of each operation, module and source line, memory over time, FLOP, waits for
 * the device and fallbacks. Eager operations and compiled functions, forward and backward passes. console.log shows the table.
 *
 * fn: is called without arguments. It may return a promise: the profile then lasts until that settles, and contains what else runs in this thread
 * meanwhile. Ends with a wait for the devices that are open.
 *
 * Throws what fn throws; DxError inside of another profile of this thread, TraceError inside of a compiled function, ValueError for options out of their
 * range. Reference: torch.profiler.profile.
 */
export function profile<T>(fn: () => T, options: ProfileOptions = {}): Profiled<T> {
  const name = options.name ?? (fn.name === "" ? "profile" : fn.name);
  const on = begin("profile", name, options);
  let result: T;
  try {
    result = fn();
  } catch (error) {
    on.stop();
    throw error;
  }
  if (isPromise(result)) return settled(on, result) as Profiled<T>;
  on.waitSync();
  on.stop();
  return on.report(result) as Profiled<T>;
}

async function settled<T>(on: Running, promise: PromiseLike<T>): Promise<ProfileReport<T>> {
  try {
    const result = await promise;
    await on.wait();
    on.stop();
    return on.report(result);
  } finally {
    on.stop();
  }
}

type Filled = Required<{ [K in keyof ProfileSchedule]: number }>;

function filled({ skipFirst = 0, wait = 0, warmup = 0, active, repeat = 0 }: ProfileSchedule): Filled {
  const all = { skipFirst, wait, warmup, active, repeat };
  for (const [name, value] of Object.entries(all)) {
    const least = name === "active" ? 1 : 0;
    if (!Number.isInteger(value) || value < least)
      throw new ValueError("startProfile", `schedule.${name}`, `an integer of at least ${least}`, value);
  }
  return all;
}

/** What a step of a schedule does. */
function actionOf({ skipFirst, wait, warmup, active, repeat }: Filled, step: number): "wait" | "warmup" | "active" {
  if (step < skipFirst) return "wait";
  const length = wait + warmup + active;
  const round = Math.floor((step - skipFirst) / length);
  if (repeat > 0 && round >= repeat) return "wait";
  const at = (step - skipFirst) % length;
  return at < wait ? "wait" : at < wait + warmup ? "warmup" : "active";
}

/** A profile from startProfile() to stop(). `using session = dx.startProfile()` stops it at the end of the block. */
export class ProfileSession {
  readonly #options: ProfileSessionOptions;
  readonly #schedule: Filled | null;
  #on: Running | null = null;
  #step = 0;
  #report: ProfileReport<undefined> | null = null;
  #isStopped = false;

  /** @internal */
  constructor(options: ProfileSessionOptions) {
    this.#options = options;
    this.#schedule = options.schedule === undefined ? null : filled(options.schedule);
    this.#enter();
  }

  get #action(): "wait" | "warmup" | "active" {
    return this.#schedule === null ? "active" : actionOf(this.#schedule, this.#step);
  }

  #start(): void {
    this.#on ??= begin("startProfile", this.#options.name ?? "profile", this.#options);
  }

  #enter(): void {
    if (this.#action !== "wait") this.#start();
  }

  #finish(): void {
    const on = this.#on;
    if (on === null) return;
    this.#on = null;
    on.waitSync();
    on.stop();
    this.#report = on.report(undefined);
    this.#options.onReport?.(this.#report);
  }

  /** The latest report that is complete; null before the first one. */
  get report(): ProfileReport<undefined> | null {
    return this.#report;
  }

  /** The end of a step of a loop. Without a schedule it numbers the events. Reference: torch.profiler.profile.step. */
  step(): void {
    if (this.#isStopped) return;
    const before = this.#action;
    this.#step++;
    if (this.#on !== null && before === "active") this.#on.recorder.step++;
    if (this.#schedule === null) return;
    const { wait, warmup, active, skipFirst } = this.#schedule;
    const isEnd = before === "active" && (this.#step - skipFirst) % (wait + warmup + active) === 0;
    try {
      if (isEnd) this.#finish();
    } finally {
      // What the warmup recorded is thrown away.
      if (before === "warmup" && this.#action === "active") {
        this.#on?.stop();
        this.#on = null;
      }
      // The next round is recorded, whatever onReport throws.
      this.#enter();
    }
  }

  /** Ends the profile, waits for the devices, and gives the report: the latest one where nothing was being recorded. Null: there is none. */
  stop(): ProfileReport<undefined> | null {
    if (!this.#isStopped) {
      this.#isStopped = true;
      if (this.#action === "active") this.#finish();
      else this.#on?.stop();
      this.#on = null;
    }
    return this.#report;
  }

  /** stop(), for `using`. */
  [Symbol.dispose](): void {
    this.stop();
  }
}

/**
 * Starts a profile that lasts until its stop(), or, with a schedule, records the steps of a loop that the schedule names: call step() at the end of each.
 * Throws DxError inside of another profile of this thread, TraceError inside of a compiled function, ValueError for options out of their range.
 * Reference: torch.profiler.profile with schedule and on_trace_ready.
 */
export const startProfile = (options: ProfileSessionOptions = {}): ProfileSession => new ProfileSession(options);
