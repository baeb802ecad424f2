/** A layers model: Keras's configuration, whose layers are called one after the other. */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import type { ModelMessage } from "../../onnx/format/proto.ts";
import { GraphBuilder, type Value, type Weight } from "./graph-builder.ts";
import { isRecord, listOf, recordOf, type Json } from "./json.ts";
import { LayerCall, LAYERS } from "./keras-layers.ts";

const OPERATION = "tfjs.load";

/** Models that are layers of others. */
const NESTED = new Set(["Model", "Functional", "Sequential"]);
const MAX_DEPTH = 100;

interface Layer {
  readonly name: string;
  readonly className: string;
  readonly config: Json;
  /** For each call of the layer, what it gets: layer, its call, and which of its results. */
  readonly calls: readonly (readonly (readonly [name: string, call: number, result: number])[])[];
}

/** Weights by the ends of their names: "dense/kernel" is also "sequential/dense/kernel", and "lstm/kernel" may have another part in between. */
class WeightNames {
  readonly #weights: ReadonlyMap<string, Weight>;
  readonly #found = new Map<string, Weight | null>();

  constructor(weights: ReadonlyMap<string, Weight>) {
    this.#weights = weights;
    const add = (key: string, weight: Weight): void => {
      const other = this.#found.get(key);
      this.#found.set(key, other === undefined || other === weight ? weight : null);
    };
    for (const [name, weight] of weights) {
      const parts = name.replace(/:0$/, "").split("/");
      for (let i = 0; i < parts.length - 1; i++) {
        add(parts.slice(i).join("/"), weight);
        if (parts.length - i > 2) add([...parts.slice(i, -2), parts.at(-1)!].join("/"), weight);
      }
    }
  }

  /** Null where no weight, or more than one, has such a name. */
  get(path: string): Weight | null {
    return this.#weights.get(path) ?? this.#found.get(path) ?? null;
  }
}

function modelConfigOf(source: string, topology: unknown): { readonly className: string; readonly config: unknown } {
  const outer = recordOf(OPERATION, source, "modelTopology", topology);
  const model = isRecord(outer["model_config"]) ? outer["model_config"] : outer;
  const className = model["class_name"];
  if (typeof className !== "string" || !NESTED.has(className))
    throw new FormatError(OPERATION, source, "a topology of class Model, Functional or Sequential", JSON.stringify(className ?? null));
  return { className, config: model["config"] };
}

/** For models that are layers: the number of their first call. Keras counts their own inputs as a call before it, but early files do not. */
function firstCalls(
  layers: readonly Layer[],
  ends: readonly (readonly [name: string, call: number, result: number])[],
): Map<string, number> {
  const firsts = new Map(layers.filter((l) => NESTED.has(l.className)).map((l) => [l.name, 1]));
  for (const [name, call] of [...layers.flatMap((l) => l.calls.flat()), ...ends]) if (call === 0 && firsts.has(name)) firsts.set(name, 0);
  return firsts;
}

class LayersModel {
  readonly #source: string;
  readonly #b = new GraphBuilder();
  readonly #names: WeightNames;

  constructor(source: string, weights: ReadonlyMap<string, Weight>) {
    this.#source = source;
    this.#names = new WeightNames(weights);
  }

  message(className: string, config: unknown, wanted: readonly string[] | undefined): ModelMessage {
    this.#requireKnown(className, config, new Map(), 0);
    const made = new Map<string, Value>();
    const outputs = this.#model(className, config, null, "", made);
    const chosen =
      wanted === undefined
        ? outputs.map((value) => ({ name: value.label, value }))
        : wanted.map((name) => {
            const value = made.get(name);
            if (value === undefined)
              throw new FormatError(OPERATION, this.#source, `a model with the layer ${name}`, [...made.keys()].slice(-5).join(", "));
            return { name, value };
          });
    return this.#b.finish(chosen, {});
  }

  #bad(expected: string, received: string): FormatError {
    return new FormatError(OPERATION, this.#source, expected, received);
  }

  #layersOf(config: unknown): Layer[] {
    const list = listOf(OPERATION, this.#source, "layers", isRecord(config) ? config["layers"] : config);
    return list.map((json) => {
      const layer = recordOf(OPERATION, this.#source, "layer", json);
      const own = recordOf(OPERATION, this.#source, "config", layer["config"] ?? {});
      const className = layer["class_name"];
      const name = layer["name"] ?? own["name"];
      if (typeof className !== "string" || typeof name !== "string")
        throw this.#bad("with layers of class_name and name", JSON.stringify(layer).slice(0, 80));
      return { name, className, config: own, calls: this.#callsOf(name, layer["inbound_nodes"] ?? []) };
    });
  }

  #callsOf(name: string, nodes: unknown): Layer["calls"] {
    return listOf(OPERATION, this.#source, "inbound_nodes", nodes).map((node) => {
      if (isRecord(node)) throw new UnsupportedError({ operation: OPERATION, argument: this.#source, expected: "a model of Keras 2", received: "inbound_nodes of Keras 3" }); // prettier-ignore
      return listOf(OPERATION, this.#source, `inbound_nodes of ${name}`, node).map((item) => {
        const [layer, call, result] = listOf(OPERATION, this.#source, `inbound_nodes of ${name}`, item);
        if (typeof layer !== "string" || !Number.isSafeInteger(call) || !Number.isSafeInteger(result))
          throw this.#bad(`with inbound_nodes of ${name}`, JSON.stringify(item));
        return [layer, call as number, result as number] as const;
      });
    });
  }

  /** Throws for layers that are not known, all at once. */
  #requireKnown(className: string, config: unknown, unknown: Map<string, string[]>, depth: number): void {
    if (depth > MAX_DEPTH) throw this.#bad(`models nested at most ${MAX_DEPTH} deep`, "deeper ones");
    for (const layer of this.#layersOf(config)) {
      if (NESTED.has(layer.className)) this.#requireKnown(layer.className, layer.config, unknown, depth + 1);
      else if (layer.className !== "InputLayer" && !Object.hasOwn(LAYERS, layer.className))
        unknown.set(layer.className, [...(unknown.get(layer.className) ?? []), layer.name]);
    }
    if (depth > 0 || unknown.size === 0) return;
    const text = [...unknown].map(([name, layers]) => `${name} (${layers.length}: ${layers.slice(0, 3).join(", ")})`).join(", ");
    throw new UnsupportedError({ operation: OPERATION, argument: this.#source, expected: "of layers that the reader has", received: text });
  }

  /** A model's results for inputs, or for inputs of the whole where there are none. */
  #model(className: string, config: unknown, inputs: readonly Value[] | null, path: string, made: Map<string, Value>): readonly Value[] {
    const layers = this.#layersOf(config);
    return className === "Sequential" ? this.#sequence(layers, inputs, path, made) : this.#functional(layers, config, inputs, path, made);
  }

  #sequence(layers: readonly Layer[], inputs: readonly Value[] | null, path: string, made: Map<string, Value>): readonly Value[] {
    let values = inputs;
    for (const layer of layers) {
      if (layer.className === "InputLayer") values ??= [this.#input(layer, layer.name)];
      else {
        values ??= [this.#firstInput(layer)];
        values = this.#call(layer, values, path, made);
      }
      if (layer.className !== "InputLayer") made.set(path + layer.name, values[0]!);
    }
    if (values === null) throw this.#bad("with layers", "none");
    return values;
  }

  /** The input of a model whose first layer states its shape, which may be a model itself. */
  #firstInput(layer: Layer): Value {
    if (!NESTED.has(layer.className)) return this.#input(layer, `${layer.name}_input`);
    const inner = this.#layersOf(layer.config);
    const first = inner.find((l) => l.className === "InputLayer") ?? inner[0];
    if (first === undefined) throw this.#bad("with layers", "none");
    return first.className === "InputLayer" ? this.#input(first, first.name) : this.#firstInput(first);
  }

  #input({ name, config }: Layer, label: string): Value {
    const shape = config["batch_input_shape"] ?? config["batch_shape"];
    if (!Array.isArray(shape) || !shape.every((n) => n === null || (Number.isSafeInteger(n) && n >= 0)))
      throw this.#bad(`with batch_input_shape of ${name}`, JSON.stringify(shape ?? null));
    const dtype = config["dtype"] ?? "float32";
    if (dtype !== "float32" && dtype !== "int32") throw new UnsupportedError({ operation: OPERATION, argument: `${this.#source}: ${name}`, expected: "float32 or int32", received: JSON.stringify(dtype) }); // prettier-ignore
    return this.#b.input(label, dtype, shape as (number | null)[]);
  }

  #functional(
    layers: readonly Layer[],
    config: unknown,
    inputs: readonly Value[] | null,
    path: string,
    made: Map<string, Value>,
  ): readonly Value[] {
    const byName = new Map(layers.map((layer) => [layer.name, layer]));
    const record = recordOf(OPERATION, this.#source, "config", config);
    const ends = (name: string): readonly (readonly [string, number, number])[] => {
      const list = listOf(OPERATION, this.#source, name, record[name]);
      const all = typeof list[0] === "string" ? [list] : list;
      return this.#callsOf(name, [all])[0]!;
    };
    const results = new Map<string, readonly Value[]>();
    const firsts = firstCalls(layers, ends("output_layers"));
    ends("input_layers").forEach(([name], i) => {
      const layer = byName.get(name);
      if (layer === undefined) throw this.#bad("with all layers that it names", `none called ${name}`);
      const own = inputs?.[i];
      results.set(`${name}:0`, [own ?? this.#input(layer, name)]);
    });
    // Depth first without recursion: a model may have thousands of layers in a row.
    const resolve = (target: string, index: number): readonly Value[] => {
      const pending: (readonly [string, number])[] = [[target, index]];
      const open = new Set<string>();
      while (pending.length > 0) {
        const [name, call] = pending.at(-1)!;
        const key = `${name}:${call}`;
        if (results.has(key)) {
          pending.pop();
          continue;
        }
        const layer = byName.get(name);
        const sources = layer?.calls[call - (firsts.get(name) ?? 0)];
        if (layer === undefined || sources === undefined)
          throw this.#bad("with all layers that it names", `none called ${name} with a call ${call}`);
        const missing = sources.filter(([source, at]) => !results.has(`${source}:${at}`));
        if (missing.length > 0) {
          if (open.has(key)) throw this.#bad("layers without a circle", `one through ${name}`);
          open.add(key);
          for (const [source, at] of missing) pending.push([source, at]);
          continue;
        }
        const values = sources.map(([source, at, result]) => this.#resultOf(results.get(`${source}:${at}`)!, source, result));
        const own = this.#call(layer, values, path, made);
        results.set(key, own);
        if (!made.has(path + name)) made.set(path + name, own[0]!);
        pending.pop();
      }
      return results.get(`${target}:${index}`)!;
    };
    return ends("output_layers").map(([name, call, result]) => this.#resultOf(resolve(name, call), name, result));
  }

  #resultOf(values: readonly Value[], name: string, result: number): Value {
    const value = values[result];
    if (value === undefined) throw this.#bad(`with a result ${result} of ${name}`, `${values.length}`);
    return value;
  }

  #call(layer: Layer, inputs: readonly Value[], path: string, made: Map<string, Value>): readonly Value[] {
    if (inputs.length === 0) throw this.#bad(`with inputs of ${layer.name}`, "none");
    if (NESTED.has(layer.className)) return this.#model(layer.className, layer.config, inputs, `${path}${layer.name}/`, made);
    const run = LAYERS[layer.className]!;
    const label = path + layer.name;
    const find = (suffix: string): Weight | null => this.#names.get(`${label}/${suffix}`) ?? this.#names.get(`${layer.name}/${suffix}`);
    const call = new LayerCall({ operation: OPERATION, source: this.#source, b: this.#b }, { label, className: layer.className, config: layer.config }, inputs, find); // prettier-ignore
    const values = run(call);
    const all = Array.isArray(values) ? (values as readonly Value[]) : [values as Value];
    return all.map((value, i) => (i === 0 ? { ...value, label } : value));
  }
}

/** The graph of a layers model. outputs: names of layers whose results it gives; default: what the file says. */
export function layersModel(
  source: string,
  topology: unknown,
  weights: ReadonlyMap<string, Weight>,
  outputs: readonly string[] | undefined,
): ModelMessage {
  const { className, config } = modelConfigOf(source, topology);
  return new LayersModel(source, weights).message(className, config, outputs);
}
