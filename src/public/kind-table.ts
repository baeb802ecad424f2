/**
 * Shared by the generated namespaces of src/public. Their checks are rows of a text table, parsed at first use: this keeps the import fast, and
 * layers, optimizers and files are not made in a hot loop. The operations' checks are code (src/ops/declare/checked.ts).
 */
import { isDType } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import {
  isAll,
  isIterable,
  isLike,
  isTensor,
  kind,
  kindBy,
  bindTo,
  options,
  parsed,
  under,
  type Aliases,
  type Fields,
  type Kind,
  type Taken,
} from "../ops/declare/checked.ts";
import { isPlain } from "../ops/declare/other-names.ts";

/** How a value is tested: a kind's name, or a word with what it needs. */
type Test =
  | string
  | readonly ["=", unknown]
  | readonly ["class", string]
  | readonly ["array" | "iterable" | "record", string]
  | readonly ["like", Readonly<Record<string, string>>]
  | readonly ["|", ...Test[]];
/** An object of options: its fields, other names of these. */
type OptionsRow = readonly ["fields", Readonly<Record<string, string>>, Aliases?];
/** The test, the text after "must be", whether it is about dtypes. */
type PlainRow = readonly [test: Test, text: string, isOfDTypes?: 1];
type Row = OptionsRow | PlainRow;
type AnyClass = abstract new (...args: never[]) => object;
type AnyFunction = (...args: never[]) => unknown;

const simple = {
  any: (_: unknown) => true,
  tensor: isTensor,
  number: (v: unknown) => typeof v === "number",
  string: (v: unknown) => typeof v === "string",
  boolean: (v: unknown) => typeof v === "boolean",
  bigint: (v: unknown) => typeof v === "bigint",
  function: (v: unknown) => typeof v === "function",
  null: (v: unknown) => v === null,
  undefined: (v: unknown) => v === undefined,
  dtype: isDType,
  data: (v: unknown) => ArrayBuffer.isView(v),
} as const;

const isOptions = (row: Row): row is OptionsRow => row[0] === "fields";

/** The kinds of the namespaces, by name. */
export class KindTable {
  readonly #text: string;
  readonly #classes: Readonly<Record<string, AnyClass>>;
  #rows: ReadonlyMap<string, string> | null = null;
  readonly #made = new Map<string, Kind>();

  /** text: a row a line, which begins with the kind's name. */
  constructor(text: string, classes: Readonly<Record<string, AnyClass>>) {
    this.#text = text;
    this.#classes = classes;
  }

  #rowOf(name: string): Row {
    this.#rows ??= new Map(
      this.#text
        .trim()
        .split("\n")
        .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]),
    );
    return JSON.parse(this.#rows.get(name)!) as Row;
  }

  /** "number", "number?" for one that may be left out. */
  named(name: string): Kind {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const made = name.endsWith("?") ? kindBy(name, (of) => this.named(of)) : this.#make(this.#rowOf(name));
    this.#made.set(name, made);
    return made;
  }

  #make(row: Row): Kind {
    if (isOptions(row)) {
      const fields = this.#fields(row[1]);
      const required = Object.keys(fields).filter((name) => !fields[name]!.is(undefined));
      return options(fields, required, row[2]);
    }
    const [test, text, isOfDTypes] = row;
    // Of several objects no one's fields are meant.
    const parts = Array.isArray(test) && test[0] === "|" ? (test.slice(1) as Test[]) : [];
    const [only, ...others] = parts.flatMap((part) => this.#optionsOf(part));
    return kind(this.#test(test), text, isOfDTypes === 1, others.length > 0 ? undefined : only);
  }

  /** The kind that a part of a union names, if it is an object of options. */
  #optionsOf(part: Test): readonly Kind[] {
    if (typeof part !== "string" || Object.hasOwn(simple, part)) return [];
    const named = this.named(part);
    return named.fields === null ? [] : [named];
  }

  #fields(names: Readonly<Record<string, string>>): Fields {
    return Object.fromEntries(Object.entries(names).map(([name, of]) => [name, this.named(of)]));
  }

  #test(test: Test): (v: unknown) => boolean {
    if (typeof test === "string") return Object.hasOwn(simple, test) ? simple[test as keyof typeof simple] : this.named(test).is;
    switch (test[0]) {
      case "=":
        return (v) => v === test[1];
      case "class": {
        const Class = this.#classes[test[1]]!;
        return (v) => v instanceof Class;
      }
      case "array": {
        const { is } = this.named(test[1]);
        return (v) => Array.isArray(v) && v.every(is);
      }
      case "iterable": {
        const { is } = this.named(test[1]);
        // To look into others would use them up.
        return (v) => isIterable(v) && (!Array.isArray(v) || v.every(is));
      }
      case "record": {
        const { is } = this.named(test[1]);
        return (v) => isPlain(v) && Object.values(v).every(is);
      }
      case "like": {
        const fields = this.#fields(test[1]);
        return (v) => isLike(v, fields);
      }
      case "|": {
        const [, ...parts] = test;
        const tests = parts.map((t) => this.#test(t));
        return (v) => tests.some((is) => is(v));
      }
      default:
        return test satisfies never;
    }
  }

  /** What a form of "x options:LinearOptions" takes. */
  signature(text: string): Taken {
    return parsed(text, (name) => this.named(name));
  }
}

/** The arguments in a function's own names. Throws for the first one that is not what its parameter takes, and for one too many. */
function check(operation: string | (() => string), taken: Taken, args: never[]): never[] {
  const { parameters, hasRest } = taken;
  const { length } = parameters;
  const named = hasRest ? length - 1 : length;
  let isRight = true;
  for (let i = 0; isRight && i < named; i++) isRight = parameters[i]![1].is(args[i]);
  if (hasRest) isRight &&= parameters[named]![1].is(args.slice(named));
  else isRight &&= args.length <= length || isAll(args, length);
  if (isRight) return args;
  return bindTo(typeof operation === "string" ? operation : operation(), taken, args);
}

/** Gives a form the name and the length of what it stands for. */
function like<F extends AnyFunction>(form: AnyFunction, { name, length }: F, as = name): F {
  Object.defineProperties(form, { name: { value: as, configurable: true }, length: { value: length, configurable: true } });
  return form as F;
}

/** Functions that check their arguments, of one table. */
export const forms = (kinds: KindTable) => {
  /** fn, whose arguments are checked; errors from inside have the name that the user called. */
  const checked = <F extends AnyFunction>(fn: F, operation: string, text: string): F => {
    let signature: Taken | null = null;
    return like((...args: never[]) => {
      const own = check(operation, (signature ??= kinds.signature(text)), args);
      try {
        return fn(...own);
      } catch (error) {
        throw under(operation, error);
      }
    }, fn);
  };

  /** The same for what names itself in errors, or runs code of the user's. */
  const guarded = <F extends AnyFunction>(fn: F, operation: string, text: string): F => {
    let signature: Taken | null = null;
    return like((...args: never[]) => {
      return fn(...check(operation, (signature ??= kinds.signature(text)), args));
    }, fn);
  };

  /** The same for what returns promises: what is refused rejects. */
  const guardedAsync = <F extends AnyFunction>(fn: F, operation: string, text: string): F => {
    let signature: Taken | null = null;
    return like(async (...args: never[]) => {
      return await fn(...check(operation, (signature ??= kinds.signature(text)), args));
    }, fn);
  };

  const seen = new WeakSet<object>();

  /** Methods that check their arguments replace a class's own: "forward x;at index:number". */
  const checkMethods = (Class: { readonly prototype: object }, text: string): void => {
    if (seen.has(Class)) return;
    seen.add(Class);
    if (text === "") return;
    for (const line of text.split(";")) {
      const [name, ...words] = line.split(" ") as [string, ...string[]];
      const inner = Object.getOwnPropertyDescriptor(Class.prototype, name)!.value as AnyFunction;
      let signature: Taken | null = null;
      const form = function (this: object, ...args: never[]): unknown {
        const own = check(() => `${this.constructor.name}.${name}`, (signature ??= kinds.signature(words.join(" "))), args);
        return inner.apply(this, own);
      };
      Object.defineProperty(Class.prototype, name, { value: like(form, inner, name), writable: true, configurable: true });
    }
  };

  /**
   * A class whose constructor's arguments are checked, and those of its methods from the first instance on; instances, `instanceof` and classes
   * that extend it are as before. methods: the class's own, then those of its base and so on.
   */
  const checkedClass = <C extends AnyClass>(Class: C, text: string, ...methods: readonly string[]): C => {
    let signature: Taken | null = null;
    const begin = (): Taken => {
      let level: unknown = Class;
      for (const list of methods) {
        checkMethods(level as C, list);
        level = Object.getPrototypeOf(level);
      }
      return kinds.signature(text);
    };
    const made: C = new Proxy(Class, {
      construct(target, args: never[], newTarget) {
        signature ??= begin();
        const own = check(target.name, signature, args);
        return Reflect.construct(target as unknown as new (...args: never[]) => object, own, newTarget);
      },
      apply(target) {
        throw new ValueError(target.name, "class", "called with new", "a call without", `Write new ${target.name}(...).`);
      },
    });
    Object.defineProperty(Class.prototype, "constructor", { value: made, writable: true, configurable: true });
    return made;
  };

  /** A function that makes instances of a class, as fn does. */
  const factory = <F extends AnyFunction>(Class: AnyClass, fn: F): F =>
    like((...args) => Reflect.construct(Class as unknown as new (...args: never[]) => object, args), fn);

  return { checked, guarded, guardedAsync, checkMethods, checkedClass, factory };
};
