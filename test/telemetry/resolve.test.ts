/** Questions and answers of DNS, to the byte (RFC 1035), and a name server on this machine. */
import { execFileSync } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { answer, question, resolveHost } from "../../src/telemetry/resolve.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ""), "hex");

/** Of dig +noedns example.com, and its answer with one CNAME before the address. */
const asked = hex("1a2b 0100 0001 0000 0000 0000 07 6578616d706c65 03 636f6d 00 0001 0001");
const answered = hex(`1a2b 8180 0001 0002 0000 0000 07 6578616d706c65 03 636f6d 00 0001 0001
  c00c 0005 0001 0000003c 0004 01 61 c00c
  01 61 c00c 0001 0001 0000003c 0004 5db8d822`);
const six = hex(`1a2b 8180 0001 0001 0000 0000 07 6578616d706c65 03 636f6d 00 001c 0001
  c00c 001c 0001 0000003c 0010 26062800022000010248189325c81946`);

it("a question is one name and one type", () => {
  expect(question(0x1a2b, "example.com", 1)).toEqual(asked);
});

describe("an answer", () => {
  it("gives the addresses, behind other records too", () => {
    expect(answer(answered, asked)).toEqual(["93.184.216.34"]);
    expect(answer(six, question(0x1a2b, "example.com", 28))).toEqual(["2606:2800:220:1:248:1893:25c8:1946"]);
    const none = Buffer.from(answered.subarray(0, asked.length));
    none.writeUInt16BE(0, 6);
    expect(answer(none, asked)).toEqual([]);
  });

  it("is none to another question, or where it is cut off", () => {
    expect(answer(answered, question(0x1a2c, "example.com", 1))).toBe(null);
    expect(answer(answered, question(0x1a2b, "example.org", 1))).toBe(null);
    expect(answer(answered, question(0x1a2b, "example.com", 28))).toBe(null);
    expect(answer(asked, asked)).toBe(null);
    for (let length = 0; length < answered.length; length++)
      expect([length, answer(answered.subarray(0, length), asked)]).toEqual([length, null]);
    expect(answer(Buffer.alloc(65536, 0xff), asked)).toBe(null);
  });
});

describe("a host", () => {
  let servers: Socket[] = [];
  afterEach(() => {
    for (const server of servers) server.close();
    servers = [];
  });

  /** A name server that answers by type; its address. */
  async function serving(reply: (asked: Buffer, type: number) => Buffer | null): Promise<string> {
    const server = createSocket("udp4");
    servers.push(server);
    server.on("message", (bytes, { port, address }) => {
      const bytesBack = reply(bytes, bytes.readUInt16BE(bytes.length - 4));
      if (bytesBack !== null) server.send(bytesBack, port, address);
    });
    server.bind(0, "127.0.0.1");
    await once(server, "listening");
    return `127.0.0.1:${server.address().port}`;
  }

  const record = (bytes: Buffer, type: number, data: Buffer): Buffer => {
    const back = Buffer.concat([bytes, hex("c00c"), Buffer.from([0, type, 0, 1, 0, 0, 0, 60, 0, data.length]), data]);
    back.writeUInt16BE(0x8180, 2);
    back.writeUInt16BE(1, 6);
    return back;
  };
  const empty = (bytes: Buffer): Buffer => {
    const back = Buffer.from(bytes);
    back.writeUInt16BE(0x8183, 2);
    return back;
  };
  const four = Buffer.from([192, 0, 2, 1]);
  const wide = hex("20010db8000000000000000000000001");

  it("that is an address, or this machine, is asked of nobody", async () => {
    const server = await serving(() => expect.fail("asked"));
    for (const [host, address] of [
      ["127.0.0.1", "127.0.0.1"],
      ["192.0.2.1", "192.0.2.1"],
      ["[::1]", "::1"],
      ["localhost", "127.0.0.1"],
    ] as const)
      expect(await resolveHost(host, [server])).toBe(address);
  });

  it("is asked of the servers; an address of IPv4 is taken where there is one", async () => {
    const both = await serving((bytes, type) => record(bytes, type, type === 1 ? four : wide));
    expect(await resolveHost("collector.example", [both])).toBe("192.0.2.1");
    const only = await serving((bytes, type) => (type === 1 ? empty(bytes) : record(bytes, type, wide)));
    expect(await resolveHost("collector.example", [only])).toBe("2001:db8:0:0:0:0:0:1");
    const silent = await serving(() => null);
    expect(await resolveHost("collector.example", [silent, both])).toBe("192.0.2.1");
  });

  it("that no server knows has no address", async () => {
    const server = await serving(empty);
    expect(await resolveHost("collector.example", [server])).toBe(null);
    expect(await resolveHost("collector.example", [])).toBe(null);
    const garbage = await serving((bytes) => bytes.subarray(0, 5));
    expect(await resolveHost("collector.example", [garbage])).toBe(null);
  });

  it("does not hold a process, though no server answers", async () => {
    const server = await serving(() => null);
    const program = `const { resolveHost } = await import(${JSON.stringify(new URL("../../dist/telemetry/resolve.js", import.meta.url).href)});
      void resolveHost("collector.example", [${JSON.stringify(server)}]).then(() => console.log("waited"));
      process.on("exit", () => console.log("ended"));`;
    expect(execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" })).toBe("ended\n");
  });
});
