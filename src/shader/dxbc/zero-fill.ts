/** Fills an output with zeros before a shader adds to it. */
import type { TensorSpec } from "../../core/definition.ts";
import type { ShaderTraits } from "../../dml/capabilities.ts";
import type { ShaderCall } from "../../graph/graph.ts";
import { DTYPES } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import { ShaderProgram } from "./shader-program.ts";
import { Scope } from "../language.ts";

const THREADS = 256;
/** Words that a thread writes. */
const WORDS = 4;

let program: ShaderProgram | null = null;

function fillProgram(): ShaderProgram {
  if (program !== null) return program;
  const s = new Scope("fill", THREADS, { y: { element: "u32", isWritable: true } }, {}, false);
  s.buffers["y"]!.stores(s.thread.mul(WORDS), [0, 0, 0, 0]);
  return (program = new ShaderProgram(s.finish()));
}

export function fillCall(traits: ShaderTraits, { dtype, shape }: TensorSpec): ShaderCall {
  const words = Math.ceil((sizeOf(shape) * DTYPES[dtype].sizeInBytes) / 4);
  return fillProgram().call(traits, Math.ceil(words / (THREADS * WORDS)), { shapes: { y: [words] }, params: {} });
}
