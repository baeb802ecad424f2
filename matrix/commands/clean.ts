/** `matrix clean`: removes the leftovers of dead runs, in the engines and on this machine. */
import { rmSync } from "node:fs";
import { connect } from "../docker/connect.ts";
import { sweep } from "../docker/sweep.ts";
import { cacheFolder, runsFolder } from "../root.ts";
import { removeLeftovers } from "../run/leftovers.ts";
import { newOwner } from "../run/owner.ts";
import { isOver, listRuns } from "../run/store.ts";
import { stopEngine } from "../../scripts/tools/docker/serve.ts";

export interface CleanOptions {
  readonly all?: true;
  readonly json?: true;
  readonly engine: string[] | boolean;
}

export async function cleanMatrix(options: CleanOptions): Promise<number> {
  const owner = newOwner();
  // Processes first: one of them might make another container meanwhile.
  const local = removeLeftovers();
  const sum = { ...local, containers: 0, images: 0, volumes: 0 };
  const { engines, problem } =
    options.engine === false
      ? { engines: [], problem: null }
      : await connect(Array.isArray(options.engine) ? options.engine : [], false, owner);
  for (const engine of engines) {
    const swept = await sweep(engine, options.all === true);
    sum.containers += swept.containers;
    sum.images += swept.images;
    sum.volumes += swept.volumes;
    await engine.close();
  }
  let stopped = "";
  if (options.all === true) {
    for (const run of listRuns().filter(isOver)) rmSync(`${runsFolder()}/${run}`, { recursive: true, force: true });
    rmSync(`${runsFolder()}/latest`, { force: true, recursive: true });
    rmSync(cacheFolder("node"), { recursive: true, force: true });
    const { stopped: isStopped, reason } = await stopEngine();
    if (isStopped) stopped = `; engine stopped: ${reason}`;
  }
  if (options.json === true) process.stdout.write(`${JSON.stringify(sum)}\n`);
  else {
    const text = Object.entries(sum)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ");
    process.stderr.write(`matrix clean: removed ${text}${stopped}${problem === null ? "" : ` (no engine: ${problem})`}\n`);
  }
  return 0;
}
