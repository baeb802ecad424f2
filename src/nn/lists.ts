/** ModuleList, ModuleDict, ParameterList, ParameterDict. */
import { ValueError } from "../core/errors.ts";
import { INNER } from "./inner.ts";
import { Module } from "./module.ts";
import type { Parameter } from "./parameter.ts";

/** What lists have in common: members "0", "1", …; they are no layers. */
abstract class List<T extends Module | Parameter> extends Module {
  /** @internal */ readonly [INNER]: T[];

  constructor(items: Iterable<T> = []) {
    super();
    this[INNER] = [...items];
  }

  /** The items by number, "0", "1", … */
  override *members(): Generator<[string, T]> {
    for (const [i, item] of this[INNER].entries()) yield [`${i}`, item];
  }

  /** Number of items. */
  override get length(): number {
    return this[INNER].length;
  }

  /** The item at an index; from the end if negative. */
  at(index: number): T {
    const item = this[INNER].at(index);
    if (item === undefined) throw new ValueError(`${this.constructor.name}.at`, "index", `in [${-this.length}, ${this.length - 1}]`, index);
    return item;
  }

  /** Adds an item at the end. Returns the list. */
  append(item: T): this {
    this[INNER].push(item);
    return this;
  }

  [Symbol.iterator](): Iterator<T> {
    return this[INNER][Symbol.iterator]();
  }

  forward(): never {
    throw new ValueError(this.constructor.name, "forward", "called on its items", "a call of the list itself");
  }
}

/** Modules by index. Reference: torch.nn.ModuleList. */
export class ModuleList<T extends Module = Module> extends List<T> {}
/** Parameters by index. Reference: torch.nn.ParameterList. */
export class ParameterList extends List<Parameter> {}

abstract class Dict<T extends Module | Parameter> extends Module {
  /** @internal */ readonly [INNER]: Map<string, T>;

  constructor(items: Readonly<Record<string, T>> | Iterable<readonly [string, T]> = {}) {
    super();
    this[INNER] = new Map();
    for (const [name, item] of Symbol.iterator in items ? items : Object.entries(items)) this.set(name, item);
  }

  /** The items by name. */
  override *members(): Generator<[string, T]> {
    yield* this[INNER];
  }

  /** Number of items. */
  get size(): number {
    return this[INNER].size;
  }

  /** Whether there is an item of this name. */
  has(name: string): boolean {
    return this[INNER].has(name);
  }

  /** The item of a name. Throws ValueError where there is none. */
  get(name: string): T {
    const item = this[INNER].get(name);
    if (item === undefined)
      throw new ValueError(`${this.constructor.name}.get`, "name", `one of ${[...this[INNER].keys()].join(", ")}`, name);
    return item;
  }

  /** Sets the item of a name. Returns the dictionary. Throws ValueError for an empty name or one with a dot. */
  set(name: string, item: T): this {
    if (name === "" || name.includes("."))
      throw new ValueError(`${this.constructor.name}.set`, "name", "not empty and without a dot", name);
    this[INNER].set(name, item);
    return this;
  }

  /** Removes an item. Returns whether there was one. */
  delete(name: string): boolean {
    return this[INNER].delete(name);
  }

  /** The items' names, in order. */
  keys(): string[] {
    return [...this[INNER].keys()];
  }

  [Symbol.iterator](): Iterator<[string, T]> {
    return this[INNER][Symbol.iterator]();
  }

  /** Dictionaries are not called: throws ValueError. Call an item: `dict.get(name)(x)`. */
  forward(): never {
    throw new ValueError(this.constructor.name, "forward", "called on its items", "a call of the dictionary itself");
  }
}

/** Modules by name. Reference: torch.nn.ModuleDict. */
export class ModuleDict<T extends Module = Module> extends Dict<T> {}
/** Parameters by name. Reference: torch.nn.ParameterDict. */
export class ParameterDict extends Dict<Parameter> {}

export const moduleList = <T extends Module>(items: Iterable<T> = []): ModuleList<T> => new ModuleList(items);
export const parameterList = (items: Iterable<Parameter> = []): ParameterList => new ParameterList(items);
export const moduleDict = <T extends Module>(items: Readonly<Record<string, T>> = {}): ModuleDict<T> => new ModuleDict(items);
export const parameterDict = (items: Readonly<Record<string, Parameter>> = {}): ParameterDict => new ParameterDict(items);
