// Microsoft's libdirectml.so by the package's own code, bundled for the moment: it needs nothing of the build.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { at } from "./project.mjs";

async function bundled(name) {
  const { rolldown } = await import("rolldown");
  const work = mkdtempSync(join(tmpdir(), "dxtensor-fetch-"));
  try {
    const file = join(work, `${name}.mjs`);
    const build = await rolldown({ input: at("src", "fetch", `${name}.ts`), platform: "node", external: /^node:/, tsconfig: false });
    await build.write({ file, format: "esm" });
    await build.close();
    return await import(pathToFileURL(file).href);
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** `dxtensor fetch`, into ./directml where the repository's library looks first; its exit status. */
export async function fetchDirectml(options = {}) {
  const { runFetch } = await bundled("run");
  return runFetch({ to: at("directml"), ...options });
}

/** What is fetched: {wheel, sha256}. */
export const pinnedDirectml = async () => (await bundled("library")).pinned;
