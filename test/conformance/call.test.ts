/** The options of `npm run conformance`, --library among them: scripts/conformance/call.ts. */
import { execa } from "execa";
import { expect, it } from "vitest";
import { conformanceCall } from "../../scripts/conformance/call.ts";
import { cellArguments } from "../../scripts/conformance/windows.ts";

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
  expect(conformanceCall(args)).toEqual({ driver, isWindows: false, args: rest });
});

it("--library windows", () => {
  expect(conformanceCall(["--library", "windows", "--set", "models"])).toEqual({
    driver: null,
    isWindows: true,
    args: ["--device", "dml:0", "--set", "models"],
  });
});

it.each([
  [["--device", "dml:0"], ["--device", "dml:0"], [], []],
  [["--ctrf", "/a/r.json", "--jobs", "2"], ["--ctrf", "0-r.json", "--jobs", "2"], [], [["/app/0-r.json", "/a/r.json"]]],
  [["--resume=r.json"], ["--resume", "0-r.json"], [["/app/r.json", "/app/0-r.json"]], [["/app/0-r.json", "/app/r.json"]]],
  [
    ["--resume", "/r.json", "--ctrf", "/r.json"],
    ["--resume", "0-r.json", "--ctrf", "0-r.json"],
    [["/r.json", "/app/0-r.json"]],
    [["/app/0-r.json", "/r.json"]],
  ],
  [
    ["--resume", "/a/r.json", "--ctrf", "/b/r.json"],
    ["--resume", "0-r.json", "--ctrf", "1-r.json"],
    [["/a/r.json", "/app/0-r.json"]],
    [["/app/1-r.json", "/b/r.json"]],
  ],
  [["--ctrf"], ["--ctrf"], [], []],
])("the files of reports in the Wine cell: %j", (all, args, read, written) => {
  expect(cellArguments(all, "/app")).toEqual({ args, read, written });
});

it.each([
  [["--library", "macos"], /There is no library "macos": linux, vulkan, windows\./],
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
  const done = await execa(process.execPath, ["scripts/run.mjs", "conformance", "--library", "macos"], { reject: false });
  expect([done.exitCode, done.stdout]).toEqual([1, ""]);
  expect(done.stderr).toContain('There is no library "macos": linux, vulkan, windows.');
  expect(done.stderr).toContain("npm run conformance -- --help");
});
