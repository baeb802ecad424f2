/** The files of examples/distributed: what they set is what the launcher reads; run, where there is an engine, under a srun that is a few lines of shell. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { LAUNCH_VARIABLES, launchDefaults } from "../../src/launch/launch-variables.ts";

const folder = join("examples", "distributed");
/** `npm run distributed` builds the engine, and sets the variable. */
const hasEngine = process.env.DXTENSOR_GLOO_TESTS === "1";

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly clusterIP?: string;
    readonly completionMode?: string;
    readonly completions?: number;
    readonly parallelism?: number;
    readonly selector?: Readonly<Record<string, string>>;
    readonly template?: {
      readonly spec: {
        readonly subdomain: string;
        readonly containers: readonly {
          readonly command: readonly string[];
          readonly env: readonly { readonly name: string; readonly value: string }[];
          readonly ports: readonly { readonly containerPort: number }[];
        }[];
      };
    };
  };
}

it("the Indexed Job of Kubernetes parses, and says what launch reads", () => {
  const documents = parseAllDocuments(readFileSync(join(folder, "indexed-job.yaml"), "utf8"));
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  const manifests = documents.map((document) => document.toJS() as Manifest);
  const service = manifests.find(({ kind }) => kind === "Service")!;
  const job = manifests.find(({ kind }) => kind === "Job")!;
  const { completionMode, completions, parallelism, template } = job.spec;
  expect([completionMode, parallelism]).toEqual(["Indexed", completions]);
  const [container] = template!.spec.containers;
  const names: readonly string[] = Object.values(LAUNCH_VARIABLES).flat();
  expect(container!.env.map(({ name }) => name).filter((name) => !names.includes(name))).toEqual([]);
  const env = Object.fromEntries(container!.env.map(({ name, value }) => [name, value]));
  // A pod of an Indexed Job is called JOB-INDEX, in the headless service that is its subdomain.
  const host = `${job.metadata.name}-0.${service.metadata.name}`;
  const [port] = container!.ports;
  for (const index of [0, 3])
    expect(launchDefaults({ ...env, JOB_COMPLETION_INDEX: String(index) }, undefined)).toEqual({
      processes: Number(env["PET_NPROC_PER_NODE"]),
      nodes: completions,
      nodeRank: index,
      master: `${host}:${port!.containerPort}`,
    });
  expect(template!.spec.subdomain).toBe(service.metadata.name);
  expect([service.spec.clusterIP, service.spec.selector]).toEqual(["None", { "job-name": job.metadata.name }]);
  expect(container!.command.slice(0, 3)).toEqual(["npx", "dxtensor", "launch"]);
});

it.skipIf(process.platform === "win32")("the scripts are scripts of bash (Windows has none)", () => {
  const scripts = readdirSync(folder).filter((name) => name.endsWith(".sh"));
  expect(scripts.toSorted()).toEqual(["mpirun.sh", "slurm-mpi.sh", "slurm.sh"]);
  for (const name of scripts) {
    const { status, stderr } = spawnSync("bash", ["-n", join(folder, name)], { encoding: "utf8" });
    expect([name, status, stderr]).toEqual([name, 0, ""]);
  }
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  for (const name of readdirSync(folder)) if (name !== "README.md") expect(readme).toContain(name);
});

it.skipIf(!hasEngine)("slurm.sh and mpirun.sh run (npm run distributed)", { timeout: 120_000 }, () => {
  const own = mkdtempSync(join(tmpdir(), "dxtensor-jobs-"));
  try {
    const program = (name: string, text: string): void => {
      writeFileSync(join(own, name), `#!/bin/bash\n${text}\n`);
      chmodSync(join(own, name), 0o755);
    };
    // Both machines are this one.
    program(
      "srun",
      `export SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST='127.0.0.1,node[2-3]'
SLURM_NODEID=1 "$@" & SLURM_NODEID=0 "$@" || exit 1
wait $!`,
    );
    program("npx", `shift; exec node ${resolve("dist/bundle/cli.js")} "$@"`);
    const script = join(own, "train.mjs");
    const library = JSON.stringify(resolve("dist/bundle/dxtensor.js"));
    writeFileSync(
      script,
      `import * as dx from ${library};
const group = await dx.distributed.initProcessGroup({ timeoutMs: 30000 });
const sum = await dx.distributed.allReduce(dx.tensor([group.rank + 1]));
console.log([group.backend, group.size, sum.itemSync()].join(" "));
await dx.distributed.destroyProcessGroup();`,
    );
    const env = { ...process.env, DXTENSOR_DEVICE: "cpu", PATH: `${own}${delimiter}${process.env.PATH}` };
    const lines = (stdout: string): string[] => stdout.trim().split("\n").toSorted();
    const slurm = spawnSync(join(folder, "slurm.sh"), [script], {
      encoding: "utf8",
      env: { ...env, RANKS: "1", SLURM_JOB_ID: String(process.pid) },
    });
    expect([slurm.status, slurm.stderr]).toEqual([0, ""]);
    expect(lines(slurm.stdout)).toEqual(["[0] gloo 2 3", "[1] gloo 2 3"]);
    expect(existsSync("/usr/bin/mpirun.openmpi")).toBe(true);
    program("mpirun", `exec mpirun.openmpi --oversubscribe "$@"`);
    const root = {
      OMPI_ALLOW_RUN_AS_ROOT: "1",
      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1",
      OMPI_MCA_btl: "self,vader",
      OMPI_MCA_oob_tcp_if_include: "lo",
    };
    const mpi = spawnSync(join(folder, "mpirun.sh"), [script], { encoding: "utf8", env: { ...env, ...root } });
    expect([mpi.status, mpi.stderr, lines(mpi.stdout)]).toEqual([0, "", ["mpi 2 3", "mpi 2 3"]]);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
});
