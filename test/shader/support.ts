/** Shaders for tests, without a device. */
import { Scope, type Parameters } from "../../src/shader/language.ts";
import { evaluateShader, type Launch, type Report } from "../../src/shader/evaluate.ts";
import type { Element, Shader } from "../../src/shader/ir.ts";
import { verifyShader } from "../../src/shader/validate.ts";

/** A verified shader; buffers whose names begin with "out" are written. */
export function build<const B extends { readonly [name: string]: Element }, const P extends Parameters>(
  buffers: B,
  params: P,
  threads: number,
  body: (s: Scope<B, P>) => void,
): Shader {
  const entries = Object.entries(buffers).map(([name, element]) => [name, { element, isWritable: name.startsWith("out") }] as const);
  const s = new Scope<B, P>("test", threads, Object.fromEntries(entries), params, true);
  body(s);
  const shader = s.finish();
  verifyShader(shader);
  return shader;
}

export const words = (values: readonly number[]): Uint32Array => new Uint32Array(Float32Array.from(values).buffer);
export const floats = (w: Uint32Array): number[] => [...new Float32Array(w.buffer, w.byteOffset, w.length)];

/** Runs it; sizes follow from the buffers unless given. */
export const run = (shader: Shader, launch: Partial<Launch> & Pick<Launch, "buffers">): Report =>
  evaluateShader(shader, { groups: 1, uniforms: {}, ...launch });
