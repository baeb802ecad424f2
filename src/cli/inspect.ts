/** `dxtensor inspect`: what is in a file of tensors or of a model. See docs/commands.md. */
import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import { ValueError } from "../core/errors.ts";
import type { FileReport } from "../inspect/report.ts";
import { reportError } from "./report-error.ts";

interface Options {
  readonly json: boolean;
  readonly filter?: string;
  readonly page?: string;
}

const help = `
FILE: ONNX, GGUF (also in parts), safetensors, an index of safetensors, NumPy's .npy and .npz, PyTorch's .pt, a model.json of TensorFlow.js, a checkpoint of this
library, or a folder of safetensors, of checkpoints or with a model.json. Only headers are read, never the weights, and no pickle is run. Exit status: 0, or 1 for a file that cannot be read.

For programs: --json prints one line, {"ok", "format", "sizeInBytes", "files", "metadata", "tensors": [{"name", "dtype", "shape", "sizeInBytes"}],
"totals", "graph"}.`;

/** One line that is written over where stderr is a terminal. */
function progress(done: number, total: number): void {
  if (process.stderr.isTTY && total > 2 ** 26) process.stderr.write(`\r\u001b[Kreading … ${Math.floor((100 * done) / total)} %`);
}

async function inspectFile(file: string, { json, filter, page }: Options): Promise<void> {
  const { inspect } = await import("../inspect/inspect.ts");
  const { describe, jsonOf } = await import("../inspect/text.ts");
  const { nameFilter } = await import("../inspect/report.ts");
  try {
    const found = await inspect(file, progress);
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
    if (page !== undefined) {
      if (found.graph === null) throw new ValueError("inspect", "--page", "for an ONNX model, which has a graph", found.format);
      const { pageOf } = await import("../inspect/page.ts");
      writeFileSync(page, pageOf(found, found.graph));
    }
    const isShown = nameFilter(filter ?? "");
    const report: FileReport = { ...found, tensors: found.tensors.filter(({ name }) => isShown(name)) };
    process.stdout.write(`${json ? jsonOf(report) : describe(report)}\n`);
  } catch (error) {
    reportError(error, json);
  }
}

export function addInspect(program: Command): void {
  program
    .command("inspect")
    .description("what is in a file of tensors or of a model: names, dtypes, shapes, bytes, metadata, the graph of an ONNX model")
    .argument("<file>", "a file, an index or a folder")
    .option("--filter <text>", "only tensors whose names contain the text; * stands for any characters")
    .option("--json", "one line of JSON on stdout", false)
    .option("--page <file>", "write the graph of an ONNX model as one HTML page")
    .addHelpText("after", help)
    .action(inspectFile);
}
