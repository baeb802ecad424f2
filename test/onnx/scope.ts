/** Cases outside the library's scope, decided by their types alone. */
import { typeName } from "../../src/onnx/format/value.ts";
import { ON_HOST } from "../../src/onnx/operators/float64-host.ts";
import { typesOf, type Case } from "./cases.ts";

/** Operators that take float64: they move or convert elements, or compute on the host. */
const CARRIES = new Set([
  ...ON_HOST,
  "LabelEncoder",
  "TreeEnsemble",
  "TreeEnsembleClassifier",
  "TreeEnsembleRegressor",
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
