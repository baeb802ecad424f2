/** The cost of one eager call: a chain of dependent adds of 16 elements, compared with TensorFlow.js' cpu backend. */
import { performance } from "node:perf_hooks";
import type * as tfjs from "@tensorflow/tfjs-core";
import * as dx from "dxtensor";
import { median } from "./measure.ts";

const CALLS = 200_000;

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

/** TensorFlow.js with its cpu backend; null where it is not installed. */
async function tensorflow(): Promise<typeof tfjs | null> {
  try {
    await import("@tensorflow/tfjs-backend-cpu");
    return await import("@tensorflow/tfjs-core");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    return null;
  }
}

/** Seconds per call of the same chain in TensorFlow.js; null where it is not installed. */
export async function tfjsChain(): Promise<number | null> {
  const tf = await tensorflow();
  if (tf === null) return null;
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
