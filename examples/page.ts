/** The training run as an HTML page: the loss curve and the facts of the run; readable without JavaScript. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

export interface Run {
  readonly device: string;
  readonly losses: readonly number[];
  /** Steps that ran eagerly, before the compiled ones. */
  readonly eagerSteps: number;
  readonly facts: readonly (readonly [name: string, value: string])[];
}

const escape = (text: string): string => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);

/** A running mean, so that the trend shows behind the noise of the batches. */
function smooth(values: readonly number[], weight = 0.95): number[] {
  let mean = values[0] ?? 0;
  return values.map((v) => (mean = weight * mean + (1 - weight) * v));
}

/** The curve as SVG, for readers without JavaScript. */
function svg(losses: readonly number[]): string {
  const width = 880;
  const height = 320;
  const top = Math.max(...losses);
  const points = (values: readonly number[]): string =>
    values
      .map((v, i) => `${((i / Math.max(1, values.length - 1)) * width).toFixed(1)},${(height - (v / top) * height).toFixed(1)}`)
      .join(" ");
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="loss by step, from ${losses[0]?.toFixed(2)} to ${losses.at(-1)?.toFixed(3)}"><polyline points="${points(losses)}" fill="none" stroke="#9bb8e8"/><polyline points="${points(smooth(losses))}" fill="none" stroke="#1f5fbf" stroke-width="2"/></svg>`;
}

export function renderPage(run: Run): string {
  const require = createRequire(import.meta.url);
  const script = readFileSync(require.resolve("uplot/dist/uPlot.iife.min.js"), "utf8");
  const style = readFileSync(require.resolve("uplot/dist/uPlot.min.css"), "utf8");
  const data = JSON.stringify([run.losses.map((_, i) => i + 1), run.losses, smooth(run.losses)]);
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>dxtensor quickstart on ${escape(run.device)}</title>
<style>${style}
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 900px; padding: 0 1rem; color: #1b1f24 }
table { border-collapse: collapse } td { padding: .2rem 1.5rem .2rem 0; border-bottom: 1px solid #e3e6ea } td:last-child { font-variant-numeric: tabular-nums }
</style>
<h1>Handwritten digits on ${escape(run.device)}</h1>
<p>Cross entropy of each training step (batch); the dark line is its running mean. Steps 1 to ${run.eagerSteps} ran eagerly, the others as one compiled program.</p>
<div id="chart"><noscript>${svg(run.losses)}</noscript></div>
<h2>The run</h2>
<table>${run.facts.map(([name, value]) => `<tr><td>${escape(name)}</td><td>${escape(value)}</td></tr>`).join("")}</table>
<script>${script}</script>
<script>
const chart = document.getElementById("chart");
new uPlot({ width: Math.min(880, chart.clientWidth), height: 360, scales: { x: { time: false }, y: { distr: 3 } },
  series: [{ label: "step" }, { label: "loss", stroke: "#9bb8e8" }, { label: "running mean", stroke: "#1f5fbf", width: 2 }],
  axes: [{ label: "step" }, { label: "cross entropy" }] }, ${data}, chart);
</script>
</html>
`;
}
