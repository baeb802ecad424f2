/** Reading into memory of the caller: every dtype, views, parts of an array, shared memory, and what is refused. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";

eachDevice("dataIntoSync", (device) => {
  it.each(["float32", "float16", "bfloat16", "int64", "uint64", "int32", "int16", "int8", "uint8", "bool", "float64"] as const)(
    "gives what dataSync gives, in %s",
    (dtype) => {
      const x = dx.tensor([1, 0, 3, 1, 5, 6, 7, 0, 1], { dtype: "float32", device }).to(dtype);
      const expected = x.dataSync();
      const into = new (expected.constructor as new (n: number) => typeof expected)(9);
      for (let call = 0; call < 3; call++) expect(x.dataIntoSync(into)).toBe(into);
      expect(into).toEqual(expected);
      const bytes = new Uint8Array(expected.byteLength + 8).fill(77);
      x.dataIntoSync(bytes.subarray(3, 3 + expected.byteLength));
      expect(bytes.subarray(3, 3 + expected.byteLength)).toEqual(new Uint8Array(expected.buffer, expected.byteOffset, expected.byteLength));
      // Bytes before and behind it stay as they are.
      expect([...bytes.subarray(0, 3), ...bytes.subarray(3 + expected.byteLength)]).toEqual(new Array(8).fill(77));
    },
  );

  it("reads views, empty tensors, large ones, and into shared memory", () => {
    const x = dx.arange(24, { dtype: "float32", device }).reshape([4, 6]);
    expect(x.t().narrow(0, 1, 2).dataIntoSync(new Float32Array(8))).toEqual(Float32Array.of(1, 7, 13, 19, 2, 8, 14, 20));
    expect(dx.zeros([0, 3], { device }).dataIntoSync(new Float32Array(0))).toEqual(new Float32Array(0));
    expect(dx.tensor(4, { dtype: "float32", device }).dataIntoSync(new Uint8Array(4))).toEqual(new Uint8Array(Float32Array.of(4).buffer));
    const large = dx.arange(3_000_001, { dtype: "float32", device });
    const into = new Float32Array(new SharedArrayBuffer(4 * 3_000_001));
    large.dataIntoSync(into);
    expect([into[0], into[1_234_567], into[3_000_000]]).toEqual([0, 1_234_567, 3_000_000]);
  });

  it("refuses arrays of another kind or size, and writes nothing then", () => {
    const x = dx.ones([3], { device });
    const detached = new Float32Array(3);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    for (const into of [
      new Float32Array(4),
      new Float64Array(3),
      new Int32Array(3),
      new Uint8Array(11),
      detached,
      [1, 2, 3],
      null,
      undefined,
    ]) {
      expect(() => x.dataIntoSync(into as Float32Array)).toThrow(dx.ValueError);
      expect(() => x.dataIntoSync(into as Float32Array)).toThrow(
        /^dataIntoSync: into must be (a typed array|a Float32Array, or a Uint8Array, of 12 bytes); received/,
      );
    }
    const gone = dx.ones([3], { device });
    gone.dispose();
    const untouched = new Float32Array(3).fill(9);
    expect(() => gone.dataIntoSync(untouched)).toThrow(/dataIntoSync/);
    expect(() => dx.compile((t: dx.Tensor) => (t.dataIntoSync(untouched), t.add(1)))(x)).toThrow(dx.TraceError);
    expect(() => dx.zeros([3], { device: "meta" }).dataIntoSync(untouched)).toThrow(/meta/);
    expect(untouched).toEqual(new Float32Array(3).fill(9));
  });
});
