/** Cells in a WSL distribution that this process is not in: a script on wsl.exe's standard input, so that nothing is quoted twice. */
import { cellArguments, quote } from "../cell/arguments.ts";
import { processProblem, runProcess } from "../run/process.ts";
import { root } from "../root.ts";
import { failed, passed, type Outcome, type RunContext } from "./runner.ts";

/** --exec skips the distribution's login shell, which would read the arguments again. */
export const wslArguments = (distribution: string): string[] => ["-d", distribution, "--exec", "bash", "-s"];

/** Windows' folders as the distribution sees them; its own file system is many times faster than /mnt/c, so sources are copied. */
export function wslScript(context: Pick<RunContext, "run" | "platform" | "tests" | "out" | "sources">, source: string): string {
  const cell = cellArguments(context.run, context.platform, context.tests, "out");
  return [
    "set -euo pipefail",
    'translate() { case "$1" in [A-Za-z]:*|\\\\\\\\*) wslpath -u "$1";; *) printf "%s\\n" "$1";; esac; }',
    `source=$(translate ${quote(source)}) out=$(translate ${quote(context.out)})`,
    `base=\${XDG_CACHE_HOME:-$HOME/.cache}/dxtensor; work=$base/matrix/source node=$base/node/${context.run.node}-wsl`,
    'mkdir -p "$work"',
    `if [ "$(cat "$work/.hash" 2>/dev/null || true)" != ${quote(context.sources.hash)} ]; then`,
    '  (cd "$source" && git ls-files -coz --exclude-standard | tar --null --ignore-failed-read -T - -cf -) | tar -xf - -C "$work"',
    "fi",
    `[ -x "$node/bin/node" ] || sh "$work/scripts/install-node.sh" ${context.run.node} npm "\${npm_config_registry:-https://registry.npmjs.org}" "$node"`,
    'export PATH="$node/bin:$PATH" CI=1 NO_COLOR=1; cd "$work"',
    `if [ "$(cat .hash 2>/dev/null || true)" != ${quote(context.sources.hash)} ]; then`,
    "  npm ci --no-audit --no-fund && npm run setup && npm run build",
    "  [ ! -e /dev/dxg ] || [ -e directml/libdirectml.so ] || npm run fetch:directml",
    `  printf %s ${quote(context.sources.hash)} >.hash`,
    "fi",
    "status=0; rm -rf out",
    `node ${cell.map(quote).join(" ")} || status=$?`,
    'mkdir -p "$out" && cp out/* "$out"/',
    "exit $status",
    "",
  ].join("\n");
}

export async function runInWsl(context: RunContext, distribution: string): Promise<Outcome> {
  const where = `WSL: ${distribution}`;
  const timeoutMs = context.timeoutMs + context.buildMs;
  const end = await runProcess({
    ...context,
    command: "wsl.exe",
    args: wslArguments(distribution),
    cwd: root,
    // Without it wsl.exe's own messages are UTF-16.
    environment: { WSL_UTF8: "1", WSLENV: `${process.env["WSLENV"] ?? ""}:WSL_UTF8` },
    input: wslScript(context, root),
    timeoutMs,
  });
  const problem = processProblem(end, "the cell", timeoutMs);
  return problem === null ? passed(where) : failed(where, problem);
}
