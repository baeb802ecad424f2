// Microsoft's libdirectml.so by the package's own code, bundled for the moment: it needs nothing of the build.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { at } from "../tools/project.ts";

/** `dxtensor fetch`, into ./directml where the repository's library looks first; its exit status. */
export async function fetchDirectml(options: Readonly<Record<string, string | boolean | undefined>> = {}): Promise<number> {
  const { rolldown } = await import("rolldown");
  const work = mkdtempSync(join(tmpdir(), "dxtensor-fetch-"));
  try {
    const file = join(work, "run.mjs");
    const build = await rolldown({ input: at("src", "fetch", "run.ts"), platform: "node", external: /^node:/, tsconfig: false });
    await build.write({ file, format: "esm" });
    await build.close();
    const { runFetch } = await import(pathToFileURL(file).href);
    return await runFetch({ to: at("directml"), ...options });
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** What is fetched, read from the source that says it: {wheel, sha256}. */
export function pinnedDirectml() {
  const text = readFileSync(at("src", "fetch", "directml-library.ts"), "utf8");
  const [wheel, sha256] = ["wheel", "sha256"].map((name) => new RegExp(`^ {2}${name}: "([^"]+)"`, "m").exec(text)![1]!);
  return { wheel: wheel!, sha256: sha256! };
}
