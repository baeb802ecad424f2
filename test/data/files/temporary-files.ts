/** Files with a given content, in a folder of the test file's own, and lists of what a stream gives. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/** Makes a folder before the tests and removes it after them. suffix: of the files, with its dot. */
export function temporaryFiles(suffix: string): {
  readonly folder: () => string;
  readonly fileOf: (content: string | Uint8Array) => Promise<string>;
} {
  let folder: string;
  let count = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "dxtensor-files-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const fileOf = async (content: string | Uint8Array): Promise<string> => {
    const path = join(folder, `${count++}${suffix}`);
    await writeFile(path, content);
    return path;
  };
  return { folder: () => folder, fileOf };
}

export async function listOf<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const row of rows) list.push(row);
  return list;
}
