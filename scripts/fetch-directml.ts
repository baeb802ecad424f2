// npm run fetch:directml: Microsoft's libdirectml.so with its licence into ./directml, by the package's own command.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { main } from "./tools/project.ts";
import { fetchDirectml } from "./lib/directml.ts";

const help = `npm run fetch:directml [-- OPTIONS]

Puts Microsoft's libdirectml.so (Linux x64, MIT licence) into ./directml, where the repository's library looks first: npx dxtensor fetch
with --to directml. Its options:

  --from PATH     take it from libdirectml.so, from the wheel, or from a folder that holds one of them
  --sha256 HEX    accept the library with this digest instead of the pinned one
  --to FOLDER     put it elsewhere
  --force         replace the present library even if it is the right one
  --json          one line of JSON on stdout
  --help          this text`;

await main(async () => {
  const { values } = parseArgs({
    options: {
      from: { type: "string" },
      sha256: { type: "string" },
      to: { type: "string" },
      force: { type: "boolean" },
      json: { type: "boolean" },
    },
  });
  return fetchDirectml({ ...values, ...(values.to === undefined ? {} : { to: resolve(values.to) }) });
}, help);
