/** Links between files of Markdown: scripts/site/anchors.ts. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { anchorOf, anchorsOf, deadAnchors, deadAnchorsOfPages, markdownFiles } from "../../scripts/site/anchors.ts";

it("the pages of the repository link to headings and files that are there", () => {
  expect(deadAnchorsOfPages()).toEqual([]);
});

it.each([
  ["A native library", "a-native-library"],
  ["`npm run release -- --dry-run`", "npm-run-release------dry-run"],
  ["What [compile](compile.md) keeps, and **why**", "what-compile-keeps-and-why"],
  ["Names: snake_case", "names-snake_case"],
  ["Größe & Länge", "größe--länge"],
])("the anchor of the heading %s", (heading, anchor) => {
  expect(anchorOf(heading)).toBe(anchor);
});

it("equal headings are numbered, headings of code are none, and HTML names anchors too", () => {
  const text = '# One\n\n## Two ##\n\n## Two\n\n```sh\n# a comment\n```\n\n<a id="by-hand"></a>\n\n### Two\n#no heading\n';
  expect([...anchorsOf(text)]).toEqual(["one", "two", "two-1", "by-hand", "two-2"]);
});

it("finds links to headings and files that are not there, and no others", () => {
  const root = mkdtempSync(join(tmpdir(), "dxtensor-anchors-"));
  try {
    mkdirSync(join(root, "docs", "node_modules", "other"), { recursive: true });
    writeFileSync(join(root, "docs", "node_modules", "other", "README.md"), "[x](#gone)");
    writeFileSync(join(root, "docs", "other page.md"), "# Other\n");
    writeFileSync(join(root, "docs", "data.json"), "{}");
    writeFileSync(
      join(root, "docs", "page.md"),
      "# Page\n[a](#page) [b](#gone) [c](other%20page.md#other) [`d`](other%20page.md#gone) [e](absent.md#page) [f](absent.md)\n" +
        "[g](https://example.com/#x) [h](data.json#x) `[i](#gone)` [j](/page.md#page) [k](/page.md#gone) [l](/made.md#x)\n\n```\n[m](#gone)\n```\n" +
        "![picture](absent.svg)\n",
    );
    expect(deadAnchors(markdownFiles(root), root)).toEqual([
      "docs/page.md: #gone",
      "docs/page.md: other%20page.md#gone",
      "docs/page.md: absent.md#page",
      "docs/page.md: absent.md",
      "docs/page.md: /page.md#gone",
      "docs/page.md: absent.svg",
    ]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
