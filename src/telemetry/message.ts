/** The message: one log record in OpenTelemetry's JSON form (opentelemetry/proto/logs/v1, OTLP 1.x). */

/** Hardware is "dml"; "cpu" is whatever runs on the processor. */
export type DeviceType = "cpu" | "dml";

/** All that a message tells. */
export interface Fields {
  readonly os: OperatingSystem;
  readonly deviceType: DeviceType;
  /** Random, of one month. */
  readonly identifier: string;
  /** Of the message: "2026-11-27". */
  readonly day: string;
}

export interface OperatingSystem {
  readonly name: string;
  readonly version: string;
}

/** "Windows 10.0.22631", "WSL 5.15", "Linux 6.8": a kernel's own words behind its number may name a machine or its owner. */
export function operatingSystem(platform: string, release: string): OperatingSystem {
  const numbers = /^\d+(\.\d+)*/.exec(release)?.[0].split(".") ?? [];
  if (platform === "win32") return { name: "Windows", version: numbers.slice(0, 3).join(".") };
  const version = numbers.slice(0, 2).join(".");
  if (platform === "linux") return { name: /microsoft/i.test(release) ? "WSL" : "Linux", version };
  return { name: platform, version };
}

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

/** The body of the request, to the byte. It ends with a line feed, as `dxtensor telemetry show` prints it. */
export function messageOf({ os, deviceType, identifier, day }: Fields): string {
  const record = {
    // The start of the day: collectors do not take records without a time.
    timeUnixNano: `${Date.parse(`${day}T00:00:00Z`)}000000`,
    eventName: "dxtensor.device.active",
    attributes: [attribute("dxtensor.device.type", deviceType), attribute("dxtensor.monthly.id", identifier)],
  };
  const resource = {
    attributes: [attribute("service.name", "dxtensor"), attribute("os.name", os.name), attribute("os.version", os.version)],
  };
  const logs = { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "dxtensor" }, logRecords: [record] }] }] };
  // An attribute a row: people read this before they consent.
  const text = JSON.stringify(logs, null, 1).replaceAll(
    /\{\s+("key": "[^"]*"),\s+("value": )\{\s+("stringValue": "[^"]*")\s+\}\s+\}/g,
    "{ $1, $2{ $3 } }",
  );
  return `${text}\n`;
}
