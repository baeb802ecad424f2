/** The values of a PyTorch pickle, before its tensors are read. */
import { DTYPES, type DType } from "../../core/dtype.ts";
import { damaged, unknown } from "./refuse.ts";

/** Of the elements in a file; complex numbers are pairs of real ones. */
export interface ElementType {
  readonly name: string;
  readonly dtype: DType;
  readonly isComplex: boolean;
}

const real = (dtype: DType): ElementType => ({ name: dtype, dtype, isComplex: false });

/** PyTorch's dtypes that the library has. */
const elementTypes: ReadonlyMap<string, ElementType> = new Map(
  [
    ...(Object.keys(DTYPES) as DType[]).map(real),
    { name: "complex64", dtype: "float32", isComplex: true } as const,
    { name: "complex32", dtype: "float16", isComplex: true } as const,
  ].map((type) => [type.name, type]),
);

/** PyTorch's names of classes of storages, without "Storage". */
const storageTypes: Readonly<Record<string, string>> = {
  Float: "float32",
  Double: "float64",
  Half: "float16",
  BFloat16: "bfloat16",
  Char: "int8",
  Short: "int16",
  Int: "int32",
  Long: "int64",
  Byte: "uint8",
  Bool: "bool",
  ComplexFloat: "complex64",
  ComplexHalf: "complex32",
  ComplexDouble: "complex128",
  QInt8: "qint8",
  QInt32: "qint32",
  QUInt8: "quint8",
  QUInt4x2: "quint4x2",
  QUInt2x4: "quint2x4",
};

/** Of PyTorch, and not of the library. */
const otherTypes = /^(?:complex128|bcomplex32|q(?:u?int\d+(?:x\d)?)|float(?:8|4)_\w+|bits\d\w*|u?int[1-7])$/;

/** The elements of a dtype. Throws by name for one that the library lacks; undefined for what is no dtype's name. */
export function elementType(source: string, name: string): ElementType | undefined {
  const known = elementTypes.get(name);
  if (known === undefined && otherTypes.test(name))
    throw unknown(source, `torch.${name}`, `Convert the tensor in PyTorch to one of ${[...elementTypes.keys()].join(", ")}.`);
  return known;
}

/** A class of storages: null for the one without a dtype. */
export class StorageType {
  readonly elements: ElementType | null;

  constructor(elements: ElementType | null) {
    this.elements = elements;
  }

  /** "FloatStorage"; undefined for what is none. */
  static named(source: string, name: string): StorageType | undefined {
    if (name === "UntypedStorage") return new StorageType(null);
    const of = name.endsWith("Storage") ? name.slice(0, -"Storage".length) : "";
    if (!Object.hasOwn(storageTypes, of)) return undefined;
    return new StorageType(elementType(source, storageTypes[of]!)!);
  }
}

export class Dtype {
  readonly elements: ElementType;

  constructor(elements: ElementType) {
    this.elements = elements;
  }
}

/** Bytes of the file: an entry of its own. */
export class StorageRef {
  readonly key: string;
  readonly elements: ElementType | null;
  /** Elements, or bytes of one without a dtype. */
  readonly count: number;

  constructor(key: string, elements: ElementType | null, count: number) {
    this.key = key;
    this.elements = elements;
    this.count = count;
  }
}

/** A tensor to be: a view of a storage. */
export class TensorRef {
  readonly storage: StorageRef;
  readonly elements: ElementType;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly requiresGrad: boolean;
  readonly isConj: boolean;
  readonly isParameter: boolean;

  constructor(
    fields: Pick<TensorRef, "storage" | "elements" | "offset" | "shape" | "strides" | "requiresGrad" | "isConj" | "isParameter">,
  ) {
    this.storage = fields.storage;
    this.elements = fields.elements;
    this.offset = fields.offset;
    this.shape = fields.shape;
    this.strides = fields.strides;
    this.requiresGrad = fields.requiresGrad;
    this.isConj = fields.isConj;
    this.isParameter = fields.isParameter;
  }
}

/** A dict, or an OrderedDict. */
export class Dict {
  readonly entries = new Map<unknown, unknown>();
}

/** A set or a frozenset. */
export class PythonSet {
  readonly items: unknown[];

  constructor(items: unknown[]) {
    this.items = items;
  }
}

/** A function or a class that a pickle may call. */
export class Callable {
  readonly name: string;
  readonly call: (args: readonly unknown[]) => unknown;

  constructor(name: string, call: (args: readonly unknown[]) => unknown) {
    this.name = name;
    this.call = call;
  }
}

const isSize = (v: unknown): v is number => Number.isSafeInteger(v) && (v as number) >= 0;
const isSizes = (v: unknown): v is readonly number[] => Array.isArray(v) && v.every(isSize);

/** PyTorch's functions that make tensors, classes of values, and dtypes, by module and name. */
export class Globals {
  readonly #source: string;
  readonly #calls: ReadonlyMap<string, (args: readonly unknown[]) => unknown>;

  constructor(source: string) {
    this.#source = source;
    const set = (args: readonly unknown[]): PythonSet => {
      const [items = []] = args;
      if (args.length > 1 || !Array.isArray(items)) throw this.#bad("a set of a list", args);
      return new PythonSet(items);
    };
    const bytes = (args: readonly unknown[]): Uint8Array => this.#bytes(args);
    const calls: readonly (readonly [string, (args: readonly unknown[]) => unknown])[] = [
      ["collections.OrderedDict", (args) => this.#dict(args)],
      ["torch._utils._rebuild_tensor", (args) => this.#tensor(args.slice(0, 4), null)],
      ["torch._utils._rebuild_tensor_v2", (args) => this.#tensor(args, null)],
      [
        "torch._utils._rebuild_tensor_v3",
        ([storage, offset, shape, strides, requiresGrad, hooks, dtype, metadata]) =>
          this.#tensor([storage, offset, shape, strides, requiresGrad, hooks, metadata], dtype),
      ],
      ["torch._utils._rebuild_parameter", (args) => this.#parameter(args)],
      ["torch._utils._rebuild_parameter_with_state", (args) => this.#parameter(args)],
      ["torch._tensor._rebuild_from_type_v2", (args) => this.#withAttributes(args)],
      [
        "torch.Tensor",
        () => {
          throw unknown(source, "torch.Tensor");
        },
      ],
      ["torch.nn.parameter.Parameter", (args) => this.#parameter([args[0], args[1] ?? true])],
      ["torch.Size", ([sizes = []]) => this.#size(sizes)],
      ["torch.device", (args) => this.#device(args)],
      ["_codecs.encode", (args) => this.#bytes(args)],
      ...["builtins", "__builtin__"].flatMap((module) => [
        [`${module}.set`, set] as const,
        [`${module}.frozenset`, set] as const,
        [`${module}.bytes`, bytes] as const,
        [`${module}.bytearray`, bytes] as const,
      ]),
    ];
    this.#calls = new Map(calls);
  }

  /** What a pickle names. Throws UnsupportedError with the full name for all that it may not name. */
  find(module: string, name: string): unknown {
    const full = `${module}.${name}`;
    const call = this.#calls.get(full);
    if (call !== undefined) return new Callable(full, call);
    if (module === "torch" || module === "torch.storage") {
      const storage = StorageType.named(this.#source, name);
      if (storage !== undefined) return storage;
    }
    const elements = module === "torch" ? elementType(this.#source, name) : undefined;
    if (elements !== undefined) return new Dtype(elements);
    throw unknown(this.#source, full);
  }

  /** A storage by its persistent id: ("storage", type, key, location, count). */
  storage(id: unknown): StorageRef {
    const [kind, type, key, location, count] = Array.isArray(id) ? (id as readonly unknown[]) : [];
    if (kind !== "storage" || !(type instanceof StorageType) || typeof key !== "string" || typeof location !== "string" || !isSize(count))
      throw this.#bad("a storage's id", [id]);
    return new StorageRef(key, type.elements, count);
  }

  #bad(what: string, args: readonly unknown[]): Error {
    return damaged(
      this.#source,
      `with the arguments of ${what}`,
      args.map((arg) => (typeof arg === "object" ? (arg?.constructor.name ?? "null") : String(arg))).join(", "),
    );
  }

  #dict(args: readonly unknown[]): Dict {
    const dict = new Dict();
    const [items = []] = args;
    if (args.length > 1 || !Array.isArray(items)) throw this.#bad("an OrderedDict", args);
    for (const item of items as readonly unknown[]) {
      if (!Array.isArray(item) || item.length !== 2) throw this.#bad("an OrderedDict", args);
      dict.entries.set(item[0], item[1]);
    }
    return dict;
  }

  #tensor(args: readonly unknown[], dtype: unknown): TensorRef {
    const [storage, offset, shape, strides, requiresGrad = false, , metadata = null] = args;
    const elements = dtype instanceof Dtype ? dtype.elements : storage instanceof StorageRef ? storage.elements : null;
    const isWhole =
      storage instanceof StorageRef &&
      elements !== null &&
      isSize(offset) &&
      isSizes(shape) &&
      isSizes(strides) &&
      shape.length === strides.length &&
      typeof requiresGrad === "boolean";
    if (!isWhole) throw this.#bad("a tensor", args);
    const isConj = this.#isConj(metadata, elements);
    return new TensorRef({ storage, elements, offset, shape, strides, requiresGrad, isConj, isParameter: false });
  }

  /** What PyTorch knows of a view: it is the conjugate, or the negative, of what is stored. */
  #isConj(metadata: unknown, { isComplex }: ElementType): boolean {
    if (metadata === null) return false;
    const entries = metadata instanceof Dict ? [...metadata.entries] : null;
    const on = entries?.filter(([, value]) => value === true).map(([key]) => key) ?? [metadata];
    if (on.length === 0) return false;
    if (on.length === 1 && on[0] === "conj" && isComplex) return true;
    throw unknown(this.#source, `a tensor with ${on.map(String).join(", ")}`, "Save t.resolve_conj().resolve_neg().");
  }

  #parameter(args: readonly unknown[]): TensorRef {
    const [data, requiresGrad] = args;
    if (!(data instanceof TensorRef) || typeof requiresGrad !== "boolean") throw this.#bad("a parameter", args);
    if (data.elements.isComplex) throw unknown(this.#source, `a parameter of ${data.elements.name}`);
    const { storage, elements, offset, shape, strides, isConj } = data;
    return new TensorRef({ storage, elements, offset, shape, strides, isConj, requiresGrad, isParameter: true });
  }

  /** A tensor with attributes of Python, which are left out: torch.nn.Buffer is one. */
  #withAttributes([rebuild, type, args]: readonly unknown[]): TensorRef {
    const isTensor = type instanceof Callable && ["torch.Tensor", "torch.nn.parameter.Parameter"].includes(type.name);
    // Not this function again: a list that contains itself would never end.
    const isRebuild = rebuild instanceof Callable && rebuild.name.startsWith("torch._utils._rebuild_");
    const tensor = isTensor && isRebuild && Array.isArray(args) ? rebuild.call(args as readonly unknown[]) : null;
    if (!(tensor instanceof TensorRef)) throw this.#bad("a tensor with attributes", [rebuild, type, args]);
    return tensor;
  }

  #size(sizes: unknown): readonly number[] {
    if (!isSizes(sizes)) throw this.#bad("a torch.Size", [sizes]);
    return sizes;
  }

  #device(args: readonly unknown[]): string {
    const [type, index] = args;
    if (typeof type !== "string" || (index !== undefined && !isSize(index))) throw this.#bad("a torch.device", args);
    return index === undefined ? type : `${type}:${index}`;
  }

  /** Bytes as pickles before version 3 have them: a text of Latin-1, and the name of that. */
  #bytes(args: readonly unknown[]): Uint8Array {
    const [text, encoding] = args;
    if (args.length === 0) return new Uint8Array(0);
    if (text instanceof Uint8Array && args.length === 1) return text;
    if (typeof text !== "string" || (encoding !== "latin1" && encoding !== "latin-1")) throw this.#bad("bytes", args);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 255) throw this.#bad("bytes", args);
      bytes[i] = code;
    }
    return bytes;
  }
}
