/** Interprets a shader's call in JavaScript: results, printed text, and faults. */
import type { TypedArray } from "../../core/dtype.ts";
import { data } from "../data/conversion.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { LaunchFacts, ShaderProgram } from "../../shader/dxbc/shader-program.ts";
import { evaluateShader, type Fault } from "../../shader/evaluate.ts";
import { sizeOfElement, type Buffer } from "../../shader/ir.ts";
import { floatOfBits, floatOfHalf } from "../../shader/operations.ts";

/** Options of debug(). */
export interface DebugOptions {
  /** Receives each line that the shader prints. Default: lines are only collected in the result. */
  readonly print?: (line: string) => void;
}

/** The result of debug(). */
export interface ShaderDebug {
  /** The outputs' elements, by name. */
  readonly outputs: { readonly [name: string]: number[] };
  /** What the shader printed. */
  readonly lines: readonly string[];
  /** Races, reads of shared memory that no thread wrote, and out-of-bounds accesses. The latter are guarded: a read gives 0, a write does nothing. */
  readonly faults: readonly Fault[];
}

const wordsOf = (b: Buffer, count: number): number => Math.ceil((count * sizeOfElement(b.element)) / 4);

function numbersOf(b: Buffer, words: Uint32Array, count: number): number[] {
  return Array.from({ length: count }, (_, i) => {
    if (b.element === "f16") return floatOfHalf(words[i >>> 1]! >>> (16 * (i & 1)));
    const word = words[i]!;
    return b.element === "f32" ? floatOfBits(word) : b.element === "i32" ? word | 0 : word;
  });
}

/** @package */
export async function debugShader(
  program: ShaderProgram,
  groups: number,
  facts: LaunchFacts,
  inputs: { readonly [name: string]: Tensor },
  { print }: DebugOptions,
): Promise<ShaderDebug> {
  const { source } = program;
  const buffers: { [name: string]: Uint32Array } = {};
  for (const b of source.buffers) {
    const words = new Uint32Array(wordsOf(b, sizeOf(facts.shapes[b.name]!)));
    const input = inputs[b.name];
    if (input !== undefined) {
      const { buffer, byteOffset, byteLength } = (await data(input)) as TypedArray;
      new Uint8Array(words.buffer).set(new Uint8Array(buffer, byteOffset, byteLength));
    }
    buffers[b.name] = words;
  }
  const grid = program.grid(groups);
  const uniforms = Object.fromEntries(source.uniforms.map((u) => [u.name, program.uniform(u, facts, grid[0])]));
  const lines: string[] = [];
  const { faults } = evaluateShader(source, {
    groups: grid[0] * grid[1],
    grid: grid[0],
    buffers,
    uniforms,
    print: (line) => {
      lines.push(line);
      print?.(line);
    },
  });
  const outputs = Object.fromEntries(
    source.buffers.filter((b) => b.isWritable).map((b) => [b.name, numbersOf(b, buffers[b.name]!, sizeOf(facts.shapes[b.name]!))]),
  );
  return { outputs, lines, faults };
}
