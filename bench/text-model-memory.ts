/**
 * A program: memory of a process that loads a GGUF file and generates 16 tokens with it, in bytes beyond what the library takes without a model.
 * Arguments: the file, the device.
 */
import { readFileSync } from "node:fs";
import * as dx from "dxtensor";

const [file, device = "cpu"] = process.argv.slice(2);

/** A value of /proc/self/status, in bytes; null on other systems. */
function status(key: "VmRSS" | "VmHWM"): number | null {
  try {
    const found = new RegExp(`^${key}:\\s*(\\d+) kB$`, "m").exec(readFileSync("/proc/self/status", "utf8"));
    return found === null ? null : Number(found[1]) * 1024;
  } catch {
    return null;
  }
}

dx.scope(() => dx.add(dx.tensor([1, 2], { device: dx.device(device) }), 1).dataSync());
const before = status("VmRSS");
const model = await dx.models.fromPretrained(file!, { family: "llama", device: dx.device(device) });
const loaded = status("VmRSS");
await dx.models.generate(model, [1, 4093, 198, 5195], { maxNewTokens: 16, stopTokens: [] });
const [after, peak] = [status("VmRSS"), status("VmHWM")];
console.log(
  JSON.stringify(before === null ? null : { loaded: loaded! - before, after: after! - before, peak: peak! - before, base: before }),
);
