/**
 * Proves that every load, store and atomic of a shader stays inside its memory in a launch: by what its address may be, and the comparisons
 * around it. It looks at what becomes instructions: words at byte addresses, structures, texels. A load that says so is bounded by its view.
 */
import { ShaderError } from "../core/errors.ts";
import { sizeOfElement, type Atomic, type Block, type Load, type Memory, type Shader, type Store } from "./ir.ts";
import { addLinear, scaleLinear } from "./linear.ts";
import { LARGEST } from "./strided-range.ts";
import type { Strides } from "./structured.ts";
import { ValueFacts, type LaunchNumbers } from "./value-facts.ts";

/** Throws a ShaderError for the first access that is not proven to be inside. strides: as structured() gives them. */
export function verifyBounds(shader: Shader, strides: Strides, launch: LaunchNumbers): void {
  new BoundsVerifier(shader, strides, launch).block(shader.body);
}

const endsInJump = (block: Block): boolean => {
  const last = block.at(-1);
  return last?.kind === "break" || last?.kind === "continue";
};

class BoundsVerifier {
  readonly #shader: Shader;
  readonly #strides: Strides;
  readonly #launch: LaunchNumbers;
  readonly #facts: ValueFacts;
  readonly #bytes = new Map<Memory, number>();
  /** Accesses of each kind so far, to name one. */
  readonly #count = { load: 0, store: 0, atomic: 0 };

  constructor(shader: Shader, strides: Strides, launch: LaunchNumbers) {
    this.#shader = shader;
    this.#strides = strides;
    this.#launch = launch;
    this.#facts = new ValueFacts(shader, launch);
  }

  block(block: Block): void {
    const facts = this.#facts;
    for (const s of block)
      switch (s.kind) {
        case "load":
        case "store":
        case "atomic":
          this.#access(s);
          break;
        case "if":
          facts.where(s.condition, true, () => this.block(s.body));
          facts.where(s.condition, false, () => this.block(s.otherwise));
          // Threads that are still here have not taken that branch.
          if (endsInJump(s.body)) facts.assume(s.condition, false);
          else if (endsInJump(s.otherwise)) facts.assume(s.condition, true);
          break;
        case "for":
          facts.inLoop(s, () => this.block(s.body));
          break;
        case "while":
          facts.where(null, true, () => {
            this.block(s.head);
            facts.assume(s.condition, true);
            this.block(s.body);
          });
          break;
        case "operate":
        case "get":
        case "declare":
        case "assign":
        case "barrier":
        case "print":
        case "break":
        case "continue":
          break;
        default:
          s satisfies never;
      }
  }

  #bytesOf(memory: Memory): number {
    let bytes = this.#bytes.get(memory);
    if (bytes !== undefined) return bytes;
    if (memory.kind === "shared") bytes = 4 * memory.length;
    else {
      const { leaf } = memory.size;
      const count = leaf?.kind === "uniform" ? this.#launch.uniform(leaf.uniform) : 0;
      bytes = 4 * Math.ceil((count * sizeOfElement(memory.element)) / 4);
    }
    this.#bytes.set(memory, bytes);
    return bytes;
  }

  /** The last byte behind what an access may touch. */
  #end(s: Load | Store | Atomic, words: number): number {
    const facts = this.#facts;
    const at = facts.range(s.at);
    const stride = s.texel === true ? 16 : s.offset === undefined ? 1 : (this.#strides.get(s.memory) ?? 1);
    if (s.offset === undefined) return at.high * stride + 4 * words;
    const apart = at.high * stride + facts.range(s.offset).high + 4 * words;
    if (at.high * stride > LARGEST) return apart;
    return Math.min(apart, facts.rangeOfSum(addLinear(scaleLinear(facts.sum(s.at), stride), facts.sum(s.offset))).high + 4 * words);
  }

  #access(s: Load | Store | Atomic): void {
    const index = this.#count[s.kind]++;
    if (this.#facts.isDead || (s.kind === "load" && s.byView === true && s.memory.kind === "buffer")) return;
    const words = s.kind === "load" ? s.results.length : s.kind === "store" ? s.values.length : 1;
    const bytes = this.#bytesOf(s.memory);
    const end = this.#end(s, words);
    if (end <= bytes && !this.#facts.isDead) return;
    const problem = `${s.kind} ${index} is not proven to be inside of ${s.memory.name}: it may touch byte ${end - 1} of ${bytes}`;
    throw new ShaderError(this.#shader.name, problem, s.source);
  }
}
