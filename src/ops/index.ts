/** All operations, as their families export them. What a new one has to say is in docs/architecture.md. */
import "./methods.ts";
import "./wiring.ts";

export * from "./index.generated.ts";
