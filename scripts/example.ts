// npm run example -- NAME: sets up and builds if needed, then runs examples/NAME with the other arguments.
import { existsSync, readdirSync } from "node:fs";
import { ScriptError, at, main, root } from "./tools/project.ts";
import { takeOver } from "./tools/program.ts";
import { ensureBuilt } from "./lib/ensure.ts";

const names = readdirSync(at("examples")).filter((name) => existsSync(at("examples", name, "main.ts")));

const help = `npm run example -- NAME [OPTIONS]

Runs an example of the folder examples; what it shows is in its README.md. NAME is one of
  ${names.join(", ")}

  --help  this text; after a NAME, that example's own options`;

await main(
  async () => {
    const [name, ...args] = process.argv.slice(2);
    if (name === undefined || !names.includes(name))
      throw new ScriptError("NAME", `${name === undefined ? "A name is missing" : `There is no example ${name}`}.\n\n${help}`);
    await ensureBuilt(["examples"]);
    return takeOver(process.execPath, [at("build", "examples", name, "main.js"), ...args], { cwd: root });
  },
  names.includes(process.argv[2] ?? "") ? undefined : help,
);
