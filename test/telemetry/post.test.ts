import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { logsUrl } from "../../src/telemetry/endpoint.ts";
import { post } from "../../src/telemetry/post.ts";
import { certificateIn, hasOpenssl } from "./certificate.ts";
import { collect } from "./collector.ts";

const body = '{ "ö": 1 }\n';

describe("a request", () => {
  it("has the body to the byte, and no header that tells more", async () => {
    const collector = await collect();
    try {
      expect(await post(logsUrl(`${collector.endpoint}/otlp`), body)).toBe(200);
      const { host } = new URL(collector.endpoint);
      expect(collector.requests).toEqual([
        `POST /otlp/v1/logs HTTP/1.1\r\nContent-Type: application/json\r\nUser-Agent: dxtensor\r\nContent-Length: 12\r\nHost: ${host}\r\nConnection: close\r\n\r\n${Buffer.from(body).toString("latin1")}`,
      ]);
    } finally {
      collector.close();
    }
  });

  it.each([
    ["429 Too Many Requests", "Retry-After: 0\r\n", 429],
    ["500 Internal Server Error", "", 500],
    ["503 Service Unavailable", "Retry-After: 0\r\n", 503],
    ["307 Temporary Redirect", "Location: /elsewhere\r\n", 307],
    ["301 Moved Permanently", "Location: https://collector.example/\r\n", 301],
    ["204 No Content", "", 204],
  ])("that is answered by %s is neither repeated nor sent elsewhere", async (status, headers, code) => {
    const collector = await collect(status, headers);
    try {
      expect(await post(logsUrl(collector.endpoint), body)).toBe(code);
      expect([collector.requests.length, collector.connections()]).toEqual([1, 1]);
    } finally {
      collector.close();
    }
  });

  it("that is not answered ends by itself, and so does one to nobody", async () => {
    const collector = await collect(null);
    const { endpoint } = collector;
    try {
      expect(await post(logsUrl(endpoint), body, 300)).toBe(null);
      expect(collector.connections()).toBe(1);
    } finally {
      collector.close();
    }
    expect(await post(logsUrl(endpoint), body)).toBe(null);
  });

  it.skipIf(!hasOpenssl)(
    "goes to no server with a certificate that nobody signed, whatever NODE_TLS_REJECT_UNAUTHORIZED says (with openssl)",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "dxtensor-post-"));
      const { key, cert } = certificateIn(folder);
      let requests = 0;
      const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
        requests++;
        response.end();
      });
      const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      try {
        server.listen(0, "127.0.0.1");
        await once(server, "listening");
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
        expect(await post(logsUrl(`https://localhost:${(server.address() as AddressInfo).port}`), body)).toBe(null);
        expect(requests).toBe(0);
      } finally {
        if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
        else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
        server.close();
        rmSync(folder, { recursive: true });
      }
    },
  );
});
