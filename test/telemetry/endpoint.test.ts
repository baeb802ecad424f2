import { describe, expect, it } from "vitest";
import { ValueError } from "../../src/core/errors.ts";
import { logsUrl } from "../../src/telemetry/endpoint.ts";

describe("an endpoint", () => {
  // OTLP 1.x, "OTLP/HTTP Request": the base URL, with the signal's path behind its own.
  it.each([
    ["https://collector.example", "https://collector.example/v1/logs"],
    ["https://collector.example:4318/", "https://collector.example:4318/v1/logs"],
    ["https://collector.example/otlp//", "https://collector.example/otlp/v1/logs"],
    ["https://collector.example/v1/logs", "https://collector.example/v1/logs"],
    ["HTTPS://Collector.Example", "https://collector.example/v1/logs"],
    ["http://localhost:4318", "http://localhost:4318/v1/logs"],
    ["http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/logs"],
    ["http://127.8.9.10", "http://127.8.9.10/v1/logs"],
    ["http://0x7f.1:4318", "http://127.0.0.1:4318/v1/logs"],
    ["http://[::1]:4318", "http://[::1]:4318/v1/logs"],
  ])("%s", (endpoint, url) => {
    expect(logsUrl(endpoint).href).toBe(url);
  });

  it.each([
    "",
    "collector.example",
    "collector.example:4318",
    "http://collector.example",
    "http://10.0.0.1:4318",
    "http://0.0.0.0:4318",
    "http://[::]:4318",
    "http://[::ffff:10.0.0.1]",
    "http://localhost.example",
    "http://127.0.0.1.example",
    "http://me.localhost",
    "http://127.0.0.1@collector.example",
    "https://me@collector.example",
    "https://me:secret@collector.example",
    "https://collector.example?key=1",
    "https://collector.example#logs",
    "ftp://localhost",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "unix:/run/collector",
    `https://collector.example/${"a".repeat(4096)}`,
  ])("is not %s", (endpoint) => {
    expect(() => logsUrl(endpoint, "--endpoint")).toThrow(ValueError);
    expect(() => logsUrl(endpoint, "--endpoint")).toThrow(/^telemetry: --endpoint must be a base URL of an OTLP collector/);
  });
});
