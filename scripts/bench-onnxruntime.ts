// npm run bench:onnxruntime: ONNX Runtime's DirectML provider and dxtensor on the same device in the Wine cell; writes the table in docs.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ScriptError, at, main, say } from "./tools/project.ts";
import { buildForWindows } from "./build-windows.ts";
import { bundleProgram } from "./bundle-tests.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { prebuiltWindows } from "./lib/windows-files.ts";
import { cellVersions, makeCell } from "./cells/wine/cell.ts";
import { runInCell, statusOf } from "./cells/wine/run.ts";

const help = `npm run bench:onnxruntime [-- OPTIONS]

Times ONNX Runtime's DirectML provider and dxtensor, eager and compiled, on the same DirectML.dll and the same device, in the Wine cell
(made when it is missing; root). Writes docs/benchmarks/onnxruntime.md. Without a GPU the device is a Vulkan driver on the CPU: ratios compare
the libraries; times say nothing about a GPU.

  --seconds N    for each case (default 3)
  --node N       node.exe 20, 22 or 24 (default 24)
  --no-write     leave the table in docs as it is
  --json         the result as one line of JSON on stdout
  --help         this text`;

/** How far the two libraries' results may lie apart, relative to the largest: sums in other orders. */
const maxDifference = 1e-4;

const stage = at("build", "windows-bench");

/** What bench/onnxruntime/peer.ts writes: milliseconds of each case, microseconds of one more operation. */
interface Result {
  readonly rows: readonly (Times & { readonly name: string; readonly runs: number; readonly difference: number })[];
  readonly perOperation: Times;
  readonly device: string;
  readonly versions: Readonly<Record<string, string>>;
}

interface Times {
  readonly onnxruntime: number;
  readonly eager: number;
  readonly compiled: number;
}

const number = (value: number) =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3);

function tableOf({ rows, perOperation, device, versions }: Result, cell: ReturnType<typeof cellVersions>, seconds: string) {
  const lines = rows.map(
    ({ name, onnxruntime, eager, compiled, runs }) =>
      `| ${[name, number(onnxruntime), number(eager), number(compiled), (eager / onnxruntime).toFixed(2), (compiled / onnxruntime).toFixed(2), runs].join(" | ")} |`,
  );
  return `# Comparison with ONNX Runtime's DirectML provider

Written by \`npm run bench:onnxruntime\` on ${new Date().toISOString().slice(0, 10)}. Both libraries run in one process on the same \`DirectML.dll\` and the same
device, ${seconds} s for each case, alternating. A time is from an array in JavaScript to an array in JavaScript, upload and readback included. The table has
the minimum of the runs, since other work on the machine only adds to it. A ratio below 1 means that dxtensor is faster. The results of both agree within ${maxDifference} of the largest number.

**The device is "${device}", a Vulkan driver on the CPU** (${cpus()[0]!.model.trim()}, ${cpus().length} cores, shared with other work): both run the same arithmetic, so
the ratios show the overhead of the libraries. The times say nothing about a GPU, and there are no vendors' metacommands.

| case | ONNX Runtime, ms | dxtensor eager, ms | compiled, ms | eager ratio | compiled ratio | runs |
| --- | --- | --- | --- | --- | --- | --- |
${lines.join("\n")}

One more operation in a chain of additions: ONNX Runtime ${number(perOperation.onnxruntime)} µs, dxtensor eager ${number(perOperation.eager)} µs, compiled ${number(perOperation.compiled)} µs. ONNX Runtime makes
one DirectML graph of the model when it is loaded; dxtensor's eager mode records each operation when it is called, its compiled mode replays a
recorded list.

Versions: onnxruntime-node ${versions["onnxruntime-node"]}, DirectML.dll ${cell["DirectML.dll"]}, node.exe ${versions.node}, Wine ${cell.wine64}, libvkd3d ${cell["libvkd3d-dev"]}, Mesa ${cell["mesa-vulkan-drivers"] ?? cell["mesa-vulkan-drivers:amd64"]}.
`;
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "3" },
      node: { type: "string", default: "24" },
      "no-write": { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  if (!(Number(values.seconds) > 0)) throw new ScriptError("USAGE", "--seconds is a positive number");
  await ensureSetup();
  await buildForWindows({ isRuntimeOnly: true });
  await makeCell();
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  cpSync(prebuiltWindows("x64"), join(stage, "prebuilds", "win32-x64"), { recursive: true });
  const { name, version, type } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  writeFileSync(join(stage, "package.json"), JSON.stringify({ name, version, type }));
  await bundleProgram(at("bench", "onnxruntime", "peer.ts"), join(stage, "bench", "peer.mjs"));
  const child = runInCell(["node.exe", "bench/peer.mjs", "dml:0", values.seconds], {
    mount: stage,
    node: values.node,
    timeoutMs: 20 * 60_000,
    env: { DXTENSOR_ONNXRUNTIME: "Z:\\opt\\dxtensor\\onnxruntime" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill("SIGKILL"));
  const done = await child;
  if (done.failed) throw new ScriptError("BENCH_FAILED", `The comparison ended with status ${statusOf(done)}.`);
  const result = JSON.parse(String(done.stdout).trim().split("\n").at(-1)!) as Result;
  const wrong = result.rows.filter((row) => !(row.difference <= maxDifference));
  if (wrong.length > 0)
    throw new ScriptError(
      "RESULTS_DIFFER",
      `The two libraries' results differ: ${wrong.map((row) => `${row.name} by ${row.difference}`).join(", ")}.`,
    );
  const cell = cellVersions();
  if (!values["no-write"]) {
    mkdirSync(at("docs", "benchmarks"), { recursive: true });
    writeFileSync(at("docs", "benchmarks", "onnxruntime.md"), tableOf(result, cell, values.seconds));
    say("bench:onnxruntime: docs/benchmarks/onnxruntime.md is written");
  }
  if (values.json) console.log(JSON.stringify({ ok: true, ...result }));
  return 0;
}, help);
