/** A model's graph as one HTML page. It asks the network for nothing. */
import { PAGE_HEAD, SVG_SCRIPT, escaped, scriptData } from "../host/html.ts";
import { layoutOf, NODE_WIDTH } from "./layout.ts";
import type { FileReport, GraphReport, ValueRow } from "./report.ts";
import { bytesText, valueText } from "./text.ts";

const STYLE = `
:root { color-scheme: light dark; --bg: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; --card: #f6f8fa; --edge: #9aa4af; --io: #1a7f37; --node: #1f6fd1;
  --found: #c4571f; }
@media (prefers-color-scheme: dark) { :root { --bg: #14171b; --ink: #e6e9ed; --soft: #9aa4af; --line: #343b43; --card: #1d2228; --edge: #59636e; --io: #57c26f;
  --node: #6aa9f2; --found: #f0975f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 90rem; background: var(--bg); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1rem; margin: 1.2rem 0 .4rem; } p { color: var(--soft); margin: .2rem 0; overflow-wrap: anywhere; }
.bar { display: flex; flex-wrap: wrap; gap: .5rem; margin: .8rem 0 .5rem; align-items: center; }
input, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .3rem .6rem; min-height: 2.2rem; }
input { flex: 1 1 10rem; min-width: 0; } button { cursor: pointer; min-width: 2.4rem; } :focus-visible { outline: 2px solid var(--node); }
#view { overflow: auto; height: min(70vh, 46rem); border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
svg { display: block; } svg path { fill: none; stroke: var(--edge); stroke-width: 1.2; }
svg rect { fill: var(--bg); stroke: var(--node); stroke-width: 1.4; } svg .io rect { stroke: var(--io); } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; text-anchor: middle; }
svg g { cursor: pointer; } svg .found rect { stroke: var(--found); stroke-width: 3; } svg .chosen rect { fill: var(--line); } svg path.chosen { stroke: var(--found); stroke-width: 2; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; } th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; } .scroll { overflow-x: auto; }
`;

/** Runs in the page. */
const SCRIPT = `
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
${SVG_SCRIPT}const width = ${NODE_WIDTH}, svg = $("graph"), groups = [], paths = [];
let scale = 1, chosen = -1;
const line = (points) => points.map(([x, y], i) => {
  if (i === 0) return "M" + x + " " + y;
  const [a, b] = points[i - 1], middle = (b + y) / 2;
  return "C" + a + " " + middle + " " + x + " " + middle + " " + x + " " + y;
}).join("");
for (const [from, to, points] of data.edges) { const path = make("path", { d: line(points) }); paths.push([from, to, path]); svg.append(path); }
data.nodes.forEach((n, i) => {
  const g = make("g", { class: n.kind, tabindex: 0, role: "button", "aria-label": n.type + " " + n.name });
  g.append(make("rect", { x: n.x - width / 2, y: n.y - 15, width, height: 30, rx: n.kind === "io" ? 15 : 6 }));
  g.append(make("text", { x: n.x, y: n.y + 4 }, n.type.length > 19 ? n.type.slice(0, 18) + "…" : n.type), make("title", {}, n.name));
  g.onclick = () => choose(i);
  g.onkeydown = (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(i); } };
  groups.push(g); svg.append(g);
});
function zoom(next, first) {
  const view = $("view"), x = (view.scrollLeft + view.clientWidth / 2) / scale, y = (view.scrollTop + view.clientHeight / 2) / scale;
  scale = Math.min(3, Math.max(0.05, next));
  svg.setAttribute("width", data.width * scale); svg.setAttribute("height", data.height * scale);
  if (first) return;
  view.scrollLeft = x * scale - view.clientWidth / 2; view.scrollTop = y * scale - view.clientHeight / 2;
}
function show(i) {
  const view = $("view"), n = data.nodes[i];
  view.scrollLeft = n.x * scale - view.clientWidth / 2; view.scrollTop = n.y * scale - view.clientHeight / 2;
}
function choose(i) {
  if (chosen >= 0) groups[chosen].classList.remove("chosen");
  chosen = i; groups[i].classList.add("chosen");
  for (const [from, to, path] of paths) path.classList.toggle("chosen", from === i || to === i);
  const body = document.createElement("tbody");
  for (const [name, value] of data.nodes[i].facts) {
    const tr = document.createElement("tr"), th = document.createElement("th"), td = document.createElement("td");
    th.textContent = name; td.textContent = value; tr.append(th, td); body.append(tr);
  }
  $("facts").replaceChildren(body); $("node").textContent = data.nodes[i].type + (data.nodes[i].name ? ": " + data.nodes[i].name : "");
}
let hits = [], hit = -1;
function search() {
  const text = $("search").value.trim().toLowerCase();
  hits = text === "" ? [] : data.nodes.flatMap((n, i) => (n.type + " " + n.name + " " + n.facts.map((f) => f[1]).join(" ")).toLowerCase().includes(text) ? [i] : []);
  const set = new Set(hits);
  groups.forEach((g, i) => g.classList.toggle("found", set.has(i)));
  hit = -1; $("count").textContent = text === "" ? "" : hits.length + " found";
  if (hits.length > 0) next();
}
function next() { if (hits.length > 0) { hit = (hit + 1) % hits.length; show(hits[hit]); } }
$("search").oninput = search;
$("search").onkeydown = (e) => { if (e.key === "Enter" && hits.length > 0) { choose(hits[Math.max(hit, 0)]); next(); } };
$("in").onclick = () => zoom(scale * 1.3); $("out").onclick = () => zoom(scale / 1.3);
$("fit").onclick = () => zoom($("view").clientWidth / data.width);
zoom(Math.min(1, Math.max(0.6, $("view").clientWidth / data.width)), true);
if (data.nodes.length > 0) { show(0); choose(0); $("view").scrollTop = 0; }
`;

const shape = (v: ValueRow): string => `${v.dtype}${v.shape === null ? "" : `[${v.shape.map((d) => d ?? "?").join(", ")}]`}`;

interface PageNode {
  readonly type: string;
  readonly name: string;
  readonly kind: "io" | "node";
  readonly facts: readonly (readonly [string, string])[];
}

/** Inputs, nodes and outputs as one list, and the edges between them. */
function drawn(
  { inputs, outputs, nodes: listed }: GraphReport,
  weights: ReadonlyMap<string, string>,
): { readonly nodes: PageNode[]; readonly edges: [number, number][] } {
  const all: PageNode[] = inputs.map((v) => ({ type: v.name, name: "input", kind: "io", facts: [["input", v.name], ["type", shape(v)]] })); // prettier-ignore
  // Constants are weights.
  const nodes = listed.filter(({ type, inputs: used }) => type !== "Constant" || used.length > 0);
  const made = new Map(inputs.map((v, i) => [v.name, i]));
  const edges: [number, number][] = [];
  const known = new Set<string>();
  const connect = (name: string, to: number): void => {
    const from = made.get(name);
    if (from === undefined || from === to || known.has(`${from} ${to}`)) return;
    known.add(`${from} ${to}`);
    edges.push([from, to]);
  };
  nodes.forEach((n, i) => n.outputs.forEach((name) => name !== "" && made.set(name, inputs.length + i)));
  nodes.forEach((n, i) => {
    for (const name of n.inputs) connect(name, inputs.length + i);
    all.push({
      type: n.type,
      name: n.name,
      kind: "node",
      facts: [
        ...(n.domain === "" ? [] : [["domain", n.domain] as const]),
        ...n.inputs.map((name) => ["input", weights.has(name) ? `${name}: ${weights.get(name)}` : name === "" ? "none" : name] as const),
        ...n.outputs.map((name) => ["output", name === "" ? "none" : name] as const),
        ...Object.entries(n.attributes),
      ],
    });
  });
  for (const v of outputs) {
    all.push({ type: v.name, name: "output", kind: "io", facts: [["output", v.name], ["type", shape(v)]] }); // prettier-ignore
    connect(v.name, all.length - 1);
  }
  return { nodes: all, edges };
}

/** The page of a report that has a graph. */
export function pageOf(report: FileReport, graph: GraphReport): string {
  const weights = new Map(report.tensors.map((t) => [t.name, `${t.dtype}[${t.shape.join(", ")}]`]));
  const { nodes, edges } = drawn(graph, weights);
  const layout = layoutOf(nodes.length, edges);
  const data = {
    width: layout.width,
    height: layout.height,
    nodes: nodes.map((n, i) => ({ ...n, ...layout.nodes[i]! })),
    edges: edges.map(([from, to], i) => [from, to, layout.edges[i]!.map(({ x, y }) => [x, y])]),
  };
  const name = report.files[0]!.path.replace(/^.*[\\/]/, "");
  const size = report.files.reduce((n, f) => n + f.sizeInBytes, 0);
  const facts = Object.entries(report.metadata).map(
    ([key, value]) => `<tr><th>${escaped(key)}</th><td>${escaped(valueText(value))}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>${PAGE_HEAD}
<title>${escaped(name)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(name)}</h1>
<p>${bytesText(size)}, ${graph.nodes.length.toLocaleString("en")} nodes, ${report.tensors.length.toLocaleString("en")} weights. ${escaped(graph.inputs.map((v) => `${v.name}: ${shape(v)}`).join("; "))} → ${escaped(graph.outputs.map((v) => `${v.name}: ${shape(v)}`).join("; "))}</p>
<div class="bar"><input id="search" type="search" placeholder="Find a node, a value, an operator" aria-label="Find"><span id="count" aria-live="polite"></span>
<button id="out" aria-label="Zoom out">−</button><button id="in" aria-label="Zoom in">+</button><button id="fit">Fit width</button></div>
<div id="view" tabindex="0" aria-label="Graph"><svg id="graph" viewBox="0 0 ${layout.width} ${layout.height}"></svg></div>
<h2 id="node"></h2><table id="facts"></table>
${facts.length === 0 ? "" : `<h2>File</h2><table>${facts.join("")}</table>`}
<script type="application/json" id="data">${scriptData(data)}</script>
<script>${SCRIPT}</script>
</body>
</html>
`;
}
