/** Rows of a summary: the calls of a run as a tree, and the modules that it did not call. @package */
import type { Tensor } from "../core/tensor.ts";
import type { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";
import type { ModuleCall } from "./summary-run.ts";
import type { SummaryRow } from "./summary.ts";

/** Numbers of parameters and their bytes. */
interface Counted {
  readonly parameters: number;
  readonly trainable: number;
  readonly bytes: number;
}

function counted(parameters: Iterable<Tensor>): Counted {
  let [all, trainable, bytes] = [0, 0, 0];
  for (const p of parameters) {
    all += p.size;
    if (p.requiresGrad) trainable += p.size;
    bytes += p.desc.sizeInBytes;
  }
  return { parameters: all, trainable, bytes };
}

const total = (calls: readonly ModuleCall[]): number => calls.reduce((sum, c) => sum + c.multiplyAdds + total(c.inner), 0);

/** What modules hold, read before the run replaces it. */
export class Inventory {
  /** The modules by their first name in the tree; that of the root is its class's. */
  readonly names: ReadonlyMap<Module, string>;
  readonly #root: Module;
  readonly #own = new Map<Module, readonly Parameter[]>();

  constructor(root: Module) {
    this.#root = root;
    this.names = new Map([...root.namedModules()].map(([name, m]) => [m, name === "" ? m.constructor.name : name]));
    for (const m of this.names.keys())
      this.#own.set(
        m,
        [...m.members()].flatMap(([, p]) => (p instanceof Parameter ? [p] : [])),
      );
  }

  /** Rows in the order of the calls; below each call the modules inside that hold parameters and were not called. */
  rows(root: ModuleCall): SummaryRow[] {
    const rows: SummaryRow[] = [];
    const met = new Set<Parameter>();
    const called = new Set<Module>();
    const note = (call: ModuleCall): void => {
      called.add(call.module);
      call.inner.forEach(note);
    };
    note(root);
    const shown = new Set<Module>();
    const add = (call: ModuleCall, depth: number, isCalled: boolean): void => {
      const { module, inner } = call;
      const isRecursive = shown.has(module);
      shown.add(module);
      const own = isRecursive ? [] : (this.#own.get(module) ?? []).filter((p) => !met.has(p));
      for (const p of own) met.add(p);
      const all = counted(new Set([...module.modules()].flatMap((m) => this.#own.get(m) ?? [])));
      const first = counted(new Set(own));
      rows.push({
        name: module === this.#root ? "" : (this.names.get(module) ?? ""),
        type: module.constructor.name,
        depth,
        input: call.input,
        output: call.output,
        outputBytes: call.outputBytes,
        parameters: all.parameters,
        trainableParameters: all.trainable,
        ownParameters: first.parameters,
        ownTrainableParameters: first.trainable,
        ownParameterBytes: first.bytes,
        multiplyAdds: total([call]),
        ownMultiplyAdds: call.multiplyAdds,
        isCalled,
        isRecursive,
      });
      for (const c of inner) add(c, depth + 1, true);
      if (isRecursive || !isCalled) return;
      for (const m of this.#uncalled(module, called))
        if (!shown.has(m)) add({ module: m, input: [], output: [], outputBytes: 0, multiplyAdds: 0, inner: [] }, depth + 1, false);
    };
    add(root, 0, true);
    return rows;
  }

  /** Modules inside with parameters of their own that are not called, down to those that are. */
  *#uncalled(module: Module, called: ReadonlySet<Module>): Generator<Module> {
    for (const child of module.children()) {
      if (called.has(child)) continue;
      if (this.#own.get(child)!.length > 0) yield child;
      yield* this.#uncalled(child, called);
    }
  }
}
