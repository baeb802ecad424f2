/** The language's rules that no method sees: types, values that are visible where they are read, barriers that all threads reach. */
import { ShaderError } from "../core/errors.ts";
import {
  blocksOf,
  makesOf,
  readsOf,
  typeOfElement,
  type Barrier,
  type Block,
  type Shader,
  type Statement,
  type Value,
  type Variable,
} from "./ir.ts";
import { operation, type Scalar } from "./operations.ts";

/** Throws a ShaderError for the first rule that is broken. */
export function verifyShader(shader: Shader): void {
  const check = new Verifier(shader.name);
  check.block(shader.body);
  new Uniformity(shader).check();
}

const sourceOf = (s: Statement): string => ("source" in s ? s.source : "");

class Verifier {
  readonly #name: string;
  /** Statements around the one that is looked at, for its source line. */
  #source = "";
  /** By the values' ids. */
  readonly #isVisible: boolean[] = [];
  /** The values that are visible, those of the innermost block last. */
  readonly #visible: Value[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  #refuse(problem: string): never {
    throw new ShaderError(this.#name, problem, this.#source);
  }

  block(block: Block): void {
    this.#inside(() => this.#statements(block));
  }

  /** What becomes visible in fn is so in it only. */
  #inside(fn: () => void): void {
    const before = this.#visible.length;
    fn();
    while (this.#visible.length > before) this.#isVisible[this.#visible.pop()!.id] = false;
  }

  #show(v: Value): void {
    if (this.#isVisible[v.id] === true) return;
    this.#isVisible[v.id] = true;
    this.#visible.push(v);
  }

  #statements(block: Block): void {
    for (const s of block) {
      if (sourceOf(s) !== "") this.#source = sourceOf(s);
      if (s.kind === "while") {
        this.#inside(() => {
          this.#statements(s.head);
          this.#see(s.condition);
          this.#requireType(s.condition, "bool");
          this.block(s.body);
        });
        continue;
      }
      for (const v of readsOf(s)) this.#see(v);
      this.#types(s);
      if (s.kind === "for")
        this.#inside(() => {
          this.#show(s.index);
          this.#statements(s.body);
        });
      else {
        for (const inner of blocksOf(s)) this.block(inner);
        for (const v of makesOf(s)) this.#show(v);
      }
    }
  }

  #see(v: Value): void {
    if (v.leaf === null && this.#isVisible[v.id] !== true)
      this.#refuse("a value is used outside of the part (if, for, while) that computed it: keep it in a variable made before that part");
  }

  #requireType(v: Value, type: Scalar): void {
    if (v.type !== type) this.#refuse(`expected a value of ${type}, received one of ${v.type}`);
  }

  #types(s: Statement): void {
    const requireType = (v: Value, type: Scalar): void => this.#requireType(v, type);
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
  /** By the ids of values and variables. */
  readonly #varying: boolean[] = [];
  readonly #varyingVariables: boolean[] = [];
  #changed = true;
  /** The first barrier that not all threads reach. */
  #missed: Barrier | null = null;

  constructor(shader: Shader) {
    this.#shader = shader;
  }

  check(): void {
    while (this.#changed) {
      this.#changed = false;
      this.#missed = null;
      this.#block(this.#shader.body, true);
    }
    if (this.#missed === null) return;
    throw new ShaderError(
      this.#shader.name,
      "not all threads of a group reach this barrier: the conditions around it differ between threads",
      this.#missed.source,
    );
  }

  #isUniform(v: Value): boolean {
    return v.leaf === null ? this.#varying[v.id] !== true : v.leaf.kind !== "local";
  }

  #mark(list: boolean[], { id }: Value | Variable): void {
    if (list[id] === true) return;
    list[id] = true;
    this.#changed = true;
  }

  #isVarying(s: Statement): boolean {
    for (const v of readsOf(s)) if (!this.#isUniform(v)) return true;
    return false;
  }

  /** `together`: all threads run it at once. Gives whether they still do afterwards: not where some have left a loop. */
  #block(block: Block, together: boolean): boolean {
    let all = together;
    for (const s of block) all = this.#statement(s, all);
    return all;
  }

  #statement(s: Statement, together: boolean): boolean {
    const isVarying = this.#isVarying(s);
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
        if (this.#varyingVariables[s.variable.id] === true) this.#mark(this.#varying, s.result);
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
        // A thread that left in one trip is missing in the next.
        if (head && !isVarying && this.#stays(s.body)) return together;
        if (s.kind === "for") this.#mark(this.#varying, s.index);
        this.#block(s.body, false);
        return together;
      }
      case "barrier":
        if (!together) this.#missed ??= s;
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
    const missed = this.#missed;
    const stays = this.#block(body, true);
    // Otherwise the body is looked at again, as not all threads run it.
    if (!stays) this.#missed = missed;
    return stays;
  }
}

/** Whether a break or continue in it goes out of it. */
function leaves(block: Block): boolean {
  return block.some((s) => s.kind === "break" || s.kind === "continue" || (s.kind === "if" && (leaves(s.body) || leaves(s.otherwise))));
}
