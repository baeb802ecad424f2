// A worker of the soak: computes requests until it is terminated, and posts every result.
import { parentPort, workerData } from "node:worker_threads";
import type * as Library from "../../src/index.ts";

const { module, seed, rounds } = workerData as { readonly module: string; readonly seed: number; readonly rounds: number };
const dx = (await import(module)) as typeof Library;
const tell = (what: object) => parentPort!.postMessage(what);
const device = "cpu";
const step = dx.compile((x: Library.Tensor, n: Library.Tensor) => x.mul(n).add(1).sum());
for (let i = 0; i < rounds; i++) {
  const size = 1 + ((seed * 31 + i * 7) % 300);
  const x = dx.full([size], i % 5, { device, dtype: "float32" });
  const eager = x.add(seed % 7).sum();
  const compiled = step(x, dx.full([], 2, { device, dtype: "float32" }));
  const [a, b] = [i % 2 === 0 ? eager.dataSync()[0] : (await eager.data())[0], compiled.itemSync()];
  const expected = [size * ((i % 5) + (seed % 7)), size * (2 * (i % 5) + 1)];
  const right = a === expected[0] && b === expected[1];
  tell({ right, what: `seed ${seed}, call ${i}: ${[a, b]} for ${expected}` });
  for (const t of [x, eager, compiled]) t.dispose();
}
dx.closeDevice(device);
tell({ done: true });
