/** When tensors of a graph's run are freed: with their last name, and with the last sequence that has them. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { Pairs, type Value } from "../../src/onnx/format/value.ts";
import { Intermediates } from "../../src/onnx/intermediates.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { attribute, graph, model, node, tensor, value, type Message } from "./write.ts";

/** An input or output of which the file says nothing more. */
const untyped =
  (name: string): Message =>
  (pbf) =>
    pbf.writeStringField(1, name);

eachDevice("intermediates of a graph", (device) => {
  const one = (): dx.Tensor => dx.ones([1], { device });
  const give = (made: Intermediates, ...values: (() => Value)[]): readonly Value[] => {
    const results = made.make(() => values.map((value) => value()));
    for (const v of results) made.count(v, 1);
    return results;
  };

  test("are freed with their last name, or with the last sequence that has them", () =>
    clean(device, async () => {
      const made = new Intermediates();
      const [a, b] = give(made, one, one) as dx.Tensor[];
      const [pair] = give(made, () => [a!, b!]);
      const [longer] = give(made, () => [...(pair as dx.Tensor[]), one()]);
      const c = (longer as dx.Tensor[])[2]!;
      made.count(a, -1);
      expect(a!.isDisposed).toBe(false); // two sequences have it
      made.count(pair, -1);
      expect([a!.isDisposed, b!.isDisposed]).toEqual([false, false]);
      made.count(c, 1); // what SequenceAt gives
      made.count(longer, -1);
      expect([a!, b!, c].map((t) => t.isDisposed)).toEqual([true, false, false]);
      made.count(b, -1);
      made.count(c, -1);
      expect([b!.isDisposed, c.isDisposed]).toEqual([true, true]);
    }));

  test("of long sequences, of maps in sequences, and of two names for one sequence", () =>
    clean(device, async () => {
      const made = new Intermediates();
      const [many] = give(made, () => Array.from({ length: 40 }, one));
      const list = many as dx.Tensor[];
      const [rest] = give(made, () => list.slice(1));
      made.count(many, 1);
      made.count(many, -1);
      expect(list.some((t) => t.isDisposed)).toBe(false);
      made.count(many, -1);
      expect(list.map((t) => t.isDisposed)).toEqual(list.map((_, i) => i === 0));
      const [maps] = give(made, () => [new Pairs([1n], one()), new Pairs([2n], one())]);
      const inMaps = (maps as Pairs[]).map((p) => p.values as dx.Tensor);
      dx.scope(() => {
        made.end([rest]);
        expect([list[5]!.isDisposed, ...inMaps.map((t) => t.isDisposed)]).toEqual([false, true, true]);
      });
      expect(list.every((t) => t.isDisposed)).toBe(true); // they belonged to the scope around
    }));

  test("are what a loop appends to a sequence, from which it takes the oldest away", () =>
    clean(device, async () => {
      const body = graph({
        inputs: [value("i", 7, []), value("c", 9, []), untyped("s")],
        outputs: [value("c2", 9, []), untyped("s2")],
        initializers: [tensor("oldest", [], BigInt64Array.of(0n))],
        nodes: [
          node("Identity", ["c"], ["c2"]),
          node("Cast", ["i"], ["f"], [attribute.int("to", 1)]),
          node("Add", ["x", "f"], ["v"]),
          node("SequenceInsert", ["s", "v"], ["longer"]),
          node("SequenceInsert", ["longer", "v"], ["longest"]),
          node("SequenceErase", ["longest", "oldest"], ["s2"]),
        ],
      });
      using loaded = await dx.io.onnx.load(
        model({
          opset: 18,
          graph: graph({
            inputs: [value("x", 1, [1])],
            outputs: [value("y", 1, ["n"])],
            initializers: [tensor("count", [], BigInt64Array.of(70n))],
            nodes: [
              node("SequenceEmpty", [], ["s"]),
              node("Loop", ["count", "", "s"], ["end"], [attribute.graph("body", body)]),
              node("ConcatFromSequence", ["end"], ["y"], [attribute.int("axis", 0)]),
            ],
          }),
        }),
        { device },
      );
      const x = dx.tensor([1000], { device });
      const want = Array.from({ length: 140 }, (_, i) => 1000 + (i >> 1)).slice(70);
      for (let call = 0; call < 3; call++) {
        using y = loaded.call({ x }, { eager: call === 0 }).y!;
        expect(numbers(y)).toEqual(want);
      }
      loaded.dispose();
    }));
});
