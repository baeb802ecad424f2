/** Models of TensorFlow.js in a package of npm: modules whose value is a model.json, or weights as base64. */
import { gunzipSync } from "node:zlib";
import { runInNewContext } from "node:vm";
import type * as dx from "dxtensor";

const BLOCK = 512;

/** The files of a tar archive by name. Long names have records of their own, which npm's packages do not need. */
function filesOf(archive: Uint8Array): Map<string, Buffer> {
  const bytes = gunzipSync(archive);
  const files = new Map<string, Buffer>();
  const text = (start: number, end: number): string => bytes.toString("latin1", start, end).replace(/\0.*$/s, "");
  for (let at = 0; at + BLOCK <= bytes.length;) {
    const name = text(at, at + 100);
    if (name === "") break;
    const size = Number.parseInt(text(at + 124, at + 136), 8);
    files.set(name, bytes.subarray(at + BLOCK, at + BLOCK + size));
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
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
