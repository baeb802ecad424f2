/** Concatenates any number of flat tensors. */
import type { DType } from "../core/dtype.ts";
import type { GraphBuilder } from "./builder.generated.ts";
import type { Expr } from "./graph.ts";

/** Inputs of one JOIN; more are joined in steps. */
const FAN_IN = 512;

/** DirectML: JOIN. */
export function joinFlat(g: GraphBuilder, parts: readonly Expr[], dtype: DType): Expr {
  if (parts.length === 1) return parts[0]!;
  const length = (list: readonly Expr[]): number => list.reduce((n, x) => n + x.sizes[0]!, 0);
  if (parts.length <= FAN_IN) return g.join(parts, { axis: 0, output: { sizes: [length(parts)], dtype } });
  const groups: Expr[] = [];
  for (let i = 0; i < parts.length; i += FAN_IN) groups.push(joinFlat(g, parts.slice(i, i + FAN_IN), dtype));
  return joinFlat(g, groups, dtype);
}
