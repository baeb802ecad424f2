/** Forms of operations by the names of their definitions. */
import type { Definition } from "../../core/definition.ts";
import { isFloat } from "../../core/dtype.ts";
import { truncOp } from "../../ops/elementwise/division.ts";
import { bits } from "./bits.ts";
import { cells } from "./cells.ts";
import { elementwise } from "./elementwise.ts";
import type { Form, Forms } from "./form.ts";
import { indices } from "./indices.ts";
import { layers } from "./layers.ts";
import { losses } from "./losses.ts";
import { numberParts } from "./number-parts.ts";
import { lowered, LOWERED } from "./lowered.ts";
import { quantized } from "./quantized.ts";
import { running } from "./running-forms.ts";
import { shapes } from "./shapes.ts";

const byLowering: Form = (c) => lowered(c);
const all: Forms = {
  ...Object.fromEntries(LOWERED.map((name) => [name, byLowering])),
  ...elementwise,
  ...bits,
  ...shapes,
  ...indices,
  ...layers,
  ...cells,
  ...losses,
  ...quantized,
  ...running,
  ...numberParts,
};

/** How an operation is said in ONNX; null where it has no form. */
export function formOf(definition: Definition<never>): Form | null {
  // It has div's name.
  if (definition === (truncOp as Definition<unknown>)) return truncated;
  return Object.hasOwn(all, definition.name) ? all[definition.name]! : null;
}

/** Integers' quotients are whole. */
const truncated: Form = (c) => (isFloat(c.dtype) ? lowered(c) : all["div"]!(c));

/** Names of the definitions that have a form. */
export const exportable = (): string[] => Object.keys(all).sort();
