/**
 * Runs a program and a collector, for a network namespace in which nothing else is: node inside.ts COMMAND ARGUMENTS. Prints one line of JSON,
 * {"status", "stdout", "stderr", "requests"}.
 */
import { spawn } from "node:child_process";
import { collect } from "./collector.ts";

const [command, ...args] = process.argv.slice(2);
const collector = await collect();
const env = { ...process.env, DXTENSOR_TELEMETRY_ENDPOINT: collector.endpoint };
const child = spawn(command!, args, { env, stdio: ["ignore", "pipe", "pipe"] });
const said = ["", ""];
for (const [i, stream] of [child.stdout, child.stderr].entries())
  stream.setEncoding("utf8").on("data", (text: string) => (said[i] += text));
child.once("close", (status) => {
  process.stdout.write(`${JSON.stringify({ status, stdout: said[0], stderr: said[1], requests: collector.requests })}\n`);
  collector.close();
});
