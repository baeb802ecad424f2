/** Cases outside the library's scope, decided by their types alone. */
import { typeName } from "../../src/onnx/format/value.ts";
import { typesOf, type Case } from "./cases.ts";

/** Operators that only move or convert elements: they take float64, which DirectML copies and converts but does not compute with. */
const CARRIES = new Set([
  "BitCast",
  "Cast",
  "CastLike",
  "Compress",
  "Concat",
  "Constant",
  "ConstantOfShape",
  "DepthToSpace",
  "Expand",
  "EyeLike",
  "Flatten",
  "Gather",
  "GatherElements",
  "GatherND",
  "Identity",
  "Reshape",
  "Shape",
  "Size",
  "Slice",
  "SpaceToDepth",
  "Split",
  "Squeeze",
  "Tile",
  "Transpose",
  "Unsqueeze",
  "Where",
]);
const UNKNOWN = /^complex/;
const DOUBLE = 11;

/** Why a case is out of scope, or null. */
export function outOfScope(c: Case): string | null {
  const types = [...typesOf(c.model.graph!)];
  const kind = types.find((t) => t.kind !== "tensor");
  if (kind !== undefined) return kind.kind === "sequence" ? "sequences" : kind.kind === "optional" ? "optional values" : "maps";
  const unknown = types.map((t) => typeName(t.type)).find((name) => UNKNOWN.test(name));
  if (unknown !== undefined) return `elements of type ${unknown.startsWith("string") ? "string" : unknown}`;
  const computes = c.model.graph!.nodes.some((n) => !CARRIES.has(n.type));
  if (types.some((t) => t.type === DOUBLE) && computes) return "float64, which DirectML has for copies only";
  return null;
}
