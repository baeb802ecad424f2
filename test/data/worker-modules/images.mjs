/** A data set of plain values with all kinds of samples, which fails as its options ask. */
export default class Images {
  constructor({ length, fail, reads }) {
    if (fail?.at === "start") throw new RangeError("no such folder", { cause: new Error("ENOENT") });
    this.length = length;
    this.fail = fail;
    this.reads = reads;
  }

  async get(index, { seed, epoch, random }) {
    if (this.reads !== undefined) Atomics.add(this.reads, 0, 1);
    const isHere = this.fail?.index === index;
    if (isHere && this.fail.at === "sample") throw new RangeError(`sample ${index} is broken`);
    if (isHere && this.fail.at === "exit") process.exit(3);
    if (isHere && this.fail.at === "throw") setImmediate(() => { throw new Error("nobody catches this"); }); // prettier-ignore
    if (isHere && this.fail.at === "throw") await new Promise(() => {});
    if (isHere && this.fail.at === "memory") for (const all = []; ;) all.push(Array.from({ length: 1e5 }, () => ({})));
    if (isHere && this.fail.at === "hang") for (;;);
    if (isHere && this.fail.at === "never") await new Promise(() => {});
    if (isHere && this.fail.at === "collate") return { x: "text" };
    const x = { data: Float32Array.from({ length: 6 }, random), shape: [1, 2, 3] };
    return { x, label: index, rest: [index % 2 === 0, BigInt(index), Float32Array.of(index, epoch)], seed: seed / 2 ** 33 };
  }
}
