/** The program that a verb of the command runs. */
import { statSync } from "node:fs";
import { InvalidArgumentError } from "commander";

/** The file of a path; Node finds `train.js` by `train` too. Throws InvalidArgumentError where none is there. */
export function scriptFile(path: string): string {
  const found = [path, `${path}.js`].find((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);
  if (found === undefined) throw new InvalidArgumentError("There is no such file.");
  return found;
}
