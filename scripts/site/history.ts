// The page of performance history: charts and tables of docs/benchmarks/history.jsonl.
import { existsSync } from "node:fs";
import { ratioOf, read, type Row, type Run } from "../../bench/suite/history.ts";
import { ScriptError, at } from "../tools/project.ts";

/** All runs, the oldest first. */
export function readHistory(file = at("docs", "benchmarks", "history.jsonl")): readonly Run[] {
  let runs: readonly Run[];
  try {
    runs = read(file);
  } catch (error) {
    throw new ScriptError("HISTORY", (error as Error).message);
  }
  for (const [i, run] of runs.entries()) {
    if (Number.isNaN(Date.parse(run.date))) throw new ScriptError("HISTORY", `${file}:${i + 1}: ${run.date} is no date`);
    if (!/^[0-9a-f]{7,40}$/.test(run.commit)) throw new ScriptError("HISTORY", `${file}:${i + 1}: ${run.commit} is no commit`);
    if (run.source !== undefined && !existsSync(at(run.source)))
      throw new ScriptError("HISTORY", `${file}:${i + 1}: ${run.source} is not there`);
  }
  return runs.toSorted((a, b) => a.date.localeCompare(b.date));
}

const escaped = (text: string): string =>
  text.replace(/[&<>"{}]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "{": "&#123;", "}": "&#125;" })[c]!);
const isOurs = (peer: string): boolean => peer.startsWith("dxtensor");
const idOf = (run: Run): string => `run-${run.date.slice(0, 19).replaceAll(/\D/g, "")}-${run.commit.slice(0, 7)}`;
const dayOf = (run: Run): string => run.date.slice(0, 10);

interface Point {
  readonly run: Run;
  readonly row: Row;
}

/** What each peer reaches, as a ratio to the best peer that is not this library. */
export function ratiosOf(row: Row): Readonly<Record<string, number>> {
  const best = Math.max(...Object.entries(row.values).flatMap(([peer, value]) => (isOurs(peer) ? [] : [value])));
  return Object.fromEntries(Object.entries(row.values).map(([peer, value]) => [peer, value / best]));
}

const WIDTH = 340;
const HEIGHT = 190;
const LEFT = 36;
const TOP = 10;
const BOTTOM = 26;

/** Ratios over runs: a line for each peer. A point is a link to its run, which names commit and machine. */
export function chartOf(name: string, points: readonly Point[], peers: readonly string[]): string {
  const all = points.map(({ row }) => ratiosOf(row));
  const highest = Math.max(1.2, ...all.flatMap((ratios) => Object.values(ratios)));
  // The next tick above the highest ratio.
  const step = [0.5, 1, 2, 5, 10, 50].find((s) => highest / s <= 5) ?? 100;
  const top = Math.ceil(highest / step) * step;
  const x = (i: number): number => (points.length === 1 ? (LEFT + WIDTH) / 2 : LEFT + 14 + (i * (WIDTH - LEFT - 40)) / (points.length - 1));
  const y = (ratio: number): number => TOP + (1 - ratio / top) * (HEIGHT - TOP - BOTTOM);
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step).map(
    (tick) =>
      `<line class="grid${tick === 1 ? " one" : ""}" x1="${LEFT}" x2="${WIDTH - 6}" y1="${y(tick).toFixed(1)}" y2="${y(tick).toFixed(1)}"/><text x="${LEFT - 5}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${tick}</text>`,
  );
  const labels = points.flatMap(({ run }, i) =>
    i === 0 || i === points.length - 1
      ? [
          `<text x="${x(i).toFixed(1)}" y="${HEIGHT - 8}" text-anchor="${points.length === 1 ? "middle" : i === 0 ? "start" : "end"}">${dayOf(run)}</text>`,
        ]
      : [],
  );
  const lines = peers.map((peer, series) => {
    const known = all.flatMap((ratios, i) => (ratios[peer] === undefined ? [] : [{ i, ratio: ratios[peer] }]));
    const path = known.map(({ i, ratio }) => `${x(i).toFixed(1)},${y(ratio).toFixed(1)}`).join(" ");
    const dots = known.map(({ i, ratio }) => {
      const { run } = points[i]!;
      const what = `${peer}: ${ratio.toFixed(2)} of the best peer; ${dayOf(run)}, dxtensor ${run.version ?? ""}, commit ${run.commit.slice(0, 7)}, ${run.machine}`;
      return `<a href="#${idOf(run)}" aria-label="${escaped(what)}"><circle cx="${x(i).toFixed(1)}" cy="${y(ratio).toFixed(1)}" r="4"><title>${escaped(what)}</title></circle></a>`;
    });
    return `<g class="series s${series % 5}${isOurs(peer) ? "" : " peer"}">${known.length > 1 ? `<polyline points="${path}"/>` : ""}${dots.join("")}</g>`;
  });
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label="${escaped(`${name}: speed as a ratio to the best peer, over ${points.length} runs`)}">${ticks.join("")}${labels.join("")}${lines.join("")}</svg>`;
}

const round = (value: number): string => String(Number(value.toPrecision(3)));

function figureOf(name: string, points: readonly Point[]): string {
  const peers = [...new Set(points.flatMap(({ row }) => Object.keys(row.values)))].toSorted(
    (a, b) => Number(isOurs(b)) - Number(isOurs(a)),
  );
  const unit = points[0]!.row.unit;
  const head = `<tr><th scope="col">run</th>${peers.map((peer, i) => `<th scope="col"><i class="key s${i % 5}${isOurs(peer) ? "" : " peer"}"></i>${escaped(peer)}</th>`).join("")}<th scope="col">ratio</th></tr>`;
  const rows = points.map(({ run, row }) => {
    const cells = peers.map((peer) => `<td>${row.values[peer] === undefined ? "" : round(row.values[peer])}</td>`).join("");
    return `<tr><th scope="row"><a href="#${idOf(run)}">${dayOf(run)} ${run.commit.slice(0, 7)}</a></th>${cells}<td>${ratioOf(row)?.toFixed(2) ?? ""}</td></tr>`;
  });
  return `<figure class="history"><figcaption>${escaped(name)}, ${escaped(unit)}</figcaption><div>${chartOf(name, points, peers)}<table><thead>${head}</thead><tbody>${rows.join("")}</tbody></table></div></figure>`;
}

/** Workloads in the order in which they came, with their runs; those without a peer have no ratio and no chart. */
export function seriesOf(runs: readonly Run[]): ReadonlyMap<string, readonly Point[]> {
  const series = new Map<string, Point[]>();
  for (const run of runs)
    for (const row of run.rows)
      if (ratioOf(row) !== null) {
        const points = series.get(row.name) ?? [];
        series.set(row.name, [...points, { run, row }]);
      }
  return series;
}

/** The page. repository: the address that commits are linked to; null: commits are named only. */
export function historyPage(runs: readonly Run[], repository: string | null): string {
  const machineOf = (run: Run): string => `${run.machine}, device ${run.device}`;
  // The machine of the last run first.
  const sections = [...new Set([...runs].reverse().map(machineOf))].map((machine) => {
    const own = runs.filter((run) => machineOf(run) === machine);
    const figures = [...seriesOf(own)].map(([name, points]) => figureOf(name, points));
    return `## ${escaped(machine)}\n\n${figures.join("\n")}\n`;
  });
  const commitOf = ({ commit }: Run): string => {
    const short = commit.slice(0, 10);
    return repository === null ? `<code>${short}</code>` : `<a href="${escaped(repository)}/commit/${commit}"><code>${short}</code></a>`;
  };
  const table = runs
    .toReversed()
    .map(
      (run) =>
        `<tr id="${idOf(run)}"><td>${run.date.slice(0, 16).replace("T", " ")}</td><td>${run.version ?? ""}</td><td>${commitOf(run)}</td><td>${escaped(run.machine)}</td><td>${escaped(run.device)}</td><td>${run.rows.length}</td><td>${run.source === undefined ? "npm run bench" : escaped(run.source)}</td></tr>`,
    );
  return `# Performance history

Speed of dxtensor and of its peers on the same machine in the same run. A chart shows ratios to the best peer: 1 is as fast as the best peer, 2 twice
as fast. In the tables more is better, and the last column is the better of our two forms by the best peer. A point leads to its run, with commit and machine.
Ratios of different machines do not compare.

\`npm run bench -- --suite --record\` measures a machine and appends a line to \`docs/benchmarks/history.jsonl\`; lines are never changed.

${sections.join("\n")}
## Runs

<table><thead><tr><th>date</th><th>dxtensor</th><th>commit</th><th>machine</th><th>device</th><th>workloads</th><th>from</th></tr></thead><tbody>${table.join("")}</tbody></table>
`;
}
