/** A plan as people read it. Pure. */
import type { Plan } from "../types.ts";

export function printPlan({ suite, cells, runs, lowerings }: Plan): string {
  const lines = [`${cells.length} cells, ${runs.length} runs, suite ${suite}`, ""];
  for (const run of runs) {
    const own = cells.filter((cell) => cell.run === run.id);
    const others = run.cells.filter((id) => id !== run.id).map((id) => id.split("/").at(-1)!);
    const device =
      run.device.kind === "simulated" ? "simulated" : run.device.kind === "hardware" ? `hardware: ${run.device.name}` : run.device.kind;
    const marks = [device, ...(own.some(({ mustPass }) => mustPass) ? ["must pass"] : []), ...(run.native ? ["native programs"] : [])];
    lines.push(`  run  ${run.id}  (${marks.join(", ")})${others.length === 0 ? "" : `  also for ${others.join(", ")}`}`);
  }
  const reasons = new Map<string, number>();
  for (const { platform, reason } of cells)
    if (reason !== null) reasons.set(`${platform}: ${reason}`, (reasons.get(`${platform}: ${reason}`) ?? 0) + 1);
  if (reasons.size > 0) lines.push("", "Not run:");
  for (const [reason, count] of reasons) lines.push(`  ${String(count).padStart(4)}  ${reason}`);
  for (const { featureLevel, groups, differences, asked } of lowerings) {
    lines.push("", `Lowerings at feature level ${featureLevel}: ${differences.length} of ${asked} recorded calls differ`);
    for (const group of groups) lines.push(`  ${group.join(", ")}`);
  }
  return lines.join("\n");
}
