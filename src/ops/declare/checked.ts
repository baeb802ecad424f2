/**
 * Shared by the generated forms of the public functions: they compare their arguments with the declared types, since callers may write JavaScript,
 * and errors name the function that the user called. scripts/lib/signatures.ts reads the types. @package
 */
import { ComplexTensor } from "../../core/complex-tensor.ts";
import { nearest } from "../../core/did-you-mean.ts";
import { dtypeMeant } from "../../core/dtype.ts";
import { DTypeError, DxError, ValueError } from "../../core/errors.ts";
import { show } from "../../core/format-value.ts";
import { Tensor } from "../../core/tensor.ts";
import { isPlain, translated } from "./other-names.ts";

/** The type of a parameter. */
export interface Kind {
  readonly is: (value: unknown) => boolean;
  /** Reads after "must be". */
  readonly text: string;
  /** Whether what is wrong is no tensor, or no dtype, rather than a value out of range. */
  readonly isOfDTypes: boolean;
  /** Those of an object of options. */
  readonly fields: Fields | null;
  /** Other names of the fields. */
  readonly aliases?: Aliases;
}
export type Fields = Readonly<Record<string, Kind>>;
/** Other names of fields, with the names that they stand for. */
export type Aliases = Readonly<Record<string, string>>;
/** Name and kind of each parameter, also of those that take anything. */
export type Parameters = readonly (readonly [name: string, kind: Kind])[];

/** The same kind where a value may be left out. */
const orNothing = (of: Kind): Kind => ({ ...of, is: (value) => value === undefined || of.is(value) });

export const isTensor = (value: unknown): value is Tensor => value instanceof Tensor;

export const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.iterator in value && !(value instanceof Tensor);

/** The first field that is not as it should be, or null. */
function wrongField(value: Record<string, unknown>, fields: Fields): string | null {
  for (const key in value) {
    const entry = value[key];
    if (entry === undefined) continue;
    if (!Object.hasOwn(fields, key) || !fields[key]!.is(entry)) return key;
  }
  return null;
}

/** Whether a value is an object with these fields and no others, and has those that are required. What is undefined counts as left out. */
export const hasFields = (value: unknown, fields: Fields, required: readonly string[] = []): boolean =>
  isPlain(value) && wrongField(value, fields) === null && required.every((name) => value[name] !== undefined);

/** Whether a value is an object, or a callable module, that has these fields, whatever else it has. */
export function isLike(value: unknown, fields: Fields): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  for (const key in fields) if (!fields[key]!.is((value as Record<string, unknown>)[key])) return false;
  return true;
}

/** @internal A kind of values by its test. of: the options that a value may be. */
export function kind(is: Kind["is"], text: string, isOfDTypes = false, of?: Kind): Kind {
  const made = { is, text, isOfDTypes, fields: of?.fields ?? null };
  return of?.aliases === undefined ? made : { ...made, aliases: of.aliases };
}

/** @internal Objects of options. */
export function options(fields: Fields, required: readonly string[] = [], aliases?: Aliases): Kind {
  const made = { is: (value: unknown) => hasFields(value, fields, required), text: "an object of options", isOfDTypes: false, fields };
  return aliases === undefined ? made : { ...made, aliases };
}

/** @internal What has these fields, whatever else it has. */
export const like = (fields: Fields, text: string): Kind => kind((value) => isLike(value, fields), text);

/**
 * Whether there are no arguments beyond the first n. What is undefined counts as left out, and a function of one argument may be handed to
 * map(), forEach() and the like, which pass the index and the list, too.
 */
export function isAll(args: ArrayLike<unknown>, n: number): boolean {
  const list = args[2];
  if (n === 1 && typeof args[1] === "number" && Array.isArray(list) && Object.is(list[args[1]], args[0])) return true;
  for (let i = n; i < args.length; i++) if (args[i] !== undefined) return false;
  return true;
}

const namesOf = (fields: Fields): string => `{ ${Object.keys(fields).join(", ")} }`;

/** A hint for an argument of the wrong type. */
function hintFor(operation: string, parameters: Parameters, values: readonly unknown[], i: number): string | undefined {
  const [name, { fields, text }] = parameters[i]!;
  const value = values[i];
  if (value instanceof ComplexTensor) return "It takes real numbers; complex ones have methods of their own: docs/fft.md.";
  if (isModule(value) && (text.includes("an iterable of tensors") || name.startsWith("param")))
    return "Pass its parameters: model.parameters().";
  if (isModule(value) && text.startsWith("an object of tensors")) return "Pass its tensors: model.stateDict().";
  if (isModule(value) && text === "a function") return "Pass what calls it: (x) => model.forward(x).";
  if (isModule(value) && text.startsWith("an iterable")) return "Write a list: [first, second].";
  if (value === undefined && text.startsWith("an iterable")) return undefined;
  if (text === "an array of tensors" || text.startsWith("an array of tensors and")) {
    const all = values.slice(i).every((v) => v instanceof Tensor);
    if (value instanceof Tensor && all)
      return `Write a list: ${operation}([${values
        .slice(i)
        .map(() => "…")
        .join(", ")}]).`;
  }
  if (fields !== null && !isPlain(value)) return `Options go into one object: ${namesOf(fields)}.`;
  const later = parameters.slice(i + 1).find(([, kind]) => kind.fields !== null);
  if (later !== undefined && fields === null && isPlain(value)) return `Options come after ${name}: ${namesOf(later[1].fields!)}.`;
  if (text.startsWith("an array of numbers") && typeof value === "number") {
    const list = values.slice(i).filter((v) => typeof v === "number");
    return `Write a list: ${operation}([${list.join(", ")}]).`;
  }
  if (text === "a dtype's name" && typeof value === "string") return dtypeMeant(value);
  return undefined;
}

const isModule = (value: unknown): boolean =>
  typeof value === "function" && "stateDict" in value && "parameters" in value && typeof value.parameters === "function";

/** The most similar field name, other names included. */
function meantBy(received: string, names: readonly string[], aliases: Aliases = {}): string | undefined {
  const near = nearest(received, [...names, ...Object.keys(aliases)]);
  return near === null ? undefined : `Did you mean ${Object.hasOwn(aliases, near) ? aliases[near] : near}?`;
}

function wrong(operation: string, parameters: Parameters, values: readonly unknown[], i: number): DxError {
  const [name, { fields, aliases, text, isOfDTypes }] = parameters[i]!;
  const value = values[i];
  if (fields !== null && isPlain(value)) {
    const field =
      wrongField(value, fields) ?? Object.keys(fields).find((name) => value[name] === undefined && !fields[name]!.is(undefined)) ?? null;
    if (field !== null && Object.hasOwn(fields, field)) return wrong(operation, [[field, fields[field]!]], [value[field]], 0);
    const names = Object.keys(fields);
    // A parameter that takes a value or options is named for its value.
    const label = text === "an object of options" ? name : "options";
    if (field !== null)
      return new ValueError(operation, label, `an object of no more than ${names.join(", ")}`, field, meantBy(field, names, aliases));
  }
  if (text.startsWith("one after the other")) {
    const list = value as readonly unknown[];
    const hint = list.length === 1 && isIterable(list[0]) ? "Write them one by one: (...list)." : undefined;
    return new (isOfDTypes ? DTypeError : ValueError)(operation, name, text.replace("one after the other, ", ""), list, hint);
  }
  return new (isOfDTypes ? DTypeError : ValueError)(operation, name, text, value, hintFor(operation, parameters, values, i));
}

let listed: () => Readonly<Record<string, Kind>>;

/** @internal The kinds of the forms' parameters, by name: a function, since most programs refuse nothing. */
export function setKinds(list: () => Readonly<Record<string, Kind>>): void {
  listed = list;
}

/** What a form takes: "x p:number? ...axes:number" is a tensor x, a number p that may be left out, then numbers. */
export interface Taken {
  readonly parameters: Parameters;
  /** Whether the last parameter takes all that is left. */
  readonly hasRest: boolean;
}

/** A kind by its name in a form's text, or in a row of a table: "number?" is number, or nothing. */
export const kindBy = (name: string, kindOf: (name: string) => Kind): Kind =>
  name.endsWith("?") ? orNothing(kindOf(name.slice(0, -1))) : kindOf(name);

export function parsed(text: string, kindOf: (name: string) => Kind): Taken {
  const words = text === "" ? [] : text.split(" ");
  const parameters = words.map((word): readonly [string, Kind] => {
    const [name, of = "tensor"] = word.replace("...", "").split(":") as [string, string?];
    return [name, kindBy(of, kindOf)];
  });
  return { parameters, hasRest: words.at(-1)?.startsWith("...") === true };
}

const known = new Map<string, Taken>();

function takenBy(text: string): Taken {
  let taken = known.get(text);
  if (taken === undefined) {
    const kinds = listed();
    taken = parsed(text, (name) => kinds[name]!);
    known.set(text, taken);
  }
  return taken;
}

/** The error for the first argument of the wrong type, or for one argument too many. */
export const refused = (operation: string, text: string, args: ArrayLike<unknown>): DxError =>
  refusedBy(operation, takenBy(text), Array.from(args));

/** Values for the parameters of a form, which are of any type. */
type Bound = readonly [never, never, never, never, never, never, never, never, never, ...never[]];

/** The arguments bound to a form's parameters, from other names and spellings too. Throws if a value is not what its parameter takes. */
export const bind = (operation: string, text: string, args: ArrayLike<unknown>): Bound =>
  bindTo(operation, takenBy(text), Array.from(args)) as unknown as Bound;

/** The same for a parsed form. */
export function bindTo(operation: string, taken: Taken, args: readonly unknown[]): never[] {
  const { parameters, hasRest } = taken;
  const own = translated(operation, parameters, args, hasRest);
  if (own === null) throw refusedBy(operation, taken, args);
  const named = hasRest ? parameters.length - 1 : parameters.length;
  for (let i = 0; i < named; i++) if (!parameters[i]![1].is(own[i])) throw refusedBy(operation, taken, own);
  const isRight = hasRest ? parameters[named]![1].is(own.slice(named)) : own.length <= named || isAll(own, named);
  if (!isRight) throw refusedBy(operation, taken, own);
  return own as never[];
}

function refusedBy(operation: string, { parameters, hasRest }: Taken, args: readonly unknown[]): DxError {
  const { length } = parameters;
  const values = hasRest ? [...args.slice(0, length - 1), args.slice(length - 1)] : args;
  const i = parameters.findIndex(([, kind], k) => !kind.is(values[k]));
  if (i >= 0) return wrong(operation, parameters, values, i);
  const fields = parameters.at(-1)?.[1].fields ?? null;
  return new ValueError(
    operation,
    "arguments",
    length === 0 ? "none" : `no more than ${parameters.map(([name]) => name).join(", ")}`,
    `${show(args.slice(length).find((v) => v !== undefined))} after them`,
    fields === null ? undefined : `Options go into one object: ${namesOf(fields)}.`,
  );
}

/** V8's messages for lists and recursions that are too long for the host. */
const TOO_MUCH =
  /^(Invalid (typed )?array length|Array buffer allocation failed|Invalid array buffer length|Maximum call stack size exceeded)/;

/** The thrown error, under the name that the user called. */
export function under(operation: string, error: unknown): unknown {
  if (error instanceof DxError) return error.operation === operation ? error : error.rename(operation);
  if (error instanceof RangeError && TOO_MUCH.test(error.message))
    return new ValueError(operation, "arguments", "of sizes that the host has lists for", error.message);
  return error;
}
