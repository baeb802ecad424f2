/** Counts the messages of telemetry: monthly active devices by device type and operating system, from the file that the collector writes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exampleCommand, ExampleError, isMain, runExample, type CommonOptions } from "../shared/command.ts";

interface Options extends CommonOptions {
  readonly messages?: string;
}

/** The sample is in the sources; a compiled example runs from another folder. */
const samplePaths = ["sample.jsonl", join("..", "..", "..", "examples", "telemetry", "sample.jsonl")];

const command = exampleCommand(
  "telemetry",
  "Counts monthly active devices in the messages that an OpenTelemetry collector has written.",
).option("--messages <file>", "the collector's file, a JSON object a line (default: a sample)");

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

/** OTLP's JSON form of logs, as far as the messages use it. */
interface Logs {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeLogs: readonly {
      readonly logRecords: readonly { readonly timeUnixNano: string; readonly attributes: readonly Attribute[] }[];
    }[];
  }[];
}

export interface Row {
  readonly month: string;
  readonly deviceType: string;
  readonly os: string;
  readonly devices: number;
}

const valueOf = (attributes: readonly Attribute[], key: string): string => attributes.find((a) => a.key === key)?.value.stringValue ?? "";

/** As dashboard.sql: different identifiers of each month, device type and operating system. */
export function count(lines: readonly string[]): Row[] {
  const identifiers = new Map<string, Set<string>>();
  for (const [i, line] of lines.entries())
    try {
      for (const { resource, scopeLogs } of (JSON.parse(line) as Logs).resourceLogs) {
        if (valueOf(resource.attributes, "service.name") !== "dxtensor") continue;
        for (const { timeUnixNano, attributes } of scopeLogs.flatMap((scope) => scope.logRecords)) {
          const month = new Date(Number(BigInt(timeUnixNano) / 1_000_000n)).toISOString().slice(0, 7);
          const key = JSON.stringify([month, valueOf(attributes, "dxtensor.device.type"), valueOf(resource.attributes, "os.name")]);
          const found = identifiers.get(key) ?? new Set();
          identifiers.set(key, found.add(valueOf(attributes, "dxtensor.monthly.id")));
        }
      }
    } catch (error) {
      throw new ExampleError(`Line ${i + 1} is no message of OTLP's logs: ${(error as Error).message}`, { cause: error });
    }
  const sorted = [...identifiers].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([key, found]) => {
    const [month, deviceType, os] = JSON.parse(key) as [string, string, string];
    return { month, deviceType, os, devices: found.size };
  });
}

function textOf(file: string | undefined): string {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const files = file === undefined ? samplePaths.map((name) => join(here, name)) : [file];
  let problem: unknown;
  for (const path of files)
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      problem = error;
    }
  throw new ExampleError(`The messages can't be read: ${(problem as Error).message}`, { cause: problem });
}

export function run({ messages, json }: Options, say: (text: string) => void): Promise<void> {
  const rows = count(
    textOf(messages)
      .split("\n")
      .filter((line) => line.trim() !== ""),
  );
  say("month    device  system    active devices");
  for (const { month, deviceType, os, devices } of rows) say(`${month}  ${deviceType.padEnd(6)}  ${os.padEnd(8)}  ${devices}`);
  if (json) console.log(JSON.stringify({ rows }));
  return Promise.resolve();
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
