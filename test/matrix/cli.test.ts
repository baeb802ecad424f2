/** The command line as it is called; `npm test` compiles it. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../matrix/config/load.ts";
import { githubMatrix, workflows } from "../../matrix/github/workflow.ts";
import type { Plan } from "../../matrix/types.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-test-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function matrix(...args: string[]): Promise<{ status: number | undefined; out: string; err: string }> {
  const done = await execa(process.execPath, ["build/matrix/cli.js", ...args], {
    reject: false,
    // An engine that answers to nobody, and a folder of runs of its own.
    env: { DOCKER_HOST: `unix://${folder}/none.sock`, DXTENSOR_MATRIX_FOLDER: join(folder, "runs") },
  });
  return { status: done.exitCode, out: done.stdout, err: done.stderr };
}

describe("npm run matrix", () => {
  it("says without an engine that there is none, plans what the host can, and gives the others their reason", async () => {
    const { status, out, err } = await matrix("--quick", "--dry-run", "--json");
    expect(status).toBe(0);
    expect(err).toMatch(/no Docker engine: .*none\.sock does not answer/);
    const plan = JSON.parse(out) as Plan;
    expect(plan.runs.map(({ id }) => id)).toEqual(expect.arrayContaining([`host/node-20/software`]));
    const idle = plan.cells.filter(({ platform }) => platform === "linux-glibc-2.36");
    expect(idle).toHaveLength(2);
    for (const { reason } of idle) expect(reason).toMatch(/^no Docker engine: /);
    expect(existsSync(join(folder, "runs"))).toBe(false);
  });

  it("runs nothing, reports so and fails when every cell has a reason not to", async () => {
    const { status, out } = await matrix("--platform", "linux-glibc-2.31-vulkan", "--no-engine");
    expect(out).toMatch(/cells not run\n0 passed, 0 failed$/);
    expect(status).toBe(1);
    for (const name of ["report.html", "ctrf.json", "junit.xml", "run.json"])
      expect(existsSync(join(folder, "runs", "latest", name))).toBe(true);
  });

  it("continues only with a run that is there", async () => {
    const { status, err } = await matrix("--resume", "nothing", "--no-engine");
    expect(status).toBe(2);
    expect(err).toContain('there is no run "nothing"');
  });

  it("refuses wrong calls with status 2 and a sentence", async () => {
    expect(await matrix("--parallel", "none")).toMatchObject({ status: 2, err: expect.stringContaining("above 0") });
    expect(await matrix("--colour")).toMatchObject({ status: 2, err: expect.stringContaining("unknown option") });
    expect(await matrix("--suite", "all", "--dry-run", "--no-engine")).toMatchObject({
      status: 2,
      err: expect.stringContaining('no suite "all"'),
    });
    writeFileSync(join(folder, "m.yaml"), "node: 20\n");
    expect(await matrix("--config", join(folder, "m.yaml"))).toMatchObject({ status: 2, err: expect.stringMatching(/m\.yaml:1: node/) });
    expect((await matrix("--help")).out).toContain("--dry-run");
  });

  it("cleans where there is nothing to clean", async () => {
    const { status, out } = await matrix("clean", "--json");
    expect(status).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ containers: 0, images: 0 });
  });
});

describe("GitHub's workflows", () => {
  const config = loadConfig("matrix/matrix.yaml");

  it("are those that the axes give", () => {
    for (const [name, text] of Object.entries(workflows(config)))
      expect(readFileSync(join(".github", "workflows", name), "utf8")).toBe(text);
  });

  it("are YAML whose caller passes every input of the cell", () => {
    const { "matrix.yml": caller, "matrix-cell.yml": cell } = workflows(config) as Record<string, string>;
    const inputs = (parse(cell!) as { on: { workflow_call: { inputs: object } } }).on.workflow_call.inputs;
    const { jobs } = parse(caller!) as { jobs: { cells: { with: object } } };
    expect(Object.keys(jobs.cells.with)).toEqual(Object.keys(inputs));
  });

  it("keep to GitHub's limit, and send GPUs to machines that have them", () => {
    const { include } = githubMatrix(config);
    expect(include.length).toBeLessThanOrEqual(256);
    for (const job of include.filter(({ gpu }) => /^(rtx|rx|gtx|uhd|adreno)/.test(gpu))) {
      expect(JSON.parse(job.runner)).toEqual(expect.arrayContaining(["self-hosted", job.gpu]));
    }
    expect(include.filter(({ platform }) => platform === "linux-glibc-2.31").map(({ gpu }) => gpu)).toEqual(["*", "*", "*", "*"]);
  });
});
