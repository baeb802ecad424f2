// node scripts/run.mjs NAME ARGUMENTS: runs scripts/NAME.ts. Before npm ci only JavaScript runs: this file and its imports.
// @ts-check
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const [name = "--help", ...args] = process.argv.slice(2);
const file = `${folder}${name}.ts`;

const help = `node scripts/run.mjs NAME [ARGUMENTS]

Runs scripts/NAME.ts. With --help after a NAME, what that does. NAME is one of
  ${readdirSync(folder)
    .filter((path) => path.endsWith(".ts"))
    .map((path) => path.slice(0, -3))
    .join(", ")}

  --help  this text`;

/**
 * A script's help text where its source has it as it is.
 * @param {string} path
 */
const helpOf = (path) => /^const help = `([^`$]*)`;$/m.exec(readFileSync(path, "utf8"))?.[1] ?? null;

if (name === "--help") {
  console.log(help);
} else if (!/^[\w-]+$/.test(name) || !existsSync(file)) {
  process.stderr.write(`There is no script "${name}" (--help lists them)\n`);
  process.exitCode = 1;
} else if (args.includes("--help") && helpOf(file) !== null) {
  // What it says of itself needs nothing that it imports.
  console.log(helpOf(file));
} else if (!existsSync(new URL("../node_modules/rolldown", import.meta.url))) {
  process.stderr.write("The development dependencies are not installed.\nRun: npm ci\n");
  process.exitCode = 1;
} else {
  process.argv = [process.execPath, file, ...args];
  await import("./typescript.mjs");
  await import(pathToFileURL(file).href);
}
