/** Removes objects of runs from an engine: those of dead runs always, shared ones on request. */
import { hostname } from "node:os";
import { listContainers, removeContainer } from "../../scripts/tools/docker/containers.ts";
import type { Engine } from "../../scripts/tools/docker/engine.ts";
import { listImages, removeImage } from "../../scripts/tools/docker/images.ts";
import { listVolumes, removeVolume } from "../../scripts/tools/docker/volumes.ts";
import { isAlive, label, readOwner } from "../run/owner.ts";

export interface Swept {
  readonly containers: number;
  readonly images: number;
  readonly volumes: number;
}

/** True when the run that made it is over. Another machine's runs on a shared engine are none of ours. */
function isLeftover(labels: Readonly<Record<string, string>>): boolean {
  const owner = readOwner(labels);
  return owner !== null && owner.host === hostname() && !isAlive(owner);
}

/** all: images and volumes too, unless a container uses them. */
export async function sweep(engine: Engine, all: boolean): Promise<Swept> {
  let [containers, images, volumes] = [0, 0, 0];
  for (const { id, labels } of await listContainers(engine, { [label]: "run" })) {
    if (!isLeftover(labels)) continue;
    await removeContainer(engine, id);
    containers++;
  }
  if (!all) return { containers, images, volumes };
  const cache = { [label]: "cache" };
  // Children before parents: the engine refuses the other order, so what is refused is tried again.
  for (let left = Infinity; ;) {
    const found = await listImages(engine, cache);
    if (found.length === 0 || found.length >= left) break;
    left = found.length;
    for (const { id } of found) if (await removeImage(engine, id, { force: true })) images++;
  }
  for (const name of await listVolumes(engine, cache)) if (await removeVolume(engine, name)) volumes++;
  return { containers, images, volumes };
}
