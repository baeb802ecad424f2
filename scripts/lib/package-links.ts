// Links of the pages that a package holds: each leads to a file of the package, to the repository, or nowhere, and then its text stays.
import { posix } from "node:path";

/**
 * A page of the package with links that work there. file: its path in the package, as those of `files`. repository: the address of a file of
 * the repository, if it has one.
 */
export function packageLinks(
  text: string,
  file: string,
  files: ReadonlySet<string>,
  repository: ((path: string) => string) | null,
): string {
  return text.replaceAll(/\[([^\]\n]*)\]\(([^()\s]+)\)/g, (link, shown: string, target: string) => {
    if (/^([a-z][a-z+.-]*:|#)/i.test(target)) return link;
    const [, path = "", rest = ""] = /^([^#?]*)(.*)$/.exec(target)!;
    // Pages of the site are named from its root.
    const named = path.startsWith("/") ? posix.join("docs", `${path}.md`) : posix.normalize(posix.join(posix.dirname(file), path));
    if (files.has(named)) return `[${shown}](${posix.relative(posix.dirname(file), named)}${rest})`;
    return repository === null ? shown : `[${shown}](${repository(named)}${rest})`;
  });
}
