// npm run generate: the generated files, from native/schema/directml.json.
import { parseArgs } from "node:util";
import { main } from "./lib/project.mjs";

const help = `npm run generate [-- OPTIONS]

Writes what is made from native/schema/directml.json: the operator table for C++, and for TypeScript, and the typed graph builder.

  --check  writes nothing, and fails where a file is out of date
  --help   this text`;

await main(async () => {
  parseArgs({ options: { check: { type: "boolean" } } });
  // Both look for --check themselves.
  await import("./generate-schema.mjs");
  await import("./generate-builder.mjs");
}, help);
