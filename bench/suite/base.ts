/** An earlier commit, built in addition to this one, with this one's measurements in it. */
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { extract } from "tar";
import { pipeline } from "node:stream/promises";

export class BaseError extends Error {
  override readonly name = "BaseError";
}

/** The folder of the commit's build; made when it is not there yet, which takes as long as a build does. */
export async function buildBase(root: string, revision: string, say: (text: string) => void, signal: AbortSignal): Promise<string> {
  const found = await execa("git", ["rev-parse", "--verify", "--quiet", `${revision}^{commit}`], { cwd: root, reject: false });
  if (found.failed) throw new BaseError(`--check: ${revision} is no commit of this repository`);
  const folder = join(root, "build", "bench-base", found.stdout.slice(0, 12));
  const done = join(folder, "built");
  if (!existsSync(done)) {
    say(`building ${revision} (${found.stdout.slice(0, 12)}) for comparison`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const archive = execa("git", ["archive", found.stdout], { cwd: root, encoding: "buffer", buffer: false, cancelSignal: signal });
    await Promise.all([pipeline(archive.stdout, extract({ cwd: folder })), archive]);
    for (const args of [["ci"], ["run", "setup"], ["run", "build"]]) {
      const run = await execa("npm", args, { cwd: folder, stdio: ["ignore", 2, 2], cancelSignal: signal, reject: false });
      signal.throwIfAborted();
      if (run.failed) throw new BaseError(`--check: npm ${args.join(" ")} failed for ${revision}, see above; its folder is ${folder}`);
    }
    writeFileSync(done, "");
  }
  const measurements = join(folder, "build", "bench-now");
  rmSync(measurements, { recursive: true, force: true });
  cpSync(join(root, "build", "bench"), measurements, { recursive: true });
  return measurements;
}
