/** The operations of a call as the nodes of a graph: found by a run on `meta`, which computes nothing. */
import type { DType } from "../../core/dtype.ts";
import type { Storage } from "../../core/storage.ts";
import type { Tensor } from "../../core/tensor.ts";
import { runOnMeta, type MetaRun } from "../../nn/summary-run.ts";
import type { Module } from "../../nn/module.ts";
import { Parameter } from "../../nn/parameter.ts";

/** A node of the graph. */
export interface GraphNode {
  /** Parts are divided by "/": TensorBoard draws what has the same beginning as a box. */
  readonly name: string;
  /** The operation; "input", "output", "parameter", "buffer" or "constant" for others. */
  readonly op: string;
  /** Names of nodes, with ":1" for the second output. */
  readonly inputs: readonly string[];
  readonly outputs: readonly { readonly dtype: DType; readonly shape: readonly number[] }[];
}

const outputOf = ({ dtype, shape }: Tensor) => ({ dtype, shape: [...shape] });

/** The modules of the roots by their dotted names, each once: "fc" in a root of the name "", "model.fc" in others. */
function namesOf(roots: Readonly<Record<string, Module>>): Map<string, Module> {
  const names = new Map<string, Module>();
  const seen = new Set<Module>();
  for (const [key, root] of Object.entries(roots)) for (const [name, module] of root.namedModules(key, seen)) names.set(name, module);
  return names;
}

/** The box of each module: "Net/Linear[fc]" of the name "fc" in a root of the name "". */
function boxesOf(byName: ReadonlyMap<string, Module>): ReadonlyMap<Module, string> {
  const boxOf = (name: string): string => {
    const type = byName.get(name)?.constructor.name;
    if (name === "") return type ?? "";
    const at = name.lastIndexOf(".");
    const outer = at < 0 && !byName.has("") ? "" : boxOf(name.slice(0, Math.max(at, 0)));
    const own = name.slice(at + 1);
    return [outer, type === undefined ? own : `${type}[${own}]`].filter((part) => part !== "").join("/");
  };
  return new Map([...byName].map(([name, module]) => [module, boxOf(name)]));
}

/** What is drawn. */
export interface GraphCall extends Pick<MetaRun, "operation" | "call" | "argument" | "input" | "training"> {
  /** Modules whose tensors the call uses; the name "" for the one that is called. */
  readonly roots: Readonly<Record<string, Module>>;
}

/** The nodes of a call, in the order of its operations. What a view is of stands for the view. */
export function graphOf({ roots, ...run }: GraphCall): readonly GraphNode[] {
  const nodes: GraphNode[] = [];
  const byName = namesOf(roots);
  const boxes = boxesOf(byName);
  const taken = new Set<string>();
  const nameIn = (box: string, own: string): string => {
    const name = box === "" ? own : `${box}/${own}`;
    let free = name;
    for (let i = 1; taken.has(free); i++) free = `${name}_${i}`;
    taken.add(free);
    return free;
  };
  /** What wrote each buffer last. */
  const writers = new Map<Storage, string>();
  const add = (box: string, op: string, own: string, inputs: readonly string[], outputs: GraphNode["outputs"]): string => {
    const name = nameIn(box, own);
    nodes.push({ name, op, inputs, outputs });
    return name;
  };
  /** Tensors of modules become nodes when they are used. */
  const held = new Map<Storage, () => string>();
  const note = (box: string, op: string, own: string, next: Tensor | undefined): void => {
    if (next !== undefined && !held.has(next.storage)) held.set(next.storage, () => add(box, op, own, [], [outputOf(next)]));
  };
  const writerOf = (tensor: Tensor, box: string): string => {
    let name = writers.get(tensor.storage);
    if (name === undefined) {
      name = held.get(tensor.storage)?.() ?? add(box, "constant", "constant", [], [outputOf(tensor)]);
      writers.set(tensor.storage, name);
    }
    return name;
  };
  runOnMeta({
    ...run,
    names: new Map([...byName].map(([name, module]) => [module, name === "" ? module.constructor.name : name])),
    onBegin: (inputs, tensors) => {
      for (const [i, tensor] of inputs.entries())
        writers.set(tensor.storage, add("", "input", inputs.length === 1 ? "input" : `input_${i}`, [], [outputOf(tensor)]));
      for (const [module, box] of boxes) {
        for (const [own, member] of module.members()) if (member instanceof Parameter) note(box, "parameter", own, tensors.get(member));
        // Those of the modules inside have a dot.
        for (const [own, buffer] of module.namedBuffers()) if (!own.includes(".")) note(box, "buffer", own, tensors.get(buffer));
      }
    },
    onOperation: (module, definition, inputs, _, outputs, storages) => {
      const box = module === null ? "" : boxes.get(module)!;
      const from = inputs.map((tensor) => writerOf(tensor, box));
      const results = outputs.map(({ dtype, shape }) => ({ dtype, shape: [...shape] }));
      const name = add(box, definition.name, definition.name, from, results);
      for (const [i, storage] of storages.entries()) writers.set(storage, i === 0 ? name : `${name}:${i}`);
    },
    onWrite: (target, value) => {
      const from = writerOf(value, "");
      // The rest of the buffer stays as it was.
      const name = target.coversStorage ? from : add("", "assign", "assign", [writerOf(target, ""), from], [outputOf(target)]);
      writers.set(target.storage, name);
    },
    onEnd: (outputs) => {
      for (const [i, tensor] of outputs.entries())
        add("", "output", outputs.length === 1 ? "output" : `output_${i}`, [writerOf(tensor, "")], [outputOf(tensor)]);
    },
  });
  return nodes;
}
