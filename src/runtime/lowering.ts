/**
 * The only file that handles dtypes in which DirectML does not compute. bfloat16 is widened to float32 where it enters an operation and
 * rounded where it leaves it, so that every `lower` sees float32; float64 is never computed in fewer digits than it has.
 */
import type { Definition, TensorSpec } from "../core/definition.ts";
import { UnsupportedError } from "../core/errors.ts";
import { narrowToBfloat16, roundToBfloat16, widenBfloat16 } from "../graph/bfloat16.ts";
import type { GraphBuilder } from "../graph/builder.generated.ts";
import type { Expr } from "../graph/graph.ts";
import { sizeOf } from "../core/shape.ts";

/** Adds an operation's nodes to a graph: one where the device has a kernel for the whole of it. */
export function lowerOperation<A>(
  g: GraphBuilder,
  definition: Definition<A>,
  inputs: readonly Expr[],
  attrs: A,
  outputs: readonly TensorSpec[],
): readonly Expr[] {
  if (definition.traits.handlesPadding !== true) {
    const sizes = outputs.map(({ dtype, shape }) => ({ dtype, sizes: shape }));
    const results = g.operation(definition.name, (attrs ?? {}) as Record<string, unknown>, inputs, sizes);
    if (results !== null) return results;
  }
  if (definition.traits.carries === true) return definition.lower(g, inputs, attrs, outputs);
  const isHalf = (x: { readonly dtype: string }): boolean => x.dtype === "bfloat16";
  if (!inputs.some(isHalf) && !outputs.some(isHalf)) {
    const first = g.graph.nodes.length;
    const results = definition.lower(g, inputs, attrs, outputs);
    if (inputs.some((x) => x.dtype === "float64")) requireDigits(g, definition.name, first);
    return results;
  }
  const results = definition.lower(
    g,
    inputs.map((x) => (isHalf(x) ? widenBfloat16(g, x) : x)),
    widenedAttributes(attrs),
    outputs.map((s) => (isHalf(s) ? { ...s, dtype: "float32" } : s)),
  );
  return results.map((x, i) => {
    const { dtype, shape } = outputs[i]!;
    // A layout that follows from the dtype's size is one of the operation's own dtype: it has to carry it.
    if (sizeOf(x.sizes) !== sizeOf(shape))
      throw new TypeError(`${definition.name}: ${sizeOf(x.sizes)} elements instead of ${sizeOf(shape)}`);
    return dtype === "bfloat16" ? narrowToBfloat16(g, roundToBfloat16(g, x)) : x;
  });
}

/** An attribute that says in which dtype to compute says so of the graph. */
function widenedAttributes<A>(attrs: A): A {
  if (typeof attrs !== "object" || attrs === null || !("dtype" in attrs) || attrs.dtype !== "bfloat16") return attrs;
  return { ...attrs, dtype: "float32" };
}

/** Throws where float64 became float32 on the way. */
function requireDigits(g: GraphBuilder, operation: string, first: number): void {
  for (const node of g.graph.nodes.slice(first)) {
    const [from, to] = [node.inputs[0]?.dtype, node.outputs[0]?.dtype];
    if (node.operator === "CAST" && from === "float64" && (to === "float32" || to === "float16"))
      throw new UnsupportedError({
        operation,
        argument: node.operator,
        expected: "a data type that the operation computes in",
        received: from,
        hint: "DirectML moves and converts float64 only: cast to float32 first.",
      });
  }
}
