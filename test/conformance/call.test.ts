/** The options of `npm run conformance`, --library among them: scripts/conformance/call.ts. */
import { execa } from "execa";
import { expect, it } from "vitest";
import { conformanceCall } from "../../scripts/conformance/call.ts";

it.each([
  [["--library", "linux"], "lavapipe", ["--device", "dml:0"]],
  [["--library=linux"], "lavapipe", ["--device", "dml:0"]],
  [["--library", "vulkan", "--set", "models"], "system", ["--device", "dml:0", "--set", "models"]],
  [["--set", "models", "--library", "linux", "--jobs", "2"], "lavapipe", ["--device", "dml:0", "--set", "models", "--jobs", "2"]],
  [["--device", "dml:1", "--library", "vulkan"], "system", ["--device", "dml:1"]],
  [["--device=dml:1", "--library=vulkan"], "system", ["--device=dml:1"]],
  [["--device", "cpu", "--only", "linux"], null, ["--device", "cpu", "--only", "linux"]],
  [["--device=openreg:0"], null, ["--device=openreg:0"]],
  [["--list"], null, ["--list"]],
])("%j", (args, driver, rest) => {
  expect(conformanceCall(args)).toEqual({ driver, args: rest });
});

it.each([
  [["--library", "windows"], /There is no library "windows": linux, vulkan\./],
  [["--library"], /There is no library ""/],
  [["--library="], /There is no library ""/],
  [["--library", "toString"], /There is no library "toString"/],
  [["--library", "linux", "--library", "vulkan"], /--library occurs twice/],
  [[], /No device was named\./],
  [["--set", "models"], /No device was named \(--set models\)/],
])("refuses %j", (args, message) => {
  expect(() => conformanceCall(args)).toThrow(message);
});

it("is refused before anything is built", async () => {
  const done = await execa(process.execPath, ["scripts/run.mjs", "conformance", "--library", "windows"], { reject: false });
  expect([done.exitCode, done.stdout]).toEqual([1, ""]);
  expect(done.stderr).toContain('There is no library "windows": linux, vulkan.');
  expect(done.stderr).toContain("npm run conformance -- --help");
});
