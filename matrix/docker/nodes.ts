/** Node in an engine: a volume for each version, which works on a remote engine as well as on a local one. */
import { Readable } from "node:stream";
import * as tar from "tar";
import { cacheLabels, label, ownerLabels, type Owner } from "../run/owner.ts";
import type { NodeFolder } from "../run/nodes.ts";
import { cacheFolder } from "../root.ts";
import { withStill } from "../../scripts/tools/docker/containers.ts";
import type { Engine } from "../../scripts/tools/docker/engine.ts";
import { ensureVolume } from "../../scripts/tools/docker/volumes.ts";
import { withLock } from "../../scripts/tools/lock.ts";

const done = ".complete";

const filled = new WeakMap<Engine, Map<string, Promise<string>>>();

/** The volume's name, filled if it was not; `image` is any image that is there. Two fillers at a time would trip over each other. */
export async function ensureNodeVolume(engine: Engine, node: NodeFolder, image: string, owner: Owner): Promise<string> {
  const name = `dxtensor-matrix-node-${node.version}`;
  const known = filled.get(engine) ?? new Map<string, Promise<string>>();
  filled.set(engine, known);
  const made = known.get(name) ?? withLock(cacheFolder("node", `${name}.lock`), () => fill(engine, node, image, owner, name));
  known.set(name, made);
  try {
    return await made;
  } catch (error) {
    // The next cell tries again.
    known.delete(name);
    throw error;
  }
}

async function fill(engine: Engine, node: NodeFolder, image: string, owner: Owner, name: string): Promise<string> {
  await ensureVolume(engine, name, cacheLabels({ [`${label}.node`]: node.version }));
  const setup = { image, labels: ownerLabels(owner), mounts: { "/opt/node": name }, writable: ["/opt/node"] };
  return withStill(engine, setup, async (container) => {
    if (await container.has(`/opt/node/${done}`)) return name;
    const files = (names: readonly string[]): Readable => Readable.from(tar.c({ cwd: node.folder, portable: true }, [...names]));
    await container.copyIn("/opt/node", files(["bin", "include", "lib"]));
    // Last, so that a volume that was filled by half is filled again.
    const mark = tar.c({ cwd: node.folder, portable: true, onWriteEntry: (entry) => void (entry.path = done) }, ["version"]);
    await container.copyIn("/opt/node", Readable.from(mark));
    return name;
  });
}
