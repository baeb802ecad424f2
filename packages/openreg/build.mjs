// Makes dist: the backend as CommonJS, which every Node loads without an import, the ES module that registers it, and the types.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const folder = dirname(fileURLToPath(import.meta.url));
const dist = join(process.argv[2] ?? folder, "dist");
mkdirSync(dist, { recursive: true });
const build = await rolldown({ input: join(folder, "src", "backend.ts"), platform: "node", tsconfig: false });
await build.write({ file: join(dist, "backend.cjs"), format: "cjs", exports: "named" });
await build.close();
writeFileSync(
  join(dist, "index.js"),
  `import { createRequire } from "node:module";
import { backend as dx } from "dxtensor";

export const { backend, faults } = createRequire(import.meta.url)("./backend.cjs");
dx.register(backend);
`,
);
const [faults] = /^\/\*\* Faults on demand[\s\S]*?^\}$/m.exec(readFileSync(join(folder, "src", "device.ts"), "utf8"));
writeFileSync(
  join(dist, "index.d.ts"),
  `import type { backend as dx } from "dxtensor";
${faults.replaceAll("backend.", "dx.")}
/** What dxtensor registers when a device of this name is used. */
export declare const backend: dx.Backend;
/** Faults of the device that was opened last with this index. */
export declare function faults(index: number): Faults;
`,
);
