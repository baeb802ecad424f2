// Links between built pages: the page, and the heading or row that a link names. VitePress looks at the pages of Markdown's links only.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const decoded = (text: string): string => decodeURIComponent(text.replaceAll("&amp;", "&"));

/** Links of built pages that lead nowhere, as "page: address". */
export function deadLinks(dist: string, pages: readonly string[], base: string): readonly string[] {
  const texts = new Map(pages.map((page) => [page, readFileSync(join(dist, page), "utf8")]));
  const ids = new Map(
    [...texts].map(([page, text]) => [page, new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => decoded(id!)))]),
  );
  return [...texts].flatMap(([page, text]) =>
    [...new Set([...text.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].map(([, address]) => address!))]
      .filter((address) => {
        if (/^([a-z]+:|\/\/)/.test(address)) return false;
        const [path = "", anchor = ""] = address.split("#");
        const relative = path.startsWith("/") ? null : decoded(join(dirname(page), path));
        const name = path === "" ? page : (relative ?? (path.startsWith(base) ? decoded(path.slice(base.length)) : null));
        if (name === null) return true;
        const found = [name, `${name}.html`, join(name, "index.html")].find((file) => texts.has(file));
        if (found === undefined) return !existsSync(join(dist, name));
        // TypeDoc and VitePress number equal headings in ways of their own.
        if (found.startsWith("api/")) return false;
        return anchor !== "" && !ids.get(found)!.has(decoded(anchor));
      })
      .map((address) => `${page}: ${address}`),
  );
}
