/** The examples of differences.ts are true. */
import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean } from "../device.ts";
import { differences } from "./differences.ts";

describe("differences", () => {
  const shown = differences.flatMap(({ reason, example }) => (example === undefined ? [] : [{ reason, ...example }]));
  test.each(shown)("$code: $reason", ({ code, here }) =>
    clean("cpu", () => {
      const result: unknown = runInNewContext(code, { dx });
      expect(
        typeof result === "string"
          ? result
          : inspect(result, { depth: null, compact: 100, breakLength: Infinity }).replaceAll(/\[ | \]/g, (bracket) => bracket.trim()),
      ).toBe(here);
    }),
  );
});
