/** The cost model as a page: one picture of seconds by ranks, and the tables. Pure. */
import type { Link } from "./cost-model.ts";

interface Prediction {
  readonly ranks: number;
  readonly bytes: number;
  readonly ring: number;
  readonly tree: number;
  readonly best: string;
  readonly efficiency: number;
}

/** What the page shows. */
export interface CostReport {
  readonly processor: string;
  readonly cores: number;
  readonly estimated: Link;
  readonly compared: readonly { ranks: number; bytes: number; measured: number; predicted: number; ratio: number }[];
  readonly link: Link;
  readonly step: { readonly seconds: number; readonly hidden: number };
  readonly predictions: readonly Prediction[];
}

const [WIDTH, HEIGHT, MARGIN] = [760, 420, 60];
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
/** "64 KiB", "25 MiB". */
export const sizeText = (bytes: number): string => (bytes >= 2 ** 20 ? `${bytes / 2 ** 20} MiB` : `${bytes / 2 ** 10} KiB`);
const timeText = (seconds: number): string =>
  seconds >= 1 ? `${seconds.toPrecision(3)} s` : `${Number((seconds * 1e3).toPrecision(3))} ms`;

/** Both axes are logarithmic. */
function picture(predictions: readonly Prediction[]): string {
  const ranks = [...new Set(predictions.map((p) => p.ranks))];
  const sizes = [...new Set(predictions.map((p) => p.bytes))];
  const all = predictions.flatMap(({ ring, tree }) => [ring, tree]);
  const [low, high] = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))];
  const x = (n: number): number => MARGIN + (Math.log2(n / ranks[0]!) / Math.log2(ranks.at(-1)! / ranks[0]!)) * (WIDTH - 2.5 * MARGIN);
  const y = (s: number): number => HEIGHT - MARGIN - ((Math.log10(s) - low) / (high - low)) * (HEIGHT - 1.5 * MARGIN);
  const parts: string[] = [];
  for (let power = low; power <= high; power++) {
    const at = y(10 ** power).toFixed(1);
    parts.push(`<line x1="${MARGIN}" x2="${WIDTH - 1.5 * MARGIN}" y1="${at}" y2="${at}" stroke="#ddd"/>`);
    parts.push(`<text x="${MARGIN - 6}" y="${at}" text-anchor="end" dy="4">${timeText(10 ** power)}</text>`);
  }
  for (const n of ranks) parts.push(`<text x="${x(n).toFixed(1)}" y="${HEIGHT - MARGIN + 18}" text-anchor="middle">${n}</text>`);
  parts.push(`<text x="${WIDTH / 2}" y="${HEIGHT - 12}" text-anchor="middle">ranks</text>`);
  sizes.forEach((bytes, i) => {
    const colour = `hsl(${(i * 360) / sizes.length} 70% 40%)`;
    for (const [algorithm, dash] of [
      ["ring", ""],
      ["tree", ' stroke-dasharray="5 4"'],
    ] as const) {
      const points = predictions.filter((p) => p.bytes === bytes).map((p) => `${x(p.ranks).toFixed(1)},${y(p[algorithm]).toFixed(1)}`);
      parts.push(`<polyline fill="none" stroke="${colour}" stroke-width="2"${dash} points="${points.join(" ")}"/>`);
    }
    const last = predictions.findLast((p) => p.bytes === bytes)!;
    parts.push(`<text x="${x(last.ranks) + 6}" y="${y(last.ring).toFixed(1)}" dy="4" fill="${colour}">${sizeText(bytes)}</text>`);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="Seconds of an all-reduce by ranks">${parts.join("")}</svg>`;
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<table><tr>${head.map((cell) => `<th>${escaped(cell)}</th>`).join("")}</tr>${rows.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join("")}</tr>`).join("")}</table>`;

/** A whole page of HTML. */
export function costPage({ processor, cores, estimated, compared, link, step, predictions }: CostReport): string {
  const us = (seconds: number): string => `${(seconds * 1e6).toFixed(1)} us`;
  const rate = (bandwidth: number): string => `${(bandwidth / 1e9).toFixed(2)} GB/s`;
  return `<!doctype html><meta charset="utf-8"><title>What an all-reduce costs</title>
<style>body{font:14px/1.5 sans-serif;max-width:800px;margin:2em auto;padding:0 1em}table{border-collapse:collapse}td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}</style>
<h1>What an all-reduce costs</h1>
<p>Measured on ${escaped(processor)}, ${cores} cores, by Gloo over the loopback interface. Fitted to two ranks: latency ${us(estimated.latency)}, bandwidth ${rate(estimated.bandwidth)}.</p>
${table(
  ["ranks", "size", "measured", "predicted", "predicted / measured"],
  compared.map((c) => [String(c.ranks), sizeText(c.bytes), timeText(c.measured), timeText(c.predicted), c.ratio.toFixed(2)]),
)}
<h2>Predicted</h2>
<p>A link of ${us(link.latency)} and ${rate(link.bandwidth)} for each rank. Solid: ring; dashed: tree. Efficiency: of a step of ${timeText(step.seconds)}, of which ${timeText(step.hidden)} hide the reduction.</p>
${picture(predictions)}
${table(
  ["ranks", "size", "ring", "tree", "faster", "efficiency"],
  predictions.map((p) => [String(p.ranks), sizeText(p.bytes), timeText(p.ring), timeText(p.tree), p.best, p.efficiency.toFixed(3)]),
)}
`;
}
