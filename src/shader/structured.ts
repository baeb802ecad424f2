/**
 * How memory is seen. Where all wide accesses to it are surely aligned, as structures of its widest access, as DirectML's own addition sees it: on
 * an H200 over Vulkan GEMMs became 3 to 13 % faster. libvkd3d makes one instruction for each word of raw and structured buffers, which keeps copies
 * at 3.0 TB/s there; a texel of four words is moved by one, and copies reach 4.1 TB/s, as CUDA's do. So where Direct3D runs over Vulkan, aligned
 * accesses of four words to buffers are texels.
 */
import type { Builder } from "./builder.ts";
import { allStatements, constantOf, type Load, type Memory, type Shader, type Statement, type Store, type Value } from "./ir.ts";
import { rewrite, Rewriter } from "./simplify.ts";

/** Bytes of a structure; what is left out is raw. */
export type Strides = ReadonlyMap<Memory, number>;

const wordsOf = (s: Load | Store): number => (s.kind === "load" ? s.results.length : s.values.length);

/** Buffers with aligned accesses of four words. Other accesses to them go by another view, so none of them may read what the shader writes. */
function texelsOf(shader: Shader): Set<Memory> {
  const wide = new Set<Memory>();
  const other = new Set<Memory>();
  const read = new Set<Memory>();
  const written = new Set<Memory>();
  for (const s of allStatements(shader.body)) {
    if ((s.kind !== "load" && s.kind !== "store" && s.kind !== "atomic") || s.memory.kind !== "buffer") continue;
    (isTexel(s) ? wide : other).add(s.memory);
    if (s.kind !== "store") read.add(s.memory);
    if (s.kind !== "load") written.add(s.memory);
  }
  return new Set([...wide].filter((m) => !other.has(m) || !read.has(m) || !written.has(m)));
}

const isTexel = (s: Statement): s is Load | Store => (s.kind === "load" || s.kind === "store") && wordsOf(s) === 4 && s.aligned === true;

/** Of a lowered shader; buffers that are read as texels have no entry. */
function stridesOf(shader: Shader, texels: ReadonlySet<Memory>): Strides {
  const widest = new Map<Memory, number>();
  const raw = new Set<Memory>();
  for (const s of allStatements(shader.body)) {
    if (s.kind === "atomic") raw.add(s.memory);
    if ((s.kind !== "load" && s.kind !== "store") || texels.has(s.memory)) continue;
    const words = wordsOf(s);
    if (words === 3 || s.aligned !== true) raw.add(s.memory);
    widest.set(s.memory, Math.max(words, widest.get(s.memory) ?? 1));
  }
  const isWhole = (memory: Memory, words: number): boolean => memory.kind === "buffer" || memory.length % words === 0;
  const fits = [...widest].filter(([memory, words]) => words > 1 && !raw.has(memory) && isWhole(memory, words));
  return new Map(fits.map(([memory, words]) => [memory, 4 * words]));
}

/** v / 2^shift without a shift to the right, behind which drivers see no multiples; null: it is not known to be one. For exact v. */
function quotient(b: Builder, v: Value, shift: number): Value | null {
  const n = constantOf(v);
  if (n !== null) return n % 2 ** shift === 0 ? b.constant("u32", n / 2 ** shift) : null;
  if (shift === 0) return v;
  const made = b.madeBy(v);
  if (made === undefined) return null;
  const [x, y] = made.args as readonly [Value, Value];
  const by = made.args.length === 2 ? constantOf(y) : null;
  if (made.name === "shl.u32" && by !== null) {
    if (by >= shift) return b.operate("shl.u32", x, b.constant("u32", by - shift));
    return quotient(b, x, shift - by);
  }
  if (made.name === "mul.u32") {
    const first = quotient(b, x, shift);
    if (first !== null) return b.operate("mul.u32", first, y);
    const second = quotient(b, y, shift);
    return second === null ? null : b.operate("mul.u32", x, second);
  }
  if (made.name !== "add.u32") return null;
  const [first, second] = [quotient(b, x, shift), quotient(b, y, shift)];
  return first === null || second === null ? null : b.operate("add.u32", first, second);
}

class Structuring extends Rewriter {
  readonly #strides: Strides;
  readonly #texels: ReadonlySet<Memory>;

  constructor(builder: Builder, strides: Strides, texels: ReadonlySet<Memory>) {
    super(builder);
    this.#strides = strides;
    this.#texels = texels;
  }

  override statement(s: Statement): void {
    if (s.kind !== "load" && s.kind !== "store") {
      super.statement(s);
      return;
    }
    const isTexelOfMany = isTexel(s) && this.#texels.has(s.memory);
    const stride = isTexelOfMany ? 16 : this.#strides.get(s.memory);
    if (stride === undefined) {
      super.statement(s);
      return;
    }
    const b = this.builder;
    const u = (n: number): Value => b.constant("u32", n);
    const byte = this.value(s.at);
    const shift = Math.log2(stride);
    const at = (s.exact === true ? quotient(b, byte, shift) : null) ?? b.operate("shr.u32", byte, u(shift));
    const inside = 4 * wordsOf(s) === stride ? u(0) : b.operate("and.u32", byte, u(stride - 1));
    const where = isTexelOfMany ? ({ at, texel: true } as const) : { at, offset: inside };
    if (s.kind === "store") b.add({ ...s, ...where, values: s.values.map((v) => this.value(v)) });
    else b.add({ ...s, ...where, results: s.results.map((v) => this.redefine(v)) });
  }
}

export interface Structured {
  readonly shader: Shader;
  readonly strides: Strides;
  /** Memory that is seen as texels, and in other ways besides where it has other accesses too. */
  readonly texels: ReadonlySet<Memory>;
}

export function structured(shader: Shader, seesTexels: boolean): Structured {
  const texels = seesTexels ? texelsOf(shader) : new Set<Memory>();
  const strides = stridesOf(shader, texels);
  return { shader: rewrite(shader, (b) => new Structuring(b, strides, texels)), strides, texels };
}
