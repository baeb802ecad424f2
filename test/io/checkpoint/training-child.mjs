/**
 * Trains with checkpoints: node training-child.mjs BUNDLE FOLDER UNTIL [CALL KIND STEP]. Continues after the last checkpoint, and prints each step. With CALL it kills itself
 * at that call of the file system in the save of a step: "before" it, or after "half" of the bytes that it writes. Without a kill it prints how many calls there were, and which of them wrote.
 */
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

const [, , bundle, folder, until, call, kind, armedStep] = process.argv;
const print = (value) => fs.writeSync(1, `${JSON.stringify(value)}\n`);
let isArmed = false;
let calls = 0;
const writes = [];

/** Counts a call, and ends the process if it is the one. */
function count(fd, bytes) {
  if (!isArmed) return;
  calls++;
  if (bytes !== undefined) writes.push(calls);
  if (calls !== Number(call)) return;
  if (kind === "half" && bytes !== undefined) {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    fs.writeSync(fd, buffer.subarray(0, buffer.byteLength >> 1));
  }
  process.kill(process.pid, "SIGKILL");
}

if (call !== undefined) {
  for (const name of ["rename", "rm", "open"]) {
    const own = promises[name];
    promises[name] = async (...args) => {
      count();
      const result = await own(...args);
      if (name === "open") {
        for (const method of ["writeFile", "write", "sync", "close", "chmod", "chown"]) {
          const ownMethod = result[method].bind(result);
          result[method] = async (...inner) => {
            count(result.fd, method.startsWith("write") ? inner[0] : undefined);
            return ownMethod(...inner);
          };
        }
      }
      return result;
    };
  }
  syncBuiltinESMExports();
}

const dx = await import(bundle);
const { begin, resume, train } = await import("./training.mjs");
dx.setDefaultDevice("cpu");
const state = begin(dx, 7);
const from = await resume(dx, state, folder);
print({ from });
const arm = (step) => {
  isArmed = step === Number(armedStep);
};
for await (const step of train(dx, state, folder, from, Number(until), arm)) print(step);
print({ calls, writes });
