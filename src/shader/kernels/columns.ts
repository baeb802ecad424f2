/** Sums down the columns: the gradients of a normalisation's weight and bias. */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Float, Uint } from "../numbers.ts";
import type { FloatElement } from "./elementwise.ts";
import { kernel, read, write, type Kernel, type Numbers } from "./kernel.ts";
import type { Norm } from "./rows.ts";

const THREADS = 64;
/** Rows whose accesses a thread begins together. */
const TOGETHER = 4;
/** Blocks of rows, whose sums are added afterwards: so many groups keep a device busy. */
const MAX_BLOCKS = 512;
/** The minimum of rows of a block: the blocks' sums shall be few bytes compared with what is read. */
const MIN_ROWS = 16;

const widthFor = (columns: number): number => (columns % 4 === 0 ? 4 : 1);

/** How many blocks of rows the sums come in. */
export const blocksOf = (rows: number): number => Math.max(1, Math.min(MAX_BLOCKS, Math.floor(rows / MIN_ROWS)));

/**
 * Of rows x and dy, with each row's scale and layerNorm's mean: for each block of rows the sums dweight = Σ dy (x - mean) scale and, of layerNorm,
 * dbias = Σ dy, [blocks, columns] in float32.
 */
export function normWeightGradient(norm: Norm, e: FloatElement, columns: number): Kernel {
  const width = widthFor(columns);
  const isLayer = norm === "layerNorm";
  const inputs = { x: e, dy: e, scale: "f32", ...(isLayer ? { mean: "f32" as const } : {}) } as const;
  const outputs = { dweight: "f32", ...(isLayer ? { dbias: "f32" as const } : {}) } as const;
  const groups = ({ shapes }: LaunchFacts): number => {
    const [blocks, length] = shapes["dweight"]! as [number, number];
    return blocks * Math.ceil(length / (THREADS * width));
  };
  return kernel(`weight of ${norm} ${e} ${width}`, { inputs, outputs, params: { rows: "u32" }, threads: THREADS, groups }, (s) => {
    const buffers = s.buffers as unknown as { readonly [name: string]: Numbers };
    const [x, dy, scales, dweight] = [buffers["x"]!, buffers["dy"]!, buffers["scale"]!, buffers["dweight"]!];
    const [means, dbias] = [buffers["mean"], buffers["dbias"]];
    const [length, blocks] = [dweight.dim(-1), dweight.dim(0)];
    const across = length.add(THREADS * width - 1).div(THREADS * width);
    const block = s.group.div(across);
    const column = s.group.mod(across).mul(THREADS).add(s.local).mul(width);
    s.if(block.lt(blocks).and(column.lt(length)), () => {
      const { rows } = s.params;
      const each = rows.add(blocks).sub(1).div(blocks);
      const last = block.add(1).mul(each).min(rows);
      const zeros = (): { value: Float }[] => Array.from({ length: width }, () => s.variable(s.f32(0)));
      const [sums, plain] = [zeros(), isLayer ? zeros() : []];
      const visit = (row: Uint, isThere: ReturnType<Uint["lt"]> | null): (() => void) => {
        const at = isThere === null ? row : isThere.select(row, 0);
        const offset = at.mul(length).add(column);
        const [a, b] = [read(x, offset, width, true), read(dy, offset, width, true)];
        const [scale, mean] = [scales.load(at), means?.load(at)];
        return () => {
          for (let k = 0; k < width; k++) {
            const gradient = isThere === null ? b[k]! : isThere.select(b[k]!, 0);
            const normal = (mean === undefined ? a[k]! : a[k]!.sub(mean)).mul(scale);
            sums[k]!.value = gradient.mul(isThere === null ? normal : isThere.select(normal, 0)).add(sums[k]!.value);
            if (isLayer) plain[k]!.value = gradient.add(plain[k]!.value);
          }
        };
      };
      s.for(block.mul(each), last, (first) => {
          const parts = Array.from({ length: TOGETHER }, (_, i) => {
            const row = first.add(i);
            return visit(row, i === 0 ? null : row.lt(last));
          });
          for (const add of parts) add();
        }, { step: TOGETHER, unroll: false }); // prettier-ignore
      const writeSums = (to: Numbers, values: readonly { readonly value: Float }[]): void =>
        write(to, block.mul(length).add(column), values.map((v) => v.value), true); // prettier-ignore
      writeSums(dweight, sums);
      if (dbias !== undefined) writeSums(dbias, plain);
    });
  });
}
