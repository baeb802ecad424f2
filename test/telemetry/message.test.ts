/** The message is OTLP's JSON form: names and nesting are those of opentelemetry-proto, examples/logs.json. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { messageOf, operatingSystem } from "../../src/telemetry/message.ts";

it("has three fields, the day, and constants", () => {
  const identifier = "0e9a4b5c-1d2e-4f3a-8b4c-5d6e7f8a9b0c";
  const text = messageOf({ os: { name: "Linux", version: "6.8" }, deviceType: "dml", identifier, day: "2026-11-27" });
  expect(JSON.parse(text)).toEqual({
    resourceLogs: [
      {
        resource: {
          attributes: [
            { key: "service.name", value: { stringValue: "dxtensor" } },
            { key: "os.name", value: { stringValue: "Linux" } },
            { key: "os.version", value: { stringValue: "6.8" } },
          ],
        },
        scopeLogs: [
          {
            scope: { name: "dxtensor" },
            logRecords: [
              {
                // 64-bit integers are texts in protobuf's JSON form; date -u -d 2026-11-27 +%s is 1795737600.
                timeUnixNano: "1795737600000000000",
                eventName: "dxtensor.device.active",
                attributes: [
                  { key: "dxtensor.device.type", value: { stringValue: "dml" } },
                  { key: "dxtensor.monthly.id", value: { stringValue: identifier } },
                ],
              },
            ],
          },
        ],
      },
    ],
  });
  // People read it: an attribute a row.
  expect(text).toContain('\n     { "key": "os.version", "value": { "stringValue": "6.8" } }\n');
  expect(text.endsWith("}\n")).toBe(true);
});

it("is the one that docs/telemetry.md shows", () => {
  const [, shown] = /^```json\n([\s\S]*?)^```$/m.exec(readFileSync("docs/telemetry.md", "utf8"))!;
  const fields = {
    os: { name: "Linux", version: "6.8" },
    deviceType: "cpu",
    identifier: "0e9a4b5c-1d2e-4f3a-8b4c-5d6e7f8a9b0c",
    day: "2026-11-27",
  } as const;
  expect(JSON.parse(shown!)).toEqual(JSON.parse(messageOf(fields)));
});

it.each([
  ["win32", "10.0.22631", { name: "Windows", version: "10.0.22631" }],
  ["win32", "10.0.26100.1742", { name: "Windows", version: "10.0.26100" }],
  ["linux", "6.8.0-45-generic", { name: "Linux", version: "6.8" }],
  ["linux", "6.1.112+", { name: "Linux", version: "6.1" }],
  ["linux", "5.10.0-acme-secret-of-joe", { name: "Linux", version: "5.10" }],
  ["linux", "5.15.167.4-microsoft-standard-WSL2", { name: "WSL", version: "5.15" }],
  ["linux", "joe-kernel", { name: "Linux", version: "" }],
  ["darwin", "24.1.0", { name: "darwin", version: "24.1" }],
] as const)("of %s %s it tells numbers only", (platform, release, os) => {
  expect(operatingSystem(platform, release)).toEqual(os);
});
