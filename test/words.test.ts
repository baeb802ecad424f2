/** The check of words to avoid: it finds a word in each kind of text, leaves legitimate uses alone, and names a term of the glossary. */
import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { AVOIDED, findAvoided, hitsOf, wordsOf, type Hit } from "../scripts/lib/words.ts";

const file = "src/compile/log.ts";
const found = (text: string, path = file): string[] => hitsOf(path, text).map(({ kind, found: word, line }) => `${line} ${kind}: ${word}`);

it("takes identifiers apart", () => {
  expect(wordsOf("inPlaceWrites in_place-writes HTTPPlace")).toBe("in place writes in place writes http place");
});

it("finds a word in an identifier, a comment, a text, a title, a page and a file's name", () => {
  expect(found("const a = 1;\nconst mutableCell = 1;")).toEqual(["2 identifier: cell"]);
  expect(found("const mutable_cells = 1;")).toEqual(["1 identifier: cells"]);
  expect(found("/**\n * The ghost of an argument.\n */\n")).toEqual(["2 comment: ghost"]);
  expect(found("// A whole number.")).toEqual(["1 comment: whole number"]);
  expect(found('throw new ValueError("add", "axis", "a whole number", x);')).toEqual(["1 text: whole number"]);
  expect(found("const s = `its place is\n${x} and a ghost`;")).toEqual(["1 text: place", "2 text: ghost"]);
  expect(found('it("walks to the end", () => {});', "test/graph/graph.test.ts")).toEqual(["1 text: walks"]);
  expect(found("expect(x).toMatch(/the pairing's end/);")).toEqual(["1 text: pairing"]);
  expect(found("# Page\n\nThe axis demands\na whole number.", "README.md")).toEqual(["3 page: demands", "4 page: whole number"]);
  expect(found("---\n---\n\nNo ghosts.", ".changeset/some.md")).toEqual(["4 page: ghosts"]);
  expect(found("export {};", "src/compile/traceEnding.ts")).toEqual(["1 file name: ending"]);
});

it("leaves legitimate uses alone", () => {
  const text = `
    /** Written in place, in-place and out of place; an inline placeholder replaces it, and takes place on demand. */
    const inPlace = replaceAll(placeholder, lstmCell, marketplace);
    const message = "as given: the fitting size, sleepwalking";
    const stateCells = excellent(cancelled) + walkie;`;
  expect(found(text)).toEqual([]);
});

it("tells identifiers from comments and texts, also after quotes in comments and regular expressions", () => {
  expect(found(`// It's the user's.\nconst x = /["'\`]/;\nconst given = "given"; // given`)).toEqual(["3 identifier: given"]);
});

it("knows the published place of ShaderError, Fault and ShaderRange in their files alone, and counts lines there", () => {
  const text = "const range = {\n  place: x.place,\n};\nconst place = 1;";
  expect(found(text, "src/shader/choice.ts")).toEqual(["4 identifier: place"]);
  expect(found(text)).toEqual(["2 identifier: place", "4 identifier: place"]);
  expect(found("interface A {\n  readonly place: string;\n}")).toEqual(["2 identifier: place"]);
});

it("looks only where a word is gone already", () => {
  const rows = [{ stem: "place", pattern: /\bplace\b/, term: "index", paths: ["src/compile", "native/addon/js.h"] }];
  const count = (path: string): number => hitsOf(path, "const place = 1;", rows).length;
  expect(["src/compiler.ts", "native/software/d3d12/device.cpp", "native/addon/js.cpp"].map(count)).toEqual([0, 0, 0]);
  expect(["src/compile/log.ts", "native/addon/js.h"].map(count)).toEqual([1, 1]);
});

it("names terms of the glossary, for patterns that their stems find, in paths that exist", () => {
  const glossary = readFileSync("docs/glossary.md", "utf8");
  const avoided = glossary.slice(glossary.indexOf("## Words to avoid"));
  for (const { stem, pattern, term, paths } of AVOIDED) {
    expect(avoided).toContain(`| ${term} |`);
    expect(pattern.source.replaceAll("\\b", "")).toContain(stem);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
    expect(paths.length).toBeGreaterThan(0);
  }
});

it("finds none in the repository", () => {
  const hits: readonly Hit[] = findAvoided(".");
  expect(hits).toEqual([]);
});
