// npm run onnx: builds if needed, then runs ONNX's node tests with the arguments.
import { at, helpOf, main } from "./tools/project.ts";
import { takeOver } from "./tools/program.ts";
import { bundleProgram } from "./bundle-tests.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { buildNativeParts } from "./build.ts";

await main(
  async () => {
    await ensureSetup();
    await buildNativeParts({ isRuntimeOnly: true });
    const program = at("build", "onnx", "main.js");
    await bundleProgram(at("test", "onnx", "main.ts"), program);
    return takeOver(process.execPath, ["--expose-gc", program, ...process.argv.slice(2)]);
  },
  helpOf("test", "onnx", "main.ts"),
);
