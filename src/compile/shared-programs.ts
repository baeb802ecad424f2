/** Programs of loops' bodies, which schedules with equal bodies share: a loop of another length runs the same program. */
import type { Storage } from "../core/storage.ts";
import { keyOf } from "../graph/key.ts";
import type { Expr } from "../graph/graph.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import type { InputSource } from "./path-graph.ts";
import type { CompiledProgram, Lowered } from "./program.ts";

/** Numbers of objects that a program refers to. */
const numbers = new WeakMap<object, number>();
let count = 0;

function numberOf(object: object): number {
  let number = numbers.get(object);
  if (number === undefined) numbers.set(object, (number = count++));
  return number;
}

const shown = (x: Expr | null): unknown => (x === null ? null : [x.value.id, x.dtype, x.sizes, x.strides, x.byteOffset]);

function sourceKey(source: InputSource): unknown {
  switch (source.kind) {
    case "argument":
      return source.index;
    case "state":
      return ["state", numberOf(source.storage satisfies Storage)];
    case "volatile":
      return ["volatile", numberOf(source.event)];
    case "fixed":
      return new Uint8Array(source.bytes.buffer, source.bytes.byteOffset, source.bytes.byteLength);
    default:
      return source satisfies never;
  }
}

/** Equal for programs that compute the same from the same. */
function keyOfProgram({ graph, inputs, contents, written }: Lowered, options: readonly unknown[]): string {
  return keyOf([
    graph.nodes.map((n) => [n.operator, n.shader?.id, n.shader?.constants, n.shader?.groups, n.operation, n.attributes, n.inputs.map(shown), n.outputs.map(shown)]), // prettier-ignore
    inputs.map(({ value, source }) => [value.id, value.sizeInBytes, sourceKey(source)]),
    graph.outputs.map(shown),
    graph.state.map((w) => [w.buffer.id, shown(w.value)]),
    contents,
    written,
    options,
  ]);
}

/** A program, until its last user releases it. */
export class SharedProgram {
  readonly program: CompiledProgram;
  users = 0;
  readonly #forget: () => void;

  constructor(program: CompiledProgram, forget: () => void) {
    this.program = program;
    this.#forget = forget;
  }

  release(): void {
    if (--this.users > 0) return;
    this.#forget();
    this.program.dispose();
  }
}

/** Held weakly: a program whose schedules are garbage is garbage. */
const programs = new WeakMap<NativeDevice, Map<string, WeakRef<SharedProgram>>>();

/** The program that is there, or a new one. */
export function sharedProgram(
  native: NativeDevice,
  lowered: Lowered,
  options: readonly unknown[],
  make: () => CompiledProgram,
): SharedProgram {
  let known = programs.get(native);
  if (known === undefined) programs.set(native, (known = new Map<string, WeakRef<SharedProgram>>()));
  for (const [key, ref] of known) if (ref.deref() === undefined) known.delete(key);
  const key = keyOfProgram(lowered, options);
  let shared = known.get(key)?.deref();
  if (shared === undefined) {
    const own = known;
    shared = new SharedProgram(make(), () => void own.delete(key));
    known.set(key, new WeakRef(shared));
  }
  shared.users++;
  return shared;
}
