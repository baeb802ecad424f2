// Tests of a report without this machine's folders: reports are sent to others.
import { pathToFileURL } from "node:url";
import type { Test } from "ctrf";

/** Texts of a test with names for folders, in their order: a folder comes before those around it. */
export function withoutFolders(test: Test, names: Readonly<Record<string, string>>): Test {
  const clean = (text: string): string =>
    Object.entries(names).reduce((now, [folder, name]) => now.replaceAll(pathToFileURL(folder).href, name).replaceAll(folder, name), text);
  return {
    ...test,
    ...(test.message === undefined ? {} : { message: clean(test.message) }),
    ...(test.trace === undefined ? {} : { trace: clean(test.trace) }),
  };
}
