/** A profile as one HTML page: table, timeline, memory. It asks the network for nothing. */
import { PAGE_HEAD, SVG_SCRIPT, escaped, scriptData } from "../host/html.ts";
import type { ProfileReport } from "./report.ts";

const STYLE = `
:root { color-scheme: light dark; --bg: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; --card: #f6f8fa;
  --forward: #3b78c4; --backward: #c4683b; --optimizer: #7a52b8; --wait: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171b; --ink: #e6e9ed; --soft: #9aa4af; --line: #343b43; --card: #1d2228;
  --forward: #6aa3e8; --backward: #e89468; --optimizer: #ab8ae0; --wait: #f2786f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--bg); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem; }
p { color: var(--soft); margin: .3rem 0; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
th { background: var(--card); } th button { all: unset; cursor: pointer; font-weight: 600; } th button:focus-visible { outline: 2px solid var(--forward); }
select, input { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 4px; padding: .2rem .4rem; }
svg { display: block; width: 100%; background: var(--card); } svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.forward { fill: var(--forward); } .backward { fill: var(--backward); } .optimizer { fill: var(--optimizer); } .wait { fill: var(--wait); }
.key span { margin-right: 1rem; white-space: nowrap; } .key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .3em; }
`;

/** Runs in the page. `data` is in the element of that id. */
const SCRIPT = `
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const columns = ["name", "phase", "calls", "jsMs", "selfMs", "queueMs", "deviceMs", "flops", "flopsPerSecond", "memoryInBytes", "waits"];
const titles = ["Name", "Phase", "Calls", "JS ms", "Self ms", "Queue ms", "Device ms", "FLOP", "FLOP/s", "Memory B", "Waits"];
let sort = null;
const text = (row, c) => row[c] === null ? "–" : c.endsWith("Ms") ? row[c].toFixed(3) : typeof row[c] === "number" ? row[c].toLocaleString("en") : row[c];
function table() {
  const rows = data.tables[$("by").value].slice();
  if (sort) rows.sort((a, b) => typeof a[sort] === "string" ? (a[sort] < b[sort] ? -1 : 1) : (b[sort] ?? -1) - (a[sort] ?? -1));
  const head = document.createElement("tr"), body = document.createElement("tbody");
  columns.forEach((c, i) => {
    const th = document.createElement("th"), button = document.createElement("button");
    button.textContent = titles[i]; button.tabIndex = 0; button.onclick = () => { sort = c; table(); };
    th.append(button); head.append(th);
  });
  for (const row of rows.slice(0, 200)) {
    const tr = document.createElement("tr");
    for (const c of columns) { const td = document.createElement("td"); td.textContent = text(row, c); tr.append(td); }
    body.append(tr);
  }
  $("table").replaceChildren(head, body);
}
${SVG_SCRIPT}function timeline() {
  const svg = $("timeline"), width = svg.clientWidth || 1000, row = 16, total = data.durationMs || 1;
  const x = (ms) => (ms / total) * width;
  svg.replaceChildren();
  let y = 4;
  for (const track of data.tracks) {
    svg.append(make("text", { x: 4, y: y + 11 }, track.name));
    y += 16;
    let deepest = 0;
    for (const [name, kind, phase, start, length, depth, line] of track.events) {
      deepest = Math.max(deepest, depth);
      const rect = make("rect", { x: x(start), y: y + depth * row, width: Math.max(x(length), 0.6), height: row - 2, class: kind === "wait" ? "wait" : phase });
      rect.append(make("title", {}, name + "\\n" + length.toFixed(3) + " ms" + (line ? "\\n" + line : "")));
      svg.append(rect);
    }
    y += (deepest + 1) * row + 8;
  }
  svg.setAttribute("height", y);
}
function memory() {
  const svg = $("memory"), width = svg.clientWidth || 1000, height = 140;
  svg.replaceChildren(); svg.setAttribute("height", height);
  const peak = Math.max(1, ...data.memory.map((m) => m[1]));
  const points = data.memory.map(([t, b]) => (t / (data.durationMs || 1)) * width + "," + (height - 4 - (b / peak) * (height - 24)));
  svg.append(make("polyline", { points: points.join(" "), fill: "none", stroke: "var(--forward)", "stroke-width": 1.5 }));
  svg.append(make("text", { x: 4, y: 12 }, "peak " + peak.toLocaleString("en") + " bytes"));
}
$("by").onchange = table;
addEventListener("resize", () => { timeline(); memory(); });
table(); timeline(); memory();
`;

/** Events that the timeline shows. */
const MAX_SHOWN = 5000;

type Bar = readonly [name: string, kind: string, phase: string, start: number, length: number, depth: number, line: string | null];

function tracksOf({ events, devices }: ProfileReport): { readonly name: string; readonly events: readonly Bar[] }[] {
  const depths = new Map<number, number>();
  const js: Bar[] = [];
  for (const e of events) {
    const depth = e.parent === null ? 0 : (depths.get(e.parent) ?? -1) + 1;
    depths.set(e.id, depth);
    if (e.kind !== "read" && e.kind !== "node" && js.length < MAX_SHOWN)
      js.push([e.name, e.kind, e.phase, e.startMs, e.durationMs, depth, e.line]);
  }
  const ofDevices = devices.map(({ device }) => ({
    name: device,
    events: events
      .filter((e) => e.device === device && e.deviceStartMs !== null && e.deviceMs !== null && e.kind !== "program")
      .slice(0, MAX_SHOWN)
      .map((e): Bar => [e.name, e.kind, e.phase, e.deviceStartMs!, e.deviceMs!, 0, e.line]),
  }));
  return [{ name: "JavaScript", events: js }, ...ofDevices.filter((t) => t.events.length > 0)];
}

/** The page. */
export function pageOf(report: ProfileReport): string {
  const [device] = report.devices;
  const tables = Object.fromEntries((["operation", "module", "line", "wait"] as const).map((by) => [by, report.table({ by }).rows]));
  const memory = report.memory.filter((m) => m.device === device?.device).map((m) => [m.timeMs, m.liveInBytes]);
  const data = scriptData({ durationMs: report.durationMs, tables, tracks: tracksOf(report), memory });
  const about = [
    `${report.durationMs.toFixed(3)} ms, ${report.events.length} events`,
    ...report.devices.map(
      (d) => `${d.device} (${d.name}): ${d.deviceTime === null ? `no device time, ${d.reason}` : `${d.deviceTime.toFixed(3)} ms`}`,
    ),
    ...(report.dropped > 0 ? [`${report.dropped} events left out`] : []),
  ];
  return `<!doctype html>
<html lang="en"><head>${PAGE_HEAD}
<title>${escaped(report.name)}: profile</title><style>${STYLE}</style></head><body>
<h1>${escaped(report.name)}</h1>${about.map((line) => `<p>${escaped(line)}</p>`).join("")}
<h2>Where the time goes</h2>
<p><label>By <select id="by"><option>operation<option>module<option>line<option>wait</select></label></p>
<div class="scroll"><table id="table"></table></div>
<h2>Timeline</h2>
<p class="key"><span><i style="background:var(--forward)"></i>forward</span><span><i style="background:var(--backward)"></i>backward</span><span><i style="background:var(--optimizer)"></i>optimizer</span><span><i style="background:var(--wait)"></i>wait</span></p>
<svg id="timeline" role="img" aria-label="Timeline of events"></svg>
<h2>Memory of tensors${device === undefined ? "" : ` on ${escaped(device.device)}`}</h2>
<svg id="memory" role="img" aria-label="Live bytes over time"></svg>
<script type="application/json" id="data">${data}</script><script>${SCRIPT}</script></body></html>
`;
}
