// node --import ./scripts/typescript.mjs FILE.ts: Node takes TypeScript in place, in every version that is supported.
// @ts-check
import module from "node:module";
import { loadSync } from "./hooks.mjs";

/** Node 22.15 and later; earlier ones run hooks in a thread of their own. */
const { registerHooks } = /** @type {{ registerHooks?: (hooks: { load: typeof loadSync }) => void }} */ (module);

if (registerHooks === undefined) module.register("./hooks.mjs", import.meta.url);
else registerHooks({ load: loadSync });
process.setSourceMapsEnabled(true);
