/** Makes blocks of statements; folds constants and gives equal expressions one value where one of them has been computed already. */
import { constantOf, type Block, type Leaf, type Operate, type Statement, type Uniform, type Value, type Variable } from "./ir.ts";
import { KnownOperations } from "./known-operations.ts";
import { bitsOfFloat, operation, type OperationName, type Scalar } from "./operations.ts";

const isPower = (n: number): boolean => n > 0 && (n & (n - 1)) === 0;

export class Builder {
  #ids = 0;
  #variables = 0;
  readonly #constants: { readonly [T in Scalar]: Map<number, Value> } = { f32: new Map(), i32: new Map(), u32: new Map(), bool: new Map() };
  readonly #indices = new Map<string, Value>();
  readonly #uniforms = new Map<string, Value>();
  /** Blocks under construction, innermost last, with what each has computed. */
  readonly #open: { readonly statements: Statement[]; readonly known: Map<string, Value> }[] = [{ statements: [], known: new Map() }];
  #statements = this.#open[0]!.statements;
  /** What the open blocks have computed by operations. */
  readonly #operations = new KnownOperations();
  /** By the result's id. */
  readonly #made: (Operate | undefined)[] = [];

  value(type: Scalar, leaf: Leaf | null = null): Value {
    return { id: this.#ids++, type, leaf };
  }

  /** Ids of values are less, and of variables. */
  get values(): number {
    return this.#ids;
  }
  get variables(): number {
    return this.#variables;
  }

  /** The operation that made a value. */
  madeBy(v: Value): Operate | undefined {
    const made = this.#made[v.id];
    return made?.result === v ? made : undefined;
  }

  variable(type: Scalar): Variable {
    return { id: this.#variables++, type };
  }

  #refuse: (() => never) | null = null;

  #leaf<K>(of: Map<K, Value>, key: K, type: Scalar, leaf: Leaf): Value {
    let v = of.get(key);
    if (v === undefined) of.set(key, (v = this.value(type, leaf)));
    return v;
  }

  constant(type: Scalar, number: number): Value {
    const n = type === "f32" ? Math.fround(number) : type === "u32" ? number >>> 0 : type === "i32" ? number | 0 : Number(number !== 0);
    const known = this.#constants[type];
    const key = type === "f32" ? bitsOfFloat(n) : n;
    return known.get(key) ?? this.#leaf(known, key, type, { kind: "constant", number: n });
  }

  index(kind: "local" | "groupX" | "groupY"): Value {
    return this.#leaf(this.#indices, kind, "u32", { kind });
  }

  uniform(uniform: Uniform): Value {
    return this.#leaf(this.#uniforms, uniform.name, uniform.type, { kind: "uniform", uniform });
  }

  /** The uniforms that were asked for. */
  get uniforms(): Uniform[] {
    return [...this.#uniforms.values()].flatMap((v) => (v.leaf?.kind === "uniform" ? [v.leaf.uniform] : []));
  }

  /** From now on nothing is added: refuse is called, and throws. */
  close(refuse: () => never): void {
    this.#refuse = refuse;
  }

  add<S extends Statement>(s: S): S {
    this.#refuse?.();
    this.#statements.push(s);
    return s;
  }

  /** What `fill` adds, as a block of its own. */
  block(fill: () => void): Block {
    const open = { statements: [] as Statement[], known: new Map<string, Value>() };
    const around = this.#statements;
    const known = this.#operations.size;
    this.#open.push(open);
    this.#statements = open.statements;
    try {
      fill();
    } finally {
      this.#open.pop();
      this.#statements = around;
      this.#operations.shrink(known);
    }
    return open.statements;
  }

  get statements(): Block {
    return this.#open[0]!.statements;
  }

  #known(key: string): Value | undefined {
    for (let i = this.#open.length - 1; i >= 0; i--) {
      const v = this.#open[i]!.known.get(key);
      if (v !== undefined) return v;
    }
    return undefined;
  }

  /** A value that depends on nothing but the key: computed once. */
  once(key: string, make: () => Value): Value {
    let v = this.#known(key);
    if (v === undefined) this.#open.at(-1)!.known.set(key, (v = make()));
    return v;
  }

  operate(name: OperationName, ...args: readonly Value[]): Value {
    const simple = this.#simplified(name, args);
    if (simple !== null) return simple;
    const known = this.#operations.find(name, args);
    if (known !== null) return known.result;
    const made = this.add<Operate>({ kind: "operate", name, args, result: this.value(operation(name).result) });
    this.#made[made.result.id] = made;
    this.#operations.add(made);
    return made.result;
  }

  #simplified(name: OperationName, args: readonly Value[]): Value | null {
    const [x, y, z] = args;
    let constants = 0;
    for (let i = 0; i < args.length; i++) if (args[i]!.leaf?.kind === "constant") constants++;
    if (constants === 0) return args.length === 3 && y === z && name.startsWith("select.") ? y! : null;
    const { apply, result } = operation(name);
    const [a, b, c] = [x, y, z].map((v) => (v === undefined ? null : constantOf(v)));
    if (constants === args.length) return this.constant(result, apply(a!, b ?? 0, c ?? 0));
    switch (name) {
      case "add.u32":
      case "add.i32":
      case "or.u32":
      case "or.i32":
      case "xor.u32":
      case "or.bool":
      case "xor.bool":
        if (name === "or.bool" && (a === 1 || b === 1)) return this.constant("bool", 1);
        return a === 0 ? y! : b === 0 ? x! : null;
      case "sub.u32":
      case "sub.i32":
      case "shl.u32":
      case "shr.u32":
      case "sub.f32":
        return b === 0 && !Object.is(b, -0) ? x! : null;
      case "mul.u32":
      case "mul.i32":
        if (a === 0 || b === 0) return this.constant(result, 0);
        if (a === 1 || b === 1) return a === 1 ? y! : x!;
        if (name === "mul.i32") return null;
        if (b !== null && isPower(b!)) return this.operate("shl.u32", x!, this.constant("u32", Math.log2(b!)));
        return a !== null && isPower(a!) ? this.operate("shl.u32", y!, this.constant("u32", Math.log2(a!))) : null;
      case "mul.f32":
        return a === 1 ? y! : b === 1 ? x! : null;
      case "div.f32":
        return b === 1 ? x! : null;
      case "div.u32":
        if (b === 1) return x!;
        return b !== null && isPower(b!) ? this.operate("shr.u32", x!, this.constant("u32", Math.log2(b!))) : null;
      case "mod.u32":
        if (b === 1) return this.constant("u32", 0);
        return b !== null && isPower(b!) ? this.operate("and.u32", x!, this.constant("u32", b! - 1)) : null;
      case "and.bool":
        if (a === 0 || b === 0) return this.constant("bool", 0);
        return a === 1 ? y! : b === 1 ? x! : null;
      case "select.f32":
      case "select.i32":
      case "select.u32":
      case "select.bool":
        if (a !== null) return a === 1 ? y! : z!;
        return y === z ? y! : null;
      default:
        return null;
    }
  }
}
