// npm run conformance: the device-generic tests, as a vendor runs them in an application.
import { ensureCell } from "./cells/linux/cell.ts";
import { makeApplication } from "./conformance/application.ts";
import { conformanceCall } from "./conformance/call.ts";
import { ensureBuilt } from "./lib/ensure.ts";
import { takeOver } from "./tools/program.ts";
import { at, main } from "./tools/project.ts";

const help = `npm run conformance -- --device NAME [OPTIONS]

Builds what is missing, makes an application in build/conformance with dxtensor, @dxtensor/conformance and @dxtensor/openreg, and runs
\`npx dxtensor conformance\` in it with the options: --device cpu, --device dml:0, --device openreg:0. docs/conformance.md describes them; paths
count from that folder.

  --library linux    Microsoft's libdirectml.so over Mesa's lavapipe, a Vulkan driver on the processor, as verify:linux runs it: device dml:0
  --library vulkan   the same over the machine's own Vulkan drivers
  --library windows  Microsoft's DirectML.dll in Windows' node.exe under Wine, over lavapipe, as verify:windows runs it: device dml:0. Needs root
  --help             this text`;

await main(async () => {
  const { driver, isWindows, args } = conformanceCall(process.argv.slice(2));
  if (isWindows) return (await import("./conformance/windows.ts")).conformanceOnWindows(args);
  const env = driver === null ? {} : await ensureCell(driver);
  if (driver === null) await ensureBuilt(["src"]);
  const folder = at("build", "conformance");
  await makeApplication(folder);
  return takeOver(process.execPath, [at("dist", "bundle", "cli.js"), "conformance", ...args], { cwd: folder, env });
}, help);
