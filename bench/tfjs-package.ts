/** Models of TensorFlow.js in a package of npm: modules whose value is a model.json, or weights as base64. */
import { gunzipSync } from "node:zlib";
import { runInNewContext } from "node:vm";
import type * as dx from "dxtensor";
import { Parser } from "tar";

/** The files of a tar archive by name. */
function filesOf(archive: Uint8Array): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry) => {
      const pieces: Buffer[] = [];
      entry.on("data", (piece) => pieces.push(piece));
      entry.on("end", () => files.set(entry.path, Buffer.concat(pieces)));
    },
  });
  // Of bytes that are not compressed, entries come at once.
  parser.end(gunzipSync(archive));
  return files;
}

/** What the CommonJS modules in a folder of a package export. They are code of the package, whose digest is known. */
export function artifactsOf(archive: Uint8Array, folder: string): dx.io.tfjs.TfjsArtifacts {
  const modules = [...filesOf(archive)].filter(([name]) => name.startsWith(`${folder}/`)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  let model: object | null = null;
  const weightData: Buffer[] = [];
  for (const [, text] of modules) {
    const module = { exports: {} as object | string };
    runInNewContext(`${text}`, { module, exports: module.exports });
    if (typeof module.exports === "string") weightData.push(Buffer.from(module.exports, "base64"));
    // An object of this context.
    else model = JSON.parse(JSON.stringify(module.exports)) as object;
  }
  if (model === null) throw new Error(`${folder} has no model`);
  return { ...model, weightData } as unknown as dx.io.tfjs.TfjsArtifacts;
}
