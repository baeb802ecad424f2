// Images of an engine: found, pulled, imported, built, removed.
import { createReadStream, existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import * as tar from "tar";
import { causeOf } from "../cause.ts";
import { ask, labelFilter, type Engine } from "./engine.ts";
import { EngineError, engineError, isGone, orNull, type EngineProblem } from "./errors.ts";

/** Its id, null where it is not there. */
export async function findImage(engine: Engine, image: string): Promise<string | null> {
  try {
    return (await ask(engine.name, `look for the image ${image}`, () => engine.client.getImage(image).inspect())).Id;
  } catch (error) {
    return orNull(error);
  }
}

export interface ImageInfo {
  readonly id: string;
  readonly tags: readonly string[];
}

export async function listImages(engine: Engine, labels: Readonly<Record<string, string>>): Promise<ImageInfo[]> {
  const found = await ask(engine.name, "list images", () => engine.client.listImages({ filters: labelFilter(labels) }));
  return found.map(({ Id: id, RepoTags: tags }) => ({ id, tags: tags ?? [] }));
}

/** False for one that is gone, or that something else still needs. force: of all its names, and whether or not a stopped container has it. */
export async function removeImage(engine: Engine, image: string, { force = false }: { readonly force?: boolean } = {}): Promise<boolean> {
  try {
    await ask(engine.name, `remove the image ${image}`, () => engine.client.getImage(image).remove({ force }));
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** What the engine tells of a work that takes time; a failure is an event, not an error. */
interface Progress {
  readonly stream?: string;
  readonly status?: string;
  readonly error?: string;
}

interface Followed {
  readonly signal?: AbortSignal | undefined;
  onLine?(line: string): void;
}

/** The last lines of output that the error of a failed build repeats: the engine's own error is only a command's status. */
const shownLines = 15;

/** Follows a work to its end. A stream that breaks off is an error: it says nothing of how the work ended. */
async function follow(
  engine: Engine,
  problem: EngineProblem,
  what: string,
  start: () => Promise<NodeJS.ReadableStream>,
  { signal, onLine }: Followed,
  source?: Readable,
): Promise<void> {
  signal?.throwIfAborted();
  let broken: Error | null = null;
  const last: string[] = [];
  source?.once("error", (error) => void (broken = error));
  const take = (text: string): void => {
    if (text.trim() === "") return;
    const { stream, status, error } = JSON.parse(text) as Progress;
    if (error !== undefined) {
      const told = last.map((line) => `\n  | ${stripVTControlCharacters(line).slice(0, 300)}`).join("");
      throw new EngineError(problem, `The engine ${engine.name} could not ${what}: ${error}${told}`);
    }
    for (const line of (stream ?? status ?? "").split("\n")) {
      if (line.trim() === "") continue;
      last.push(line);
      if (last.length > shownLines) last.shift();
      onLine?.(line);
    }
  };
  try {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    for await (const chunk of await start()) {
      const lines = decoder.write(chunk as Buffer).split("\n");
      lines[0] = rest + lines[0];
      rest = lines.pop()!;
      for (const line of lines) take(line);
    }
    take(rest + decoder.end());
  } catch (error) {
    signal?.throwIfAborted();
    // What was sent broke off, and the connection with it.
    if (broken !== null) throw new EngineError(problem, `The engine ${engine.name} could not ${what}: ${causeOf(broken)}`);
    throw engineError(engine.name, what, error);
  }
}

const abortable = (signal: AbortSignal | undefined): { abortSignal?: AbortSignal } => (signal === undefined ? {} : { abortSignal: signal });

/** Brings an image from its registry; throws NO_IMAGE where that has none, or is not reached. */
export const pullImage = (engine: Engine, image: string, followed: Followed = {}): Promise<void> =>
  follow(engine, "NO_IMAGE", `pull ${image}`, () => engine.client.pull(image, abortable(followed.signal)), followed);

export interface ImportRequest extends Followed {
  readonly image: string;
  /** Of the whole root: a tar's path, or the tar. */
  readonly from: string | Readable;
  /** Lines of a Dockerfile: CMD, ENTRYPOINT, ENV, LABEL, WORKDIR. */
  readonly changes?: readonly string[];
}

/** Makes an image of a tar; gives its id. */
export async function importImage(engine: Engine, request: ImportRequest): Promise<string> {
  const { image, from, changes = [], signal } = request;
  const [repo, tag = "latest"] = splitName(image);
  const what = `import ${image}`;
  const options = { repo, tag, ...(changes.length > 0 ? { changes: changes.join("\n") } : {}), ...abortable(signal) };
  const source = typeof from === "string" ? createReadStream(from) : from;
  // The library takes a stream, and its types a path.
  const start = () => engine.client.importImage(source as unknown as string, options);
  await follow(engine, "IMAGE_LOAD", what, start, request, source);
  return made(engine, "IMAGE_LOAD", what, image);
}

async function made(engine: Engine, problem: EngineProblem, what: string, image: string): Promise<string> {
  const id = await findImage(engine, image);
  if (id === null) throw new EngineError(problem, `The engine ${engine.name} could not ${what}: it is not there afterwards`);
  return id;
}

/** "localhost:5000/a:b" is "localhost:5000/a" with the tag "b". */
export function splitName(image: string): [repository: string, tag?: string] {
  const [, repository, tag] = /^(.*?)(?::([^:/]+))?$/.exec(image)!;
  return tag === undefined ? [repository!] : [repository!, tag];
}

export interface BuildRequest extends Followed {
  readonly image: string;
  /** A folder with its Dockerfile and .dockerignore, or the text of a Dockerfile that copies nothing. */
  readonly context: { readonly folder: string } | { readonly dockerfile: string };
  readonly target?: string;
  readonly arguments?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Builds by the engine's own builder, for which the Dockerfiles here are written; gives the image's id. */
export async function buildImage(engine: Engine, request: BuildRequest): Promise<string> {
  const { image, context, target, arguments: buildargs = {}, labels = {}, signal } = request;
  const archive = "folder" in context ? await packContext(context.folder) : single("Dockerfile", context.dockerfile);
  const what = `build ${image}`;
  const options = { t: image, buildargs, labels, forcerm: true, ...(target === undefined ? {} : { target }), ...abortable(signal) };
  await follow(engine, "IMAGE_BUILD", what, () => engine.client.buildImage(archive, options), request, archive);
  return made(engine, "IMAGE_BUILD", what, image);
}

/** A tar of one file. */
function single(name: string, text: string): Readable {
  const header = new tar.Header({ path: name, mode: 0o644, size: Buffer.byteLength(text), type: "File", mtime: new Date(0) });
  header.encode();
  const body = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
  body.write(text);
  return Readable.from([header.block!, body, Buffer.alloc(1024)]);
}

/** The files of a folder that its .dockerignore leaves, as `docker build` sends them. */
export async function contextFiles(folder: string): Promise<string[]> {
  const { default: rules } = await import("@balena/dockerignore");
  const file = join(folder, ".dockerignore");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const filter = rules.default({ ignorecase: false }).add(text);
  // What is ignored may still hold what is taken back by a line with "!".
  const takesBack = /^\s*!/m.test(text);
  const found: string[] = [];
  const look = (below: string): void => {
    for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      const isIgnored = filter.ignores(path);
      // The builder needs them whatever the file says.
      if (!isIgnored || path === "Dockerfile" || path === ".dockerignore") found.push(path);
      if (entry.isDirectory() && (!isIgnored || takesBack)) look(path);
    }
  };
  look("");
  return found;
}

async function packContext(folder: string): Promise<Readable> {
  const files = await contextFiles(folder);
  return Readable.from(
    tar.c(
      { cwd: folder, portable: true, noDirRecurse: true, gzip: true },
      files.map((file) => `./${file}`),
    ),
  );
}
