// Makes dist: the test files of all sets as plain Node programs, with the recorded cases that they read, and the schema of their reports.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const repository = join(folder, "..", "..");
const dist = join(process.argv[2] ?? folder, "dist");
execFileSync(process.execPath, [join(repository, "scripts", "run.mjs"), "bundle-tests", "--conformance", "--out", dist], {
  cwd: repository,
  stdio: ["ignore", "ignore", "inherit"],
});
writeFileSync(join(dist, "report.schema.json"), execFileSync(process.execPath, [join(dist, "report.mjs"), "schema"]));
