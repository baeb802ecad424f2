// Anchors of links between Markdown files: the heading that a link names, as GitHub and editors name headings.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { at, root } from "../tools/project.ts";

/** Lines outside fenced blocks. */
const prose = (text: string): readonly string[] => text.replaceAll(/^( *)(```|~~~)[\s\S]*?^\1\2\s*$/gm, "").split("\n");

/** A heading's anchor, without the number that a repeated one gets. */
export const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*]/g, "")
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");

/** The anchors of a file's headings, and those that HTML in it names. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const line of prose(text)) {
    for (const [, id] of line.matchAll(/<[^>]*\s(?:id|name)="([^"]+)"/g)) found.add(id!);
    const heading = /^#{1,6}\s+(.*?)(?:\s+#+)?\s*$/.exec(line)?.[1];
    if (heading === undefined) continue;
    const anchor = anchorOf(heading);
    let count = 0;
    while (found.has(count === 0 ? anchor : `${anchor}-${count}`)) count++;
    found.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return found;
}

/** The Markdown files in a folder, without those of installed packages. */
export const markdownFiles = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ["node_modules", "dist", "build"].includes(entry.name) ? [] : markdownFiles(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });

/** Links of the files to a heading that is not there, or to a file that is not there, as "docs/tour.md: devices.md#memory". */
export function deadAnchors(files: readonly string[], folder: string): readonly string[] {
  const anchors = new Map<string, ReadonlySet<string>>();
  const of = (file: string): ReadonlySet<string> => {
    const known = anchors.get(file) ?? anchorsOf(readFileSync(file, "utf8"));
    anchors.set(file, known);
    return known;
  };
  return files.flatMap((file) =>
    prose(readFileSync(file, "utf8"))
      .flatMap((line) => [...line.replaceAll(/`[^`]*`/g, "").matchAll(/\]\(([^()\s]+)\)/g)].map(([, to]) => to!))
      .filter((to) => {
        if (/^[a-z][a-z+.-]*:/i.test(to)) return false;
        const [path = "", anchor = ""] = to.split("#");
        // Pages of the site are named from its root.
        const target =
          path === "" ? file : path.startsWith("/") ? join(folder, "docs", path) : join(dirname(file), decodeURIComponent(path));
        if (!existsSync(target)) return !path.startsWith("/");
        return anchor !== "" && statSync(target).isFile() && target.endsWith(".md") && !of(target).has(decodeURIComponent(anchor));
      })
      .map((to) => `${relative(folder, file).replaceAll("\\", "/")}: ${to}`),
  );
}

/** Dead links of the repository's pages: those of the site, of packages, examples and folders. */
export const deadAnchorsOfPages = (): readonly string[] =>
  deadAnchors(
    [
      ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map((name) => at(name)),
      ...["docs", "examples", "packages", "src", "test", "bench", "native", "devcontainer", "wsl"].flatMap((name) =>
        markdownFiles(at(name)),
      ),
    ],
    root,
  );
