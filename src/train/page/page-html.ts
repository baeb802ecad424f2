/** The page of a training as HTML: charts in SVG that its own script draws. It asks nobody but its server for anything. */
import { PAGE_HEAD, SVG_SCRIPT, escaped, scriptData } from "../../host/html.ts";
import type { PageState } from "./page-data.ts";

const STYLE = `
:root { color-scheme: light dark; --bg: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; --card: #f6f8fa;
  --s0: #1f6fd1; --s1: #c4571f; --s2: #6c4ab0; --good: #1a7f37; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171b; --ink: #e6e9ed; --soft: #9aa4af; --line: #343b43; --card: #1d2228;
  --s0: #6aa9f2; --s1: #f0975f; --s2: #b296ea; --good: #57c26f; --bad: #f2786f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--bg); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1rem; margin: 0; font-weight: 600; }
#status { color: var(--soft); margin: .2rem 0 .6rem; font-variant-numeric: tabular-nums; }
#status b { color: var(--ink); } #status .lost { color: var(--bad); }
progress { width: 100%; height: .6rem; accent-color: var(--s0); }
#charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: .8rem; margin: 1rem 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .8rem .4rem; min-width: 0; }
.key { display: flex; flex-wrap: wrap; gap: 0 1rem; min-height: 1.5em; font-size: .87rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.key i { display: inline-block; width: .7em; height: .7em; border-radius: 50%; margin-right: .35em; }
svg { display: block; width: 100%; height: 190px; touch-action: pan-y; } svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg .grid { stroke: var(--line); } svg polyline { fill: none; stroke-width: 1.8; stroke-linejoin: round; } svg .at { stroke: var(--soft); stroke-dasharray: 3 3; }
svg .best { stroke: var(--good); stroke-dasharray: 2 4; }
table { border-collapse: collapse; width: 100%; } th, td { padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { width: 8rem; font-weight: 600; color: var(--soft); } td { overflow-wrap: anywhere; } pre { margin: 0; white-space: pre-wrap; font: 12.5px/1.45 ui-monospace, monospace; }
`;

/** Runs in the page. The state is in the element "data"; document.body.dataset.live says whether there is a server. */
const SCRIPT = `
let state = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
${SVG_SCRIPT}const html = (name, content, className) => { const e = document.createElement(name); if (content !== undefined) e.textContent = content; if (className) e.className = className; return e; };
const number = (v) => v === null ? "not finite" : v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6) ? v.toExponential(2) : String(Number(v.toPrecision(4)));
const duration = (s) => s < 60 ? Math.round(s) + " s" : s < 3600 ? Math.floor(s / 60) + " min " + Math.round(s % 60) + " s" : Math.floor(s / 3600) + " h " + Math.round(s % 3600 / 60) + " min";
const of = (n, total) => total === null ? String(n) : n + "/" + total;
const order = ["loss", "learning rate", "steps per second", "memory of tensors in MiB"];
const rank = (name) => name === "loss" ? -1 : order.indexOf(name);
let at = null, isLost = false, isOver = document.body.dataset.live !== "true";

/** Round numbers between low and high. */
function ticksOf(low, high) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step); i <= Math.floor(high / step + 1e-9); i++) ticks.push(i * step);
  return ticks;
}

function draw(card, name) {
  const lines = Object.entries(state.curves[name]), svg = card.querySelector("svg"), key = card.querySelector(".key");
  const width = svg.clientWidth || 360, height = 190, left = 46, right = 8, top = 8, bottom = 22;
  const all = lines.flatMap(([, points]) => points), finite = all.filter(([, v]) => v !== null).map(([, v]) => v);
  let low = Math.min(...finite), high = Math.max(...finite);
  if (finite.length === 0) [low, high] = [0, 1];
  if (low >= 0 && low < high / 2 || low === high && low > 0) low = 0;
  if (low === high) [low, high] = [low - 1, high + 1];
  const pad = (high - low) * 0.06;
  high += pad; if (low !== 0) low -= pad;
  const steps = all.map(([s]) => s), first = Math.min(...steps), last = Math.max(first + 1, ...steps);
  const x = (s) => left + (s - first) / (last - first) * (width - left - right), y = (v) => top + (high - v) / (high - low) * (height - top - bottom);
  svg.setAttribute("viewBox", "0 0 " + width + " " + height);
  svg.replaceChildren();
  for (const t of ticksOf(low, high)) {
    svg.append(make("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }));
    svg.append(make("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, number(t)));
  }
  svg.append(make("text", { x: left, y: height - 5 }, "step " + first));
  if (last > first) svg.append(make("text", { x: width - right, y: height - 5, "text-anchor": "end" }, String(last)));
  if (state.best !== null && lines.some(([line]) => line === "evaluation")) {
    const b = make("line", { class: "best", x1: x(state.best[0]), x2: x(state.best[0]), y1: top, y2: height - bottom });
    b.append(make("title", {}, "best so far: step " + state.best[0]));
    svg.append(b);
  }
  key.replaceChildren();
  lines.forEach(([line, points], i) => {
    const color = "var(--s" + i % 3 + ")";
    // A value that is not finite is a gap.
    const parts = [[]];
    for (const p of points) p[1] === null ? parts.push([]) : parts.at(-1).push(p);
    for (const part of parts) {
      if (part.length > 1) svg.append(make("polyline", { points: part.map(([s, v]) => x(s).toFixed(1) + "," + y(v).toFixed(1)).join(" "), stroke: color }));
      if (part.length === 1 || (part.length > 0 && points.length < 30)) for (const [s, v] of part) svg.append(make("circle", { cx: x(s), cy: y(v), r: 2.6, fill: color }));
    }
    const shown = at === null ? points.at(-1) : points.reduce((a, b) => Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a);
    const entry = html("span"), dot = html("i");
    dot.style.background = color;
    entry.append(dot, (line === name ? "" : line + " ") + number(shown[1]) + (at === null ? "" : " at step " + shown[0]));
    key.append(entry);
  });
  if (at !== null && at >= first && at <= last) svg.append(make("line", { class: "at", x1: x(at), x2: x(at), y1: top, y2: height - bottom }));
  svg.onpointermove = (e) => {
    const box = svg.getBoundingClientRect();
    at = Math.max(first, Math.min(last, Math.round(first + (e.clientX - box.left - left) / (width - left - right) * (last - first))));
    later();
  };
  svg.onpointerleave = () => { at = null; later(); };
}

const cards = new Map();
function show() {
  const names = Object.keys(state.curves).sort((a, b) => rank(a) - rank(b));
  // Metrics stand between the loss and the rest.
  const sorted = [...names.filter((n) => n === "loss"), ...names.filter((n) => !order.includes(n)), ...names.filter((n) => n !== "loss" && order.includes(n))];
  for (const name of sorted) {
    if (!cards.has(name)) {
      const card = html("section", undefined, "card"), svg = make("svg", { role: "img", "aria-label": name + " by step" });
      card.append(html("h2", name), html("div", undefined, "key"), svg);
      cards.set(name, card);
      $("charts").replaceChildren(...sorted.filter((n) => cards.has(n)).map((n) => cards.get(n)));
    }
    draw(cards.get(name), name);
  }
  const bold = html("b", isLost && !isOver && state.status === "running" ? "connection lost" : state.status, isLost && !isOver ? "lost" : "");
  const rest = [(state.epochs === null ? "epoch " + (state.epoch + 1) : "epoch " + Math.min(state.epoch + 1, state.epochs) + "/" + state.epochs), "step " + of(state.step, state.steps)];
  if (state.secondsLeft !== null) rest.push(duration(state.secondsLeft) + " left");
  if (state.best !== null) rest.push("best " + number(state.best[1]) + " at step " + state.best[0]);
  $("status").replaceChildren(bold, " · " + rest.join(" · "));
  const bar = $("bar");
  bar.hidden = state.steps === null;
  if (state.steps !== null) { bar.max = Math.max(1, state.steps); bar.value = state.step; }
  const rows = state.configuration.map(([name, value]) => {
    const row = html("tr"), cell = html("td");
    cell.append(value.includes("\\n") ? html("pre", value) : value);
    row.append(html("th", name), cell);
    return row;
  });
  $("configuration").replaceChildren(...rows);
}
let isWaiting = false;
const later = () => { if (!isWaiting) { isWaiting = true; requestAnimationFrame(() => { isWaiting = false; show(); }); } };
addEventListener("resize", later);
show();

if (!isOver) {
  const events = new EventSource("events");
  events.addEventListener("state", ({ data }) => { state = JSON.parse(data); isLost = false; later(); });
  events.onmessage = ({ data }) => {
    const { fields, points = [] } = JSON.parse(data);
    Object.assign(state, fields);
    for (const [chart, line, point] of points) ((state.curves[chart] ??= {})[line] ??= []).push(point);
    later();
  };
  events.addEventListener("end", () => { isOver = true; events.close(); later(); });
  events.onerror = () => { isLost = true; later(); };
}
`;

/** The page. isLive: it follows its server's events. */
export const pageText = (state: PageState, isLive: boolean): string => `<!doctype html>
<html lang="en"><head>${PAGE_HEAD}
<title>${escaped(state.title)}</title><style>${STYLE}</style></head><body data-live="${isLive}">
<h1>${escaped(state.title)}</h1>
<p id="status" role="status"></p>
<progress id="bar" aria-label="steps"></progress>
<div id="charts"></div>
<section class="card"><h2>Configuration</h2><table><tbody id="configuration"></tbody></table></section>
<script type="application/json" id="data">${scriptData(state)}</script><script>${SCRIPT}</script></body></html>
`;
