// npm run conformance: the device-generic tests, as a vendor runs them in an application.
import { ScriptError, at, main } from "./tools/project.ts";
import { takeOver } from "./tools/program.ts";
import { makeApplication } from "./conformance/application.ts";
import { ensureBuilt } from "./lib/ensure.ts";

const help = `npm run conformance -- --device NAME [OPTIONS]

Builds what is missing, makes an application in build/conformance with dxtensor, @dxtensor/conformance and @dxtensor/openreg, and runs
\`npx dxtensor conformance\` in it with the options: --device cpu, --device dml:0, --device openreg:0. docs/conformance.md describes them; paths
count from that folder.

  --help  this text`;

await main(async () => {
  const args = process.argv.slice(2);
  if (!args.includes("--device") && !args.includes("--list"))
    throw new ScriptError(
      "USAGE",
      `No device was named${args.length > 0 ? ` (${args.join(" ")})` : ""}.`,
      "npm run conformance -- --device cpu",
    );
  await ensureBuilt(["src"]);
  const folder = at("build", "conformance");
  await makeApplication(folder);
  return takeOver(process.execPath, [at("dist", "bundle", "cli.js"), "conformance", ...args], { cwd: folder });
}, help);
