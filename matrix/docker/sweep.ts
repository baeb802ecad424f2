/** What runs leave in an engine: of dead runs always, what is kept from run to run when asked. */
import { hostname } from "node:os";
import { isAlive, label, readOwner } from "../run/owner.ts";
import { removeContainer, type Engine } from "./engine.ts";

export interface Swept {
  readonly containers: number;
  readonly images: number;
  readonly volumes: number;
}

const isGone = (error: unknown): boolean => [404, 409].includes((error as { statusCode?: number }).statusCode ?? 0);

/** True when the run that made it is over. Another machine's runs on a shared engine are none of ours. */
function isLeftover(labels: Readonly<Record<string, string>>): boolean {
  const owner = readOwner(labels);
  return owner !== null && owner.host === hostname() && !isAlive(owner);
}

/** all: images and volumes too, unless a container uses them. */
export async function sweep(engine: Engine, all: boolean): Promise<Swept> {
  const { docker } = engine;
  let [containers, images, volumes] = [0, 0, 0];
  for (const info of await docker.listContainers({ all: true, filters: { label: [`${label}=run`] } })) {
    if (!isLeftover(info.Labels)) continue;
    await removeContainer(docker.getContainer(info.Id));
    containers++;
  }
  if (!all) return { containers, images, volumes };
  const filters = { label: [`${label}=cache`] };
  // Children before parents: the engine refuses the other order, so what is refused is tried again.
  for (let left = Infinity; ;) {
    const found = await docker.listImages({ filters });
    if (found.length === 0 || found.length >= left) break;
    left = found.length;
    for (const image of found) {
      try {
        await docker.getImage(image.Id).remove({ force: true });
        images++;
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    }
  }
  for (const volume of (await docker.listVolumes({ filters: JSON.stringify(filters) as unknown as { label: string[] } })).Volumes ?? []) {
    try {
      await docker.getVolume(volume.Name).remove();
      volumes++;
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
  return { containers, images, volumes };
}
