import { readFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { messageOf } from "../../src/telemetry/message.ts";
import { raw, run } from "./run.ts";

interface Counted {
  readonly rows: readonly { readonly month: string; readonly deviceType: string; readonly os: string; readonly devices: number }[];
}

it("counts each identifier of the sample once a month, device type and system", async () => {
  const { rows } = await run<Counted>("telemetry", []);
  // Counted by hand: two messages of one device are one, and a device of two types is one of each.
  expect(rows.map(({ month, deviceType, os, devices }) => [month, deviceType, os, devices])).toEqual([
    ["2026-10", "cpu", "Linux", 1],
    ["2026-10", "dml", "WSL", 1],
    ["2026-10", "dml", "Windows", 1],
    ["2026-11", "cpu", "Linux", 1],
    ["2026-11", "dml", "Linux", 1],
    ["2026-11", "dml", "Windows", 2],
  ]);
});

it("counts the library's own messages, and says which line is none", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-messages-"));
  const file = join(folder, "messages.jsonl");
  try {
    const message = (identifier: string, day: string): string =>
      JSON.stringify(JSON.parse(messageOf({ os: { name: "Linux", version: "6.8" }, deviceType: "cpu", identifier, day })));
    // The collector's own messages may be in the file.
    const other = JSON.stringify({ resourceLogs: [{ resource: { attributes: [] }, scopeLogs: [] }] });
    writeFileSync(file, [message("a", "2026-11-01"), message("b", "2026-11-30"), message("a", "2026-11-30"), other, ""].join("\n"));
    const { rows } = await run<Counted>("telemetry", ["--messages", file]);
    expect(rows).toEqual([{ month: "2026-11", deviceType: "cpu", os: "Linux", devices: 2 }]);
    writeFileSync(file, `${message("a", "2026-11-01")}\nnot one`);
    const wrong = await raw("telemetry", ["--device", "cpu", "--messages", file]);
    expect(wrong).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^Line 2 is no message of OTLP's logs: /) });
    const absent = await raw("telemetry", ["--device", "cpu", "--messages", join(folder, "absent")]);
    expect(absent).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^The messages can't be read: ENOENT/) });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("the collector's configuration has a pipeline for logs over HTTP, to this machine alone", () => {
  const config = parse(readFileSync("examples/telemetry/collector.yaml", "utf8")) as {
    receivers: { otlp: { protocols: { http: { endpoint: string } } } };
    exporters: Record<string, object>;
    service: { pipelines: { logs: { receivers: string[]; exporters: string[] } } };
  };
  expect(config.receivers.otlp.protocols.http.endpoint).toBe("127.0.0.1:4318");
  const { logs } = config.service.pipelines;
  expect(logs.receivers).toEqual(["otlp"]);
  for (const name of logs.exporters) expect(Object.keys(config.exporters)).toContain(name);
  // The names that the query asks for are the message's.
  const query = readFileSync("examples/telemetry/dashboard.sql", "utf8");
  const message = messageOf({ os: { name: "", version: "" }, deviceType: "cpu", identifier: "", day: "2026-11-27" });
  const names = [...query.matchAll(/Attributes\['([^']+)'\]/g)].map(([, name]) => name!);
  expect(names.length).toBe(3);
  for (const name of names) expect(message).toContain(`"key": "${name}"`);
});
