/** Cells on Windows from inside WSL: PowerShell through interop, with sources copied to a Windows folder. */
import { cellArguments } from "../cell/arguments.ts";
import { processProblem, runProcess } from "../run/process.ts";
import { ensureNode } from "../run/nodes.ts";
import { root } from "../root.ts";
import { failed, passed, type Outcome, type RunContext } from "./runner.ts";

export const powershell = "/mnt/c/Windows/System32/WindowsPowerShell/v1.0/powershell.exe";

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Paths are those of Windows: wslpath -w gives them. robocopy's statuses below 8 are success. */
export function windowsScript(
  context: Pick<RunContext, "run" | "platform" | "tests" | "sources">,
  paths: { readonly source: string; readonly node: string; readonly out: string },
): string {
  const cell = cellArguments(context.run, context.platform, context.tests, "out");
  return [
    "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'",
    "$work = Join-Path $env:LOCALAPPDATA 'dxtensor\\matrix\\source'; New-Item -ItemType Directory -Force $work | Out-Null",
    `$node = Join-Path $env:LOCALAPPDATA 'dxtensor\\node\\${context.run.node}'`,
    `robocopy ${quote(paths.node)} $node /MIR /NFL /NDL /NJH /NJS /NP | Out-Null; if ($LASTEXITCODE -ge 8) { throw "robocopy: $LASTEXITCODE" }`,
    "$env:PATH = \"$node\\bin;$env:PATH\"; $env:CI = '1'; $env:NO_COLOR = '1'",
    "$npm = Join-Path $node 'lib\\node_modules\\npm\\bin\\npm-cli.js'; $hash = Join-Path $work '.hash'",
    `if (-not (Test-Path $hash) -or (Get-Content $hash) -ne ${quote(context.sources.hash)}) {`,
    `  robocopy ${quote(paths.source)} $work /MIR /XD node_modules build dist test-results .git /NFL /NDL /NJH /NJS /NP | Out-Null; if ($LASTEXITCODE -ge 8) { throw "robocopy: $LASTEXITCODE" }`,
    "  Set-Location $work",
    "  foreach ($step in @(@('ci', '--no-audit', '--no-fund'), @('run', 'setup'), @('run', 'build'))) { node $npm @step; if ($LASTEXITCODE) { exit $LASTEXITCODE } }",
    `  Set-Content $hash ${quote(context.sources.hash)} -NoNewline`,
    "}",
    "Set-Location $work; Remove-Item -Recurse -Force out -ErrorAction SilentlyContinue",
    `node ${cell.map(quote).join(" ")}; $status = $LASTEXITCODE`,
    `if (Test-Path out) { Copy-Item out\\* ${quote(paths.out)} }`,
    "exit $status",
    "",
  ].join("\n");
}

/** -EncodedCommand takes UTF-16LE in base64: nothing is quoted on the way. */
export const encoded = (script: string): string => Buffer.from(script, "utf16le").toString("base64");

export async function runOnWindows(context: RunContext): Promise<Outcome> {
  const where = "Windows";
  const translate = async (path: string): Promise<string> => {
    const lines: string[] = [];
    const end = await runProcess({
      ...context,
      command: "wslpath",
      args: ["-w", path],
      cwd: root,
      timeoutMs: 10_000,
      onLine: (line) => lines.push(line),
    });
    const problem = processProblem(end, `wslpath -w ${path}`, 10_000);
    if (problem !== null) throw new Error(problem);
    return lines.join("");
  };
  const node = await ensureNode(context.run.node, "win32-x64");
  const paths = { source: await translate(root), node: await translate(node.folder), out: await translate(context.out) };
  const timeoutMs = context.timeoutMs + context.buildMs;
  const args = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-EncodedCommand", encoded(windowsScript(context, paths))];
  // cmd and its like want a Windows folder as the current one.
  const end = await runProcess({ ...context, command: powershell, args, cwd: "/mnt/c", timeoutMs });
  const problem = processProblem(end, "the cell", timeoutMs);
  return problem === null ? passed(where) : failed(where, problem);
}
