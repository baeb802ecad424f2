/** The command: fetches, prints the result, and returns the exit status. */
import { FetchFailure } from "./download-failure.ts";
import { fetchDirectml, type FetchOptions } from "./fetch-directml.ts";

export interface RunOptions extends Omit<FetchOptions, "index" | "onProgress"> {
  /** One line of JSON on stdout. */
  readonly json?: boolean | undefined;
}

const clear = "\r\u001b[K";
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

function progress(bytes: number, total: number | null): void {
  if (process.stderr.isTTY)
    process.stderr.write(`${clear}fetching ${megabytes(bytes)}${total === null ? "" : ` of ${megabytes(total)}`} MB`);
}

export async function runFetch({ json = false, ...options }: RunOptions): Promise<number> {
  const index = process.env.PIP_INDEX_URL || "https://pypi.org/simple";
  try {
    const done = await fetchDirectml({ ...options, index, onProgress: json ? () => {} : progress });
    if (process.stderr.isTTY) process.stderr.write(clear);
    const { path, changed, licences } = done;
    const suffix = licences.length > 0 ? `, with ${licences.join(", ")}` : " (no licence file next to it)";
    process.stdout.write(json ? `${JSON.stringify({ ok: true, ...done })}\n` : `${path}${changed ? suffix : " is there already"}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof FetchFailure)) throw error;
    const { code, message, hint } = error;
    if (json) process.stdout.write(`${JSON.stringify({ ok: false, code, message, hint })}\n`);
    else process.stderr.write(`dxtensor: ${message}\n${hint === null ? "" : `${hint}\n`}`);
    return 1;
  }
}
