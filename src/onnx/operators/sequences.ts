/** Sequences of values, and values that may be missing. */
import * as ops from "../../ops/index.ts";
import type { Call } from "../format/call.ts";
import { Constant, type Value } from "../format/value.ts";
import { family } from "./operator.ts";

/** An index of a sequence; below zero from its end. */
function indexOf(c: Call, i: number, length: number, otherwise: number): number {
  if (!c.has(i)) return otherwise;
  const at = c.number(i);
  return at < 0 ? at + length : at;
}

function at(c: Call): Value[] {
  const list = c.sequence(0);
  const i = indexOf(c, 1, list.length, 0);
  if (i < 0 || i >= list.length) throw c.invalid("position", `in [${-list.length}, ${list.length - 1}]`, c.number(1));
  return [list[i]!];
}

/** Tensors of a sequence. */
const MAX_PARTS = 100_000;

/** One part for each element along an axis, or parts of given lengths. */
function splitToSequence(c: Call): Value[] {
  const x = c.x;
  const axis = c.axis(c.int("axis", 0), x.rank);
  if (!c.has(1)) {
    if (x.shape[axis]! > MAX_PARTS) throw c.invalid("input", `of at most ${MAX_PARTS} parts`, x.describe());
    const parts = ops.unbind(x, axis);
    return [c.flag("keepdims", true) ? parts.map((p) => ops.unsqueeze(p, axis)) : parts];
  }
  const lengths = c.numeric(1).shape.length === 0 ? c.size(c.number(1), "split", 1) : c.numbers(1).map((d) => c.size(d, "split"));
  if (typeof lengths === "number" && x.shape[axis]! > MAX_PARTS * lengths)
    throw c.invalid("split", `into at most ${MAX_PARTS} parts`, lengths);
  return [ops.split(x, lengths, axis)];
}

function concatFromSequence(c: Call): Value {
  const parts = c.sequence(0).map((v) => c.asTensor(v));
  const axis = c.int("axis", 0);
  return c.flag("new_axis") ? ops.stack(parts, axis) : ops.cat(parts, axis);
}

const whole = (n: number): Constant => Constant.scalar("int64", BigInt(n));
const exists = (v: Value | undefined): Constant => new Constant("bool", [], Uint8Array.of((v ?? null) === null ? 0 : 1));

export const sequences = family(
  {
    ConcatFromSequence: concatFromSequence,
    Optional: (c) => [c.inputs[0] ?? null],
    OptionalGetElement: (c) => {
      const v = c.inputs[0] ?? null;
      if (v === null) throw c.invalid("input", "a value", "nothing");
      return [v];
    },
    OptionalHasElement: (c) => exists(c.inputs[0]),
    SequenceAt: at,
    SequenceConstruct: (c) => [c.inputs],
    SequenceEmpty: () => [[]],
    SequenceErase: (c) => [c.sequence(0).toSpliced(indexOf(c, 1, c.sequence(0).length, c.sequence(0).length - 1), 1)],
    SequenceInsert: (c) => [c.sequence(0).toSpliced(indexOf(c, 2, c.sequence(0).length, c.sequence(0).length), 0, c.inputs[1] ?? null)],
    SequenceLength: (c) => whole(c.sequence(0).length),
    SplitToSequence: splitToSequence,
  },
  { isPure: false, isRaw: true },
);
