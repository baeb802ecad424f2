/** Programs without which a script can't continue. */
import { execPath } from "node:process";
import { expect, it } from "vitest";
import { ScriptError, root } from "../../scripts/tools/project.ts";
import { runStep } from "../../scripts/tools/steps.ts";

const isQuiet = true;

it("a step gives what it said, and runs in the repository", async () => {
  expect(await runStep("It", execPath, ["-p", "process.cwd()"], { isQuiet })).toBe(`${root}\n`);
  expect(await runStep("It", execPath, ["-p", "process.env.DXTENSOR_A"], { isQuiet, env: { DXTENSOR_A: "1" } })).toBe("1\n");
});

it("one that fails is an error with the end of what it said, or with why it did not start", async () => {
  const code = 'for (let i = 1; i <= 30; i++) console.log("line " + i); process.exitCode = 3';
  const failed = runStep("The build", execPath, ["-e", code], { isQuiet });
  await expect(failed).rejects.toThrow(ScriptError);
  await expect(failed).rejects.toThrow(/^The build ended with status 3\.\nline 11\nline 12\n[^]*\nline 30$/);
  await expect(runStep("CMake", "dxtensor-no-such-program", [])).rejects.toThrow(/^CMake could not be started: .*ENOENT/);
});
