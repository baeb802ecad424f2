/** The wheel from a package index, without pip: the index's page names the file and its digest (PEP 503). */
import { FetchFailure } from "./download-failure.ts";
import { sha256 } from "./directml-library.ts";

const hint =
  "Check the network and the index (PIP_INDEX_URL; behind a proxy NODE_USE_ENV_PROXY=1 from Node 24 on), or name a copy: npx dxtensor fetch --from FILE_OR_FOLDER";

async function answerOf(url: string): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, { headers: { accept: "text/html" }, signal: AbortSignal.timeout(300_000) });
  } catch (error) {
    const { message, cause } = error as Error;
    throw new FetchFailure("DOWNLOAD", `${url} does not answer: ${cause instanceof Error ? cause.message || cause.name : message}.`, hint);
  }
  if (!answer.ok) throw new FetchFailure("DOWNLOAD", `${url} answers with status ${answer.status}.`, hint);
  return answer;
}

interface Wheel {
  readonly project: string;
  readonly file: string;
}

/** The bytes; onProgress is told of those that have come, and of all if the server says how many. */
export async function downloadWheel(
  index: string,
  { project, file }: Wheel,
  onProgress: (bytes: number, total: number | null) => void,
): Promise<Buffer> {
  const page = `${index.replace(/\/+$/, "")}/${project}/`;
  const text = await (await answerOf(page)).text();
  const link = [...text.matchAll(/href="([^"]+)"/g)]
    .map((match) => match[1]!.replaceAll("&amp;", "&"))
    .find((url) => url.includes(`/${file}`));
  if (link === undefined) throw new FetchFailure("DOWNLOAD", `${page} does not have ${file}.`, hint);
  const url = new URL(link, page);
  const digest = /sha256=([0-9a-f]{64})/.exec(url.hash)?.[1];
  const answer = await answerOf(url.href);
  const total = Number(answer.headers.get("content-length")) || null;
  const pieces: Uint8Array[] = [];
  let received = 0;
  for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    onProgress((received += piece.length), total);
  }
  const bytes = Buffer.concat(pieces);
  if (digest !== undefined && sha256(bytes) !== digest)
    throw new FetchFailure("TRUNCATED", `${url.href} does not have the digest that ${page} states.`, hint);
  return bytes;
}
