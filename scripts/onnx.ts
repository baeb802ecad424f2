// npm run onnx: builds if needed, then runs ONNX's node tests with the arguments; with --export gets ONNX Runtime and lets it judge.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { ScriptError, at, cacheFolder, helpOf, main, say } from "./tools/project.ts";
import { runProgram, takeOver } from "./tools/program.ts";
import { bundleProgram } from "./bundle-tests.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { buildNativeParts } from "./build.ts";

const VERSION = "1.30.0";

/** A folder whose node_modules have onnxruntime-node: kept with what can be made again. Its install script, which gets CUDA's files, does not run. */
async function onnxRuntime(): Promise<string> {
  const { DXTENSOR_ONNXRUNTIME: named } = process.env;
  if (named !== undefined && named !== "") return named;
  const folder = cacheFolder(`onnxruntime-node-${VERSION}`);
  if (existsSync(join(folder, "node_modules", "onnxruntime-node"))) return folder;
  say(`onnx: getting onnxruntime-node ${VERSION}`);
  mkdirSync(folder, { recursive: true });
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder];
  const { code, text } = await runProgram("npm", ["install", ...options, `onnxruntime-node@${VERSION}`]);
  if (code !== 0) throw new ScriptError("ONNXRUNTIME", `onnxruntime-node cannot be installed: ${text}`);
  return folder;
}

await main(
  async () => {
    await ensureSetup();
    await buildNativeParts({ isRuntimeOnly: true });
    if (process.argv.includes("--export")) process.env.DXTENSOR_ONNXRUNTIME = await onnxRuntime();
    const program = at("build", "onnx", "main.js");
    await bundleProgram(at("test", "onnx", "main.ts"), program);
    return takeOver(process.execPath, ["--expose-gc", program, ...process.argv.slice(2)]);
  },
  helpOf("test", "onnx", "main.ts"),
);
