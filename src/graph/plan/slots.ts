/** Slots of a plan: one for each input, each output, and the scratch memory. */
import type { ProgramDescription } from "../../native/binding.ts";
import type { Graph, Value } from "../graph.ts";

/** Bytes of the scratch memory that no node writes: they are written once, before the first run. */
export interface Preset {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface Plan extends ProgramDescription {
  readonly presets: readonly Preset[];
}

export interface Slots {
  readonly inputs: ReadonlyMap<Value, number>;
  readonly outputs: ReadonlyMap<Value, number>;
  readonly scratch: number;
}

export function slotsOf(graph: Graph): Slots {
  return {
    inputs: new Map(graph.inputs.map((v, i) => [v, i])),
    outputs: new Map(graph.outputs.map((x, i) => [x.value, graph.inputs.length + i])),
    scratch: graph.inputs.length + graph.outputs.length,
  };
}

export const sizesOf = (graph: Graph): { inputs: number[]; outputs: number[] } => ({
  inputs: graph.inputs.map((v) => v.sizeInBytes),
  outputs: graph.outputs.map((x) => x.value.sizeInBytes),
});
