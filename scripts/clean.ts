// npm run clean: removes the output of builds and tests; with --all also the DirectX headers and Microsoft's library.
import { rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { at, main, say } from "./tools/project.ts";

const help = `npm run clean [-- OPTIONS]

Removes what builds and tests made.

  --all   also the DirectX headers and Microsoft's library
  --help  this text`;

await main(() => {
  const { values } = parseArgs({ options: { all: { type: "boolean" } } });
  const made = [
    "dist",
    "prebuilds",
    "test-results",
    "build/native",
    "build/ts",
    "build/examples",
    "build/bench",
    "build/coverage",
    "build/sanitizers",
    "build/typescript",
    "build/matrix",
    "build/scripts",
  ];
  for (const name of values.all ? [...made, "build", "directml"] : made) rmSync(at(name), { recursive: true, force: true });
  say(`clean: removed ${values.all ? "everything that was built or fetched" : made.join(", ")}`);
}, help);
