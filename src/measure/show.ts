/** Measurements as text. Pure. */
import type { ShaderRange } from "../dml/capabilities.ts";
import { isFaster, type Measurement } from "../shader/measured.ts";

function time(seconds: number): string {
  if (seconds >= 0.1) return `${seconds.toFixed(2)} s`;
  return seconds >= 1e-4 ? `${(seconds * 1e3).toFixed(2)} ms` : `${(seconds * 1e6).toFixed(1)} µs`;
}

function verdict(m: Measurement): string {
  if (m.isWrong) return "differs, not taken";
  if (m.byShader === null) return "not measured: slower at smaller sizes";
  return isFaster(m) ? "faster" : "";
}

/** A line for each measurement: both times, and how many times faster the shader is. */
export function table(measurements: readonly Measurement[]): string {
  const rows = measurements.map((m) => [
    m.shader,
    m.dtype,
    m.place,
    String(m.extent),
    time(m.directml),
    m.byShader === null ? "" : time(m.byShader),
    m.byShader === null ? "" : `${(m.directml / m.byShader).toFixed(2)}x`,
    verdict(m),
  ]);
  const all = [["operation", "dtype", "call", "size", "DirectML", "shader", "ratio", ""], ...rows];
  const widths = all[0]!.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  return all.map((row) => row.map((text, i) => (i >= 3 && i <= 6 ? text.padStart(widths[i]!) : text.padEnd(widths[i]!))).join("  ").trimEnd()).join("\n"); // prettier-ignore
}

const sizes = ({ from, to }: ShaderRange): string => (to === null ? `from ${from}` : from === to ? `of ${from}` : `${from} to ${to}`);

/** Which shaders are taken, in one line for each. */
export function chosen(ranges: readonly ShaderRange[]): string {
  if (ranges.length === 0) return "No shader is taken: DirectML's operators are.";
  return ranges.map((r) => `${r.shader} ${r.dtype} ${sizes(r)}, ${r.place === "alone" ? "in eager calls" : "in compiled functions"}`).join("\n"); // prettier-ignore
}
