// npm run generate: the generated files, from native/schema/directml.json and from the families of operations.
import { parseArgs } from "node:util";
import { generateOperations } from "./generate-operations.ts";
import { writeBuilder } from "./generate-builder.ts";
import { writeSchema } from "./generate-schema.ts";
import { writeWorker } from "./generate-worker.ts";
import { refresh, staleness } from "./lib/operators-page.ts";
import { ScriptError, main } from "./tools/project.ts";

const help = `npm run generate [-- OPTIONS]

Generates from native/schema/directml.json the operator tables for C++ and TypeScript and the typed graph builder, and from src/ops
the package's exports, the tensor's methods and nn.functional; from src/data/worker the code of a loader's worker threads. Adds new operations to docs/operators.json and removes old ones;
npm run operators writes the results of their recorded cases.

  --check  writes nothing, and fails where a file is out of date
  --help   this text`;

await main(async () => {
  const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
  writeSchema(values.check);
  writeBuilder(values.check);
  await writeWorker(values.check);
  generateOperations({ isCheck: values.check });
  if (!values.check) refresh();
  const stale = values.check ? staleness() : null;
  if (stale !== null) throw new ScriptError("OUT_OF_DATE", stale, "Run: npm run operators");
}, help);
