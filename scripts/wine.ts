// node scripts/run.mjs wine: the Wine cell, in which Windows' node.exe and Microsoft's DirectML.dll run on a Linux machine without a GPU.
import { parseArgs } from "node:util";
import { ScriptError, main, say } from "./tools/project.ts";
import { cellVersions, makeCell, makeImage, removeCell } from "./cells/wine/cell.ts";
import { runInCell, statusOf } from "./cells/wine/run.ts";
import { cellFolder } from "./cells/wine/recipe.ts";

const help = `node scripts/run.mjs wine COMMAND [OPTIONS]

  make                    makes the cell, or the parts that are out of date (root; about a minute, 250 MB to fetch, 1.5 GB on disk)
  run -- PROGRAM ARGS...  runs a Windows program (node.exe script.js) in the current folder, which it sees as Z:\\work
  image [NAME]            the same as a container image (default: dxtensor-wine)
  versions                the versions of the programs in it
  clean                   removes it

  --node 20|22|24         run: which node.exe (default 24)
  --timeout SECONDS       run: stops the program then, with status 124
  --env NAME=VALUE        run: an environment variable for the program, which gets no others; may be repeated
  --mount FOLDER          run: show this folder instead of the current one
  --mirror URL            make: a Debian mirror (else DXTENSOR_DEBIAN_MIRROR, else apt's own)
  --fresh                 make: starts from nothing
  --json                  make, image, versions, clean: one line of JSON
  --help                  this text

The cell is in DXTENSOR_CELL, else in the folder wine of the cache (DXTENSOR_CACHE, $XDG_CACHE_HOME/dxtensor, ~/.cache/dxtensor). run passes exit status, input and output on: 139 is an access
violation, 134 an abort, 124 the time limit, 127 not found, 125 any other status over 255.
DXTENSOR_CELL_DEVICE_HR=887a0004 (by --env) simulates a machine without Direct3D 12, DXTENSOR_CELL_REMOVE_AFTER=20 removes the device after 20
submissions, DXTENSOR_CELL_TRACE=1 prints every device that is created.`;

function variables(texts: readonly string[]) {
  return Object.fromEntries(
    texts.map((text: string) => {
      const at = text.indexOf("=");
      if (at < 1) throw new ScriptError("USAGE", `--env takes NAME=VALUE, not ${text}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

interface Values {
  readonly mount?: string | undefined;
  readonly node: string;
  readonly timeout?: string | undefined;
  readonly env: readonly string[];
}

async function run(command: readonly string[], values: Values) {
  if (command.length === 0) throw new ScriptError("USAGE", "No program was named.", "node scripts/run.mjs wine run -- node.exe script.js");
  const seconds = values.timeout === undefined ? undefined : Number(values.timeout);
  if (seconds !== undefined && !(seconds > 0)) throw new ScriptError("USAGE", "--timeout is a number of seconds");
  const child = runInCell(command, {
    mount: values.mount,
    node: values.node,
    timeoutMs: seconds === undefined ? undefined : seconds * 1000,
    env: variables(values.env),
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill("SIGKILL"));
  return statusOf(await child);
}

await main(async () => {
  const argv = process.argv.slice(2);
  const end = argv.indexOf("--");
  const { values, positionals } = parseArgs({
    args: end < 0 ? argv : argv.slice(0, end),
    allowPositionals: true,
    options: {
      node: { type: "string", default: "24" },
      timeout: { type: "string" },
      env: { type: "string", multiple: true, default: [] },
      mount: { type: "string" },
      mirror: { type: "string" },
      fresh: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const [command, name] = positionals;
  if (values.help || command === undefined) {
    console.log(help);
    return values.help ? 0 : 1;
  }
  const answer = (object: object, text = "") => (values.json ? console.log(JSON.stringify({ ok: true, ...object })) : say(text));
  switch (command) {
    case "make": {
      const changed = await makeCell({ mirror: values.mirror, isFromScratch: values.fresh });
      answer(
        { changed, folder: cellFolder() },
        changed ? `wine: made in ${cellFolder()}` : `wine: the cell in ${cellFolder()} is as it should be`,
      );
      return 0;
    }
    case "run":
      return run(end < 0 ? positionals.slice(1) : argv.slice(end + 1), values);
    case "image": {
      const image = name ?? "dxtensor-wine";
      const id = await makeImage(image);
      answer({ image, id }, `wine: image ${image} (${id})`);
      return 0;
    }
    case "versions": {
      const versions = cellVersions();
      if (values.json) answer(versions);
      else for (const [key, value] of Object.entries(versions)) console.log(`${key}: ${Array.isArray(value) ? value.join(", ") : value}`);
      return versions.isDirectmlRight ? 0 : 1;
    }
    case "clean": {
      const changed = await removeCell();
      answer({ changed }, changed ? `wine: ${cellFolder()} is removed` : "wine: there was no cell");
      return 0;
    }
    default:
      throw new ScriptError("USAGE", `There is no command "${command}".`, "node scripts/run.mjs wine --help");
  }
});
