// The package's entry points in addition to the main one: readers that need a package which users install themselves. Each is a file that imports the main
// bundle, so that both have one library.
import { join } from "node:path";
import type { InputOptions } from "rolldown";
import { at } from "../tools/project.ts";

/** An entry point: `dxtensor/NAME`, its module in src without the ending, and the package that it needs. */
export interface Entry {
  readonly name: string;
  readonly module: string;
  readonly peer: string;
  /** Packages that only some of its functions need. */
  readonly more?: readonly string[];
}

export const entries: readonly Entry[] = [
  { name: "arrow", module: "peers/arrow/index", peer: "apache-arrow" },
  { name: "hub", module: "peers/hub/index", peer: "@huggingface/hub" },
  { name: "images", module: "peers/images/index", peer: "sharp" },
  { name: "parquet", module: "peers/parquet/index", peer: "hyparquet" },
  { name: "text", module: "peers/text/index", peer: "@huggingface/tokenizers", more: ["@huggingface/jinja"] },
];

/** All packages that entry points need. */
export const peers: readonly string[] = entries.flatMap(({ peer, more = [] }) => [peer, ...more]);

/** What an entry point takes from the main bundle: all that is exported there under the same name. */
const shared = new Set(["index", "core/errors"].flatMap((module) => [at("src", `${module}.ts`), at("dist", `${module}.d.ts`)]));

/** Replaces imports of what the main bundle exports by imports of the file `main`. */
export const fromMain = (main: string): NonNullable<InputOptions["plugins"]> => ({
  name: "main-bundle",
  async resolveId(source, importer) {
    if (importer === undefined || !source.startsWith(".")) return null;
    // In dist, declarations name the sources that they were made of.
    const path = join(importer, "..", source).replace(/(?<=[\\/]dist[\\/].*)(?<!\.d)\.[jt]s$/, ".d.ts");
    return shared.has(path) ? { id: main, external: true } : null;
  },
});

/** How entry points are bundled. main: the file of the main bundle, as an entry point imports it. */
export const entryInput = ({ module }: Entry, main: string): InputOptions => ({
  input: at("src", `${module}.ts`),
  platform: "node",
  external: [/^node:/, ...peers],
  transform: { target: "es2023" },
  tsconfig: false,
  plugins: fromMain(main),
});
