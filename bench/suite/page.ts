/** The history of a machine as one page: a chart for each workload, and a table of its last figures, slowest compared with the peers first. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { ratioOf, type Row, type Run } from "./history.ts";

/** A workload's figures with the run that they are from. */
interface Latest {
  readonly row: Row;
  readonly run: Run;
}

/** Of each workload the last figures: a run with a filter has some of them only. */
function latestOf(runs: readonly Run[]): readonly Latest[] {
  const latest = new Map<string, Latest>();
  for (const run of runs) for (const row of run.rows) latest.set(row.name, { row, run });
  return [...latest.values()];
}

const escape = (text: string): string => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
const COLOURS = ["#1f5fbf", "#0b8f6a", "#c2571a", "#8a3fa0", "#777777"];

const momentOf = ({ date, commit }: Run): string => `${date.slice(0, 16).replace("T", " ")} ${commit.slice(0, 7)}`;

function tableOf(latest: readonly Latest[], peers: readonly string[]): string {
  const cells = (row: Row): string => {
    const best = Math.max(...Object.values(row.values));
    return peers
      .map((peer) => {
        const value = row.values[peer];
        if (value === undefined) return "<td></td>";
        const wrong = row.disagreeing.includes(peer) ? " <span class=wrong>another result</span>" : "";
        return `<td${value === best ? " class=best" : ""}>${value}${wrong}</td>`;
      })
      .join("");
  };
  const rows = latest.toSorted((a, b) => (ratioOf(a.row) ?? Infinity) - (ratioOf(b.row) ?? Infinity));
  const body = rows.map(({ row, run }) => {
    const ratio = ratioOf(row);
    const kind = ratio === null ? "" : ratio < 0.95 ? " class=behind" : " class=ahead";
    return `<tr><td><a href="#${idOf(row.name)}">${escape(row.name)}</a></td><td>${row.unit}</td>${cells(row)}<td${kind}>${ratio === null ? "" : ratio.toFixed(2)}</td><td class=moment>${escape(momentOf(run))}</td></tr>`;
  });
  return `<table><thead><tr><th>workload</th><th>unit</th>${peers.map((p) => `<th>${escape(p)}</th>`).join("")}<th>ratio</th><th>measured</th></tr></thead><tbody>${body.join("\n")}</tbody></table>`;
}

const idOf = (name: string): string => name.replaceAll(/[^A-Za-z0-9]+/g, "-").toLowerCase();

/** A line for each peer over the runs, from zero. */
function chartsOf(runs: readonly Run[]): readonly object[] {
  const names = [...new Set(runs.flatMap((run) => run.rows.map((row) => row.name)))];
  return names.map((name) => {
    const measured = runs.flatMap((run) => run.rows.filter((row) => row.name === name).map((row) => ({ row, run })));
    const rows = measured.map(({ row }) => row);
    const peers = [...new Set(rows.flatMap((row) => Object.keys(row.values)))];
    return {
      id: idOf(name),
      title: `${name}, ${rows[0]!.unit}`,
      labels: measured.map(({ run }) => momentOf(run)),
      series: peers.map((peer, i) => ({
        peer,
        colour: COLOURS[i % COLOURS.length],
        values: rows.map((row) => row.values[peer] ?? null),
      })),
    };
  });
}

export function pageOf(history: readonly Run[]): string {
  const all = history.toSorted((a, b) => a.date.localeCompare(b.date));
  const require = createRequire(import.meta.url);
  const script = readFileSync(require.resolve("uplot/dist/uPlot.iife.min.js"), "utf8");
  const style = readFileSync(require.resolve("uplot/dist/uPlot.min.css"), "utf8");
  const last = all.at(-1)!;
  const runs = all.filter(({ machine, device }) => machine === last.machine && device === last.device);
  const latest = latestOf(runs);
  const peers = [...new Set(latest.flatMap(({ row }) => Object.keys(row.values)))];
  const behind = latest.filter(({ row }) => (ratioOf(row) ?? 1) < 0.95).length;
  const compared = latest.filter(({ row }) => ratioOf(row) !== null).length;
  const others = all.length - runs.length;
  const charts = chartsOf(runs);
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>dxtensor and its peers</title>
<style>${style}
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1100px; padding: 0 1rem; color: #1b1f24 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } th { text-align: left; position: sticky; top: 0; background: #fff }
td, th { padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #e3e6ea } .best { font-weight: 600 } .behind { color: #b3261e } .ahead { color: #0b6e4f } .wrong { color: #b3261e }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(320px, 1fr)); gap: 1.5rem } h3 { font-size: 1rem; margin: 0 }
.scroll { overflow-x: auto } .moment { white-space: nowrap; color: #5b6470; font-size: .85rem } .u-legend { font-size: .75rem }
</style>
<h1>dxtensor and its peers</h1>
<p>${escape(last.machine)}, device ${escape(last.device)}; ${runs.length} runs, the last one ${escape(momentOf(last))}${others > 0 ? `; ${others} of other machines or devices are not shown` : ""}.
More is better in every row. Ratio: the better of our two forms by the best peer, of the same run, in which all took turns;
${behind} of ${compared} rows are behind (below 0.95), and stand first.</p>
<div class="scroll">${tableOf(latest, peers)}</div>
<h2>History</h2>
<div class="charts">${charts.map((c) => `<div id="${(c as { id: string }).id}"></div>`).join("")}</div>
<script>${script}</script>
<script>
const compact = new Intl.NumberFormat("en", { notation: "compact" });
for (const { id, title, labels, series } of ${JSON.stringify(charts).replaceAll("<", "\\u003c")}) {
  const parent = document.getElementById(id);
  const heading = parent.appendChild(document.createElement("h3"));
  heading.textContent = title;
  const days = new Set(labels.map((label) => label.slice(0, 10))).size;
  new uPlot({ width: Math.max(300, parent.clientWidth), height: 220, scales: { x: { time: false }, y: { range: (u, min, max) => [0, max * 1.1] } },
    series: [{ label: "run", value: (u, i) => (i === null ? "" : labels[i]) },
      ...series.map((s) => ({ label: s.peer, stroke: s.colour, width: 2, points: { show: labels.length < 30 } }))],
    axes: [{ values: (u, ticks) => ticks.map((t) => (Number.isInteger(t) ? (labels[t] ?? "").slice(...(days > 1 ? [5, 10] : [11, 16])) : "")) },
      { size: 56, values: (u, ticks) => ticks.map((t) => compact.format(t)) }] },
    [labels.map((_, i) => i), ...series.map((s) => s.values)], parent);
}
</script>
</html>
`;
}
