// npm run test:vulkan: the Vulkan runtime's own tests, over lavapipe or the machine's own driver.
import { parseArgs } from "node:util";
import { at, main, say } from "./tools/project.ts";
import { close } from "./tools/counts.ts";
import { ensureCell } from "./cells/linux/cell.ts";
import { CellReport } from "./cells/linux/report.ts";
import { runtimeSteps, testsOfRuntime } from "./cells/linux/steps.ts";

const help = `npm run test:vulkan [-- OPTIONS]

Builds libdxcore.so and libd3d12.so over Vulkan, and tests them: the ABI against Microsoft's headers, structures by value,
events, private data, reference counts, adapters, the rewriting of Microsoft's shaders, nothing alive at the end.

  --driver NAME  "lavapipe" (default: Mesa's CPU driver, fetched if it is missing) or "system"
  --help         this text`;

await main(async () => {
  const { values: options } = parseArgs({ options: { driver: { type: "string", default: "lavapipe" } } });
  const report = new CellReport(process.stdout);
  const env = await ensureCell(options.driver);
  await runtimeSteps(report, env);
  await testsOfRuntime(report, env);
  const file = at("test-results", "vulkan.json");
  const counts = report.write(file, "dxtensor test:vulkan");
  say(`test:vulkan: ${file}`);
  return close([counts]);
}, help);
