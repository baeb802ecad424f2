/** Which axes of a model's inputs have any length: those for whose lengths one program is made by buckets. */
import { ValueError } from "../core/errors.ts";
import type { OnnxOptions, OnnxValue } from "./model.ts";

type Asked = NonNullable<OnnxOptions["dynamic"]>;

/** Axes by the name of the input. */
export type InputAxes = ReadonlyMap<string, readonly number[]>;

function byNames(inputs: readonly OnnxValue[], names: readonly string[]): InputAxes {
  const known = [...new Set(inputs.flatMap(({ shape }) => (shape ?? []).filter((d) => typeof d === "string")))];
  for (const name of names)
    if (!known.includes(name))
      throw new ValueError("onnx.load", "dynamic", `names of lengths of inputs: ${known.join(", ") || "there are none"}`, name);
  return new Map(inputs.map(({ name, shape }) => [name, (shape ?? []).flatMap((d, axis) => (names.includes(d as string) ? [axis] : []))]));
}

function byInputs(inputs: readonly OnnxValue[], asked: Readonly<Record<string, readonly number[]>>): InputAxes {
  const axes = new Map<string, readonly number[]>();
  for (const [name, list] of Object.entries(asked)) {
    const input = inputs.find((i) => i.name === name);
    if (input === undefined) throw new ValueError("onnx.load", "dynamic", `by inputs: ${inputs.map((i) => i.name).join(", ")}`, name);
    const open = input.shape?.flatMap((d, axis) => (typeof d === "number" ? [] : [axis])) ?? null;
    if (!Array.isArray(list) || !list.every((axis) => Number.isInteger(axis) && axis >= 0 && (open?.includes(axis) ?? true)))
      throw new ValueError(
        "onnx.load",
        `dynamic.${name}`,
        open === null ? "axes" : `of the axes without a length: ${open.join(", ")}`,
        list,
      );
    axes.set(name, list);
  }
  return axes;
}

export function inputAxes(inputs: readonly OnnxValue[], asked: Asked | undefined): InputAxes {
  if (asked === undefined) return new Map();
  return Array.isArray(asked)
    ? byNames(inputs, asked as readonly string[])
    : byInputs(inputs, asked as Readonly<Record<string, readonly number[]>>);
}
