// npm run setup: installs the requirements of a build. May be run again at any time; prints its changes.
import { parseArgs } from "node:util";
import { canInstall, installPackages } from "./tools/apt.ts";
import { ScriptError, main, say } from "./tools/project.ts";
import { installHeaders, planHeaders } from "./lib/headers.ts";
import { aptPackages, explainMissing, findTools, hasAll, missingTools, type Part, type Tools } from "./lib/toolchain.ts";

const help = `npm run setup [-- OPTIONS]

Finds a C++17 compiler, CMake and ninja or make, and the DirectX headers. As root on a machine with apt, missing
programs are installed; otherwise it says what to install. The headers are fetched from Debian's archive into
build/headers, without root and without touching the system, unless /usr/include has them.

  --headers DIR   take the DirectX headers from this folder (also: DXTENSOR_HEADERS)
  --dry-run       say what would be done, change nothing
  --quiet         say only what was changed
  --help          this text

DXTENSOR_DEBIAN_MIRROR  mirror for the headers where apt has none (http://deb.debian.org/debian)
CXX                     the compiler to use`;

/** Installs what is missing where that is allowed; returns what was changed. */
async function installTools(missing: readonly Part[], tools: Tools, isDryRun: boolean | undefined): Promise<string> {
  const names = aptPackages(missing);
  if (!canInstall()) throw new ScriptError("TOOLS_MISSING", explainMissing(missing, tools.old));
  if (isDryRun) return `would install with apt: ${names.join(" ")}`;
  await installPackages("setup", names);
  const after = findTools();
  if (missingTools(after).length > 0) throw new ScriptError("TOOLS_MISSING", explainMissing(missingTools(after), after.old));
  return `installed with apt: ${names.join(" ")}`;
}

await main(async () => {
  const { values: options } = parseArgs({
    options: { headers: { type: "string" }, "dry-run": { type: "boolean" }, quiet: { type: "boolean" } },
  });
  const changes: string[] = [];
  const tools = findTools();
  if (!hasAll(tools)) changes.push(await installTools(missingTools(tools), tools, options["dry-run"]));
  else if (!options.quiet) say(`setup: ${tools.compiler.command} (${tools.compiler.line}), cmake ${tools.cmake}, ${tools.builder}`);

  const plan = planHeaders(options.headers ?? process.env.DXTENSOR_HEADERS);
  if (options["dry-run"]) {
    if (plan.do !== "nothing")
      changes.push(
        plan.do === "link"
          ? `would take the DirectX headers from ${plan.from}`
          : "would fetch the DirectX headers from Debian's archive into build/headers",
      );
  } else {
    const change = await installHeaders(plan);
    if (change !== null) changes.push(change);
  }
  for (const change of changes) say(`setup: ${change}`);
  if (changes.length === 0 && !options.quiet) say("setup: everything is there, nothing was changed");
}, help);
