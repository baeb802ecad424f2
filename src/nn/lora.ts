/** LoRA: adapters of low rank, which learn in place of the weights they are added to. */
import { noGrad } from "../autograd/grad-mode.ts";
import { ShapeError, TraceError, UnsupportedError, ValueError } from "../core/errors.ts";
import { scope } from "../core/scope.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { copyInto } from "../ops/data/copy.ts";
import { toDType } from "../ops/data/conversion.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { ADAPTERS, OWN } from "./inner.ts";
import { kindOf } from "./lora-kinds.ts";
import {
  attach,
  detach,
  isAdapted,
  parametersIn,
  setState,
  type AdaptedLayer,
  type AdapterState,
  type LayerAdapter,
} from "./lora-layer.ts";
import { settingsOf, type LoraOptions, type LoraSettings } from "./lora-options.ts";
import { isNamed, ownModules, targetsOf } from "./lora-targets.ts";
import type { Module } from "./module.ts";
import type { StateDict } from "./module-state.ts";
import { Parameter, setRequiresGrad } from "./parameter.ts";

export type { LoraOptions, LoraTarget } from "./lora-options.ts";

function requireOutsideTrace(operation: string): void {
  if (tracer() === null) return;
  throw new TraceError({ operation, expected: "called outside of compiled functions", received: "a call inside of one" });
}

/** The layers of a module that have an adapter of a name. */
function layersWith(module: Module, adapter: string): Map<string, AdaptedLayer> {
  const found = new Map<string, AdaptedLayer>();
  for (const [name, layer] of module.namedModules())
    if (isAdapted(layer) && Object.hasOwn(layer[ADAPTERS], adapter)) found.set(name, layer);
  return found;
}

/** Only adapters learn, and what their settings name. */
function setLearned(operation: string, root: Module): void {
  const modules = ownModules(root);
  const states = new Set<AdapterState>();
  const layers: AdaptedLayer[] = [];
  for (const layer of modules.values()) {
    if (!isAdapted(layer)) continue;
    layers.push(layer);
    for (const { state } of Object.values(layer[ADAPTERS])) states.add(state);
  }
  const learned = new Set<Parameter>();
  for (const layer of layers)
    for (const name of Object.keys(layer[ADAPTERS])) for (const [, p] of parametersIn(layer, name)) learned.add(p);
  for (const { settings } of states) for (const p of extraParameters(modules, settings).values()) learned.add(p);
  const frozen = root.parameters().filter((p) => !learned.has(p));
  setRequiresGrad(operation, frozen, false);
  for (const p of frozen) p.grad = null;
  setRequiresGrad(operation, [...learned], true);
}

/** Biases and whole modules that learn with an adapter, by PEFT's names. */
function extraParameters(
  modules: ReadonlyMap<string, Module>,
  { bias, modulesToSave, name: adapter }: LoraSettings,
): Map<string, Parameter> {
  const found = new Map<string, Parameter>();
  const dotted = (name: string, field: string): string => (name === "" ? field : `${name}.${field}`);
  for (const [name, module] of modules) {
    const isOwn = isAdapted(module) && Object.hasOwn(module[ADAPTERS], adapter);
    for (const [field, member] of module.members()) {
      if (!(member instanceof Parameter) || field.startsWith("lora_embedding_")) continue;
      if (field === "bias" && (bias === "all" || (bias === "lora_only" && isOwn)))
        found.set(dotted(name, isAdapted(module) ? "base_layer.bias" : "bias"), member);
      else if (modulesToSave.some((wanted) => isWithin(name, wanted))) found.set(dotted(name, field), member);
    }
  }
  return found;
}

/** Whether a module is one of a name, or inside one. */
function isWithin(name: string, wanted: string): boolean {
  const parts = name.split(".");
  return parts.some((_, i) => isNamed(parts.slice(0, i + 1).join("."), wanted));
}

/** Adapters of one name in a module, as lora() gives them. The module holds their parameters; this is a way to reach them. */
export class Lora {
  /** The module whose layers are adapted. */
  readonly module: Module;
  /** The adapters' name. */
  readonly name: string;
  readonly #layers: ReadonlyMap<string, AdaptedLayer>;
  readonly #state: AdapterState;

  /** @internal */
  constructor(module: Module, name: string, layers: ReadonlyMap<string, AdaptedLayer>) {
    this.module = module;
    this.name = name;
    this.#layers = layers;
    this.#state = [...layers.values()][0]![ADAPTERS][name]!.state;
  }

  /** Names of the adapted layers. */
  get layers(): readonly string[] {
    return [...this.#layers.keys()];
  }

  /** @internal What io.peft writes. */
  get settings(): LoraSettings {
    return this.#state.settings;
  }

  /** @internal Rank and alpha of each layer, and whether its weight is [inputs, outputs]. */
  adapters(): ReadonlyMap<string, LayerAdapter> {
    return new Map([...this.#live()].map(([name, layer]) => [name, layer[ADAPTERS][this.name]!]));
  }

  /** @internal */
  adaptedLayers(): ReadonlyMap<string, Module> {
    return this.#live();
  }

  /** Whether the layers add what the adapters give. */
  get isEnabled(): boolean {
    return this.#state.isEnabled;
  }

  /** Whether the weights contain the adapters. */
  get isMerged(): boolean {
    return this.#state.isMerged;
  }

  #live(): ReadonlyMap<string, AdaptedLayer> {
    for (const [name, layer] of this.#layers)
      if (!isAdapted(layer) || layer[ADAPTERS][this.name]?.state !== this.#state)
        throw new ValueError("Lora", "adapter", "one that its module has", `${this.name}, which ${name || "the module"} has no more`);
    return this.#layers;
  }

  /** Parameters that learn with the adapters, by PEFT's names: "layers.0.q_proj.lora_A.weight", and biases and modules that the options name. */
  *namedParameters(): Generator<[string, Parameter]> {
    for (const [name, layer] of this.#live())
      for (const [field, p] of parametersIn(layer, this.name)) yield [name === "" ? field : `${name}.${field}`, p];
    yield* extraParameters(ownModules(this.module), this.#state.settings);
  }

  /** What an optimizer takes. */
  parameters(): Parameter[] {
    return [...new Set([...this.namedParameters()].map(([, p]) => p))];
  }

  /** The layers add what the adapters give: as they do from the start. */
  enable(): void {
    this.#live();
    if (!this.isEnabled) setState(this.#state, { isEnabled: true });
  }

  /** The module is as it was without these adapters. Throws ValueError while they are merged. */
  disable(): void {
    this.#live();
    if (this.isMerged) throw new ValueError("Lora.disable", "adapter", "not merged", this.name, "unmerge() comes first.");
    if (this.isEnabled) setState(this.#state, { isEnabled: false });
  }

  /**
   * Adds the adapters to the weights, in float32, so that the layers take no longer than without. They do not learn while they are merged.
   * Throws UnsupportedError for weights that are packed, tied to another layer's or parametrized, and for convolutions in groups; ValueError where
   * adapters have a bias and the layer has none. Nothing is merged then.
   */
  merge(): void {
    requireOutsideTrace("Lora.merge");
    const layers = this.#live();
    if (this.isMerged) return;
    const owners = ownersOf(this.module);
    for (const [name, layer] of layers) requireMergeable(name, layer, this.name, owners);
    this.#addToWeights(1);
    setState(this.#state, { isMerged: true });
  }

  /** Subtracts the adapters from the weights again: they are the earlier ones within rounding. */
  unmerge(): void {
    requireOutsideTrace("Lora.unmerge");
    this.#live();
    if (!this.isMerged) return;
    this.#addToWeights(-1);
    setState(this.#state, { isMerged: false });
  }

  #addToWeights(sign: number): void {
    noGrad(() => {
      for (const layer of this.#layers.values())
        scope(() => {
          const { scale } = layer[ADAPTERS][this.name]!;
          const { weight, bias } = layer as unknown as { readonly weight: Tensor; readonly bias?: Tensor | null };
          const added = mul(kindOf(layer)!.delta(layer, layer, this.name), sign * scale);
          copyInto("Lora.merge", weight, add(toDType(weight, "float32"), added));
          const own = layer.lora_B?.[this.name]?.bias ?? null;
          if (own !== null) copyInto("Lora.merge", bias!, add(toDType(bias!, "float32"), mul(toDType(own, "float32"), sign * scale)));
        });
    });
  }

  /** Takes the adapters away and frees them: the layers are as before, or with what is merged. Weights stay frozen: module.requiresGrad_() lets them learn. */
  remove(): void {
    requireOutsideTrace("Lora.remove");
    for (const layer of this.#live().values()) detach(layer, this.name);
  }

  /** What a PEFT file has of the adapters, without its prefix: the tensors share the module's storage. */
  stateDict(): StateDict {
    const state: StateDict = {};
    for (const [name, p] of this.namedParameters()) state[name] = new Tensor(p.storage, p.desc, p.offset);
    return state;
  }

  /**
   * Copies values into the adapters, by the names of stateDict(). Throws ValueError for names that are missing or unknown, and while they are merged,
   * ShapeError for other shapes. Nothing is copied then.
   */
  loadStateDict(state: Readonly<StateDict>): void {
    if (this.isMerged) throw new ValueError("Lora.loadStateDict", "adapter", "not merged", this.name, "unmerge() comes first.");
    const own = new Map(this.namedParameters());
    const missing = [...own.keys()].filter((name) => !Object.hasOwn(state, name));
    const unknown = Object.keys(state).filter((name) => !own.has(name));
    if (missing.length + unknown.length > 0) {
      const parts = [
        ...(missing.length > 0 ? [`without ${missing.join(", ")}`] : []),
        ...(unknown.length > 0 ? [`with ${unknown.join(", ")}`] : []),
      ];
      throw new ValueError("Lora.loadStateDict", "state", "of the adapters' names", `one ${parts.join(" and ")}`);
    }
    for (const [name, p] of own)
      if (!sameShape(p.shape, state[name]!.shape))
        throw new ShapeError("Lora.loadStateDict", name, showShape(p.shape), state[name]!.describe());
    for (const [name, p] of own) copyInto("Lora.loadStateDict", p, state[name]!);
  }

  /** The adapters' name and layers. */
  toString(): string {
    return `Lora(${this.name}, ${this.#layers.size} layers)`;
  }
}

/** How many modules hold each parameter. */
function ownersOf(root: Module): ReadonlyMap<Parameter, number> {
  const owners = new Map<Parameter, number>();
  for (const module of root.modules())
    for (const [, member] of module.members()) if (member instanceof Parameter) owners.set(member, (owners.get(member) ?? 0) + 1);
  return owners;
}

function requireMergeable(name: string, layer: AdaptedLayer, adapter: string, owners: ReadonlyMap<Parameter, number>): void {
  const refuse = (expected: string, received: string, hint?: string): never => {
    throw new UnsupportedError({ operation: "Lora.merge", argument: name || "the module", expected, received, hint });
  };
  // It says what is wrong with the layer's kind.
  noGrad(() => scope(() => void kindOf(layer)!.delta(layer, layer, adapter)));
  const { weight } = layer as unknown as { readonly weight: unknown };
  const field = [...layer.members()].find(([, member]) => member === weight);
  if (!(weight instanceof Parameter) || field === undefined)
    return void refuse("a layer whose weight is a parameter", "a weight that is computed");
  if (owners.get(weight)! > 1)
    refuse("a layer with a weight of its own", "one that another layer has too", "Give the other layer a copy of the weight first.");
  const { bias } = layer as unknown as { readonly bias?: unknown };
  if ((layer.lora_B?.[adapter]?.bias ?? null) !== null && !(bias instanceof Parameter))
    refuse("a layer with a bias", "none", "Its adapter has a bias.");
}

/** Adapters of these layers, with ranks of their own where they are named. @package */
export function adapt(
  operation: string,
  module: Module,
  layers: ReadonlyMap<string, Module>,
  settings: LoraSettings,
  ranks?: ReadonlyMap<string, number>,
): Lora {
  requireOutsideTrace(operation);
  const { name } = settings;
  const before = layersWith(module, name);
  if (before.size > 0) throw new ValueError(operation, "name", "one that the module has no adapters of", name, "remove() takes them away.");
  for (const wanted of settings.modulesToSave)
    if (![...ownModules(module).keys()].some((each) => isNamed(each, wanted)))
      throw new ValueError(operation, "modulesToSave", "names of modules", wanted);
  for (const [each, layer] of layers)
    if (Object.hasOwn(layer, "forward") && layer[OWN].hooks?.isInstalled !== true)
      throw new ValueError(operation, "target", "of layers without a forward() of their own", each);
  const state: AdapterState = { settings, isEnabled: true, isMerged: false };
  const made: AdaptedLayer[] = [];
  try {
    for (const [each, layer] of layers) {
      attach(operation, each, layer, state, ranks?.get(each));
      made.push(layer as AdaptedLayer);
    }
  } catch (error) {
    for (const layer of made) detach(layer, name);
    throw error;
  }
  setLearned(operation, module);
  return new Lora(module, name, layers as ReadonlyMap<string, AdaptedLayer>);
}

/**
 * Gives layers of a module adapters of low rank: a layer's result is then W x + (alpha / rank) B A x, where A and B learn and all else is frozen. The layers stay the same
 * objects with the same names in the state, to which `lora_A.default.weight` and so on are added, as PEFT has them. Embeddings, convolutions and layers with
 * packed weights can be adapted too; in training, `dropout` is applied to what A gets.
 *
 * Throws ValueError for options out of their range, for a target that chooses nothing, and for a name that the module has adapters of; UnsupportedError for layers of
 * other kinds; TraceError inside compiled functions. io.peft reads and writes PEFT's files. Reference: peft.get_peft_model, peft.LoraConfig; Hu et al., LoRA.
 *
 * `const adapters = dx.nn.lora(model, { rank: 8, alpha: 16, target: ["q_proj", "v_proj"] });`
 */
export function lora(module: Module, options: LoraOptions = {}): Lora {
  const settings = settingsOf("lora", options);
  const layers = targetsOf("lora", module, options.target ?? "all-linear", options.exclude ?? []);
  return adapt("lora", module, layers, settings);
}

/** The adapters of a name that a module has, for example a clone or one that was given them elsewhere. Throws ValueError where it has none. */
export function loraOf(module: Module, name = "default"): Lora {
  const layers = layersWith(module, name);
  if (layers.size === 0) throw new ValueError("loraOf", "name", "one that the module has adapters of", name);
  return new Lora(module, name, layers);
}
