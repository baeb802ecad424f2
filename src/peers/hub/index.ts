/** Models of the Hugging Face Hub by the package @huggingface/hub: files into its cache, and only when they are asked for. The entry point `dxtensor/hub`. */
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DTypeError, FormatError, ValueError } from "../../core/errors.ts";
import { loadPeer, peerError } from "../peer.ts";

const OPERATION = "downloadModel";

/** How far a download has come. */
export interface HubProgress {
  /** The file that is there now. */
  readonly name: string;
  /** Bytes of the files that are there. */
  readonly bytes: number;
  /** Bytes of all files that were asked for. */
  readonly totalBytes: number;
}

/** Options of downloadModel(). */
export interface HubOptions {
  /** A branch, a tag or a commit. Default: "main". */
  readonly revision?: string | undefined;
  /**
   * Which files: names, or a function of them. Default: what dx.models.fromPretrained() and loadTokenizer() read, which are the JSON files of the main folder,
   * chat templates, merges, and weights as safetensors.
   */
  readonly files?: readonly string[] | ((name: string) => boolean) | undefined;
  /** Uses what is in the cache, and asks nobody. Default: false. */
  readonly offline?: boolean | undefined;
  /** Of a model that is not public. Default: none. */
  readonly accessToken?: string | undefined;
  /** The cache. Default: that of Hugging Face's programs, which HF_HUB_CACHE or HF_HOME name. */
  readonly cacheDir?: string | undefined;
  /** Another server of the same interface. Default: https://huggingface.co */
  readonly hubUrl?: string | undefined;
  /** In place of the global fetch(). */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Called after each file. */
  readonly onProgress?: ((progress: HubProgress) => void) | undefined;
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
}

/** What is used of the package. */
interface Hub {
  readonly getHFHubCachePath: () => string;
  readonly modelInfo: (
    p: Asked & { readonly name: string; readonly additionalFields: readonly string[] },
  ) => Promise<{ readonly sha: string }>;
  readonly listFiles: (p: Asked & { readonly repo: string; readonly recursive: boolean }) => AsyncIterable<Listed>;
  readonly downloadFileToCacheDir: (
    p: Asked & { readonly repo: string; readonly path: string; readonly cacheDir: string },
  ) => Promise<string>;
}

interface Asked {
  readonly revision: string;
  readonly hubUrl?: string | undefined;
  readonly accessToken?: string | undefined;
  readonly fetch: typeof globalThis.fetch;
}

interface Listed {
  readonly type: string;
  readonly path: string;
  readonly size: number;
}

const REPO = /^[\w.-]+\/[\w.-]+$/;
const COMMIT = /^[0-9a-f]{40}$/;
const REVISION = /^[\w.-]+(?:\/[\w.-]+)*$/;

/** JSON files, templates, merges and safetensors of the main folder: no weights of other programs, and no code. */
const isOfModel = (name: string): boolean => !name.includes("/") && /\.(?:json|safetensors|jinja)$|^merges\.txt$|^vocab\.txt$/.test(name);

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => null)) !== null;

/** The folder of a model's files in the cache, and the commit that a branch or tag was when it was last asked for. */
async function cached(repo: string, revision: string, cacheDir: string): Promise<string> {
  const folder = join(cacheDir, `models--${repo.replace("/", "--")}`);
  const commit = COMMIT.test(revision) ? revision : (await readFile(join(folder, "refs", revision), "utf8").catch(() => "")).trim();
  const snapshot = join(folder, "snapshots", commit);
  if (commit === "" || !(await exists(snapshot)))
    throw new FormatError(
      OPERATION,
      `${repo} at ${revision}`,
      "in the cache with offline: true",
      `none in ${folder}`,
      "Call it once without offline.",
    );
  return snapshot;
}

/** Names that offline files must have; a function of names can't be asked. */
async function requireFiles(repo: string, snapshot: string, files: HubOptions["files"]): Promise<void> {
  if (files === undefined || typeof files === "function") return;
  for (const name of files)
    if (!(await exists(join(snapshot, name))))
      throw new FormatError(
        OPERATION,
        `${repo}: ${name}`,
        "in the cache with offline: true",
        "none there",
        "Call it once without offline.",
      );
}

/** Throws for arguments that are none. */
function requireArguments(repo: string, { revision = "main", files }: HubOptions): void {
  if (typeof repo !== "string" || !REPO.test(repo) || repo.split("/").some((part) => /^\.+$/.test(part)))
    throw new ValueError(OPERATION, "repo", "OWNER/NAME of a model", repo);
  if (typeof revision !== "string" || !REVISION.test(revision) || revision.split("/").some((part) => /^\.+$/.test(part)))
    throw new ValueError(OPERATION, "revision", "a branch, a tag or a commit", revision);
  if (files === undefined || typeof files === "function") return;
  if (!Array.isArray(files) || files.length === 0 || !files.every((name) => typeof name === "string" && name !== ""))
    throw new DTypeError(OPERATION, "files", "names of files, or a function of them", files);
  const wrong = (files as readonly string[]).find((name) => name.startsWith("/") || name.split(/[/\\]/).includes(".."));
  if (wrong !== undefined) throw new ValueError(OPERATION, "files", "names in the model's folder", wrong);
}

/** The files that are wanted of those that are there. */
function chosen(repo: string, all: readonly Listed[], files: HubOptions["files"]): Listed[] {
  const isWanted = files === undefined ? isOfModel : typeof files === "function" ? files : (name: string) => files.includes(name);
  const found = all.filter(({ path }) => isWanted(path));
  const shown = all.map(({ path }) => path).slice(0, 8).join(", "); // prettier-ignore
  const missing = Array.isArray(files) ? (files as readonly string[]).find((name) => !all.some(({ path }) => path === name)) : undefined;
  if (missing !== undefined) throw new ValueError(OPERATION, "files", `of ${repo}: ${shown}`, missing);
  if (found.length === 0)
    throw new ValueError(OPERATION, "files", `some of ${repo}: ${shown}`, files === undefined ? "none that a model is read from" : "none");
  return found;
}

/**
 * Brings the files of a model of the Hugging Face Hub into the cache that Hugging Face's programs share, and gives their folder, which
 * dx.models.fromPretrained() and loadTokenizer() take. Files that are there already are not loaded again. Nothing else in this library downloads a model.
 *
 * repo: "OWNER/NAME". Throws MissingPackageError without the package @huggingface/hub, ValueError for files that the model does not have, FormatError, whose
 * cause is the package's error, where the server refuses. Reference: huggingface_hub.snapshot_download.
 */
export async function downloadModel(repo: string, options: HubOptions = {}): Promise<string> {
  requireArguments(repo, options);
  const { revision = "main", files, hubUrl, accessToken, signal, onProgress, fetch = globalThis.fetch, offline = false } = options;
  signal?.throwIfAborted();
  const hub = await loadPeer<Hub>(OPERATION, repo, "@huggingface/hub", () => import("@huggingface/hub" as string));
  const cacheDir = options.cacheDir ?? hub.getHFHubCachePath();
  if (offline) {
    const snapshot = await cached(repo, revision, cacheDir);
    await requireFiles(repo, snapshot, files);
    return snapshot;
  }
  const asked: Asked = {
    revision,
    hubUrl,
    accessToken,
    fetch: (url, init) => fetch(url, signal === undefined ? init : { ...init, signal }),
  };
  try {
    const { sha } = await hub.modelInfo({ ...asked, name: repo, additionalFields: ["sha"] });
    if (!COMMIT.test(sha)) throw new FormatError(OPERATION, repo, "of a commit", String(sha));
    const all: Listed[] = [];
    for await (const entry of hub.listFiles({ ...asked, revision: sha, repo, recursive: true })) if (entry.type === "file") all.push(entry);
    const wanted = chosen(repo, all, files);
    const totalBytes = wanted.reduce((n, { size }) => n + size, 0);
    let bytes = 0;
    for (const { path, size } of wanted) {
      signal?.throwIfAborted();
      await hub.downloadFileToCacheDir({ ...asked, revision: sha, repo, path, cacheDir });
      onProgress?.({ name: path, bytes: (bytes += size), totalBytes });
    }
    const folder = join(cacheDir, `models--${repo.replace("/", "--")}`);
    if (revision !== sha) {
      const reference = join(folder, "refs", revision);
      await mkdir(dirname(reference), { recursive: true });
      await writeFile(reference, sha);
    }
    return join(folder, "snapshots", sha);
  } catch (error) {
    signal?.throwIfAborted();
    throw peerError(OPERATION, repo, "a model that the server gives", error);
  }
}
