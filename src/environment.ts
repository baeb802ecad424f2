/** Environment variables that switch something on or off. */
import { ValueError } from "./errors.ts";

const on = new Set(["1", "true", "yes", "on"]);
const off = new Set(["", "0", "false", "no", "off"]);

/** Whether a variable is set to 1 or a word for it. Throws ValueError for what is neither on nor off. */
export function isSwitchedOn(name: string): boolean {
  const value = process.env[name];
  if (value === undefined || value === "1" || value === "0") return value === "1";
  const word = value.trim().toLowerCase();
  if (!on.has(word) && !off.has(word)) throw new ValueError(name, "environment variable", '"1" or "0"', value);
  return on.has(word);
}
