// node scripts/run.mjs base-image SUITE...: base images for the Dockerfile where no container registry is reached.
import { parseArgs } from "node:util";
import { at, main, say, ScriptError } from "./tools/project.ts";
import { checkSuite, ensureBase } from "./tools/base.ts";
import { withEngine } from "./tools/docker/engine.ts";
import { suites } from "./tools/suites.ts";

const help = `node scripts/run.mjs base-image SUITE... [OPTIONS]

Makes a minimal Debian image by debootstrap (as root; Debian's archive is enough) and imports it as
localhost/dxtensor-base:SUITE. What is there already is kept.

${Object.entries(suites)
  .map(([name, { standsFor }]) => `  ${name.padEnd(10)} stands in for ${standsFor}`)
  .join("\n")}

  --mirror URL   the Debian mirror (else DXTENSOR_DEBIAN_MIRROR, a URL or bullseye=URL,sid=URL; else apt's own, else deb.debian.org)
  --refresh      build it again, even if the engine or the cache (the cache folder's dxtensor/base) has it
  --json         one line of JSON for each on stdout
  --help         this text`;

if (process.argv[1] === at("scripts", "base-image.ts")) {
  await main(async () => {
    const { values, positionals } = parseArgs({
      options: { mirror: { type: "string" }, refresh: { type: "boolean" }, json: { type: "boolean" } },
      allowPositionals: true,
    });
    if (positionals.length === 0) throw new ScriptError("USAGE", "Name a suite.", help);
    // Before any is made, and before an engine is asked for.
    positionals.forEach(checkSuite);
    for (const suite of positionals) {
      const base = await withEngine((engine) => ensureBase(engine, suite, values));
      if (values.json) console.log(JSON.stringify(base));
      else say(`base-image: ${base.image}: ${base.changed ?? "is there already"}`);
    }
  }, help);
}
