// Prepares the repository for a command: runs the setup, and builds if a source changed.
import { execa } from "execa";
import { ScriptError, script } from "../tools/project.ts";
import { buildNativeParts, buildTypeScript } from "../build.ts";

/** Runs the setup, which says only what it changed. */
export async function ensureSetup() {
  const done = await execa(process.execPath, script("setup", "--quiet"), { stdio: ["ignore", 2, 2], reject: false });
  if (done.failed) throw new ScriptError("SETUP_FAILED", "The setup failed; see above.");
}

/** Builds what runs, and the named folders of TypeScript. */
export async function ensureBuilt(folders: readonly string[], { isRuntimeOnly = true } = {}) {
  await ensureSetup();
  await buildNativeParts({ isRuntimeOnly });
  await buildTypeScript(folders);
}
