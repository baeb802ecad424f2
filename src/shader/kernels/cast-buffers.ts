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
