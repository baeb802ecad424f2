// The date and the version that each page of the site shows.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { at, root } from "../tools/project.ts";

export interface Stamps {
  readonly version: string;
  readonly commit: string | null;
  /** Of pages that are made of the sources. */
  readonly date: string;
  readonly pages: Readonly<Record<string, string>>;
}

/** The page that a file of the repository becomes; null: none. */
function pageOf(file: string): string | null {
  if (file === "CONTRIBUTING.md") return "contributing.md";
  if (file === "scripts/site/index.md") return "index.md";
  if (file === "examples/README.md") return "examples/index.md";
  return /^docs\/(.+\.md)$/.exec(file)?.[1] ?? (/^examples\/([^/]+)\/README\.md$/.exec(file) ? `examples/${file.split("/")[1]}.md` : null);
}

/** The newest date of each page in the output of `git log --format=@%cs --name-only`. */
export function datesIn(log: string): Readonly<Record<string, string>> {
  const dates: Record<string, string> = {};
  let date = "";
  for (const line of log.split("\n")) {
    if (line.startsWith("@")) date = line.slice(1);
    else if (line !== "") {
      const page = pageOf(line);
      if (page !== null) dates[page] ??= date;
    }
  }
  return dates;
}

/** From git; without it every page has today's date. */
export async function stampsOf(): Promise<Stamps> {
  const { version } = JSON.parse(readFileSync(at("package.json"), "utf8")) as { version: string };
  const git = async (...args: string[]): Promise<string | null> => {
    const { failed, stdout } = await execa("git", args, { cwd: root, reject: false });
    return failed ? null : stdout;
  };
  const last = (await git("log", "-1", "--format=%h %cs"))?.split(" ");
  const log = await git("log", "--format=@%cs", "--name-only", "--", "docs", "examples", "CONTRIBUTING.md", "scripts/site/index.md");
  return {
    version,
    commit: last?.[0] ?? null,
    date: last?.[1] ?? new Date().toISOString().slice(0, 10),
    pages: log === null ? {} : datesIn(log),
  };
}

/** Built pages that show no date or no version. */
export const pagesWithoutStamp = (dist: string, pages: readonly string[]): readonly string[] =>
  pages.filter((page) => {
    const html = readFileSync(join(dist, page), "utf8");
    // VitePress' own page for what is not there is made by the browser alone.
    return page !== "404.html" && !(/<span class="version"[^>]*>\d+\.\d+\.\d+/.test(html) && /<time datetime="\d{4}-\d\d-\d\d"/.test(html));
  });
