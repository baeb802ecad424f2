/**
 * Resolves a host by the system's name servers, over sockets that let the process end. Node's dns.lookup runs getaddrinfo in a thread, and the end of
 * the process waits for that thread: many seconds if a name server does not answer.
 */

const [A, AAAA] = [1, 28];
const MOST_MS = 2000;

/** A question of DNS (RFC 1035, 4.1): recursion wanted, one name, one type. */
export function question(id: number, host: string, type: number): Buffer {
  const labels = host.split(".").map((label) => Buffer.from(label, "latin1"));
  const name = Buffer.concat([...labels.flatMap((label) => [Buffer.from([label.length]), label]), Buffer.from([0])]);
  const head = Buffer.from([id >> 8, id & 0xff, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([head, name, Buffer.from([0, type, 0, 1])]);
}

/** The offset behind a name, which may end with a pointer. */
function skipName(bytes: Buffer, at: number): number {
  for (;;) {
    const length = bytes.readUInt8(at);
    if (length >= 0xc0) return at + 2;
    at += 1 + length;
    if (length === 0) return at;
  }
}

const textOf = (address: Buffer): string =>
  address.length === 4 ? address.join(".") : Array.from({ length: 8 }, (_, i) => address.readUInt16BE(2 * i).toString(16)).join(":");

/** The addresses of an answer to a question; null for what is none. */
export function answer(bytes: Buffer, asked: Buffer): string[] | null {
  try {
    const isAnswer = bytes.readUInt16BE(0) === asked.readUInt16BE(0) && (bytes.readUInt8(2) & 0x80) !== 0;
    if (!isAnswer || bytes.readUInt16BE(4) !== 1 || !bytes.subarray(12, asked.length).equals(asked.subarray(12))) return null;
    const type = asked.readUInt16BE(asked.length - 4);
    const addresses: string[] = [];
    let at = asked.length;
    for (let i = bytes.readUInt16BE(6); i > 0; i--) {
      at = skipName(bytes, at);
      const length = bytes.readUInt16BE(at + 8);
      if (bytes.readUInt16BE(at) === type && length === (type === A ? 4 : 16))
        addresses.push(textOf(bytes.subarray(at + 10, at + 10 + length)));
      at += 10 + length;
    }
    return addresses;
  } catch {
    // It is cut off.
    return null;
  }
}

/** "1.1.1.1", "1.1.1.1:53", "[2606::1]:53" */
function serverOf(text: string): { readonly address: string; readonly port: number } {
  if (process.getBuiltinModule("node:net").isIP(text) !== 0) return { address: text, port: 53 };
  const [, address, port] = /^\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
  return { address: address ?? text, port: Number(port ?? 53) };
}

/** One address, of IPv4 where there is one; null where no server knows one in time. Never rejects. */
export function resolveHost(
  host: string,
  servers: readonly string[] = process.getBuiltinModule("node:dns").getServers(),
): Promise<string | null> {
  const plain = host.replace(/^\[|\]$/g, "");
  const { isIP, isIPv6 } = process.getBuiltinModule("node:net");
  if (isIP(plain) !== 0) return Promise.resolve(plain);
  // Never asked of anybody: it is this machine, whatever a server says.
  if (plain === "localhost") return Promise.resolve("127.0.0.1");
  const { clearTimeout, setTimeout } = process.getBuiltinModule("node:timers");
  const { randomInt } = process.getBuiltinModule("node:crypto");
  const { createSocket } = process.getBuiltinModule("node:dgram");
  return new Promise((resolve) => {
    const questions = [A, AAAA].map((type) => question(randomInt(65536), plain, type));
    const found: (string[] | null)[] = questions.map(() => null);
    const sockets = servers.slice(0, 3).map((text) => {
      const { address, port } = serverOf(text);
      const socket = createSocket(isIPv6(address.replace(/%.*$/, "")) ? "udp6" : "udp4").unref();
      socket.on("error", () => {}).on("message", take);
      for (const asked of questions) socket.send(asked, port, address, () => {});
      return socket;
    });
    const timer = setTimeout(end, MOST_MS).unref();
    function end(): void {
      clearTimeout(timer);
      for (const socket of sockets) socket.close();
      sockets.length = 0;
      resolve(found[0]?.[0] ?? found[1]?.[0] ?? null);
    }
    function take(bytes: Buffer): void {
      for (const [i, asked] of questions.entries()) found[i] ??= answer(bytes, asked);
      const [four, six] = found;
      if (sockets.length > 0 && ((four !== null && four!.length > 0) || (four !== null && six !== null))) end();
    }
    if (sockets.length === 0) end();
  });
}
