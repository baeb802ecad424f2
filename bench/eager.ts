/** The cost of one eager call: a chain of dependent adds of 16 elements, beside TensorFlow.js' cpu backend. */
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";

const CALLS = 200_000;

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Seconds per call. */
export function eagerChain(device: dx.Device, dispose: boolean): number {
  const one = dx.ones([16], { device });
  const rounds = Array.from({ length: 5 }, () => {
    let x = dx.zeros([16], { device });
    x.dataSync();
    const start = performance.now();
    for (let i = 0; i < CALLS; i++) {
      const next = dx.add(x, one);
      if (dispose) x.dispose();
      x = next;
    }
    const last = x.dataSync()[0];
    const seconds = (performance.now() - start) / 1000 / CALLS;
    if (last !== CALLS) throw new Error(`the chain of adds gave ${last}, not ${CALLS}`);
    x.dispose();
    return seconds;
  });
  one.dispose();
  return median(rounds);
}

/** Seconds per call of the same chain in TensorFlow.js. */
export async function tfjsChain(): Promise<number> {
  const tf = await import("@tensorflow/tfjs-core");
  await import("@tensorflow/tfjs-backend-cpu");
  await tf.setBackend("cpu");
  const one = tf.ones([16]);
  const rounds = Array.from({ length: 5 }, () => {
    let x: { dispose(): void; dataSync(): ArrayLike<number> } = tf.zeros([16]);
    const start = performance.now();
    for (let i = 0; i < CALLS / 4; i++) {
      const next = tf.add(x as never, one as never);
      x.dispose();
      x = next as never;
    }
    const last = x.dataSync()[0];
    if (last !== CALLS / 4) throw new Error(`TensorFlow.js' chain of adds gave ${last}`);
    return (performance.now() - start) / 1000 / (CALLS / 4);
  });
  return median(rounds);
}
