/** All operations, as their families export them. What a new one has to say is in docs/architecture.md. */
import "./exports/methods.ts";
import "./exports/wiring.ts";

export * from "./exports/index.generated.ts";
