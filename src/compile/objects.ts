/**
 * The arrays, plain objects and Maps among a call's arguments. The function gets these objects themselves, holding traced tensors instead of the real
 * ones. Its changes are taken out when it returns, and written back when the program has run.
 */
import { TraceError } from "../core/errors.ts";
import { PARTS, WITH_PARTS, isComposite } from "../core/structure.ts";
import { Tensor } from "../core/tensor.ts";
import { requireDepth, isContainer, partsOf, tensorsIn, type Container } from "./arguments.ts";

/** Stands in what a run gave for an object among the arguments, by its number. */
class Argument {
  readonly index: number;
  constructor(index: number) {
    this.index = index;
  }
}

/** The content of an object. keys: null for arrays, which may have holes. */
interface Content {
  readonly keys: readonly unknown[] | null;
  readonly values: readonly unknown[];
}

/** What the function made of an object among the arguments. */
export interface Change extends Content {
  readonly index: number;
}

/** What a run returned and changed: with traced tensors, and with Argument in place of objects among the arguments. */
export interface Outcome {
  readonly result: unknown;
  readonly changes: readonly Change[];
}

function contentOf(c: Container): Content {
  if (Array.isArray(c)) return { keys: null, values: c.slice() };
  if (c instanceof Map) return { keys: [...c.keys()], values: [...c.values()] };
  const keys: string[] = [];
  const values: unknown[] = [];
  // Getters are none of it: they may give another value each time.
  for (const k of Object.keys(c)) {
    const found = Object.getOwnPropertyDescriptor(c, k)!;
    if (!("value" in found)) continue;
    keys.push(k);
    values.push(found.value);
  }
  return { keys, values };
}

/** Fields that are getters. */
const gettersOf = (c: Container, { keys }: Content): string[] =>
  Array.isArray(c) || c instanceof Map || Object.keys(c).length === keys!.length ? [] : Object.keys(c).filter((k) => !keys!.includes(k));

const hasSameKeys = (a: Content, b: Content): boolean =>
  a.values.length === b.values.length && (a.keys === null || a.keys.every((k, i) => Object.is(k, b.keys![i])));

const isSameContent = (a: Content, b: Content): boolean =>
  hasSameKeys(a, b) && a.values.every((v, i) => Object.is(v, b.values[i])) && holesOf(a) === holesOf(b);

const holesOf = ({ keys, values }: Content): number => (keys === null ? values.reduce<number>((n) => n - 1, values.length) : 0);

function write(c: Container, next: Content): void {
  if (Array.isArray(c)) {
    c.length = next.values.length;
    for (let i = 0; i < c.length; i++)
      if (!(i in next.values)) Reflect.deleteProperty(c, i);
      else if (!(i in c) || c[i] !== next.values[i]) c[i] = next.values[i];
    return;
  }
  const now = contentOf(c);
  const isOther = !hasSameKeys(now, next);
  if (isOther && c instanceof Map) c.clear();
  else if (isOther) for (const k of now.keys!) Reflect.deleteProperty(c, k as string);
  next.keys!.forEach((k, i) => {
    if (!isOther && Object.is(now.values[i], next.values[i])) return;
    if (c instanceof Map) c.set(k, next.values[i]);
    else (c as Record<string, unknown>)[k as string] = next.values[i];
  });
}

/** Whether a property of an object can be written, and written back. */
const isOpen = (c: Container, key: unknown): boolean =>
  c instanceof Map || Object.getOwnPropertyDescriptor(c, key as string)?.writable === true;

export class Objects {
  readonly #list: Container[] = [];
  readonly #index = new Map<unknown, number>();
  /** While the function runs: what was in them, and what is in them instead. */
  readonly #before: Content[] = [];
  readonly #entered: Content[] = [];
  /** Copies of objects that cannot be written to: the function gets the copy. */
  readonly #copies = new Map<number, Container>();
  #isInside = false;

  private constructor() {}

  /** Those of the arguments; null where there are none. */
  static of(args: readonly unknown[]): Objects | null {
    let found: Objects | null = null;
    for (const a of args)
      if (typeof a === "object" && a !== null && !(a instanceof Tensor) && isContainer(a)) (found ??= new Objects()).#add(a, 1);
    return found;
  }

  #add(c: Container, depth: number): void {
    if (this.#index.has(c)) return;
    requireDepth(depth);
    this.#index.set(c, this.#list.push(c) - 1);
    for (const v of partsOf(c)) if (typeof v === "object" && v !== null && isContainer(v)) this.#add(v, depth + 1);
  }

  /** Replaces real tensors by traced ones. Returns the arguments that the function gets. */
  enter(args: readonly unknown[], standIn: (t: Tensor) => Tensor): unknown[] {
    this.#isInside = true;
    const stand = (v: unknown): unknown => {
      if (typeof v !== "object" || v === null) return v;
      if (v instanceof Tensor) return standIn(v);
      if (isComposite(v)) return v[WITH_PARTS](v[PARTS]().map(stand));
      return this.#copies.get(this.#index.get(v) ?? -1) ?? v;
    };
    // Nested objects come after the object that holds them.
    for (let i = this.#list.length - 1; i >= 0; i--) {
      const c = this.#list[i]!;
      const before = (this.#before[i] = contentOf(c));
      const entered = (this.#entered[i] = { keys: before.keys, values: before.values.map(stand) });
      const getters = gettersOf(c, before);
      const isShut =
        entered.values.some((v, k) => v !== before.values[k] && !isOpen(c, before.keys?.[k] ?? k)) ||
        getters.some((k) => hasTensor((c as Record<string, unknown>)[k]));
      if (!isShut) {
        write(c, entered);
        continue;
      }
      const shown = getters.map((k) => stand((c as Record<string, unknown>)[k]));
      const copy: Container = Array.isArray(c) ? [] : {};
      write(copy, { keys: entered.keys && [...entered.keys, ...getters], values: [...entered.values, ...shown] });
      if (Object.isFrozen(c)) Object.freeze(copy);
      this.#copies.set(i, copy);
      this.#entered[i] = contentOf(copy);
    }
    return args.map(stand);
  }

  /** Puts everything back as it was before the function ran. */
  restore(): void {
    if (!this.#isInside) return;
    this.#isInside = false;
    this.#list.forEach((c, i) => {
      if (!this.#copies.has(i)) write(c, this.#before[i]!);
    });
  }

  /** Takes out what the function gave and changed, and puts everything back. */
  leave(name: string, result: unknown, isTraced: (t: Tensor) => boolean): Outcome {
    const after = this.#list.map((c, i) => contentOf(this.#copies.get(i) ?? c));
    this.restore();
    const taken = new Taken((v) => this.#standingFor(v), isTraced);
    const changes = after.flatMap((content, index) => {
      if (isSameContent(content, this.#entered[index]!)) return [];
      if (this.#copies.has(index)) refuseChange(name);
      return [{ index, keys: content.keys, values: taken.list(content.values) }];
    });
    return { result: taken.from(result), changes };
  }

  /** The Argument of an object among the arguments, or of its copy; undefined for other values. */
  #standingFor(v: unknown): unknown {
    const own = this.#index.get(v);
    if (own !== undefined) return new Argument(own);
    for (const [index, copy] of this.#copies) if (copy === v) return new Argument(index);
    return undefined;
  }

  /** The result, with real tensors and with the arguments' own objects, which get what the function made of them. */
  give({ result, changes }: Outcome, real: (t: Tensor) => Tensor): unknown {
    const giving = new Giving(this.#list, real);
    const values = changes.map((c) => giving.list(c.values));
    changes.forEach((c, i) => write(this.#list[c.index]!, { keys: c.keys, values: values[i]! }));
    return giving.from(result);
  }
}

const hasTensor = (value: unknown): boolean => tensorsIn(value).length > 0;

function refuseChange(name: string): never {
  throw new TraceError({
    operation: name,
    argument: "arguments",
    expected: "objects whose fields are writable",
    received: "a change of an object that has read-only fields, or getters, with tensors",
    hint: "Pass an ordinary object, or return what is new.",
  });
}

/** Objects that runs have given: copies, which keep the traced tensors in them. */
const kept = new WeakSet<object>();

/** Copies of what holds traced tensors or objects among the arguments; everything else as it is. */
class Taken {
  readonly #made = new Map<unknown, unknown>();
  readonly #known: (v: unknown) => unknown;
  readonly #isTraced: (t: Tensor) => boolean;

  constructor(known: (v: unknown) => unknown, isTraced: (t: Tensor) => boolean) {
    this.#known = known;
    this.#known = known;
    this.#isTraced = isTraced;
  }

  from(value: unknown, depth = 1): unknown {
    if (typeof value !== "object" || value === null || value instanceof Tensor) return value;
    const before = this.#made.get(value) ?? this.#known(value);
    if (before !== undefined) return before;
    if (!isContainer(value) && !isComposite(value)) return value;
    if (!this.#holds(value, new Set(), depth)) return value;
    if (isComposite(value)) return value;
    requireDepth(depth);
    const copy: Container = Array.isArray(value) ? [] : value instanceof Map ? new Map<unknown, unknown>() : {};
    kept.add(copy);
    this.#made.set(value, copy);
    const { keys, values } = contentOf(value);
    write(copy, { keys, values: values.map((v) => this.from(v, depth + 1)) });
    return copy;
  }

  list(values: readonly unknown[]): unknown[] {
    return values.map((v) => this.from(v));
  }

  #holds(value: unknown, seen: Set<unknown>, depth: number): boolean {
    if (typeof value !== "object" || value === null || seen.has(value)) return false;
    if (value instanceof Tensor) return this.#isTraced(value);
    if (this.#known(value) !== undefined) return true;
    if (!isContainer(value) && !isComposite(value)) return false;
    requireDepth(depth);
    seen.add(value);
    return partsOf(value).some((v) => this.#holds(v, seen, depth + 1));
  }
}

/** The same with real tensors and with the arguments of a call. */
class Giving {
  readonly #made = new Map<unknown, unknown>();
  readonly #list: readonly Container[];
  readonly #real: (t: Tensor) => Tensor;

  constructor(list: readonly Container[], real: (t: Tensor) => Tensor) {
    this.#list = list;
    this.#real = real;
  }

  from(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Tensor) return this.#real(value);
    if (value instanceof Argument) return this.#list[value.index];
    const before = this.#made.get(value);
    if (before !== undefined) return before;
    if (isComposite(value)) {
      const composite = value[WITH_PARTS](value[PARTS]().map((v) => this.from(v)));
      this.#made.set(value, composite);
      return composite;
    }
    if (!kept.has(value)) return value;
    const from = value as Container;
    const made: Container = Array.isArray(from) ? [] : from instanceof Map ? new Map<unknown, unknown>() : {};
    this.#made.set(value, made);
    const { keys, values } = contentOf(from);
    write(made, { keys, values: this.list(values) });
    return made;
  }

  list(values: readonly unknown[]): unknown[] {
    return values.map((v) => this.from(v));
  }
}
