/** Layers with adapters: the same objects, of a class whose forward() adds what the adapters give. @package */
import { changing, modes } from "../core/journal.ts";
import type { Tensor } from "../core/tensor.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { toDType } from "../ops/data/conversion.ts";
import { ADAPTERS } from "./inner.ts";
import { kindOf, type AdaptedFields } from "./lora-kinds.ts";
import { byPattern, type LoraSettings } from "./lora-options.ts";
import type { Module } from "./module.ts";
import type { Parameter } from "./parameter.ts";

/** What the adapters of one name have in common. */
export interface AdapterState {
  readonly settings: LoraSettings;
  isEnabled: boolean;
  isMerged: boolean;
}

/** An adapter of one layer. */
export interface LayerAdapter {
  readonly rank: number;
  readonly alpha: number;
  readonly scale: number;
  readonly state: AdapterState;
}

/** A layer with adapters. */
export interface AdaptedLayer extends Module, AdaptedFields {
  [ADAPTERS]: Record<string, LayerAdapter>;
}

const FIELDS = ["lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B", "lora_dropout"] as const;

export const isAdapted = (module: Module): module is AdaptedLayer => ADAPTERS in module;

/** Which adapters of a module its layers add. */
export function* enabledAdapters(module: Module): Generator<AdapterState> {
  for (const layer of module.modules())
    if (isAdapted(layer)) for (const { state } of Object.values(layer[ADAPTERS])) if (state.isEnabled && !state.isMerged) yield state;
}

/** What the layer gives, and what each adapter adds. */
function withAdapters(layer: AdaptedLayer, result: Tensor, x: Tensor): Tensor {
  let sum = result;
  for (const [name, { scale, state }] of Object.entries(layer[ADAPTERS])) {
    if (!state.isEnabled || state.isMerged) continue;
    const own = kindOf(layer)!.run(layer, layer, name, x);
    sum = add(sum, scale === 1 ? own : mul(own, scale));
  }
  return sum.dtype === result.dtype ? sum : toDType(sum, result.dtype);
}

interface Forward {
  forward(...inputs: never[]): Tensor;
}

/** The class with adapters of a layer's class, by its prototype. */
const adapted = new WeakMap<object, object>();
/** The prototypes of layers before they had adapters, by those since. */
const plain = new WeakMap<object, object>();

function adaptedPrototype(own: object): object {
  const known = adapted.get(own);
  if (known !== undefined) return known;
  const Base = (own as { readonly constructor: unknown }).constructor as typeof Module;
  const name = `Lora${Base.name}`;
  const classes = {
    [name]: class extends Base {
      override forward(...inputs: never[]): Tensor {
        const result = (own as Forward).forward.apply(this, inputs);
        return withAdapters(this as unknown as AdaptedLayer, result, inputs[0] as unknown as Tensor);
      }
    },
  };
  const made = classes[name]!.prototype as object;
  adapted.set(own, made);
  plain.set(made, own);
  return made;
}

/** Gives a layer an adapter. */
export function attach(operation: string, name: string, layer: Module, state: AdapterState, rank?: number): void {
  const { settings } = state;
  const own = rank ?? byPattern(operation, settings.rankPattern, name, settings.rank);
  const alpha = byPattern(operation, settings.alphaPattern, name, settings.alpha);
  const target = layer as AdaptedLayer;
  kindOf(layer)!.make(layer, target, own, settings);
  for (const field of ["lora_dropout"] as const) target[field]?.[settings.name]?.train(layer.training);
  if (!isAdapted(layer)) {
    target[ADAPTERS] = {};
    Object.setPrototypeOf(layer, adaptedPrototype(Object.getPrototypeOf(layer) as object));
  }
  target[ADAPTERS][settings.name] = {
    rank: own,
    alpha,
    scale: alpha / (settings.rankStabilized ? Math.sqrt(own) : own),
    state,
  };
  modes.changes++;
}

/** Takes an adapter away, and with the last one the class. Its parameters are freed. */
export function detach(layer: AdaptedLayer, name: string): void {
  for (const p of parametersIn(layer, name)) {
    p[1].grad?.dispose();
    p[1].dispose();
  }
  for (const field of FIELDS) {
    const held = layer[field];
    if (held === undefined) continue;
    delete held[name];
    if (Object.keys(held).length === 0) delete layer[field];
  }
  delete layer[ADAPTERS][name];
  modes.changes++;
  if (Object.keys(layer[ADAPTERS]).length > 0) return;
  delete (layer as Partial<AdaptedLayer>)[ADAPTERS];
  Object.setPrototypeOf(layer, plain.get(Object.getPrototypeOf(layer) as object)!);
}

/** The parameters of an adapter of a layer by PEFT's names: "lora_A.weight". */
export function* parametersIn(layer: AdaptedLayer, name: string): Generator<[string, Parameter]> {
  for (const field of ["lora_A", "lora_B"] as const) {
    const factor = layer[field]?.[name];
    if (factor === undefined) continue;
    yield [`${field}.weight`, factor.weight];
    if (factor.bias !== null) yield [`${field}.bias`, factor.bias];
  }
  for (const field of ["lora_embedding_A", "lora_embedding_B"] as const) {
    const table = layer[field]?.[name];
    if (table !== undefined) yield [field, table];
  }
}

/** The modules that adapters are made of. */
export function* modulesIn(layer: AdaptedLayer): Generator<Module> {
  for (const field of ["lora_A", "lora_B", "lora_dropout"] as const) for (const m of Object.values(layer[field] ?? {})) yield* m.modules();
}

/** Changes whether adapters count. A call of a compiled function that fails takes it back. */
export function setState(state: AdapterState, change: { readonly isEnabled?: boolean; readonly isMerged?: boolean }): void {
  changing(state, () => {
    const { isEnabled, isMerged } = state;
    return () => {
      Object.assign(state, { isEnabled, isMerged });
      modes.changes++;
    };
  });
  Object.assign(state, change);
  modes.changes++;
}
