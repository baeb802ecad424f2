/** Random shaders without races: each thread writes its own elements, shared memory is exchanged across barriers. */
import { Scope } from "../../src/shader/language.ts";
import type { Shader } from "../../src/shader/ir.ts";
import { Float, Int, Uint, type Bool, type Typed } from "../../src/shader/numbers.ts";

/** A generator of numbers from a seed (mulberry32). */
export function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

export const THREADS = 8;
export const GROUPS = 3;
/** Elements of the buffers: fewer and more than there are threads, no multiple of a vector. */
export const SIZES = { x: 29, h: 23, i: 21, y: 26, k: 27, n: 19 } as const;

const constants = [0, 1, -1, 0.5, 2, -3.25, 1e-3, 1e6];

class Maker {
  readonly #s: Scope<{ x: "f32"; h: "f16"; i: "i32"; y: "f32"; k: "f16"; n: "u32" }, { scale: "f32"; count: "u32" }>;
  readonly #random: (below: number) => number;
  readonly #floats: Float[];
  readonly #uints: Uint[];
  readonly #ints: Int[];
  /** Wide accesses begin at multiples of their sizes, so that memory is seen as structures. */
  readonly #aligns: boolean;
  /** They are of 16 bytes, so that they are texels. */
  readonly #isWide: boolean;
  /** Statements that may still be made. */
  #budget = 40;

  constructor(seed: number) {
    this.#random = generator(seed);
    this.#aligns = seed % 2 === 0;
    this.#isWide = seed % 4 === 0;
    this.#s = new Scope(
      `random${seed}`,
      THREADS,
      {
        x: { element: "f32", isWritable: false },
        h: { element: "f16", isWritable: false },
        i: { element: "i32", isWritable: false },
        y: { element: "f32", isWritable: true },
        k: { element: "f16", isWritable: true },
        n: { element: "u32", isWritable: true },
      },
      { scale: "f32", count: "u32" },
      false,
    );
    const s = this.#s;
    this.#floats = [s.f32(0.75), s.params.scale];
    this.#uints = [s.thread, s.local, s.params.count, s.u32(3)];
    this.#ints = [s.i32(-7), s.thread.toInt()];
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random(list.length)]!;
  }

  #float(): Float {
    return this.#random(5) === 0 ? this.#s.f32(this.#pick(constants)) : this.#pick(this.#floats);
  }
  #uint(): Uint {
    return this.#random(5) === 0 ? this.#s.u32(this.#random(40)) : this.#pick(this.#uints);
  }
  #int(): Int {
    return this.#random(5) === 0 ? this.#s.i32(this.#random(40) - 20) : this.#pick(this.#ints);
  }
  #bool(): Bool {
    const which = this.#random(5);
    if (which === 0) return this.#float().lt(this.#float());
    if (which === 1) return this.#uint().ge(this.#uint());
    if (which === 2) return this.#int().eq(this.#int());
    return which === 3 ? this.#uint().lt(this.#uint()).and(this.#float().ne(this.#float())) : this.#int().gt(this.#int()).not();
  }

  #compute(): void {
    const [a, b] = [this.#float(), this.#float()];
    const [u, v] = [this.#uint(), this.#uint()];
    const [i, j] = [this.#int(), this.#int()];
    const made: (() => Typed)[] = [
      () => a.add(b), () => a.sub(b), () => a.mul(b), () => a.min(b), () => a.max(b), () => a.neg(), () => a.abs(), () => a.floor(),
      () => a.ceil(), () => a.trunc(), () => a.round(), () => this.#bool().select(a, b), () => u.toFloat(), () => i.toFloat(),
      () => u.and(0xffff).fromHalf(), () => a.abs().min(1e6).sqrt(), () => a.clamp(-4, 4),
      () => u.add(v), () => u.sub(v), () => u.mul(v), () => u.div(v.or(1)), () => u.mod(v.or(1)), () => u.div(3), () => u.mod(8),
      () => u.min(v), () => u.max(v), () => u.and(v), () => u.or(v), () => u.xor(v), () => u.not(), () => u.shiftLeft(v),
      () => u.shiftRight(v), () => u.countBits(), () => u.reverseBits(), () => a.clamp(-1e4, 1e4).bits(), () => this.#bool().toUint(),
      () => a.clamp(-1e4, 1e4).toHalf(), () => a.clamp(0, 1e6).toUint(), () => this.#bool().select(u, v),
      () => i.add(j), () => i.sub(j), () => i.mul(j), () => i.min(j), () => i.max(j), () => i.neg(), () => i.not(), () => i.and(j),
      () => i.or(j), () => i.xor(j), () => i.shiftLeft(u), () => i.shiftRight(u), () => u.toInt(), () => a.clamp(-1e6, 1e6).toInt(),
      () => this.#bool().select(i, j),
    ]; // prettier-ignore
    this.#keep(this.#pick(made)());
  }

  #keep(x: Typed): void {
    if (x instanceof Float) this.#floats.push(x);
    else if (x instanceof Uint) this.#uints.push(x);
    else if (x instanceof Int) this.#ints.push(x);
  }

  #load(): void {
    const { x, h, i } = this.#s.buffers;
    const at = this.#random(3) === 0 ? this.#uint() : this.#s.thread.add(this.#random(6));
    const which = this.#random(5);
    if (which === 0) this.#keep(x.load(at));
    else if (which === 1) this.#keep(h.load(at));
    else if (which === 2) this.#keep(i.load(at));
    else if (which === 3 && this.#aligns)
      x.loads(at.and(0xfffffffc), this.#pick(this.#isWide ? [4] : [2, 4])).forEach((v) => this.#keep(v));
    else if (which === 3) x.loads(at, this.#pick([2, 3, 4])).forEach((v) => this.#keep(v));
    else if (this.#isWide) h.loads(this.#s.thread.mul(8), 8).forEach((v) => this.#keep(v));
    else if (this.#aligns) h.loads(this.#s.thread.mul(4).add(4 * this.#random(3)), this.#pick([2, 4])).forEach((v) => this.#keep(v));
    else h.loads(this.#s.thread.mul(2).add(2 * this.#random(4)), this.#pick([2, 4, 8])).forEach((v) => this.#keep(v));
  }

  /** Values made inside are forgotten: they are not seen outside. */
  #inside(fill: () => void): () => void {
    return () => {
      const [f, u, i] = [this.#floats.length, this.#uints.length, this.#ints.length];
      fill();
      [this.#floats.length, this.#uints.length, this.#ints.length] = [f, u, i];
    };
  }

  #part(depth: number, together: boolean): void {
    const s = this.#s;
    for (let n = 2 + this.#random(5); n > 0 && this.#budget > 0; n--) {
      this.#budget--;
      const which = this.#random(depth < 3 ? 14 : 9);
      if (which < 6) this.#compute();
      else if (which < 9) this.#load();
      else if (which === 9)
        s.if(
          this.#bool(),
          this.#inside(() => this.#part(depth + 1, false)),
          this.#inside(() => this.#part(depth + 1, false)),
        );
      else if (which === 10) this.#accumulate(depth);
      else if (which === 11) this.#search(depth);
      else if (which === 12 && together) this.#exchange();
      else this.#compute();
    }
  }

  #accumulate(depth: number): void {
    const s = this.#s;
    const sum = s.variable(this.#float());
    const count = s.variable(this.#uint());
    const end = this.#random(2) === 0 ? this.#random(5) : this.#uint().and(7);
    s.for(
      this.#random(3),
      end,
      (index) =>
        this.#inside(() => {
          this.#uints.push(index);
          this.#floats.push(sum.value);
          this.#part(depth + 1, false);
          if (this.#random(3) === 0) s.if(this.#bool(), () => (this.#random(2) === 0 ? s.break() : s.continue()));
          sum.value = sum.value.mul(0.5).add(this.#float().clamp(-100, 100));
          count.value = count.value.add(index);
        })(),
      { step: 1 + this.#random(2), ...(this.#random(2) === 0 ? { unroll: this.#random(2) === 0 } : {}) },
    );
    this.#keep(sum.value);
    this.#keep(count.value);
  }

  #search(depth: number): void {
    const s = this.#s;
    const left = s.variable(this.#uint().and(15));
    const last = s.variable(this.#int());
    s.while(
      () => left.value.gt(2),
      this.#inside(() => {
        this.#part(depth + 1, false);
        last.value = last.value.xor(this.#int());
        left.value = left.value.div(2);
      }),
    );
    this.#keep(left.value);
    this.#keep(last.value);
  }

  #exchange(): void {
    const s = this.#s;
    const tile = s.shared("f32", THREADS);
    tile.store(s.local, this.#float());
    s.barrier();
    this.#keep(tile.load(this.#uint()));
    this.#keep(tile.load(s.local.xor(1 + this.#random(3))));
    if (this.#aligns) tile.loads(s.local.and(4), 4).forEach((v) => this.#keep(v));
    const totals = s.shared("u32", 2);
    s.if(s.local.lt(2), () => totals.store(s.local, 0));
    s.barrier();
    totals.atomicAdd(this.#uint().and(1), this.#uint());
    totals.atomicMax(1, this.#uint());
    s.barrier();
    this.#keep(totals.load(0));
  }

  make(): Shader {
    const s = this.#s;
    this.#part(0, true);
    const { y, k, n } = s.buffers;
    const four = [this.#float(), this.#float(), this.#float()].map((v) => v.clamp(-1000, 1000));
    if (this.#isWide) y.stores(s.thread.mul(4), [this.#float().clamp(-9, 9), ...four]);
    else if (this.#aligns) y.stores(s.thread.mul(2), four.slice(1));
    else y.stores(s.thread.mul(3), four);
    k.store(s.thread, this.#float().clamp(-1000, 1000));
    k.stores(s.thread.mul(2).add(24), [this.#float().clamp(-9, 9), this.#float().clamp(-9, 9)]);
    s.if(s.thread.lt(10), () => n.store(s.thread, this.#uint().xor(this.#int().bits())));
    n.atomicAdd(s.u32(10).add(this.#uint().and(15)), this.#uint());
    return s.finish();
  }
}

/** The shader of a seed: the same at every call. */
export const randomShader = (seed: number): Shader => new Maker(seed).make();

/** Words of the buffers before a launch. */
export function randomBuffers(seed: number): { [name: string]: Uint32Array } {
  const random = generator(seed ^ 0x5bd1e995);
  const floats = (n: number): Uint32Array => new Uint32Array(Float32Array.from({ length: n }, () => (random(2000) - 1000) / 64).buffer);
  // Halves of moderate size.
  const halves = (n: number): Uint32Array =>
    Uint32Array.from({ length: Math.ceil(n / 2) }, () => ((0x3000 + random(0x1800)) | ((0xb000 + random(0x1800)) << 16)) >>> 0);
  const words = (n: number): Uint32Array => Uint32Array.from({ length: n }, () => random(2 ** 32) >>> random(32));
  return {
    x: floats(SIZES.x),
    h: halves(SIZES.h),
    i: words(SIZES.i),
    y: new Uint32Array(SIZES.y),
    k: new Uint32Array(Math.ceil(SIZES.k / 2)),
    n: new Uint32Array(SIZES.n),
  };
}

export const randomUniforms = (seed: number): { [name: string]: number } => ({
  ...Object.fromEntries(Object.entries(SIZES).map(([name, size]) => [`${name}.size`, size])),
  scale: (generator(seed)(100) - 50) / 8,
  count: generator(seed + 1)(12),
});
