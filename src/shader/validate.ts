/** The language's rules that no method sees: types, values that are visible where they are read, barriers that all threads reach. */
import { ShaderError } from "../core/errors.ts";
import { blocksOf, makesOf, readsOf, typeOfElement, type Block, type Shader, type Statement, type Value, type Variable } from "./ir.ts";
import { operation, type Scalar } from "./operations.ts";

/** Throws a ShaderError for the first rule that is broken. */
export function verifyShader(shader: Shader): void {
  const check = new Verifier(shader.name);
  check.block(shader.body, new Set());
  new Uniformity(shader).check();
}

const sourceOf = (s: Statement): string => ("source" in s ? s.source : "");

class Verifier {
  readonly #name: string;
  /** Statements around the one that is looked at, for its source line. */
  #source = "";

  constructor(name: string) {
    this.#name = name;
  }

  #refuse(problem: string): never {
    throw new ShaderError(this.#name, problem, this.#source);
  }

  block(block: Block, visible: ReadonlySet<number>): Set<number> {
    const known = new Set(visible);
    for (const s of block) {
      if (sourceOf(s) !== "") this.#source = sourceOf(s);
      if (s.kind === "while") {
        const after = this.block(s.head, known);
        this.#see(s.condition, after, "bool");
        this.block(s.body, after);
        continue;
      }
      for (const v of readsOf(s)) this.#see(v, known);
      this.#types(s);
      const made = makesOf(s);
      for (const inner of blocksOf(s)) this.block(inner, s.kind === "for" ? new Set([...known, s.index.id]) : known);
      if (s.kind !== "for") for (const v of made) known.add(v.id);
    }
    return known;
  }

  #see(v: Value, known: ReadonlySet<number>, type?: Scalar): void {
    if (v.leaf === null && !known.has(v.id))
      this.#refuse("a value is used outside of the part (if, for, while) that computed it: keep it in a variable made before that part");
    if (type !== undefined && v.type !== type) this.#refuse(`expected a value of ${type}, received one of ${v.type}`);
  }

  #types(s: Statement): void {
    const requireType = (v: Value, type: Scalar): void => this.#see(v, new Set([v.id]), type);
    switch (s.kind) {
      case "operate": {
        const { args, result } = operation(s.name);
        if (args.length !== s.args.length) this.#refuse(`${s.name} of ${s.args.length} values`);
        args.forEach((type, i) => requireType(s.args[i]!, type));
        requireType(s.result, result);
        return;
      }
      case "load":
        requireType(s.at, "u32");
        if (!s.raw) for (const v of s.results) requireType(v, typeOfElement(s.memory.element));
        return;
      case "store":
        requireType(s.at, "u32");
        if (s.memory.kind === "buffer" && !s.memory.isWritable) this.#refuse(`${s.memory.name} is an input: only outputs are written`);
        if (!s.raw) for (const v of s.values) requireType(v, typeOfElement(s.memory.element));
        return;
      case "atomic":
        requireType(s.at, "u32");
        if (s.memory.kind === "buffer" && !s.memory.isWritable) this.#refuse(`${s.memory.name} is an input: only outputs are written`);
        return;
      case "declare":
      case "assign":
        requireType(s.value, s.variable.type);
        return;
      case "get":
        requireType(s.result, s.variable.type);
        return;
      case "if":
        requireType(s.condition, "bool");
        return;
      case "for":
        for (const v of [s.index, s.start, s.end, s.step]) requireType(v, "u32");
        return;
      case "while":
      case "barrier":
      case "print":
      case "break":
      case "continue":
        return;
      default:
        s satisfies never;
    }
  }
}

/** Which values are the same in all threads of a group, and whether all threads reach each barrier. */
class Uniformity {
  readonly #shader: Shader;
  readonly #varying = new Set<Value>();
  readonly #varyingVariables = new Set<Variable>();
  #changed = true;
  #reports = false;

  constructor(shader: Shader) {
    this.#shader = shader;
  }

  check(): void {
    while (this.#changed) {
      this.#changed = false;
      this.#block(this.#shader.body, true);
    }
    this.#reports = true;
    this.#block(this.#shader.body, true);
  }

  #isUniform(v: Value): boolean {
    return v.leaf === null ? !this.#varying.has(v) : v.leaf.kind !== "local";
  }

  #mark<T>(set: Set<T>, x: T): void {
    if (set.has(x)) return;
    set.add(x);
    this.#changed = true;
  }

  /** `together`: all threads run it at once. Gives whether they still do afterwards: not where some have left a loop. */
  #block(block: Block, together: boolean): boolean {
    let all = together;
    for (const s of block) all = this.#statement(s, all);
    return all;
  }

  #statement(s: Statement, together: boolean): boolean {
    const isVarying = readsOf(s).some((v) => !this.#isUniform(v));
    switch (s.kind) {
      case "operate":
        if (isVarying) this.#mark(this.#varying, s.result);
        return together;
      case "load":
        if (isVarying || s.memory.kind === "shared" || s.memory.isWritable) for (const v of s.results) this.#mark(this.#varying, v);
        return together;
      case "atomic":
        if (s.result !== null) this.#mark(this.#varying, s.result);
        return together;
      case "get":
        if (this.#varyingVariables.has(s.variable)) this.#mark(this.#varying, s.result);
        return together;
      case "declare":
      case "assign":
        if (isVarying || !together) this.#mark(this.#varyingVariables, s.variable);
        return together;
      case "if": {
        const inside = together && !isVarying;
        const first = this.#block(s.body, inside);
        const second = this.#block(s.otherwise, inside);
        return together && (inside ? first && second : !leaves(s.body) && !leaves(s.otherwise));
      }
      case "for":
      case "while": {
        const head = s.kind === "while" ? this.#block(s.head, together) : together;
        let inside = head && !isVarying;
        // A thread that left in one trip is missing in the next.
        if (inside && !this.#stays(s.body)) inside = false;
        if (s.kind === "for" && (isVarying || !inside)) this.#mark(this.#varying, s.index);
        this.#block(s.body, inside);
        return together;
      }
      case "barrier":
        if (this.#reports && !together)
          throw new ShaderError(
            this.#shader.name,
            "not all threads of a group reach this barrier: the conditions around it differ between threads",
            s.source,
          );
        return together;
      case "store":
      case "print":
        return together;
      case "break":
      case "continue":
        return together;
      default:
        return s satisfies never;
    }
  }

  /** Whether all threads that begin the body of a loop also come to its end together, or leave together. */
  #stays(body: Block): boolean {
    const reports = this.#reports;
    this.#reports = false;
    const stays = this.#block(body, true);
    this.#reports = reports;
    return stays;
  }
}

/** Whether a break or continue in it goes out of it. */
function leaves(block: Block): boolean {
  return block.some((s) => s.kind === "break" || s.kind === "continue" || (s.kind === "if" && (leaves(s.body) || leaves(s.otherwise))));
}
