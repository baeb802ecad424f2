/** Rows added to rows by index, with atomics: the gradient of an embedding. */
import { sizeOf } from "../../shape.ts";
import type { LaunchFacts } from "../compiled.ts";
import { kernel, type Kernel } from "./kernel.ts";

const THREADS = 256;

/** dweight[index[i], :] += dy[i, :]; indices that are no row are left out. dweight begins as zeros. */
export const embeddingBackward = (): Kernel =>
  kernel(
    "embeddingBackward",
    {
      inputs: { dy: "f32", index: "i32" },
      outputs: { dweight: "f32" },
      threads: THREADS,
      groups: ({ shapes }: LaunchFacts) => Math.ceil(sizeOf(shapes["dy"]!) / THREADS),
    },
    (s) => {
      const { dy, index, dweight } = s.buffers;
      s.if(s.thread.lt(dy.size), () => {
        const columns = dweight.dim(-1);
        const row = index.load(s.thread.div(columns)).bits();
        const column = s.thread.mod(columns);
        s.if(row.lt(dweight.dim(0)), () => {
          dweight.atomicAdd(row.mul(columns).add(column), dy.load(s.thread));
        });
      });
    },
  );
