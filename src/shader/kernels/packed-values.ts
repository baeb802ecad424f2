/** Packed weights as numbers: (code - middle) * scale + minimum. A thread makes four neighbours, so that they are written at once. */
import { sizeOf } from "../../core/shape.ts";
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { BufferElements } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import { kernel, write, type Kernel, type Numbers } from "./kernel.ts";

/** What makes one shader unlike another. */
export interface PackedValuesForm {
  /** Of a code. */
  readonly bits: 4 | 8;
  /** Whether codes are int8, with 0 in their middle. */
  readonly isSigned: boolean;
  /** Elements that share a scale. */
  readonly block: number;
  readonly scales: "f32" | "f16";
  readonly hasMinima: boolean;
  readonly element: "f32" | "f16";
}

const THREADS = 256;
/** Elements of a thread. */
export const EACH = 4;

/** codes: words of codes; scales and minima: one for each block; y: a multiple of EACH elements. */
export function packedToValues(form: PackedValuesForm): Kernel {
  const { bits, isSigned, block, scales, hasMinima, element } = form;
  return kernel(
    `packed values ${bits}${isSigned ? " signed" : ""} ${block} ${scales}${hasMinima ? " minima" : ""} ${element}`,
    {
      inputs: { codes: "u32", scales, ...(hasMinima ? { minima: scales } : {}) } as { readonly [name: string]: "u32" | "f32" | "f16" },
      outputs: { y: element } as { readonly [name: string]: "f32" | "f16" },
      threads: THREADS,
      groups: ({ shapes }: LaunchFacts) => Math.ceil(sizeOf(shapes["y"]!) / (EACH * THREADS)),
      isOneOfMany: true,
    },
    (s) => {
      const { scales: ofScales, minima, y } = s.buffers as unknown as Record<string, BufferElements<"f32">>;
      const codes = s.buffers["codes"] as unknown as BufferElements<"u32">;
      const at = s.thread.mul(EACH);
      s.if(at.lt(y!.size), () => {
        const word = codes.loadsInside(at.div(32 / bits), 1)[0]!;
        const own = bits === 8 ? (isSigned ? word.xor(0x80808080) : word) : word.shiftRight(at.div(EACH).mod(2).mul(16));
        const middle = 2 ** (bits - 1);
        const first = (values: BufferElements<"f32">, i: number): Float => values.loadsInside(blockAt(at, i, block), 1)[0]!;
        const values = Array.from({ length: EACH }, (_, i) => {
          const level = own.shiftRight(bits * i).and(2 ** bits - 1).toFloat().sub(middle); // prettier-ignore
          const scaled = level.mul(first(ofScales!, i));
          return minima === undefined ? scaled : scaled.add(first(minima, i));
        });
        write(y as unknown as Numbers, at, values, true);
      });
    },
  );
}

/** The block of the i-th element of a thread. */
const blockAt = (at: Uint, i: number, block: number): Uint => (block % EACH === 0 ? at : at.add(i)).div(block);
