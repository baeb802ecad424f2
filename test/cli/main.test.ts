/** The command itself, whatever the verb. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";

it("ends quietly when the reader of its output has closed the pipe", async () => {
  const child = spawn(process.execPath, ["dist/bundle/cli.js", "verify", "--help"], { stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close") as Promise<[code: number | null]>;
  let told = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => (told += part));
  child.stdout.destroy();
  const [code] = await closed;
  expect([code, told]).toEqual([0, ""]);
});
