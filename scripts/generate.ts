// npm run generate: the generated files, from native/schema/directml.json and from the families of operations.
import { parseArgs } from "node:util";
import { ScriptError, main } from "./tools/project.ts";

const help = `npm run generate [-- OPTIONS]

Writes what is made from native/schema/directml.json: the operator table for C++, and for TypeScript, and the typed graph builder;
and from src/ops: the package's exports, the tensor's methods and nn.functional. In docs/operators.json it adds new operations and takes out old ones; what
recorded cases say of them comes by npm run operators.

  --check  writes nothing, and fails where a file is out of date
  --help   this text`;

await main(async () => {
  const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
  // Both look for --check themselves.
  await import("./generate-schema.ts");
  await import("./generate-builder.ts");
  const { generateOperations } = await import("./generate-operations.ts");
  generateOperations({ isCheck: values.check });
  const { refresh, staleness } = await import("./lib/operators-page.ts");
  if (!values.check) refresh();
  const stale = values.check ? staleness() : null;
  if (stale !== null) throw new ScriptError("OUT_OF_DATE", stale, "Run: npm run operators");
}, help);
