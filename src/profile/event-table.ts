/** Events added up by operation, module, line or wait, and the table as text. */
import { ValueError } from "../core/errors.ts";
import type { ProfileEvent, ProfileKind, ProfilePhase } from "./event.ts";

/** What a row sums up: an operation, a module's dotted path, a line of the user's code, or a line that waits for the device or reads from it. */
export type ProfileGrouping = "operation" | "module" | "line" | "wait";

/** A column that rows are sorted by; the highest first, names by the alphabet. */
export type ProfileSort = "js" | "self" | "queue" | "device" | "calls" | "flops" | "memory" | "name";

/** Options of table(). Reference: torch.autograd.profiler_util.EventList.table. */
export interface ProfileTableOptions {
  /** What a row sums up. Default: "operation". */
  readonly by?: ProfileGrouping | undefined;
  /** The column that rows are sorted by. Default: "device" where any device time is known, else "self". */
  readonly sort?: ProfileSort | undefined;
  /** Rows that the text shows; `rows` has all. Default: 30. */
  readonly limit?: number | undefined;
}

/** Events of one name and phase. */
export interface ProfileRow {
  /** The operation, module, or line. */
  readonly name: string;
  /** Of a backward pass or an optimizer's step, or of none of them. */
  readonly phase: ProfilePhase;
  /** How many there were: calls of the operation or of the module, operations of the line, waits. */
  readonly calls: number;
  /** The time of the JavaScript thread, with what was called inside; recursive calls are counted once. */
  readonly jsMs: number;
  /** The same without it. */
  readonly selfMs: number;
  /** Time of the device's queue thread; null where no device tells. */
  readonly queueMs: number | null;
  /** The device's time; null where no device has a clock. */
  readonly deviceMs: number | null;
  /** Floating-point operations; null where no formula is known. */
  readonly flops: number | null;
  /** Floating-point operations in a second of the device's time; null where either is not known. */
  readonly flopsPerSecond: number | null;
  /** By how much the live bytes of tensors grew; null where memory was not recorded. */
  readonly memoryInBytes: number | null;
  /** How often JavaScript waited for the device, or asked for data. */
  readonly waits: number;
}

/** A table of a profile. console.log shows it as text. */
export interface ProfileTable {
  /** What a row sums up. */
  readonly by: ProfileGrouping;
  /** All rows, sorted. */
  readonly rows: readonly ProfileRow[];
  /** The first rows as text. */
  toString(): string;
}

type Sums = { -readonly [K in keyof ProfileRow]: ProfileRow[K] };

const SORTS: Readonly<Record<ProfileSort, (row: ProfileRow) => number>> = {
  js: (r) => r.jsMs,
  self: (r) => r.selfMs,
  queue: (r) => r.queueMs ?? 0,
  device: (r) => r.deviceMs ?? 0,
  calls: (r) => r.calls,
  flops: (r) => r.flops ?? 0,
  memory: (r) => r.memoryInBytes ?? 0,
  name: () => 0,
};
const GROUPINGS: readonly ProfileGrouping[] = ["operation", "module", "line", "wait"];

const isWait = ({ kind }: ProfileEvent): boolean => kind === "wait" || kind === "read";
const plus = (a: number | null, b: number | null): number | null => (b === null ? a : (a ?? 0) + b);

/** What a line does not count: what surrounds operations, and what they are made of. */
const UNCOUNTED: ReadonlySet<ProfileKind> = new Set<ProfileKind>(["module", "backward", "optimizer", "compiled", "compile", "node"]);

const LABELS: Partial<Record<ProfileKind, string>> = { compile: "compile ", program: "program ", compiled: "call of " };

function keyOf(event: ProfileEvent, by: ProfileGrouping): string | null {
  switch (by) {
    case "operation":
      return event.kind === "module" ? null : `${LABELS[event.kind] ?? ""}${event.name}`;
    case "module":
      return event.module ?? "(no module)";
    case "line":
      return event.line ?? "(unknown line)";
    case "wait":
      return isWait(event) ? `${event.name} ${event.line === null ? "" : `at ${event.line}`}`.trim() : null;
  }
}

/** How many calls an event counts as in a table. */
function callsOf(event: ProfileEvent, by: ProfileGrouping): number {
  if (by === "module") return event.kind === "module" ? 1 : 0;
  if (by === "line") return UNCOUNTED.has(event.kind) ? 0 : 1;
  return 1;
}

export function rowsOf(events: readonly ProfileEvent[], by: ProfileGrouping): Sums[] {
  const rows = new Map<string, Sums>();
  const byId = new Map(events.map((e) => [e.id, e]));
  const nameOf = new Map<ProfileEvent, string | null>();
  const cached = (event: ProfileEvent): string | null => {
    let key = nameOf.get(event);
    if (key === undefined) nameOf.set(event, (key = keyOf(event, by)));
    return key;
  };
  const isInside = (event: ProfileEvent, name: string): boolean => {
    for (let e = event; e.parent !== null;) {
      const outer = byId.get(e.parent);
      if (outer === undefined) return false;
      if (cached(outer) === name && outer.phase === event.phase) return true;
      e = outer;
    }
    return false;
  };
  /** Whether the memory is that of an event around it, too. */
  const isCounted = (event: ProfileEvent): boolean => {
    for (let e: ProfileEvent | undefined = event; e !== undefined && e.parent !== null;) {
      e = byId.get(e.parent);
      if (e !== undefined && e.memoryInBytes !== null) return true;
    }
    return false;
  };
  for (const event of events) {
    const name = cached(event);
    if (name === null) continue;
    const key = `${event.phase} ${name}`;
    let row = rows.get(key);
    if (row === undefined) {
      row = {
        name,
        phase: event.phase,
        calls: 0,
        jsMs: 0,
        selfMs: 0,
        queueMs: null,
        deviceMs: null,
        flops: null,
        flopsPerSecond: null,
        memoryInBytes: null,
        waits: 0,
      };
      rows.set(key, row);
    }
    row.calls += callsOf(event, by);
    // JavaScript does something else during a read.
    if (event.kind !== "read") {
      row.selfMs += event.selfMs;
      if (!isInside(event, name)) row.jsMs += event.durationMs;
    } else if (by === "wait") row.jsMs += event.durationMs;
    row.queueMs = plus(row.queueMs, event.queueMs);
    row.deviceMs = plus(row.deviceMs, event.deviceMs);
    // Those of a program are its nodes' own.
    if (by === "operation" || event.kind !== "node") row.flops = plus(row.flops, event.flops);
    if (!isCounted(event)) row.memoryInBytes = plus(row.memoryInBytes, event.memoryInBytes);
    if (isWait(event)) row.waits++;
  }
  for (const row of rows.values()) row.flopsPerSecond = rateOf(row);
  return [...rows.values()];
}

/** Floating-point operations in a second of the device's time. */
export const rateOf = ({ flops, deviceMs }: Pick<ProfileEvent, "flops" | "deviceMs">): number | null =>
  flops === null || deviceMs === null || deviceMs <= 0 ? null : (1000 * flops) / deviceMs;

const ms = (value: number | null): string => (value === null ? "--" : value.toFixed(3));

const UNITS = ["", "K", "M", "G", "T", "P"];

function short(value: number | null): string {
  if (value === null || value === 0) return value === null ? "--" : "0";
  const unit = Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.abs(value)) / 3)));
  return unit === 0 ? String(value) : `${(value / 1000 ** unit).toFixed(2)} ${UNITS[unit]}`;
}

interface Column {
  readonly title: string;
  readonly text: (row: ProfileRow) => string;
}

function columnsOf(rows: readonly ProfileRow[], by: ProfileGrouping): Column[] {
  const whole = rows.reduce((sum, r) => sum + r.selfMs, 0);
  const share = (r: ProfileRow): string => `${whole === 0 ? "0.0" : ((100 * r.selfMs) / whole).toFixed(1)} %`;
  const title = { operation: "Operation", module: "Module", line: "Line", wait: "Wait" }[by];
  const optional = (name: string, value: (r: ProfileRow) => number | null, text: (v: number | null) => string): Column[] =>
    rows.some((r) => value(r) !== null) ? [{ title: name, text: (r) => text(value(r)) }] : [];
  return [
    { title, text: (r) => r.name },
    { title: "Phase", text: (r) => r.phase },
    { title: "Calls", text: (r) => String(r.calls) },
    { title: "JS ms", text: (r) => ms(r.jsMs) },
    { title: "Self ms", text: (r) => ms(r.selfMs) },
    { title: "Self", text: share },
    ...optional("Queue ms", (r) => r.queueMs, ms),
    ...optional("Device ms", (r) => r.deviceMs, ms),
    ...optional("FLOP", (r) => r.flops, short),
    ...optional("FLOP/s", (r) => r.flopsPerSecond, short),
    ...optional("Memory B", (r) => r.memoryInBytes, short),
    ...(by !== "wait" && rows.some((r) => r.waits > 0) ? [{ title: "Waits", text: (r: ProfileRow) => String(r.waits) }] : []),
  ];
}

/** Text in aligned columns; all but the first two to the right. */
function aligned(cells: readonly (readonly string[])[]): string[] {
  const widths = cells[0]!.map((_, c) => Math.max(...cells.map((row) => row[c]!.length)));
  const [head, ...lines] = cells.map((row) =>
    row
      .map((text, c) => (c < 2 ? text.padEnd(widths[c]!) : text.padStart(widths[c]!)))
      .join("  ")
      .trimEnd(),
  );
  return [head!, "=".repeat(widths.reduce((sum, w) => sum + w + 2, -2)), ...lines];
}

/** The table of some events. */
export function tableOf(events: readonly ProfileEvent[], { by = "operation", sort, limit = 30 }: ProfileTableOptions = {}): ProfileTable {
  if (!GROUPINGS.includes(by)) throw new ValueError("table", "by", `one of ${GROUPINGS.join(", ")}`, by);
  if (sort !== undefined && !Object.hasOwn(SORTS, sort))
    throw new ValueError("table", "sort", `one of ${Object.keys(SORTS).join(", ")}`, sort);
  if (!(limit >= 0) || (limit !== Infinity && !Number.isInteger(limit)))
    throw new ValueError("table", "limit", "an integer of at least 0, or Infinity", limit);
  const rows = rowsOf(events, by);
  const order = sort ?? (rows.some((r) => r.deviceMs !== null) ? "device" : by === "wait" ? "js" : "self");
  const value = SORTS[order];
  rows.sort((a, b) => value(b) - value(a) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return {
    by,
    rows,
    toString() {
      const columns = columnsOf(rows, by);
      const shown = rows.slice(0, limit);
      const cells = [columns.map((c) => c.title), ...shown.map((row) => columns.map((c) => c.text(row)))];
      const more = rows.length - shown.length;
      return [...aligned(cells), ...(more > 0 ? [`${more} more rows`] : [])].join("\n");
    },
  };
}
