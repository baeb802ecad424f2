/** Operators that can fuse an activation. */
import { OPERATORS, type OperatorName } from "./operators.generated.ts";

/** ADD takes an activation in its second version only. */
const variants: { readonly [K in OperatorName]?: OperatorName } = { ELEMENT_WISE_ADD: "ELEMENT_WISE_ADD1" };

/** The form of an operator that takes an activation into it; null: there is none. */
export const hostOf = (operator: OperatorName | "SHADER" | "OPERATION"): OperatorName | null => {
  if (operator === "SHADER" || operator === "OPERATION") return null;
  const name = variants[operator] ?? operator;
  return OPERATORS[name].fields.some((f) => f.name === "fusedActivation") ? name : null;
};
