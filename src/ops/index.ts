/** All operations, as their families export them. docs/internals/operations.md says how to add one. */
import "./exports/methods.ts";
import "./exports/wiring.ts";

export * from "./exports/index.generated.ts";
