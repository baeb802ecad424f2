// Whether an engine is of use: one that answers may still be unable to run a container, or to let it reach a network, as inside a sandbox.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as tar from "tar";
import { runContainer } from "./containers.ts";
import { withEngine } from "./engine.ts";
import { importImage, removeImage } from "./images.ts";

const image = "dxtensor-ci-probe:latest";

/** An image of nothing but links: what runs is this machine's own /usr. */
async function makeImage(file: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-probe-"));
  try {
    mkdirSync(join(folder, "usr"));
    for (const name of ["bin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(folder, name));
    await tar.create({ file, cwd: folder }, ["."]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Null where a container of the default engine runs and reaches one of the hosts; else why not. */
export async function engineProblem(hosts: readonly string[]): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-probe-"));
  try {
    await makeImage(join(folder, "probe.tar"));
    return await withEngine(async (engine) => {
      await importImage(engine, { image, from: join(folder, "probe.tar") });
      try {
        const reach = 'for host; do (exec 3<>"/dev/tcp/$host/80") && exit; done; exit 1';
        const command = ["/usr/bin/bash", "-c", reach, "bash", ...hosts];
        const { code, isLate, text } = await runContainer(engine, { image, command, mounts: { "/usr": "/usr" }, limitMs: 60_000 });
        return code === 0
          ? null
          : `a container reached none of ${hosts.join(", ")}${isLate ? " within a minute" : ""}: ${text.trim().slice(-300)}`;
      } finally {
        await removeImage(engine, image);
      }
    });
  } catch (error) {
    return (error as Error).message;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
