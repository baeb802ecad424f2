/** profileSync(): the device's time of each dispatch of a compiled program. */
import { devicePeak, type DevicePeak } from "./device-peak.ts";
import { kernelsOf, nodesText, operatorName, type ExplainedKernel } from "./kernels.ts";
import type { CompiledProgram } from "./program.ts";
import { Schedule, programsOf, type Executable } from "./schedule.ts";

/** A kernel with the time that it took. */
export interface ProfiledKernel extends ExplainedKernel {
  readonly microseconds: number;
}

/** A dispatch of a program with the device's time for it. */
export interface ProfiledDispatch {
  /** DirectML's operator; "graph of N nodes" where a region is compiled as a whole. */
  readonly operator: string;
  /** The operation and the line that asked for it; empty for a region. */
  readonly origin: string;
  /** The device's time, in microseconds. */
  readonly microseconds: number;
  /** Bytes of what it reads and writes, each once. */
  readonly bytes: number;
  /** Floating-point operations, where the operations say how many; else 0. */
  readonly flops: number;
  /**
   * The larger of two shares: of the bandwidth that a copy reaches on this device, and of the arithmetic that a large float32 product reaches. Null: the time
   * is too short to be told, or the device could not be measured. Data in a fast memory may be read faster than a copy.
   */
  readonly share: { readonly of: "bandwidth" | "arithmetic"; readonly ratio: number } | null;
  /** What ran inside a region on the software adapter, in the order of execution; empty for one operator, and on other devices. */
  readonly kernels: readonly ProfiledKernel[];
}

/** The device's time of one call of a compiled function, dispatch by dispatch. */
export interface Profile {
  /** The function's name. */
  readonly name: string;
  /** The device that was measured. */
  readonly device: string;
  /** What a copy and a large product reach on the device. */
  readonly peak: DevicePeak;
  /** In the order of execution. */
  readonly dispatches: readonly ProfiledDispatch[];
  /** The sum over the dispatches, which run alone here; a replay overlaps some of them. */
  readonly microseconds: number;
  /** Dispatches of one operator and origin together, and the kernels of each region so, the dearest first. */
  toString(): string;
}

interface Row {
  readonly count: number;
  readonly microseconds: number;
  readonly work: Work;
}

/** What dispatches read, write and compute. */
interface Work {
  readonly bytes: number;
  readonly flops: number;
}

const NO_WORK: Work = { bytes: 0, flops: 0 };

function shareOf({ bytes, flops }: Work, microseconds: number, peak: DevicePeak): ProfiledDispatch["share"] {
  if (!(microseconds > 0)) return null;
  const ratio = (work: number, rate: number | null): number => (rate === null ? 0 : (1e6 * work) / microseconds / rate);
  const [bandwidth, arithmetic] = [ratio(bytes, peak.bytesPerSecond), ratio(flops, peak.flopsPerSecond)];
  if (bandwidth === 0 && arithmetic === 0) return null;
  return bandwidth >= arithmetic ? { of: "bandwidth", ratio: bandwidth } : { of: "arithmetic", ratio: arithmetic };
}

const shareText = (share: ProfiledDispatch["share"]): string =>
  (share === null ? "" : `${(100 * share.ratio).toFixed(0)} % of ${share.of}`).padStart(19);

/** A line for each key, the dearest first. */
function lines(
  costs: readonly { key: string; microseconds: number; work: Work }[],
  whole: number,
  indent: string,
  peak: DevicePeak | null,
): string[] {
  const rows = new Map<string, Row>();
  for (const { key, microseconds, work } of costs) {
    const row = rows.get(key) ?? { count: 0, microseconds: 0, work: NO_WORK };
    const total = { bytes: row.work.bytes + work.bytes, flops: row.work.flops + work.flops };
    rows.set(key, { count: row.count + 1, microseconds: row.microseconds + microseconds, work: total });
  }
  return [...rows]
    .sort(([, a], [, b]) => b.microseconds - a.microseconds)
    .map(
      ([key, row]) =>
        `${indent}${row.microseconds.toFixed(1).padStart(10)} us ${((100 * row.microseconds) / whole).toFixed(1).padStart(5)} % ${`${row.count}x`.padStart(5)}${peak === null ? "" : shareText(shareOf(row.work, row.microseconds, peak))}  ${key}`,
    );
}

function peakText({ bytesPerSecond, flopsPerSecond }: DevicePeak): string {
  const parts = [
    ...(bytesPerSecond === null ? [] : [`a copy reaches ${(bytesPerSecond / 1e9).toPrecision(3)} GB/s`]),
    ...(flopsPerSecond === null ? [] : [`a product ${(flopsPerSecond / 1e12).toPrecision(3)} TFLOP/s`]),
  ];
  return parts.length === 0 ? "" : `; ${parts.join(", ")}`;
}

/** All steps of a loop together. */
const inLoop = (d: ProfiledDispatch, steps: number): ProfiledDispatch => ({
  ...d,
  operator: `${d.operator}, ${steps} times`,
  microseconds: d.microseconds * steps,
  bytes: d.bytes * steps,
  flops: d.flops * steps,
  kernels: d.kernels.map((k) => ({ ...k, microseconds: k.microseconds * steps })),
});

/** A program's dispatches with their times. */
function dispatchesOf(program: CompiledProgram, isPart: boolean, peak: DevicePeak): ProfiledDispatch[] {
  const { description } = program;
  const times = program.profile(isPart);
  const kernels = kernelsOf(program, times.kernels, true) as ProfiledKernel[][];
  const steps = description.steps.flatMap((s) => ("dispatch" in s ? [s] : []));
  return steps.map((step, i): ProfiledDispatch => {
    const made = description.dispatchables[step.dispatch]!;
    const operator =
      "call" in made
        ? made.call.operation
        : "shader" in made
          ? "SHADER"
          : "nodes" in made
            ? `graph of ${made.nodes.length} nodes`
            : operatorName(made.type);
    const bytes = [...step.inputs, ...step.outputs].reduce((n, range) => n + (range?.[2] ?? 0), 0);
    const flops = (step.flops ?? []).reduce((a, b) => a + b, 0);
    const microseconds = times.seconds[i]! * 1e6;
    const share = shareOf({ bytes, flops }, microseconds, peak);
    return { operator, origin: step.origin ?? "", microseconds, bytes, flops, share, kernels: kernels[i]! };
  });
}

export function profile(name: string, executable: Executable): Profile {
  const programs = programsOf(executable);
  const peak = devicePeak(executable.native);
  const isPart = executable instanceof Schedule;
  // What such a program was called with may be gone, so it must not write.
  const timed = programs.filter(({ program }) => !isPart || (program.state.length === 0 && program.written.length === 0));
  const dispatches = timed.flatMap(({ program, loops }) => {
    const count = loops.reduce((n, { steps }) => n * steps, 1);
    const own = dispatchesOf(program, isPart, peak);
    return count === 1 ? own : own.map((d) => inLoop(d, count));
  });
  const microseconds = dispatches.reduce((sum, d) => sum + d.microseconds, 0);
  const device = `${executable.native.device} (${executable.native.adapter.name})`;
  return {
    name,
    device,
    peak,
    dispatches,
    microseconds,
    toString() {
      const of = (key: string, origin: string, { microseconds: cost }: { microseconds: number }, work = NO_WORK) => ({
        key: `${key.padEnd(36)} ${origin}`,
        microseconds: cost,
        work,
      });
      const regions = dispatches.flatMap((d) =>
        d.kernels.length === 0
          ? []
          : [
              `  inside the ${d.operator}, ${d.kernels.length} kernels:`,
              ...lines(
                d.kernels.map((k) => of(k.kernel, nodesText(k), k)),
                d.microseconds,
                "  ",
                null,
              ),
            ],
      );
      return [
        `${name} on ${device}: ${microseconds.toFixed(1)} us in ${dispatches.length} dispatches, each alone${peakText(peak)}`,
        ...lines(
          dispatches.map((d) => of(d.operator, d.origin, d, d)),
          microseconds,
          "",
          peak,
        ),
        ...regions,
      ].join("\n");
    },
  };
}
