/** Node in an engine: a volume for each version, which works on a remote engine as well as on a local one. */
import { Readable } from "node:stream";
import * as tar from "tar";
import { cacheLabels, label, ownerLabels, type Owner } from "../run/owner.ts";
import type { NodeFolder } from "../run/nodes.ts";
import { cacheFolder } from "../root.ts";
import { withLock } from "../../scripts/tools/lock.ts";
import { removeContainer, type Engine } from "./engine.ts";

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
  await engine.docker.createVolume({ Name: name, Labels: cacheLabels({ [`${label}.node`]: node.version }) });
  // A container that is never started: it only opens the volume for archives.
  const container = await engine.docker.createContainer({
    Image: image,
    Cmd: ["true"],
    Labels: ownerLabels(owner),
    HostConfig: { Mounts: [{ Type: "volume", Source: name, Target: "/opt/node" }] },
  });
  try {
    try {
      await container.infoArchive({ path: `/opt/node/${done}` });
      return name;
    } catch (error) {
      if ((error as { statusCode?: number }).statusCode !== 404) throw error;
    }
    const files = (names: readonly string[]): Readable => Readable.from(tar.c({ cwd: node.folder, portable: true }, [...names]));
    await container.putArchive(files(["bin", "include", "lib"]), { path: "/opt/node" });
    // Last, so that a volume that was filled by half is filled again.
    await container.putArchive(
      Readable.from(tar.c({ cwd: node.folder, portable: true, onWriteEntry: (entry) => void (entry.path = done) }, ["version"])),
      {
        path: "/opt/node",
      },
    );
    return name;
  } finally {
    await removeContainer(container);
  }
}
