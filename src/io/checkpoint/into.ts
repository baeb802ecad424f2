/** load() with `into`: loads a checkpoint into existing objects. */
import { isForeign } from "../../core/copies.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { sameShape, showShape } from "../../core/shape.ts";
import { partOf, type TensorPart } from "../../core/tensor-part.ts";
import { Tensor } from "../../core/tensor.ts";
import { Module } from "../../nn/module.ts";
import { copyInto } from "../../ops/data/copy.ts";
import { Generator, type GeneratorState } from "../../ops/random/random.ts";
import { Optimizer } from "../../optim/optimizer.ts";
import type { TransferOptions } from "../parts.ts";
import { entriesIn, stateIn } from "./decode.ts";
import { isPlainObject } from "./encode.ts";
import type { Json } from "./format.ts";
import type { OpenCheckpoint } from "./open.ts";
import { Reader, type DeviceOf, type PartFor, type TensorOutline } from "./read.ts";

/** What loads a state of its own. */
interface Loading {
  loadStateDict(state: unknown, options?: object): unknown;
}

const canLoad = (value: unknown): value is Loading =>
  ((typeof value === "object" && value !== null) || typeof value === "function") &&
  "loadStateDict" in value &&
  typeof value.loadStateDict === "function";

/** @internal The key of a function that tells which parameters' state an optimizer takes, by their numbers: the others' is not read. */
export const TAKES = Symbol("takes");

/** An optimizer of a part of its parameters. */
interface PartOptimizer {
  readonly paramGroups: Optimizer["paramGroups"];
  [TAKES](parameter: string): boolean;
}

const isPartOptimizer = (value: object): value is PartOptimizer => TAKES in value;

interface Task {
  readonly target: Loading | Generator | Tensor;
  readonly json: Json;
  readonly path: string;
}

const join = (path: string, key: string | number): string => (path === "" ? String(key) : `${path}.${key}`);

/** The names of a module's state with its tensors. */
const tensorsOf = (module: Module): ReadonlyMap<string, Tensor> => new Map(module.stateTensors());

/** Which part of a saved tensor another one takes: of a whole tensor, where it is a rank's part. */
function partFrom(own: Tensor | undefined, shape: readonly number[]): TensorPart | undefined {
  const part = own === undefined ? undefined : partOf(own);
  return part !== undefined && sameShape(part.shape, shape) ? part : undefined;
}

/** The state without that of parameters that an optimizer does not have. */
function taken(json: Json, optimizer: PartOptimizer): Json {
  const inner = stateIn(json)?.state ?? json;
  const kept = (entries: readonly (readonly [string, Json])[]): Json => ({ $object: entries.filter(([key]) => optimizer[TAKES](key)) });
  return {
    $object: (entriesIn(inner) ?? []).map(([key, item]) => [key, key === "state" ? kept(entriesIn(item) ?? []) : item] as const),
  };
}

export interface IntoOptions extends TransferOptions {
  readonly strict: boolean;
  readonly assign: boolean | undefined;
}

/** What `into` has not taken. */
export interface Remains {
  readonly state: unknown;
  readonly missing: readonly string[];
  readonly unexpected: readonly string[];
  readonly unread: readonly string[];
}

export class IntoLoader {
  readonly #checkpoint: OpenCheckpoint;
  readonly #deviceOf: DeviceOf;
  readonly #options: IntoOptions;
  readonly #tasks: Task[] = [];
  readonly #missing: string[] = [];
  readonly #unexpected: string[] = [];
  readonly #unread: string[] = [];

  constructor(checkpoint: OpenCheckpoint, deviceOf: DeviceOf, options: IntoOptions) {
    this.#checkpoint = checkpoint;
    this.#deviceOf = deviceOf;
    this.#options = options;
  }

  async load(into: unknown): Promise<Remains> {
    const rest = this.#collect(this.#checkpoint.state, into, "") ?? {};
    this.#check();
    const reader = new Reader(this.#checkpoint, this.#options);
    reader.want(rest, "", this.#deviceOf);
    await reader.read();
    try {
      const state = reader.value(rest);
      for (const task of this.#tasks) await this.#run(task);
      return { state, missing: this.#missing, unexpected: this.#unexpected, unread: this.#unread };
    } catch (error) {
      reader.dispose();
      throw error;
    } finally {
      reader.release();
    }
  }

  /** Finds the targets. Gives what has none; undefined where nothing is left. */
  #collect(json: Json, target: unknown, path: string): Json | undefined {
    if (isForeign(target)) throw this.#refuse(path, target);
    if (target instanceof Generator || target instanceof Tensor || canLoad(target)) {
      this.#tasks.push({ target, json, path });
      return undefined;
    }
    const entries =
      stateIn(json) === null ? (Array.isArray(json) ? json.map((item: Json, i) => [String(i), item] as const) : entriesIn(json)) : null;
    if (typeof target !== "object" || target === null || !(Array.isArray(target) || isPlainObject(target)))
      throw this.#refuse(path, target);
    const targets = new Map<string, unknown>(Object.entries(target));
    const rest: (readonly [string, Json])[] = [];
    for (const [key, item] of entries ?? []) {
      const inner = join(path, key);
      if (targets.has(key)) {
        const left = this.#collect(item, targets.get(key), inner);
        if (left !== undefined) rest.push([key, left]);
      } else if (stateIn(item) === null) rest.push([key, item]);
      else this.#unread.push(inner);
    }
    const known = new Set((entries ?? []).map(([key]) => key));
    for (const key of targets.keys()) if (!known.has(key)) this.#missing.push(join(path, key));
    if (rest.length === 0 && path !== "") return undefined;
    return { $object: rest };
  }

  #refuse(path: string, value: unknown): DTypeError {
    const what = "a module or another object with loadStateDict(), a generator, a tensor, or objects and lists of these";
    return new DTypeError("load", path === "" ? "into" : `into.${path}`, what, value, "Plain values are in the result's state.");
  }

  /** Names and shapes of modules and tensors, before anything is read. */
  #check(): void {
    const missing = [...this.#missing];
    const unexpected: string[] = [];
    const wrong: string[] = [];
    const compare = (name: string, own: Tensor, saved: readonly number[]): void => {
      if (!sameShape(own.shape, saved) && partFrom(own, saved) === undefined)
        wrong.push(`${name} ${showShape(partOf(own)?.shape ?? own.shape)} got ${showShape(saved)}`);
    };
    const reader = new Reader(this.#checkpoint, {});
    for (const { target, json, path } of this.#tasks) {
      if (target instanceof Tensor) {
        const outlines = reader.outlines(json, path);
        if (outlines.length !== 1)
          throw new DTypeError(
            "load",
            `into.${path}`,
            "saved as a tensor",
            reader.outlines(json, path).length === 0 ? "another value" : "several",
          );
        compare(path, target, outlines[0]!.shape);
      } else if (target instanceof Module && isPlainLoad(target)) {
        const own = tensorsOf(target);
        const saved = new Map(this.#savedTensors(reader, json, path));
        for (const name of own.keys()) if (!saved.has(name)) missing.push(join(path, name));
        for (const [name, outline] of saved) {
          const mine = own.get(name);
          if (mine === undefined) unexpected.push(join(path, name));
          else compare(join(path, name), mine, outline.shape);
        }
      }
    }
    if (this.#options.strict && missing.length + unexpected.length > 0) {
      const parts = [
        missing.length > 0 ? `without ${missing.join(", ")}` : "",
        unexpected.length > 0 ? `with unknown ${unexpected.join(", ")}` : "",
      ].filter((part) => part !== "");
      throw new ValueError(
        "load",
        this.#checkpoint.path,
        "of the names that `into` has",
        `one ${parts.join(" and ")}`,
        "Pass strict: false to load what fits.",
      );
    }
    if (wrong.length > 0) throw new ShapeError("load", this.#checkpoint.path, "of the shapes that `into` has", wrong.join("; "));
  }

  /** The tensors of a module's saved state by name. */
  *#savedTensors(reader: Reader, json: Json, path: string): globalThis.Generator<readonly [string, TensorOutline]> {
    const state = stateIn(json)?.state ?? json;
    for (const [name, item] of entriesIn(state) ?? []) for (const outline of reader.outlines(item, join(path, name))) yield [name, outline];
  }

  async #run({ target, json: all, path }: Task): Promise<void> {
    const reader = new Reader(this.#checkpoint, this.#options);
    const assign = target instanceof Module && this.#isAssigned(target);
    const json = isPartOptimizer(target) ? taken(all, target) : all;
    reader.want(json, path, this.#deviceFor(target, path, assign), this.#partFor(target, path));
    await reader.read();
    try {
      const state = reader.value(json);
      if (target instanceof Tensor) copyInto("load", target, state as Tensor);
      else if (target instanceof Generator) target.setState(state as GeneratorState);
      else await this.#loadStateDict(target, state, path, assign);
    } finally {
      // Others may keep the tensors that they get.
      if (!canLoad(target) || isPlainLoad(target)) reader.dispose();
      else reader.release();
    }
  }

  async #loadStateDict(target: Loading, state: unknown, path: string, assign: boolean): Promise<void> {
    const options = target instanceof Module ? { strict: this.#options.strict, assign } : undefined;
    const found = await target.loadStateDict(state, options);
    if (typeof found !== "object" || found === null) return;
    const { missing, unexpected } = found as { readonly missing?: unknown; readonly unexpected?: unknown };
    if (Array.isArray(missing)) this.#missing.push(...missing.map((name) => join(path, String(name))));
    if (Array.isArray(unexpected)) this.#unexpected.push(...unexpected.map((name) => join(path, String(name))));
  }

  /** A module that was made on meta takes the tensors themselves. */
  #isAssigned(module: Module): boolean {
    return this.#options.assign ?? [...tensorsOf(module).values()].some(({ device }) => !device.hasElements);
  }

  /** Where the tensors go: to the device of those that take their values. */
  #deviceFor(target: Task["target"], path: string, assign: boolean): DeviceOf {
    if (target instanceof Tensor) return () => target.device;
    if (target instanceof Module && !assign) {
      const own = tensorsOf(target);
      return (outline) => own.get(outline.name.slice(path === "" ? 0 : path.length + 1))?.device ?? this.#deviceOf(outline);
    }
    if (target instanceof Optimizer || isPartOptimizer(target)) {
      const find = parameterFinder(target, path);
      return (outline) => {
        const device = find(outline)?.parameter?.device;
        return device?.hasElements === true ? device : this.#deviceOf(outline);
      };
    }
    return this.#deviceOf;
  }

  /** Which part of each tensor they take: those that fullyShard() has made parts. */
  #partFor(target: Task["target"], path: string): PartFor | undefined {
    if (target instanceof Tensor) return ({ shape }) => partFrom(target, shape);
    if (target instanceof Module) {
      const own = tensorsOf(target);
      return ({ name, shape }) => partFrom(own.get(name.slice(path === "" ? 0 : path.length + 1)), shape);
    }
    if (!(target instanceof Optimizer)) return undefined;
    const find = parameterFinder(target, path);
    const { counterNames } = target;
    return (outline) => {
      const found = find(outline);
      return found === null || counterNames.has(found.name) ? undefined : partFrom(found.parameter, outline.shape);
    };
  }
}

/** Finds the parameter whose state a tensor is, and the state's name; null for others. */
function parameterFinder({ paramGroups }: Pick<Optimizer, "paramGroups">, path: string) {
  const params = paramGroups.flatMap((group) => group.params as readonly Tensor[]);
  const prefix = join(path, "state.");
  return ({ name }: TensorOutline): { readonly parameter: Tensor | undefined; readonly name: string } | null => {
    const [, index, inner] = (name.startsWith(prefix) && /^(\d+)\.(.*)$/s.exec(name.slice(prefix.length))) || [];
    return index === undefined ? null : { parameter: params[Number(index)], name: inner! };
  };
}

/** Whether a target loads as the library's classes do: by the names that are there, and keeping none of the tensors. */
const isPlainLoad = (target: object): boolean =>
  isPartOptimizer(target) ||
  (target instanceof Module && target.loadStateDict === Module.prototype.loadStateDict && !target.loadsAsAWhole) ||
  (target instanceof Optimizer && target.loadStateDict === Optimizer.prototype.loadStateDict);
