/** Throughput of GEMM and convolution through the whole library, in GFLOP/s. */
import * as dx from "dxtensor";
import { perRound } from "./measure.ts";

/** GFLOP/s of a round, and the machine's peak at that time. */
export interface Round {
  readonly value: number;
  readonly peak: number | null;
}

/** The round with the median ratio. */
export function middle(rounds: readonly Round[]): Round {
  const ratio = ({ value, peak }: Round): number => value / (peak ?? 1);
  return [...rounds].sort((a, b) => ratio(a) - ratio(b))[Math.floor(rounds.length / 2)]!;
}

function throughput(flops: number, peakNow: () => number | null, once: () => dx.Tensor): readonly Round[] {
  let latest: dx.Tensor | undefined;
  const round = perRound(
    () => {
      latest?.dispose();
      latest = once();
    },
    () => void latest?.dataSync(),
    0.4,
  );
  const rounds = Array.from({ length: 7 }, () => ({ peak: peakNow(), value: flops / round() / 1e9 }));
  latest?.dispose();
  return rounds;
}

export function gemm(device: dx.Device, n: number, peakNow: () => number | null): readonly Round[] {
  const generator = new dx.Generator(1);
  const a = dx.rand([n, n], { device, generator });
  const b = dx.rand([n, n], { device, generator });
  const result = throughput(2 * n ** 3, peakNow, () => dx.matmul(a, b));
  a.dispose();
  b.dispose();
  return result;
}

export function convolution(device: dx.Device, peakNow: () => number | null): readonly Round[] {
  const generator = new dx.Generator(1);
  const x = dx.rand([8, 64, 56, 56], { device, generator });
  const w = dx.rand([64, 64, 3, 3], { device, generator });
  const result = throughput(2 * 8 * 64 * 56 * 56 * 64 * 9, peakNow, () => dx.conv2d(x, w, null, { padding: 1 }));
  x.dispose();
  w.dispose();
  return result;
}
