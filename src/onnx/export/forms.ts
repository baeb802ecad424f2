/** Forms of operations by the names of their definitions. */
import type { Form, Forms } from "./form.ts";
import { elementwise } from "./elementwise.ts";
import { layers } from "./layers.ts";
import { shapes } from "./shapes.ts";

const all: Forms = { ...elementwise, ...shapes, ...layers };

/** How an operation is said in ONNX; null where it has no form. */
export const formOf = (name: string): Form | null => (Object.hasOwn(all, name) ? all[name]! : null);

/** Names of the definitions that have a form. */
export const exportable = (): string[] => Object.keys(all).sort();
