/** The matrix as GitHub Actions runs it: a reusable workflow for one cell, and a caller with the cells as its strategy. Pure. */
import type { Config, Platform } from "../config/schema.ts";
import { holds } from "../plan/patterns.ts";

export interface Job {
  readonly platform: string;
  readonly node: string;
  /** "*": all of the platform, in one job, where runs are shared and the image is made once. */
  readonly gpu: string;
  /** A JSON list of the labels that a machine must have. */
  readonly runner: string;
  readonly mustPass: boolean;
}

/** Machines that GitHub lends have no DirectX 12 GPU: such cells go to self-hosted ones that bear the GPU's id as a label. */
function runnerOf(platform: Platform, isGpu: boolean, gpu: string): string[] | null {
  switch (platform.runner) {
    case "docker":
      return gpu === "*" ? ["ubuntu-24.04"] : null;
    case "windows":
      return isGpu
        ? ["self-hosted", "windows", platform.id, gpu]
        : platform.id === "windows-11"
          ? ["windows-2025"]
          : ["self-hosted", "windows", platform.id];
    case "wsl":
      return ["self-hosted", "windows", platform.id, ...(isGpu ? [gpu] : [])];
    case "command":
      // The script on the machine itself is what the container of its platform runs too.
      return platform.id === "host-vulkan" ? null : ["ubuntu-24.04"];
    case "host":
    case "none":
      return null;
    default:
      return platform satisfies never;
  }
}

const limit = 256;

export function githubMatrix(config: Config): { readonly include: readonly Job[] } {
  const include: Job[] = [];
  for (const platform of config.platforms)
    for (const node of config.node) {
      const key = { platform: platform.id, node };
      if (platform.runner === "docker") {
        include.push({
          ...key,
          gpu: "*",
          runner: JSON.stringify(runnerOf(platform, false, "*")),
          mustPass: config.mustPass.some((rule) => holds(rule, { ...key, gpu: "software" })),
        });
        continue;
      }
      for (const gpu of config.gpus) {
        const runner = runnerOf(platform, gpu.kind === "gpu", gpu.id);
        const isExcluded = config.exclusions.some((rule) => holds(rule, { ...key, gpu: gpu.id }));
        if (runner === null || gpu.kind === "present" || isExcluded) continue;
        // One version of Node on real hardware: the others differ in nothing that a GPU sees.
        if (gpu.kind === "gpu" && node !== config.node.at(-1)) continue;
        if (platform.runner === "command" && platform.nodes?.includes(node) === false) continue;
        include.push({
          ...key,
          gpu: gpu.id,
          runner: JSON.stringify(runner),
          mustPass: config.mustPass.some((rule) => holds(rule, { ...key, gpu: gpu.id })),
        });
      }
    }
  if (include.length > limit) throw new Error(`GitHub takes ${limit} jobs of a matrix; there are ${include.length}`);
  return { include };
}

const note = "# Written by `npm run matrix -- github --write`; change matrix/github/workflow.ts instead.\n";

const cell = `${note}name: matrix cell
on:
  workflow_call:
    inputs:
      platform: { type: string, required: true }
      node: { type: string, required: true }
      gpu: { type: string, required: true }
      runner: { type: string, required: true, description: A JSON list of labels }
      mustPass: { type: boolean, default: false }
jobs:
  cell:
    runs-on: \${{ fromJSON(inputs.runner) }}
    continue-on-error: \${{ !inputs.mustPass }}
    timeout-minutes: 60
    permissions: { contents: read }
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: { node-version: "22", cache: npm }
      - run: npm ci
      - name: the cell
        shell: bash
        env:
          PLATFORM: \${{ inputs.platform }}
          NODE: \${{ inputs.node }}
          GPU: \${{ inputs.gpu }}
        run: npm run matrix -- --platform "$PLATFORM" --node "$NODE" --gpu "$GPU"
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: \${{ inputs.platform }}-node-\${{ inputs.node }}-\${{ inputs.gpu == '*' && 'all' || inputs.gpu }}
          path: test-results/matrix/latest/
`;

const caller = `${note}name: matrix
on:
  workflow_dispatch:
    inputs:
      self-hosted: { type: boolean, default: false, description: Also the cells of self-hosted machines }
  schedule:
    - cron: "17 3 * * 1"
permissions: { contents: read }
jobs:
  plan:
    runs-on: ubuntu-24.04
    outputs:
      matrix: \${{ steps.plan.outputs.matrix }}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: { node-version: "22", cache: npm }
      - run: npm ci
      - id: plan
        shell: bash
        env:
          SELF_HOSTED: \${{ inputs.self-hosted || false }}
        run: |
          npm run --silent matrix -- github >plan.json
          node -e '
            const { include } = JSON.parse(require("fs").readFileSync("plan.json", "utf8"));
            const all = process.env.SELF_HOSTED === "true";
            const kept = include.filter((job) => all || !JSON.parse(job.runner).includes("self-hosted"));
            console.log("matrix=" + JSON.stringify({ include: kept }));' >>"$GITHUB_OUTPUT"
  cells:
    needs: plan
    strategy:
      fail-fast: false
      matrix: \${{ fromJSON(needs.plan.outputs.matrix) }}
    name: \${{ matrix.platform }}, Node \${{ matrix.node }}, \${{ matrix.gpu }}
    uses: ./.github/workflows/matrix-cell.yml
    with:
      platform: \${{ matrix.platform }}
      node: \${{ matrix.node }}
      gpu: \${{ matrix.gpu }}
      runner: \${{ matrix.runner }}
      mustPass: \${{ matrix.mustPass }}
`;

/** File names in .github/workflows with their text. */
export const workflows = (config: Config): Readonly<Record<string, string>> => {
  // A matrix that GitHub would refuse is found here, not there.
  githubMatrix(config);
  return { "matrix.yml": caller, "matrix-cell.yml": cell };
};
