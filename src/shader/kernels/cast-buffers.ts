/** Buffers that hold the other float type than a kernel computes in: what it loads from them, and stores into them, is cast, and rounded as a cast rounds. */
import { BufferElements, type Parameters, type Scope } from "../language.ts";
import type { Element } from "../ir.ts";
import { Float, type Uint } from "../numbers.ts";
import { roundedToHalf } from "../operations/code.ts";

type Loaded = ReturnType<BufferElements<"f32">["loadsInside"]>;

/** A buffer of float32 whose numbers a kernel of float16 sees: each is rounded to the nearest float16. */
class HalvesInFloats extends BufferElements<"f32"> {
  override loads(at: Uint | number, count: number): Loaded {
    return rounded(super.loads(at, count));
  }
  override loadsInside(at: Uint | number, count: number): Loaded {
    return rounded(super.loadsInside(at, count));
  }
  override loadsInView(at: Uint | number, count: number): Loaded {
    return rounded(super.loadsInView(at, count));
  }
  override stores(at: Uint | number, values: readonly (Float | number)[]): void {
    super.stores(at, values.map((v) => (v instanceof Float ? roundedToHalf(v) : v))); // prettier-ignore
  }
  override storesInside(at: Uint | number, values: readonly (Float | number)[]): void {
    super.storesInside(at, values.map((v) => (v instanceof Float ? roundedToHalf(v) : v))); // prettier-ignore
  }
}

const rounded = (values: Loaded): Loaded => values.map((v) => roundedToHalf(v));

/** A buffer of words of two bfloat16 numbers each, which a kernel of float32 reads by the numbers. It reads one, or an even number from an even one on. */
class Bfloat16InWords extends BufferElements<"f32"> {
  override loadsInside(at: Uint, count: number): Loaded {
    const words = super.loadsInside(at.shiftRight(1), Math.ceil(count / 2)) as unknown as readonly Uint[];
    const [low, high] = [(w: Uint): Uint => w.shiftLeft(16), (w: Uint): Uint => w.and(0xffff0000)];
    if (count === 1) return words.map((w) => at.and(1).eq(0).select(low(w), high(w)).asFloat());
    return words.flatMap((w) => [low(w).asFloat(), high(w).asFloat()]);
  }
}

/** Makes buffers of words, which a kernel loads from inside alone, those of the bfloat16 numbers in them. */
export function holdBfloat16(buffers: { readonly [name: string]: BufferElements<"f32"> }, names: readonly string[]): void {
  const all = buffers as { [name: string]: BufferElements<"f32"> };
  for (const name of names) all[name] = new Bfloat16InWords(all[name]!.context, all[name]!.memory);
}

/** What a buffer that is cast has in memory. */
export function castElement(element: Element): Element {
  if (element !== "f32" && element !== "f16") throw new TypeError(`a cast of ${element} in a launch`);
  return element === "f32" ? "f16" : "f32";
}

/** Makes the buffers of a scope those that round, where float32 is in memory. float16 in memory is read as it is, and written to the nearest. */
export function holdCast<B extends { readonly [name: string]: Element }>(
  buffers: Scope<B, Parameters>["buffers"],
  names: readonly string[],
): void {
  const all = buffers as { [name: string]: BufferElements<Element> };
  for (const name of names) {
    const { context, memory } = all[name]!;
    if (memory.element === "f32") all[name] = new HalvesInFloats(context, memory) as unknown as BufferElements<Element>;
  }
}
