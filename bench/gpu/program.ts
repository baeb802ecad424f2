// Programs of a run on a GPU machine: each with a limit and a log, and none left when the run is interrupted.
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where the archives were unpacked. */
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const at = (...parts) => join(root, ...parts);
export const node = at("bin", "node");

const running = new Set();
let isStopping = false;

/** A program and all that it started are a process group; for a cell, the end of its first process is the end of all. */
function kill({ pid }) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** Ends what runs; what is started later ends at once. */
export function stopPrograms() {
  isStopping = true;
  for (const child of running) kill(child);
}
export const isStopped = () => isStopping;

/**
 * Runs a program with a limit; its output goes to a log and comes back: {name, code, seconds, text, note}. isAlone: with no environment
 * but env.
 */
export function program(name, command, args, { limitMs, out, env = {}, cwd = root, isAlone = false }) {
  if (isStopping) return Promise.resolve({ name, code: 130, seconds: 0, text: "", note: "interrupted" });
  return new Promise((done) => {
    const log = createWriteStream(join(out, `${name}.log`));
    const start = performance.now();
    let text = "";
    let isLate = false;
    const options = { cwd, env: isAlone ? env : { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"], detached: true };
    const child = spawn(command, args, options);
    running.add(child);
    const timer = setTimeout(() => {
      isLate = true;
      kill(child);
    }, limitMs);
    const end = (code, message) => {
      clearTimeout(timer);
      running.delete(child);
      log.end();
      const seconds = (performance.now() - start) / 1000;
      const note = isLate ? `stopped after ${limitMs / 1000} s` : isStopping ? "interrupted" : (message ?? "");
      done({ name, code, seconds, text, note });
    };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        log.write(chunk);
        text += chunk;
      });
    child.on("error", (error) => end(null, error.message));
    child.on("close", (code) => end(code));
  });
}

export const json = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null);

/** The last line "N passed, N failed" of an output, which may count what was skipped, too. */
export function counts(text) {
  const found = [...text.matchAll(/^(\d+) passed, (\d+) failed(?:, \d+ skipped)?\r?$/gm)].at(-1);
  return found === undefined ? null : { passed: Number(found[1]), failed: Number(found[2]) };
}

export function lastJson(text) {
  for (const line of text.trimEnd().split("\n").toReversed())
    if (line.startsWith("{"))
      try {
        return JSON.parse(line);
      } catch {
        // A line of a log that begins like an object.
      }
  return null;
}

/** Failed tests of a report in the Common Test Report Format. */
export const failuresOf = (report) =>
  report === null ? [] : report.results.tests.filter((t) => t.status === "failed").map((t) => ({ name: t.name, message: t.message ?? "" }));
