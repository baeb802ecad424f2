import { expect, it } from "vitest";
import { packageLinks } from "../../scripts/lib/package-links.ts";

const files = new Set(["README.md", "docs/a.md", "docs/errors.md", "examples/one/README.md"]);
const address = (path: string): string => `https://example.org/blob/v1/${path}`;

it.each([
  ["README.md", "see [a](docs/a.md#part)", "see [a](docs/a.md#part)"],
  ["docs/a.md", "[readme](../README.md), [part](#part)", "[readme](../README.md), [part](#part)"],
  ["docs/a.md", "[texts](/errors)", "[texts](errors.md)"],
  ["examples/one/README.md", "[a](../../docs/a.md)", "[a](../../docs/a.md)"],
  [
    "docs/a.md",
    "[site](https://example.com/x.md) and [mail](mailto:a@example.com)",
    "[site](https://example.com/x.md) and [mail](mailto:a@example.com)",
  ],
])("in %s, %s leads where it led", (file, text, want) => {
  expect(packageLinks(text, file, files, address)).toBe(want);
  expect(packageLinks(text, file, files, null)).toBe(want);
});

it("what the package leaves out is at the repository's address, or plain text", () => {
  const text = "[how](../CONTRIBUTING.md#add), [tests](../test/README.md)";
  expect(packageLinks(text, "docs/a.md", files, address)).toBe(
    "[how](https://example.org/blob/v1/CONTRIBUTING.md#add), [tests](https://example.org/blob/v1/test/README.md)",
  );
  expect(packageLinks(text, "docs/a.md", files, null)).toBe("how, tests");
});
