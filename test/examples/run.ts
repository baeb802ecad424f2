/** The examples as a user runs them: compiled, each in a process of its own. */
import { existsSync } from "node:fs";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { execa, type ResultPromise } from "execa";
import { expect } from "vitest";

const programOf = (name: string): string => {
  const program = `build/examples/${name}/main.js`;
  expect(existsSync(program), "npm test and npm run build compile the examples").toBe(true);
  return program;
};

const settings = { reject: false, stdin: "ignore", env: { NO_COLOR: "1" } } as const;

/** Starts an example on the software adapter with --json; what it prints comes line by line. */
export function start(
  name: string,
  args: readonly string[],
): { readonly child: ResultPromise<typeof settings>; readonly line: () => Promise<unknown> } {
  const child = execa(process.execPath, [programOf(name), "--device", "cpu", "--json", ...args], settings);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    line: async () => {
      const next = await lines.next();
      if (next.done === true) throw new Error(`${name} ended: ${(await child).stderr}`);
      return JSON.parse(next.value) as unknown;
    },
  };
}

/** Runs an example to its end; its last line of JSON, which T describes. */
export async function run<T>(name: string, args: readonly string[]): Promise<T> {
  const { exitCode, stdout, stderr } = await execa(process.execPath, [programOf(name), "--device", "cpu", "--json", ...args], settings);
  expect(stderr).toBe("");
  expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
  return JSON.parse(stdout.split("\n").at(-1)!) as T;
}

/** Runs an example without anything added. */
export const raw = (name: string, args: readonly string[]) => execa(process.execPath, [programOf(name), ...args], settings);

/** Ends a process at once, as a crash would. */
export async function kill(child: ResultPromise<typeof settings>): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
