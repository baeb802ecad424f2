/** Puts the library with its licences into a folder; a failed fetch leaves no files. */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { downloadWheel } from "./download.ts";
import { FetchFailure } from "./download-failure.ts";
import { checkLibrary, pinned, readWheel, sha256, type FetchedFile } from "./directml-library.ts";

export interface FetchOptions {
  /** libdirectml.so, the wheel, or a folder that holds one of them; undefined: the index. */
  readonly from?: string | undefined;
  readonly to: string;
  /** Digest of the library. Default: the pinned one's. */
  readonly sha256?: string | undefined;
  /** Replace what is there even if it is right. */
  readonly force?: boolean | undefined;
  readonly index: string;
  readonly onProgress: (bytes: number, total: number | null) => void;
}

export interface Fetched {
  readonly path: string;
  readonly sha256: string;
  readonly changed: boolean;
  readonly licences: readonly string[];
}

const isLicence = (name: string): boolean => /^(LICENSE|NOTICE)(\.\w+)?$/i.test(name);

/** The file to read: the path itself, or a file in the folder. */
function locate(source: string): string {
  const path = resolve(source);
  if (!existsSync(path))
    throw new FetchFailure(
      "NOT_FOUND",
      `${path} does not exist.`,
      "Name libdirectml.so, the torch-directml wheel, or a folder with one of them.",
    );
  if (!statSync(path).isDirectory()) return path;
  const names = readdirSync(path);
  const name = names.find((file) => file === "libdirectml.so") ?? names.find((file) => /^torch_directml-.*\.whl$/.test(file));
  if (name === undefined)
    throw new FetchFailure(
      "NOT_FOUND",
      `${path} holds neither libdirectml.so nor a torch_directml wheel.`,
      "Name the file itself, or download it: npx dxtensor fetch",
    );
  return join(path, name);
}

function collect(file: string): FetchedFile[] {
  const bytes = readFileSync(file);
  if (file.endsWith(".whl") || file.endsWith(".zip")) return readWheel(bytes, basename(file));
  const licences = readdirSync(dirname(file)).filter(isLicence);
  return [{ name: "libdirectml.so", bytes }, ...licences.map((name) => ({ name, bytes: readFileSync(join(dirname(file), name)) }))];
}

export async function fetchDirectml(options: FetchOptions): Promise<Fetched> {
  const path = join(options.to, "libdirectml.so");
  const wanted = (options.sha256 ?? pinned.sha256).toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(wanted))
    throw new FetchFailure("USAGE", `--sha256 must be 64 hexadecimal digits; received ${options.sha256}.`);
  if (options.force !== true && existsSync(path) && sha256(readFileSync(path)) === wanted)
    return { path, sha256: wanted, changed: false, licences: readdirSync(options.to).filter(isLicence) };
  const file = options.from === undefined ? null : locate(options.from);
  const files = file === null ? readWheel(await downloadWheel(options.index, pinned, options.onProgress), pinned.file) : collect(file);
  checkLibrary(files.find(({ name }) => name === "libdirectml.so")!.bytes, file ?? pinned.file, wanted);
  mkdirSync(options.to, { recursive: true });
  for (const { name, bytes } of files) {
    // Never written over in place: a process may have it loaded.
    writeFileSync(join(options.to, `${name}.new`), bytes);
    renameSync(join(options.to, `${name}.new`), join(options.to, name));
  }
  return { path, sha256: wanted, changed: true, licences: files.map(({ name }) => name).filter(isLicence) };
}
