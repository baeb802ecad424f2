/** A data set in TypeScript: what its samples are, a loader's batches are. */
interface Options {
  readonly length: number;
}

export default class Typed {
  readonly length: number;
  readonly kind: "typed" = "typed" as const;
  constructor({ length }: Options) {
    this.length = length;
  }
  get(index: number, { random }: { random(): number }): { image: { data: Float32Array; shape: number[] }; label: number } {
    return { image: { data: Float32Array.of(index, random()), shape: [2, 1] }, label: index };
  }
}
