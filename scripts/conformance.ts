// npm run conformance: the device-generic tests, as a vendor runs them in an application.
import { ensureCell } from "./cells/linux/cell.ts";
import { makeApplication } from "./conformance/application.ts";
import { ensureBuilt } from "./lib/ensure.ts";
import { takeOver } from "./tools/program.ts";
import { ScriptError, at, main } from "./tools/project.ts";

const help = `npm run conformance -- --device NAME [OPTIONS]

Builds what is missing, makes an application in build/conformance with dxtensor, @dxtensor/conformance and @dxtensor/openreg, and runs
\`npx dxtensor conformance\` in it with the options: --device cpu, --device dml:0, --device openreg:0. docs/conformance.md describes them; paths
count from that folder.

  --library linux  Microsoft's libdirectml.so over Mesa's lavapipe, a Vulkan driver on the processor, as verify:linux runs it: device dml:0
  --library vulkan the same over the machine's own Vulkan drivers
  --help           this text`;

/** Vulkan drivers by the name of --library. */
const drivers: Readonly<Record<string, string>> = { linux: "lavapipe", vulkan: "system" };

/** The value of --library, and the options without it. */
function splitLibrary(args: readonly string[]): { readonly library: string | null; readonly rest: readonly string[] } {
  const index = args.findIndex((text) => text === "--library" || text.startsWith("--library="));
  if (index < 0) return { library: null, rest: args };
  const isJoined = args[index] !== "--library";
  const library = isJoined ? args[index]!.slice("--library=".length) : (args[index + 1] ?? "");
  if (!Object.hasOwn(drivers, library))
    throw new ScriptError(
      "USAGE",
      `There is no library "${library}": ${Object.keys(drivers).join(", ")}.`,
      "npm run conformance -- --help",
    );
  return { library, rest: args.toSpliced(index, isJoined ? 1 : 2) };
}

await main(async () => {
  const { library, rest } = splitLibrary(process.argv.slice(2));
  const args = library === null || rest.includes("--device") ? rest : ["--device", "dml:0", ...rest];
  if (!args.includes("--device") && !args.includes("--list"))
    throw new ScriptError(
      "USAGE",
      `No device was named${args.length > 0 ? ` (${args.join(" ")})` : ""}.`,
      "npm run conformance -- --device cpu",
    );
  const env = library === null ? {} : await ensureCell(drivers[library]!);
  if (library === null) await ensureBuilt(["src"]);
  const folder = at("build", "conformance");
  await makeApplication(folder);
  return takeOver(process.execPath, [at("dist", "bundle", "cli.js"), "conformance", ...args], { cwd: folder, env });
}, help);
