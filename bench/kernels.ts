/** Throughput of GEMM and convolution through the whole library, in GFLOP/s. */
import * as dx from "dxtensor";
import { time } from "./measure.ts";

const last = (t: { current: dx.Tensor | null }): void => void t.current?.dataSync();

function throughput(flops: number, once: () => dx.Tensor): number {
  const latest: { current: dx.Tensor | null } = { current: null };
  const timing = time(
    () => {
      latest.current?.dispose();
      latest.current = once();
    },
    () => last(latest),
    { rounds: 5, least: 0.15 },
  );
  latest.current?.dispose();
  return flops / timing.seconds / 1e9;
}

export function gemm(device: dx.Device, n: number): number {
  const generator = new dx.Generator(1);
  const a = dx.rand([n, n], { device, generator });
  const b = dx.rand([n, n], { device, generator });
  const result = throughput(2 * n ** 3, () => dx.matmul(a, b));
  a.dispose();
  b.dispose();
  return result;
}

export function convolution(device: dx.Device): number {
  const generator = new dx.Generator(1);
  const x = dx.rand([8, 64, 56, 56], { device, generator });
  const w = dx.rand([64, 64, 3, 3], { device, generator });
  const result = throughput(2 * 8 * 64 * 56 * 56 * 64 * 9, () => dx.conv2d(x, w, null, { padding: 1 }));
  x.dispose();
  w.dispose();
  return result;
}
