/** Before all tests that need one: an engine that answers, started if that is possible. It is left running. */
import { execa } from "execa";

export default async function setup(): Promise<void> {
  const done = await execa("node", ["scripts/docker-engine.mjs", "start"], { reject: false, stdio: ["ignore", "inherit", "inherit"] });
  if (done.failed) throw new Error("These tests need a Docker engine; the reason why there is none stands above.");
}
