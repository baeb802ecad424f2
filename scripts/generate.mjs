// npm run generate: the generated files, from native/schema/directml.json and from the families of operations.
import { parseArgs } from "node:util";
import { main } from "./lib/project.mjs";

const help = `npm run generate [-- OPTIONS]

Writes what is made from native/schema/directml.json: the operator table for C++, and for TypeScript, and the typed graph builder;
and from src/ops: the package's exports, the tensor's methods and nn.functional.

  --check  writes nothing, and fails where a file is out of date
  --help   this text`;

await main(async () => {
  const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
  // Both look for --check themselves.
  await import("./generate-schema.mjs");
  await import("./generate-builder.mjs");
  const { generateOperations } = await import("./generate-operations.mjs");
  generateOperations({ isCheck: values.check });
}, help);
